#!/bin/sh
# A job as its submitter sees it: exit codes, arguments, output, environment,
# limits, and the commands that ask about it.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon

# --- exit codes ---

tree codes
bad=
for c in $(seq 0 255); do
	errand -q -- sh -c "exit $c"
	[ $? -eq "$c" ] || bad="$bad $c"
done
is "$bad" '' 'exit codes are the command'\''s own (SIG-A2)'

run errand -q -- sh -c 'exit 125'
is "$(field ran) $(field exit_code) $(field state)" 'true 125 exited' \
    'a command'\''s 125 is told apart: it ran'

bad=
for s in HUP:1 INT:2 QUIT:3 ABRT:6 KILL:9 USR1:10 SEGV:11 PIPE:13 TERM:15; do
	errand -q -- sh -c "kill -${s%:*} \$\$" 2>/dev/null
	[ $? -eq $((128 + ${s#*:})) ] || bad="$bad $s"
done
is "$bad" '' 'death by signal N is 128+N (SIG-A1)'
is "$(field signal) $(field exit_code)" '15 null' \
    'the signal is a field of its own'

echo x >noexec
run errand -q -- ./does-not-exist
is "$rc" 127 'a command that is not there is 127 (EXEC-A5)'
like "$(cat "$T/err")" 'does-not-exist.*' 'and stderr names it'
is "$(field ran) $(field state)" 'false failed' 'and the status says it never ran'
run errand -q -- no-such-program-anywhere
is "$rc" 127 'so is one that is nowhere on the PATH'
printf '#!/no/such\n' >no-loader; chmod +x no-loader
run errand -q -- ./no-loader
is "$rc" 127 'so is one whose interpreter is not there'
like "$(cat "$T/err")" 'no-loader: is there, but the interpreter or loader .* is not' \
    'which is not said of the command'
run errand -q -e PATH=/workspace -- no-loader
like "$rc $(cat "$T/err")" '127 .*no-loader: is there, but' 'on the PATH too'
run errand -q -e PATH=/workspace:/workspace/sub:/usr/bin -- no-loader
is "$rc" 127 'where another is looked for'
mkdir -p sub; printf '#!/bin/sh\nexit 5\n' >sub/no-loader; chmod +x sub/no-loader
run errand -q -e PATH=/workspace:/workspace/sub:/usr/bin -- no-loader
is "$rc" 5 'and taken'
run errand -q -- ./noexec
is "$rc" 126 'a file that is not executable is 126 (EXEC-A5)'
like "$(cat "$T/err")" 'noexec' 'and stderr names it'
run errand -q -- /usr
is "$rc" 126 'a directory is 126'
run errand -q -- sh -c 'exit 127'
is "$(field ran)" true 'a command'\''s own 127 is told apart: it ran'

# --- arguments ---

tree argv
got=$(errand -q -- printf '[%s]' '' 'a  b' '$HOME' '*' "it's" 'x;y' "n${NL}l")
is "$got" "[][a  b][\$HOME][*][it's][x;y][n${NL}l]" \
    'arguments arrive one by one, no shell between (EXEC-A1)'
odd=$(printf 'caf\351\001\177')
is "$(errand -q -- printf %s "$odd" | od -An -tx1)" \
    "$(printf %s "$odd" | od -An -tx1)" 'arguments are bytes'
# shellcheck disable=SC2046
is "$(errand -q -- sh -c 'echo $#' sh $(seq 3000))" 3000 'three thousand of them'
is "$(errand -q -- sh -c 'cat <<END >o
hello
END
cat o')" hello 'commands of several lines (EXEC-A2)'

# --- output ---

tree output
run errand -q -- sh -c 'printf out; printf err >&2; printf put; printf or >&2'
is "$(cat "$T/out")/$(cat "$T/err")" 'output/error' \
    'stdout and stderr stay apart, byte for byte'
bad=
for n in 1 1000 65536 1048577 8388608; do
	for i in 1 2 3; do
		got=$(errand -q -- head -c "$n" /dev/zero | wc -c)
		[ "$got" -eq "$n" ] || bad="$bad $n:$got"
	done
done
is "$bad" '' 'nothing is lost of what is printed before exit (LOG-A1)'
head -c 8388608 /dev/urandom >blob
errand -q -- cat blob >"$T/got"
is "$(sum "$T/got")" "$(sum blob)" 'eight megabytes of random bytes arrive intact'
errand -q -- sh -c 'cat blob >&2' 2>"$T/got"
is "$(sum "$T/got")" "$(sum blob)" 'on stderr as well'
errand logs last >"$T/stored" 2>"$T/stored.err"
is "$(size "$T/stored") $(sum "$T/stored.err")" "0 $(sum blob)" \
    'and the stored log has them on the same stream'
run errand -q -- sh -c 'head -c 30000000 /dev/zero; echo REAL-ERROR >&2; exit 3'
is "$rc $(cat "$T/err")" '3 REAL-ERROR' \
    'a flood on stdout does not lose what stderr says (LOG-A4)'
J=$(errand -d -- sh -c 'i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done')
errand logs -f "$J" >"$T/live"
errand logs "$J" >"$T/stored"
check 'live and stored output are the same (LOG-A5)' cmp "$T/live" "$T/stored"
is "$(wc -l <"$T/stored")" 3000 'and whole'
errand logs "$J" --from 5 >"$T/got"
is "$(sum "$T/got")" "$(tail -c +6 "$T/stored" | sha256sum | cut -d' ' -f1)" \
    'logs --from leaves out that many bytes'
is "$(errand logs "$J" --tail 10)" "$(tail -c 10 "$T/stored")" \
    'logs --tail shows the last bytes'
J=$(errand -d -- sh -c 'echo o; echo e >&2')
errand wait "$J"
is "$(errand logs "$J" --stream stdout 2>&1)" o 'logs --stream stdout'
is "$(errand logs "$J" --stream stderr 2>&1)" e 'logs --stream stderr'
# Longer than what of a log stays in memory (lib/writeout.h).
whole() { seq 1 7500000; }
J=$(errand -d -- seq 1 7500000)
is "$(errand logs -f "$J" | { head -c 100000; sleep 1; cat; } | sha256sum)" \
    "$(whole | sha256sum)" 'a follower that falls far behind gets every byte'
is "$(errand logs "$J" | sha256sum)" "$(whole | sha256sum)" \
    'and so does one that comes late'
is "$(errand logs "$J" --from 50000000 | sha256sum)" \
    "$(whole | tail -c +50000001 | sha256sum)" 'or begins in the middle'
run timeout 30 "$BIN/errand" -q -- sh -c 'sleep 600 & echo done; exit 4'
is "$rc $(cat "$T/out")" '4 done' \
    'a background child that holds the output does not hold the client (PROC-A3)'
run timeout 30 "$BIN/errand" -q -- cat
is "$rc" 0 'without -i the command reads an empty input (TTY-A1)'
errand -- seq 1 1000000 2>"$T/err" | head -n 1 >"$T/out"
is "$(cat "$T/out")" 1 'a reader that leaves early ends the job as a pipe would'

# --- environment ---

tree env
fixed='ERRAND_JOB
ERRAND_WORKSPACE
HOME
LANG
LOGNAME
PATH
SHELL
TERM
TMPDIR
USER'
got=$(MY_SECRET_TOKEN=abc errand -q -- env | cut -d= -f1 | sort)
is "$got" "$fixed" 'the environment is the fixed set and nothing else (EXEC-A4)'
got=$(PASSED=p errand -q -e A=1 -e 'B=x  y' -e C= -e A=2 --passenv PASSED -- \
    sh -c 'printf "[%s]" "$A" "$B" "${C-unset}" "$PASSED"')
is "$got" '[2][x  y][][p]' '-e and --passenv set values, the last one counts'
printf 'F=1\n# no\n\nG=two words\n' >"$T/env"
is "$(errand -q --env-file "$T/env" -- sh -c 'echo "$F,$G"')" '1,two words' \
    '--env-file'
is "$(errand -q -e LANG=C -- sh -c 'echo $LANG; env | grep -c ^LANG=')" "C${NL}1" \
    'a declared value replaces one of the fixed set'
run errand -q --passenv NOT_SET_ANYWHERE -- touch ran
is "$rc" 120 'a --passenv that is not set is an error'
like "$(cat "$T/err")" 'NOT_SET_ANYWHERE.*not set' 'that names it'
big=$(head -c 200000 /dev/zero | tr '\0' x)
printf 'BIG=%s\n' "$big" >"$T/env"
run errand -q --env-file "$T/env" -- true
is "$rc" 120 'a value larger than the kernel takes is ours to refuse (EXEC-A3)'
like "$(cut -c1-200 "$T/err")" 'BIG.*200005.*131072' 'with its name, its size and the limit'
errand -q -e TOKEN=s3cr3t-value -- true
got=$(errand status last --json; errand receipt last --json; errand ps -a --json)
is "$(printf %s "$got" | grep -c s3cr3t-value)" 0 \
    'values are in no status, listing or receipt (AUTH-A4)'
like "$got" '"env":\["TOKEN"\]' 'only names are'
if [ "$(id -u)" -eq 0 ]; then
	is "$(grep -rl s3cr3t-value "$T/state" "$T/errandd.log")" '' \
	    'and nowhere on the host'
fi

# --- detached, and asking ---

tree ask
J=$(errand -d --name 'my label' -- sh -c 'echo hello; exit 6')
like "$J" '^[0-9a-z]{16}$' '-d prints the id alone'
errand wait "$J"
is $? 6 'wait exits as the job did'
is "$(errand logs "$J")" hello 'logs'
is "$(field id)" "$J" 'last is the newest job of this tree'
is "$(field id 'my label')" "$J" 'a label names a job'
is "$(field id "$(printf %s "$J" | cut -c1-12)")" "$J" 'so does a prefix of its id'
run errand status "$(printf %s "$J" | cut -c1-3)"
is "$rc" 1 'fewer than four characters do not'
run errand status 0000000000000000
is "$rc" 1 'no such job is 1'
like "$(cat "$T/err")" '0000000000000000' 'and says so'
work ask2
: >.errandignore
errand -q -- true
K=$(field id)
cd ../ask || exit 1
is "$(field id)" "$J" 'each tree has its own last job'
cd ../ask2 || exit 1
is "$(field id)" "$K" 'the other one too'
is "$(cd / && errand status last --json | "$TOOLS/jget" id)" "$K" \
    'outside of any tree, last is my newest'

all='id label tenant host workspace state reason exit_code signal ran limit
times.submitted times.queued times.started times.ended times.settled
phases_us.negotiate phases_us.ingest phases_us.publish phases_us.queue
phases_us.start phases_us.run phases_us.collect phases_us.settle
usage.cpu_us usage.memory_peak_bytes usage.oom_kills usage.pids_peak
usage.disk_bytes log.bytes log.stdout_bytes log.stderr_bytes log.truncated
log.complete changes.count changes.bytes changes.complete changes.root
tree.root tree.files tree.bytes tree.shipped_objects tree.shipped_bytes
net image limits receipt.digest receipt.sequence'
errand -q -- sh -c 'echo 12345; echo 123 >&2; echo new >made' >/dev/null 2>&1
errand status last --json >"$T/json"
bad=
for f in $all; do
	[ "$("$TOOLS/jget" "$f" <"$T/json")" != absent ] || bad="$bad $f"
done
is "$bad" '' 'status --json has every field'
get() { "$TOOLS/jget" "$1" <"$T/json"; }
is "$(get state) $(get exit_code) $(get signal) $(get ran) $(get reason) $(get limit)" \
    'exited 0 null true null null' 'how it ended'
is "$(get log.bytes) $(get log.stdout_bytes) $(get log.stderr_bytes) $(get log.complete)" \
    '10 6 4 true' 'how much it wrote'
is "$(get changes.count) $(get changes.bytes) $(get changes.complete)" '1 4 true' \
    'how much it changed'
is "$(get net) $(get workspace) $(get image)" 'none null null' 'absent values are null'
like "$(get times.submitted)" \
    '^20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z$' 'times are RFC 3339 with microseconds'
got=$(for f in submitted started ended settled; do get times.$f; done)
is "$got" "$(printf '%s\n' "$got" | sort)" 'and in order'
check 'run time was measured' test "$(get phases_us.run)" -gt 0
check 'memory was measured' test "$(get usage.memory_peak_bytes)" -gt 0

errand ps -a --json -n 3 >"$T/json"
is "$(wc -l <"$T/json")" 3 'ps -n'
is "$("$TOOLS/jget" id <"$T/json" | head -n 1)" "$(field id)" 'ps is newest first'
is "$(errand ps --json | wc -l)" 0 'ps without -a shows active jobs only'
J=$(errand -d -- sleep 100)
is "$(errand ps --json | "$TOOLS/jget" id)" "$J" 'such as this one'
like "$(errand ps)" "$J +(starting|running) .*sleep 100" 'ps for people names the command'

# --- ending it ---

wait_for 10 has_state "$J" running || diag 'it does not run'
run errand kill "$J"
is "$rc $(field state "$J") $(field signal "$J")" '0 killed 15' \
    'kill returns when the end is durable (SIG-A3)'
errand wait "$J" 2>/dev/null
is $? 143 'and it died of TERM'
run errand kill "$J"
is "$rc" 0 'killing an ended job succeeds'
like "$(cat "$T/err")" 'ended already' 'with a note'
J=$(errand -d -- sh -c 'trap "echo got; exit 9" USR1; echo up; while :; do sleep 0.05; done')
wait_for 10 has_output "$J" up || diag 'it does not come up'
errand kill -s USR1 "$J"
errand wait "$J" 2>/dev/null
is "$? $(errand logs "$J" | tail -n 1)" '9 got' 'kill -s delivers that signal'
J=$(errand -d -- sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done')
wait_for 10 has_output "$J" up || diag 'it does not come up'
errand kill -f "$J" 2>/dev/null
is "$(field state "$J") $(field signal "$J")" 'killed 9' 'kill -f kills at once'
J=$(errand -d -- sh -c 'setsid sh -c "while :; do sleep 0.05; done" & echo up; exec sleep 100')
wait_for 10 has_output "$J" up || diag 'it does not come up'
run errand kill "$J"
is "$rc $(field cleanup "$J")" '0 true' 'a child in a session of its own goes too (PROC-A1)'
run errand -q --timeout 1 -- sh -c 'trap "" TERM INT HUP; while :; do sleep 0.05; done'
is "$rc $(field limit)" '137 runtime' 'TERM may be ignored, the time limit not (TIME-A1)'
like "$(cat "$T/err")" 'limit: runtime' 'and it is named'
run errand -q --timeout 1 -- sleep 100
is "$rc $(field limit)" '143 runtime' 'a polite command goes at TERM'
run errand -q --memory 64M -- sh -c 'head -c 300000000 /dev/zero | tail -c 299999999 | wc -c; exit 0'
if [ "$(errandctl --json status | "$TOOLS/jget" cgroup)" = none ]; then
	skip 2 'needs control groups'
else
	is "$(field limit)" memory 'a memory kill is recognised (OOM-A3)'
	check 'and counted' test "$(field usage.oom_kills)" -ge 1
fi
if [ "$(errandctl --json status | "$TOOLS/jget" cgroup)" = none ]; then
	skip 1 'needs control groups'
else
	errand -q --memory 256M -- sh -c 'kill -9 $$' 2>/dev/null
	is "$(field usage.oom_kills) $(field limit)" '0 null' \
	    'death by KILL alone is no memory kill (OOM-A2)'
fi

# --- attaching ---

J=$(errand -d -- sh -c 'echo one; echo two >&2; sleep 0.3; echo three; exit 3')
run errand attach "$J"
is "$rc $(cat "$T/out") $(head -n 1 "$T/err")" "3 one${NL}three two" \
    'attach shows all and exits as the job did'
run errand attach "$J" --from 4
is "$rc $(cat "$T/out")" '3 three' 'attach --from, after the end'

# --- changes ---

tree changes
mkdir d gone
echo 1 >mod; echo 1 >del; echo 1 >mode; echo 1 >"type"; echo x >gone/f
ln -s mod link
errand -q -- sh -c 'echo 2 >mod; rm del; chmod 755 mode; rm type; ln -s mod type
    mkdir -p new/empty; echo n >new/f; rm -r gone; ln -s mod made
    touch -d @1000 new/f; chmod 640 new/f'
is "$(errand diff last)" "D del
D gone
D gone/f
A made
M mod
C mode
A new
A new/empty
A new/f
T type" 'diff lists every kind of change, sorted by bytes'
errand -q -- sh -c 'touch mod; chmod 644 mode; echo 1 >mode; mv mod x; mv x mod'
is "$(errand diff last)" '' 'what ends as it began is no change'
errand -q -- sed -i s/1/2/ mod
is "$(errand diff last)" 'M mod' 'an edit through a rename is one change (CAP-A4)'
errand -q -- sh -c 'rm -r d; mkdir d; touch d/new "$(printf "x\033[31m\ny")"'
is "$(errand diff last | wc -l)" 2 'names stay on their lines'
is "$(errand diff last | tr -dc '\033' | wc -c)" 0 'and are escaped (ESC-A1)'
is "$(errand diff -z last | tr '\0' '\n' | head -n 1)" 'A d/new' 'or raw with -z'
is "$(errand diff --json last | "$TOOLS/jget" op | tr -d '\n')" AA 'diff --json'
errand -q -- touch "$(printf 'c\302\2332J\342\200\256')"
is "$(errand diff --json last | LC_ALL=C tr -dc '\200-\377' | wc -c)" 0 \
    'and JSON commands no terminal (ESC-A1)'
errand -q -- sh -c 'touch .wh.keep .wh..wh..opq'
is "$(errand diff last)" "A .wh..wh..opq${NL}A .wh.keep" 'no name is special (CAP-A5)'
errand -q -- mkdir -p newdir/empty
is "$(errand diff last)" "A newdir${NL}A newdir/empty" 'empty directories count (CAP-A6)'
errand -q -- true
is "$(errand ls | tr '\n' ' ')" '.errandignore d/ del gone/ gone/f link mod mode type ' \
    'the tree here is as it was'

# --- fetching ---

errand -q -- sh -c 'mkdir -p new; echo n >new/f; touch -d @1000.5 new/f
    chmod 640 new/f; ln -s ../mod new/l; chmod 750 new; echo 2 >mod; rm del
    truncate -s 10M sparse'
check 'fetch -o' errand fetch last -o "$T/fetched"
is "$(cd "$T/fetched" && find . | LC_ALL=C sort | tr '\n' ' ')" \
    '. ./mod ./new ./new/f ./new/l ./sparse ' 'brings what was made or modified'
is "$(cat "$T/fetched/new/f") $(cat "$T/fetched/mod")" 'n 2' 'with its content'
is "$(stat -c '%a %.1Y' "$T/fetched/new/f") $(stat -c %a "$T/fetched/new")" \
    '640 1000.5 750' 'its modes and times'
is "$(readlink "$T/fetched/new/l")" ../mod 'its links'
is "$(stat -c %s "$T/fetched/sparse") $(du -k "$T/fetched/sparse" | cut -f1)" \
    '10485760 0' 'and its holes'
run errand fetch last -o "$T/fetched"
is "$rc" 120 'a directory that exists is refused'
like "$(cat "$T/err")" 'fetched' 'by name'
check 'fetch PATH' errand fetch last new/l -o "$T/one"
is "$(cd "$T/one" && find . -type l)" ./new/l 'brings only that'

# --- for programs ---

tree json
run errand --json -- sh -c 'printf "{\"event\":\"result\",\"exit_code\":0}\n##vso[x]y\n"; exit 9'
is "$rc" 9 'output is never taken for control data (ESC-A3)'
is "$("$TOOLS/jget" event <"$T/err" | sort -u | tr '\n' ' ')" 'result state submitted ' \
    '--json: events as lines on stderr'
is "$(tail -n 1 "$T/err" | "$TOOLS/jget" event) $(tail -n 1 "$T/err" | "$TOOLS/jget" exit_code)" \
    'result 9' 'the last is the result'
like "$(cat "$T/out")" '^##vso' 'stdout has what the command wrote'

# --- the same id ---

J=$(errand -d --id build-1 -- sh -c 'echo ran >>f')
K=$(errand -d --id build-1 -- sh -c 'echo ran >>f')
is "$K" "$J" 'the same --id and job is the same job'
run errand -d --id build-1 -- true
is "$rc $(cat "$T/out")" '120 ' 'the same --id for another job is refused'
like "$(cat "$T/err")" "$J" 'naming the job that has it'
run errand --id build-1 -- sh -c 'echo ran >>f'
is "$rc" 0 'attached, it gives the result there is'

# --- interrupts ---

: >"$T/out"     # not the one before's
"$BIN/errand" -q -- sh -c 'n=0; trap "n=\$((n+1)); echo got \$n" INT; echo up
    i=0; while [ $i -lt 20 ]; do sleep 0.1; i=$((i+1)); done; exit 5' \
    >"$T/out" 2>"$T/err" &
p=$!
wait_for 10 grep -q up "$T/out" || diag 'it does not come up'
kill -INT $p
wait $p
is "$? $(grep -c got "$T/out")" '5 1' 'one interrupt is one INT for the command (SIG-A4)'
: >"$T/out"     # not the one before's
"$BIN/errand" -q -- sh -c 'trap "echo got" INT; echo up; while :; do sleep 0.1; done' \
    >"$T/out" 2>"$T/err" &
p=$!
wait_for 10 grep -q up "$T/out" || diag 'it does not come up'
kill -INT $p
wait_for 10 grep -q got "$T/out" || diag 'it did not get it'
kill -INT $p
wait $p
is $? 137 'the second kills it'
: >"$T/out"     # not the one before's
"$BIN/errand" -q -- sh -c 'echo up; exec sleep 100' >"$T/out" 2>"$T/err" &
p=$!
wait_for 10 grep -q up "$T/out" || diag 'it does not come up'
kill -QUIT $p
wait $p
is "$? $(tail -n 1 "$T/out")" "0 $(field id)" 'quit detaches and prints the id'
is "$(field state)" running 'the job goes on'
errand kill -f last 2>/dev/null
kill -STOP "$daemon_pid"
"$BIN/errand" -q -- touch ran >"$T/out" 2>"$T/err" &
p=$!
# An interrupt before its handler is there is lost: a shell's background
# processes ignore it.
check 'an interrupt before there is a job ends the client' \
    wait_for 10 sh -c "kill -INT $p && sleep 0.1 && ! kill -0 $p"
wait $p
is $? 130 'with 130'
kill -CONT "$daemon_pid"
check 'the daemon is none the worse' errand -q -- true

# --- wrong use ---

bad=
n=0
usage() {
	n=$((n + 1))
	errand "$@" >/dev/null 2>"$T/err"
	[ $? -eq 2 ] && [ -s "$T/err" ] || bad="$bad [$*]"
}
usage
usage --no-such-option -- true
usage run
usage run --memory lots -- true
usage run --timeout -1 -- true
usage run --cpus 0 -- true
usage run --net all -- true
usage run -e NOVALUE -- true
usage run --no-snapshot --include-all -- true
usage no-such-command
usage status
usage status one two
usage wait
usage kill
usage kill -s NOSUCH last
usage diff
usage fetch last
usage logs last --stream both
usage logs last --from x
usage ps -n 0
usage ls what
usage verify
usage info extra
usage --version extra
usage help run extra
is "$bad" '' "wrong use is 2 and says why ($n kinds)"
run errand ps --nope
like "$(cat "$T/err")" "^errand ps: unrecognized option '--nope'" 'a mistake in an option is told as errand'\''s'
bad=
for c in ls 'ps -a' 'ps -a --json' info --version --help 'status last' 'diff --stat last' 'ls --json' 'receipt last --json'; do
	# shellcheck disable=SC2086
	timeout 20 "$BIN/errand" $c >/dev/full 2>"$T/err"
	rc=$?
	if [ "$rc" -ne 120 ] || ! grep -q '^errand: standard output: No space left' "$T/err"; then bad="$bad [$c: $rc]"; fi
done
is "$bad" '' 'a standard output that is full is 120, and said'
echo A=1 >"$T/envfile"
is "$(mkfifo "$T/envpipe"; cat "$T/envfile" >"$T/envpipe" & errand -q --no-snapshot --env-file "$T/envpipe" -- sh -c 'echo $A')" 1 \
    '--env-file may be a pipe'
run errand --no-snapshot --env-file "$T" -- true
like "$rc $(cat "$T/err")" '^120 .*Is a directory' 'but not a directory'
for l in disk_may:--disk=10M cpu_time_may:--cpu-time=10; do
	may=$(errand info --json | "$TOOLS/jget" "${l%%:*}")
	run errand -q --no-snapshot "${l#*:}" -- true
	like "$may $rc" '^(true 0|false 120)$' "info tells whether ${l#*:} may be asked for"
done
run errand info
is "$(grep -c '^no limit   of ' "$T/out")" "$(errand info --json | grep -c _may\":true)" 'in words too'
J=$(errand run -d --no-snapshot -- sleep 60)
wait_for 20 has_state "$J" running
is "$(errand status "$J" | grep -c -e ^output -e ^used -e ^changes)" 0 'what is not known of a running job is not shown'
errand kill -f "$J"
is "$(errand status "$J" | grep -c -e ^output -e ^used -e ^changes)" 3 'but is when it has ended'
run errand --no-snapshot --timeout 1 -- sleep 60
is "$rc" 143 'a timeout is 143'
like "$(cat "$T/err")" 'limit: runtime \(--timeout\)' 'and the option that set it is named'
run errand --no-snapshot -- /no/such/command
like "$(grep 'did not run' "$T/err")" 'did not run \([^)]* in all\)' 'a job that did not run took no time to'
printf x >"$T/noreceipt"
run errand verify "$T/noreceipt"
like "$rc $(cat "$T/err")" '^1 errand: .*/noreceipt: not a valid receipt' 'verify names the file'
run errand logs last --tail 1K
is "$rc" 0 'logs --tail takes a size'
mkdir -p "$HOME/under"; : >"$HOME/.errandignore"
(cd "$HOME/under" && run errand -- true; echo "$rc"; cat "$T/err") >"$T/got"
like "$(tr '\n' ' ' <"$T/got")" '^120 .*nearest .errandignore above is that of your home.*make .errandignore here' \
    'an .errandignore in the home directory is no root for what is below'
rm -r "$HOME/under" "$HOME/.errandignore"
run errand --version
like "$rc $(cat "$T/out")" '^0 errand [0-9.]+, protocol [0-9]+$' '--version'
bad=
for c in run ls ps status logs attach wait kill diff fetch receipt verify info; do
	errand $c --help 2>&1 | grep -q "^usage: errand.*" || bad="$bad $c"
done
is "$bad" '' 'every command has --help'
mkdir "$T/w/plain" && cd "$T/w/plain" || exit 1
run errand -- true
is "$rc" 120 'a directory without Git and .errandignore is not sent unasked'
like "$(cat "$T/err")" 'include-all' 'and the error says what to do'
is "$(errand -q --no-snapshot -- sh -c 'pwd; ls -A')" /workspace \
    '--no-snapshot is an empty workspace'
mkdir -p sub/dir
is "$(cd sub/dir && errand -q -C "$T/w/plain" --include-all -- pwd)" /workspace/sub/dir \
    'the command runs where the caller stands'
is "$(errand -q -C . -w sub --include-all -- pwd)" /workspace/sub '-w says where else'
run errand -q -w nowhere --include-all -- true
is "$rc" 120 'a workdir that is not in the tree is ours to refuse'
like "$(cat "$T/err")" nowhere 'by name'

# Logs do not lie among what jobs gave back, where the file system can be told.
if lsattr -d "$T" >/dev/null 2>&1 && chattr +T "$T" 2>/dev/null; then
	like "$(lsattr -d "$T/state")" ' *[a-zA-Z-]*T[a-zA-Z-]* ' 'the parts of the state lie apart'
else
	skip 1 'needs a file system that can be told where directories lie'
fi

done_testing
