#!/bin/sh
# A client where it stands badly: output that goes nowhere, descriptors that
# are closed, somebody else's directory where its socket would be, a blank in a
# path.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon

# --- output that cannot be written ---

tree full
echo x >f
full() { errand "$@" >/dev/full 2>"$T/err" </dev/null; rc=$?; }

full run -q -- echo out
is "$rc" 120 'output that cannot be written is 120'
like "$(cat "$T/err")" '^errand: cannot write the output: No space left' \
    'and said'
is "$(grep -c 'cannot write' "$T/err")" 1 'once'
full run -q -- sh -c 'for i in 1 2 3; do echo out; sleep 0.1; done'
is "$rc $(grep -c 'cannot write' "$T/err")" '120 1' 'also when there is more of it'
errand run -q -- sh -c 'echo err >&2' >"$T/out" 2>/dev/full </dev/null
is $? 120 'so is stderr'
full run -q -- sh -c 'echo out; exit 3'
is "$rc" 3 'a code of the command'\''s own goes first'
full run -q -- true
is "$rc" 0 'what writes nothing loses nothing'
J=$(errand -q -d -- sh -c 'echo out; echo err >&2; echo new >g')
errand wait "$J"
for c in logs attach; do
	full $c "$J"
	is "$rc" 120 "$c: 120"
	like "$(cat "$T/err")" 'cannot write the output' "$c: said"
	errand $c "$J" >"$T/out" 2>/dev/full
	is $? 120 "$c: stderr as well"
done
errand receipt "$J" -o "$T/receipt" 2>/dev/null
bad=
for c in info ps 'ps -a' "status $J" "diff $J" "receipt $J" ls \
    "verify $T/receipt" '-d -- true' '--json info' '--json ps -a' \
    "--json status $J" "--json diff $J" "--json verify $T/receipt"; do
	[ "$c" = ps ] && continue       # which has nothing to say
	# shellcheck disable=SC2086
	full $c
	[ "$rc" -ne 0 ] && [ "$rc" -lt 124 ] || bad="$bad [$c: $rc]"
done
is "$bad" '' 'no answer that was lost is a success'
bad=
for c in status 'tenant list' '--json status'; do
	# shellcheck disable=SC2086
	errandctl $c >/dev/full 2>&1 && bad="$bad [$c]"
done
is "$bad" '' 'nor is one of errandctl'
errand run -q -- echo out >&- 2>"$T/err"
is "$? $(grep -c 'cannot write' "$T/err")" '120 1' 'a closed stdout is 120 too'
errand run -q -- sh -c 'echo err >&2' >"$T/out" 2>&-
is $? 120 'so is a closed stderr'
errand info >&- 2>/dev/null
check 'a closed stdout is no success for a question' test $? -ne 0
# The reader is gone before anything is written.
broken() {
	mkfifo "$T/fifo"
	{ "$@" 2>"$T/err" 3>&-; echo $? >"$T/rc"; } >"$T/fifo" &
	p=$!
	: <"$T/fifo"
	wait $p
	rm "$T/fifo"
	rc=$(cat "$T/rc")
}
broken errand run -q -- sh -c 'sleep 0.2; seq 1 1000000'
is "$rc" 141 'a broken pipe is what it is to any command'
K=$(errand -q -d -- seq 1 1000000)
errand wait "$K"
mkfifo "$T/fifo2"
{ errand logs "$K" 2>"$T/err"; echo $? >"$T/rc"; } | head -n 1 >/dev/null
is "$(cat "$T/rc")" 141 'for logs as well'

# --- the pipe that a flood goes into ---

cat >"$T/pipe.py" <<'E'
# The size of the pipe that a job's output went into: before and after.
import fcntl, os, subprocess, sys
SET, GET = 1031, 1032
r, w = os.pipe()
try:
    fcntl.fcntl(w, SET, int(sys.argv[1]))
except PermissionError:
    sys.exit("over the system's most")
before = fcntl.fcntl(r, GET)
p = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=w)
os.close(w)
while os.read(r, 1 << 20):
    pass
print(before, fcntl.fcntl(r, GET), p.wait())
E
pipe() { python3 "$T/pipe.py" "$1" "$BIN/errand" run -q -- head -c "$2" /dev/zero; }
if command -v python3 >/dev/null; then
	is "$(pipe 65536 9000000)" '65536 1048576 0' 'a flood makes its pipe larger'
	is "$(pipe 65536 5000)" '65536 65536 0' 'a little output does not'
	if [ "$(cat /proc/sys/fs/pipe-max-size)" -gt 1048576 ]; then
		is "$(pipe 2097152 9000000)" '2097152 2097152 0' \
		    'nor is one that was larger made smaller'
	else
		skip 1 'needs a fs.pipe-max-size over 1 MiB'
	fi
else
	skip 3 'no python3 here'
fi

# What goes on to a pipe is not read here, and is the same for all that.
cat >"$T/moved.py" <<'E'
# The bytes that a command read and wrote itself, with its output to a pipe.
import os, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE)
n = 0
while True:
    b = os.read(p.stdout.fileno(), 1 << 20)
    if not b:
        break
    n += len(b)
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
with open("/proc/%d/io" % p.pid) as f:
    io = dict(l.split(": ") for l in f.read().splitlines())
print(n, int(io["rchar"]) < n // 4, int(io["wchar"]) < n // 4)
E
F=$(errand -q -d -- sh -c 'head -c 20000000 /dev/urandom >f
sha256sum <f >sum; cat f; cat f >&2; sleep 0.1; echo the end; cat f >&2')
errand wait "$F"
errand fetch -q "$F" -o "$T/flood"
sum=$(cat "$T/flood/sum")
is "$({ errand logs "$F" 2>/dev/null || echo FAILED; } | head -c 20000000 |
    sha256sum)" "$sum" 'a flood to a pipe is what the job wrote'
is "$(errand logs "$F" 2>/dev/null | { head -c 100000; sleep 1; cat; } |
    tail -c 8)" 'the end' 'to one that is slow as well'
is "$(errand logs "$F" 2>&1 >/dev/null | head -c 20000000 | sha256sum)" "$sum" \
    'on stderr, too'
errand logs "$F" 2>&1 >/dev/null | tail -c +20000001 | sha256sum >"$T/second"
is "$(cat "$T/second")" "$sum" 'to its end'
errand logs "$F" >"$T/flood.file" 2>/dev/null
is "$(head -c 20000000 "$T/flood.file" | sha256sum)" "$sum" 'and in a file'
# Of a process that holds keys, only root may know.
if command -v python3 >/dev/null && [ -r /proc/self/io ] &&
    [ "$(id -u)" -eq 0 ]; then
	is "$(python3 "$T/moved.py" "$BIN/errand" run -q -- \
	    head -c 50000000 /dev/zero)" '50000000 True True' \
	    'the client reads little of what goes to a pipe'
else
	skip 1 'needs root, python3 and counts of bytes here'
fi

# --- descriptors that are closed ---

# A request that kills the other job, as bytes that a job can print (see
# lib/frame.h): OPEN of stream 1001 with Kill { job, signal 9, no_wait }, END.
tree closed
J=$(errand -q -d -- sleep 300)
wait_for 10 has_state "$J" running || diag 'it does not run'
{
	printf '\030\0\0\0\351\003\0\0\002\0\0\0'
	printf '\072\026\012\020%s\020\011\030\001' "$J"
	printf '\0\0\0\0\351\003\0\0\006\0\0\0'
} >request
is "$(size request) ${#J}" '48 16' 'the request has the length it says'
frames='cat request; cat request >&2; sleep 0.2; exit 0'
bad=
try() {
	[ "$rc" -eq 120 ] || bad="$bad [$1: $rc]"
	has_state "$J" running || bad="$bad [$1: the other job was killed]"
}
errand -q -- sh -c "$frames" <&- >&- 2>&-
rc=$?; try all
errand -q -- sh -c "$frames" >&- 2>&-
rc=$?; try 'stdout and stderr'
errand -q -- sh -c "$frames" <&- >&- 2>"$T/err"
rc=$?; try 'stdin and stdout'
errand -q -- sh -c "$frames" <&- >"$T/out" 2>&-
rc=$?; try 'stdin and stderr'
errand -q -- sh -c "$frames" >&- 2>"$T/err"
rc=$?; try stdout
errand -q -- sh -c "$frames" >"$T/out" 2>&-
rc=$?; try stderr
is "$bad" '' 'the bytes of a job do not reach the connection'
errand -q -- sh -c "$frames" <&- >"$T/out" 2>"$T/err"
is "$? $(sum "$T/out") $(sum "$T/err")" "0 $(sum request) $(sum request)" \
    'without stdin they go where they belong'
errand logs "$J" <&- >&- 2>&-
errandctl status <&- >&- 2>&-
check 'errandctl without any is no success' test $? -ne 0
is "$(field state "$J")" running 'the other job was not touched'
errand kill -f "$J" 2>/dev/null

# --- somebody else's directory ---

planted=
unplant() { [ -z "$planted" ] || rm -rf "$planted"; }
fake_pid=
trap 'rc=$?; [ -z "$fake_pid" ] || kill $fake_pid; unplant; (exit $rc); cleanup' EXIT

# private COMMAND...: as that user, without anything that says where the host is
private() {
	as_uid "$uid" env -u XDG_RUNTIME_DIR -u ERRAND_HOST -u ERRAND_CONTROL \
	    timeout -k 5 20 "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
}
mine='^errand(ctl)?: /tmp/errand-[0-9]+ is not a directory of yours alone; set XDG_RUNTIME_DIR'

# refused TEXT: nobody is asked there
refused() {
	bad=
	for c in info ps 'status last' 'run --no-snapshot -- true' ctl; do
		if [ "$c" = ctl ]; then
			private "$BIN/errandctl" status
		else
			# shellcheck disable=SC2086
			private "$BIN/errand" $c
		fi
		[ "$rc" -ne 0 ] && [ "$rc" -lt 124 ] &&
		    grep -Eq "$mine" "$T/err" ||
		    bad="$bad [$c: $rc $(cat "$T/err")]"
	done
	is "$bad" '' "$1"
}
if [ "$(id -u)" -ne 0 ]; then
	skip 5 'needs root'
elif [ -e /run/errand/errand.sock ] || [ -e /run/errand/control.sock ]; then
	skip 5 'needs a machine without a daemon of its own'
elif ! command -v python3 >/dev/null; then
	skip 5 'no python3 here'
else
	uid=61300
	until mkdir -m 755 "/tmp/errand-$uid" 2>/dev/null; do
		uid=$((uid + 1))
	done
	planted=/tmp/errand-$uid
	cd / || exit 1
	python3 "$TOP/tests/tools/fake_host.py" "$planted/errand.sock" truth &
	fake_pid=$!
	wait_for 10 test -S "$planted/errand.sock" || diag 'no fake host'
	chmod 777 "$planted/errand.sock"
	ln -s errand.sock "$planted/control.sock"
	refused 'a socket in the directory of another user is not asked'
	chown "$uid" "$planted"
	private "$BIN/errand" info
	is "$rc" 0 'in one of the user'\''s own it is'
	chmod 775 "$planted"
	refused 'nor in one that others write to'
	mv "$planted" "$T/moved"
	ln -s "$T/moved" "$planted"
	chown -h "$uid" "$planted"
	chmod 755 "$T/moved"
	refused 'nor behind a link'
	rm "$planted"
	echo x >"$planted"
	chown "$uid" "$planted"
	refused 'nor is a file taken for one'
	unplant
fi

# --- a blank in the path ---

tree blank
ln -s "$T/run" "$T/a blank  in it"
ERRAND_HOST="unix:$T/a blank  in it/errand.sock"
XDG_STATE_HOME=$T/data-blank
bad=
for i in 1 2 3; do
	errand -q -- true || bad="$bad $i"
	errand info >/dev/null || bad="$bad info"
done
is "$bad" '' 'a socket whose path has blanks in it is one'
is "$(wc -l <"$XDG_STATE_HOME/errand/hosts")" 1 'its key is remembered once'
errand receipt last -o "$T/blank-receipt" 2>/dev/null
run errand verify "$T/blank-receipt"
is "$rc" 0 'and verifies its receipts'
like "$(cat "$T/out")" '^valid: job' 'which it says'

done_testing
