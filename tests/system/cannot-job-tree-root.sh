#!/bin/sh
# cannot-job-tree.sh by jobs that are root inside.
# shellcheck disable=SC2034

TREE_OPTS=--as-root
. "$(dirname "$0")/cannot-job-tree.sh"
