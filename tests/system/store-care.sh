#!/bin/sh
# An operator's care of the store: figures, verification, what is damaged.

. "$(dirname "$0")/../lib.sh"
need_program git python3 jq
plan 40

PACKS=$T/state/store/packs
damage() { python3 "$TOP/tests/tools/store_damage.py" "$PACKS" "$@"; }
figure() { errandctl --json store stat | jq -r ".$1"; }
verify() { errandctl --json store verify >"$T/verify"; }
verified() { jq -r "$1" "$T/verify"; }

start_daemon
mkdir "$T/home/p"
cd "$T/home/p" || exit 1
git init -q .
head -c 3000 /dev/urandom >one
head -c 3000 /dev/urandom >two
mkdir sub
head -c 3000 /dev/urandom >sub/three
check 'a job runs' errand run -q -- sh -c 'LC_ALL=C tr a-m A-M <one >both; cat two'
J=$(errand --json ps -a | jq -r .id)

# --- figures ---
is "$(figure jobs)" 1 'stat counts jobs'
like "$(figure objects)" '^[1-9]' 'stat counts objects'
like "$(figure live_bytes)" '^[1-9][0-9]{3}' 'stat tells what is live'
is "$(figure quarantined)" 0 'stat: nothing is damaged'
check 'stat for people' sh -c "'$BIN/errandctl' -s '$CONTROL' store stat |
    grep -q 'pack bytes'"

# --- a sound store ---
check 'verify: a sound store is sound, exit 0' errandctl store verify
verify
is "$?" 0 'verify --json: exit 0'
is "$(verified .ok)" true 'verify --json: ok'
is "$(verified .objects)" "$(figure objects)" 'verify looks at every object'
like "$(verified .references)" '^[3-9]' 'verify looks at references'
like "$(verified .journal_records)" '^[1-9]' 'verify looks at the journal'

check 'gc has nothing to take, and says so' errandctl --json store gc
is "$(jq -r .deleted_objects "$T/check.out")" 0 'no object of a job is deleted'
errandctl store verify --bad >/dev/null 2>&1
is "$?" 2 'wrong usage is exit 2'

# --- a damaged object ---
damage two
verify
is "$?" 1 'verify: damage is exit 1'
is "$(verified .ok)" false 'verify --json: not ok'
is "$(verified .objects_damaged)" 1 'verify finds the one damaged object'
like "$(verified '.findings[]')" "^job $J .*its submitted tree: below it object [0-9a-f]* is damaged" \
    'verify names the job that it belongs to'
is "$(figure quarantined)" 1 'it is in quarantine, and counted (CAS-A2)'
like "$(errandctl --json status | jq -r .note)" \
    'store 0 packs .* 1 objects .* damaged: "errandctl store verify"' \
    'status says so, and where to look'
errand fetch "$J" -o "$T/home/out" >"$T/out" 2>&1
is "$?" 0 'what is not damaged of the job is served'
check 'and is right' sh -c "LC_ALL=C tr a-m A-M <one | cmp - '$T/home/out/both'"
check 'verify --repair again says so' sh -c "! '$BIN/errandctl' -s '$CONTROL' \
    store verify --repair >'$T/out'"

# --- the same tree sent again mends it ---
stop_daemon
run_daemon
is "$(figure quarantined)" 1 'quarantine outlives the store'
check 'the tree is sent again where it is damaged' \
    sh -c "cd '$T/home/p' && '$BIN/errand' run -- cat two >'$T/two' 2>'$T/err'"
check 'and the job sees the right bytes (CAS-A2)' cmp two "$T/two"
is "$(figure quarantined)" 0 'it is mended'
is "$(errandctl --json status | jq -r '.note | test("damaged")')" false \
    'and status says no more of it'
check 'verify: sound again' errandctl store verify

# --- who hears of it ---
damage "$T/home/out/both"
errand fetch "$J" -o "$T/home/out2" >"$T/out" 2>&1
is "$?" 120 'fetching a damaged file fails (CAS-A2)'
like "$(cat "$T/out")" '^errand: both: object [0-9a-f]{64} is damaged' \
    'and names the path and the object'
damage one
stop_daemon
find "$T/state/run" -mindepth 2 -maxdepth 2 ! -name jobs -exec rm -rf {} +
run_daemon
errand run -- cat one >"$T/one" 2>"$T/err"
is "$?" 120 'a job whose tree is damaged does not run (CAS-A2)'
like "$(cat "$T/err")" 'object [0-9a-f]{64} is damaged' 'and says why'
check 'and the next one has what it needs (CAS-A2)' sh -c \
    "'$BIN/errand' run -- cat one >'$T/one' 2>'$T/err'"
check 'to the byte' cmp one "$T/one"

# --- a pack that is gone ---
stop_daemon
mv "$PACKS/00000001.pack" "$T/pack"
run_daemon
is "$(figure packs_damaged)" 1 'a pack that is gone is counted'
like "$(errandctl status)" 'store 1 packs are damaged or gone' \
    'and status says so'
stop_daemon
mv "$T/pack" "$PACKS/00000001.pack"
run_daemon
is "$(figure packs_damaged)" 0 'put back, it is not'

# --- who may ask ---
cannot 'a tenant'\''s socket does not answer' \
    "$BIN/errandctl" -s "$SOCK" store stat
done_testing
