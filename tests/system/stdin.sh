#!/bin/sh
# errand run -i: what a job reads.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon 'client_lease = 2s'

# The workers that serve clients of this daemon.
workers() { pgrep -P "$daemon_pid" -x errand-snapshot; }

# taken PID: how far a client has read its standard input, a file
taken() { sed -n 's/^pos:[^0-9]*//p' "/proc/$1/fdinfo/0"; }
has_taken() { [ "$(taken "$1")" -ge "$2" ]; }
ended() { case $(field state "$1") in exited | killed | failed) ;; *) false ;; esac; }

# --- the bytes ---

tree bytes
is "$(printf abc | errand -q -i -- wc -c | tr -d ' ')" 3 \
    'what is piped in is read to its end (TTY-A1)'
is "$(printf abc | errand -q -- wc -c | tr -d ' ')" 0 \
    'without -i a job reads nothing (TTY-A1)'
is "$(printf 'a\nb\n' | { errand -q -- true; cat; })" "a${NL}b" \
    'and the client leaves its input to others'
head -c 20000000 /dev/urandom >"$T/random"
is "$(errand -q -i -- cat <"$T/random" | sum /dev/stdin)" "$(sum "$T/random")" \
    'bytes of any value come through, there and back'
is "$(errand -q -i -- cat /dev/stdin <"$T/random" | sum /dev/stdin)" \
    "$(sum "$T/random")" 'also through /dev/stdin, opened again'
is "$(errand -q -i -- sh -c 'ls /proc/$$/fd; true' <"$T/random" |
    tr '\n' ' ')" '0 1 2 ' 'no other descriptor is left open'
is "$(errand -q -i -- wc -c </dev/null)" 0 'an empty input is empty'
is "$(head -c 300000000 /dev/zero | errand -q -i -- wc -c)" 300000000 \
    'hundreds of megabytes are counted right'
printf 'abc' >"$T/abc"
long=$(head -c 6000 /dev/zero | tr '\0' x)
is "$(errand -q -i -- sh -c 'cat; echo ${#1}' sh "$long" <"$T/abc")" abc6000 \
    'also to a command that is too long to be handed over in a message'
is "$(errand run -q -i --no-snapshot -- sh -c 'read x; echo "$x"; cat' \
    <"$T/abc")" abc 'the last line need not end with a newline'

# --- who reads, and how much ---

truncate -s 1G "$T/large"
"$BIN/errand" -q -i -- sh -c 'echo up; while [ ! -e /tmp/go ]; do sleep 0.1
    if [ $((i += 1)) -gt 15 ]; then echo late; exec wc -c; fi; done' \
    <"$T/large" >"$T/out" &
p=$!
wait_for 20 grep -q late "$T/out"

wait $p
is "$? $(tail -n 1 "$T/out")" '0 1073741824' 'a gigabyte waits for who is late'
"$BIN/errand" -q -i -- sh -c 'echo up; sleep 3; exec head -c 1 >/dev/null' \
    <"$T/large" >"$T/out" &
p=$!
wait_for 20 has_taken $p 1048576
wait_for 20 grep -q up "$T/out"
n=$(taken $p)
[ "$n" -ge 1048576 ] && [ "$n" -le 1310720 ] && n=bounded
is "$n" bounded 'of a command that does not read, the client reads 1 MiB ahead'
m=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$p/status)
[ "$m" -lt 20000 ] && m=small
is "$m" small 'and holds no more than that'
wait $p
is $? 0 'it ends when the command does, whatever is left (TTY-A2)'
is "$(yes | errand -q -i -- head -n 1)" y 'also when the input never ends'
mkfifo "$T/open"
sleep 60 >"$T/open" &
s=$!
is "$(ERRAND_TIME=20 errand -q -i -- echo hi <"$T/open")" hi \
    'or never begins (TTY-A2)'
kill $s
{ errand -q -i -- sh -c 'exec <&-; sleep 1; echo on'; taken self; } \
    <"$T/large" >"$T/out"
is "$(head -n 1 "$T/out") $(($(tail -n 1 "$T/out") <= 1310720))" 'on 1' \
    'a command that closes its input gets no more and goes on'
is "$({ errand -q -i -- no-such-program 2>/dev/null; cat; } <"$T/abc")" abc \
    'of a command that cannot run, nothing is read'
sleep 40 >"$T/open" &
s=$!
start=$(date +%s)
ERRAND_TIME=30 errand -q -i --timeout 1 -- cat <"$T/open" 2>/dev/null
rc=$?
kill $s
is "$rc $(($(date +%s) - start < 20))" '143 1' \
    'a limit of time holds while the input is waited for (TIME-A4)'
is "$(field limit)" runtime 'and is named'

# --- a connection is lost ---

tree lost
exec 9<>"$T/open"
: >"$T/out"
"$BIN/errand" -q -i -- cat <"$T/open" >"$T/out" 2>"$T/err" 9>&- &
p=$!
echo one >&9
wait_for 20 grep -q one "$T/out"
workers | xargs kill -KILL
echo two >&9
wait_for 20 grep -q two "$T/out"
is "$(cat "$T/out")" "one${NL}two" \
    'when its connection is lost, the client finds the job and goes on'
kill -QUIT $p
wait $p
is "$?" 0 'Quit leaves'
J=$(tail -n 1 "$T/out")
exec 9>&-
is "$(has_state "$J" running && echo running)" running \
    'and the job waits for more'
is "$(printf 'three\n' | errand attach -q -i "$J")" "one${NL}two${NL}three" \
    'which attach -i sends, to the end'

"$BIN/errand" -q -i -- sh -c 'echo up; while dd bs=64k count=9 of=part 2>/dev/null &&
    [ -s part ]; do cat part >>out; sleep 0.01; done
    sha256sum out | cut -d" " -f1' <"$T/random" >"$T/out" 2>"$T/err" &
p=$!
wait_for 20 grep -q up "$T/out"
i=0
while ! gone $p; do
	workers | xargs kill -KILL 2>/dev/null
	i=$((i + 1))
	[ $i -lt 12 ] || break
	wait_for 5 workers
done
wait $p
is "$? $(tail -n 1 "$T/out")" "0 $(sum "$T/random")" \
    'nothing is lost or sent twice, however often that happens'
[ "$test_failed" -eq 0 ] || diag "$(cat "$T/err")"

"$BIN/errand" -q -i -- sh -c 'head -c 3; cat; echo end' \
    <"$T/open" >"$T/out" 2>/dev/null &
p=$!
exec 9>"$T/open"
printf abc >&9
wait_for 20 grep -q abc "$T/out"
J=$(errand ps --json | head -n 1 | "$TOOLS/jget" id)
kill -KILL $p
wait_for 20 ended "$J"
is "$(field exit_code "$J") $(errand logs "$J")" '0 abcend' \
    'a client that is gone for the time of the lease has ended the input'
exec 9>&-

# --- others ---

tree others
J=$(errand -d -i -- sh -c 'echo up; cat')
wait_for 20 has_output "$J" up
is "$(printf 'in\n' | errand attach -q -i "$J")" "up${NL}in" \
    'a detached job waits for whoever attaches'
J=$(errand -d -i -- sh -c 'echo up; cat')
exec 9<>"$T/open"
: >"$T/out"
"$BIN/errand" attach -q -i "$J" <"$T/open" >"$T/out" 9>&- &
p=$!
wait_for 20 grep -q up "$T/out"
printf 'first\n' >&9
wait_for 20 grep -q first "$T/out"
printf 'other\n' | timeout 20 "$BIN/errand" attach -q -i "$J" >"$T/out2" \
    2>"$T/err2" &
q=$!
wait_for 20 grep -q 'another client has the input' "$T/err2"
is $? 0 'a second client is told that another has the input'
printf 'second\n' >&9
wait_for 20 grep -q second "$T/out2"
is "$(cat "$T/out2")" "up${NL}first${NL}second" 'and sees the output'
errand attach -q "$J" </dev/null >/dev/null &
r=$!
printf 'third\n' >&9
wait_for 20 grep -q third "$T/out"
is $? 0 'attach without -i sends nothing, no end either'
exec 9>&-
kill -QUIT $p
wait $p
printf 'last\n' | errand attach -q -i "$J" >"$T/out"
wait $q
wait $r
is "$(tail -n 1 "$T/out")" last 'when the first has left, another may'
J=$(errand -d -- sleep 30)
run errand attach -i "$J"
is "$rc" 1 'a job that was started without -i takes no input'
like "$(cat "$T/err")" 'started without -i' 'and that is said'
errand kill -f "$J" 2>/dev/null

# --- signals ---

tree signals
exec 9<>"$T/open"
start_job() { # SCRIPT: in the background, until it says up; its pid is $p
	: >"$T/out"     # not the one before's
	"$BIN/errand" -q -i -- sh -c "$1" <"$T/open" >"$T/out" 2>"$T/err" \
	    9>&- &
	p=$!
	wait_for 20 grep -q up "$T/out"
}
start_job 'trap "echo got" INT; echo up; while :; do sleep 0.1; done'
kill -INT $p
wait_for 20 grep -q got "$T/out"
kill -INT $p
wait $p
is $? 137 'a second interrupt kills'
start_job 'trap "" INT; echo up; while :; do sleep 0.1; done'
kill -STOP "$daemon_pid"
kill -INT $p
wait_for 5 sh -c "kill -INT $p; sleep 0.1; kill -INT $p; sleep 0.1; ! kill -0 $p"
wait $p
is $? 130 'a third gives up following'
kill -CONT "$daemon_pid"
like "$(cat "$T/err")" 'errand attach' 'and says how to look the job up'
errand kill -f last 2>/dev/null
start_job 'trap "echo got; exit 9" TERM; echo up; while :; do sleep 0.1; done'
kill -TERM $p
wait $p
is "$? $(tail -n 1 "$T/out")" '9 got' 'TERM to the client is TERM to the command'
start_job 'echo up; while [ ! -e go ]; do sleep 0.1; done; echo later'
kill -HUP $p
wait $p
is $? 129 'HUP ends the client'
is "$(field state)" running 'and the job goes on'
errand kill -f last 2>/dev/null
exec 9>&-

done_testing
