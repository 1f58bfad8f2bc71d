#!/bin/sh
# A client that says of a job's input, or of its terminal, what no client says;
# a keeper that does not listen.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon
raw=$BUILD/tests/raw/input
[ -x "$raw" ] || skip_all "no $raw"

tree hostile
N=$(errand -d -- sh -c 'while :; do sleep 0.1; done')
J=$(errand -d -i -- sh -c 'echo up; exec sleep 60')
K=$(errand -d -i -t -- sh -c 'echo up; exec sleep 60')
wait_for 20 has_output "$J" up
wait_for 20 has_output "$K" up
wait_for 20 has_state "$N" running

like "$("$raw" "$SOCK" flood "$N" 1)" 'reset .*takes no input' \
    'a job without -i takes no input'
like "$("$raw" "$SOCK" unasked "$J")" 'reset .*before the job could take any' \
    'input that comes before it was asked for ends the request'
like "$("$raw" "$SOCK" flood "$J" 100)" 'goaway|closed' \
    'input beyond the credit ends the connection'
like "$("$raw" "$SOCK" other "$J")" 'goaway|closed' \
    'so does other DATA in its place'
like "$("$raw" "$SOCK" flood no-such-job 1)" 'reset .*whole id' \
    'a job is named by its id'
is "$(field state "$J")" running 'none of it harms the job'
like "$("$raw" "$SOCK" flood "$J" 1)" 'reply 1 ' \
    'whose input can be had again'
errand kill -f "$J" 2>/dev/null
like "$("$raw" "$SOCK" windows "$N" 4)" 'reset .*not this client' \
    'a job without a terminal has no size'
errand kill -f "$N" 2>/dev/null
before=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/"$daemon_pid"/status)
"$raw" "$SOCK" windows "$K" 20000 >"$T/windows"
like "$(grep -c . "$T/windows")" '[0-9]{2}' 'sizes by the thousand are taken'
is "$(field state "$K")" running 'and do no harm'

# A keeper that is stopped takes no message and no input.
keeper=$(pgrep -P "$(pgrep -P "$daemon_pid" -x errand-exec)" |
    while read -r p; do
	init=$(pgrep -P "$p" -x errand-init) &&
	    c=$(pgrep -P "$init" -x sleep) &&
	    [ "$(cut -d' ' -f7 "/proc/$c/stat")" -ne 0 ] && echo "$p"
done)
kill -STOP "$keeper"
"$raw" "$SOCK" windows "$K" 20000 >"$T/windows"
like "$(cat "$T/windows")" 'cannot hear' \
    'for a keeper that does not listen nothing is queued without end'
timeout -s QUIT 3 "$BIN/errand" attach -q -i "$K" </dev/zero >/dev/null 2>&1
after=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/"$daemon_pid"/status)
[ $((after - before)) -lt 8192 ] && after=same
is "$after" same 'the daemon does not grow with it'
is "$(errand -q -- echo other)" other 'and others do not notice'
kill -CONT "$keeper"
errand kill -f "$K" 2>/dev/null
is "$(field state "$K")" killed 'it goes on when it is let'

done_testing
