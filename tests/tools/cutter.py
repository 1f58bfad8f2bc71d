#!/usr/bin/env python3
"""A link that breaks: cutter.py LISTEN TARGET COUNTS LIMIT [LIMIT...]

Passes what comes on the unix socket LISTEN on to TARGET and back.  The n-th
connection is cut when LIMIT n bytes have gone to TARGET (0: never); later ones
are left alone.  For each connection, the bytes that went there are written as a
line into COUNTS when it ends.
"""
import os
import select
import socket
import sys


def serve(client, target, limit):
    host = socket.socket(socket.AF_UNIX)
    host.connect(target)
    sent = 0
    ends = {client: host, host: client}
    while ends:
        for s in select.select(list(ends), [], [])[0]:
            data = s.recv(65536)
            if s is client and limit and sent + len(data) >= limit:
                data = data[:limit - sent]
                host.sendall(data)
                sent += len(data)
                host.close()
                client.close()
                return sent
            try:
                if data:
                    ends[s].sendall(data)
            except OSError:
                data = b""
            if s is client:
                sent += len(data)
            if not data:
                host.close()
                client.close()
                return sent
    return sent


def main():
    listen, target, counts = sys.argv[1:4]
    limits = [int(x) for x in sys.argv[4:]]
    s = socket.socket(socket.AF_UNIX)
    s.bind(listen)
    s.listen(8)
    os.chmod(listen, 0o666)
    while True:
        client, _ = s.accept()
        limit = limits.pop(0) if limits else 0
        if os.fork() == 0:
            s.close()
            try:
                sent = serve(client, target, limit)
            except OSError:
                sent = 0
            with open(counts, "a") as f:
                f.write("%d\n" % sent)
            os._exit(0)
        client.close()


main()
