#!/bin/sh
# What a user takes, in a job or as a client, another user still has.
# shellcheck disable=SC2016,SC2034,SC2154

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_root
need_program python3

start_daemon 'slots = 4'
chmod 755 "$T" "$T/run"
work starve

greedy() { as_uid 4242 timeout 60 "$BIN/errand" "$@"; }
modest() { as_uid 4243 timeout 60 "$BIN/errand" "$@"; }

# --- what the kernel counts for a user ---

py='import ctypes, os, platform, resource, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
class V(ctypes.Union):
    _fields_ = [("i", ctypes.c_int), ("p", ctypes.c_void_p)]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
def take(what, most):
    n = 0
    while n < most and what() >= 0:
        n += 1
    return n
def inotify():
    return libc.inotify_init1(0)
def send():
    return libc.sigqueue(os.getpid(), signal.SIGRTMIN, V(1))
def pty():
    try:
        return os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return -1
def aio():
    nr = {"x86_64": 206}.get(platform.machine(), 0)
    return libc.syscall(nr, 1, ctypes.byref(ctypes.c_ulong(0)))
most = int(sys.argv[1])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 100000), hard))
print(*[take(f, most) for f in (inotify, send, pty)],
    take(aio, most if most > 10 else 0), flush=True)
if most > 10:
    time.sleep(60)'
J=$(greedy -d --no-snapshot -- python3 -c "$py" 1000000)
said() { greedy logs "$J" 2>/dev/null | grep -q .; }
wait_for 30 said
diag "one has taken: $(greedy logs "$J" 2>/dev/null)"
is "$(modest -q --no-snapshot -- python3 -c "$py" 10)" '10 10 10 0' \
    'one job takes all inotify, signals and terminals it can: another has some'
is "$(script -qec "$BIN/errand -q -t --no-snapshot -- echo yes" /dev/null \
    </dev/null | tr -dc '[:lower:]')" yes 'and a terminal of its own'
check 'what the host counts for all users together is left: aio' \
    test "$(cat /proc/sys/fs/aio-nr)" -lt 30000
greedy kill -f "$J" >/dev/null 2>&1

# --- a disk that takes long to be made ---

# slow_disks: a daemon for whom mkfs takes its time where a disk is large
slow_disks() {
	mkdir "$T/bin" "$T/real"
	for p in errand errandctl errand-snapshot errand-exec errand-store; do
		ln -s "$BIN/$p" "$T/bin/$p"
	done
	cp /usr/sbin/mkfs.ext4 "$T/real/mkfs.ext4"
	cat >"$T/slow" <<-END
	#!/bin/sh
	[ \$(stat -L -c %s /proc/self/fd/0) -lt 100000000000 ] || sleep 3
	exec "$T/real/mkfs.ext4" "\$@"
	END
	cat >"$T/bin/errandd" <<-END
	#!/bin/sh
	exec unshare -m --propagation private sh -c 'mount --bind "$T/slow" \
	    /usr/sbin/mkfs.ext4 && exec "$BIN/errandd" "\$@"' errandd "\$@"
	END
	chmod 755 "$T/slow" "$T/bin/errandd"
	stop_daemon
	BIN=$T/bin
	start_daemon 'slots = 4'
}

if unshare -m --propagation private true 2>/dev/null &&
    greedy -q --no-snapshot --disk 16M -- true 2>/dev/null; then
	real_bin=$BIN
	slow_disks
	greedy_state() { greedy status --json "$1" | "$TOOLS/jget" state; }
	J=$(greedy -d --no-snapshot --disk 500G -- true)
	K=$(greedy -d --no-snapshot --disk 400G -- true)
	modest -q --no-snapshot -- true &&
	    modest -q --no-snapshot --disk 20M -- true
	is "$? $(greedy_state "$J")" '0 starting' \
	    'a job waits for a large disk, those of others do not'
	greedy kill "$K" >/dev/null 2>&1
	is "$(greedy_state "$K")" killed 'one that waits for its disk can be killed'
	greedy wait "$J" >/dev/null 2>&1
	is "$? $(greedy_state "$J")" '0 exited' 'and the first gets it'
	greedy -q --no-snapshot --disk 500G -- true
	is "$?" 0 'so does the next'
	stop_daemon
	BIN=$real_bin
	start_daemon
else
	skip 4 'needs what holds --disk (loop devices) and a root that is a mount'
fi

# --- memory of the daemon ---

stop_daemon
start_daemon 'slots = 1'
big=$(head -c 131000 /dev/zero | tr '\0' x)
set --
for v in 1 2 3 4 5 6 7; do
	set -- "$@" -e "V$v=$big"
done
first=$(greedy -d --no-snapshot -- sleep 100)
n=0
while [ $n -lt 90 ] && greedy -d --no-snapshot "$@" -- true >/dev/null 2>"$T/err"
do
	n=$((n + 1))
done
check 'environments of jobs that wait have a bound' test $n -gt 60 -a $n -lt 80
like "$(cat "$T/err")" 'environments of 6[34].* MiB' 'and the refusal says so'
check 'another may have jobs that wait' \
    modest -d -q --no-snapshot "$@" -- true
greedy kill -f "$first" >/dev/null 2>&1
waiting() { errandctl status | grep -q ' 0 queued'; }
wait_for 60 waiting
check 'when they have run, more may wait' \
    greedy -q --no-snapshot "$@" -- true

done_testing
