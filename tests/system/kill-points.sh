#!/bin/sh
# Each worker is killed at each point of a job's life.
#
# WORKER    POINT       EXIT  STATE   COUNT  WHY
# snapshot  upload      7     exited  1      the client connects again and sends
#                                            again: nothing was promised yet
# snapshot  publish     7     exited  1      the job is made although nobody
#                                            waits for it; asked again under the
#                                            same id, the answer is that job
# snapshot  start       7     exited  1      the client attaches to its job
# snapshot  running     7     exited  1      the same, and no output is lost or
#                                            shown twice
# snapshot  collecting  7     exited  1      the same
# snapshot  reply       7     exited  1      the result is asked for again
# store     upload      7     exited  1      as snapshot upload
# store     publish     7     exited  1      the outcome was unknown, so the job
#                                            was not started; asked again, it is
# store     running     7     exited  1      the job gets a channel to the next
#                                            store and knows nothing of it
# store     collecting  7     exited  1      the changes are collected again
# store     settle      7     either  1      what the job changed was durable
#                                            already (exited), or is lost with
#                                            the store and that is said (failed)
# exec      upload      7     exited  1      a later errand-exec runs it
# exec      publish     120   failed  0      it was to run in a sandbox that is
# exec      start       120   failed  0      gone, and is not tried again
# exec      running     120   failed  1      its processes are killed
# exec      collecting  120   failed  1      it ran; how it ended is not known
# keeper    start       120   failed  0      as exec, but for errand-exec itself
# keeper    running     120   failed  1
# keeper    collecting  120   failed  1
# keeper    reply       7     exited  1      what it had to say has arrived
# errandd   running     120   lost    1      the next daemon settles it as lost
#
# upload:     the store took a part of the tree, the client is still sending
# publish:    the record is on its way to the store, which has not seen it
# start:      the record is durable, the command was not executed
# collecting: the command has ended, the store was asked to keep its changes
# settle:     the result is at errandd, the record on its way to the store
# reply:      the result is there, who should pass it on has not seen it
#
# A point is reached by stopping (SIGSTOP) who would go on, and by looking until
# the message that leads there has arrived (tools/kill_peek).  COUNT is what a
# server outside has counted (tools/kill_counter).
# shellcheck disable=SC2154

. "$(dirname "$0")/../lib.sh"
need_root

LIMIT=30                # seconds to wait for anything
TOOLS=$BUILD/tests/tools

mkdir "$T/count" "$T/small" "$T/large"
# shellcheck disable=SC2016
printf '%s\n' 'echo one' 'exec 3<>"/dev/tcp/127.0.0.1/$1"' 'echo "$2" >&3' \
    'read -r go <&3' 'echo two' 'mkdir made' \
    'for i in 1 2 3 4 5 6 7 8 9; do echo "$i" >"made/$i"; done' 'exit 7' \
    >"$T/small/job"
cp "$T/small/job" "$T/large/job"

"$TOOLS/kill_counter" "$T/count" >"$T/port" &
counter=$!
trap 'kill "$counter" 2>/dev/null; cleanup' EXIT
wait_for $LIMIT test -s "$T/port" || { diag "no counter"; exit 1; }
port=$(cat "$T/port")

# Ids of its own: processes are found by them.
base=$((1900000000 + $$ % 10000 * 10000))
# Each job makes its own sandbox here; those that are ready are in pool.sh.
start_daemon 'slots = 4' 'idle_sandboxes = 0' "tenant_uids = \"$base-$((base + 999))\"" \
    "worker_uids = \"$((base + 1000))-$((base + 1255))\""
errandctl tenant add alpha --uid 0 --net host >/dev/null ||
    { diag "no tenant"; exit 1; }

# --- what can be seen from outside ---

# field NAME <JSON: the first string, number or word of that name
field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1
}

tenant_uid=$(errandctl --json tenant show alpha | field host_uid)

# role_pid ROLE: from the process table, for it must not wait for anybody
role_pid() { pgrep -P "$daemon_pid" -x "errand-$1"; }

# restarts ROLE: as errandctl tells it
restarts() {
	errandctl --json status | tr '{' '\n' |
	    grep "\"role\":\"$1\"" | field restarts
}

sockets() { find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null | wc -l; }

# The one worker that has more than its channel: a client.
serving() {
	for w in $(role_pid snapshot); do
		[ "$(sockets "$w")" -lt 2 ] || { echo "$w"; return 0; }
	done
	return 1
}

# bound: it has the store's channel too
bound() { w=$(serving) && [ "$(sockets "$w")" -ge 3 ]; }

nobody_serving() { ! serving; }
keeper_pid() { pgrep -P "$(role_pid exec)" | head -n 1; }
peek() { "$TOOLS/kill_peek" "$1" "$2" >/dev/null; }
count() { grep -cxF "$1" "$T/count/count"; }
counted() { [ "$(count "$1")" -ge 1 ]; }
stopped() { case $(cat "/proc/$1/stat") in *") T "*) ;; *) false ;; esac; }
accepted() { grep -q '^errand: job [0-9a-z]* on ' "$T/err"; }
store_size() { du -s --apparent-size -B1 "$T/state/store" | cut -f 1; }
store_grew() { [ "$(store_size)" -gt $((size_before + 1048576)) ]; }
idle_ready() { [ "$(role_pid snapshot | wc -l)" -ge 2 ]; }

# job_state: of this case's job, as another connection is told
job_state() { errand status "$name" --json | field state; }
in_state() { [ "$(job_state)" = "$1" ]; }

stop() {
	kill -STOP "$1"
	wait_for $LIMIT stopped "$1" || not_ok "$name: stop $1"
}
cont() { kill -CONT "$1"; }

# reach WHAT COMMAND...: a point that must be reached, or the case is void
reach() {
	reach_what=$1
	shift
	wait_for $LIMIT "$@" && return 0
	not_ok "$name: reached: $reach_what"
	return 1
}

# --- one case ---

# begin NAME TREE: a client, in the background; large is one that takes a while
begin() {
	name=$1
	[ "$2" != large ] || dd if=/dev/urandom of="$T/large/data" bs=1M \
	    count=96 2>/dev/null
	size_before=$(store_size)
	store=$(role_pid store) exec=$(role_pid exec)
	store_restarts=$(restarts store) exec_restarts=$(restarts exec)
	wait_for $LIMIT nobody_serving
	wait_for $LIMIT idle_ready
	"$BIN/errand" run --include-all -C "$T/$2" --net host --name "$name" \
	    -- bash ./job "$port" "$name" >"$T/out" 2>"$T/err" </dev/null &
	client=$!
}

release() { : >"$T/count/$name.go"; }

# The job runs and waits to be released.
begin_running() {
	begin "$1" small
	reach "the job runs" counted "$name"
}

left() {
	pgrep -u "$tenant_uid" && return 0
	[ -z "$job" ] || find /sys/fs/cgroup -type d -name "$job" | grep . &&
	    return 0
	find "$T/state/run/$tenant_uid/jobs" -mindepth 1 2>/dev/null | grep .
}
nothing_left() { ! left; }
client_done() { gone "$client" || ! [ -e "/proc/$client/exe" ]; }

# finish EXIT STATE COUNT MESSAGE: the client's end and everything around it
finish() {
	wait_for 60 client_done || kill -9 "$client"
	wait "$client"
	is $? "$1" "$name: exit code"
	if ! errand status "$name" --json >"$T/json" 2>&1; then
		cat "$T/json" >>"$T/err"
	fi
	job=$(field id <"$T/json")
	state=$(field state <"$T/json")
	like "$state" "^($2)$" "$name: state"
	case "|$2|" in *"|$state|"*) ;; *) diag "$(cat "$T/json")" ;; esac
	like "$(cat "$T/err")" "$4" "$name: what the client says"
	is "$(count "$name")" "$3" "$name: how often it ran"
	check "$name: errandd is the same" test -e "/proc/$daemon_pid/exe"
	check "$name: nothing is left" wait_for $LIMIT nothing_left
	left >"$T/left" && diag "left: $(head -n 5 "$T/left")"
	check "$name: the next job works" timeout $LIMIT \
	    "$BIN/errand" run -q --no-snapshot -- true
	case $1 in
	7) is "$(cat "$T/out")" "one
two" "$name: output" ;;
	esac
}

# reason CODE: why it failed
reason() { like "$(cat "$T/json")" "\"reason\":\{\"code\":\"$1\"" \
    "$name: reason"; }

# unknown RAN WORDS: its end is not known, and nobody says that it is
unknown() {
	is "$("$BUILD/tests/system/jget" ran <"$T/json") $("$BUILD/tests/system/jget" exit_code <"$T/json")" "$1 null" \
	    "$name: what is not known is null"
	like "$(errand status "$name")" "^result .*$2" "$name: status"
	errand receipt "$name" -o "$T/receipt"
	like "$(errand verify "$T/receipt")" "$2" "$name: verify"
}

# changed: everything that the job made is there
changed() {
	is "$(errand diff "$name" | grep -c '^A made/[1-9]$')" 9 \
	    "$name: its changes"
}

reason_none() { like "$(cat "$T/json")" '"reason":null' "$name: reason"; }

# replaced ROLE OLD RESTARTS: there is a new one, and it was counted
replaced() {
	new=$(role_pid "$1")
	if [ -n "$new" ] && [ "$new" != "$2" ]; then
		ok "$name: errand-$1 was replaced"
	else
		not_ok "$name: errand-$1 was replaced"
	fi
	is "$(restarts "$1")" $(($3 + 1)) "$name: and that was counted"
}
store_replaced() { replaced store "$store" "$store_restarts"; }
exec_replaced() { replaced exec "$exec" "$exec_restarts"; }
exec_kept() { is "$(role_pid exec)" "$exec" "$name: errand-exec is the same"; }
worker_gone() { check "$name: the worker has gone" gone "$snapshot"; }
again='the connection was lost'

# --- points ---

# The store has a part of the tree: stop it, so that it stays a part.
at_upload() {
	begin "$1" large
	reach "a part was uploaded" store_grew
	stop "$store"
	snapshot=$(serving)
	is "$(count "$name"):$(grep -c ' on ' "$T/err")" 0:0 \
	    "$name: nothing was accepted yet"
	release
}

# The worker has asked errandd for a job, errandd has asked the store for its
# record, and exec for its sandbox; the store has not looked.
at_publish() {
	begin "$1" large
	reach "the client is bound" bound
	stop "$daemon_pid"
	snapshot=$(serving)
	reach "errandd was asked" peek "$daemon_pid" 100
	stop "$store"
	cont "$daemon_pid"
	reach "the store was asked" peek "$store" 200
	release
}

at_start() {
	exec_now=$(role_pid exec)
	stop "$exec_now"
	begin "$1" small
	reach "the client knows its job" accepted
	reach "exec was asked" peek "$exec_now" 20
	snapshot=$(serving)
	release
}

at_running() {
	begin_running "$1"
	snapshot=$(serving)
	keeper=$(keeper_pid)
}

# The keeper wants to put what the job changed; the store has not looked.
at_collecting() {
	at_running "$1"
	stop "$store"
	release
	reach "the store was asked" peek "$store" 1
}

# The result is with errandd, which has not looked.
at_result() {
	at_running "$1"
	stop "$daemon_pid"
	release
	reach "errandd was told" peek "$daemon_pid" 100
}

# --- errand-snapshot ---

at_upload snapshot-upload
kill -9 "$snapshot"
cont "$store"
finish 7 exited 1 "^errand: job .* exited 7"
worker_gone

at_publish snapshot-publish
kill -9 "$snapshot"
wait_for $LIMIT gone "$snapshot"
cont "$store"
finish 7 exited 1 "^errand: job .* exited 7"
worker_gone

at_start snapshot-start
kill -9 "$snapshot"
wait_for $LIMIT gone "$snapshot"
cont "$exec"
finish 7 exited 1 "$again"
worker_gone

at_running snapshot-running
kill -9 "$snapshot"
wait_for $LIMIT gone "$snapshot"
release
finish 7 exited 1 "$again"
worker_gone

at_collecting snapshot-collecting
kill -9 "$snapshot"
wait_for $LIMIT gone "$snapshot"
cont "$store"
finish 7 exited 1 "$again"
worker_gone

at_running snapshot-reply
stop "$snapshot"
release
reach "the job is settled" in_state exited
kill -9 "$snapshot"
finish 7 exited 1 "$again"
worker_gone

# --- errand-store ---

at_upload store-upload
kill -9 "$store"
finish 7 exited 1 "^errand: job .* exited 7"
store_replaced

at_publish store-publish
kill -9 "$store"
finish 7 exited 1 "^errand: job .* exited 7"
store_replaced

at_running store-running
kill -9 "$store"
wait_for $LIMIT gone "$store"
release
finish 7 exited 1 "^errand: job .* exited 7"
changed
store_replaced

at_collecting store-collecting
kill -9 "$store"
finish 7 exited 1 "^errand: job .* exited 7"
changed
store_replaced

at_result store-settle
stop "$store"
cont "$daemon_pid"
reach "the store was asked" peek "$store" 200
kill -9 "$store"
finish 7 'exited|failed' 1 "^errand: job .* exited 7"
if [ "$state" = failed ]; then
	reason worker_lost
	like "$(cat "$T/err")" 'before the job.s changes were durable' \
	    "$name: and it is said"
else
	reason_none
	changed
fi
store_replaced

# --- errand-exec and a job's keeper ---

at_upload exec-upload
kill -9 "$exec"
wait_for $LIMIT gone "$exec"
cont "$store"
finish 7 exited 1 "^errand: job .* exited 7"
exec_replaced

at_publish exec-publish
kill -9 "$exec"
wait_for $LIMIT gone "$exec"
cont "$store"
finish 120 failed 0 'sandbox'
reason worker_lost
exec_replaced

at_start exec-start
kill -9 "$exec"
finish 120 failed 0 'sandbox'
reason worker_lost
exec_replaced

at_running exec-running
kill -9 "$exec"
finish 120 failed 1 'sandbox'
reason worker_lost
exec_replaced

at_collecting exec-collecting
kill -9 "$exec"
wait_for $LIMIT gone "$exec"
cont "$store"
finish 120 failed 1 'sandbox'
reason worker_lost
exec_replaced

at_publish keeper-start
reach "there is a keeper" keeper_pid
kill -9 "$(keeper_pid)"
cont "$store"
finish 120 failed 0 'sandbox'
reason worker_lost
exec_kept

at_running keeper-running
kill -9 "$keeper"
finish 120 failed 1 'kept its sandbox'
reason worker_lost
unknown true 'not known'
like "$(cat "$T/err")" 'job .* was lost, how it ended is not known' \
    "$name: the client too"
exec_kept

at_collecting keeper-collecting
kill -9 "$keeper"
wait_for $LIMIT gone "$keeper"
cont "$store"
finish 120 failed 1 'kept its sandbox'
reason worker_lost
exec_kept

# It may have ended by itself: what matters is that errandd looks afterwards.
at_result keeper-reply
kill -9 "$keeper" 2>/dev/null
cont "$daemon_pid"
finish 7 exited 1 "^errand: job .* exited 7"
exec_kept

# --- errandd itself ---

at_running errandd-running
kill -9 "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
old=$daemon_pid
group_gone() { ! pgrep -g "$old"; }
check "$name: its workers end with it" wait_for $LIMIT group_gone
run_daemon
release
finish 120 lost 1 'lost|not known'
reason worker_lost
unknown null 'whether it ran'

done_testing
