#!/bin/sh
# Trees that are too large for anybody: a million entries, a file of some
# exabytes.  They are collected or refused in bounded time and memory, what is
# not kept is said, and nothing of them stays.
# shellcheck disable=SC2016,SC2154

. "$(dirname "$0")/../lib.sh"

LIMIT=60
TOOLS=$BUILD/tests/tools
N=${ERRAND_TREE_ENTRIES:-1000000}

# A file system that has files of that size, and forgets them quickly.
mkdir "$T/fs" "$T/tree"
if [ "$(id -u)" -eq 0 ]; then
	mount -t tmpfs -o mode=755,size=4g,nr_inodes=2500000 none "$T/fs" || {
		skip 1 'needs a tmpfs'
		done_testing
		exit 0
	}
	trap 'stop_daemon; umount -l "$T/fs"; cleanup' EXIT
fi
cp "$TOOLS/job_syscalls" "$T/tree/"
cd "$T/tree" || exit 1
: >.errandignore
# daemon CHANGES: as many as a job may have
daemon() {
	start_daemon 'slots = 2' 'idle_sandboxes = 0' \
	    "state_dir = \"$T/fs/state\"" "defaults { changes = $1 }"
}
daemon $((N / 5))

field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$T/json" | head -n 1
}
# run ARGUMENT...: a job in the tree; sets rc and err
run() {
	timeout 250 "$BIN/errand" run "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	err=$(cat "$T/err")
	errand status last --json >"$T/json" 2>&1
}
swept() { [ -z "$(find "$T/fs/state/run" -path '*/jobs/*' 2>/dev/null | head -n 1)" ]; }
rss() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$daemon_pid/status"; }

# --- a million entries ---

run -- ./job_syscalls many $((N / 4))
is "$rc" 120 'more entries than a job may change'
like "$err" "there are more than $((N / 5)) changes" 'are said'
is "$(field complete):$(field limit)" 'false:changes' 'with the limit that it is'
check 'nothing of it stays' wait_for $LIMIT swept
stop_daemon
daemon $((N * 2))

begin=$(date +%s)
run -- ./job_syscalls many "$N"
diag "$N entries: $(($(date +%s) - begin)) s"
is "$rc:$(field complete)" 0:true 'all of them, where the limit allows it'
is "$(errand diff last | wc -l)" "$((N + (N + 999) / 1000))" 'each is in the list'
check 'nothing of it stays' wait_for $LIMIT swept
diag "errandd: $(rss) kB"
check 'errandd knows nothing of their number' test "$(rss)" -lt 100000

# --- exabytes ---

for size in 1E 7E; do
	begin=$(date +%s)
	run -- sh -c "truncate -s $size huge && echo y >y && stat -c %s huge"
	diag "$size: $(($(date +%s) - begin)) s; $err"
	if [ -s "$T/out" ]; then
		is "$rc" 0 "a file of $size: the job ends as it did"
		like "$(errand diff last)" '^A y$' 'what is beside it is kept'
	else
		skip 2 "needs a file system that has files of $size"
	fi
	check "$size: nothing stays" wait_for $LIMIT swept
done
run -- test -e .errandignore
is "$rc" 0 'the next job works'
done_testing
