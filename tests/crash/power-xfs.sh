#!/bin/sh
# Power loss on xfs, again and again, on a store that is never empty: what was
# acknowledged is there, nothing is half there.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../tools/loop.sh"
. "$(dirname "$0")/../tools/store-power.sh"

power_loss xfs
