#!/usr/bin/env python3
"""Damage a pack where it holds the bytes of a file: store_damage.py PACKS FILE
[OFFSET], which is counted from the first byte of the file's."""
import glob
import sys

packs, path = sys.argv[1:3]
offset = int(sys.argv[3]) if len(sys.argv) > 3 else 100
want = open(path, "rb").read()
hits = 0
for name in sorted(glob.glob(packs + "/*.pack")):
    with open(name, "r+b") as pack:
        data = pack.read()
        at = data.find(want)
        while at != -1:
            pack.seek(at + offset)
            pack.write(bytes([data[at + offset] ^ 1]))
            hits += 1
            at = data.find(want, at + 1)
if hits == 0:
    sys.exit("no pack holds these bytes as they are")
