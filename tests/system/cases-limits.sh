#!/bin/sh
# Limits of a job, what it is told about them, and what becomes of its
# neighbours.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_root
need_program python3
start_daemon 'slots = 4'
work limits && : >.errandignore
errandctl tenant add bob >/dev/null || diag 'no tenant bob'

id() { errand -qd "$@"; }
as_bob() { errand -q --tenant bob --no-snapshot -- "$@"; }

# --- memory ---

J=$(id --memory 64M -- sh -c 'python3 -c "x=bytearray(300<<20)"; echo "child $?"')
errand wait "$J" >/dev/null 2>&1
is "$(errand logs "$J" --stream stdout)" 'child 137' 'a child is killed for memory, its parent goes on (OOM-A1)'
check 'the status counts the kill (OOM-A1)' test "$(field usage.oom_kills "$J")" -ge 1
check 'and has the peak (OOM-A1)' test "$(field usage.memory_peak_bytes "$J")" -gt 30000000
check 'which is within the limit' test "$(field usage.memory_peak_bytes "$J")" -le 67108864

# --- tasks ---

J=$(id --pids 20 -- python3 -u -c '
import os, time
n = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
    except OSError:
        print("full", n)
        time.sleep(1000)
    n += 1')
wait_for 20 has_output "$J" full || diag 'it does not get there'
is "$(field state "$J")" running 'at the limit of tasks a job can be asked about (FORK-A2)'
start=$(date +%s)
errand kill "$J" >/dev/null 2>&1
check 'and killed, at once (FORK-A2)' test $(($(date +%s) - start)) -le 15
like "$(field state "$J")" '^(killed|exited)$' 'and then it has ended'
J=$(id --pids 64 --timeout 10 -- bash -c 'b(){ b | b & }; b; wait')
is "$(as_bob echo ok)" ok 'somebody else works beside a fork bomb (FORK-A1)'
errand kill -f "$J" >/dev/null 2>&1
check 'and it can be ended (FORK-A1)' wait_for 20 sh -c "'$BIN/errand' status $J --json | grep -Eq '\"state\":\"(killed|exited|failed)\"'"

# --- processors ---

is "$(errand -q --cpus 1 -- sh -c 'nproc; python3 -c "import os; print(len(os.sched_getaffinity(0)))"' | tr '\n' ' ')" \
    '1 1 ' 'a job sees as many processors as it may use (DEV-A1)'

# --- files and core dumps ---

# shellcheck disable=SC2046
set -- $(errand -q -- sh -c 'ulimit -Sn; ulimit -Hn')
check 'open files: some thousands (LIM-A1)' test "$1" -ge 1024 -a "$1" -le 65536
check 'and at most a million (LIM-A1)' test "$2" -le 1048576
start=$(date +%s)
errand -q -- python3 -c 'import os; os.closerange(3, os.sysconf("SC_OPEN_MAX"))'
check 'closing every possible one takes no time (LIM-A1)' test $(($(date +%s) - start)) -le 20
cores() { find "$T" /tmp /var/crash /var/lib/systemd/coredump / -maxdepth 1 -name 'core*' 2>/dev/null | sort; }
cores >"$T/before"
run errand -q -- sh -c 'ulimit -c; ulimit -c unlimited 2>/dev/null; ulimit -c; kill -SEGV $$'
is "$rc" 139 'a job that crashes has died of the signal'
is "$(tr '\n' ' ' <"$T/out")" '0 0 ' 'it can have no core dump (LIM-A2)'
cores >"$T/after"
check 'none is on the host (LIM-A2)' cmp "$T/before" "$T/after"
is "$(errand diff last | grep -c core)" 0 'nor in its workspace'
# A pattern that is a pipe is run whatever the limit is, but for a limit of one
# byte, which the kernel takes for "never".
is "$(errand -q -- python3 -c 'import resource as r; print(*r.getrlimit(r.RLIMIT_CORE))')" '1 1' \
    'nor does the kernel hand it to a program (LIM-A2)'

# --- output ---

J=$(id -- sh -c 'trap go=1 USR1; echo begin; while [ -z "$go" ]; do sleep 0.05; done
    seq 1 600000; echo END')
"$BIN/errand" logs -f "$J" >"$T/follow" 2>/dev/null &
p=$!
wait_for 20 grep -q begin "$T/follow" || diag 'nothing followed'
kill -STOP $p
errand kill -s USR1 "$J"
check 'a viewer that stands still does not hold up the job (LOG-A2)' \
    wait_for 60 has_state "$J" exited
check 'it does stand still' sh -c "! grep -q END '$T/follow'"
kill -CONT $p
wait $p
is "$(tail -n 1 "$T/follow")" END 'and sees all of it when it goes on (LOG-A2)'
errand logs "$J" >"$T/stored"
check 'as it is stored' cmp "$T/stored" "$T/follow"
J=$(id --timeout 5 -- yes)
errand wait "$J" >/dev/null 2>&1
like "$(field limit "$J")" '^(log|runtime)$' 'a job that floods its log is ended by a limit (LOG-A3)'
log=$(find "$T/state/logs" -name "*$J*" | head -n 1)
check 'and its log is bounded (LOG-A3)' test "$(du -sk "$log" | cut -f 1)" -le 1200000
check 'while errandd is small' test "$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$daemon_pid/status")" -lt 100000
rm -f "$log"

# --- neighbours ---

for i in 1 2 3 4 5 6 7 8 9 10 11 12; do id -- sleep 3 >>"$T/ids"; done
start=$(date +%s)
is "$(as_bob echo ok)" ok 'somebody with one job, behind many of another'
check 'waits about as long as one of them takes (FAIR-A1)' test $(($(date +%s) - start)) -le 8
# shellcheck disable=SC2046
errand kill -f $(cat "$T/ids") >/dev/null 2>&1

# Somebody's small jobs without end, so that no slot is ever free for long; a
# large one of somebody else has its turn all the same.
mem=$(errand info --json | "$TOOLS/jget" limits.memory_bytes)
for i in 1 2 3 4 5 6 7 8; do
	while [ ! -e "$T/enough" ]; do
		"$BIN/errand" -q --no-snapshot --memory 64M -- sleep 0.5
	done >/dev/null 2>&1 &
done
full() { [ "$(errand ps --json | grep -c '"state":"queued"')" -ge 2 ]; }
check 'small jobs wait for each other' wait_for 30 full
for i in 1 2 3; do
	start=$(date +%s)
	is "$(errand -q --tenant bob --no-snapshot --memory $((mem * 8 / 10)) -- \
	    echo large)" large 'a large job among small ones without end runs (FAIR-A2)'
	check 'before long (FAIR-A2)' test $(($(date +%s) - start)) -le 10
done
check 'and they have not ended meanwhile' wait_for 10 full
: >"$T/enough"
quiet() { ! errand ps --json | grep -q '"state"'; }
wait_for 30 quiet

# --- two at once ---

errand -q -- sh -c 'echo 1 >o; sleep 0.5; cat o' >"$T/r1" & p=$!
errand -q -- sh -c 'echo 2 >o; sleep 0.5; cat o' >"$T/r2"
wait $p
is "$(cat "$T/r1" "$T/r2" | tr '\n' ' ')" '1 2 ' 'two runs of one tree do not meet (CONC-A1)'
done_testing
