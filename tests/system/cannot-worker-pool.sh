#!/bin/sh
# Row "errand-exec": keepers whose sandbox waits for a job are as untrusted as
# those of running ones.

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/hostile/stand-in.sh"
need_root
need_program setpriv timeout

# One is kept ready: the first job's keeper is calm, the next PREPARE is for
# nobody yet.
IDLE_SANDBOXES=1
workers_make exec
start_daemon
figure() {
	errandctl --json status | tr '{' '\n' | grep '"cold":' |
	    sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}
refused() { [ "$(figure failed)" -gt "$failed" ]; }

broke='sandbox broke the rules|keeper: (a message|wrong number|a result)'
for play in idle-started idle-log idle-ended idle-result idle-garbage=ff \
    idle-garbage=zero idle-garbage=op idle-leaves idle-fails; do
	again
	mark
	: >"$WORKERS/errand-exec.end"
	scenario exec "* keepers calm $play calm"
	stand_in exec
	end_of exec
	wait_for 10 has_pid exec
	failed=$(figure failed)
	alice run --no-snapshot -- true >/dev/null 2>"$T/first.err"
	is $? 7 "$play: the job before it is not disturbed"
	check "$play: is dropped" wait_for 20 refused
	case $play in
	idle-fails) like "$(figure note)" 'it plays that it failed' \
	    "$play: with what it said" ;;
	idle-leaves) like "$(figure note)" 'ended' "$play: with the reason" ;;
	*) saw "$play: for what it did" "$broke" ;;
	esac
	is "$(figure ready)" 0 "$play: is not given to anybody"
	alice run --no-snapshot -- true >/dev/null 2>&1
	is $? 7 "$play: the next job has another"
	alive "$play"
	rm -f "$WORKERS"/*.scenario
done

# --- one that is given a job and says nothing ---

again
mark
: >"$WORKERS/errand-exec.end"
scenario exec '* keepers calm idle-mute calm'
stand_in exec
end_of exec
wait_for 10 has_pid exec
ready_is() { [ "$(figure ready)" -eq "$1" ]; }
alice run --no-snapshot -- true >/dev/null 2>&1
is $? 7 'idle-mute: the job before it is not disturbed'
check 'idle-mute: it waits for a job' wait_for 20 ready_is 1
start=$(date +%s)
alice run --no-snapshot -- true >/dev/null 2>"$T/mute.err"
is $? 120 'idle-mute: its job fails as ours'
took=$(($(date +%s) - start))
check "idle-mute: after seconds ($took), not a quarter of an hour" \
    test "$took" -le 40
like "$(cat "$T/mute.err")" 'told to start the command and did not' \
    'idle-mute: and says why'
alice run --no-snapshot -- true >/dev/null 2>&1
is $? 7 'idle-mute: the next job has another'
alive idle-mute
rm -f "$WORKERS"/*.scenario
done_testing
