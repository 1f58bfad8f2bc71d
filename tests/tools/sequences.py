#!/usr/bin/env python3
"""sequences.py: every sequence of up to three file operations, and what it changes.

    sequences.py make DIR        one directory for each sequence, all with the same
                           things in it
    sequences.py run DIR         do each sequence in its directory
    sequences.py manifest DIR    what there is, as lines that can be compared
    sequences.py expect A B      the list of changes from one manifest to the other,
                           as `errand diff -z` gives it, each with a newline
"""
import hashlib
import itertools
import os
import shutil
import stat
import sys


def create():
    with open("new", "w") as f:
        f.write("new")


def write():
    with open("f", "r+") as f:
        f.write("other")


def append():
    with open("f", "a") as f:
        f.write("more\n")


def chmod():
    os.chmod("f", 0o600)


def rename_file():
    os.rename("f", "d/g")


def rename_dir():
    try:
        os.rename("d", "d2")
    except OSError:
        # Where it cannot be renamed, what is in it can.
        st = os.stat("d")
        os.mkdir("d2")
        os.chmod("d2", st.st_mode & 0o777)
        for n in os.listdir("d"):
            os.rename("d/" + n, "d2/" + n)
        os.rmdir("d")


def link():
    os.link("f", "d/l")


def symlink():
    os.symlink("../f", "d/s")


def unlink():
    os.unlink("f")


def rmdir():
    os.rmdir("empty")


def mkdir():
    os.mkdir("d/sub")


def truncate():
    os.truncate("d/x", 0)


def replace_dir():
    shutil.rmtree("d")
    with open("d", "w") as f:
        f.write("a file now")


def open_only():
    with open("f", "r+"):
        pass


OPS = [create, write, append, chmod, rename_file, rename_dir, link, symlink,
       unlink, rmdir, mkdir, truncate, replace_dir, open_only]


def sequences():
    for n in (1, 2, 3):
        yield from itertools.product(range(len(OPS)), repeat=n)


def name(seq):
    return "-".join("%x" % i for i in seq)


def make(top):
    for seq in sequences():
        d = os.path.join(top, name(seq))
        os.makedirs(os.path.join(d, "d"))
        os.mkdir(os.path.join(d, "empty"))
        for path, text in (("f", "content of f\n"), ("d/x", "x"),
                           ("d/y", "y")):
            with open(os.path.join(d, path), "w") as f:
                f.write(text)
        os.symlink("f", os.path.join(d, "l"))


def run(top):
    top = os.path.abspath(top)
    for seq in sequences():
        os.chdir(os.path.join(top, name(seq)))
        for i in seq:
            try:
                OPS[i]()
            except OSError:
                pass    # what is not there any more, or there already


def entry(path):
    st = os.lstat(path)
    if stat.S_ISLNK(st.st_mode):
        return "l 0777 " + os.readlink(path)
    mode = "%04o" % (st.st_mode & 0o777)
    if stat.S_ISDIR(st.st_mode):
        return "d " + mode
    with open(path, "rb") as f:
        return "f %s %s" % (mode, hashlib.sha256(f.read()).hexdigest())


def manifest(top):
    lines = []
    for p, dirs, files in os.walk(top):
        for n in dirs + files:
            path = os.path.join(p, n)
            lines.append("%s\t%s" % (os.path.relpath(path, top), entry(path)))
    print("\n".join(sorted(lines)))


def load(path):
    with open(path) as f:
        return dict(line.rstrip("\n").split("\t") for line in f)


def letter(old, new):
    if old is None:
        return "A"
    if new is None:
        return "D"
    if old[0] != new[0]:
        return "T"
    if old[0] != "d" and old.split(" ", 2)[2] != new.split(" ", 2)[2]:
        return "M"
    return "C" if old != new else None


def expect(a, b):
    old, new = load(a), load(b)
    for p in sorted(set(old) | set(new), key=os.fsencode):
        c = letter(old.get(p), new.get(p))
        if c:
            print(c, p)


if __name__ == "__main__":
    os.umask(0o022)
    {"make": make, "run": run, "manifest": manifest,
     "expect": expect}[sys.argv[1]](*sys.argv[2:])
