#!/bin/sh
# Row "errand-store" of the table of processes, once more: the real store, with
# a stand-in before it that changes what it answers.  What errandd can see
# through ends the store; what others get is refused by them, and no reader
# takes another's bytes for its own.

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/hostile/stand-in.sh"
need_root
need_program setpriv timeout

workers_make store
start_daemon

killed='store\[[0-9]+\]: broke the protocol of its channel; it is killed'
mkdir "$T/alice"
echo 'of alice' >"$T/alice/file"
: >"$T/alice/.errandignore"
chown -R $ALICE "$T/alice"

# Bytes that are on the host before the store lies, so that they are read.
alice_cat() {
	(cd "$T/alice" && as_uid $ALICE timeout 25 "$BIN/errand" run \
	    -C "$T/alice" -- cat file) >"$T/cat.out" 2>"$T/cat.err"
}

relay() {
	again
	replace store "relay $1"
	wait_for 10 has_pid store
}

# --- errandd's own channel ---

bob_start || { not_ok "bob's job starts"; done_testing; }
replace store 'relay s-id'
saw 'answers with other ids: killed' "$killed"
works 'answers with other ids'
bob_ends 'answers with other ids'

for s in s-op s-twice; do
	relay $s
	status >/dev/null
	saw "$s: killed" "$killed"
	alive $s
	works $s
done

# A SETTLE whose answer is lost makes errandd ask where the chain ends.  If it
# went back, there would be two receipts of one number.
works 'before the chain goes back'
replace store 'relay s-stop SETTLE'
alice run --no-snapshot -- true >"$T/head.out" 2>"$T/head.err" &
head_waits=$!
saw 'a SETTLE is swallowed' 'request 4 is kept'
replace store 'relay s-head'
saw 'the chain of receipts went back: seen' 'chain of receipts went back'
wait "$head_waits"
is $? 120 'and its job is not signed upon it'
real store
end_of store
works 'the chain goes on'

# One whose SETTLE was carried out is not settled twice.
again
replace store 'relay s-drop SETTLE'
alice run --no-snapshot -- sh -c 'exit 4' >"$T/drop.out" 2>"$T/drop.err" &
drop_waits=$!
saw 'the answer to a SETTLE is lost' 'answer to 4 is thrown away'
real store
end_of store
wait "$drop_waits"
is $? 4 'its job ended as it did'
never 'and has one receipt' 'given up|not settled yet.*another receipt'

# Another tenant's job is not alice's, whatever the store says.
rm -f "$T/bob.rc" "$T/bob.out"
again
bob_start
replace store "relay s-existed $bob_job"
alice run --no-snapshot -- true >"$T/existed.out" 2>"$T/existed.err"
existed_rc=$?
like $existed_rc '^(120|1)$' "a submission that \"existed\" as bob's job fails"
cannot "and shows nothing of it" grep -q up "$T/existed.out"
saw "the store that says so: killed" "another tenant's job; it is killed"
real store
bob_ends "it existed as bob's"

# --- channels of connection workers and keepers ---

for s in t-id t-twice t-garbage t-record; do
	relay "$s aaaaaaaaaaaaaaaa"
	mark
	alice ps -a --json >"$T/ps.out" 2>"$T/ps.err"
	alice run --no-snapshot -- true >"$T/lie.out" 2>>"$T/ps.err"
	like $? '^(120|0)$' "$s: the client is told, or unharmed"
	alice status last --json >"$T/st.out" 2>&1
	cannot "$s: no record of another is taken for it" \
	    grep -q aaaaaaaaaaaaaaaa "$T/st.out"
	alive $s
	real store
	end_of store
	works $s
done

for s in t-flip t-unsealed; do
	relay $s
	alice_cat
	is "$? $(cat "$T/cat.out")" '120 ' "$s: nothing is run on such bytes"
	saw "$s: it was tried" 'a byte is changed or could be'
	alive $s
	real store
	end_of store
	works $s
	alice_cat
	is "$? $(cat "$T/cat.out")" '0 of alice' "$s: and all is whole after it"
	echo "of alice, $s" >>"$T/alice/file"
	echo 'of alice' >"$T/alice/file"
done
done_testing
