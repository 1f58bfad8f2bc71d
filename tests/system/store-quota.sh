#!/bin/sh
# What a tenant may keep in the store, and for how long.

# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/small_store.sh"
need_root
small_store 'rewrite-seal=256K'
plan 64
start_daemon 'local_tenants = "off"'
check 'a tenant with a quota' errandctl tenant add alice --store 8M
check 'and another' errandctl tenant add bob --store 8M
a() { errand --tenant alice "$@"; }
b() { errand --tenant bob "$@"; }

# --- bytes ---

tree one
head -c 3000000 /dev/urandom >f
run a -- cksum f
is "$rc" 0 'what fits is taken'
check 'its use is told' test "$(used store_bytes)" -ge 3000000
is "$(a info --json | "$TOOLS/jget" quota.store_bytes)" 8388608 \
    'errand info tells the quota'
is "$(a info --json | "$TOOLS/jget" used.store_bytes)" "$(used store_bytes)" \
    'and the use'
like "$(a info)" 'uses .*2\.9 MiB of 8\.0 MiB in the store' 'in words, too'

tree two
head -c 7000000 /dev/urandom >g
run a -- cksum g
is "$rc" 120 'what does not fit is refused'
like "$(cat "$T/err")" 'store quota is used up' 'saying which quota'
like "$(cat "$T/err")" 'of 8\.0 MiB are in use' 'the use and the limit'
like "$(cat "$T/err")" 'tenant set NAME --store' 'and how to mend it'
check 'nothing of it went over the quota' test "$(used store_bytes)" -le 8388608
is "$(a ps -a --json | wc -l)" 1 'there is no job of it'
run b -- cksum g
is "$rc" 0 'another tenant does not notice'
run a -C ../one --include-all -- cksum f
is "$rc" 0 'what is there already can be run'

check 'a larger quota' errandctl tenant set alice --store 64M
run a -- cksum g
is "$rc" 0 'and the same command works'
run errandctl tenant set alice
is "$rc" 2 'setting nothing is wrong use'
run errandctl tenant set nobody --store 1M
is "$rc" 1 'a tenant that is not there is 1'

# --- what nothing refers to makes room ---

check 'a tenant for it' errandctl tenant add carol --store 8M
c() { errand --tenant carol "$@"; }
tree three
head -c 5000000 /dev/urandom >x
run c --cpus 1000 -- true
is "$rc" 120 'an upload whose job is refused'
check 'is kept all the same' test "$(used store_bytes carol)" -ge 5000000
tree four
head -c 6000000 /dev/urandom >y
run c -- cksum y
is "$rc" 120 'and for a while makes no room: its upload may go on'
like "$(cat "$T/err")" 'refused tree had sent makes room two minutes later' \
    'which is said'
later 3
run c -- cksum y
is "$rc" 0 'soon it does, when something else needs it'
check 'then it goes' test "$(used store_bytes carol)" -lt 7000000

# Here the store remembers the upload that was refused, and minutes are short.
printf '%s\n' 'rewrite-seal=256K stamp-us=300000 lease-grace=100000' \
    >"$T/bin/crash.conf"
later 0
check 'another tenant' errandctl tenant add gina --store 8M
g() { errand --tenant gina "$@"; }
tree seven
head -c 5000000 /dev/urandom >x
run g --cpus 1000 -- true
is "$rc" 120 'again an upload whose job is refused'
tree eight
head -c 6000000 /dev/urandom >y
fits() { g -q -- cksum y >"$T/out" 2>&1; }
check 'it does not wait for the end of its time' wait_for 40 fits

# --- jobs, and their logs ---

check 'a tenant of few jobs' errandctl tenant add dora --jobs 5
d() { errand --tenant dora "$@"; }
tree five
bad=
first=$(d -d -- sh -c 'echo first')
d wait "$first"
for i in 1 2 3 4 5 6 7 8 9; do
	run d -- sh -c "echo $i"
	[ "$rc" -eq 0 ] && [ "$(cat "$T/out")" = "$i" ] || bad="$bad $i"
	few() { [ "$(used jobs dora)" -lt 5 ]; }
	wait_for 10 few
done
is "$bad" '' 'old jobs make room for new ones'
run d status "$first"
is "$rc" 1 'the oldest is forgotten'
is "$(find "$T/state/logs" -name "$first*")" '' 'and its log is gone'
like "$(d logs last)" 9 'the newest is there'
check 'few are kept' test "$(d ps -a --json | wc -l)" -le 5

# A job that ends late tells nobody that the old ones could go.
check 'a tenant of few jobs, and two that run' \
    errandctl tenant add fred --jobs 5 --slots 2
f() { errand --tenant fred "$@"; }
bad=
for i in 1 2 3 4 5 6 7 8; do
	f -q -- true || bad="$bad $i"
done
jobs=
for i in a b c; do
	J=$(f -q -d -- sh -c 'while [ $((n = n + 1)) -lt 40 ]; do sleep 0.1; done')
	[ -n "$J" ] && jobs="$jobs $J" || bad="$bad $i"
done
is "$bad" '' 'jobs that have ended go when a new one comes'
is "$(f ps --json | wc -l)" 3 'and no job that has not'
for J in $jobs; do f kill -f "$J"; done 2>/dev/null
check 'one job is a quota too' errandctl tenant set fred --jobs 1
wait_for 20 sh -c "[ -z \"\$('$BIN/errand' --tenant fred ps --json)\" ]"
run f -- echo one
run f -- echo two
is "$rc $(cat "$T/out")" '0 two' 'the last one goes'
J=$(f -q -d -- sleep 100)
run f -q -- true
is "$rc" 120 'what has not ended makes no room'
like "$(cat "$T/err")" 'quota of kept jobs is used up: 1 of 1' 'which is said'
f kill -f "$J" 2>/dev/null

check 'a tenant with little time' errandctl tenant set dora --keep 2s
none() { [ "$(used jobs dora)" = 0 ] && [ "$(used log_bytes dora)" = 0 ]; }
check 'when it is over, jobs go' wait_for 30 none
is "$(d ps -a --json)" '' 'all of them'
n=$(errandctl --json tenant show dora | "$TOOLS/jget" id)
is "$(ls "$T/state/logs/$n")" '' 'and their logs'
run d -- sh -c 'echo again'
is "$(cat "$T/out")" again 'a new one runs as before'
J=$(d -d -- sleep 6)

check 'a job that runs longer than that is not touched' d wait "$J"
check 'the receipt before it is forgotten is there' d receipt "$J" -o "$T/r"
check 'a tenant without room for output' errandctl tenant add erna --logs 1K
e() { errand --tenant erna "$@"; }
run e -- sh -c 'head -c 3000 /dev/zero | tr "\0" x'
is "$rc" 0 'the first job may still write'
is "$(used log_bytes erna)" 3000 'and has used all of it'
run e -- echo next
is "$rc $(cat "$T/out")" '0 next' 'for the next, the first makes room'
is "$(e ps -a --json | wc -l)" 1 'and is gone'

# --- a disk that is nearly full ---

stop_daemon
if mkdir "$T/disk" && mount -t tmpfs -o size=160M,mode=755 none "$T/disk"
then
	trap 'stop_daemon; umount -l "$T/disk"; cleanup' EXIT
	free() { df -Pk "$T/disk" | awk 'NR == 2 { print $4 }'; }
	mkdir "$T/disk/state"
	sed -i "s,^state_dir.*,state_dir = \"$T/disk/state\"," "$T/errandd.conf"
	rm -rf "$T/run" && mkdir -m 755 "$T/run"
	run_daemon
	check 'on another disk' errandctl tenant add alice
	tree six
	head -c 200000 /dev/urandom >f
	J=$(a -d -- sh -c 'while [ $((n = n + 1)) -lt 60 ]; do
	    sleep 0.1; done; head -c 500000 /dev/urandom >made; echo made')
	running() { [ "$(a status "$J" --json | "$TOOLS/jget" state)" = running ]; }
	wait_for 20 running
	fallocate -l "$(($(free) - 10000))K" "$T/disk/ballast"
	head -c 300000 /dev/urandom >f
	run a -- cksum f
	is "$rc" 120 'with less than a reserve left, uploads are refused'
	like "$(cat "$T/err")" "store's disk is full: make room" 'saying why'
	ERRAND_TIME=40 run a wait "$J"
	is "$rc" 0 'while the job that runs ends with its changes'
	is "$(a diff "$J")" 'A made' 'all of them'
	rm "$T/disk/ballast"
	run a -- cksum f
	is "$rc" 0 'with room again, uploads are taken'
	dd if=/dev/zero of="$T/disk/ballast" bs=4k 2>/dev/null
	cannot 'without a byte no new index is made' errandctl store \
	    rebuild-index
	like "$(cat "$T/check.out")" \
	    'disk is full.*make room' 'saying why'
	check 'the old one stays in its place' wait_for 40 errandctl store stat
	rm "$T/disk/ballast"
	is "$(a diff "$J")" 'A made' 'and nothing is lost'
	stop_daemon
	umount "$T/disk"
	trap cleanup EXIT
else
	skip 10 'needs a tmpfs'
fi

done_testing
