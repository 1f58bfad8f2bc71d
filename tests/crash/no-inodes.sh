#!/bin/sh
# A file system without a free inode: there can be no other pack.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../tools/store-sweep.sh"

need_root	# a tmpfs with few inodes
plan 1
sweep_ready
sweep "without inodes the store refuses and goes on, and works again with them" \
    inodes
done_testing
