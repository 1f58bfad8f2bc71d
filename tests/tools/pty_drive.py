#!/usr/bin/env python3
"""Runs a command on a terminal and does what a person would.

    pty_drive.py [-s ROWSxCOLS] [-t SECONDS] [-i FILE] [-g] STEP... -- COMMAND...

The command is the leader of a session whose terminal is a new one; with -i its
standard input is FILE instead.  With -g it is not the leader but a child of
one, in the foreground, as a command of an interactive shell is.  Steps, in
this order:

    expect:REGEX   until the output since the last match has it
    send:TEXT      type; backslash escapes are understood
    size:ROWSxCOLS change the size
    kill:SIGNAL    to the command
    kill:SIGNAL:N  to process N
    stopped        until the command has stopped
    raw, cooked    until the terminal is
    hangup         close the terminal
    run:COMMAND    by sh

When they are done, waits for the command's end.  All that it wrote goes to
stdout; the last line is "status N modes same" (or "changed": the terminal's
modes before and after), N as a shell would have it.  A step that does not come
true within the time makes that line "step STEP failed", and the exit status 1.
"""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time


class Failed(Exception):
    pass


def arguments(argv):
    o = {'size': (24, 80), 'time': 20.0, 'input': None, 'child': False}
    i = 1
    while i < len(argv) and argv[i].startswith('-') and argv[i] != '--':
        if argv[i] == '-s':
            o['size'] = tuple(int(n) for n in argv[i + 1].split('x'))
        elif argv[i] == '-t':
            o['time'] = float(argv[i + 1])
        elif argv[i] == '-i':
            o['input'] = argv[i + 1]
        elif argv[i] == '-g':
            o['child'] = True
            i -= 1
        i += 2
    end = argv.index('--', i)
    return o, argv[i:end], argv[end + 1:]


class Terminal:
    def __init__(self, o, command):
        self.limit = o['time']
        self.out = b''
        self.seen = 0
        self.master, slave = os.openpty()
        self.resize(*o['size'])
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            self.become(o, command)

    def become(self, o, command):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for fd in 0, 1, 2:
            os.dup2(self.slave, fd)
        if o['input'] is not None:
            os.dup2(os.open(o['input'], os.O_RDONLY), 0)
        os.closerange(3, 256)
        if o['child']:
            self.lead(command)
        os.execvp(command[0], command)

    def lead(self, command):
        """As a shell: report a stop by a file, wait for the end."""
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(1, os.getpgrp())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execvp(command[0], command)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _, st = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(st)
        os._exit(code if code >= 0 else 128 - code)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack('HHHH', rows, cols, 0, 0))

    def target(self):
        """The command itself: we, or the child of our leader."""
        kids = open('/proc/%d/task/%d/children' % (self.pid, self.pid)).read()
        return int(kids.split()[0]) if self.child and kids.split() else \
            self.pid

    child = False

    def read(self, wait):
        if self.master == -1:
            time.sleep(min(wait, 0.05))
            return False
        r, _, _ = select.select([self.master], [], [], wait)
        if not r:
            return False
        try:
            got = os.read(self.master, 65536)
        except OSError:
            got = b''
        self.out += got
        return got != b''

    def until(self, what):
        end = time.monotonic() + self.limit
        while not what():
            if time.monotonic() > end:
                raise Failed
            if not self.read(0.05):
                time.sleep(0.01)

    def expect(self, text):
        pattern = re.compile(text.encode(), re.S)
        found = []

        def look():
            found[:] = [pattern.search(self.out, self.seen)]
            return found[0] is not None
        self.until(look)
        self.seen = found[0].end()

    def is_raw(self):
        return termios.tcgetattr(self.slave)[3] & termios.ICANON == 0

    def step(self, s):
        name, _, rest = s.partition(':')
        if name == 'expect':
            self.expect(rest)
        elif name == 'send':
            os.write(self.master, rest.encode().decode('unicode_escape')
                     .encode('latin1'))
        elif name == 'size':
            self.resize(*(int(n) for n in rest.split('x')))
        elif name == 'kill':
            sig, _, pid = rest.partition(':')
            os.kill(int(pid) if pid else self.target(),
                    getattr(signal, 'SIG' + sig))
        elif name == 'stopped':
            self.until(lambda: open('/proc/%d/stat' % self.target()).read()
                       .rsplit(')', 1)[1].split()[0] == 'T')
        elif name == 'raw':
            self.until(self.is_raw)
        elif name == 'cooked':
            self.until(lambda: not self.is_raw())
        elif name == 'hangup':
            os.close(self.slave)
            os.close(self.master)
            self.master = self.slave = -1
        elif name == 'run':
            subprocess.run(['sh', '-c', rest], stdin=subprocess.DEVNULL,
                           check=False)
        else:
            raise Failed

    def ended(self):
        if self.status is None:
            pid, st = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                code = os.waitstatus_to_exitcode(st)
                self.status = code if code >= 0 else 128 - code
        return self.status is not None


def main():
    o, steps, command = arguments(sys.argv)
    t = Terminal(o, command)
    t.child = o['child']
    rc = 0
    last = ''
    try:
        for s in steps:
            last = s
            t.step(s)
        last = 'end'
        t.until(t.ended)
        while t.read(0.2):
            pass
        same = 'gone' if t.slave == -1 else 'same' if \
            termios.tcgetattr(t.slave) == t.before else 'changed'
        line = 'status %d modes %s' % (t.status, same)
    except (Failed, OSError) as e:
        line = 'step %s failed %s' % (last, e)
        os.kill(t.pid, signal.SIGKILL)
        rc = 1
    sys.stdout.buffer.write(t.out)
    sys.stdout.flush()
    print('\n' + line)
    return rc


sys.exit(main())
