#!/bin/sh
# run-basics.sh without user namespaces.
# shellcheck disable=SC2034

BOUNDED_TEST=run-basics.sh
. "$(dirname "$0")/../tools/bounded.sh"
