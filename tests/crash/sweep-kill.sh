#!/bin/sh
# The store is killed at every single call that has to do with its files.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../tools/store-sweep.sh"

need_program strace
plan 3
sweep_ready
sweep "killed at any call of a play, the store has what it acknowledged" kill
sweep "killed at any call while it is made, too" -e kill
sweep "names in directories that were not flushed may be lost with that" lose \
    fsync fdatasync
done_testing
