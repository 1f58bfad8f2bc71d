#!/bin/sh
# Tenants do not see one another.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_root
need_program setpriv
start_daemon 'local_tenants = "off"'

check 'errandctl tenant add' errandctl tenant add alice --slots 2
check 'with a local user' errandctl tenant add bob --uid 4301
check 'another' errandctl tenant add carol --uid 4302 --net host
is "$(errandctl --json tenant list | "$TOOLS/jget" name | sort | tr '\n' ' ')" \
    'alice bob carol ' 'tenant list'
is "$(errandctl --json tenant show bob | "$TOOLS/jget" uids)" '[4301]' 'tenant show'
n=$(errandctl --json tenant list | "$TOOLS/jget" host_uid | sort -u | wc -l)
is "$n" 3 'each runs under a host uid of its own'
run errandctl tenant add dora --uid 4301
is "$rc" 1 'a uid in two tenants is refused'
like "$(cat "$T/err")" 'bob' 'naming the other one'
run errandctl tenant add bob
is "$rc" 1 'a name that is taken is refused'
run errandctl tenant add '../x'
is "$rc" 2 'a name with a path in it too'
run errandctl tenant show nobody-here
is "$rc" 1 'a tenant that is not there is 1'

a() { errand --tenant alice "$@"; }
b() { errand --tenant bob "$@"; }

# --- jobs ---

tree one
echo secret >f
is "$(a -q -- cat f) $(b -q -- cat f)" 'secret secret' 'root acts for either'
is "$(a status last --json | "$TOOLS/jget" tenant)" alice 'in its name'
A=$(a status last --json | "$TOOLS/jget" id)
B=$(b status last --json | "$TOOLS/jget" id)
is "$(b status last --json | "$TOOLS/jget" tree.shipped_bytes)" \
    "$(a status "$A" --json | "$TOOLS/jget" tree.shipped_bytes)" \
    'what one has uploaded, the other uploads too'
check 'and it is not nothing' \
    test "$(b status "$B" --json | "$TOOLS/jget" tree.shipped_bytes)" -gt 0
bad=
for c in status logs wait kill diff receipt attach; do
	run b $c "$A"
	[ "$rc" -eq 1 ] && grep -q 'no job' "$T/err" || bad="$bad $c"
done
is "$bad" '' 'nothing finds the job of another'
run b fetch "$A" -o "$T/x"
is "$rc" 1 'nor fetches it'
is "$(b ps -a --json | "$TOOLS/jget" id)" "$B" 'ps shows my own only'
J=$(a -d --name mine -- sleep 100)
K=$(b -d --name mine -- sleep 100)
is "$(a status mine --json | "$TOOLS/jget" id) $(b status mine --json | "$TOOLS/jget" id)" \
    "$J $K" 'labels are each tenant'\''s own'
wait_for 10 sh -c "'$BIN/errand' --tenant alice status $J --json | grep -q running"
run b kill -f "$J"
is "$(a status "$J" --json | "$TOOLS/jget" state)" running 'and one cannot kill the other'
a kill -f "$J" 2>/dev/null; b kill -f "$K" 2>/dev/null
a receipt "$A" -o "$T/ra"; b receipt "$B" -o "$T/rb"
is "$(errand verify "$T/ra" --json | "$TOOLS/jget" sequence) $(errand verify "$T/rb" --json | "$TOOLS/jget" sequence)" \
    '1 1' 'each has a chain of receipts of its own'
a -q -- sh -c 'echo s >/tmp/leak; echo s >/dev/shm/leak; echo s >/var/tmp/leak'
is "$(b -q -- sh -c 'ls /tmp /dev/shm /var/tmp | grep -c leak')" 0 \
    'nothing is left in shared places (TMP-A2)'
tree empty
: >empty
a -q -- sh -c 'chmod u+w empty; echo poison >empty'
: >e2
is "$(b -q -- sh -c 'wc -c <e2' | tr -d ' ')" 0 'what one writes, no other reads (CAS-A1)'
is "$(a -q -- sh -c 'wc -c <empty' | tr -d ' ')" 0 'nor its own next job'
if [ -x "$BUILD/tests/raw/raw" ]; then
	raw=$BUILD/tests/raw/raw
	got=$("$raw" -T alice "$SOCK" put 'top secret text of alice')
	id=$(printf '%s\n' "$got" | sed -n 's/^id 1 //p')
	like "$("$raw" -T alice "$SOCK" get 1 "$id")" 'data 1 3' 'alice gets an object by its id'
	like "$("$raw" -T bob "$SOCK" get 1 "$id")" 'reset 1 (missing|not_found)' \
	    'bob does not, though he knows it (CAS-A3)'
else
	skip 2 'no raw client'
fi

# --- who may ---

chmod 755 "$T/w"
tree users
chmod 777 .
run as_uid 4301 "$BIN/errand" -q --no-snapshot -- echo hi
is "$rc $(cat "$T/out")" '0 hi' 'a user of a tenant is that tenant'
run as_uid 4301 "$BIN/errand" ps -a --json
is "$("$TOOLS/jget" tenant <"$T/out" | sort -u)" bob 'and sees its jobs'
run as_uid 4301 "$BIN/errand" --tenant bob ps
is "$rc" 0 'it may say so'
run as_uid 4301 "$BIN/errand" --tenant alice ps
is "$rc" 1 'it may not act for another'
like "$(cat "$T/err")" 'only root' 'and is told who may'
run as_uid 4303 "$BIN/errand" -q --no-snapshot -- true
is "$rc" 120 'a user of no tenant is refused'
like "$(cat "$T/err")" 'errandctl tenant add' 'and told how to mend it'
run errand --tenant nobody-here ps
is "$rc" 1 'a tenant that is not there is refused'
run as_uid 4301 "$BIN/errandctl" -s "$CONTROL" status
is "$rc" 1 'operators only on the control socket'
run as_uid 4301 "$BIN/errand" -q --no-snapshot --net host -- true
is "$rc" 120 'the network is only for who was given it'
like "$(cat "$T/err")" 'net' 'and the refusal says so'
run as_uid 4302 "$BIN/errand" -q --no-snapshot --net host -- true
is "$rc" 0 'as carol was'

# --- what stays ---

stop_daemon
run_daemon
is "$(errandctl --json tenant list | "$TOOLS/jget" name | sort | tr '\n' ' ')" \
    'alice bob carol ' 'tenants are there after a restart'
is "$(a ps -a --json | "$TOOLS/jget" tenant | sort -u)" alice 'with their jobs'
stop_daemon
start_daemon
run as_uid 4303 "$BIN/errand" -q --no-snapshot -- echo hi
is "$rc $(cat "$T/out")" '0 hi' 'local_tenants = auto makes a tenant of a user'
like "$(errandctl --json tenant list | "$TOOLS/jget" automatic | tr '\n' ' ')" true \
    'and says that it did'

done_testing
