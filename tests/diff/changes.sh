#!/bin/sh
# All sequences of up to three file operations, done in a job and here: the
# list of changes has just what differs, and fetch writes what there is.  That
# they come home by apply is in apply-ops.sh.

# lib.sh has its own variables.
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
start_daemon
ERRAND_TIME=200
seqs() { python3 "$TOP/tests/tools/sequences.py" "$@"; }

umask 022
work ops && : >.errandignore
seqs make .
n=$(find . -mindepth 1 -maxdepth 1 -type d | wc -l)
is "$n" $((14 + 14 * 14 + 14 * 14 * 14)) "$n sequences of 14 operations"
cp -a . "$T/local"
seqs manifest . >"$T/before"
seqs run "$T/local"
seqs manifest "$T/local" >"$T/after"
seqs expect "$T/before" "$T/after" >"$T/want"
check 'they change something' test "$(wc -l <"$T/want")" -gt "$n"

errand -q -- python3 -c "$(cat "$TOP/tests/tools/sequences.py")" run . ||
    diag 'the job failed'
errand diff last >"$T/got"
check "the list has just the $(wc -l <"$T/want") changes there are" \
    diff "$T/want" "$T/got"
is "$(seqs manifest . | cmp - "$T/before" && echo same)" same 'nothing has changed here'

errand -q fetch last -o "$T/fetched" || diag 'fetch failed'
# What was created, modified or changed its mode or type, and no directory.
sed -n 's/^[ACMT] //p' "$T/want" | LC_ALL=C sort >"$T/paths"
tab=$(printf '\t')
grep -v "${tab}d " "$T/after" | LC_ALL=C sort | LC_ALL=C join -t "$tab" - "$T/paths" >"$T/files"
seqs manifest "$T/fetched" | grep -v "${tab}d " | LC_ALL=C sort >"$T/fetched.files"
check 'what fetch writes is what there is' diff "$T/files" "$T/fetched.files"
done_testing
