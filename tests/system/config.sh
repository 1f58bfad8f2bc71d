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

# --- errandd.conf: said by -n, and nothing is started ---

stop_daemon
# wrong LINES PATTERN: -n says so, and so does the start
wrong() {
	{ daemon_conf | sed "/^${1%%[ =]*} *=/d"; printf '%s\n' "$1"; } \
	    >"$T/wrong.conf"
	run "$BIN/errandd" -n -f "$T/wrong.conf"
	[ "$rc" -eq 1 ] && grep -Eq "$2" "$T/err" || bad="$bad -n: $1;"
	run timeout 20 "$BIN/errandd" -d -f "$T/wrong.conf"
	[ "$rc" -eq 1 ] && grep -Eq "$2" "$T/err" || bad="$bad start: $1;"
}
bad=
wrong 'defaults {' ':5: the section that begins here has no end'
wrong 'image "a" { # }
path = "/"' ':5: the section that begins here has no end'
wrong 'defaults { disk = 10 }' ':5: disk = 10 is out of range; write 1M to 512G'
wrong 'slots = 3
idle_workers = 2
slots = 4' ':7: slots is given a second time, after line 5; keep one'
wrong 'defaults { slots = 3
slots = 3 }' ':6: slots is given a second time, after line 5; keep one'
wrong 'defaults { slots = 3 }
defaults { pids = 30 }' ':6: defaults is given a second time, after line 5; keep one'
wrong 'image "a" { path = "/"
path = "/usr" }' ':6: path is given a second time, after line 5'
wrong 'worker_dir = "/nonexistent"' 'errand-store cannot be executed there'
wrong 'cgroup_root = "/nonexist"' 'cgroup_root = /nonexist: .*make that group'
wrong "run_dir = \"/tmp/$(printf '%0100d' 0)\"" 'choose a shorter run_dir'
mkdir -m 700 "$T/closed"
wrong "state_dir = \"$T/closed/state\"" 'closed is closed to others'
is "$bad" '' 'what is wrong is said before anything is started'
check 'braces in strings and comments do not count' sh -c "
    { cat '$T/errandd.conf'; printf '# {\nhost_name = \"a{b\" // {\n'
      echo 'defaults { slots = 2 } /* { */'; } >'$T/right.conf'
    '$BIN/errandd' -n -f '$T/right.conf'"
run "$BIN/errandd" surplus
is "$rc" 2 'arguments are wrong use'
like "$(cat "$T/err")" '^errandd: surplus: ' 'and named'

# --- the background ---

run "$BIN/errandd" -f "$T/errandd.conf"
is "$rc" 0 'it goes to the background'
like "$(cat "$T/err")" "^errandd: ready; sockets in $T/run, log in $T/state/errandd.log" \
    'and says where it is'
daemon_pid=$(errandctl --json status | sed -n \
    's/.*"role":"supervisor","pid":\([0-9]*\).*/\1/p')
check 'its pid is known' test -n "$daemon_pid"
like "$(as_uid 4301 "$BIN/errandctl" -s "$CONTROL" status 2>&1)" \
    'Permission denied.*admin_group' 'who may not use the control socket is told who may'

# --- errandctl tenant ---

run errandctl tenant add quota --store 1M --jobs 3
like "$(cat "$T/out")" 'may keep 1\.0 MiB in the store, 3 jobs' \
    'quotas that were just set are shown'
like "$(errandctl tenant show quota)" '1\.0 MiB in the store,.* 3 jobs' \
    'and shown again'
run errandctl tenant add capped --pids 20 --log 1M --cpu-time 10m --changes 5
caps() { errandctl --json tenant show capped | "$TOOLS/jget" limits; }
like "$(caps)" '"changes":5,"cpu_time_us":600000000,.*"log_bytes":1048576,.*"pids":20,' \
    'all limits of jobs can be given'
run errandctl tenant set capped --log 2M --changes 6
like "$(caps)" '"changes":6,"cpu_time_us":600000000,.*"log_bytes":2097152,.*"pids":20,' \
    'and changed one by one'
like "$(errandctl tenant set capped --log none 2>&1)" '--log none: write a size' 'in words if not'
like "$(errandctl tenant add x --uid nouser 2>&1)" '--uid nouser: there is no such user' \
    'the option that was wrong is named'
set -- x
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do set -- "$@" --uid "990$i"; done
like "$(errandctl tenant add "$@" 2>&1)" '--uid 99017: a tenant has 16 users at most' \
    'and what was wrong about it'
is "$(errandctl tenant set good --bogus 2>&1 | grep -c -e --bogus)" 1 \
    'an option that there is not is complained about once'
like "$(errandctl tenant add good 2>&1)" 'a tenant good already; to change it: errandctl tenant set good' \
    'a tenant that is there is to be changed, not added'
like "$(errandctl tenant remove good 2>&1)" 'remove its file in tenants_dir and send errandd a HUP' \
    'how to remove one is said'
like "$(errand run -q --tenant good --net host -- true 2>&1)" 'errandctl tenant set good --net host' \
    'how to allow the network too'
like "$(errand run --timeout abc -- true 2>&1)" 'write a duration: .*2h; not 0' \
    'a duration that is none'
is "$(errand run --timeout abc -- true 2>&1 | grep -c size)" 0 'is not told about sizes'
like "$(errand --on unix: ps 2>&1)" 'unix:: not the address of a host' 'a path without a path'
like "$(errand --tenant good status aaaabbbbccccdddd 2>&1)" 'or it is no longer kept' \
    'a job that is gone may have been there'
mkdir -p "$T/opt/bin" "$T/opt/sbin" && cp "$BIN/errand" "$T/opt/bin/"
ln -s /nonexistent "$T/opt/sbin/errandd"
mkdir -m 777 "$T/other"
private() {
	env -u ERRAND_HOST -u XDG_RUNTIME_DIR -u XDG_STATE_HOME HOME="$T/other" setpriv --reuid 4397 \
	    --regid 4397 --clear-groups timeout 20 "$T/opt/bin/errand" "$@"
}
if [ -e /run/errand/errand.sock ] || [ -e /usr/local/sbin/errandd ]; then
	skip 2 'this host has a daemon'
else
	like "$(private run --no-snapshot -- true 2>&1)" 'no errandd to start .*\.\./sbin' \
	    'where a private daemon is looked for is said'
	rm "$T/opt/sbin/errandd" && cp "$BIN"/errand* "$T/opt/sbin/"
	check 'it is found where the same installation has it' \
	    private run --no-snapshot -- true
	pkill -u 4397 -x errandd
fi
like "$(errandctl tenant add x --cpus none 2>&1)" 'write a number of processors' \
    'with what to write'
like "$(errand run --cpus 0 -- true 2>&1)" 'processors, for instance 2 or 1\.5' \
    'errand run too'
run env -u ERRAND_HOST timeout 20 "$BIN/errand" info
like "$(cat "$T/err")" 'root gets no private daemon' 'root without a host is told the same by all'
run env -u ERRAND_HOST XDG_RUNTIME_DIR=/nonexistent setpriv --reuid 4399 --regid 4399 \
    --clear-groups timeout 20 "$BIN/errand" info
like "$(cat "$T/err")" 'errand run. starts one' 'an ordinary user, how to get one'
out=$(XDG_STATE_HOME='' HOME=/tmp setpriv --reuid 4399 --regid 4399 \
    --clear-groups "$BIN/errandctl" -s /nowhere/control.sock doctor)
like "$out" 'mend it: errand run starts one' 'doctor too'
if [ -e /run/errand/errand.sock ]; then
	skip 1 'this host has a daemon'
else
	like "$out" '^(ok|less) +disk +.* for /tmp$' \
	    'and looks where a daemon of his would keep its state'
fi
if [ -d /sys/fs/cgroup/memory ]; then
	like "$out" '^less +cgroups +v1, of which an ordinary user' \
	    'and at what cgroups it would have'
else
	skip 1 'no cgroups v1 here'
fi
done_testing
