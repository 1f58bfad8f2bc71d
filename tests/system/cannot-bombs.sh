#!/bin/sh
# A job that takes all it can get: its limit ends it and is named, another job
# beside it does its work, and nothing stays.
# shellcheck disable=SC2016,SC2034,SC2154

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3

start_daemon 'slots = 3' 'idle_sandboxes = 0'
work bombs

swept() { [ -z "$(find "$T/state/run" -path '*/jobs/*' 2>/dev/null)" ]; }
# beside: a job of somebody else, with a time limit of its own
beside() { timeout 30 "$BIN/errand" -q --no-snapshot -- sh -c 'echo well'; }

# bomb LIMIT NAME OPTIONS... -- COMMAND...: run it, with another job beside
bomb() {
	limit=$1 name=$2
	shift 2
	errand run -d --no-snapshot $root "$@" >"$T/id" 2>"$T/err" ||
	    diag "$(cat "$T/err")"
	id=$(cat "$T/id")
	is "$(beside)" well "$who, $name: another job works beside it"
	timeout 60 "$BIN/errand" wait "$id" >/dev/null 2>&1
	rc=$?
	if [ "$rc" -ne 124 ]; then
		ok "$who, $name: it ends"
	else
		not_ok "$who, $name: it ends"
		errand kill -f "$id" >/dev/null 2>&1
	fi
	is "$(field limit "$id")" "$limit" "$who, $name: which limit is said"
	check "$who, $name: nothing stays" wait_for 20 swept
}

fork_bomb='import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try:
        os.fork()
    except OSError:
        pass'
threads='import threading, time
n = 0
try:
    while n < 100000:
        threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
        n += 1
except RuntimeError:
    pass
print(n, flush=True)
import os
os._exit(0 if n < 200 else 1)'
memory='b = []
while True:
    b.append(bytearray(1 << 20))'
descriptors='import os, resource
s, h = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (h, h))
n = 0
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
except OSError:
    pass
print(n, flush=True)
os._exit(0 if 100 < n <= 1 << 20 else 1)'
shm='import os
for d in "/dev/shm", "/tmp", os.environ["HOME"], "/run":
    try:
        with open(d + "/f", "wb") as f:
            while True:
                f.write(bytes(1 << 20))
    except OSError:
        pass'

disk='import os, sys
n = 0
try:
    for i in range(1 << 20):
        with open("f%d" % i, "wb", 0) as f:
            for j in range(64):
                n += f.write(bytes(65536))
except OSError as e:
    print(e.errno, n, flush=True)
    sys.exit(1)'
inodes='import os, sys
n = 0
try:
    while True:
        os.close(os.open("i%d" % n, os.O_WRONLY | os.O_CREAT))
        n += 1
except OSError as e:
    print(e.errno, n, flush=True)
    sys.exit(1)'
# What file systems there are of ours; some are kept ready, so few may come.
loops() { grep -ls "$T" /sys/block/loop*/loop/backing_file | wc -l; }
loops_are() { [ "$(loops)" -le $(($1 > 4 ? $1 : 4)) ]; }
# within LOW HIGH TEXT: the second word of what the job said
within() {
	got=$(errand logs "$id" | cut -d" " -f2)
	if [ "${got:-0}" -ge "$1" ] && [ "${got:-0}" -le "$2" ]; then
		ok "$3 ($got)"
	else
		not_ok "$3"
		diag "got $got, want $1 to $2"
	fi
}

# held N OPTIONS...: does this host hold jobs to that limit?  If not, N tests
# are skipped.
held() {
	held_n=$1
	shift
	if [ "$1" = --disk ] && [ "$(id -u)" -ne 0 ]; then
		:
	elif errand run -q --no-snapshot "$@" -- true 2>/dev/null; then
		return 0
	fi
	skip "$held_n" "needs what holds $1: cgroups, or as root loop devices"
	return 1
}

whos="runner as-root"
[ -z "${ERRAND_TEST_BOUNDED-}" ] || whos=runner
for who in $whos; do
	root=
	[ "$who" = runner ] || root=--as-root
	bomb runtime 'fork bomb' --pids 60 --timeout 2 -- \
	    python3 -c "$fork_bomb"
	if held 8 --memory 64M; then
		bomb memory 'memory bomb' --memory 64M -- python3 -c "$memory"
		bomb memory 'files in memory' --memory 64M -- \
		    sh -c 'python3 -c "$0"; exit 1' "$shm"
	fi
	if held 15 --disk 16M; then
		before=$(loops)
		bomb disk 'disk bomb (QUO-A1)' --disk 64M -- python3 -c "$disk"
		within $((63 << 20)) $((65 << 20)) \
		    "$who, disk bomb: over by at most 1 MiB"
		check "$who, disk bomb: its file system is gone" \
		    wait_for 20 loops_are "$before"
		bomb disk 'many small files' --disk 16M -- python3 -c "${disk%%for j*}"'n += f.write(bytes(8192))
except OSError as e:
    print(e.errno, n, flush=True)
    sys.exit(1)'
		bomb inodes 'inode bomb (QUO-A2)' --disk 16M -- python3 -c "$inodes"
		within 1000 $((4096 + 100)) "$who, inode bomb: a few thousand for 16 MiB"
	fi
	if held 5 --cpu-time 1s; then
		bomb cpu_time 'processor time' --cpu-time 1s -- \
		    sh -c 'for i in 1 2 3; do (while :; do :; done) & done; wait'
		check "$who, processor time: near what was asked for" \
		    test "$(field usage.cpu_us "$id")" -lt 4000000
	fi
	errand run -q --no-snapshot $root --pids 100 -- \
	    python3 -c "$threads" >"$T/out" 2>"$T/err"
	is "$?" 0 "$who, threads: about as many as processes may be"
	errand run -q --no-snapshot $root -- \
	    python3 -c "$descriptors" >"$T/out" 2>"$T/err"
	is "$?" 0 "$who, descriptors: its own limit ends them"
	errand run -q --no-snapshot $root -- \
	    sh -c 'head -c 200000000 /dev/zero; echo; echo end' 2>"$T/err" |
	    wc -c >"$T/out"
	is "$(field log.truncated)" true "$who, log flood: cut off"
	check "$who, log flood: the log keeps to its cap" \
	    test "$(field log.bytes)" -le $((70 * 1024 * 1024))
	is "$(field exit_code)" 0 "$who, log flood: the job goes on (LOG cap)"
	errand run -q --no-snapshot $root -- sh -c '
	    for i in 1 2 3 4 5; do setsid sleep 193710 & done
	    (trap "" TERM HUP; exec setsid sleep 193711) & exec true' \
	    >/dev/null 2>&1
	is "$?" 0 "$who, daemons: the job ends with its command"
	cannot "$who, daemons: none is left" pgrep -f '^sleep 19371[01]$'
	errand run -q --no-snapshot $root -- sh -c 'mkdir -p a/b; cd a/b
	    setsid sleep 1000 >/dev/null 2>&1 & exec 3<.; exec true' \
	    >/dev/null 2>&1
	check "$who, a mount kept busy: nothing stays" wait_for 20 swept
done

# Too short for most to look meanwhile, and a shell that does not pass it on.  Who
# does look in time ends the command, with TERM first.
if errand -q --no-snapshot --disk 10M -- true 2>/dev/null; then
	run errand --no-snapshot --disk 10M -- sh -c \
	    'head -c 50M /dev/zero >big; ls big'
	like "$rc $(cat "$T/out")" '^(120|137|143) ' 'a disk that was filled at last is no success'
	like "$(cat "$T/err")" 'limit: disk' 'and named'
	run errand --no-snapshot --disk 10M -- sh -c 'head -c 5M /dev/zero >big'
	is $rc 0 'one that was not is none of it'
else
	skip 3 'needs what holds --disk: as root loop devices'
fi

# Whatever holds a disk limit goes with the job; what is used again is empty.
root=
if held 3 --disk 20M; then
	before=$(loops)
	bad=
	for i in $(seq 50); do
		got=$(errand -q --no-snapshot --disk 20M -- sh -c \
		    'find . | wc -l; head -c 5000000 /dev/urandom >f') || bad="$bad $i"
		[ "$got" = 1 ] || bad="$bad $i:$got"
	done
	is "$bad" '' '50 jobs with a disk limit each find an empty disk (QUO-A3)'
	check 'and nothing of their disks stays (QUO-A3)' wait_for 20 loops_are "$before"
	is "$(find "$T/state/images" -type f | wc -l)" 0 'no file of one either (QUO-A3)'
fi
check 'errandd is the same' test -e "/proc/$daemon_pid/exe"
done_testing
