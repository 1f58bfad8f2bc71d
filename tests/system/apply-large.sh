#!/bin/sh
# Large results come home: a hundred thousand files (ERRAND_LARGE_FILES), and
# files of more than 4 GiB that are mostly holes.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
plan 12
start_daemon
FILES=${ERRAND_LARGE_FILES:-100000}
DIRS=1000
# The clients have this long for each step.
ERRAND_TIME=280

# What a tree is, as a sum: paths, modes and contents.
summary() {
	find . -name .errandignore -prune -o -printf '%P %y %m %s\n' |
	    LC_ALL=C sort | md5sum
	find . -type f ! -name .errandignore -print0 | LC_ALL=C sort -z |
	    xargs -0 cat | md5sum
}

# --- many ---

# The same program makes the files in a job and here.
cat >"$T/make.py" <<'PY'
import os, sys
n, dirs = int(sys.argv[1]), int(sys.argv[2])
for d in range(dirs):
    os.mkdir("d%d" % d)
for i in range(n):
    with open("d%d/file-%d" % (i % dirs, i), "w") as f:
        f.write("content %d\n" % i)
PY
tree many
top=$PWD
touch .errandignore && cp "$T/make.py" make.py
start=$(date +%s)
run errand run -q -- /usr/bin/python3 make.py "$FILES" "$DIRS"
is "$rc $(cat "$T/err")" '0 ' 'a job makes many files'
run errand fetch last --apply
is "$rc" 0 'they are applied'
diag "$FILES files: job and apply took $(($(date +%s) - start)) s"
like "$(cat "$T/err")" "applied $((FILES + DIRS)) paths \($((FILES + DIRS)) created, 0 modified, 0 deleted\)" \
    'and counted'
mkdir "$T/here" && cd "$T/here" && cp "$T/make.py" . || exit 1
/usr/bin/python3 make.py "$FILES" "$DIRS"
want=$(summary)
cd "$top" || exit 1
is "$(summary)" "$want" 'they are what the same program makes here'
check 'nothing is left beside them' test ! -e .errand-apply
run errand fetch last --apply
is "$rc" 0 'applied once more'
like "$(cat "$T/err")" 'applied 0 paths' 'there is nothing to do'

# --- large ---

# Data at the start, beyond 4 GiB, and at the end; the rest are holes.
tree large
touch .errandignore
cat >make.py <<'PY'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
for at in (0, 1 << 20, (1 << 32) - 3, (1 << 32) + (1 << 28) + 5):
    os.pwrite(fd, b"data at %d" % at, at)
os.ftruncate(fd, (1 << 32) + (1 << 29))
PY
data() {
	for at in 0 1048576 4294967293 4563402757; do
		dd if="$1" iflag=skip_bytes,count_bytes skip=$at count=24 \
		    status=none | tr -d '\0'
		echo
	done
	stat -c %s "$1"
}
run errand run -q -- /usr/bin/python3 make.py big
is "$rc $(cat "$T/err")" '0 ' 'a job makes a file of more than 4 GiB'
run errand fetch last --apply
is "$rc" 0 'it is applied'
/usr/bin/python3 make.py here
is "$(data big)" "$(data here)" 'each part of it where it was'
check 'and its holes are holes' test "$(stat -c %b big)" -lt 10000
printf x | dd of=big bs=1 seek=4563402800 conv=notrunc status=none
run errand fetch last --apply
is "$rc $(grep -c '^errand: conflict: big: changed here and by the job' "$T/err")" \
    '121 1' 'one byte of it that is another here is seen'

done_testing
