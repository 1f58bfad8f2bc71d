#!/bin/sh
# What programs find inside a sandbox: what they are used to.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
start_daemon

tree inside
job() { errand -q -- "$@" 2>&1; }
py() { job /usr/bin/python3 -c "$1"; }

is "$(py 'import multiprocessing as m; m.Lock(); print("ok")')" ok \
    'shared memory and semaphores (TMP-A1)'
is "$(job sh -c 'for d in /tmp /dev/shm /var/tmp .; do cp /bin/true $d/t && $d/t || echo "no exec in $d"; done')" \
    '' 'programs run from every writable directory (TMP-A3)'
is "$(py 'import socket as k
s=k.create_server(("127.0.0.1",0)); c=k.create_connection(s.getsockname(),3)
s=k.create_server(("::1",0),family=k.AF_INET6); c=k.create_connection(s.getsockname()[:2],3)
print("ok")')" ok 'the loopback interface, in both families (NET-A1)'
is "$(py 'import threading as t
x=t.Thread(target=print,args=("ok",)); x.start(); x.join()')" ok 'threads (NS-A1)'
is "$(py 'import ctypes
l=ctypes.CDLL(None,use_errno=True); l.syscall(999,0); print(ctypes.get_errno())')" 38 \
    'a system call that does not exist is "not implemented" (NS-A1)'
cat >mq.py <<'EOF'
import ctypes, os
l=ctypes.CDLL("librt.so.1",use_errno=True)
NB=os.O_CREAT|os.O_RDWR|os.O_EXCL
q=l.mq_open(b"/q",NB,0o600,None)
if q == -1: print("open", ctypes.get_errno())
if os.fork() == 0:
	l.mq_send(l.mq_open(b"/q",os.O_WRONLY),b"word",4,3)
	os._exit(0)
os.wait()
b=ctypes.create_string_buffer(8192); p=ctypes.c_uint()
n=l.mq_receive(q,b,8192,ctypes.byref(p)) if q != -1 else -1
print(n,b.raw[:max(n,0)].decode(),p.value,os.listdir("/dev/mqueue"))
n=0
while l.mq_open(b"/b%d"%n,NB,0o600,None) != -1: n+=1
print("bounded" if 4 <= n <= 16 else n, ctypes.get_errno())
r=l.msgget(0,0o600); print(l.msgsnd(r,ctypes.byref((ctypes.c_long*2)(1,7)),8,0))
EOF
queues="4 word 3 ['q']
bounded 24
0"
is "$(job /usr/bin/python3 mq.py)" "$queues" \
    'message queues of POSIX, bounded, and of System V'
# Where there are no user namespaces, or errandd may not raise its own limit
# (CAP_SYS_RESOURCE), what has ended shares with what runs, and the kernel takes a
# moment to give it back.
patience=10
if [ -z "${ERRAND_TEST_BOUNDED-}" ] &&
    job grep -q 'msgqueue size *unlimited' /proc/1/limits; then
	patience=0
fi
queues_are() { [ "$(errand -q "$@" -- /usr/bin/python3 mq.py 2>&1)" = "$queues" ]; }
check 'which end with their job' wait_for "$patience" queues_are
errand -q -- /usr/bin/python3 -c 'import ctypes, os, time
l=ctypes.CDLL("librt.so.1",use_errno=True)
for i in range(100):
	if l.mq_open(b"/q",os.O_CREAT|os.O_RDWR,0o600,None) != -1: break
	time.sleep(0.1)
print(i < 99, flush=True); time.sleep(20)' >"$T/up" 2>&1 &
other=$!
check "control: another job has one of that name" wait_for 30 grep -q True "$T/up"
grep -q True "$T/up" || diag "it said: $(cat "$T/up")"
check 'and are nobody else'\''s' wait_for "$patience" queues_are
kill "$other"
[ -n "${ERRAND_TEST_BOUNDED-}" ] ||
    check 'nor are they more for root inside' wait_for "$patience" queues_are --as-root
rm mq.py
is "$(py 'import os
os.mkdir("a"); os.mkdir("b"); open("a/f","w").close(); os.link("a/f","b/g")
os.rename("a/f","b/f"); os.rename("b","c"); print("ok")')" ok \
    'links and renames from one directory to another (NS-A2)'
mkdir -p sub/d && echo 1 >sub/d/f
is "$(py 'import ctypes, os, struct
l=ctypes.CDLL(None,use_errno=True)
os.rename("sub","moved")
def move():
	try: os.rename("moved/d","moved/e"); return "done"
	except OSError as e: return str(e.errno)
if os.fork() == 0:
	r=l.syscall(444,struct.pack("Q",1<<4|1<<7),8,0)
	print("none" if r == -1 or l.syscall(446,r,0) == -1 else move(),os.listdir("moved"),flush=True)
	os._exit(0)
os.wait()
print(open("moved/d/f").read().strip())' | tr '\n' ' ' | sed "s/^none/13/")" "13 ['d'] 1 " \
    'directories are not renamed for one who has forbidden himself to by Landlock'
rm -r sub
is "$(job sh -c 'for i in $(seq 200); do ( sleep 0.05 & ); done; sleep 1
    grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l')" 0 \
    'orphans are reaped (PROC-A2)'
is "$(py 'import socket,os
s=socket.socket(1); s.bind(os.getcwd()+"/"+"s"*70); print("ok")')" ok \
    'a short path, which leaves room for sockets (PATH-A1)'
is "$(job bash -c 'cat <(echo a) >/dev/stdout
    for d in null zero full random urandom tty; do test -c /dev/$d || echo "no $d"; done
    test "$(cat <(echo b))" = b && echo ok' | tr '\n' ' ')" 'a ok ' \
    'the usual devices (DEV-A3)'
is "$(py 'import sys; print(chr(233), sys.stdout.encoding)' | od -An -tx1 | tr -d ' \n' | cut -c1-4)" \
    c3a9 'a UTF-8 locale (LOC-A1)'
is "$(job sh -c 'echo "$TERM"')" dumb 'no terminal that is not there (LOC-A3)'
is "$(job sh -c 'mkdir /sys/fs/cgroup/x 2>/dev/null
    find /sys/fs/cgroup -maxdepth 3 -type d 2>/dev/null | xargs -I{} sh -c "mkdir {}/x 2>/dev/null && echo made" | wc -l')" \
    0 'no control groups to write to (DEV-A2)'
uid=1000
[ -z "${ERRAND_TEST_BOUNDED-}" ] ||
    uid=$(sed -n 's/^host_uid = //p' "$T/state/tenants.d"/*.conf)
is "$(job sh -c 'umask; ulimit -c; id -un; id -u; pwd; echo "$HOME"; test -w "$HOME" && echo w')" \
    "0022${NL}0${NL}runner${NL}$uid${NL}/workspace${NL}/home/runner${NL}w" \
    'umask, core limit, user, directory and home'
is "$(job sh -c 'ls -A /home/runner /run /tmp /var/tmp | grep -v : | grep -c .')" 0 \
    'which is empty, as are the other private ones'
is "$(job sh -c 'ls /proc/self/fd | tr "\n" " "')" '0 1 2 3 ' \
    'no descriptor but 0, 1, 2 (and the one of ls)'
run errand -q -- unshare -Ur true
check 'namespaces of its own are denied plainly (NS-A4)' test "$rc" -ne 0
like "$(cat "$T/err")" 'not permitted' 'as what they are'
if [ -n "${ERRAND_TEST_BOUNDED-}" ]; then
	skip 1 'needs user namespaces'
else
	is "$(errand -q --as-root -- id -u)" 0 '--as-root is uid 0 inside'
fi

mkdir build && echo 1 >build/f
job sh -c 'mv build build.ro && cp -r build.ro build; echo x >extra'
is "$(job ls -A | tr '\n' ' ')" '.errandignore build ' \
    'each run starts from the snapshot and nothing else (CAS-A4)'
if [ "$(errandctl --json status | "$TOOLS/jget" cgroup)" = none ]; then
	skip 1 'needs control groups'
else
	errand -q --memory 16M -- /usr/bin/python3 -c 'x=bytearray(64<<20)' 2>/dev/null
	is "$(errand -q --memory 512M -- /usr/bin/python3 -c 'x=bytearray(64<<20); print("ok")')" \
	    ok 'a failure for want of memory is not remembered (CAS-A5)'
fi
long=$T/$(printf 'd%.0s' $(seq 100))
mkdir -p "$long"
is "$(TMPDIR=$long errand -q -- echo ok)" ok 'a long TMPDIR of the client does not matter (PATH-A2)'
mkdir many && (cd many && mkdir $(seq -f d%g 200) && for d in d*; do echo 1 >"$d/f"; done)
job true
echo 2 >many/d199/f
is "$(job cat many/d199/f)" 2 'an edit in one of many directories is seen (MANY-A2)'

# --- the stand-in for .git ---

mkdir "$T/repo" && cd "$T/repo" || exit 1
git init -q . && mkdir -p a/b a-b 'b l'
for f in a/f a/b/g a-b/h 'b l/i' x.sh; do echo "$f" >"$f"; done
printf 'n' >'new
line' && chmod +x x.sh && ln -s a/f link && echo '*.o' >.gitignore
git add . && git -c user.name=t -c user.email=t@t commit -qm 1
echo untracked >late
git ls-files -z -c -o --exclude-standard | LC_ALL=C sort -z >"$T/sent"
errand -q -- git ls-files -z >"$T/listed"
check 'git lists what was sent, in its order' cmp "$T/sent" "$T/listed"
is "$(errand -q -- sh -c 'touch made.o made.c a/made.o; git clean -fdxq; find . | grep -v /.git/ | sort | md5sum')" \
    "$(find . | grep -v /.git/ | sort | md5sum)" 'git clean -x removes what the job made, and that alone'
is "$(errand -q -- sh -c 'touch made.c made.o; rm a/f
    git status --porcelain -uall | cut -c 1-2 | sort | uniq -c | tr -s " "')" \
    "$(printf ' 8 A\n 1 D\n 1 ??')" 'git status: what was sent is new, what was made is untracked'
is "$(errand -q -- sh -c 'git fsck --strict 2>/dev/null; echo $?')" 0 \
    'nothing in it is broken'
run errand -q -- sh -c 'git add -A && git -c user.name=t -c user.email=t@t \
    commit -qm 1 && echo more >>a/f && git diff --stat --exit-code'
is "$rc" 1 'a commit can be made there, and changes seen after it'
is "$(errand -q -- git ls-tree -r HEAD 2>&1 | wc -l)" 1 'which no other job sees'
is "$(errand diff last | wc -l)" 0 'and none of that is a change'

done_testing
