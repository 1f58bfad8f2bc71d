#!/bin/sh
# A client whose host lies: it ends soon, with a sentence and a status of its
# own that is not 0; it writes nothing where it was not told to, and nothing of
# what the host says reaches the terminal raw.

# The shells of checks have their scripts in single quotes; lib.sh has its own
# variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
fake=$TOP/tests/tools/fake_host.py
fake_pid=
n=0

# What it asks for in a minute is too late: the host is there all the time.
ERRAND_TIME=10

# host LIE [ARGUMENT...]: from now on $ERRAND_HOST is one that lies so
host() {
	no_host
	n=$((n + 1))
	python3 "$fake" "$T/run/$n" "$@" 2>"$T/fake.err" &
	fake_pid=$!
	wait_for 10 test -S "$T/run/$n" || diag "no fake host: $(cat "$T/fake.err")"
	ERRAND_HOST=unix:$T/run/$n
}
no_host() {
	[ -z "$fake_pid" ] || { kill "$fake_pid"; wait "$fake_pid"; }
	fake_pid=
} 2>/dev/null
trap 'rc=$?; no_host; (exit $rc); cleanup' EXIT

# What a terminal would obey: control characters but newline, of C1 too.
raw_controls() { LC_ALL=C grep -aqP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$@"; }

# refuses TEXT COMMAND...: each (a string) ends with a sentence and a status
# that is neither 0 nor that of a crash or of the time limit
refuses() {
	text=$1 bad=
	shift
	for c; do
		# shellcheck disable=SC2086
		run errand $c
		if [ "$rc" -eq 0 ] || [ "$rc" -ge 124 ]; then
			bad="$bad [$c: $rc]"
		elif ! grep -q '^errand: .' "$T/err"; then
			bad="$bad [$c: no sentence]"
		fi
		if raw_controls "$T/out" "$T/err"; then
			bad="$bad [$c: control characters]"
		fi
	done
	is "$bad" '' "$text"
	said=$(cat "$T/err")
}
tree lies
run_='run --no-snapshot -- true'
detach='-d --no-snapshot -- true'
get='diff x'

# --- a host that speaks as it should ---

host truth
bad=
for c in info ps 'status x' 'logs x' 'attach x' 'wait x' "$get" "$run_" \
    "$detach"; do
	# shellcheck disable=SC2086
	run errand $c
	[ "$rc" -eq 0 ] || bad="$bad [$c: $rc]"
done
is "$bad" '' 'the fake host is one a client believes'
is "$(errand -q --no-snapshot -- true)" output 'its output is shown'

# --- out of turn ---

host more_after_final
refuses 'a last reply that says another one follows' info ps 'status x' \
    'logs x' 'attach x' 'wait x' 'kill x' "$get" "$run_"
host get_more
refuses 'one behind objects, with data after it' "$get" 'fetch x -o more'
host late_upload
refuses 'one behind an upload, and again when the job runs' "$run_" "$detach"
host get_late
refuses 'what belongs to an earlier request' "fetch x -o late"
host early_reply
refuses 'answers that nobody asked for' info ps "$get" "$run_"
host data_after_end
refuses 'data after the end of a stream' info ps 'status x' 'logs x' "$get" \
    "$run_"
host data_after_reply
refuses 'data after the last reply' "$get" 'fetch x -o after' 'wait x' "$run_"
host only_accepted
refuses 'a job that is accepted, as the last word on it' "$run_" 'attach x' \
    'wait x'
host not_final
refuses 'a result that is none: the job runs' "$run_" 'attach x' 'wait x' \
    'kill x'
host last_job
refuses 'the same without calling it a result' "$run_" 'attach x' 'wait x'

# --- what is not as it should be ---

host wrong_kind
refuses 'a reply to another request' info ps 'status x' 'logs x' 'wait x' \
    "$get" "$run_"
host bad_message
refuses 'a reply that is no message' info ps 'status x' 'logs x' 'wait x' \
    "$get" "$run_" "$detach"
host bad_job_id
refuses 'a job whose id is a path' 'status x' 'logs x' "$get" 'wait x'
host noise
refuses 'noise' info
host wrong_id
refuses 'an object that is not what its id says' "$get" 'fetch x -o wrong'
host other_object
refuses 'an object that was not asked for' "$get" 'fetch x -o other'
host cut_object
refuses 'half an object' "$get" 'fetch x -o half'
for kind in id many cut nothing late twice; do
	host ahead $kind
	refuses "what comes along with a record: $kind" "fetch x -o ahead-$kind"
done
host ahead good
run errand fetch x -o ahead
is "$rc $(cat ahead/f)" '0 planted' 'what nobody asked for among it is left out'

# --- too much ---

host huge_frame
refuses 'a frame of 4 GiB' info ps "$get" "$run_"
host huge_data
refuses 'output in one frame of 2 GiB' 'status x' "$run_"
host huge_object
refuses 'an object of 4 GiB' "$get" 'fetch x -o huge1'
host huge_changes
refuses 'a list of changes of 4 EiB' "$get" 'fetch x -o huge2'
host huge_count
refuses 'one with more changes in it than bytes' "$get" 'fetch x -o huge3'
host huge_file
refuses 'a file of 4 EiB' 'fetch x -o huge4'
host endless_hello
refuses 'greetings without end' info
host endless_jobs
refuses 'jobs without end' ps
host endless_objects
refuses 'objects without end' "$get" 'fetch x -o endless'
host endless_refs
refuses 'wants without end' "$run_"
host endless_need
refuses 'the same want again and again' "$run_"
host endless_receipt
refuses 'a receipt without end' 'receipt x' 'receipt x -o receipt'

# --- output that is passed on from the socket to a pipe ---

pattern() {
	python3 -B -c 'import sys; sys.path.insert(0, sys.argv[1])
import fake_host; sys.stdout.buffer.write(fake_host.PATTERN)' "$TOP/tests/tools"
}
pattern >"$T/pattern"
host cut_flood
errand -q --no-snapshot -- true 2>"$T/err" | cat >"$T/got"
check 'output that breaks off within a piece is gone on with there' \
    cmp "$T/got" "$T/pattern"
errand -q --no-snapshot -- true 2>"$T/err" >"$T/got"
check 'and the same in a file' cmp "$T/got" "$T/pattern"
host flood_mixed
errand -q --no-snapshot -- true 2>"$T/err" | cat >"$T/got"
sizes='65536 65536 1 40000 65536 7 32768 32767 3 65536 '
is "$(cat "$T/err")" "$sizes$sizes" 'what comes between is where it belongs'
check 'and nothing of the output is lost' \
    cmp "$T/got" "$(head -c "$(stat -c %s "$T/got")" "$T/pattern" >"$T/want"
    echo "$T/want")"
is "$(stat -c %s "$T/got")" 735380 'or missing at its end'
host flood_beyond
{ errand -q --no-snapshot -- true 2>"$T/err"; echo $? >"$T/rc"; } |
    { sleep 1; cat >/dev/null; }
is "$(cat "$T/rc") $(grep -c 'DATA beyond the credit' "$T/err")" '120 1' \
    'a flood that does not stop for its credit ends the connection'
{ errand -q --no-snapshot -- true 2>"$T/err"; echo $? >"$T/rc"; } |
    head -c 100000 >/dev/null
is "$(cat "$T/rc")" 120 'a broken pipe does not make it endless'

# --- changes that must not be written ---

# What is around DIR, and what links would lead to, with a digest of each file.
mkdir -p "$T/out-side" area/tree
echo mine >area/tree/mine
echo mine >"$T/out-side/file"
around() {
	find "$T/out-side" area -path "area/dir" -prune -o -printf '%p %y %m %l\n' |
	    sort
	cat "$T/out-side/file"
}
before=$(around)
for kind in dotdot inner last absolute slashes dot git git-case git-link nul \
    empty twice order setuid kind parent-link parent-dir parent-link-link \
    dir-of-link; do
	host evil_changes $kind "$T/out-side"
	refuses "changes with a path that must not be: $kind" 'fetch x -o area/dir'
	if [ "$(around)" != "$before" ] ||
	    [ -n "$(find area -iname .git -o -perm /7000)" ]; then
		not_ok "$kind: nothing is outside of DIR (TRAV-A1)"
		diag "$(around)"
	else
		ok "$kind: nothing is outside of DIR (TRAV-A1)"
	fi
	rm -rf area/dir
	refuses "applied: $kind" 'fetch x --apply --into area/tree'
	is "$(around; cat area/tree/mine)" "$before
mine" "applied: $kind: nothing is, and the tree is as it was (TRAV-A1)"
done
host evil_changes good "$T/out-side"
run errand fetch x -o area/dir
is "$rc $(cat area/dir/d/f) $(readlink area/dir/l)" "0 planted $T/out-side" \
    'while the same kind of list without a fault is'
run errand fetch x --apply --into area/tree
is "$rc $(cat area/tree/d/f) $(readlink area/tree/l)" \
    "0 planted $T/out-side" 'and so it is when it is applied'

# --- goodbye ---

host goaway
start=$(date +%s)
refuses 'a goodbye is the end, even when the connection stays' info ps \
    'status x' 'logs x' 'wait x' "$get" "$run_"
check 'at once' test $(($(date +%s) - start)) -lt 8
like "$said" '^errand: this host is .*\\x1b.*\\x1b\[31mred.* closing' \
    'its sentence is said, and what a terminal would obey is not'
host goaway_first
refuses 'a goodbye with the greeting' info ps
like "$said" '^errand: not today' 'is said as well'
host reset
refuses 'a refusal with escapes in it' info ps 'status x' "$get" "$run_"

# --- names ---

host evil_name
bad=
for c in info 'status x' ps "$run_"; do
	# shellcheck disable=SC2086
	run errand $c
	[ "$rc" -eq 0 ] && ! raw_controls "$T/out" "$T/err" || bad="$bad [$c]"
done
is "$bad" '' 'the name of a host is not what a terminal obeys'
like "$(errand info)" 'a\\x1b\[31mb' 'it is shown with escapes'
check 'and its key is remembered without it' \
    sh -c '! grep -q 31m "$1"' sh "$XDG_STATE_HOME/errand/hosts"
host evil_tenant
refuses 'a tenant whose name is a path' info "$run_"

done_testing
