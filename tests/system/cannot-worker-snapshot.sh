#!/bin/sh
# Row "errand-snapshot" of the table of processes: it speaks for one
# connection of one tenant.  A stand-in in its place breaks the channel's
# rules and tries what it may not; each time it is refused or killed and
# replaced, and nobody else notices.

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/hostile/stand-in.sh"
need_root
need_program setpriv timeout

workers_make snapshot
stand_in snapshot
start_daemon
bob_start || { not_ok "bob's job starts"; done_testing; }

# Scenarios that end while the process is idle: killed, and said why.
# idle NAME PATTERN; bob's connection has the other worker
idle() {
	wait_for 5 warm 2
	mark
	scenario snapshot "$1"
	status >/dev/null           # uses up the one that waits
	saw "$1: refused" "$2"
	alive "$1"
}

# Scenarios that begin with a client, who is alice.
# served SCENARIO [CLIENT...]: play it to its end
served() {
	wait_for 5 warm 2
	mark
	scenario snapshot "$1"
	status >/dev/null
	wait_for 5 taken snapshot || diag "$1: nobody plays"
	alice ps >"$T/alice.out" 2>&1
	wait_for 10 logged 'stand-in snapshot|snapshot\[[0-9]+\]: killed'
}

killed='snapshot\[[0-9]+\]: broke the protocol of its channel; it is killed'

# breaks SCENARIO: it is a violation, and the client is told so much as that
# its connection ended
breaks() {
	served "$1"
	saw "$1: is killed" "$killed"
}

# --- versions, HELLO, garbage ---

idle wrong-version 'speaks version 2 of the channel'
for s in hello-fd early idle-hello idle-bind 'idle-garbage ff' \
    'idle-garbage op' 'idle-garbage zero' 'idle-garbage tail'; do
	idle "$s" "$killed|said HELLO twice; it is killed"
done

# A packet without bytes is the end of a channel.
idle 'idle-garbage empty' \
    'stand-in snapshot idle-garbage: the channel was closed'

for s in 'garbage ff' 'garbage op' 'garbage tail'; do breaks "$s"; done

# --- out of turn, and what only errandd may say ---

for op in SUBMIT WATCH SIGNAL LIVE ADMIN SERVE BOUND SUBMITTED WATCHED OK \
    ERROR JOB LOG; do
	breaks "say $op"
done
breaks 'twice BIND'
breaks 'twice ADMIN'
breaks 'no-id'

# --- descriptors ---

breaks 'with-fd BIND'
breaks 'submit-fd two'
breaks 'submit-fd sixteen'
served truncated
saw 'more descriptors than a channel takes: killed' \
    'snapshot\[[0-9]+\]: message or descriptors cut off; it is killed'
for kind in pipe dir unsealed half-sealed too-big own-channel device path file
do
	breaks "submit-fd $kind"
done
alive 'wrong descriptors'

# --- names another tenant ---

served "tenant u$BOB root nobody-there"
saw "binding as bob: denied" 'heard ERROR (denied|unknown_tenant)'
is "$(log_part | grep -c 'heard ERROR denied')" 3 'and as root, and as nobody'
never 'no store channel for another tenant' 'heard BOUND'

served "tenant u$ALICE"
saw 'but as its own client' "heard BOUND u$ALICE, 1 desc"

served "foreign $bob_job"
saw "bob's job: not there to follow" 'heard WATCHED active 0, 0 descriptors'
is "$(log_part | grep -c 'heard ERROR not_found')" 2 \
    'not there to signal, twice'
saw 'and not in the list' 'heard OK, 0 jobs'

served "store-foreign $bob_job $bob_root"
saw "bob's record is not found" 'JOB_GET: ERROR not_found'
saw "nor his receipt" 'RECEIPT_GET: ERROR not_found'
saw "his tree is missing as far as alice can know" 'CHECK: OK, 1 objects'
saw "and is not given out" 'store-foreign: GET: (OK, 0|ERROR missing)'
saw "nor are his jobs listed" 'JOB_LIST: OK, 0 objects'
alive 'another tenant'

# --- sizes ---

for s in limits spec; do breaks "absurd $s"; done
served greedy
saw 'limits beyond what the tenant may have' 'heard ERROR limit'
saw 'the host network' 'heard ERROR denied'
saw 'a tree that is nowhere' 'heard ERROR missing'
alive 'sizes'

# --- the store's channel ---

store_before=$(pid_of store)
for op in HELLO BIND PUBLISH SETTLE UNSETTLED HEAD STAT CARE COLLECT EXPIRE \
    WAIT OK; do
	served "store-say $op"
	saw "$op on a tenant's channel: closed" \
	    "$op: the store closed the channel"
done
for s in ff op zero; do
	served "store-garbage $s"
	saw "$s on a tenant's channel: closed" \
	    "$s: the store closed the channel"
done
for s in none two; do
	served "store-put $s"
	saw "PUT with $s: closed" "$s: the store closed the channel"
done
for s in pipe dir unsealed half-sealed too-big own-channel device file; do
	served "store-put $s"
	saw "PUT of a descriptor $s: refused" \
	    "$s: (the store closed the channel|ERROR (invalid|limit))"
done
served 'store-put lying'
saw 'PUT under an id that is not its own: damaged' 'lying: ERROR damaged'
for s in lying-length lying-codec lying-tree good; do
	served "store-put $s"
	saw "PUT of $s: refused" \
	    "$s: (the store closed the channel|ERROR (damaged|invalid))"
done
served 'store-put lying many'
saw 'PUT that counts more than there is: refused' \
    'lying: (the store closed the channel|ERROR (damaged|invalid))'
served store-flood
saw 'a flood of requests: closed' 'after the flood: the store closed'
is "$(pid_of store)" "$store_before" 'the store is the same process'
alive 'the store'

# --- floods ---

before=$(rss)
for op in LIVE SUBMIT WATCH; do
	served "flood $op"
	saw "a flood of $op that reads no answer: killed" \
	    'snapshot\[[0-9]+\]: does not read its channel; it is killed'
done
steady "$before" 'floods'
alive 'floods'

# --- the rights of other processes ---

for t in open=/ stat=/etc create=/x unlink=/x unix=/x tcp=7 pair exec=/x \
    fork ptrace kill pidfd getfd vmread root chroot=/ mount=/ unshare code \
    bpf uring module; do
	served "try $t"
	saw "$t: ends it" 'snapshot\[[0-9]+\]: killed by signal 31'
	never "$t: not reached" 'REACHED|refused, errno'
done
alive 'system calls'

# --- one that is never good for anything is not tried without a pause ---

wait_for 5 warm 2
mark
scenario snapshot '* idle-garbage ff'
status >/dev/null
saw 'starts are put off' 'snapshot: starts again in 200 ms'
real snapshot
stand_in snapshot
like "$(log_part | grep -c 'it is killed')" '^([1-9]|1[0-9])$' \
    'and few in a second'
alive 'starts'

# --- one that never says HELLO is replaced too ---

wait_for 20 warm 2
mark
scenario snapshot no-hello
status >/dev/null
wait_for 5 taken snapshot
saw 'no HELLO: killed' \
    'snapshot\[[0-9]+\]: not ready after [0-9]+ ms; it is killed'
alive 'no HELLO'

# --- nobody else noticed ---

bob_ends 'all that'
real snapshot
status >/dev/null
check 'and alice is served by the real one' alice ps -a
done_testing
