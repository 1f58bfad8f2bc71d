#!/bin/sh
# Row "errand-store" of the table of processes: LMDB and packs, nothing else.
# A stand-in in its place breaks the rules of its channel and tries what it may
# not.  errandd kills and replaces it, stays what it was, and a job that runs
# meanwhile runs on.

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/hostile/stand-in.sh"
need_root
need_program setpriv timeout

workers_make store
start_daemon

killed='(broke the protocol of its channel|said HELLO twice); it is killed'
killed="store\\[[0-9]+\\]: $killed"

# round SCENARIO PATTERN: with a fresh daemon, so that its back-off is short
round() {
	again
	replace store "$1"
	saw "$1: refused" "$2"
	alive "$1"
	works "$1"
}

# --- with a job of bob's ---

bob_start || { not_ok "bob's job starts"; done_testing; }
replace store 'garbage ff'
saw 'garbage: killed' "$killed"
alive 'garbage'
works 'garbage'
bob_ends 'garbage'

# --- version, HELLO, garbage ---

round wrong-version 'store: speaks version 2 of the channel'
for s in hello-twice hello-fd early 'garbage op' 'garbage zero' 'say HEAD' \
    'say STAT' 'say JOB_GET' 'answer id' 'answer op' 'answer twice' \
    'answer fd' flood; do
	round "$s" "$killed"
done
round 'garbage empty' \
    'stand-in store garbage: the channel was closed'

# --- lists that errandd reads as root ---

list='its list of unsettled jobs is not what it must be; it is killed'
for s in unsealed half-sealed too-big pipe dir device own-channel; do
	round "answer kind $s" "$list"
done
for s in garbage long; do round "answer list $s" "$list"; done
round "answer list strange u$ALICE" 'who is not known here; left as it is'
never 'no job is made of a record that is not one' 'job c{16}: left over'

done_testing
