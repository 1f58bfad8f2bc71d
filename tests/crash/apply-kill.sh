#!/bin/sh
# A client that dies while it applies changes, before each of its system calls
# that change something: the next command finishes the apply or takes it back,
# and an edit made in between stays.

# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/apply.sh"
need_program strace
strace -o /dev/null true 2>/dev/null || skip_all "needs ptrace"
[ "$(id -u)" -ne 0 ] || as_uid 12345 test -x "$BIN/errand" ||
	skip_all "needs a build that every user can read"
start_daemon
apply_tree || { not_ok 'a job, and an apply of it'; done_testing; }
cannot 'the apply changes something' test "$before" = "$after"

# sweep EDIT: kill at each call; EDIT is run before the next command.  Sets
# $kills, $bad (the first that went wrong), $back and $forward.
sweep() {
	kills=0 bad='' back=0 forward=0
	for call in $APPLY_CALLS; do
		n=1
		while :; do
			apply_reset
			apply_with "$call:signal=SIGKILL:when=$n"
			[ $? -eq 137 ] || break
			kills=$((kills + 1))
			"$1"
			run user "$BIN/errand" ls
			judge_it "$1" "$call $n"
			n=$((n + 1))
		done
	done
}

# judge_it EDIT WHAT: is the tree wholly before, or wholly after?
judge_it() {
	now=$(apply_state)
	if [ "$rc" -ne 0 ] || [ -e .errand-apply ]; then
		bad=${bad:-"$2: status $rc: $(cat "$T/err")"}
	elif [ "$1" = edit ]; then
		for f in $EDITED; do
			grep -q mine "$f" || bad=${bad:-"$2: an edit is lost"}
		done
		find . -name '*.errand-*' | grep -q . && kept=$((kept + 1))
	elif [ "$now" = "$before" ]; then
		back=$((back + 1))
	elif [ "$now" = "$after" ]; then
		forward=$((forward + 1))
	else
		bad=${bad:-"$2: neither before nor after: $now"}
	fi
}

nothing() { :; }
sweep nothing
is "$bad" '' 'killed anywhere, the tree is wholly before or wholly after (RES-A1)'
diag "$kills kills: $back taken back, $forward finished"
check 'both were seen' test "$back" -gt 5 -a "$forward" -gt 5

# The edit is of two files, one changed early and one made late.
EDITED='file stays/new'
edit() {
	for f in $EDITED; do echo mine >>"$f"; done
}
kept=0
calls=$APPLY_CALLS
APPLY_CALLS='renameat2 unlinkat mkdirat fchmodat'
sweep edit
is "$bad" '' 'an edit made after the death stays'
diag "$kills kills, $kept with a version beside"

# One file needs no directory to be staged in.
APPLY_CALLS=$calls
apply_one || not_ok 'a job that changes one file, and an apply of it'
sweep nothing
is "$bad" '' 'one file, killed anywhere: before or after (RES-A1)'
diag "$kills kills: $back taken back, $forward finished"
check 'both were seen' test "$back" -gt 2 -a "$forward" -gt 1
EDITED=d/file
kept=0
sweep edit
is "$bad" '' 'and an edit made after the death stays'
diag "$kills kills, $kept with a version beside"

# One written into the old file, which is replaced by then.
apply_reset
apply_with 'unlinkat:signal=SIGKILL:when=1'
check 'the old file is there yet' cmp .errand-apply "$T/apply-before/d/file"
echo mine >>.errand-apply
run user "$BIN/errand" ls
is "$rc $(tail -n 1 d/file.errand-kept)" '0 mine' \
    'nor is one lost that was written to the old file'
check 'and nothing else stays' test ! -e .errand-apply

# What is in its place and is not of its making is left alone.
apply_reset
echo planted >.errand-apply
user chmod 644 .errand-apply 2>/dev/null
run user "$BIN/errand" fetch "$job" --apply
is "$rc $(cat .errand-apply)" '120 planted' 'a file of that name is refused'
like "$(cat "$T/err")" 'errand-apply: is in the way: there is no journal' 'and said to be in the way'

done_testing
