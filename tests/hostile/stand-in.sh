# shellcheck shell=sh
# What the tests with stand-ins share, after lib.sh: a private copy of the
# worker directory, in which a worker's program can be replaced by a stand-in
# (tests/hostile/), and what must hold whatever a stand-in does.

WORKERS=$T/workers
ALICE=64101
BOB=64102
log_mark=0

# Workers come from the copy; one warm connection worker and, unless a test says
# otherwise, no warm sandbox, so that a test knows whose turn it is.
IDLE_SANDBOXES=0
daemon_conf() {
	cat <<-END
	state_dir = "$T/state"
	run_dir = "$T/run"
	worker_dir = "$WORKERS"
	local_tenants = "auto"
	idle_workers = 1
	idle_sandboxes = $IDLE_SANDBOXES
	slots = 16
	defaults { slots = 8 }
	END
}

# workers_make ROLE...: the copy, all of it real; these will be replaced
workers_make() {
	for w; do
		[ -x "$BUILD/tests/hostile/$w" ] ||
		    skip_all "tests/hostile/$w is not built (make tests)"
	done
	mkdir -m 755 "$WORKERS"
	for w in snapshot exec store; do
		ln -s "$BIN/errand-$w" "$WORKERS/errand-$w.real"
		real "$w"
	done
}

# real ROLE, stand_in ROLE: which program takes that place from now on
real() {
	rm -f "$WORKERS/errand-$1.scenario"
	ln -sf "$BIN/errand-$1" "$WORKERS/errand-$1"
}

stand_in() {
	cp "$BUILD/tests/hostile/$1" "$WORKERS/errand-$1.new"
	mv "$WORKERS/errand-$1.new" "$WORKERS/errand-$1"
}

# scenario ROLE TEXT: what the next stand-in that starts plays
scenario() {
	printf '%s\n' "$2" >"$WORKERS/scenario.new"
	mv "$WORKERS/scenario.new" "$WORKERS/errand-$1.scenario"
}

taken() { [ ! -e "$WORKERS/errand-$1.scenario" ]; }

# The daemon's log from a point on.
mark() { log_mark=$(wc -l <"$T/errandd.log"); }
log_part() { tail -n "+$((log_mark + 1))" "$T/errandd.log"; }
logged() { log_part | grep -Eq -e "$1"; }

# saw TEXT PATTERN [SECONDS]: it is logged after the mark, soon
saw() {
	if wait_for "${3:-15}" logged "$2"; then
		ok "$1"
	else
		not_ok "$1"
		diag "not logged: /$2/"
		diag "$(log_part | tail -n 12)"
	fi
}

# never TEXT PATTERN: it was not logged after the mark
never() {
	if logged "$2"; then
		not_ok "$1"
		diag "$(log_part | grep -E -e "$2")"
	else
		ok "$1"
	fi
}

status() { timeout 5 "$BIN/errandctl" -s "$CONTROL" "$@" status; }
# shellcheck disable=SC2154 # daemon_pid is lib.sh's
status_ok() { ! gone "$daemon_pid" && status; }

# alive TEXT: the daemon is the one that was started, and answers
# shellcheck disable=SC2154
alive() {
	if ! gone "$daemon_pid" && wait_for 15 status_ok; then
		ok "$1: errandd answers"
	else
		not_ok "$1: errandd answers"
		diag "$(log_part | tail -n 12)"
	fi
}

# pid_of ROLE: of its worker, nothing if none runs
pid_of() {
	status --json | tr -d ' \n' | tr '{' '\n' |
	    grep -e "\"role\":\"$1\"" |
	    sed -n 's/.*"pid":\([1-9][0-9]*\).*/\1/p' | head -n 1
}

has_pid() { role_pid=$(pid_of "$1") && [ -n "$role_pid" ]; }

# end_of ROLE: SIGKILL to its worker, once there is one
end_of() {
	wait_for 10 has_pid "$1" && kill -s KILL "$role_pid"
}

# warm N: errandd has N connection workers, all of them behind their fences:
# those that serve, and the one that waits
# shellcheck disable=SC2013,SC2154
warm() {
	warm_n=0
	for warm_s in $(grep -ls "^PPid:[[:space:]]*$daemon_pid\$" \
	    /proc/[0-9]*/status); do
		tr '\0' ' ' <"${warm_s%status}cmdline" 2>/dev/null |
		    grep -q errand-snapshot || continue
		grep -qs '^Seccomp:[[:space:]]*2' "$warm_s" || return 1
		warm_n=$((warm_n + 1))
	done
	[ "$warm_n" -eq "$1" ]
}

# kilobytes resident in errandd
rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$daemon_pid/status"; }

# steady BEFORE TEXT: it has not grown by more than 24 MiB since BEFORE: three
# full queues of a channel (8 MiB each), since what a flood fills is a queue.
steady() {
	rss_now=$(rss)
	if [ "$((rss_now - $1))" -le 24576 ]; then
		ok "$2: memory stays bounded"
	else
		not_ok "$2: memory stays bounded"
		diag "from $1 kB to $rss_now kB"
	fi
}

# replace ROLE SCENARIO: the worker of that role ends; a stand-in follows it
replace() {
	mark
	scenario "$1" "$2"
	stand_in "$1"
	end_of "$1"
	wait_for 5 taken "$1" || diag "$2: nobody plays"
}

# again: a fresh daemon, whose back-off begins anew; the state is kept
again() {
	stop_daemon
	: >"$T/errandd.log"
	mark
	for w in snapshot exec store; do real "$w"; done
	run_daemon
}

# works TEXT: with the real ones in place again, a job of alice's runs
works() {
	for works_try in 1 2 3 4 5 6 7 8; do
		alice run --no-snapshot -- sh -c 'echo alice runs; exit 3' \
		    >"$T/works.out" 2>"$T/works.err"
		works_rc=$?
		[ "$works_rc" -eq 3 ] && break
		sleep 0.5
	done
	is "$works_rc $(cat "$T/works.out")" '3 alice runs' \
	    "$1: a job runs with the real one back (try $works_try)"
	[ "$works_rc" -eq 3 ] || diag "$(cat "$T/works.err")"
}

alice() { as_uid $ALICE timeout 20 "$BIN/errand" "$@"; }
bob() { as_uid $BOB timeout 20 "$BIN/errand" "$@"; }

# A job of bob's, running while others misbehave.  It ends with 7 when told.
# shellcheck disable=SC2016
bob_start() {
	mkdir -p "$T/bob"
	echo "bob's own" >"$T/bob/secret"
	: >"$T/bob/.errandignore"
	chown -R $BOB "$T/bob"
	(cd "$T/bob" && as_uid $BOB timeout 120 "$BIN/errand" run \
	    -C "$T/bob" -- sh -c 'trap "echo told; exit 7" USR1; echo up
		while :; do sleep 0.05; done' \
	    >"$T/bob.out" 2>"$T/bob.err"; echo $? >"$T/bob.rc") &
	bob_waits=$!
	if ! wait_for 20 grep -q up "$T/bob.out"; then
		diag "bob's job did not start: $(cat "$T/bob.err")"
		return 1
	fi
	bob_job=$(bob ps --json | tr -d ' \n' |
	    sed -n 's/.*"id":"\([a-z2-7]*\)".*/\1/p')
	bob_root=$(bob status --json "$bob_job" | tr -d ' \n' |
	    sed -n 's/.*"tree":{"root":"\([^"]*\)".*/\1/p')
	bob_root=${bob_root##*:}
	export bob_job bob_root
}

# bob_ends TEXT: his job still runs, and ends as it should
bob_ends() {
	if [ -e "$T/bob.rc" ]; then
		not_ok "$1: bob's job went on"
		diag "it ended with $(cat "$T/bob.rc"): $(cat "$T/bob.err")"
		not_ok "$1: bob's job ends with its own status"
		return
	fi
	ok "$1: bob's job went on"
	bob kill -s USR1 "$bob_job" >"$T/bob.kill" 2>&1
	wait_for 20 test -s "$T/bob.rc"
	is "$(cat "$T/bob.rc" 2>/dev/null) $(tail -n 1 "$T/bob.out")" \
	    "7 told" "$1: bob's job ends with its own status"
	wait "$bob_waits"
}
