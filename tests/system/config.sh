#!/bin/sh
# What is wrong with a configuration is said before the start, and a tenant's
# file that is wrong costs nobody but that tenant anything.

# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_root
start_daemon 'local_tenants = "off"'

check 'a tenant' errandctl tenant add good --uid 4301
bad=
for o in '--pids 1' '--slots 99999' '--keep 9000d' '--timeout 900d' \
    '--cpus 0.001' '--cpus 100000' '--memory 10' '--disk 1K' '--disk 600G'; do
	# shellcheck disable=SC2086
	run errandctl tenant set good $o
	[ "$rc" -ne 0 ] && grep -q 'is out of range; write ' "$T/err" ||
	    bad="$bad set $o"
	# shellcheck disable=SC2086
	run errandctl tenant add other $o
	[ "$rc" -ne 0 ] && grep -q -e "${o%% *} .* is out of range" "$T/err" ||
	    bad="$bad add $o"
done
is "$bad" '' 'no tenant is given what its file could not say'
tree one
echo one >f
bad=
for o in '--memory 10' '--pids 1' '--disk 1K' '--cpus 2000'; do
	# shellcheck disable=SC2086
	run errand -q --tenant good $o -- true
	[ "$rc" -eq 120 ] && grep -q 'out of range\|may have\|cannot be' \
	    "$T/err" || bad="$bad run $o"
done
is "$bad" '' 'nor a job what no job can be run with'
like "$(errand -q --tenant good --memory 10 -- true 2>&1)" 'write 1M to' \
    'which says how little memory will do'

echo 'pids = 3' >"$T/state/tenants.d/broken.conf"
kill -HUP "$daemon_pid"
noted() { errandctl status | grep -q 'broken.conf:1:'; }
check 'status names a file that was refused' wait_for 10 noted
like "$(errandctl doctor)" 'daemon .*broken.conf:1:' 'and so does doctor'
run errandctl tenant show broken
like "$(cat "$T/err")" 'broken.conf:1: no such option' 'tenant show says why'
sed -i '/limits/,$d' "$T/state/tenants.d/good.conf"
echo 'slots = 7' >>"$T/state/tenants.d/good.conf"
kill -HUP "$daemon_pid"
seven() { [ "$(errandctl --json tenant show good | "$TOOLS/jget" slots)" = 7 ]; }
check 'other files are read again' wait_for 10 seven
run "$BIN/errandd" -n -f "$T/errandd.conf"
is "$rc" 1 'errandd -n reads the files of tenants'
like "$(cat "$T/err")" 'broken.conf:1:' 'and names the one that is wrong'
stop_daemon
run_daemon
is "$(errand -q --tenant good -- cat f 2>/dev/null; echo $?)" "one
0" 'a daemon starts beside such a file, and serves the others'
rm "$T/state/tenants.d/broken.conf"
run "$BIN/errandd" -n -f "$T/errandd.conf"
is "$rc" 0 'without it all is well'
done_testing
