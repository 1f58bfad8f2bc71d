#!/bin/sh
# What a job cannot do: a hostile job tries.  The probes that run inside are
# tools/job_probe.sh and tools/job_syscalls.c; each is run as the job's uid
# 1000 and again with --as-root, or, where there are no user namespaces, as the
# tenant's uid.
# shellcheck disable=SC2154

. "$(dirname "$0")/../lib.sh"

LIMIT=30
TOOLS=$BUILD/tests/tools
mark=errand-mark-$$

mkdir "$T/count" "$T/tree"
cp "$TOP/tests/tools/job_probe.sh" "$TOOLS/job_syscalls" "$T/tree/"

"$TOOLS/kill_counter" "$T/count" "$mark" >"$T/port" &
counter=$!
setsid sh -c 'sleep 3600; :' "$mark" &
host_process=$!
trap 'kill "$counter"; kill -- "-$host_process"; cleanup' EXIT
wait_for $LIMIT test -s "$T/port" || { diag "no counter"; exit 1; }
port=$(cat "$T/port")

root=
[ "$(id -u)" -ne 0 ] || root=yes
# Ids of its own: processes are found by them.
base=$((1900000000 + $$ % 10000 * 10000))
if [ -n "$root" ]; then
	start_daemon 'slots = 4' 'idle_sandboxes = 0' \
	    "tenant_uids = \"$base-$((base + 999))\"" \
	    "worker_uids = \"$((base + 1000))-$((base + 1255))\""
	errandctl tenant add alpha --uid 0 --net host >/dev/null
	errandctl tenant add beta --uid 1000 >/dev/null
else
	start_daemon 'slots = 4' 'idle_sandboxes = 0'
fi

field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$T/json" | head -n 1
}
count() { grep -cxF "$1" "$T/count/count"; }
counted() { [ "$(count "$1")" -ge 1 ]; }
marked() { pgrep -f "$1" >/dev/null; }
not_marked() { ! marked "$1"; }

# run ARGUMENT...: a job in the tree; sets rc, out and err, and the JSON file
run() {
	cd "$T/tree" || exit 1
	timeout 120 "$BIN/errand" run --include-all -C . "$@" \
	    >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	errand status last --json >"$T/json" 2>&1
	out=$(cat "$T/out")
	err=$(cat "$T/err")
}

# --- it sees and reaches nothing ---

# Another tenant's job is there at the same time.
other_started() { grep -q "^errand: job" "$T/other"; }
if [ -n "$root" ]; then
	mkdir "$T/beta"
	chown 1000 "$T/beta"
	(cd "$T/beta" && as_uid 1000 "$BIN/errand" run --no-snapshot -- \
	    sh -c 'sleep 3600; :' "$mark-beta" 2>"$T/other") &
	wait_for $LIMIT marked "sleep 3600; : $mark-beta" &&
	    wait_for $LIMIT other_started
fi
check "control: the host's process can be seen on the host" marked "$mark"
check "control: the abstract socket is there" \
    "$TOOLS/job_syscalls" abstract "$mark"
check "control: the port is there" \
    bash -c "echo host >/dev/tcp/127.0.0.1/$port"

# probe OPTION...: the whole probe as a job; its lines become ours
probe() {
	who=$1 uid=$2
	shift 2
	run "$@" -- bash ./job_probe.sh "$uid" "$T/state" "$port" "$mark" \
	    "$mark" "$(hostname)"
	is "$rc" 0 "$who: the probe went through"
	while read -r line; do
		case $line in
		"ok "*) ok "$who: ${line#ok }" ;;
		"not ok "*) not_ok "$who: ${line#not ok }" ;;
		*) diag "$line" ;;
		esac
	done <"$T/out"
	[ "$rc" -eq 0 ] || diag "$err"
	like "$(wc -l <"$T/out")" '^1[5-9][0-9]$|^[2-9][0-9][0-9]$' \
	    "$who: all of it"
}
if [ -n "${ERRAND_TEST_BOUNDED-}" ]; then
	like "$(errandctl status)" '^isolation +bounded: user namespaces are closed' \
	    "status says how jobs are kept apart, and why so"
	probe runner "$base"
	# What stood in for user namespaces is given up before the command goes.
	run -d -- sh -c 'echo up; sleep 3600'
	job=$out
	up() { errand logs "$job" | grep -qx up; }
	wait_for $LIMIT up
	like "$(pgrep -u "$base" | wc -l)" '^[4-9]$' "control: keeper, pid 1 and job are there"
	is "$(for p in $(pgrep -u "$base"); do sed -n 's/^Cap\(Inh\|Prm\|Eff\|Amb\):.//p' \
	    "/proc/$p/status"; done | sort -u)" 0000000000000000 \
	    "no process of the tenant's uid has a capability"
	is "$(for p in $(pgrep -u "$base"); do sed -n 's/^NoNewPrivs:.//p' \
	    "/proc/$p/status"; done | sort -u)" 1 "or can get one"
	exec_pid=$(errandctl --json status | tr '{' '\n' | sed -n \
	    '/"role": *"exec"/s/.*"pid": *\([0-9]*\).*/\1/p')
	is "$(sed -n 's/^CapPrm:.//p' "/proc/$exec_pid/status")" 00000000002011e2 \
	    "errand-exec has those it needs"
	kill -9 "$exec_pid"
	killed=1
	none() { ! pgrep -u "$base"; }
	check "which is dead: so are keeper, pid 1 and job" wait_for $LIMIT none
	is "$(errand wait "$job" >/dev/null 2>&1; echo $?)" 120 "the job has failed"
	run -- true
	is "$rc" 0 "and the next one runs"
	run --as-root -- true
	is "$rc" 120 "--as-root is refused"
	like "$err" '--as-root needs user namespaces.*max_user_namespaces' \
	    "and said why"
else
	like "$(errandctl status)" '^isolation +user namespaces$' \
	    "status says how jobs are kept apart"
	probe runner 1000
	probe as-root 0 --as-root
fi

is "$(count leak)" 0 "no connection came through"
if [ -n "$root" ]; then
	errand kill -q "$(sed -n 's/^errand: job \([a-z0-9]*\) on.*/\1/p' \
	    "$T/other")" --tenant beta
	run --net host -- bash -c "echo let >/dev/tcp/127.0.0.1/$port"
	is "$rc" 0 "control: with --net host the port can be reached"
	wait_for $LIMIT counted let
	is "$(count let)" 1 "control: and it was"
	run --net host -- ./job_syscalls abstract "$mark"
	is "$rc" 1 "with --net host abstract sockets are refused"
	run --tenant beta --net host -- true
	is "$rc" 120 "who may not use --net host is refused it"
	like "$err" 'may not use --net' "and told so"
fi

# --- limits ---

if [ -n "$root" ]; then
	run --pids 20 -- ./job_syscalls forks 500
	is "$rc" 1 "a fork bomb comes to an end"
	like "$out" '^(1[0-9]|20)$' "at the limit asked for"
	is "$(field limit)" pids "which is named"
	like "$err" 'limit: pids' "to the client too"
	run --pids 600 -- ./job_syscalls forks 500
	is "$rc:$out" 0:500 "control: with more allowed it does not"

	run --memory 64M -- ./job_syscalls fill 200
	is "$rc" 137 "who takes too much memory is killed"
	is "$(field state):$(field limit)" killed:memory "and the limit named"
	like "$err" 'limit: memory' "to the client too"
	run --memory 400M -- ./job_syscalls fill 200
	is "$rc:$out" 0:filled "control: with more allowed it is not"
	# What is in /tmp is memory, and has a limit of its own at most there.
	run --memory 64M -- sh -c 'dd if=/dev/zero of=/tmp/x bs=1M count=200'
	case $rc in
	0) not_ok "/tmp is limited" ;;
	*) ok "/tmp is limited" ;;
	esac

	run --cpus 1 -- nproc
	is "$out" 1 "a job sees the processors it may use"
	# shellcheck disable=SC2016
	run --cpus 0.2 -- bash -c 'i=0; while [ $i -lt 200000 ]; do
	    i=$((i + 1)); done'
	used=$(field cpu_us) ran=$(field run)
	if [ "$rc" -eq 0 ] && [ "$used" -lt $((ran / 3)) ]; then
		ok "and gets no more of them"
	else
		not_ok "and gets no more of them ($used us in $ran us)"
	fi
fi

run --timeout 1 -- ./job_syscalls stubborn
is "$rc" 137 "a job that ignores signals is killed when its time is over"
is "$(field state):$(field limit)" killed:runtime "and the limit named"
like "$err" 'limit: runtime' "to the client too"
run --timeout 1 -- sleep 3600
is "$rc" 143 "one that does not gets TERM"

# Else pid 1 would end, and the host would be blamed.
for as in '' --as-root; do
	[ -z "$as" ] || [ -z "${ERRAND_TEST_BOUNDED-}" ] || continue
	# shellcheck disable=SC2086
	run $as -- sh -c 'prlimit --pid 1 --nofile=0:0; mkdir a && mv a b
	    sleep 1; echo refused'
	is "$rc:$out" 0:refused "pid 1's limits are not the job's to set$as"
done

# --- whose it is on the host ---

if [ -n "$root" ]; then
	exe=$(sha256sum "$BIN/errand-exec")
	for as in '' --as-root; do
		[ -z "$as" ] || [ -z "${ERRAND_TEST_BOUNDED-}" ] || continue
		# shellcheck disable=SC2086
		run $as -d -- sh -c "mkdir own; : >own/f; : >/tmp/f; ln -s / own/l
		    mkfifo own/p; exec bash -c 'exec -a $mark-own sleep 3600'"
		job=$out
		check "control: it runs$as" wait_for $LIMIT marked "$mark-own"
		is "$(stat -c %u:%g "/proc/$(pgrep -f "$mark-own")")" "$base:$base" \
		    "a process is its tenant's$as"
		made=$(find "$T/state/run" -path '*/own*')
		is "$(printf '%s\n' "$made" | wc -l)" 4 "control: what it made is there$as"
		# shellcheck disable=SC2086
		is "$(stat -c %u:%g $made | sort -u)" "$base:$base" "and so is a file$as"
		errand kill -q "$job" >/dev/null 2>&1
		check "it ends$as" wait_for $LIMIT not_marked "$mark-own"
	done
	is "$(sha256sum "$BIN/errand-exec")" "$exe" "our program is as it was"
fi
# Signals to all that a job may reach end the job's own processes.
run -- sh -c "sleep 3600 & kill -9 -1; echo on"
check "the host's process is there" marked "$mark"
check "and errandd" test -e "/proc/$daemon_pid/exe"
run -- true
is "$rc" 0 "and the next job runs"

# --- nothing stays ---

run -- sh -c "setsid setsid sh -c 'sleep 3600; :' $mark-left & \
    (trap '' HUP TERM INT; exec bash -c 'exec -a $mark-left sleep 3600') & \
    exit 0"
is "$rc" 0 "a job that leaves daemons ends with its command"
is "$(field state)" exited "as usual"
check "and they end too" not_marked "$mark-left"
is "$(field cleanup)" true "which is recorded"
# A pipe held open by what is left does not hold up the end.
run -- sh -c "sleep 3600 & echo done"
is "$rc:$out" 0:done "what is left does not hold the output open"

job=$(field id)
if [ -n "$root" ]; then
	is "$(find /sys/fs/cgroup -type d -name "$job")" "" "no cgroup stays"
	clean() { ! pgrep -u "$base" && ! pgrep -u "$((base + 1))"; }
	check "no process of a tenant stays" wait_for $LIMIT clean
fi
swept() { [ -z "$(find "$T/state/run" -path '*/jobs/*' 2>/dev/null)" ]; }
check "no directory stays" wait_for $LIMIT swept
is "$(grep -c "$T" /proc/self/mountinfo)" 0 "no mount of ours is on the host"
check "errandd is the same" test -e "/proc/$daemon_pid/exe"
is "$(grep -cE 'killed by signal|broke' "$T/errandd.log")" "${killed:-0}" \
    "no worker was killed but by us"

done_testing
