#!/bin/sh
# All sequences of up to three file operations, done in a job and here: the
# list of changes is what differs, and what comes home is what there would be.

# lib.sh has its own variables.
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3 rsync
start_daemon
ERRAND_TIME=200
ops() { python3 "$TOP/tests/tools/sequences.py" "$@"; }

umask 022
work ops && : >.errandignore
ops make .
n=$(find . -mindepth 1 -maxdepth 1 -type d | wc -l)
is "$n" $((14 + 14 * 14 + 14 * 14 * 14)) "$n sequences of 14 operations"
cp "$TOP/tests/tools/sequences.py" "$T/sequences.py"
cp -a . "$T/local"
ops manifest . >"$T/before"
ops run "$T/local"
ops manifest "$T/local" >"$T/after"
ops expect "$T/before" "$T/after" >"$T/want"
check 'they change something' test "$(wc -l <"$T/want")" -gt "$n"

errand -q -- python3 -c "$(cat "$T/sequences.py")" run . || diag 'the job failed'
errand diff last >"$T/got"
if cmp -s "$T/want" "$T/got"; then
	ok "the list has just the $(wc -l <"$T/want") changes there are"
else
	not_ok 'the list has just the changes there are'
	diag "$(diff "$T/want" "$T/got" | head -n 20)"
fi
is "$(ops manifest . | cmp - "$T/before" && echo same)" same 'nothing has changed here'

errand -q fetch last -o "$T/fetched" || diag 'fetch failed'
grep -c '^[AMT]' "$T/want" >"$T/n"
ops manifest "$T/fetched" >"$T/fetched.m"
bad=$(grep -v '	d' "$T/fetched.m" | LC_ALL=C sort >"$T/x"
    LC_ALL=C sort "$T/after" | LC_ALL=C comm -23 "$T/x" - | head -n 5)
is "$bad" '' 'what fetch writes is as it is after the operations'

cp -a . "$T/home" && cd "$T/home" || exit 1
errand -q fetch last --apply --into . 2>"$T/err" || {
	cd "$T/w/ops" && errand -q fetch last --apply 2>"$T/err" && rsync -a --delete ./ "$T/home/"
}
cd "$T/home" || exit 1
ops manifest . >"$T/applied"
check 'applied, the tree is as the operations leave it here' diff "$T/after" "$T/applied"
# rsync sees content, kinds, links and modes; times of what a job wrote are its
# own.
rsync -rlpc --delete --dry-run --itemize-changes "$T/local/" ./ | grep -v '/$' >"$T/rsync"
is "$(head -n 3 "$T/rsync")" '' 'and rsync finds nothing to do'
done_testing
