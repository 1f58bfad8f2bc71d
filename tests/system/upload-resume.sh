#!/bin/sh
# An upload that was cut off goes on where it was.

# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
plan 18
start_daemon
SIZE=24000000
# What may be under way when a link is cut, and so is sent twice: a few
# batches of the connection's worker, and what the host says it lacks.
SLACK=3000000

# link LIMIT...: a link that is cut after so many bytes of each connection
link_pid=
link() {
	unlink_
	rm -f "$T/cut.sock" "$T/counts"
	: >"$T/counts"
	python3 "$TOP/tests/tools/cutter.py" "$T/cut.sock" "$SOCK" "$T/counts" \
	    "$@" >/dev/null 2>&1 &
	link_pid=$!
	wait_for 10 test -S "$T/cut.sock"
}
unlink_() {
	[ -z "$link_pid" ] || kill "$link_pid" 2>/dev/null
	link_pid=
}
trap 'unlink_; cleanup' EXIT
over() { ERRAND_HOST=unix:$T/cut.sock run errand "$@"; }
# What went over the link, when its connections have ended
lines() { [ "$(wc -l <"$T/counts")" -ge "$1" ]; }
sent() { awk '{ s += $1 } END { print s + 0 }' "$T/counts"; }
fresh() {
	tree "$1"
	head -c "$SIZE" /dev/urandom >f
	want=$(sum f)
}

fresh one
link 3000000 5000000 700000 9000000
over -- sha256sum f
is "$rc" 0 'a run whose connection is cut four times ends well'
is "$(cut -d' ' -f1 "$T/out")" "$want" 'with the tree there was'
wait_for 10 lines 5
check "and sends little twice ($(sent) of $SIZE bytes)  RES-A2" \
    test "$(sent)" -lt $((SIZE + SLACK))

shipped=$(errand status last --json | "$TOOLS/jget" tree.shipped_bytes)
check "of which each byte counts once as shipped ($shipped)" test \
    "$shipped" -ge "$SIZE" -a "$shipped" -lt $((SIZE + 100000))

# Cut at any byte: within the greeting, a header, an object.
bad=
for at in 1 7 13; do
	fresh "at$at"
	head -c 20000 /dev/urandom >f
	link "$at" "$at" 0
	over -- true
	[ "$rc" -eq 0 ] || bad="$bad $at:$rc"
	for c in info 'status last' 'fetch last -o got'; do
		rm -rf got
		link "$at" "$at" 0
		# shellcheck disable=SC2086
		over $c
		[ "$rc" -eq 0 ] || bad="$bad $at:$c:$rc: $(cat "$T/err")"
	done
done
is "$bad" '' 'cut in the greeting, it is tried again'
link 7 7 7 7 7 7
over -- true
is "$rc" 120 'a few times'
like "$(cat "$T/err")" 'lost: .*; 3 tries more came to nothing' 'and then said'
bad=
for at in 50 333 4097 70001; do
	fresh "at$at"
	head -c 200000 /dev/urandom >f
	want=$(sum f)
	link "$at" "$at" 0
	over -- sha256sum f
	[ "$rc" -eq 0 ] && [ "$(cut -d' ' -f1 "$T/out")" = "$want" ] ||
	    bad="$bad $at"
done
is "$bad" '' 'wherever it is cut'

# A client that is killed, and another run.
fresh two
link 0
ERRAND_HOST=unix:$T/cut.sock "$BIN/errand" -q -- true >"$T/out" 2>&1 &
pid=$!
# The store has taken a part of it by the time its use says so.
commits() { errandctl --json status | "$TOOLS/jget" store.commits; }
used() { errand info --json | "$TOOLS/jget" used.store_bytes; }
before=$(used)
grown() { [ "$(used)" -gt $((before + SIZE / 4)) ]; }
wait_for 20 grown
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
wait_for 10 lines 1
first=$(sent)
link 0
over -- sha256sum f
is "$(cut -d' ' -f1 "$T/out")" "$want" 'after the client was killed, a new run'
wait_for 10 lines 1
check "sends what is missing ($first, then $(sent) bytes)  RES-A4" \
    test $((first + $(sent))) -lt $((SIZE + SLACK))

# What arrived before the store died is there, if a moment had passed.
fresh three
link 12000000
before=$(used)
had=$(commits)
ERRAND_HOST=unix:$T/cut.sock "$BIN/errand" -q -- sha256sum f >"$T/out" 2>&1 &
pid=$!
wait_for 20 lines 1
store=$(pgrep -P "$daemon_pid" -x errand-store)
committed() { [ "$(commits)" -gt "$had" ]; }
grown2() { [ "$(used)" -gt $((before + 9000000)) ]; }
wait_for 20 grown2
wait_for 10 committed
kill -KILL "$store"
wait $pid
is "$?" 0 'a store that dies in between'
is "$(cut -d' ' -f1 "$T/out")" "$want" 'does no harm'
wait_for 10 lines 2
check "and forgets little ($(sent) of $SIZE bytes)" \
    test "$(sent)" -lt $((SIZE + 3 * SLACK))

# What comes back is cut as well: nothing is half there, and nothing twice.
fresh four
link 0
over -q -- sh -c 'head -c 9000000 /dev/urandom >o; sha256sum o >o.sum'
link d4000000
over fetch last --apply
check 'an apply whose connection is cut fails' test "$rc" -ne 0
check 'and leaves the tree as it was (RES-A3)' test ! -e o -a ! -e o.sum \
    -a ! -e .errand-apply
over fetch last --apply
check 'the next one brings it whole (RES-A3)' sha256sum -c o.sum

# Two send the same at once; the link of one stands still, and then it is killed.
fresh five
link h6000000
ERRAND_HOST=unix:$T/cut.sock "$BIN/errand" -q -- true >"$T/out" 2>&1 &
pid=$!
before=$(used)
grown3() { [ "$(used)" -gt $((before + 2000000)) ]; }
wait_for 20 grown3
is "$(errand -q -- sha256sum f | cut -d' ' -f1)" "$want" \
    'who sends the same as one that has stopped is not held up (NEG-A3)'
errand -q -- sha256sum f >"$T/second" 2>&1 &
second=$!
kill -KILL $pid
wait $pid 2>/dev/null
wait $second
is "$? $(cut -d' ' -f1 "$T/second")" "0 $want" 'nor when that one dies (NEG-A3)'

unlink_
done_testing
