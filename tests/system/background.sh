#!/bin/sh
# Without -d errandd goes to the background: it is not waited for in vain, it
# says how it stands, and its log tells when something was.

# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
set --
[ "$(id -u)" -eq 0 ] || set -- --user
daemon_conf >"$T/errandd.conf"
log=$T/state/errandd.log

# begin: without -d; its pid is then known
begin() {
	run timeout 60 "$BIN/errandd" "$@" -f "$T/errandd.conf"
	daemon_pid=$(errandctl --json status | "$TOOLS/jget" processes |
	    sed -n 's/.*"pid":\([0-9]*\).*"role":"supervisor".*/\1/p')
	[ -n "$daemon_pid" ] || daemon_pid=$(errandctl --json status | sed -n \
	    's/.*"role":"supervisor","pid":\([0-9]*\).*/\1/p')
}

begin "$@"
is "$rc" 0 'it goes to the background'
check 'its pid is known' test -n "$daemon_pid"
like "$(cat "$T/err")" "^errandd: ready; sockets in $T/run, log in $log" \
    'and says where it is'
tree one
check 'a job runs' errand -q -- true
stop_daemon
like "$(cat "$log")" 'errandd: job [a-z0-9]*: exited' 'its log has the job'
is "$(grep -cvE '^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9:]{8}Z [a-z]+: ' "$log")" 0 \
    'and the time before each line, of workers too'

# --- a store that cannot be opened ---

rm -r "$T/state/store/index"
begin "$@"
is "$rc" 0 'with a store that cannot be opened it is not waited for in vain'
like "$(cat "$T/err")" 'store cannot be opened: .*errandctl store rebuild-index' \
    'what is wrong and how to mend it is on the terminal'
like "$(cat "$T/err")" '^errandd: not ready; .*log in ' 'and that it is not ready'
run errandctl doctor
is "$rc" 1 'doctor does not call that well'
like "$(cat "$T/out")" '^BAD +daemon .*rebuild-index' 'but says what it is'
run errand ps
like "$(cat "$T/err")" 'store cannot be opened' 'and clients are told'
check 'mended as was said' errandctl store rebuild-index
up() { errandctl --json status | grep -q '"state":"up","state_note"'; }
check 'it goes on' wait_for 20 up
is "$(errand ps -a --json | wc -l)" 1 'with its job'
# Of an ordinary user's there may be something else to say.
out=$(errandctl doctor)
like "$out" '^(ok|less) +daemon ' 'and doctor calls it well'
is "$(printf '%s\n' "$out" | grep -c rebuild-index)" 0 \
    'with nothing to say of its store'
done_testing
