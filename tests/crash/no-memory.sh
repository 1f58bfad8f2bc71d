#!/bin/sh
# Memory is refused at any place of opening, ingest, publication, settlement,
# collection and rewriting: to us and to our libraries, once, some times or for
# good.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../tools/store-sweep.sh"

need_root	# a tmpfs
plan 1
sweep_ready
sweep "without memory at any place, the store refuses or starts again" nomem \
    "${ERRAND_NOMEM_RUNS:-120}"
done_testing
