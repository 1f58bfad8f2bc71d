#!/bin/sh
# errand run -t: a job on a terminal.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
start_daemon 'client_lease = 1s'

E=$BIN/errand
# drive STEP... -- COMMAND...: on a terminal; lines end with a newline alone
drive() {
	timeout 60 python3 "$TOP/tests/tools/pty_drive.py" "$@" >"$T/raw"
	tr -d '\r' <"$T/raw" >"$T/out"
	end=$(tail -n 1 "$T/out")
	out=$(sed '$d' "$T/out" | sed '/^$/d')
}
ended() { case $(field state "${1:-last}") in exited | killed | failed) ;; *) false ;; esac; }

# --- without one here ---

tree none
n=0
for i in 1 2 3 4 5; do
	errand run -q -t -- seq 1 200000 </dev/null | tail -n 1 | tr -d '\r' |
	    grep -qx 200000 || n=$((n + 1))
done
is "$n" 0 'long output is whole with a closed input (TTY-A4)'
is "$(errand -q -t -- sh -c 'cat; cat; tty; stty size' </dev/null |
    tr -d '\r' | tr '\n' ' ')" '/dev/pts/0 24 80 ' \
    'there is a terminal, and nothing to read from it'
is "$(printf 'a b\n' | errand -q -i -t -- sh -c 'stty -echo; echo up
    read x; echo "<$x>"; cat' | tr -d '\r' | tail -n 1)" '<a b>' \
    'with -i what is piped in is typed'
is "$(errand -q -t -- sh -c 'echo out; echo err >&2' </dev/null 2>"$T/err" |
    tr -d '\r' | tr '\n' ' ')" 'out err ' 'both outputs are the terminal'
is "$(errand logs --stream stdout last | tr -d '\r' | tr '\n' ' ')" \
    'out err ' 'which is kept as stdout'
is "$(errand -q -t -- sh -c 'ls /proc/$$/fd; true' </dev/null |
    tr -d '\r' | tr -s ' \n' '  ')" '0 1 2 ' 'no other descriptor is left open'
errand -q -t -- sh -c 'exit 5' </dev/null
is $? 5 'the exit status is the command'\''s'
errand -q -t -- sh -c 'kill -SEGV $$' </dev/null
is $? 139 'a signal too'
bad=
for c in 0 1 2 119 120 126 127 128 129 137 254 255; do
	errand -q -t -- sh -c "exit $c" </dev/null
	[ $? -eq $c ] || bad="$bad $c"
done
for c in HUP:129 INT:130 QUIT:131 KILL:137 PIPE:141 TERM:143; do
	errand -q -t -- sh -c "kill -${c%:*} \$\$" </dev/null
	[ $? -eq ${c#*:} ] || bad="$bad $c"
done
is "$bad" '' 'whatever they are'
errand -q -t -- no-such-program </dev/null 2>/dev/null
is $? 127 'a command that is not there is 127'
errand -q -t -- /etc </dev/null 2>/dev/null
is $? 126 'one that cannot be executed 126'
is "$(errand -q -t -- sh -c 'read -r pid x x x x sid tty fore x </proc/$$/stat
    read -r pid x x pp group sid tty fore x </proc/$$/stat
    [ $pid:$pid:$pid = $group:$sid:$fore ] && [ $tty -ne 0 ] && echo leader' </dev/null |
    tr -d '\r')" leader 'the command leads a session, and the group in the foreground'
head -c 300000 /dev/urandom >bytes
is "$(errand -q -t -- sh -c 'stty raw; cat bytes' </dev/null | sum /dev/stdin)" \
    "$(sum bytes)" 'a terminal that is raw passes bytes of any value'
head -c 20000 bytes >some
n=0
for i in $(seq 100); do
	errand -q -t -- sh -c 'stty raw; cat some' </dev/null | cmp -s some - ||
	    n=$((n + 1))
done
is "$n" 0 'and shows no key that nobody typed'
rm some
rm bytes
is "$( (head -c 5000 /dev/zero | tr '\0' x; echo; echo end) | errand -q -i -t -- sh -c '
    stty -echo; read x; echo ${#x}; read x; echo "<$x>"' | tr -d '\r' | tail -n 2 | tr '\n' ' ')" \
    '4095 <end> ' 'a line that is too long for a terminal is cut, and that one alone'
ERRAND_TIME=30 errand -q -t -- sh -c 'sleep 600 & echo done' </dev/null \
    >/dev/null
is $? 0 'what is left in the background ends with the job'

# --- size and kind ---

tree size
drive -s 40x120 -- "$E" -q -t -- stty size
is "$out $end" '40 120 status 0 modes same' \
    'its size is ours, from the start (TTY-A3)'
drive -s 40x120 raw 'expect:40 120' size:50x7 'expect:50 7' 'send:\n' -- \
    "$E" -q -t -- sh -c 'trap "stty size" WINCH; stty size
    until read x; do :; done'
is "$end" 'status 0 modes same' 'and follows ours (TTY-A3)'
drive -s 0x0 -- "$E" -q -t -- stty size
is "$out" '24 80' 'where there is none it is 24 by 80'
drive -s 65535x65535 -- "$E" -q -t -- stty size
is "$out" '65535 65535' 'it may be absurd'
TERM=vt100
export TERM
drive -- "$E" -q -t -- sh -c 'echo $TERM'
is "$out" vt100 'TERM is ours (LOC-A3)'
TERM=no-such-terminal
drive -- "$E" -q -t -- sh -c 'echo $TERM'
like "$out" '^(xterm-256color|xterm|vt100)$' \
    'or a common one, when nothing is known of ours (LOC-A3)'
TERM=../../../etc/passwd
drive -- "$E" -q -t -- sh -c 'echo $TERM'
like "$out" '^(xterm-256color|xterm|vt100)$' 'a path is no terminal'
TERM=vt100
drive -- "$E" -q -t -e TERM=linux -- sh -c 'echo $TERM'
is "$out" linux '-e TERM goes before'

# --- keys ---

tree keys
drive raw 'send:hello\n' 'expect:hello.*hello' 'send:\x04' -- "$E" -q -t -- cat
is "$end" 'status 0 modes same' 'Ctrl-D is the end'
drive raw 'send:\x03' -- "$E" -q -t -- sleep 60
is "$end" 'status 130 modes same' 'Ctrl-C interrupts'
drive raw 'expect:up' 'send:\x03' 'expect:got' 'send:\x04' -- "$E" -q -t -- \
    sh -c 'trap "echo got" INT; echo up; cat; cat'
is "$end" 'status 0 modes same' 'and is the command'\''s to handle'
printf 'echo star""ted; exec sleep 60\n' >script
drive raw 'expect:\$ ' 'send:sh script\n' 'expect:started' 'send:\x1a' \
    'expect:Stopped' 'send:jobs; kill %1; fg; echo $((6*7))\n' 'expect:42' \
    'send:exit 3\n' -- "$E" -q -t -e 'PS1=$ ' -- bash --norc -i
is "$end" 'status 3 modes same' 'a shell has job control: Ctrl-Z, jobs, kill'
drive raw 'expect:up' 'send:\x1a' 'send:x\n' 'expect:x' -- "$E" -q -t -- \
    sh -c 'echo up; read x'
is "$end" 'status 0 modes same' 'Ctrl-Z does not stop what nobody could wake'
drive raw 'expect:up' 'send:\x1c' -- "$E" -q -t -- sh -c 'echo up; sleep 60'
is "$end" 'status 0 modes same' 'Ctrl-\ detaches'
J=$(printf '%s\n' "$out" | tail -n 1)
is "$(field state "$J")" running 'and the job goes on; its id is printed'
errand kill -f "$J" 2>/dev/null

# --- every way out ---

tree out
for s in TERM:0 USR1:138 ABRT:134 ALRM:142; do
	drive raw 'expect:up' "kill:${s%:*}" -- "$E" -q -t -- \
	    sh -c 'trap "exit 0" TERM; echo up; while :; do sleep 0.1; done'
	is "$end" "status ${s#*:} modes same" \
	    "the terminal is put back after SIG${s%:*}"
	errand kill -f last 2>/dev/null
done
drive raw 'expect:up' kill:INT 'expect:got' kill:INT -- "$E" -q -t -- \
    sh -c 'trap "echo got" INT; echo up; while :; do sleep 0.1; done'
is "$end" 'status 137 modes same' 'and after two interrupts'
drive -g raw 'expect:up' kill:TSTP stopped cooked kill:CONT raw 'send:x\n' -- \
    "$E" -q -t -- sh -c 'echo up; read x; exit 4'
is "$end" 'status 4 modes same' 'it is ours while the client is stopped'
drive raw 'expect:up' "run:kill -KILL $daemon_pid" cooked kill:QUIT -- \
    "$E" -q -t -- sh -c 'echo up; sleep 60'
case $end in *'modes same') end=same ;; esac
is "$end" same 'and while the host is away (TTY-A5)'
stop_daemon
wait "$daemon_pid" 2>/dev/null
run_daemon
drive raw 'expect:up' \
    "run:pgrep -P $daemon_pid -x errand-snapshot | xargs kill -KILL" \
    'expect:lost' \
    raw 'send:on\n' 'expect:<on>' -- "$E" -t -- sh -c 'echo up; read x; echo "<$x>"'
is "$end" 'status 0 modes same' \
    'a lost connection is made again, with the terminal (TTY-A5)'

# --- nobody is there ---

tree gone
drive raw 'expect:up' hangup -- "$E" -q -t -- \
    sh -c 'trap "echo hup >w; exit 6" HUP; echo up; while :; do sleep 0.1; done'
is "$end" 'status 129 modes gone' 'a hang-up of our terminal ends the client'
wait_for 20 ended
is "$(field exit_code)" 6 'and hangs up the job'\''s'
drive raw 'expect:up' kill:KILL -- "$E" -q -t -- \
    sh -c 'trap "exit 6" HUP; echo up; while :; do sleep 0.1; done'
wait_for 20 ended
is "$(field exit_code)" 6 'so does a client that is gone for its lease'
drive raw 'expect:up' 'send:\x1c' -- "$E" -q -t -- \
    sh -c 'echo up; read x; echo "<$x>"; exit 8'
drive raw 'send:again\n' 'expect:<again>' -- "$E" attach -q last
is "$end" 'status 8 modes same' 'who detached may attach again, and type'
J=$(errand -d -i -t -- sh -c 'echo up; read x; stty size')
drive -s 33x44 raw 'send:x\n' 'expect:33 44' -- "$E" attach -q "$J"
is "$end" 'status 0 modes same' 'a detached job takes the size of who attaches'

# --- nothing comes out of it ---

tree inject
is "$(errand -q -t -- python3 -c 'import fcntl, termios
for name, req in ("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541c):
    for high in 0, 1 << 32, 0xffffffff << 32:
        try:
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            r = libc.ioctl(0, ctypes.c_ulong(high | req), b"x\0")
            print(name, r, ctypes.get_errno())
        except OSError as e:
            print(e)' </dev/null | tr -d '\r' | sort -u | tr '\n' ' ')" \
    'TIOCLINUX -1 1 TIOCSTI -1 1 ' \
    'typing into it by TIOCSTI and TIOCLINUX is refused, whatever the high bits'
cat >inj.py <<'END'
import fcntl, termios
for c in "echo injected\n":
    fcntl.ioctl(0, termios.TIOCSTI, c.encode())
END
drive -- sh -c '"$0" -q -t -- python3 inj.py; read -t 1 x && echo "<$x>"' "$E"
is "$(printf '%s\n' "$out" | grep -c '^<*injected\|<echo')" 0 \
    'a job types nothing into our terminal (ESC-A2)'
is "$(errand -q -t -- sh -c 'ls /dev/pts' </dev/null | tr -d '\r' |
    tr -s ' \n' '  ')" '0 ptmx ' 'it is the only one in sight'

done_testing
