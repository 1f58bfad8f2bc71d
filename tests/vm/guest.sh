#!/bin/sh
# Inside the machine that run.sh boots: errand as a service of systemd on pure
# cgroup v2.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
unset ERRAND_HOST
BIN=/usr/local/bin
CONTROL=/run/errand/control.sock
CG=/sys/fs/cgroup
SERVICE=$CG/system.slice/errandd.service

useradd -m alice
uid=$(id -u alice)
mkdir -m 777 "$T/o"

# The ordinary user is the one that most of this is about.
errand() { as_uid "$uid" timeout -k 5 "${ERRAND_TIME:-120}" "$BIN/errand" "$@"; }
as_root() { timeout -k 5 120 "$BIN/errand" --tenant build "$@"; }
# at_least VALUE MIN TEXT, at_most VALUE MAX TEXT
at_least() { check "$3 ($1, at least $2)" test "$1" -ge "$2"; }
at_most() { check "$3 ($1, at most $2)" test "$1" -le "$2"; }
main_pid() { systemctl show -p MainPID --value errandd; }
# groups: those of sandboxes that are there, jobs' and what is ready for one
groups() { find "$CG" -mindepth 1 -type d -path '*/errand.*/*'; }
no_groups() { [ -z "$(groups)" ]; }
# group_of PATTERN: where the last process with such a command line is
group_of() {
	g=$(sed -n 's/^0:://p' "/proc/$(pgrep -n -f "$1")/cgroup") &&
	    [ -n "$g" ] && echo "$CG$g"
}
# What waits for a job has a group and three processes: its keeper, pid 1, and
# the one that will be the command.
ready() { errandctl --json status | sed -n 's/.*"ready":\([0-9]*\).*/\1/p'; }
only_ready() { [ "$(groups | wc -l)" -eq "$(ready)" ]; }
# of_tenants: the names of their processes
of_tenants() { ps -e -o uid=,comm= | awk '$1 >= 1879113728 { print $2 }'; }
only_ready_run() {
	of_tenants | awk -v n="$(ready)" '$1 !~ /^errand-(keeper|init)$/ { bad = 1 }
	    END { exit bad || NR != 3 * n }'
}
is_active() { [ "$(systemctl is-active errandd)" = active ]; }
# ended JOB: it has a last state
ended() { case $(field state "$1") in exited|failed|killed|lost) ;; *) false ;; esac; }

# --- the host ---

is "$(stat -f -c %T $CG)" cgroup2fs 'the host has cgroup v2 and nothing else'
diag "$(uname -r), systemd $(systemctl --version | head -n 1)"
diag "LSM: $(cat /sys/kernel/security/lsm 2>/dev/null)"
diag "userns: $(sysctl -n kernel.unprivileged_userns_clone user.max_user_namespaces 2>&1 | tr '\n' ' ')"

# --- the service ---

check 'the configuration is right' /usr/local/sbin/errandd -n -f /etc/errand/errandd.conf
check 'systemctl start' systemctl start errandd
is "$(systemctl is-active errandd) $(systemctl show -p Type --value errandd)" \
    'active notify' 'it is active, as it said itself'
check 'errandctl status' errandctl status
errandctl status | tee "$T/status" | sed 's/^/# /'
errandctl --json status >"$T/json"
is "$("$TOOLS/jget" cgroup <"$T/json")" v2 'it uses cgroup v2'
is "$("$TOOLS/jget" note <"$T/json")" '' 'nothing is missing on this host'
like "$(cat "$T/status")" '^store .* up .* filter +[1-9]' \
    'the store is under seccomp and Landlock'
check 'systemd does not complain about the unit' \
    sh -c '! journalctl -b -p warning -o cat _PID=1 | grep -i errand'
like "$(cat $SERVICE/errand.*/cgroup.controllers)" 'cpu.*memory.*pids' \
    'all three controllers are there for jobs'
is "$(cat $SERVICE/errand.*/cgroup.type)" domain 'and their group is a domain'
like "$(cat "/proc/$(main_pid)/cgroup")" '/errandd.service/supervisor$' \
    'errandd is in a leaf of its own'
check 'tenant add' errandctl tenant add build --uid alice --slots 4
check 'systemctl reload' systemctl reload errandd
is "$(errandctl tenant list | grep -c build)" 1 'the tenant is still there'

# --- jobs ---

tree first
printf 'int main(void) { return 0; }\n' >a.c
printf 'a: a.c\n\t$(CC) -o a a.c\n\t./a\n' >Makefile
run errand -q -- true
is "$rc" 0 'a job of an ordinary user'
[ "$rc" -eq 0 ] || diag "$(cat "$T/err")"
run as_root -q -- true
is "$rc" 0 'and of root, for that tenant'
bad=
for c in 0 1 42 120 127 255; do
	errand -q -- sh -c "exit $c"
	[ $? -eq $c ] || bad="$bad $c"
done
is "$bad" '' 'exit codes'
errand -q -- sh -c 'kill -SEGV $$'
is "$?" 139 'and signals'
run errand -- make
is "$rc" 0 'make builds in a job'
is "$(errand diff last)" 'A a' 'diff'
check 'fetch' errand fetch last -o "$T/o/got"
check 'brings the program' "$T/o/got/a"
check 'receipt' errand receipt last -o "$T/o/r"
check 'verify' errand verify "$T/o/r"
is "$(errand -q -- cat /proc/self/cgroup)" '0::/' 'a job sees no group above its own'

# --- workspaces: this kernel's overlay ---

tree layers
mkdir d e
i=0
while [ $i -lt 300 ]; do
	echo $i >d/$i
	echo $i >e/$i
	i=$((i + 1))
done
run errand -q -- sh -c 'cat d/* e/* | sort -n | uniq -c | wc -l'
is "$rc $(cat "$T/out")" '0 300' 'a tree of some files'
echo new >d/7
rm d/8
echo more >e/more
run errand -q -- sh -c 'cat d/7 e/more; ls d | wc -l; ls e | wc -l; sync
rm -r e; mkdir e; echo x >e/x; echo y >d/9; chmod 600 d/10; mv d/11 d/moved; ls e'
is "$rc $(tr '\n' ' ' <"$T/out")" '0 new more 299 301 x ' \
    'the same with an edit, over what lies there'
is "$(errand diff last | grep -v '^D e/' | tr '\n' ' ')" \
    'C d/10 D d/11 M d/9 A d/moved A e/x ' 'what the job changed'
is "$(errand diff last | grep -c '^D e/')" 301 'and what it removed'
check 'fetch' errand fetch last -o "$T/o/layers"
is "$(cat "$T/o/layers/d/9" "$T/o/layers/e/x" | tr '\n' ' ')" 'y x ' \
    'brings it'
echo newer >d/7
is "$(errand -q -- sh -c 'cat d/7 d/9; ls e | wc -l' | tr '\n' ' ')" \
    'newer 9 301 ' 'the next job sees the tree, not the other job'

# --- what the kernel counts ---

run errand -q -- python3 -c 'b = b"x" * (40 << 20)
for i in range(300000): pass'
is "$rc" 0 'a job that uses something'
at_least "$(field usage.cpu_us)" 10000 'its processor time is counted'
at_least "$(field usage.memory_peak_bytes)" 40000000 'and its memory'
is "$(field usage.oom_kills)" 0 'no kill'

# How long it takes to move another process, which errandd does once a job.
sleep 600 &
mkdir "$CG/a" "$CG/b"
python3 - $! "$CG/a/cgroup.procs" "$CG/b/cgroup.procs" <<'END' | sed 's/^/# /'
import sys, time
took = []
for i in range(40):
    with open(sys.argv[2 + i % 2], "w", buffering=1) as f:
        start = time.monotonic()
        f.write(sys.argv[1])
        f.flush()
        took.append(int((time.monotonic() - start) * 1e6))
    time.sleep(0.1)
took.sort()
print("a move to another cgroup takes", took[len(took) // 2], "us; all:", *took)
END
kill $!
wait 2>/dev/null
rmdir "$CG/a" "$CG/b"

# --- limits ---

run errand -q --memory 64M -- python3 -c 'b = b"x" * (400 << 20)'
check 'memory: too much of it fails' test "$rc" -ne 0
is "$(field limit)" memory 'the status says why'
at_least "$(field usage.oom_kills)" 1 'out-of-memory kills'
at_most "$(field usage.memory_peak_bytes)" 67108864 'most memory'
check 'the daemon goes on' is_active
run errand -q --memory 64M -- sh -c 'python3 -c "b = b\"x\" * (400 << 20)"; echo $?'
is "$rc $(cat "$T/out")" '0 137' 'one process is killed, not the job'
run errand -q --memory 64M -- sh -c 'head -c 200000000 /dev/zero >/tmp/x'
check 'files in /tmp count as memory' test "$rc" -ne 0
run errand -q --pids 20 -- sh -c 'i=0
while [ $i -lt 40 ]; do sleep 30 & i=$((i + 1)); done'
check 'pids: too many fail' test "$rc" -ne 0
is "$(field limit)" pids 'the status says why'
run errand -q --pids 20 -- sh -c 'i=0
while [ $i -lt 15 ]; do sleep 1 & i=$((i + 1)); done; wait'
is "$rc $(field limit)" '0 null' 'fewer are allowed'
run errand -q --cpus 1 -- sh -c 'nproc
for i in 1 2 3; do timeout 4 sh -c "while :; do :; done" & done; wait'
is "$rc $(cat "$T/out")" '0 1' 'cpus 1: the job sees one'
at_most "$(field usage.cpu_us)" "$(($(field phases_us.run) * 115 / 100))" \
    'and has no more, whole'
run errand -q --cpus 0.5 -- timeout 4 sh -c 'while :; do :; done'
at_most "$(field usage.cpu_us)" "$(($(field phases_us.run) * 65 / 100))" \
    'or half of one'
run errand -q --timeout 2 -- sleep 100
is "$rc $(field limit)" '143 runtime' 'timeout'
run errand -q --cpu-time 1s -- sh -c 'for i in 1 2; do (while :; do :; done) & done; wait'
is "$(field limit)" cpu_time 'cpu-time: it ends, and the status says why'
like "$(cat "$T/err")" 'limit: cpu_time' 'so does the client'
at_most "$(field usage.cpu_us)" 4000000 'near what was asked for'
run errand -q --disk 16M -- sh -c 'head -c 40000000 /dev/zero >f'
check 'disk: too much fails' test "$rc" -ne 0
is "$(field limit)" disk 'the status says why'
run errand -q --disk 16M -- sh -c 'head -c 8000000 /dev/zero >f'
is "$rc $(errand diff last)" '0 A f' 'less is allowed, and collected'
is "$(echo typed | errand -q -i -- cat)" typed '-i: what is piped in is read'
run errand -q --memory 100G -- true
is "$rc" 120 'more than the tenant may have is refused'

# --- ends ---

J=$(errand -d -- sh -c 'sleep 600 & sleep 600 & wait')
check 'a job runs' wait_for 30 has_state "$J" running
check 'in a group of its own' group_of '^sleep 600$'
at_least "$(wc -l <"$(group_of '^sleep 600$')/cgroup.procs")" 3 'all of it'
check 'kill' errand kill "$J"
is "$(field state "$J")" killed 'it is killed'
J=$(errand -d -- sh -c 'trap "" TERM; setsid sleep 600 & while :; do sleep 1; done')
wait_for 30 has_state "$J" running
check 'kill --force' errand kill --force "$J"
check 'no group is left but of what is ready' wait_for 20 only_ready
diag "ready: $(ready); groups: $(groups | wc -l)"
bad=
i=0
while [ $i -lt 30 ]; do
	errand -q -- true || bad="$bad $i:$?"
	i=$((i + 1))
done
is "$bad" '' 'thirty jobs in a row'
check 'no group is left of them' wait_for 20 only_ready
for n in $(errand ps -a -n 20 --json | "$TOOLS/jget" phases_us.start); do
	echo "$n"
done | sort -n | tr '\n' ' ' | sed 's/^/# phases_us.start: /; s/$/\n/'
check 'and no process' wait_for 20 only_ready_run
diag "$(of_tenants | sort | uniq -c | tr '\n' ' ')"
at_least "$(errandctl --json status | sed -n 's/.*"warm":\([0-9]*\).*/\1/p')" 25 \
    'most of them found a sandbox ready'

# --- the service again ---

J=$(errand -d -- sleep 600)
wait_for 30 has_state "$J" running
old=$(main_pid)
check 'systemctl restart' systemctl restart errandd
check 'another process serves' test "$(main_pid)" -ne "$old"
check 'the job has ended' wait_for 30 ended "$J"
diag "$(field state "$J"): $(field reason "$J")"
like "$(field state "$J") $(field reason.message "$J")" '^(killed|lost|failed) .*[a-z]' \
    'and its status says why'
J=$(errand -d -- sleep 600)
wait_for 30 has_state "$J" running
old=$(main_pid)
systemctl kill --kill-who=main -s KILL errandd
check 'after a kill systemd starts it anew' \
    wait_for 60 sh -c "p=\$(systemctl show -p MainPID --value errandd) && [ \$p -ne 0 ] && [ \$p -ne $old ]"
check 'it comes up' wait_for 60 is_active
check 'the job has ended' wait_for 30 ended "$J"
diag "$(field state "$J"): $(field reason "$J")"
is "$(field state "$J")" lost 'as lost'
check 'no group is left' wait_for 10 no_groups
is "$(errand -q -- echo again)" again 'jobs run again'
is "$(errandctl --json status | "$TOOLS/jget" cgroup)" v2 'still with cgroup v2'
errandctl status | sed 's/^/# /'

# --- started by hand, among other processes ---

check 'systemctl stop' systemctl stop errandd
check 'nothing of its groups is left' test ! -e "$SERVICE"
mkdir "$T/s"
: >"$T/s/.errandignore"
BIN=/usr/local/libexec/errand daemon_conf >"$T/errandd.conf"
/usr/local/sbin/errandd -d -f "$T/errandd.conf" >"$T/errandd.log" 2>&1 &
daemon_pid=$!
CONTROL=$T/run/control.sock
check 'it starts' wait_for 20 errandctl status
is "$(errandctl --json status | "$TOOLS/jget" cgroup)" v2 'and has cgroups'
ERRAND_HOST=unix:$T/run/errand.sock
export ERRAND_HOST
cd "$T/s" || exit 1
run errand -q --memory 64M -- python3 -c 'b = b"x" * (400 << 20)'
is "$(field limit)" memory 'that hold'
unset ERRAND_HOST
stop_daemon
is "$(find $CG -name 'errand.*' -o -name supervisor)" '' 'and leaves none'

# --- a session of a user, without the service ---

# session COMMAND...: as after a login, with a place in /run/user
session() {
	systemd-run --quiet --wait --pipe --collect --uid=alice \
	    -p PAMName=login -p WorkingDirectory="$T/s" \
	    -E PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/bin "$@"
}
session sh -c 'echo "$XDG_RUNTIME_DIR"; cat /proc/self/cgroup' 2>&1 | sed 's/^/# /'
loginctl enable-linger alice
# A first session runs with the daemon the client starts.
cat >"$T/s/private" <<'END'
errand -- sh -c 'echo job $(id -u)'
echo "rc $?"
errandctl status
errandctl --json status >"$1/status"
errand -q --memory 64M -- true
echo "memory rc $?"
errand receipt last -o "$1/session" && errand verify "$1/session"
pkill -TERM -x -o -u alice errandd
END
session sh "$T/s/private" "$T/o" >"$T/out" 2>&1 </dev/null
sed 's/^/# /' "$T/out"
like "$(cat "$T/out")" '^job 1000$' 'a private daemon runs a job'
like "$(cat "$T/out")" '^rc 0$' 'and exits as it'
is "$("$TOOLS/jget" rootless <"$T/o/status")" true 'it is rootless'
is "$("$TOOLS/jget" cgroup <"$T/o/status")" none 'a session gives it no cgroups'
like "$("$TOOLS/jget" note <"$T/o/status")" 'Permission denied' 'and it says why'
like "$(cat "$T/out")" '^memory rc 120$' 'a limit of memory is refused'

# Where the user's own manager delegates, limits hold.
cat >"$T/s/delegated" <<'END'
systemd-run --user --quiet --unit=errandd -p Delegate=yes -p Type=notify \
    /usr/local/sbin/errandd --user -d || exit
errandctl status
errandctl --json status >"$1/status"
errand -q --memory 64M -- python3 -c 'b = b"x" * (400 << 20)'
echo "memory rc $?"
errand status last --json >"$1/job"
errand -q --cpus 1 -- true
echo "cpus rc $?"
systemctl --user stop errandd
END
session sh "$T/s/delegated" "$T/o" >"$T/out" 2>&1 </dev/null
sed 's/^/# /' "$T/out"
is "$("$TOOLS/jget" cgroup <"$T/o/status")" v2 \
    'errandd --user as a service of the user has cgroup v2'
is "$("$TOOLS/jget" limit <"$T/o/job")" memory 'and limits memory'
like "$(cat "$T/out")" '^cpus rc 0$' 'and processors'

# Where it delegates a part only, the rest is refused.
sed -i 's/-p Delegate=yes/-p Delegate=pids/' "$T/s/delegated"
session sh "$T/s/delegated" "$T/o" >"$T/out" 2>&1 </dev/null
sed 's/^/# /' "$T/out"
like "$(cat "$T/out")" '^cpus rc 120$' 'a limit that nobody delegated is refused'
like "$("$TOOLS/jget" note <"$T/o/status")" 'controls .*cpu' 'and it says why'

# --- the system tests that depend on the host ---

# suite NAME: one of tests/system, with daemons of its own
suite() {
	start=$(date +%s)
	ERRAND_TIME=300 ERRAND_START_TIME=60 timeout -k 10 1200 \
	    sh "$TOP/tests/system/$1.sh" >"$T/suite" 2>&1 </dev/null
	rc=$?
	n=$(grep -c '^ok' "$T/suite")
	check "$1.sh: $n passed, in $(($(date +%s) - start)) s" test "$rc" -eq 0
	[ "$rc" -eq 0 ] || grep -v '^ok' "$T/suite" | sed 's/^/# /'
	grep -i '^ok.*# *skip' "$T/suite" | sed 's/^/# /'
	check 'and no cgroup is left' wait_for 20 none_left
}
none_left() { [ -z "$(find $CG -type d -name 'errand.*')" ]; }

unset XDG_RUNTIME_DIR
read -r scripts <"$TOP/tests/vm/scripts"
for s in $scripts; do
	suite "$s"
done

if [ "$test_failed" -gt 0 ]; then
	diag "$(journalctl -b -u errandd -o short-monotonic | tail -n 80)"
fi
done_testing
