#!/bin/sh
# Trees on every kind of file system: what a job finds is what `rsync -a` and
# `cp -a` make of them, and its changes come home as they are.

# lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program python3 rsync git
[ "$(id -u)" -ne 0 ] || . "$TOP/tests/tools/loop.sh"
start_daemon
umask 022

# odd DIR: a tree with one of everything, and more
odd() {
	(
		cd "$1" || exit 1
		: >.errandignore
		mkdir -p a/b/c/d/e/f/g empty/er modes many "sp ace"
		python3 - <<-'END'
		import os
		for m in (0o400, 0o444, 0o600, 0o640, 0o644, 0o700, 0o755, 0o777, 0o664):
		    p = "modes/%o" % m
		    open(p, "w").write("%o" % m)
		    os.chmod(p, m)
		    os.mkdir(p + ".d")
		    os.chmod(p + ".d", m | 0o700)
		for i in range(600):
		    open("many/%03d" % i, "w").write("x" * i)
		for i, t in enumerate((0, 1, 1000000000, 2 ** 31 + 5, 1700000000)):
		    p = "time%d" % i
		    open(p, "w").close()
		    os.utime(p, ns=(t * 10 ** 9, t * 10 ** 9 + 123456789))
		with open("holes", "wb") as f:
		    f.write(b"head")
		    f.truncate(9000000)
		    f.seek(5000000)
		    f.write(b"middle")
		open("zeros", "wb").write(bytes(300000))
		open("random", "wb").write(os.urandom(3000000))
		for t, n in (("a/b", "l1"), ("nowhere", "l2"), ("/etc/passwd", "l3"),
		             (".", "l4"), ("x" * 1000, "l5")):
		    os.symlink(t, n)
		for n in (b"new\nline", b"caf\xe9", b"-rf", b"*", b"n" * 255, b"\x01\x7f", b"a\\b"):
		    try:
		        open(b"sp ace/" + n, "w").write("odd")
		    except OSError:
		        pass    # this file system has no such names
		END
		ln random many/link
		find . -depth -type d -exec touch -d '2020-02-02 02:02:02.222222222' {} +
	)
}

# What there is: type, mode, size, time, target, sums.  Sizes of directories
# and links are the file system's affair, and so are times of links.
cat >"$T/list.py" <<'END'
import hashlib, os, stat, sys
out = []
os.chdir(sys.argv[1])
times = len(sys.argv) == 2
for p, dirs, files in os.walk(b"."):
    for n in dirs + files:
        f = os.path.join(p, n)
        st = os.lstat(f)
        if stat.S_ISLNK(st.st_mode):
            out.append(b"l %r %r" % (f, os.readlink(f)))
            continue
        line = b"%d %r %o" % (stat.S_ISDIR(st.st_mode), f, st.st_mode & 0o777)
        if times:
            line += b" %d" % st.st_mtime_ns
        if stat.S_ISREG(st.st_mode):
            line += b" %d " % st.st_size + hashlib.sha256(open(f, "rb").read()).hexdigest().encode()
        out.append(line)
sys.stdout.buffer.write(b"\n".join(sorted(out)) + b"\n")
END

# try NAME DIR
try() {
	mkdir -p "$2/tree" && odd "$2/tree" && cd "$2/tree" || exit 1
	python3 "$T/list.py" . >"$T/here"
	rm -rf "$T/rsync" "$T/cp"
	rsync -a ./ "$T/rsync/" && python3 "$T/list.py" "$T/rsync" >"$T/rsync.list"
	cp -a . "$T/cp" && python3 "$T/list.py" "$T/cp" >"$T/cp.list"
	check "$1: rsync -a and cp -a make the same of it" \
	    sh -c "cmp '$T/here' '$T/rsync.list' && cmp '$T/here' '$T/cp.list'"
	errand -q -- python3 -c "$(cat "$T/list.py")" . >"$T/job" 2>"$T/err"
	check "$1: so does a job find it: $(wc -l <"$T/here") paths" diff "$T/here" "$T/job"
	check "$1: holes are holes there" \
	    test "$(errand -q -- du -k holes | cut -f 1)" -lt 200
	# Names of one file arrive as files of their own.
	(cd "$2" && rm -rf copy && cp -a tree copy && cd copy &&
	    rm many/link && cp -a random many/link)
	change='chmod -R u+w modes; rm -r a modes/444; mkdir a; echo 1 >a/b; echo 2 >>random; ln -sf new l1
	    mv many less; rm l4; mkdir l4; echo 3 >l4/f; truncate -s 1M holes; chmod 600 time1; echo 4 >"$(printf "odd\nname")"'
	errand -q -- sh -c "$change" || diag 'the job failed'
	(cd "$2/copy" && sh -c "$change")
	errand -q fetch last --apply 2>"$T/err" || diag "$(cat "$T/err")"
	python3 "$T/list.py" . no-times >"$T/applied"
	python3 "$T/list.py" "$2/copy" no-times >"$T/done"
	check "$1: its changes come home as they are" diff "$T/done" "$T/applied"
	cd "$T" || exit 1
}

try 'where tests are' "$T/w/here"
if [ "$(id -u)" -ne 0 ]; then
	skip 20 'needs root'
	done_testing
fi
mkdir -p "$T/tmpfs" && mount -t tmpfs none "$T/tmpfs" && try tmpfs "$T/tmpfs" && umount "$T/tmpfs"
mkdir "$T/o"
if mount -t tmpfs none "$T/o" && mkdir "$T/o/lower" "$T/o/upper" "$T/o/work" "$T/o/all" &&
    mkdir "$T/o/lower/tree" && echo below >"$T/o/lower/tree/below" &&
    mount -t overlay -o "lowerdir=$T/o/lower,upperdir=$T/o/upper,workdir=$T/o/work" none "$T/o/all"; then
	try overlay "$T/o/all"
	umount "$T/o/all"
else
	skip 4 'needs overlayfs on tmpfs'
fi
umount "$T/o" 2>/dev/null
for fs in ext4 xfs btrfs; do
	if command -v mkfs.$fs >/dev/null && losetup -f >/dev/null 2>&1 &&
	    grep -qw $fs /proc/filesystems; then
		loop_make $fs 400M
		mkdir -p "$T/$fs"
		mkfs.$fs -q "$loop_dev" >/dev/null && mount "$loop_dev" "$T/$fs" || exit 1
		try $fs "$T/$fs"
		umount "$T/$fs"
	else
		skip 4 "needs $fs and loop devices"
	fi
done
done_testing
