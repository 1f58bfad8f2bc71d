#!/bin/sh
# Row "errand-store" of the table of processes: one that never answers.  The
# operator still gets an answer, nobody else's job is touched, and the store is
# replaced when it has been silent for too long.

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/hostile/stand-in.sh"
need_root
need_program setpriv timeout

workers_make store
start_daemon
bob_start || { not_ok "bob's job starts"; done_testing; }

replace store mute
alive 'a mute store'
saw 'a mute store: replaced' 'store\[[0-9]+\]: does not answer; it is killed' 50
works 'a mute store'
bob_ends 'a mute store'
done_testing
