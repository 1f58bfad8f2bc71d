#!/bin/sh
# A client that breaks the protocol, or sends what must not be, loses its
# connection or its request, with a reason in the log; nothing else happens.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon
raw=$BUILD/tests/raw/raw
[ -x "$raw" ] || skip_all "no $raw"

# Somebody else's job, which must not notice anything of all this.
tree other
J=$(errand -d -- sh -c 'trap "echo end; exit 5" USR1; i=0
    while :; do echo $i; i=$((i+1)); sleep 0.05; done')
wait_for 10 has_output "$J" 1 || diag 'it does not run'
store_pid=$(errandctl --json status | "$TOOLS/jget" processes | tr '}' '\n' |
    sed -n 's/.*"pid":\([0-9]*\).*"role":"store".*/\1/p')

# refused WHAT PATTERN COMMAND...: the connection is closed (not left alone),
# and the daemon's log says why
refused() {
	text=$1 pattern=$2
	shift 2
	before=$(wc -l <"$T/errandd.log")
	got=$("$raw" -t 20 "$SOCK" "$@" 2>&1)
	like "$got" '^(closed|goaway|reset)' "$text: is refused"
	wait_for 5 sh -c "tail -n +$((before + 1)) '$T/errandd.log' | grep -Eq '$pattern'"
	like "$(tail -n +$((before + 1)) "$T/errandd.log")" "$pattern" \
	    "$text: the log says why"
}
say='client|snapshot'
refused 'noise instead of HELLO' "$say" garbage 256
refused 'a megabyte of it' "$say" garbage 1000000 7
refused 'noise after HELLO' "$say" late-garbage 4096
refused 'a frame of 4 GiB (DOS-A2)' "$say" oversize 4294967295
refused 'a frame one byte too long' "$say" oversize 262145
refused 'an unknown type of frame' "$say" frame 1 77 0 0
refused 'a second HELLO' "$say" frame 0 1 0 0
refused 'what only a host may send' "$say" frame 1 3 0 0
refused 'an even stream' "$say" frame 2 2 0 10
refused 'DATA on a stream that is not open' "$say" frame 5 4 0 100
refused 'DATA where none is wanted' "$say" order
refused 'more than it has credit for' "$say" no-limit
refused 'more streams than there may be' "$say" streams 100
refused 'another version of the protocol' 'protocol 1' version 90 99
refused 'half a request, then nothing' "$say" half 6
refused 'half a HELLO, then nothing' "$say" half-hello 6
# Those that are within the rules as such are answered, not more.
like "$("$raw" -t 20 "$SOCK" forge 2>&1)" 'reset .*do not match its id' \
    'an object under an id it does not have is refused'
like "$("$raw" -t 20 "$SOCK" bomb 100 x 2>&1)" 'reset|goaway|closed' \
    'a record that is larger than it says is refused (DOS-A1)'
like "$("$raw" -t 20 "$SOCK" bomb 2>&1)" 'reply|reset' \
    'small records of large objects are only that'
"$raw" -t 20 "$SOCK" flood 20000 >"$T/flood" 2>&1
like "$(cat "$T/flood")" 'closed|timeout|goaway' 'a flood of requests has an end'
"$raw" -t 20 "$SOCK" pings 20000 >"$T/flood" 2>&1
like "$(cat "$T/flood")" 'closed|timeout|goaway' 'so has one of PINGs'
"$raw" -t 3 "$SOCK" no-read "$J" >/dev/null 2>&1
"$raw" -t 3 "$SOCK" no-credit "$J" >/dev/null 2>&1
like "$("$raw" -t 20 "$SOCK" admin 1 2>&1)" 'reset .*(denied|invalid)|goaway' \
    'an operator'\''s request on the common socket is refused'
like "$("$raw" -t 20 "$SOCK" missing 2>&1)" 'reply 1 need|reset' \
    'a job whose tree nobody has is not started'

# --- trees that must not be ---

forged() {
	got=$("$TOOLS/forge" "$SOCK" "$1" 2>&1)
	like "$got" "^refused: .*$2" "a tree with $3 is refused for that"
}
forged dotdot 'means a directory' '".."'
forged dot 'means a directory' '"."'
forged empty 'an empty name' 'an empty name'
forged slash 'a slash' 'a path for a name'
forged absolute 'a slash' 'an absolute path'
forged nul 'a zero byte' 'a NUL in a name'
forged git 'version control' '.git in any case'
forged long '255 bytes' 'a name that is too long'
forged twice 'not in order' 'a name twice'
forged order 'not in order' 'names in the wrong order'
forged setuid 'mode bits' 'set-user-id'
forged kind 'unknown kind' 'a device'
forged confused 'refers to no tree' 'a file in a directory'\''s place'
forged cut 'cut short' 'half an entry'
forged more 'after the end' 'bytes behind its end'
forged count 'cut short' 'more entries than it has'
forged noise 'not a tree' 'noise'
forged hash 'do not match its id' 'a wrong hash'
forged target 'zero byte' 'a NUL in a link'
forged missing 'missing' 'a part that never comes'
like "$("$TOOLS/forge" "$SOCK" right)" '^accepted' 'a right one is not'
got=$("$TOOLS/forge" "$SOCK" size)
errand wait "${got#accepted }" 2>"$T/err"
is $? 120 'a file with a false size does not run'
like "$(cat "$T/err")" 'not as long as it should be' 'and why is said'
got=$("$TOOLS/forge" "$SOCK" deep)
case $got in
refused*)
	ok 'a tree of 5,000 levels is refused' ;;
*)
	errand wait "${got#accepted }" 2>"$T/err"
	rc=$?
	check 'a tree of 5,000 levels does no harm' test $rc -eq 0 -o $rc -eq 120 ;;
esac

# --- connections without end ---

if [ "$(id -u)" -eq 0 ]; then
	i=0
	pids=
	while [ $i -lt 40 ]; do
		as_uid 4242 "$raw" -t 60 "$SOCK" pong >/dev/null 2>&1 &
		pids="$pids $!"
		i=$((i + 1))
	done
	wait_for 10 grep -q 'uid 4242 has .* connections' "$T/errandd.log"
	like "$(cat "$T/errandd.log")" 'uid 4242 has [0-9]+ connections' \
	    'one user'\''s connections are limited (DOS-A3)'
	tree crowd
	check 'and another user is served' errand -q -- true
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null
	# shellcheck disable=SC2086
	wait $pids
else
	skip 2 'needs root'
fi

# --- nothing else happened ---

check 'the daemon is alive' kill -0 "$daemon_pid"
check 'the store has not been restarted' kill -0 "$store_pid"
errand kill -s USR1 "$J"
errand wait "$J"
is $? 5 'the other job goes on to its own end'
errand logs "$J" >"$T/got"
n=$(($(wc -l <"$T/got") - 1))
{ seq 0 $((n - 1)); echo end; } >"$T/want"
check 'with all of its output' cmp "$T/want" "$T/got"
is "$(field log.complete "$J") $(field changes.complete "$J")" 'true true' \
    'and nothing missing'

done_testing
