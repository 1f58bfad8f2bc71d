#!/bin/sh
# errandd --user: an ordinary user's own daemon.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/own_daemon.sh"
# alive PATTERN: the user's processes of such a name, without those that were
# there before us and the dead that nobody has waited for
others=$(ps -u "$uid" -o pid= | tr -s ' \n' ' ')
alive() {
	ps -u "$uid" -o pid=,stat=,comm= | awk -v name="$1" -v others=" $others " \
	    '$2 !~ /^Z/ && $3 ~ name && !index(others, " " $1 " ") { print $1 }'
}
none_alive() { [ -z "$(alive "$1")" ]; }
sock=$T/u/run/errand/errand.sock
check 'it starts' own_daemon
uctl --json status >"$T/json"
is "$("$TOOLS/jget" rootless <"$T/json")" true 'and says what it is'
is "$(stat -c '%a %u' "$sock")" "600 $uid" 'its socket is the user'\''s alone'

e() { u sh -c 'cd "$1" && shift && exec timeout 60 "$@"' sh "$T/u/tree" "$BIN/errand" "$@"; }
u sh -c "cd '$T/u/tree' && : >.errandignore && echo 1 >f && mkdir d && echo x >d/g"
e -q -- sh -c 'cat f; id -u; pwd; echo 2 >f; rm d/g; echo n >d/n; exit 3' >"$T/out" 2>"$T/err"
is "$? $(tr '\n' ' ' <"$T/out")" '3 1 1000 /workspace ' 'a job runs'
is "$(e diff last)" "D d/g${NL}A d/n${NL}M f" 'diff'
check 'fetch' e fetch last -o "$T/u/fetched"
is "$(cat "$T/u/fetched/f" "$T/u/fetched/d/n" | tr '\n' ' ')" '2 n ' 'brings the changes'
check 'receipt' e receipt last -o "$T/u/r"
check 'verify' e verify "$T/u/r"
is "$(e -q -- sh -c 'cat /proc/self/uid_map' | tr -s ' ')" ' 1000 0 1' \
    'as one mapped user'
run e -q -- ./none
is "$rc" 127 'exit codes as elsewhere'
run e -q --timeout 1 -- sleep 100
is "$rc" 143 'and the time limit'
run e -q --net host -- true
like "$rc" '^(0|120)$' '--net host is allowed or refused, not ignored'
e -q --cache c=out -- sh -c 'echo 1 >out/f; mkdir out/d; ln out/f out/d/g' >"$T/out" 2>"$T/err"
is "$(e -q --cache c=out -- sh -c 'cat out/d/g; rm -r out/d; echo 2 >out/f')" 1 \
    'a cache outlives the job'
is "$(e -q --cache c=out -- sh -c 'cat out/f; ls out' | tr '\n' ' ')" '2 f ' \
    'and is what the last one left'
like "$(uctl cache list)" 'tree-[0-9a-f]*/c ' \
    'its owner can list it'
tenant=$(e info | sed -n 's/^tenant *//p')
like "$(uctl cache rm "$tenant" --all)" removed \
    'and remove it'
J=$(e -d -- sleep 100)
run e kill "$J"
is "$rc" 0 'kill'
if [ "$(id -u)" -eq 0 ]; then
	ERRAND_HOST=unix:$sock
	export ERRAND_HOST
	run as_uid 54322 "$BIN/errand" ps
	is "$rc" 1 'another user is not served'
	unset ERRAND_HOST
else
	skip 1 'needs root'
fi
J=$(e -d -- sleep 100)
group=$daemon_pid
stop_daemon
check 'it stops' gone "$group"
check 'and leaves no process' wait_for 5 none_alive '^errand'
is "$(ls -A "$T/u/run/errand" 2>/dev/null)" '' 'no socket'
is "$(find "$T/u/state/errand/run" -mindepth 3 2>/dev/null | grep -v '/trees' | head -n 3)" '' \
    'and no work area'
case $(u grep -c "$T" /proc/mounts) in
0) ok 'nor a mount' ;;
*) not_ok 'nor a mount' ;;
esac

# --- a private daemon that the client starts ---

run e -q -- cat f
is "$rc $(cat "$T/out")" '0 1' 'without a host the client starts one'
run e -q -- cat f
is "$rc" 0 'and uses it again'
daemon_pid=$(own_pid)
p=$daemon_pid
stop_daemon
check 'it ends when told to' gone "$p"

done_testing
