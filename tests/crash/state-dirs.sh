#!/bin/sh
# The directories of errandd's own state last as long as what is in them.
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
need_root
need_program strace

plan 2
daemon_conf >"$T/errandd.conf"
setsid strace -D -y -qq -o "$T/trace" -e trace=mkdirat,fsync,renameat \
    "$BIN/errandd" -d -f "$T/errandd.conf" >"$T/errandd.log" 2>&1 </dev/null &
daemon_pid=$!
check "a daemon starts in an empty directory" wait_for 30 daemon_up
stop_daemon

# What was made in a directory after the last flush of it.  Images of disks do
# not outlive their jobs.
unflushed=$(sed -n 's/^\(mkdirat\|renameat\)([0-9]*<\([^>]*\)>, "\([^"]*\)".*/made \2 \3/p
    s/^fsync([0-9]*<\([^>]*\)>) *= 0/flushed \1/p' "$T/trace" | awk -v top="$T/state" '
	$3 == "images" { next }
	$1 == "made" && index($2, top) == 1 { n[$2] = n[$2] " " $3; seen++ }
	$1 == "flushed" { delete n[$2] }
	END { for (d in n) print d ":" n[d]; if (!seen) print "nothing was made" }')
is "$unflushed" "" "directories with something new in them are flushed"
done_testing
