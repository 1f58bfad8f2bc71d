#!/bin/sh
# Large results come home: a hundred thousand files (ERRAND_LARGE_FILES), and
# files of more than 4 GiB that are mostly holes.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3
plan 11
start_daemon
FILES=${ERRAND_LARGE_FILES:-100000}
DIRS=1000
# The clients have this long for each step.
ERRAND_TIME=280

# --- many ---

# The same program makes the files in a job, and looks at them here.
cat >"$T/many.py" <<'PY'
import os, sys
n, dirs, look = int(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3
left = set()
for top, names, files in os.walk(".") if look else ():
    left.update(os.path.join(top, f) for f in files)
for d in range(0 if look else dirs):
    os.mkdir("d%d" % d)
for i in range(n):
    path, text = "./d%d/file-%d" % (i % dirs, i), "content %d\n" % i
    if not look:
        with open(path, "w") as f:
            f.write(text)
    elif open(path).read() != text or os.stat(path).st_mode != 0o100644:
        sys.exit("%s is wrong" % path)
    else:
        left.remove(path)
if look:
    print(*sorted(left))
PY
# Where an unlink waits for the disk, removing them all would take minutes.
mkdir -p "$T/many" && cd "$T/many" || exit 1
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=2g none . 2>/dev/null; then
	trap 'rc=$?; cd /; umount -l "$T/many"; (exit $rc); cleanup' EXIT
	cd "$T/many" || exit 1
fi
touch .errandignore && cp "$T/many.py" many.py
start=$(date +%s)
run errand run -q -- /usr/bin/python3 many.py "$FILES" "$DIRS"
is "$rc $(cat "$T/err")" '0 ' 'a job makes many files'
run errand fetch last --apply
is "$rc" 0 'they are applied'
diag "$FILES files: job and apply took $(($(date +%s) - start)) s"
like "$(cat "$T/err")" "applied $((FILES + DIRS)) paths \($((FILES + DIRS)) created, 0 modified, 0 deleted\)" \
    'and counted'
is "$(/usr/bin/python3 many.py "$FILES" "$DIRS" look)" \
    './.errandignore ./many.py' 'each is right, and nothing is beside them'
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
