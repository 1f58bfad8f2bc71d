#!/bin/sh
# Collection: what nothing refers to goes, and nothing else ever does.

# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/small_store.sh"
small_store 'pack-seal=3M rewrite-seal=256K gc-step-us=200 gc-scan=32'
plan 22
start_daemon

gc() { errandctl store gc; }
packs() { du -sk "$T/state/store/packs" | cut -f1; }
tenant=$(errand info --json | "$TOOLS/jget" tenant)

# --- it takes what is of no use ---

tree one
head -c 2000000 /dev/urandom >keep
run errand -- cksum keep
is "$rc" 0 'a job'
J=$(field id)
tree two
head -c 9000000 /dev/urandom >junk
run errand --cpus 1000 -- true
is "$rc" 120 'an upload that no job came of'
run errand --no-snapshot -- sh -c 'head -c 1500000 /dev/urandom >made; cksum made'
made=$(cut -d' ' -f1 "$T/out")
M=$(field id)
big=$(packs)
check 'a collection leaves it for a while' gc
is "$(figure gc_deleted)" 0 'nothing was deleted'
later 60
check 'later' gc
check 'it is deleted' test "$(figure gc_deleted)" -gt 100
less() { [ "$(packs)" -lt $((big - 6000)) ]; }
check 'and the disk has its room again' wait_for 20 less
calm() { [ "$(figure rewrite_pack)" = 0 ] && [ "$(figure gc_busy)" = 0 ]; }
wait_for 20 calm
is "$(figure rewrite_stuck)" 0 'no pack was in the way'
errand fetch "$M" -o "$T/made" >/dev/null 2>&1
is "$(cksum <"$T/made/made" | cut -d' ' -f1)" "$made" 'what a job made is there'
cd "$T/w/one" || exit 1
run errand -v -- cksum keep
is "$rc" 0 'what a job was given is there'
is "$(field tree.shipped_objects)" 0 'nothing of it was sent again'
check 'the store is sound' errandctl store verify
stop_daemon
run_daemon
check 'and after a new start' errandctl store verify

# --- while others work: GC-A1, NEG-A1 ---

(
	while [ ! -e "$T/enough" ]; do
		gc >/dev/null 2>&1
	done
) &
loop=$!
tree three
bad=
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	head -c 300000 /dev/urandom >f
	cp f "g$i"
	run errand -- cksum f
	[ "$rc" -eq 0 ] && [ "$(cat "$T/out")" = "$(cksum f)" ] ||
	    bad="$bad $i"
done
: >"$T/enough"
wait $loop
is "$bad" '' 'no job fails for a collection that runs meanwhile  GC-A1 NEG-A1'
check 'several have run' test "$(figure gc_runs)" -gt 3
is "$(figure gc_abandoned)" 0 'none was given up'

# --- an upload that broke off: GC-A2 ---

tree four
head -c 20000000 /dev/urandom >f
before=$(errand info --json | "$TOOLS/jget" used.store_bytes)
"$BIN/errand" -q -- true >/dev/null 2>&1 &
pid=$!
grown() {
	[ "$(errand info --json | "$TOOLS/jget" used.store_bytes)" -gt \
	    $((before + 4000000)) ]
}
wait_for 20 grown
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
deleted=$(figure gc_deleted)
check 'a collection after an upload was cut off' gc
is "$(figure gc_deleted)" "$deleted" 'leaves what had arrived  GC-A2'
run errand -- cksum f
is "$(cat "$T/out")" "$(cksum f)" 'and the next run has it all'

# --- killed in the middle: GC-A3 ---

tree five
head -c 6000000 /dev/urandom >junk
run errand --cpus 1000 -- true
later 120
gc >/dev/null 2>&1 &
pid=$!
busy() { [ "$(figure gc_busy)" = 1 ]; }
wait_for 5 busy
kill -KILL "$(pgrep -P "$daemon_pid" -x errand-store)"
wait $pid
wait_for 20 errandctl store stat
check 'after the store was killed, a collection just runs  GC-A3' gc
cd "$T/w/one" || exit 1
run errand -- cksum keep
is "$(cat "$T/out")" "$(cksum keep)" 'and so does a job'
check 'the store is sound' errandctl store verify

done_testing
