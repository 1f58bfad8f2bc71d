#!/bin/sh
# cannot-job-tree.sh without user namespaces.
# shellcheck disable=SC2034

BOUNDED_TEST=cannot-job-tree.sh
. "$(dirname "$0")/../tools/bounded.sh"
