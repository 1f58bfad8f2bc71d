#!/bin/sh
# Workers are killed at random while clients submit job after job: what was
# acknowledged is there and has ended, no job has run twice, and errandd is the
# same process with no more descriptors and no more memory than before.
# ERRAND_KILL_SECONDS is how long; ERRAND_TEST_SEED draws the same workers.
# A counter outside the jobs (tools/kill_counter) counts what runs.
# shellcheck disable=SC2154

. "$(dirname "$0")/../lib.sh"
need_root
need_program python3

LIMIT=60
seconds=${ERRAND_KILL_SECONDS:-60}
seed=${ERRAND_TEST_SEED:-$(date +%s)}
diag "seed $seed"
mkdir "$T/count" "$T/empty"

"$BUILD/tests/tools/kill_counter" "$T/count" >"$T/port" &
counter=$!
trap 'kill "$counter" 2>/dev/null; cleanup' EXIT
wait_for $LIMIT test -s "$T/port" || { diag "no counter"; exit 1; }
port=$(cat "$T/port")

base=$((1920000000 + $$ % 10000 * 10000))
start_daemon 'slots = 4' "tenant_uids = \"$base-$((base + 999))\"" \
    "worker_uids = \"$((base + 1000))-$((base + 1255))\""
errandctl tenant add alpha --uid 0 --net host >/dev/null ||
    { diag "no tenant"; exit 1; }

# status_of NAME: a number that errandctl status prints before ${NAME}
status_of() { sed -n "s/.* \([0-9]*\) $1[,;].*/\1/p" "$T/status"; }

# errandd's descriptors, but for those of the prepared sandboxes: how many of
# these there are depends on how busy its tenants were.
FDS_SANDBOX=8
fds() {
	errandctl status >"$T/status" || return 1
	echo $(($(find "/proc/$daemon_pid/fd" -mindepth 1 | wc -l) -
	    FDS_SANDBOX * $(status_of ready)))
}
memory() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$daemon_pid/status"; }

# No job runs or waits, and nothing is being made ready for the next.
steady() {
	steady_was=$(fds)
	sleep 1
	grep -q '^jobs *0 running of .*, 0 queued' "$T/status" &&
	    [ "$(status_of 'being made')" -eq 0 ] && [ "$(fds)" -eq "$steady_was" ]
}

# submit NAME: prints the job's id once it was acknowledged
submit() {
	# shellcheck disable=SC2016
	timeout -k 5 30 "$BIN/errand" run -d --id "$1" --no-snapshot --net host \
	    -- bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1"; echo "$2" >&3; sleep 0.1' \
	    - "$port" "$1" 2>>"$T/client.err" </dev/null
}

# client N: job after job, each tried again under its own id
client() {
	i=0
	while [ ! -e "$T/stop" ]; do
		i=$((i + 1))
		for try in 1 2 3; do
			job=$(submit "c$1-$i") && {
				echo "c$1-$i $job" >>"$T/acked.$1"
				break
			}
			[ "$try" -lt 3 ] || echo "c$1-$i" >>"$T/refused.$1"
		done
	done
}

# load N...: these clients; load_end: and no more
load() {
	loops=
	rm -f "$T/stop"
	for c; do
		client "$c" &
		loops="$loops $!"
	done
}

load_end() {
	: >"$T/stop"
	# shellcheck disable=SC2086
	wait $loops
}

# killer: a worker of some kind, now and then
killer() {
	python3 - "$daemon_pid" "$seconds" "$seed" <<-'END'
	import os, random, signal, subprocess, sys, time
	daemon, seconds, rng = sys.argv[1], float(sys.argv[2]), random.Random(int(sys.argv[3]))
	end, kills = time.monotonic() + seconds, 0
	while time.monotonic() < end:
	    role = rng.choice(["store", "exec", "snapshot", "snapshot"])
	    pids = subprocess.run(["pgrep", "-P", daemon, "-x", "errand-" + role],
	                          capture_output=True, text=True).stdout.split()
	    if pids:
	        try:
	            os.kill(int(rng.choice(pids)), signal.SIGKILL)
	            kills += 1
	        except ProcessLookupError:
	            pass
	    time.sleep(rng.uniform(0.3, 1.2))
	print(kills)
	END
}

cd "$T/empty" || exit 1
plan 6
# All that is kept ready for such a load is made before anything is compared.
load 4 5 6
sleep 3
load_end
wait_for $LIMIT steady || diag "still busy: $(cat "$T/status")"
fds_before=$(fds) memory_before=$(memory) pid_before=$daemon_pid
load 1 2 3
kills=$(killer)
load_end
cat "$T"/acked.* >"$T/acked"
diag "$kills workers killed, $(wc -l <"$T/acked") jobs acknowledged," \
    "$(cat "$T"/refused.* 2>/dev/null | wc -l) refused three times"

check "errandd is still there" kill -0 "$pid_before"
check "it takes a job at once" wait_for $LIMIT submit last

# state_of JOB: from the list of all, which is made once; else asked for
state_of() {
	state=$(sed -n "s/^$1 //p" "$T/states")
	[ -n "$state" ] || state=$(timeout 20 "$BIN/errand" status "$1" --json |
	    sed -n 's/.*"state":"\([a-z]*\)".*/\1/p' | head -n 1)
}
all_ended() {
	timeout 30 "$BIN/errand" ps -a -n 1000 --json >"$T/ps" || return 1
	sed -n 's/.*"id":"\([a-z2-7]*\)".*"state":"\([a-z]*\)".*/\1 \2/p' "$T/ps" \
	    >"$T/states"
	[ -s "$T/states" ] && ! grep -Evq ' (exited|failed|lost|killed)$' "$T/states"
}
wait_for $LIMIT all_ended || diag "not all jobs end"
lost=0 missed=0 ran=0
while read -r name job; do
	state_of "$job"
	case $state in
	exited|failed|lost|killed)
		;;
	*)
		lost=$((lost + 1))
		diag "$name ($job) is not there, or has not ended: $state"
		continue
		;;
	esac
	n=$(grep -cxF "$name" "$T/count/count")
	ran=$((ran + n))
	[ "$state" != exited ] || [ "$n" -eq 1 ] || {
		missed=$((missed + 1))
		diag "$name ($job) exited and was counted $n times"
	}
done <"$T/acked"
is "$lost" 0 "every acknowledged job is there and has ended"
is "$missed" 0 "whatever exited has run"
is "$(sort "$T/count/count" | uniq -d)" "" "no job has run twice"
diag "$ran jobs ran; descriptors $fds_before, then $(fds);" \
    "memory $memory_before KiB, then $(memory)"

settled_down() {
	[ "$(fds)" -le $((fds_before + 8)) ] &&
	    [ "$(memory)" -le $((memory_before + 8192)) ]
}
check "errandd has no more descriptors and memory than before" \
    wait_for $LIMIT settled_down
done_testing
