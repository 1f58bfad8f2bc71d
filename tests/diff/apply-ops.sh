#!/bin/sh
# All sequences of up to three file operations: done by a job and applied, they
# leave what they leave when they are done here.  One job does them all.

# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
start_daemon
ERRAND_TIME=250
umask 022

tree ops
cp "$TOP/tests/tools/ops.py" .
python3 ops.py make t
mkdir "$T/here"
(cd "$T/here" && python3 "$TOP/tests/tools/ops.py" make t &&
    python3 "$TOP/tests/tools/ops.py" run t)
python3 ops.py show "$T/here/t" | LC_ALL=C sort >"$T/want"
diag "$(python3 ops.py count) sequences, $(wc -l <"$T/want") paths"

run errand run -q -- python3 ops.py run t
is "$rc" 0 'a job does all sequences'
run errand fetch last --apply
is "$rc" 0 'what it did is applied'
diag "$(cat "$T/err")"
python3 ops.py show t | LC_ALL=C sort >"$T/got"
check 'the tree is as if they had been done here' cmp "$T/want" "$T/got"
diff "$T/want" "$T/got" | head -n 20 | sed 's/^/# /'

# The same done here before: nothing is left to do, and nothing in the way.
run errand fetch last --apply --into "$T/here"
is "$rc" 0 'where the same was done before there is no conflict'
like "$(cat "$T/err")" 'applied 0 paths' 'and nothing to do'
python3 ops.py show "$T/here/t" | LC_ALL=C sort >"$T/got"
check 'and nothing is done' cmp "$T/want" "$T/got"

done_testing
