#!/bin/sh
# The directories of errandd's own state last as long as what is in them.
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
need_root
need_program strace

plan 4
daemon_conf >"$T/errandd.conf"
setsid strace -D -y -qq -o "$T/trace" -e trace=mkdirat,fsync,renameat,openat \
    "$BIN/errandd" -d -f "$T/errandd.conf" >"$T/errandd.log" 2>&1 </dev/null &
daemon_pid=$!
check "a daemon starts in an empty directory" wait_for 30 daemon_up
mkdir "$T/tree"
(cd "$T/tree" && errand run --include-all -- true && grep -c 'fsync(.*/logs/' "$T/trace" >"$T/silent"
errand run --include-all -- echo words) >"$T/out" 2>&1 || diag "$(cat "$T/out")"
stop_daemon
is "$(cat "$T/silent")" 0 "a job that says nothing costs no flush of its log's name"

# Names of logs that nothing was flushed for, but one: that of the silent job.
logs=$(sed -n 's/^openat(.*O_CREAT.*<\([^>]*\.log\)>$/made \1/p
    s/^fsync([0-9]*<\([^>]*\/logs\/[^>]*\)>) *= 0/flushed/p' "$T/trace" | awk '
	$1 == "made" { n++; seen++ }
	$1 == "flushed" { n = 0; flushes++ }
	END { print seen + 0, n + 0, flushes + 0 }')
is "$logs" "2 0 1" "the names of logs are flushed, once for all that are new"

# What was made in a directory after the last flush of it.  Images of disks do
# not outlive their jobs, and of what is below run all can be made again.
unflushed=$(sed -n 's/^\(mkdirat\|renameat\)([0-9]*<\([^>]*\)>, "\([^"]*\)".* = 0$/made \2 \3/p
    s/^fsync([0-9]*<\([^>]*\)>) *= 0/flushed \1/p' "$T/trace" | awk -v top="$T/state" '
	$3 == "images" || index($2, top "/run") == 1 { next }
	$1 == "made" && index($2, top) == 1 { n[$2] = n[$2] " " $3; seen++ }
	$1 == "flushed" { delete n[$2] }
	END { for (d in n) print d ":" n[d]; if (!seen) print "nothing was made" }')
is "$unflushed" "" "directories with something new in them are flushed"
done_testing
