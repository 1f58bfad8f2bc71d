#!/bin/sh
# image.sh without user namespaces.
# shellcheck disable=SC2034

BOUNDED_TEST=image.sh
. "$(dirname "$0")/../tools/bounded.sh"
