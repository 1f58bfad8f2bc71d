#!/bin/sh
# cannot-job.sh without user namespaces.
# shellcheck disable=SC2034

BOUNDED_TEST=cannot-job.sh
. "$(dirname "$0")/../tools/bounded.sh"
