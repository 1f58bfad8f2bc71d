#!/bin/sh
# Every single call that has to do with the store's files fails once.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../tools/store-sweep.sh"

need_root	# strace's own filter
need_program strace
plan 2
sweep_ready
sweep "after an I/O error at any call, the store goes on or starts again" EIO
sweep "after a full disk at any call, too" ENOSPC
done_testing
