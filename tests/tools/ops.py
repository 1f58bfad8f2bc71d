"""ops: all sequences of up to three file operations, each in a directory of its own.

usage: ops.py make DIR | run DIR | show DIR

make builds DIR/0 ... with the same start in each; run does sequence N in DIR/N;
show prints what is there: kind, mode, path, target or digest.
"""
import hashlib, itertools, os, shutil, stat, sys


def write(p, text, flags=os.O_TRUNC):
    fd = os.open(p, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    os.write(fd, text)
    os.close(fd)


def write_at_start():
    fd = os.open("f", os.O_WRONLY)
    os.write(fd, b"W")
    os.close(fd)


def replace_dir():
    shutil.rmtree("d")
    write("d", b"a file now\n")


OPS = [
    lambda: write("new", b"new\n", os.O_EXCL),          # create
    write_at_start,                                     # write
    lambda: write("f", b"more\n", os.O_APPEND),         # append
    lambda: os.chmod("f", os.stat("f").st_mode & 0o777 ^ 0o111),
    lambda: os.rename("f", "d/f2"),                     # rename file
    lambda: shutil.move("d", "moved"),                  # rename directory
    lambda: os.link("f", "h"),
    lambda: os.symlink("f", "d/s"),
    lambda: os.unlink("f"),
    lambda: os.rmdir("e"),
    lambda: os.mkdir("e/m"),
    lambda: os.truncate("f", 2),
    replace_dir,
    lambda: os.close(os.open("f", os.O_RDWR)),          # opened, not written
]
SEQS = [s for n in (1, 2, 3) for s in itertools.product(range(len(OPS)), repeat=n)]


def make(top):
    for i in range(len(SEQS)):
        d = "%s/%d" % (top, i)
        os.makedirs(d + "/d")
        os.mkdir(d + "/e")
        write(d + "/f", b"the file\n")
        write(d + "/d/g", b"another\n")
        os.symlink("d", d + "/l")


def run(top):
    home = os.getcwd()
    for i, seq in enumerate(SEQS):
        os.chdir("%s/%s/%d" % (home, top, i))
        for op in seq:
            try:
                OPS[op]()
            except OSError:
                pass


def show(top):
    os.chdir(top)
    for r, ds, fs in os.walk("."):
        for n in sorted(ds + fs):
            p = os.path.join(r, n)
            st = os.lstat(p)
            what = ""
            if stat.S_ISLNK(st.st_mode):
                what = os.readlink(p)
            elif stat.S_ISREG(st.st_mode):
                what = hashlib.sha256(open(p, "rb").read()).hexdigest()[:16]
            print("%o %s %s" % (st.st_mode, p, what))


if sys.argv[1] == "count":
    print(len(SEQS))
else:
    {"make": make, "run": run, "show": show}[sys.argv[1]](sys.argv[2])
