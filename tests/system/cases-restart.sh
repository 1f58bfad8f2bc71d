#!/bin/sh
# The daemon stopped, killed and started again while jobs run.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
# Prepared sandboxes would be counted.
start_daemon 'idle_sandboxes = 0'
tree restart

# restart [SIGNAL]: as an operator would, or as a crash does
restart() {
	stop_daemon "${1:-TERM}"
	run_daemon
}

# alive MARK: processes of a job that were started with this argument.  The
# brackets keep the search from finding itself.
alive() { pgrep -f "[s]leep $1" | wc -l; }
none_alive() { [ "$(alive "$1")" -eq 0 ]; }
job_dirs() { find "$T/state/run" -mindepth 3 -maxdepth 3 -path '*/jobs/*' | wc -l; }
no_job_dirs() { [ "$(job_dirs)" -eq 0 ]; }
mounts() { grep -c " $T/state/run" /proc/mounts; }
# cgroups of this daemon's jobs: those made for it while the test runs
cgroups() { find /sys/fs/cgroup -maxdepth 4 -type d -path "*/errand.$tag*/*" | wc -l; }
no_cgroups() { [ "$(cgroups)" -eq 0 ]; }

mark=$((100000 + $$))
J=$(errand -qd -- sleep $mark)
wait_for 20 has_state "$J" running || diag 'it does not run'
tag=$(sed -n 's|.*/errand\.\([^/]*\)/.*|\1|p' "/proc/$(pgrep -f "[s]leep $mark" | head -n 1)/cgroup" | head -n 1)
restart
like "$(field state "$J")" '^(running|lost|killed|failed)$' 'after a restart the job is known (RST-A1)'
errand kill "$J" >/dev/null 2>&1
check 'and none of its processes is left when it was killed (RST-A1)' wait_for 20 none_alive $mark
like "$(field state "$J")" '^(lost|killed|failed)$' 'it has a final state'

mark=$((mark + 1))
J=$(errand -qd -- sleep $mark)
wait_for 20 has_state "$J" running || diag 'it does not run'
restart KILL
like "$(field state "$J")" '^(running|lost)$' 'after a crash too (RST-A1)'
errand kill "$J" >/dev/null 2>&1
check 'nothing of it runs on' wait_for 20 none_alive $mark
check 'its directory is gone (CLEAN-A2)' wait_for 20 no_job_dirs
is "$(mounts)" 0 'no mount is left (CLEAN-A2)'
if [ -n "$tag" ]; then
	check 'no control group either (CLEAN-A2)' wait_for 20 no_cgroups
else
	diag 'jobs have no control groups here'
	skip 1 'needs control groups'
fi

# --- at most once ---

work once && : >.errandignore
mkdir "$T/out" && chmod 777 "$T/out"
J=$(errand -qd -- sh -c 'echo ran')
errand wait "$J" >/dev/null
restart KILL
errand -q -- true
is "$(errand logs "$J")" ran 'a job that ended is not run again (RST-A2)'
J=$(errand -qd -- sh -c 'echo begun; exec sleep 1000')
wait_for 20 has_output "$J" begun || diag 'it does not run'
restart KILL
errand -q -- true
is "$(errand logs "$J" 2>/dev/null | grep -c begun)" 1 'nor one that had begun (RST-A2)'
errand kill -f "$J" >/dev/null 2>&1

# --- the client that follows ---

errand -q -- sh -c 'i=0; while [ $i -lt 400 ]; do echo $i; i=$((i+1)); sleep 0.01; done' >"$T/seen" 2>"$T/err" &
p=$!
wait_for 20 grep -q '^50$' "$T/seen" || diag 'no output'
restart KILL
wait $p
rc=$?
seq 0 399 >"$T/all"
if [ $rc -eq 0 ]; then
	check 'a client that saw a restart: success with all output (RST-A3)' cmp "$T/all" "$T/seen"
else
	head -n "$(wc -l <"$T/seen")" "$T/all" >"$T/want"
	check 'a client that saw a restart: a failure of ours, and output in order without a gap (RST-A3)' \
	    sh -c "[ $rc -eq 120 ] && cmp '$T/want' '$T/seen'"
fi

# --- nothing piles up ---

wait_for 20 no_job_dirs
before=$(pgrep -g "$daemon_pid" | wc -l)
for i in 1 2 3 4 5; do
	for j in 1 2 3 4; do errand -qd -- sleep 0.3 >/dev/null; done
	restart
done
few() { [ "$(pgrep -g "$daemon_pid" | wc -l)" -le $((before + 1)) ]; }
check 'after five restarts with jobs there are as many processes as before (RST-A4)' wait_for 20 few
check 'and no job has left anything' wait_for 20 no_job_dirs
done_testing
