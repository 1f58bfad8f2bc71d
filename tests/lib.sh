# shellcheck shell=sh
# What the system tests share: a private daemon and TAP.  A test begins with
#
#	. "$(dirname "$0")/../lib.sh"
#	plan 3
#	start_daemon
#
# and ends with done_testing.  Everything it makes is below $T, which is
# removed at the end; what it started is stopped.

TOP=${ERRAND_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${ERRAND_BUILD:-$TOP/build}
BIN=$BUILD/bin
T=$(mktemp -d "${TMPDIR:-/tmp}/errand-test.XXXXXX") || exit 1
chmod 755 "$T"
mkdir -m 755 "$T/home" "$T/config" "$T/state" "$T/run" "$T/data" "$T/cache"

HOME=$T/home
XDG_CONFIG_HOME=$T/config
XDG_STATE_HOME=$T/data
XDG_CACHE_HOME=$T/cache
XDG_RUNTIME_DIR=$T/cache
LC_ALL=C.UTF-8
SOCK=$T/run/errand.sock
CONTROL=$T/run/control.sock
ERRAND_HOST=unix:$SOCK
export HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR \
    LC_ALL ERRAND_HOST
unset CDPATH

daemon_pid=
test_planned=
test_count=0
test_failed=0

# --- TAP ---

plan() { test_planned=$1; echo "1..$1"; }

ok() {
	test_count=$((test_count + 1))
	echo "ok $test_count - $1"
}

not_ok() {
	test_count=$((test_count + 1))
	test_failed=$((test_failed + 1))
	echo "not ok $test_count - $1"
}

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# is GOT WANT TEXT
is() {
	if [ "$1" = "$2" ]; then
		ok "$3"
	else
		not_ok "$3"
		diag "got:  $1"
		diag "want: $2"
	fi
}

# like GOT PATTERN TEXT: an extended regular expression
like() {
	if printf '%s\n' "$1" | grep -Eq -e "$2"; then
		ok "$3"
	else
		not_ok "$3"
		diag "got:  $1"
		diag "want: /$2/"
	fi
}

# check TEXT COMMAND...: it succeeds
check() {
	test_text=$1
	shift
	if "$@" >"$T/check.out" 2>&1; then
		ok "$test_text"
	else
		not_ok "$test_text"
		diag "$* : status $?"
		diag "$(tail -n 20 "$T/check.out")"
	fi
}

# cannot TEXT COMMAND...: it fails, but not for want of the command
cannot() {
	test_text=$1
	shift
	"$@" >"$T/check.out" 2>&1
	test_rc=$?
	if [ "$test_rc" -ne 0 ] && [ "$test_rc" -ne 127 ]; then
		ok "$test_text"
	else
		not_ok "$test_text"
		diag "$* : status $test_rc"
		diag "$(tail -n 20 "$T/check.out")"
	fi
}

# skip N REASON: N tests that cannot run here
skip() {
	test_left=$1
	while [ "$test_left" -gt 0 ]; do
		test_count=$((test_count + 1))
		test_left=$((test_left - 1))
		echo "ok $test_count - not run # SKIP $2"
	done
}

# skip_all REASON: the whole file
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

need_root() { [ "$(id -u)" -eq 0 ] || skip_all "needs root"; }

need_program() {
	for test_p; do
		command -v "$test_p" >/dev/null || skip_all "no $test_p here"
	done
}

done_testing() {
	[ -n "$test_planned" ] || echo "1..$test_count"
	[ "$test_failed" -eq 0 ]
	exit
}

# --- waiting ---

# wait_for SECONDS COMMAND...: until it succeeds, at most so long
wait_for() {
	test_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$test_end" ] || return 1
		sleep 0.05
	done
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# --- the daemon and its clients ---

errand() { "$BIN/errand" "$@"; }
errandctl() { "$BIN/errandctl" -s "$CONTROL" "$@"; }

# as_uid UID COMMAND...: as another, unprivileged user
as_uid() {
	test_uid=$1
	shift
	mkdir -p "$T/home-$test_uid"
	chown "$test_uid" "$T/home-$test_uid"
	HOME=$T/home-$test_uid XDG_CONFIG_HOME=$T/home-$test_uid/config \
	    XDG_STATE_HOME=$T/home-$test_uid/state \
	    XDG_CACHE_HOME=$T/home-$test_uid/cache \
	    setpriv --reuid "$test_uid" --regid "$test_uid" --clear-groups "$@"
}

# daemon_conf: the configuration of every private daemon
daemon_conf() {
	cat <<-END
	state_dir = "$T/state"
	run_dir = "$T/run"
	worker_dir = "$BIN"
	local_tenants = "auto"
	END
}

daemon_up() { errandctl status; }

# start_daemon [LINE...]: with these lines added to its configuration, in the
# place of what there is for their keys
start_daemon() {
	daemon_conf >"$T/errandd.conf"
	for test_line; do
		sed -i "/^${test_line%%[ =]*} *=/d" "$T/errandd.conf"
		printf '%s\n' "$test_line" >>"$T/errandd.conf"
	done
	run_daemon
}

# launch_daemon: with the configuration there is, and not waited for
launch_daemon() {
	set --
	[ "$(id -u)" -eq 0 ] || set -- --user
	setsid "$BIN/errandd" "$@" -d -f "$T/errandd.conf" \
	    >>"$T/errandd.log" 2>&1 </dev/null &
	daemon_pid=$!
}

# run_daemon: (again) with the configuration there is
run_daemon() {
	launch_daemon
	wait_for "${ERRAND_START_TIME:-20}" daemon_answers && daemon_up \
	    >/dev/null 2>&1 && return 0
	diag "the daemon did not start:"
	diag "$(tail -n 40 "$T/errandd.log")"
	exit 1
}

# True when it answers, and also when it is dead and waiting is in vain.
daemon_answers() { gone "$daemon_pid" || daemon_up; }

# stop_daemon [SIGNAL]: and wait until it has gone
# shellcheck disable=SC2120
stop_daemon() {
	[ -n "$daemon_pid" ] || return 0
	kill -s "${1:-TERM}" "$daemon_pid" 2>/dev/null
	wait_for 15 gone "$daemon_pid" || kill -s KILL "$daemon_pid"
	wait "$daemon_pid" 2>/dev/null
	# Workers share its process group; by now none should be left.
	kill -s KILL -- "-$daemon_pid" 2>/dev/null
	daemon_pid=
}

cleanup() {
	test_rc=$?
	trap - EXIT INT TERM
	stop_daemon
	if [ "$test_failed" -gt 0 ] && [ -s "$T/errandd.log" ]; then
		diag "the daemon said:"
		diag "$(tail -n 60 "$T/errandd.log")"
	fi
	if [ -n "${ERRAND_KEEP-}" ]; then
		diag "kept $T"
	else
		chmod -R u+rwX "$T" 2>/dev/null
		rm -rf --one-file-system "$T"
	fi
	exit "$test_rc"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
