#!/bin/sh
# Sandboxes that are ready before their jobs: that they are used, by whom, what
# holds in them, and that nothing of them is left.
# shellcheck disable=SC2016,SC2154

. "$(dirname "$0")/../lib.sh"
need_root
need_program setpriv pgrep

ALICE=64201
BOB=64202

# Ids of its own: processes are found by them.
base=$((2000000000 + $$ % 10000 * 10000))
start_daemon 'slots = 8' 'defaults { slots = 8 }' 'tenant_sandboxes = 6' \
    "tenant_uids = \"$base-$((base + 999))\"" \
    "worker_uids = \"$((base + 1000))-$((base + 1255))\""

alice() { as_uid $ALICE "$BIN/errand" "$@"; }
bob() { as_uid $BOB "$BIN/errand" "$@"; }
# figure NAME: of the pool, as errandctl tells it
figure() {
	errandctl --json status | tr '{' '\n' | grep '"cold":' |
	    sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}
has() { test "$(figure "$1")" "$2" "$3"; }
# pids NAME UID: of keepers or pids 1 of that tenant, the dead that nobody reaps
# left out
pids() { pgrep -r S,R,D -u "$2" -x "errand-$1"; }
exec_pid() { pgrep -P "$daemon_pid" -x errand-exec; }
# groups: below the base group that those of pid 1 are in
base_of() { sed -n 's/.*\(errand\.[^/]*\)\/.*/\1/p' "/proc/$1/cgroup" | head -n 1; }
groups() { find /sys/fs/cgroup -type d -path "*/$group/*" 2>/dev/null; }
no_groups() { [ -z "$(groups)" ]; }
boxes() { ls "$T/state/run/$1/jobs" 2>/dev/null; }
all_of() { pgrep -r S,R,D -u "$base,$((base + 1)),$((base + 2)),$((base + 3))"; }
none_of() { ! all_of; }

# --- claims ---

is "$(figure ready)$(figure made)" 00 'nothing is made for nobody'
alice run -q --no-snapshot -- true >/dev/null 2>&1
is "$(figure cold)" 1 "a tenant's first job makes its own sandbox"
check 'and one is made ready for the next' wait_for 20 has ready -eq 1
a_uid=$(stat -c %u "$T"/state/run/*/jobs | head -n 1)
was=$(pids init "$a_uid" | head -n 1)
group=$(base_of "$was")
check 'it is in a cgroup of its own' [ -n "$(groups)" ]
got=$(alice run -q --no-snapshot -- sh -c 'echo "$ERRAND_JOB"; id -u; pwd' 2>&1)
like "$got" '^[a-z2-7]{16}$' 'the next job runs'
is "$(figure warm)" 1 'in that one'
cannot 'which ends with it' kill -0 "$was"
check 'and another follows' wait_for 20 has ready -eq 1

# --- whose they are ---

before=$(pids init "$a_uid" | head -n 1)
bob run -q --no-snapshot -- true >/dev/null 2>&1
is "$(figure cold)" 2 "another tenant's job does not get it"
check 'it is still there' kill -0 "$before"
alice run -q --no-snapshot --as-root -- true >/dev/null 2>&1
is "$(figure cold)" 3 'a job as root does not get it either'
check 'each kind has its own then' wait_for 20 has ready -eq 3
warm=$(figure warm)
is "$(alice run -q --no-snapshot --as-root -- id -u 2>&1)" 0 'as root: root'
is "$(alice run -q --no-snapshot -- id -u 2>&1)" 1000 'else: not root'
bob run -q --no-snapshot -- true >/dev/null 2>&1
is "$(figure warm)" $((warm + 3)) 'and finds it'
wait_for 20 has ready -eq 3
owners=$(for p in $(pgrep -x errand-init); do
	    sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$p/status" 2>/dev/null
	done | awk -v b="$base" '$1 >= b && $1 < b + 1000' | sort | uniq -c |
	    awk '{ printf "%s ", $1 }')
# pid 1 and the process that will be the command, of two and of one
is "$owners" '4 2 ' 'what waits runs as its tenant'

# --- what holds in them ---

mkdir "$T/tree"
echo "of the tree" >"$T/tree/file"
chown -R $ALICE "$T/tree"
warm=$(figure warm)
is "$(alice run -q -C "$T/tree" --include-all -- cat file 2>/dev/null)" \
    'of the tree' 'a job with a tree: it is in the workspace'
wait_for 20 has ready -eq 3
alice run -q -C "$T/tree" --include-all -- sh -c 'echo more >>file; echo new >new' \
    >/dev/null 2>&1
like "$(alice diff last 2>&1 | tr '\n' ' ')" 'file.*new' 'and its changes are found'
wait_for 20 has ready -eq 3
alice run -q --no-snapshot -- sh -c 'echo made >made' >/dev/null 2>&1
like "$(alice diff last 2>&1)" 'made' 'without a tree too'
wait_for 20 has ready -eq 3
# shellcheck disable=SC2016
out=$(alice run -q --no-snapshot --memory 64M -- sh -c \
    'head -c 200000000 /dev/zero | tail | wc -c' 2>&1)
like "$out" 'limit: memory|memory' 'memory: the limit of the job, not of the sandbox'
wait_for 20 has ready -eq 3
out=$(alice run -q --no-snapshot --memory 64M -- df -B1 --output=size /tmp 2>&1 |
    tail -n 1 | tr -d ' ')
is "$out" 67108864 '/tmp is as large as the job may be'
wait_for 20 has ready -eq 3
out=$(alice run -q --no-snapshot -- df -B1 --output=size /tmp 2>&1 |
    tail -n 1 | tr -d ' ')
check 'and larger for the next' [ "$out" -gt 67108864 ]
wait_for 20 has ready -eq 3
# shellcheck disable=SC2016
out=$(alice run -q --no-snapshot --pids 12 -- sh -c \
    'for i in $(seq 40); do sleep 2 & done; wait' 2>&1)
like "$out" '[Cc]annot fork|Resource temporarily|pids' 'pids: the same'
wait_for 20 has ready -eq 3
is "$(alice run -q --no-snapshot --cpus 1 -- nproc 2>&1)" 1 'cpus: the same'
wait_for 20 has ready -eq 3
check 'cpus: the next sees all again' \
    [ "$(alice run -q --no-snapshot -- nproc 2>&1)" -eq "$(nproc)" ]
wait_for 20 has ready -eq 3
is "$(figure warm)" $((warm + 9)) 'all of these found one ready'
cpu=$(alice status last --json | sed -n 's/.*"cpu_us":\([0-9]*\).*/\1/p')
check 'what it took to be made is not counted as the job'\''s' \
    [ "${cpu:-999999}" -lt 100000 ]
is "$(alice run -q --no-snapshot -- sh -c 'ls -d /proc/[0-9]* | wc -l' 2>&1)" 4 \
    'nothing but pid 1 and the job is in there'

# --- their keepers ---

filters() { sed -n 's/^Seccomp_filters:[^0-9]*//p' "/proc/$1/status"; }
# the keeper of the pid 1 that is in this job's
keeper_of() { awk '/^PPid:/ { print $2 }' "/proc/$1/status"; }
waiting=$(filters "$(pids keeper "$a_uid" | head -n 1)")
alice run -q --no-snapshot --name fenced -- sleep 30 &
client=$!
sleeper() { pgrep -r S -u "$a_uid" -x sleep; }
wait_for 20 sleeper
running=$(filters "$(keeper_of "$(keeper_of "$(sleeper | head -n 1)")")")
is "$running" $((waiting + 1)) \
    'the keeper of a running job has a filter more, for it mounts no more'
alice kill -f last >/dev/null 2>&1
wait "$client"

# --- what one costs ---

wait_for 20 has ready -eq 3
k=$(pids keeper "$a_uid" | head -n 1)
i=$(pgrep -P "$k")
kb=$(for p in $k $i $(pgrep -P "$i"); do cat "/proc/$p/smaps_rollup"; done |
    awk '/^Private_/ { n += $2 } END { print n }')
check "private pages of one that waits: $kb KiB, at most 1024" \
    [ "${kb:-9999}" -le 1024 ]

# --- a burst ---

# The tenant's bound, one of them as root, and bob's.
FULL=7

ps=
for i in 1 2 3 4 5 6 7 8 9 10; do
	alice run -q --no-snapshot -- sleep 0.3 >/dev/null 2>&1 &
	ps="$ps $!"
done
rc=0
for p in $ps; do wait "$p" || rc=1; done
is $rc 0 'ten at once end well'
check 'then it refills, to what was taken but not over the bound' \
    wait_for 20 has ready -eq $FULL
sleep 0.2
is "$(figure ready)" $FULL 'and not further'

# --- an idle one dies, errand-exec dies, errandd dies ---

p=$(pids keeper "$a_uid" | head -n 1)
n=6
kill -KILL "$p"
check 'a keeper that is killed while it waits is missed' \
    wait_for 20 has ready -lt $FULL
like "$(figure note)" 'ended' 'and why none are made for now is said'
alice run -q --no-snapshot -- true >/dev/null 2>&1
is $? 0 'the next job has one all the same'
check 'later another is made' wait_for 20 has ready -eq $FULL
is "$(figure note)" '' 'and nothing is wrong any more'
p=$(pids init "$a_uid" | head -n 1)
kill -KILL "$p"
check 'pid 1 that is killed while it waits is missed' \
    wait_for 20 grep -q 'pid 1 of the sandbox was killed' "$T/errandd.log"
alice run -q --no-snapshot -- true >/dev/null 2>&1
is $? 0 'the next job has one all the same'
wait_for 20 has ready -eq $FULL
same_boxes() { [ "$(boxes "$a_uid" | wc -l)" -eq "$n" ]; }
check 'their directories are gone' wait_for 20 same_boxes

old=$(exec_pid)
olds=$(all_of | tr '\n' ' ')
kill -KILL "$old"
old_gone() { for p in $olds; do ! kill -0 "$p" 2>/dev/null || return 1; done; }
check 'errand-exec is killed: what waited dies with it' wait_for 20 old_gone
check 'the next one has sandboxes again' wait_for 30 has ready -eq $FULL
check 'and only those are on the disk' wait_for 20 same_boxes
alice run -q --no-snapshot -- true >/dev/null 2>&1
is $? 0 'a job runs'
wait_for 20 has ready -eq $FULL

kill -KILL "$daemon_pid"
check 'errandd is killed: nothing of them runs on' wait_for 30 none_of
run_daemon
check 'the next one removes their groups' wait_for 20 no_groups
is "$(boxes "$a_uid")" '' 'and directories'
alice run -q --no-snapshot -- true >/dev/null 2>&1
is $? 0 'and jobs run'
wait_for 20 has ready -eq 1

# --- none can be made ---

mv "$T/state/run/$a_uid/jobs" "$T/jobs.away"
: >"$T/state/run/$a_uid/jobs"
alice run -q --no-snapshot -- true >/dev/null 2>&1
is $? 0 'the one that was ready is good'
parked() { has note != '' && has ready -eq 0; }
check 'when none can be made it is parked' wait_for 20 parked
like "$(figure note)" 'work directory' 'with the reason'
like "$(errandctl status)" 'none are made for now: .*work directory' \
    'also in words'
f=$(figure failed)
alice run -q --no-snapshot -- true >"$T/out" 2>&1
is $? 120 'a job that needs one fails as ours'
like "$(cat "$T/out")" 'work directory' 'and says why'
check 'it is not tried over and over' [ "$(figure failed)" -le $((f + 1)) ]
rm "$T/state/run/$a_uid/jobs"
rm -rf "$T/jobs.away"/*
mv "$T/jobs.away" "$T/state/run/$a_uid/jobs"
check 'when it can, they are made again' wait_for 30 has ready -ge 1
is "$(figure note)" '' 'and nothing is said'

# --- the end ---

stop_daemon
is "$(all_of)" '' 'after a stop no process of them is left'
check 'nor a cgroup' no_groups
is "$(boxes "$a_uid")" '' 'nor a directory'
done_testing
