#!/bin/sh
# Receipts: what they say, and that nobody but the host can make one.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon

tree a
echo 1 >f
errand -q -e NAME=value --timeout 1m -- sh -c 'echo out; echo 2 >f; exit 3' >/dev/null
check 'a receipt' errand receipt last -o "$T/r"
J=$(field id)
run errand verify "$T/r"
is "$rc" 0 'verify accepts it'
like "$(cat "$T/out")" "$J" 'and says which job it is'
errand verify "$T/r" --json >"$T/json"
get() { "$TOOLS/jget" "$1" <"$T/json"; }
is "$(get job) $(get sequence) $(get state) $(get exit_code) $(get signal)" \
    "$J 1 exited 3 null" 'it says what ran and how it ended'
is "$(get argv)" '["sh","-c","echo out; echo 2 >f; exit 3"]' 'the arguments'
is "$(get env) $(get workdir)" '["NAME"] ' 'names of the environment, and where'
is "$(get tree_before)" "$(field tree.root)" 'the tree it ran on (RACE-A3)'
is "$(get tree_after)" "$(field changes.root)" 'the tree it left'
is "$(get changes.count) $(get changes.complete) $(get changes.digest)" \
    "1 true $(field changes.digest)" 'the changes'
is "$(get log.bytes) $(get log.complete) $(get log.digest)" \
    "4 true $(field log.digest)" 'the output'
is "$(get limits.runtime_us)" 60000000 'the limits that held'
is "$(get cleanup)" true 'that nothing was left behind'
like "$(get software)" '[0-9]\.[0-9]' 'the software'
for f in submitted started ended; do
	[ "$(get times.$f)" = "$(field times.$f)" ] || diag "times.$f differs"
done
is "$(get times.started)" "$(field times.started)" 'the times'
errand receipt last >"$T/r2"
check 'without -o it goes to stdout, the same bytes' cmp "$T/r" "$T/r2"
mkdir "$T/empty"
run env XDG_STATE_HOME="$T/empty" "$BIN/errand" verify "$T/r"
is "$rc" 1 'a client that never met the host does not believe it'
like "$(cat "$T/err")" '--host-key' 'and says what is missing'
key=$(awk '{ print $1; exit }' "$XDG_STATE_HOME/errand/hosts")
run env XDG_STATE_HOME="$T/empty" "$BIN/errand" verify "$T/r" --host-key "$key"
is "$rc" 0 'with the key given it does'
run errand verify "$T/r" --host-key "$(printf '%064d' 7)"
is "$rc" 1 'another key given is refused'
run errand verify "$T/r" --host-key xyz
is "$rc" 2 'what is no key is wrong use'

# --- forgeries ---

got=$("$TOOLS/receipt_tool" every "$T/r" "$key")
like "$got" ' 0 accepted$' 'any one byte changed, three ways, and it is refused'
diag "$got"
n=$(size "$T/r")
bad=
i=0
while [ $i -lt 50 ]; do
	at=$((i * n / 50))
	"$TOOLS/receipt_tool" flip "$T/r" $at "$T/x"
	errand verify "$T/x" >/dev/null 2>"$T/err"
	[ $? -eq 1 ] && [ -s "$T/err" ] || bad="$bad $at"
	i=$((i + 1))
done
is "$bad" '' 'errand verify refuses 50 of them with a reason'
new=$("$TOOLS/receipt_tool" resign "$T/r" "$T/forged")
run errand verify "$T/forged"
is "$rc" 1 'one signed anew by an unknown key is refused (AUTH-A3)'
like "$(cat "$T/err")" 'never met|not.*known' 'because nobody knows the key'
run errand verify "$T/forged" --host-key "$key"
is "$rc" 1 'by the host'\''s key as well'
run errand verify "$T/forged" --host-key "$new"
is "$rc" 0 'it is valid only for who believes the forger'
run errand verify "$T/none"
is "$rc" 1 'a file that is not there is 1'
head -c 100000 /dev/urandom >"$T/x"
run errand verify "$T/x"
is "$rc" 1 'noise is refused'
: >"$T/x"
run errand verify "$T/x"
is "$rc" 1 'nothing is refused'

# --- the chain ---

prev=$(field receipt.digest)
bad=
for i in 2 3 4 5 6; do
	case $i in
	3) errand -q -- ./no-such-command 2>"$T/err" ;;
	4) errand -q -- sh -c 'kill -9 $$' 2>"$T/err" ;;
	5) J=$(errand -d -- sleep 100) && errand kill "$J" 2>"$T/err" ;;
	*) errand -q -- true ;;
	esac
	errand receipt last -o "$T/r$i"
	errand verify "$T/r$i" --json >"$T/json" || bad="$bad $i:verify"
	[ "$(get previous)" = "$prev" ] || bad="$bad $i:previous"
	[ "$(get sequence)" = $i ] || bad="$bad $i:sequence"
	prev=$(field receipt.digest)
done
is "$bad" '' 'each receipt names the one before, whatever became of the job'
errand verify "$T/r3" --json >"$T/json"
is "$(get ran) $(get exit_code)" 'false null' 'one of a command that was not found says so'
errand verify "$T/r4" --json >"$T/json"
is "$(get signal)" 9 'one of a death by signal too'
stop_daemon
run_daemon
errand -q -- true
errand receipt last --json >"$T/json"
is "$(get sequence) $(get previous)" "7 $prev" 'the chain goes on after a restart'
J=$(errand -d -- sleep 100)
run errand receipt "$J"
is "$rc" 1 'a job that has not ended has no receipt yet'
errand kill -f "$J" 2>/dev/null

done_testing
