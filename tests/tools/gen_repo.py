#!/usr/bin/env python3
"""gen_repo.py SEED DIR: a small Git work tree full of ignore rules.

Everything in it comes from SEED: names, rules at every level, info/exclude, a
global file (DIR.global), tracked files that rules match, negations, nested
repositories, core.ignoreCase.
"""
import os
import random
import subprocess
import sys

seed, top = int(sys.argv[1]), sys.argv[2]
r = random.Random(seed)
NAMES = ["a", "b", "c", "ab", "a.o", "b.o", "x.c", "x.o", "A", "Ab", "d e",
         "#h", "!n", "t ", "[x]", "q\\z", "d", "build", "build.x", "\u00e9",
         "-f", "*s", "keep"]
PARTS = ["a", "b", "*", "?", "*.o", "x.*", "**", "[ab]", "[!a]", "[a-c]*", "A",
         "ab", "d", "build", "keep", "\\#h", "\\!n", "t\\ ", "d e", "\\[x\\]",
         "[[:alpha:]]", "[[:upper:]]", "b*d", "\u00e9", "q\\\\z", "[]-a]",
         "build*", "???", "[x]", "a**", "-f", "\\*s"]


def rule():
    n = r.choice([1, 1, 1, 2, 2, 3])
    s = "/".join(r.choice(PARTS) for _ in range(n))
    if r.random() < 0.2:
        s = "/" + s
    if r.random() < 0.25:
        s += "/"
    if r.random() < 0.25:
        s = "!" + s
    if r.random() < 0.1:
        s += "  "
    return s


def rules():
    lines = []
    for _ in range(r.randint(1, 5)):
        lines.append(rule())
        if r.random() < 0.15:
            lines.append(r.choice(["", "# a comment", "   ", "/", "!", "//"]))
    end = r.choice(["\n", "\n", "\n", "\r\n"])
    text = end.join(lines) + r.choice(["", end])
    if r.random() < 0.1:
        text = "\ufeff" + text
    return text.encode()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def fill(d, depth):
    os.makedirs(d, exist_ok=True)
    there = {n.lower() for n in os.listdir(d)}
    for name in r.sample(NAMES, r.randint(1, 7)):
        p = os.path.join(d, name)
        # No disk on which letters have no case holds both.
        if name.lower() in there:
            continue
        there.add(name.lower())
        k = r.random()
        if depth < 4 and k < 0.45:
            fill(p, depth + 1)
        elif k < 0.5:
            os.symlink(r.choice(["a", "nowhere", "."]), p)
        else:
            write(p, b"x")
    if r.random() < (0.9 if depth == 0 else 0.25):
        write(os.path.join(d, ".gitignore"), rules())


def git(d, *args):
    return subprocess.run(["git", "-C", d, *args], capture_output=True)


def repo(d, depth):
    fill(d, depth)
    git(d, "init", "-q", ".")
    if r.random() < 0.4:
        write(os.path.join(d, ".git/info/exclude"), rules())
    if r.random() < 0.25:
        git(d, "config", "core.ignoreCase", "true")
    files = [os.path.relpath(os.path.join(p, f), d)
             for p, dirs, fs in os.walk(d) if not dirs.sort()
             for f in sorted(fs) if "/.git/" not in p + "/"]
    nested = None
    inner = [p for p, dirs, fs in os.walk(d) if not dirs.sort()
             and "/.git" not in p and p != d]
    if depth == 0 and inner and r.random() < 0.3:
        nested = r.choice(inner)
        repo(nested, 3)
    take = [f for f in files if r.random() < 0.25 and (nested is None
            or not os.path.join(d, f).startswith(nested + "/"))]
    if take:
        git(d, "add", "-f", "--", *[":(literal)" + f for f in take])
    for f in take:
        if r.random() < 0.1:
            os.unlink(os.path.join(d, f))


os.makedirs(top)
repo(top, 0)
if r.random() < 0.5:
    write(top + ".global", rules())
    git(top, "config", "core.excludesFile", top + ".global")
