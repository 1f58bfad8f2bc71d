#!/bin/sh
# Each call of an apply that changes something fails once: with EIO and with
# ENOSPC.  Then nothing was changed and that is said, or all was; where a
# failure cannot be undone at once, the next command does it.

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

# sweep ERROR WHEN: at the Nth call, or with WHEN "+" from the Nth call on
sweep() {
	count=0 bad='' whole=0
	for call in $APPLY_CALLS; do
		n=1
		while :; do
			apply_reset
			apply_with "$call:error=$1:when=$n$2"
			rc=$?
			grep -q INJECTED "$T/home-12345/trace" || break
			count=$((count + 1))
			judge "$call $n"
			n=$((n + 1))
		done
	done
}

judge() {
	now=$(apply_state)
	if [ "$rc" -eq 0 ]; then
		[ "$now" = "$after" ] || bad=${bad:-"$1: success without effect"}
		whole=$((whole + 1))
		return
	fi
	if [ "$rc" -ne 120 ] && [ "$rc" -ne 1 ]; then
		bad=${bad:-"$1: status $rc: $(cat "$T/err")"}
	fi
	# Nothing can be said when writing is what fails.
	[ -s "$T/err" ] || [ "${1%% *}" = write ] || bad=${bad:-"$1: fails and says nothing"}
	if grep -q 'nothing was changed' "$T/err"; then
		[ "$now" = "$before" ] || bad=${bad:-"$1: something was changed"}
	fi
	run user "$BIN/errand" ls
	now=$(apply_state)
	[ "$rc" -eq 0 ] || bad=${bad:-"$1: then status $rc: $(cat "$T/err")"}
	[ "$now" = "$before" ] || [ "$now" = "$after" ] ||
		bad=${bad:-"$1: neither before nor after"}
	[ ! -e .errand-apply ] || bad=${bad:-"$1: the staging directory stays"}
}

sweep EIO ''
is "$bad" '' 'an input/output error at any call: all or nothing'
diag "$count errors, $whole did no harm"
check 'there were many' test "$count" -gt 40
sweep EIO +
is "$bad" '' 'from any call on, and the next command mends it'
diag "$count errors, $whole did no harm"
sweep ENOSPC +
is "$bad" '' 'a disk that is full from any call on'
diag "$count errors, $whole did no harm"

# A file system that knows no flags of rename.
apply_reset
apply_with 'renameat2:error=EINVAL'
rc=$?
is "$rc $(apply_state)" "0 $after" 'without RENAME_EXCHANGE it works too'

# One file, for which no directory is made.
apply_one || not_ok 'a job that changes one file, and an apply of it'
sweep EIO ''
is "$bad" '' 'one file, an error at any call: all or nothing'
diag "$count errors, $whole did no harm"
check 'there were some' test "$count" -gt 8
sweep ENOSPC +
is "$bad" '' 'and from any call on'
apply_reset
apply_with 'renameat2:error=EINVAL'
rc=$?
is "$rc $(apply_state)" "0 $after" 'without RENAME_EXCHANGE it works too'
apply_reset
apply_with 'linkat:error=EPERM'
rc=$?
is "$rc $(apply_state)" "0 $after" 'and where an unnamed file gets no name'

done_testing
