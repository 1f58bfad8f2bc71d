#!/bin/sh
# The store dies at each of the points that its sources name.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../tools/store-sweep.sh"

plan 2
sweep_ready
points=$(cd "$TOP" && grep -rhoE 'CRASH_POINT\("[^"]+"\)' worker-store/*.c |
    cut -d '"' -f 2)
is "$(echo "$points" | sort | uniq -d)" "" "no two crash points have one name"
# shellcheck disable=SC2086
sweep "dead at any crash point, the store has what it acknowledged" point \
    $points
done_testing
