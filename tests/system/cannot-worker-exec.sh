#!/bin/sh
# Row "errand-exec" of the table of processes, and the keepers it makes: a
# stand-in in its place breaks the rules of both kinds of channel, points
# errandd at processes that are not its own, and tries what it may not.

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/hostile/stand-in.sh"
need_root
need_program setpriv timeout unshare

workers_make exec
start_daemon
# What is another tenant's: bob's tree, by a job that the real one ran.
bob_start || { not_ok "bob's job starts"; done_testing; }
bob kill -f "$bob_job" >/dev/null 2>&1
wait "$bob_waits"
rm -f "$T/bob.rc"

# --- keepers ---

# A process in a user namespace that errand-exec did not make; in a chroot,
# where nobody can make one, in the host's.
if unshare -U true 2>/dev/null; then
	unshare -U sleep 100 &
else
	sleep 100 &
fi
alien=$!

# play NAME PATTERN: the next RUN is played so, and its job fails as ours.
# What comes is written down first: the stand-in takes one list for its life.
again
plays=
expect=
play() {
	plays="$plays $1"
	expect="$expect$1	$2
"
}

broke='keeper: (a message (that cannot be read|out of turn|it may not send)'
broke="$broke|wrong number of descriptors)"
for p in map-pid=1 "map-pid=$daemon_pid" "map-pid=$alien" map-self map-dead \
    map-deep map-proc=1 map-kind=pipe map-kind=dir map-kind=unsealed \
    map-kind=own-channel map-kind=device; do
	play "$p" 'uid map: '
done
for p in place-pid=1 "place-pid=$daemon_pid" "place-pid=$alien" place-other \
    place-self place-kind=pipe place-kind=file; do
	play "$p" 'place: '
done
for p in map-none map-two map-twice place-early started-early \
    started-unready started-twice ready-early ready-twice ended-twice \
    result-absurd garbage=ff garbage=op garbage=zero hello-twice say=RUN \
    say=MAPPED say=PLACED say=GO say=LOGACK say=SIGNAL; do
	play "$p" "$broke"
done
play version 'keeper: speaks another version'
# On v2 errandd moves the process itself.
[ -e /sys/fs/cgroup/cgroup.controllers ] || play not-joined 'keeper: is not in its cgroup'
play result-early 'a result of what did not start'
play log-shrinks 'its log shrank'
play garbage=empty 'lost: '
play truncated 'lost: '
play leaves 'lost: '
play log-flood 'keeper: more about its log than was asked for'

mark
scenario exec "* keepers calm$plays"
stand_in exec
end_of exec
wait_for 10 has_pid exec

# bob's is the first, and keeps the rules
(as_uid $BOB timeout 100 "$BIN/errand" run --no-snapshot -- true \
    >"$T/bob.out" 2>"$T/bob.err"; echo $? >"$T/bob.rc") &
bob_waits=$!
saw "bob's keeper is calm" 'calm: calm: started'

before=$(rss)
printf '%s' "$expect" >"$T/expect"
while IFS='	' read -r name pattern; do
	mark
	alice run --no-snapshot -- true >"$T/play.out" 2>"$T/play.err" </dev/null
	is $? 120 "$name: its job fails as ours"
	saw "$name: refused" "$pattern"
done <"$T/expect"
steady "$before" 'keepers'
alive 'keepers'
check 'the process that had no part in it still runs' kill -0 "$alien"
kill "$alien"
is "$(cat "$T/bob.rc" 2>/dev/null)" '' "bob's job went on"
: >"$WORKERS/errand-exec.end"
wait_for 20 test -s "$T/bob.rc"
is "$(cat "$T/bob.rc")" 7 "and ends with its own status"
rm -f "$WORKERS/errand-exec.end" "$WORKERS"/*.scenario
wait "$bob_waits"

# Results that can be said, and cannot be true.
again
mark
scenario exec "* keepers result-huge result-foreign=$bob_root ended-lie \
    result-twice store-get=$bob_root store-jobs=$bob_job store-put=lying \
    store-put=unsealed store-put=dir store-put=device store-head"
stand_in exec
end_of exec
wait_for 10 has_pid exec
alice run --no-snapshot -- true >"$T/huge.out" 2>"$T/huge.err"
like $? '^(3|120)$' 'the largest numbers: taken as what they are'
alive 'the largest numbers'
alice run --no-snapshot -- true >/dev/null 2>"$T/foreign.err"
is $? 120 "a result that names bob's tree: fails"
cannot "and no record of alice's names it" \
    sh -c "'$BIN/errand' ps -a --json | grep -q '\"after\".*$bob_root'"
alice run --no-snapshot -- true >/dev/null 2>&1
saw 'what lives on although it "ended" is killed' 'job [a-z2-7]+: exited'
alice run --no-snapshot -- true >/dev/null 2>&1
alive 'results'

mark
for p in store-get store-jobs lying unsealed dir device; do
	alice run --no-snapshot -- true >"$T/$p.out" 2>&1
done
saw "bob's tree through a job of alice's: not there" \
    'store-get: GET: (OK, 0|ERROR missing)'
saw 'job records are not a keeper'\''s to read' 'JOB_LIST: ERROR denied'
saw 'nor receipts' 'RECEIPT_GET: ERROR denied'
saw 'an object under an id that is not its own' \
    'store-put: lying: ERROR damaged'
saw 'an unsealed memfd' 'store-put: unsealed: (ERROR|the store closed)'
saw 'a directory' 'store-put: dir: (ERROR|the store closed)'
saw 'a device' 'store-put: device: (ERROR|the store closed)'
alive 'store channels of jobs'

alice run --no-snapshot -- true >/dev/null 2>&1
saw "the end of the tenant's chain" 'HEAD: the store closed the channel'
rm -f "$WORKERS"/*.scenario

# --- the process itself ---

killed='(broke the protocol of its channel|said HELLO twice); it is killed'
killed="exec\\[[0-9]+\\]: $killed"
round() {
	again
	replace exec "$1"
	saw "$1: refused" "$2"
	alive "$1"
	works "$1"
}
round wrong-version 'exec: speaks version 2 of the channel'
for s in hello-twice hello-fd early 'garbage ff' 'garbage op' 'garbage zero' \
    say-run; do
	round "$s" "$killed"
done

again
replace exec gone-flood
saw 'a flood of ends: taken, since each is harmless' 'gone-flood: sent'
before=$(rss)
alive 'a flood of ends'
steady "$before" 'a flood of ends'

# --- files and processes ---

again
replace exec "try open=/etc/shadow open=$T/state/store open=$T/state/keys \
    open=$T/state/logs create=$T/state/run/x unix=$CONTROL kill ptrace pidfd \
    getfd vmread root chroot=/ mount=/mnt bpf uring module"
saw 'all is tried' 'tried all'
never 'nothing of it is reached' REACHED
alive 'system calls'
real exec
end_of exec
works 'system calls'
done_testing
