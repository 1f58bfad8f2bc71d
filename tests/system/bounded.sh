#!/bin/sh
# The bounded mode: what errandd does where no user namespace can be made, and
# only there.  What jobs cannot do in it is in the *-bounded.sh.
# shellcheck disable=SC2016,SC2034,SC2154

BOUNDED_TEST=bounded.sh
if [ -z "${ERRAND_TEST_BOUNDED-}" ]; then
	. "$(dirname "$0")/../tools/bounded.sh"
	exit
fi
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
base=$((2100000000 + $$ % 4000 * 10000))
start_daemon 'slots = 4' 'tenant_sandboxes = 1' "tenant_uids = \"$base-$((base + 999))\"" \
    "worker_uids = \"$((base + 1000))-$((base + 1255))\""

cannot 'control: there are no user namespaces' unshare -U true
like "$(errandctl --json status | "$TOOLS/jget" isolation)" \
    '^bounded: .*user.max_user_namespaces' 'status says so, and by which setting'
like "$(errandctl doctor)" '^less +user namespaces .*max_user_namespaces.*bounded mode' \
    'and so does doctor'
like "$(cat "$T/errandd.log")" 'bounded mode: user namespaces are closed' 'and the log'

tree bounded
mkdir d sub && echo 1 >d/f && echo 1 >sub/f && chmod 555 d
is "$(errand -q -- sh -c 'cat d/f; id -un; id -u; groups' 2>&1 | tr '\n' ' ')" \
    "1 runner $base runner " 'a job runs as its tenant'
errand -q -- sh -c 'mkdir -p shut/in && echo x >shut/in/f && chmod 0 shut/in/f shut/in shut
    echo y >w && chmod 0 w; echo z >>sub/f && chmod 0 sub; mv d moved' 2>&1
is "$(errand diff last)" "D d${NL}D d/f${NL}A moved${NL}A moved/f${NL}A shut${NL}A shut/in${NL}A shut/in/f${NL}C sub${NL}M sub/f${NL}A w" \
    'what it shut is collected all the same'
errand fetch last -o "$T/got"
is "$(stat -c %a "$T/got/shut" "$T/got/w" "$T/got/sub" | tr '\n' ' ')" '0 0 0 ' 'with its modes'
run errand -q --as-root -- true
is "$rc" 120 '--as-root is refused'
run errand -q --cache c=d -- true
is "$rc" 120 'and so is --cache'
like "$(cat "$T/err")" 'needs user namespaces' 'which is said'
J=$(errand -d -- sleep 1000)
run errand kill "$J"
is "$rc" 0 'a job is killed like any'
run errand -q --timeout 1 -- sh -c 'trap "" TERM; while :; do sleep 1; done'
is "$rc" 137 'and at its time limit'

# A sandbox that cannot be made, before pid 1 is the tenant.
figure() { errandctl --json status | "$TOOLS/jget" "sandboxes.$1"; }
has() { test "$(figure "$1")" "$2" "$3"; }
check 'sandboxes are prepared' wait_for 20 has ready -eq 1
mv "$T/state/run/$base/jobs" "$T/jobs.away"
: >"$T/state/run/$base/jobs"
errand -q -- true 2>"$T/err"
parked() { has note != '' && has making -eq 0; }
check 'when none can be made that is said' wait_for 20 parked
like "$(figure note)" 'work directory' 'with the reason'
none() { ! pgrep -U "$base"; }
check 'and nobody is left of it' wait_for 20 none
rm "$T/state/run/$base/jobs"
mv "$T/jobs.away" "$T/state/run/$base/jobs"
is "$(errand -q -- echo well)" well 'then all is well again'

stop_daemon
check 'nobody is left' wait_for 10 none
done_testing
