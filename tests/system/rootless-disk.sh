#!/bin/sh
# --disk of an ordinary user's daemon: no file system of its own holds a job to
# it, so what it writes is counted while it runs.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
. "$TOP/tests/tools/own_daemon.sh"
check 'it starts' own_daemon

errand() { u sh -c 'cd "$1" && shift && exec timeout 60 "$@"' sh "$T/u/tree" "$BIN/errand" "$@"; }
meters() { ps -u "$uid" -o stat=,comm= | awk '$1 !~ /^Z/ && $2 == "errand-meter"' | wc -l; }
no_meters() { [ "$(meters)" -eq 0 ]; }
u sh -c "cd '$T/u/tree' && : >.errandignore && mkdir d && echo x >d/f"

like "$(errand info)" 'disk  *soft' 'errand info says that the limit is soft'
is "$(errand info --json | "$TOOLS/jget" disk_soft)" true 'to programs too'

# --- within the limit ---

run errand -q --disk 16M -- sh -c 'head -c 12000000 /dev/zero >a; rm a
    sleep 0.1; head -c 12000000 /dev/zero >b'
is "$rc $(field limit)" '0 null' 'what was removed again does not count'
is "$(errand diff last)" 'A b' 'and the rest is collected'
is "$(field limits.disk_bytes)" 16777216 'the record has the limit'
run errand -q --disk 16M -- sh -c 'head -c 6000000 /dev/zero >a
    i=0; while [ $i -lt 20 ]; do ln a l$i; i=$((i + 1)); done; sleep 0.3'
is "$rc $(field limit)" '0 null' 'a file with many names counts once'
run errand -q --disk 16M -- sh -c 'truncate -s 15M a; exit 3'
is "$rc $(field limit)" '3 null' 'a job that fails of itself has no limit'
is "$(errand -q -- sh -c 'ulimit -f')" unlimited 'without it nothing is bounded'
check 'nobody counts any more' wait_for 10 no_meters

# --- over it ---

run errand -q --disk 16M -- sh -c 'head -c 100000000 /dev/zero >a'
check 'one large file: the job fails' test "$rc" -ne 0
is "$(field limit)" disk 'the status says why'
like "$(cat "$T/err")" 'limit: disk' 'so does the client'
check 'and it got no more than the limit' \
    test "$(field usage.disk_bytes)" -le $((16 << 20))
run errand -q --disk 16M --cache c=out -- sh -c 'for i in 1 2 3; do
    head -c 8000000 /dev/zero >out/$i; done; sleep 10'
check 'what is written to a cache counts' test "$rc" -ne 0
is "$(field limit)" disk 'likewise'
many='import os, sys
n = 0
while n < 1 << 30:
    with open(sys.argv[1] % n, "wb", 0) as f:
        n += f.write(bytes(1 << 20))'
for o in --net=none --as-root; do
	run errand -q $o --disk 16M -- python3 -c "$many" f%d
	is "$rc $(field limit)" '137 disk' "$o: many files: it is ended, and the status says why"
	n=$(field usage.disk_bytes)
	diag "over by $(((n - (16 << 20)) >> 10)) KiB"
	check "$o: not long after the limit" test "$n" -le $((16 + 400 << 20))
done
run errand -q --disk 16M -- sh -c 'mkdir -p x/y/z; exec python3 -c "$0" x/y/z/f%d' "$many"
is "$rc $(field limit)" '137 disk' 'the same, some directories down'
run errand -q --disk 16M -- sh -c 'mkdir x; cd x; exec python3 -c "$0"' \
    'import os
os.chmod(".", 0o300)
n = 0
while n < 1 << 30:
    with open("f%d" % n, "wb", 0) as f:
        n += f.write(bytes(1 << 20))'
is "$rc $(field limit)" '137 disk' 'and where nobody may look'
run errand -q --disk 16M -- python3 -c 'n = 0
while n < 1000000:
    open("i%d" % n, "w").close()
    n += 1'
is "$rc $(field limit)" '137 inodes' 'too many files: likewise'
run errand -q --disk 16M -- sh -c 'exec 3>f; rm f; head -c 100000000 /dev/zero >&3'
check 'a file without a name is bounded by itself' test "$rc" -ne 0
check 'nobody counts any more' wait_for 10 no_meters
is "$(errand -q -- cat d/f)" x 'the next job is as ever'
run errand -q --disk 1K -- true
is "$rc" 120 'less than a MiB is refused'
stop_daemon
done_testing
