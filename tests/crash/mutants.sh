#!/bin/sh
# The machinery itself is tested: a store with a mistake in it must be found
# out.  A mistake is chosen when a build with CRASH=1 is started: lib/crash.h.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../tools/loop.sh"
. "$(dirname "$0")/../tools/store-power.sh"
. "$(dirname "$0")/../tools/store-sweep.sh"

# found ROUNDS NAME TEXT [WORD POINT]: by power loss, within so many rounds, and
# at that point
found() {
	# shellcheck disable=SC2034	# for power
	power_at=${5-}
	power "$1" 0 ext4 "mutant=$2" ${4:+"$4"} >"$T/power.out"
	power_status=$?
	grep -v 'said: at ' "$T/power.out"
	# What is left of the store ends a moment later, and its mount with it.
	wait_for 20 mkfs.ext4 -q -F "$loop_dev" 2>/dev/null
	is "$power_status" 1 "a store that $3 is found out"
}

# found_names NAME TEXT: by names that are lost with their directory
found_names() {
	sweep_run "mutant=$1" -e lose fsync fdatasync
	is "$sweep_status" 1 "a store that $2 is found out"
}

: "${loop_dev:=}" "${sweep_status:=}"	# set by what is sourced

need_loop
need_program strace
crash_build
plan 8
power_fs ext4
found 20 no-data-barrier "names objects before they are flushed"
found 20 no-publication-barrier "does not flush its index"
found 60 answer-early "answers before it has committed"
found 20 unlink-before-commit "removes a pack that its index still names" \
    pause=rewrite-done:20000 rewrite-done
sweep_run mutant=unlink-before-commit point rewrite-done
is "$sweep_status" 1 "also when it is killed at that moment"
found_names no-pack-dir-sync "does not flush the directory of a new pack"
found_names no-index-dir-sync "does not flush the directory of its index"
sweep_run "" -e lose fsync fdatasync
is "$sweep_status" 0 "one that has none of these mistakes is not"
done_testing
