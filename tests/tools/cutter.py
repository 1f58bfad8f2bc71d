#!/usr/bin/env python3
"""A link that breaks: cutter.py LISTEN TARGET COUNTS LIMIT [LIMIT...]

Passes what comes on the unix socket LISTEN on to TARGET and back.  The n-th
connection is cut when LIMIT n bytes have gone to TARGET (0: never; dN: when N
bytes have come from it; hN: it is not cut then, but nothing goes through any
more); later ones are left alone.  For each connection, the bytes that went there are written as a
line into COUNTS when it ends.
"""
import os
import select
import socket
import sys


def hang(client):
    """Read nothing more; end when the client does."""
    poll = select.poll()
    poll.register(client, select.POLLRDHUP)
    poll.poll()


def serve(client, target, how):
    host = socket.socket(socket.AF_UNIX)
    host.connect(target)
    sent = came = 0
    limit = int(how.lstrip("dh"))
    ends = {client: host, host: client}
    while ends:
        for s in select.select(list(ends), [], [])[0]:
            data = s.recv(65536)
            if s is host:
                came += len(data)
                if how[0] == "d" and came >= limit:
                    client.sendall(data[:len(data) - (came - limit)])
                    host.close()
                    client.close()
                    return sent
            elif how[0] != "d" and limit and sent + len(data) >= limit:
                data = data[:limit - sent]
                host.sendall(data)
                sent += len(data)
                if how[0] == "h":
                    hang(client)
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
    limits = sys.argv[4:]
    s = socket.socket(socket.AF_UNIX)
    # Whoever sees the name can connect.
    s.bind(listen + ".new")
    s.listen(8)
    os.chmod(listen + ".new", 0o666)
    os.rename(listen + ".new", listen)
    while True:
        client, _ = s.accept()
        limit = limits.pop(0) if limits else "0"
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
