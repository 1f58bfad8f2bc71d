#!/bin/sh
# What can be wrong with a host is said in a sentence that tells how to mend
# it; and when it is mended, everything works again.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"

# fails_to_start PATTERN TEXT [ARGUMENT...]: errandd ends by itself, not with
# 0, and says a line that matches
fails_to_start() {
	pattern=$1 text=$2
	shift 2
	[ $# -gt 0 ] || set -- -d -f "$T/errandd.conf"
	[ "$(id -u)" -eq 0 ] || set -- --user "$@"
	timeout -k 5 20 "$BIN/errandd" "$@" >"$T/out" 2>&1 </dev/null
	rc=$?
	if [ $rc -eq 0 ] || [ $rc -ge 124 ]; then
		not_ok "$text"
		diag "status $rc: $(cat "$T/out")"
		return
	fi
	like "$(cat "$T/out")" "$pattern" "$text"
}
conf() { { daemon_conf; printf '%s\n' "$@"; } >"$T/errandd.conf"; }

# --- configuration ---

lines=$(daemon_conf | wc -l)
conf 'slots = many'
fails_to_start "errandd.conf:$((lines + 1)): .*slots.*whole number" \
    'a wrong value is named with file and line'
conf '' 'no_such_key = 1'
fails_to_start "errandd.conf:$((lines + 2)): .*no_such_key.*errandd.conf\(5\)" \
    'an unknown key too'
conf 'slots = 0'
fails_to_start "errandd.conf:[0-9]+: slots = 0.*write 1 to" 'and one out of range'
conf 'defaults {' 'memory = "much"' '}'
fails_to_start "errandd.conf:$((lines + 2)): memory = much.*512M" 'in a section as well'
conf 'host_name = "no end'
fails_to_start 'errandd.conf:[0-9]+' 'a string without an end'
conf 'worker_uids = "10-5"'
fails_to_start 'worker_uids = 10-5.*FIRST-LAST' 'a range of uids'
conf 'slots = many'
run "$BIN/errandd" -n -f "$T/errandd.conf"
is "$rc" 1 '-n finds it without starting'
conf
run "$BIN/errandd" -n -f "$T/errandd.conf"
is "$rc" 0 'and says nothing of a right one'
fails_to_start 'nowhere.conf.*No such file' 'a file that is not there' \
    -d -f "$T/nowhere.conf"
fails_to_start 'usage' 'wrong usage' --no-such-option

# --- sockets ---

long=$T/$(printf 'd%.0s' $(seq 100))
{ daemon_conf | grep -v run_dir; echo "run_dir = \"$long\""; } >"$T/errandd.conf"
fails_to_start '[0-9]+ bytes.*shorter run_dir' 'a socket path that is too long'
start_daemon
tree works
check 'it works' errand -q -- true
{ daemon_conf | grep -v state_dir; echo "state_dir = \"$T/state2\""; } >"$T/errandd.conf"
fails_to_start 'errand.sock is in use by another daemon.*run_dir of its own' 'a taken socket'
{ daemon_conf | grep -v run_dir; echo "run_dir = \"$T/run2\""; } >"$T/errandd.conf"
mkdir -p "$T/run2"
fails_to_start 'state.*(in use|another|lock)' 'a taken state directory'
check 'neither disturbs the one that runs' errand -q -- true
stop_daemon
mkdir "$T/run3" && : >"$T/run3/errand.sock"
{ daemon_conf | grep -v run_dir; echo "run_dir = \"$T/run3\""; } >"$T/errandd.conf"
fails_to_start 'errand.sock is in the way.*no socket' 'a file where the socket belongs'
run errand -q -- true
is "$rc" 120 'without a daemon run is 120'
like "$(cat "$T/err")" 'cannot reach errandd at .*errand.sock.*is it running' 'and says where it looked'
run errand ps
is "$rc" 1 'a question is 1'
run env ERRAND_HOST="$SOCK" "$BIN/errand" ps
like "$(cat "$T/err")" 'unix:PATH' 'a wrong ERRAND_HOST is explained'
run env ERRAND_HOST="unix:$long/errand.sock" "$BIN/errand" ps
like "$(cat "$T/err")" '[0-9]+ bytes' 'and one that is too long'
# A socket that nobody listens on, as a crash leaves it.
conf
run_daemon
stop_daemon KILL
run_daemon
tree after-crash
check 'after a crash it starts again by itself' errand -q -- true
stop_daemon

# --- programs ---

mkdir "$T/bin"
for p in errand-snapshot errand-exec errand-store; do
	cp "$BIN/$p" "$T/bin/"
done
{ daemon_conf | grep -v worker_dir; echo "worker_dir = \"$T/bin\""; } >"$T/errandd.conf"
for p in errand-snapshot errand-exec errand-store; do
	mv "$T/bin/$p" "$T/bin/away"
	: >"$T/errandd.log"
	launch_daemon
	wait_for 10 grep -q "$p.*No such file" "$T/errandd.log"
	like "$(grep "$p" "$T/errandd.log" | head -n 1)" "$p.*No such file.*(worker_dir|install)" \
	    "without $p: says which is missing, and what to do"
	mv "$T/bin/away" "$T/bin/$p"
	tree "with-$p"
	check 'when it is there again, so is the host' \
	    wait_for 40 errand -q -- true
	stop_daemon
done

# --- user namespaces ---

if [ "$(id -u)" -ne 0 ]; then
	skip 4 'needs root'
elif ! unshare -U true 2>/dev/null; then
	skip 4 'needs user namespaces (nobody can make one in a chroot)'
else
	conf
	# A user namespace as wide as the host's, in which no more may be made.
	unshare -U sleep 100 &
	holder=$!
	wait_for 5 sh -c "[ \"\$(readlink /proc/$holder/ns/user)\" != \
	    \"\$(readlink /proc/self/ns/user)\" ]"
	if echo '0 0 4294967295' >/proc/$holder/uid_map &&
	    echo '0 0 4294967295' >/proc/$holder/gid_map; then
		: >"$T/errandd.log"
		setsid nsenter -t $holder -U sh -c "
		    echo 0 >/proc/sys/user/max_user_namespaces
		    exec '$BIN/errandd' -d -f '$T/errandd.conf'" \
		    >>"$T/errandd.log" 2>&1 </dev/null &
		daemon_pid=$!
		tree no-userns
		wait_for 20 errand ps
		run errand -q --as-root -- true
		is "$rc" 120 'without user namespaces nothing runs that needs one (NS-A3)'
		like "$(cat "$T/err")" 'user namespaces are closed.*user.max_user_namespaces' \
		    'and the submitter is told which switch it is'
		like "$(errandctl status)" '^isolation +bounded:.*user.max_user_namespaces' \
		    'the status says what the rest runs in'
		like "$(cat "$T/errandd.log")" 'user.max_user_namespaces' 'and so is the operator'
	else
		skip 4 'needs to write a wide uid map'
	fi
	kill $holder
	stop_daemon
fi

# --- a full disk ---

if [ "$(id -u)" -ne 0 ]; then
	skip 7 'needs root'
else
	conf
	rm -rf "$T/state" && mkdir "$T/state"
	mount -t tmpfs -o size=96M,mode=755 none "$T/state"
	run_daemon
	tree full
	echo small >a
	check 'on a small disk a small job runs' errand -q -- cat a
	J=$(field id)
	fill=$(df --output=avail -k "$T/state" | tail -n 1)
	head -c $((fill * 1024 + 8000000)) /dev/urandom >f
	run errand -q -- true
	is "$rc" 120 'a tree that does not fit is refused'
	like "$(cat "$T/err")" 'full|space' 'with the reason'
	mv f ../f
	is "$(errand logs "$J")" small 'what was there before can be read'
	is "$(errand ps -a --json | wc -l)" 1 'and no half job came to be'
	mount -o remount,size=512M none "$T/state"
	mv ../f f
	is "$(errand -q -- sha256sum f | cut -d' ' -f1)" "$(sum f)" \
	    'with more room the same command works, and the bytes are right (FULL-A1)'
	stop_daemon
	run_daemon
	is "$(errand -q -- sha256sum f | cut -d' ' -f1)" "$(sum f)" 'after a restart too'
	stop_daemon
	umount "$T/state"
fi

done_testing
