#!/bin/sh
# cannot-bombs.sh without user namespaces.
# shellcheck disable=SC2034

BOUNDED_TEST=cannot-bombs.sh
. "$(dirname "$0")/../tools/bounded.sh"
