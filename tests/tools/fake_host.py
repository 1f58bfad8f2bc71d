#!/usr/bin/env python3
"""A host that lies: fake_host.py SOCKET LIE [ARGUMENT]

Listens on SOCKET and serves one client after the other, each as the function
of that name among the lies below says.  A lie is called for each request with
the connection, the request's stream, its verb and its body; what it leaves
unanswered is answered by honest().  Frames: lib/frame.h; bodies: proto/
client.proto and record.proto, encoded by hand, since what is wrong in them
could not be said otherwise.  Ends by itself after two minutes.
"""
import hashlib
import os
import socket
import struct
import sys
import time

HELLO, OPEN, REPLY, DATA, CREDIT, END, RESET, PING, GOAWAY = range(1, 10)
MORE = 1
STDOUT, STDERR, OBJECT, REFS, BYTES = 1, 2, 3, 4, 5
UPLOAD, SUBMIT, ATTACH, WAIT, STATUS, LIST, KILL, GET, RECEIPT, INFO = \
    range(1, 11)
CHANGES = 14
UPLOADED, NEED, ACCEPTED, JOB, RESULT, DONE, INFO_REPLY = range(1, 8)
QUEUED, RUNNING, EXITED = 2, 4, 6
FILE, DIR, LINK = 1, 2, 3
CREATE, MODIFY = 1, 2
CHUNK, LIST_OBJECT = 1, 2
ID = b'abcdefghijklmnop'
EVIL = b'\x1b]0;owned\x07\x1b[31mred\r\n\x9b2J'
LIFE = 120


# --- encoding ---

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def message(*fields):
    """Fields as (number, value); what says nothing is not on the wire."""
    out = b''
    for number, value in fields:
        if isinstance(value, int):
            if value != 0:
                out += varint(number << 3) + varint(value)
        elif value is not None:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def frame(stream, kind, flags=0, body=b'', length=None):
    if length is None:
        length = len(body)
    return struct.pack('<IIBBH', length, stream, kind, flags, 0) + body


def digest(person, data):
    return hashlib.blake2b(data, digest_size=32,
                           person=person.ljust(16, b'\0')).digest()


def object_id(kind, data):
    return digest((b'', b'errand.chunk', b'errand.list')[kind], data)


def ref(kind, data):
    return bytes([kind]) + object_id(kind, data)


def record_of(kind, data, name=None, raw=None, stored=None):
    """An object on the wire (lib/objrec.h)."""
    return struct.pack('<BBHII', kind, 0, 0,
                       len(data) if raw is None else raw,
                       len(data) if stored is None else stored) + \
        (name or object_id(kind, data)) + data


def change(op, kind, path, mode=0o644, size=0, tail=b''):
    return struct.pack('<BBHQqH', op, kind, mode, size, 0, len(path)) + \
        path + tail


def file_change(path, data=b'planted', mode=0o644, size=None):
    return change(CREATE, FILE, path, mode,
                  len(data) if size is None else size, ref(CHUNK, data))


def link_change(path, target):
    return change(CREATE, LINK, path, 0o777, len(target),
                  struct.pack('<H', len(target)) + target)


def job(state=EXITED, changes=None, job_id=ID, spec=None, receipt=0):
    final = state >= EXITED
    log = message((5, 1)) if final else None
    if final and changes is None:
        changes = message((3, 1))
    submit = spec and message((1, b'\7' * 16), (3, spec), (4, 40))
    return message((1, job_id), (2, b'root'), (3, 1), (4, state),
                   (6, int(final)), (10, submit), (15, log), (16, changes),
                   (17, receipt), (18, b'\5' * 32 if receipt else None),
                   (19, int(final)))


def reply(stream, kind, body=b'', more=False):
    return frame(stream, REPLY, MORE if more else 0, message((kind, body)))


def job_reply(stream, kind, record, more=False):
    return reply(stream, kind, message((3 if kind == ACCEPTED else 2, record)),
                 more)


def tell(host, stream, verb, record, *ahead):
    """The record, as STATUS or CHANGES ask for it, the latter with objects."""
    host.send(job_reply(stream, JOB, record, verb == CHANGES))
    if verb == CHANGES:
        host.objects(stream, *ahead)
        host.send(reply(stream, DONE))


def err(text, code=12):
    return message((1, code), (4, text))


# --- the connection ---

class Host:
    """One client's connection, and what the lies have to remember."""

    def __init__(self, sock):
        self.sock = sock
        self.seen = {}          # the stream of the last request, by its verb
        self.ended = set()      # streams whose client has no more to say
        self.data = {}

    def send(self, *parts):
        self.sock.sendall(b''.join(parts))

    def take(self, size):
        out = b''
        while len(out) < size:
            more = self.sock.recv(size - len(out))
            if not more:
                raise EOFError
            out += more
        return out

    def next(self):
        size, stream, kind, flags, _ = struct.unpack('<IIBBH', self.take(12))
        return stream, kind, flags, self.take(size)

    def objects(self, stream, *objects):
        data = b''.join(objects)
        for i in range(0, len(data), 60000):
            self.send(frame(stream, DATA, OBJECT, data[i:i + 60000]))

    def hold(self):
        """Say nothing more, and do not go away."""
        while True:
            stream, kind, flags, _ = self.next()
            if kind == PING and flags == 0:
                self.send(frame(0, PING, 1))


def honest(host, stream, verb, body):
    """What a host would say whose one job has ended well."""
    if verb == UPLOAD:
        host.send(reply(stream, UPLOADED))
    elif verb == SUBMIT:
        host.send(job_reply(stream, ACCEPTED, job(QUEUED), True),
                  frame(stream, DATA, STDOUT, b'output\n'),
                  job_reply(stream, RESULT, job()))
    elif verb == ATTACH:
        host.send(job_reply(stream, JOB, job(), True),
                  frame(stream, DATA, STDOUT, b'output\n'),
                  job_reply(stream, RESULT, job()))
    elif verb in (WAIT, KILL):
        host.send(job_reply(stream, RESULT, job()))
    elif verb in (STATUS, CHANGES):
        tell(host, stream, verb, job())
    elif verb == LIST:
        host.send(job_reply(stream, JOB, job(), True), reply(stream, DONE))
    elif verb == INFO:
        host.send(reply(stream, INFO_REPLY, message((2, 4), (3, 1 << 30))))
    elif verb == RECEIPT:
        host.send(frame(stream, DATA, BYTES, b'no receipt'),
                  reply(stream, DONE))
    else:
        host.send(reply(stream, DONE))


def changes_of(data, count, size=None):
    return message((1, count), (3, 1), (5, ref(CHUNK, data)),
                   (6, len(data) if size is None else size),
                   (7, digest(b'errand.changes', data)))


def serve_changes(host, stream, verb, entries, contents=(b'planted',)):
    """A job that changed just that, with all the digests right."""
    data = b'EC\1\0' + b''.join(entries)
    if verb in (STATUS, CHANGES):
        tell(host, stream, verb, job(changes=changes_of(data, len(entries))))
        return
    if verb != GET:
        honest(host, stream, verb, b'')
        return
    while stream not in host.ended:
        pump(host)
    known = {ref(CHUNK, c): c for c in (data, *contents)}
    asked = host.data.get(stream, b'')
    host.objects(stream, *(record_of(CHUNK, known[asked[i:i + 33]])
                           for i in range(0, len(asked), 33)
                           if asked[i:i + 33] in known))
    host.send(reply(stream, DONE))


def pump(host):
    """One frame that is not a new request."""
    stream, kind, flags, body = host.next()
    if kind == DATA:
        host.data[stream] = host.data.get(stream, b'') + body
    elif kind == END:
        host.ended.add(stream)
    elif kind == PING and flags == 0:
        host.send(frame(0, PING, 1))
    return stream, kind, body


# --- lies ---

def truth(host, stream, verb, body):
    honest(host, stream, verb, body)


def more_after_final(host, stream, verb, body):
    """Every final REPLY says that another one follows."""
    if verb == UPLOAD:
        host.send(reply(stream, UPLOADED, more=True))
    elif verb == SUBMIT:
        host.send(job_reply(stream, ACCEPTED, job(QUEUED), True),
                  reply(host.seen[UPLOAD], UPLOADED, more=True),
                  job_reply(stream, RESULT, job(), True))
    elif verb == LIST:
        host.send(*(job_reply(stream, JOB, job(spec=ref(CHUNK, b'%d' % i)),
                              True) for i in range(64)),
                  reply(stream, DONE, more=True))
    elif verb == GET and LIST in host.seen:
        late = host.seen[LIST]
        host.send(*(job_reply(late, JOB, job(spec=ref(CHUNK, b'x')), True)
                    for _ in range(70)))
        host.objects(stream, record_of(CHUNK, b'hello world'))
        host.send(reply(stream, DONE, more=True))
    elif verb in (ATTACH, WAIT, KILL):
        host.send(job_reply(stream, RESULT, job(), True))
    elif verb in (STATUS, CHANGES):
        host.send(job_reply(stream, JOB, job(receipt=1, spec=ref(
            CHUNK, b'spec'), changes=changes_of(b'EC\1\0', 0)), True))
    elif verb == INFO:
        host.send(reply(stream, INFO_REPLY, message((2, 4)), True))
    else:
        host.send(reply(stream, DONE, more=True))


def get_more(host, stream, verb, body):
    """The same for GET alone, with DATA after it."""
    if verb == GET:
        data = b'EC\1\0' + file_change(b'f')
        host.objects(stream, record_of(CHUNK, data))
        host.send(reply(stream, DONE, more=True))
        for _ in range(1000):
            host.send(frame(stream, DATA, OBJECT, b'\1'))
            time.sleep(0.0002)
    else:
        serve_changes(host, stream, verb, [file_change(b'f')])


def late_upload(host, stream, verb, body):
    """UPLOADED with more to follow, then again when nobody listens."""
    if verb == UPLOAD:
        host.send(reply(stream, UPLOADED, more=True))
    elif verb == SUBMIT:
        host.send(job_reply(stream, ACCEPTED, job(RUNNING), True))
        time.sleep(0.2)
        host.send(reply(host.seen[UPLOAD], UPLOADED, more=True))
        time.sleep(0.2)
        host.send(job_reply(stream, RESULT, job()))
    else:
        honest(host, stream, verb, body)


def get_late(host, stream, verb, body):
    """A GET is answered with what belongs to the one before it."""
    old = host.data.setdefault('get', stream)
    if verb == GET and old != stream:
        host.send(frame(old, DATA, OBJECT, record_of(CHUNK, b'late')),
                  reply(old, DONE))
    serve_changes(host, stream, verb, [file_change(b'f')])


def early_reply(host, stream, verb, body):
    """Answers to requests that were never made."""
    host.send(*(reply(stream + i, DONE) for i in range(2, 8)))


def data_after_end(host, stream, verb, body):
    """END, and then more."""
    host.send(frame(stream, DATA, OBJECT if verb == GET else STDOUT, b'a'),
              frame(stream, END),
              frame(stream, DATA, OBJECT if verb == GET else STDOUT, b'b'))


def data_after_reply(host, stream, verb, body):
    """DATA on a stream after its final REPLY; nothing that was asked for
    later is answered."""
    if host.data.get('told'):
        return
    host.data['told'] = True
    if verb in (STATUS, CHANGES, LIST, INFO):
        host.send(frame(stream, END), frame(stream, DATA, STDOUT, b'x'))
    honest(host, stream, verb, body)
    host.send(frame(stream, DATA, STDOUT, b'x'))


def only_accepted(host, stream, verb, body):
    """The job is accepted, and that was the last word."""
    if verb in (SUBMIT, ATTACH, WAIT):
        host.send(job_reply(stream, ACCEPTED, job(QUEUED)))
    else:
        honest(host, stream, verb, body)


def not_final(host, stream, verb, body):
    """The result of a job is that it runs."""
    if verb in (SUBMIT, ATTACH, WAIT, KILL):
        host.send(job_reply(stream, RESULT, job(RUNNING)))
    elif verb in (STATUS, CHANGES):
        tell(host, stream, verb, job(RUNNING))
    else:
        honest(host, stream, verb, body)


def last_job(host, stream, verb, body):
    """The last word on a job that is waited for is that it runs."""
    if verb in (SUBMIT, ATTACH, WAIT, KILL):
        host.send(job_reply(stream, JOB, job(RUNNING)))
    elif verb in (STATUS, CHANGES):
        tell(host, stream, verb, job(RUNNING))
    else:
        honest(host, stream, verb, body)


def wrong_kind(host, stream, verb, body):
    """A reply of another kind than was asked for."""
    host.send(reply(stream, INFO_REPLY if verb != INFO else UPLOADED))


def wrong_id(host, stream, verb, body):
    """Objects that are not what their ids say."""
    data = b'EC\1\0' + file_change(b'f')
    if verb == GET:
        host.objects(stream, record_of(CHUNK, b'EC\1\0',
                                       object_id(CHUNK, data)))
        host.send(reply(stream, DONE))
    else:
        serve_changes(host, stream, verb, [file_change(b'f')])


def other_object(host, stream, verb, body):
    """A right object, but not the one that was asked for."""
    if verb == GET:
        host.objects(stream, record_of(CHUNK, b'something else'))
        host.send(reply(stream, DONE))
    else:
        serve_changes(host, stream, verb, [file_change(b'f')])


def bad_job_id(host, stream, verb, body):
    """A job id that is a path."""
    tell(host, stream, verb, job(job_id=b'../../../../tmp/x'))


def ahead(host, stream, verb, body):
    """What comes along with a record, by its name."""
    data = b'EC\1\0' + file_change(b'f')
    record = job(changes=changes_of(data, 1))
    if verb != CHANGES:
        serve_changes(host, stream, verb, [file_change(b'f')])
    elif sys.argv[3] == 'id':
        tell(host, stream, verb, record,
             record_of(CHUNK, b'EC\1\0', object_id(CHUNK, data)))
    elif sys.argv[3] == 'many':
        tell(host, stream, verb, record,
             *(record_of(CHUNK, b'%d' % i) for i in range(65)))
    elif sys.argv[3] == 'cut':
        tell(host, stream, verb, record, record_of(CHUNK, data)[:60])
    elif sys.argv[3] == 'nothing':
        host.send(reply(stream, DONE))
    elif sys.argv[3] == 'late':
        host.objects(stream, record_of(CHUNK, data))
        host.send(reply(stream, DONE))
    elif sys.argv[3] == 'twice':
        host.send(job_reply(stream, JOB, record, True) * 2,
                  reply(stream, DONE))
    else:
        tell(host, stream, verb, record, record_of(CHUNK, b'for nobody'),
             record_of(CHUNK, data), record_of(CHUNK, b'planted'))


def cut_object(host, stream, verb, body):
    """Half an object, and done."""
    if verb == GET:
        host.objects(stream, record_of(CHUNK, b'x' * 100)[:80])
        host.send(reply(stream, DONE))
    else:
        serve_changes(host, stream, verb, [file_change(b'f')])


def evil_changes(host, stream, verb, body):
    """A list of changes that must not be, by its name."""
    outside = os.fsencode(sys.argv[4]) if len(sys.argv) > 4 else b'/tmp'
    lists = {
        'dotdot': [file_change(b'../planted')],
        'inner': [file_change(b'a/../../planted')],
        'last': [change(CREATE, DIR, b'a/..', 0o777)],
        'absolute': [file_change(outside + b'/planted')],
        'slashes': [file_change(b'a//planted')],
        'dot': [file_change(b'./planted')],
        'git': [file_change(b'.git/hooks/post-checkout', mode=0o755)],
        'git-case': [file_change(b'sub/.GiT/config')],
        'git-link': [link_change(b'.git', outside)],
        'nul': [file_change(b'a\0b')],
        'empty': [file_change(b'')],
        'twice': [file_change(b'f'), file_change(b'f')],
        'order': [file_change(b'g'), file_change(b'f')],
        'setuid': [file_change(b'f', mode=0o4755)],
        'kind': [change(CREATE, 7, b'f')],
        'parent-link': [link_change(b'l', outside),
                        file_change(b'l/planted')],
        'parent-dir': [link_change(b'l', outside),
                       change(CREATE, DIR, b'l/planted', 0o755)],
        'parent-link-link': [link_change(b'l', outside),
                             link_change(b'l/planted', b'x')],
        'dir-of-link': [link_change(b'l', outside),
                        link_change(b'm', b'l'),
                        file_change(b'm/planted')],
        'good': [change(CREATE, DIR, b'd', 0o755), file_change(b'd/f'),
                 link_change(b'l', outside)],
    }
    serve_changes(host, stream, verb, lists[sys.argv[3]])


def endless_jobs(host, stream, verb, body):
    if verb != LIST:
        honest(host, stream, verb, body)
        return
    many = job_reply(stream, JOB, job(), True) * 1000
    while True:
        host.send(many)


def endless_objects(host, stream, verb, body):
    """More objects than anybody asked for, whatever credit there is."""
    if verb != GET:
        serve_changes(host, stream, verb, [file_change(b'f')])
        return
    n = 0
    while True:
        host.objects(stream, *(record_of(CHUNK, b'%d' % (n + i))
                               for i in range(100)))
        n += 100


def endless_refs(host, stream, verb, body):
    """It needs objects, and more, and more."""
    if verb != SUBMIT:
        honest(host, stream, verb, body)
        return
    while True:
        host.send(frame(stream, DATA, REFS, ref(CHUNK, b'x') * 1900))


def endless_need(host, stream, verb, body):
    """The same object is asked for again and again."""
    if verb == SUBMIT:
        host.send(frame(stream, DATA, REFS, ref(CHUNK, b'x')),
                  reply(stream, NEED, message((1, 1))))
    else:
        honest(host, stream, verb, body)


def endless_receipt(host, stream, verb, body):
    if verb == STATUS:
        host.send(job_reply(stream, JOB, job(receipt=1)))
    elif verb == RECEIPT:
        while True:
            host.send(frame(stream, DATA, BYTES, b'r' * 60000))
    else:
        honest(host, stream, verb, body)


def endless_hello(host, stream, verb, body):
    while True:
        host.send(HELLO_FRAME * 100)


def huge_frame(host, stream, verb, body):
    host.send(frame(stream, REPLY, 0, b'x' * 4096, length=0xffffffff))
    host.hold()


def huge_data(host, stream, verb, body):
    host.send(frame(stream, DATA, STDOUT, b'x' * 4096, length=0x7fffffff))
    host.hold()


def huge_object(host, stream, verb, body):
    """Records that say they are 4 GiB."""
    if verb == GET:
        host.objects(stream, record_of(CHUNK, b'x', raw=0xffffffff,
                                       stored=0xffffffff))
        host.send(reply(stream, DONE))
    else:
        serve_changes(host, stream, verb, [file_change(b'f')])


def huge_changes(host, stream, verb, body):
    """A change list of 2^62 bytes."""
    data = b'EC\1\0' + file_change(b'f')
    if verb in (STATUS, CHANGES):
        tell(host, stream, verb,
             job(changes=changes_of(data, 1 << 62, 1 << 62)))
    else:
        serve_changes(host, stream, verb, [file_change(b'f')])


def huge_count(host, stream, verb, body):
    """2^62 entries in a list of one."""
    data = b'EC\1\0' + file_change(b'f')
    if verb in (STATUS, CHANGES):
        tell(host, stream, verb, job(changes=changes_of(data, 1 << 62)))
    else:
        serve_changes(host, stream, verb, [file_change(b'f')])


def huge_file(host, stream, verb, body):
    """A file of 2^62 bytes whose content is seven."""
    serve_changes(host, stream, verb,
                  [file_change(b'f', size=1 << 62)])


SLICE = 65536
PATTERN = bytes((i * 2654435761 >> 13) & 255 for i in range(SLICE + 13)) * 40


def flood(host, stream, start, end):
    """PATTERN from one place to another, in slices, within the credit."""
    for at in range(start, end, SLICE):
        host.send(frame(stream, DATA, STDOUT, PATTERN[at:min(at + SLICE, end)]))


def offset_of(body):
    """What an ATTACH asks for: (2, varint) behind (1, id) in the message."""
    attach = body[2:]
    at, n, shift = 2 + attach[1], 0, 0
    if at >= len(attach) or attach[at] != 2 << 3:
        return 0
    while True:
        at += 1
        n |= (attach[at] & 127) << shift
        shift += 7
        if attach[at] < 128:
            return n


def cut_flood(host, stream, verb, body):
    """Output that breaks off within a frame, again and again; what comes then
    is where the client says it is."""
    if verb not in (SUBMIT, ATTACH):
        honest(host, stream, verb, body)
        return
    at = offset_of(body) if verb == ATTACH else 0
    end = min(at + 700001, len(PATTERN))
    host.send(job_reply(stream, ACCEPTED if verb == SUBMIT else JOB,
                        job(RUNNING), True))
    flood(host, stream, at, end)
    if end == len(PATTERN):
        host.send(job_reply(stream, RESULT, job()))
        return
    host.send(frame(stream, DATA, STDOUT, PATTERN[end:end + 30001],
                    length=SLICE))
    host.sock.shutdown(socket.SHUT_RDWR)


def flood_beyond(host, stream, verb, body):
    """A flood that stops for no credit."""
    if verb in (SUBMIT, ATTACH):
        host.send(job_reply(stream, ACCEPTED if verb == SUBMIT else JOB,
                            job(RUNNING), True))
        while True:
            flood(host, stream, 0, len(PATTERN))
    honest(host, stream, verb, body)


def flood_mixed(host, stream, verb, body):
    """Long and short output, on both streams, with others' words between."""
    if verb != SUBMIT:
        honest(host, stream, verb, body)
        return
    host.send(job_reply(stream, ACCEPTED, job(RUNNING), True))
    at, sizes = 0, [SLICE, SLICE, 1, 40000, SLICE, 7, 32768, 32767, 3, SLICE]
    for i in range(2):
        for size in sizes:
            host.send(frame(stream, DATA, STDOUT, PATTERN[at:at + size]),
                      frame(stream, DATA, STDERR, b'%d ' % size),
                      frame(0, PING))
            at += size
    host.send(job_reply(stream, RESULT, job()))


def bad_message(host, stream, verb, body):
    """A body that is not a message."""
    host.send(frame(stream, REPLY, 0, b'\xff' * 200))


def goaway(host, stream, verb, body):
    """Goodbye, but the connection stays."""
    host.send(frame(0, GOAWAY, 0, err(b'this host is ' + EVIL.replace(
        b'\x9b', b'') + b' closing')))
    host.hold()


def goaway_first(host, stream, verb, body):
    """The same before anything was asked; see serve."""
    host.hold()


def reset(host, stream, verb, body):
    host.send(frame(stream, RESET, 0, err(b'denied ' + EVIL.replace(
        b'\x9b', b''))))


def evil_name(host, stream, verb, body):
    honest(host, stream, verb, body)


def evil_tenant(host, stream, verb, body):
    honest(host, stream, verb, body)


# --- the server ---

def hello(name=b'fake', tenant=b'root'):
    return frame(0, HELLO, 0, message(
        (1, 1), (2, 1), (3, b'0.1.0'), (4, tenant), (5, b'\x11' * 32),
        (6, name), (7, 1700000000000000)))


HELLO_FRAME = hello()


def serve(sock, name, lie):
    host = Host(sock)
    if name == 'evil_name':
        host.send(hello(name='a\x1b[31mb\r\nc\u009b2J\u202e'.encode()))
    elif name == 'evil_tenant':
        host.send(hello(tenant=b'../../\x1b[31m'))
    else:
        host.send(HELLO_FRAME)
    if name == 'goaway_first':
        host.send(frame(0, GOAWAY, 0, err(b'not today')))
    if name == 'noise':
        host.send(os.urandom(100000))
    while True:
        stream, kind, body = pump(host)
        if kind == OPEN:
            verb = body[0] >> 3
            lie(host, stream, verb, body)
            host.seen[verb] = stream


def noise(host, stream, verb, body):
    host.hold()


def main():
    path, name = sys.argv[1:3]
    lie = globals()[name]
    end = time.monotonic() + LIFE
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    while time.monotonic() < end:
        listener.settimeout(max(end - time.monotonic(), 0.1))
        try:
            sock, _ = listener.accept()
            sock.settimeout(30)
            with sock:
                serve(sock, name, lie)
        except (EOFError, OSError):
            continue


if __name__ == '__main__':
    main()
