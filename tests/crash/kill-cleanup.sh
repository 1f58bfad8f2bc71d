#!/bin/sh
# Whatever process of ours is killed, whenever: nothing of a job is left on the
# host.  ERRAND_KILLS is how many are killed, ERRAND_SEED repeats a run.

# shellcheck disable=SC2034,SC2086,SC2154
. "$(dirname "$0")/../lib.sh"
need_root
need_program python3

base=$((1910000000 + $$ % 10000 * 10000))
disk=
[ -e /dev/loop-control ] && disk='--disk 8M'
mkdir "$T/kill"
chmod 755 "$T/kill"
python3 "$TOP/tests/tools/kill_cleanup.py" --bin "$BIN" --dir "$T/kill" \
    --base "$base" --prepared 4 $disk --kills "${ERRAND_KILLS:-500}" \
    ${ERRAND_SEED:+--seed "$ERRAND_SEED"} ||
    { test_failed=1; tail -n 30 "$T/kill/errandd.log" | sed 's/^/# /'; exit 1; }
