#!/bin/sh
# inside.sh without user namespaces.
# shellcheck disable=SC2034

BOUNDED_TEST=inside.sh
. "$(dirname "$0")/../tools/bounded.sh"
