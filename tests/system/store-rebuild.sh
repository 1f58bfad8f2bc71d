#!/bin/sh
# An index that is gone, and a store that cannot be opened: what is said, to
# whom, and what an operator does.

# lib.sh has its own variables.
# shellcheck disable=SC2154
. "$(dirname "$0")/../lib.sh"
need_program git jq python3
plan 31

STORE=$T/state/store
state() { errandctl --json status | jq -r ".store.$1"; }
store_pid() { errandctl --json status |
    jq -r '.processes[] | select(.role == "store").pid'; }
stuck() { [ "$(state state)" = stuck ]; }
up() { [ "$(state state)" = up ]; }

start_daemon
mkdir "$T/home/p"
cd "$T/home/p" || exit 1
git init -q .
echo one >one
for i in 1 2 3 4 5; do
	errand run -q -- sh -c "echo $i >made; exit $i" >/dev/null 2>&1
done
errand run -q -- true
errand --json ps -a | jq -c '[.id, .state, .result]' >"$T/before"
is "$(wc -l <"$T/before")" 6 'six jobs'

# --- gone, and the store killed ---
rm -r "$STORE/index"
kill -KILL "$(store_pid)"
check 'status says that the store cannot be opened' wait_for 20 stuck
like "$(state state_note)" 'errandctl store rebuild-index' \
    'and what to do, by name'
like "$(errandctl status)" 'cannot be opened: the index is gone' \
    'status for people too'
timeout 10 "$BIN/errand" ps >"$T/out" 2>&1
is "$?" 1 'a client is refused, not kept waiting'
like "$(cat "$T/out")" "store cannot be opened.*operator" 'and told why'
cannot 'store stat says that it is not up' errandctl store stat
like "$(cat "$T/check.out")" 'not up.*errandctl status' 'and where to look'
check 'the daemon is the same as before' kill -0 "$daemon_pid"
check 'rebuild-index' errandctl --json store rebuild-index
like "$(jq -r .summary "$T/check.out")" 'made anew: .* 6 jobs' \
    'says what it found'
check 'the store is up' up
errand --json ps -a | jq -c '[.id, .state, .result]' >"$T/now"
check 'every job is there as it was' cmp "$T/before" "$T/now"
is "$(errand diff last; errand --json ps -a | jq -r .id | tail -n 1 |
    xargs "$BIN/errand" diff)" 'A made' 'changes too'
check 'verify: sound' errandctl store verify
check 'the next job runs' errand run -q -- true

# --- ordered while it serves ---
errand run -- sh -c 'echo begun; sleep 3; echo ended' >"$T/running" 2>&1 &
running=$!
check 'a job runs' wait_for 20 grep -q begun "$T/running"
check 'rebuild-index while the store serves' errandctl store rebuild-index
wait "$running"
is "$?" 0 'the job that ran ends as if nothing had been'
like "$(cat "$T/running")" ended 'with all of its output'
is "$(errand --json ps -a | wc -l)" 8 'all jobs are there'
check 'the old index is kept beside it' [ -d "$STORE/index.old" ]

# --- written by a newer version ---
stop_daemon
cp "$STORE/packs/00000001.pack" "$T/pack"
python3 -c '
import hashlib, struct, sys
key = open(sys.argv[1] + "/key", "rb").read()
with open(sys.argv[1] + "/packs/00000001.pack", "r+b") as f:
    head = f.read(8) + struct.pack("<I", 9) + f.read(40)[4:]
    mac = hashlib.blake2b(head + struct.pack("<IQ", 1, 0), key=key,
        digest_size=16, person=b"errand.pack")
    f.seek(0)
    f.write(head + mac.digest())' "$STORE"
launch_daemon
check 'a store of a newer version is refused' wait_for 20 stuck
like "$(state state_note)" 'newer version; install that version' \
    'saying what to do'
cp "$T/pack" "$STORE/packs/00000001.pack"
check 'put right, it comes up by itself' wait_for 30 up

# --- the key of another store ---
stop_daemon
cp "$STORE/key" "$T/key"
head -c 32 /dev/urandom >"$STORE/key"
launch_daemon
check 'a store with the key of another is refused' wait_for 20 stuck
like "$(state state_note)" 'key is not the one .* back from a backup' \
    'saying what to do'
cannot 'rebuild-index does not make an empty one' errandctl store rebuild-index
like "$(cat "$T/check.out")" 'no pack was made with the file key' \
    'and says why'
cat "$T/key" >"$STORE/key"
check 'with the right one it comes up by itself' wait_for 30 up
errand --json ps -a | jq -c '[.id, .state, .result]' | tail -n 6 >"$T/now"
check 'with every job' cmp "$T/before" "$T/now"
done_testing
