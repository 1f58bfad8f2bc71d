#!/usr/bin/env python3
"""kill_cleanup: kill processes of a daemon at random moments, compare before and after.

usage: kill_cleanup --bin DIR --dir DIR --base UID [--kills N] [--seed N]

Starts errandd with a state directory below --dir, keeps clients submitting
jobs of several kinds, and kills (SIGKILL) what --base and its family run, one
process at a time.  Prints TAP: nothing of what the host lists (processes,
mounts, cgroups, loop devices, namespaces, directories of jobs) may differ from
what it listed before the daemon was started, and no client may hang.
"""
import argparse, os, random, signal, subprocess, sys, threading, time

ap = argparse.ArgumentParser(usage=__doc__)
ap.add_argument("--bin", required=True)
ap.add_argument("--dir", required=True)
ap.add_argument("--base", type=int, required=True)
ap.add_argument("--kills", type=int, default=500)
ap.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
ap.add_argument("--clients", type=int, default=3)
ap.add_argument("--prepared", type=int, default=0, help="sandboxes kept ready")
ap.add_argument("--disk", default="", help="--disk of some jobs, where that holds")
a = ap.parse_args()
rng = random.Random(a.seed)
BIN, T = os.path.abspath(a.bin), os.path.abspath(a.dir)
SOCK, CONTROL = T + "/run/errand.sock", T + "/run/control.sock"
ENV = dict(os.environ, HOME=T + "/home", XDG_STATE_HOME=T + "/data",
           ERRAND_HOST="unix:" + SOCK)
UIDS = range(a.base, a.base + 2000)
# What is killed how often; errandd and the shared workers wait before they are
# started again when they die too often.
WEIGHTS = {"errandd": 5, "exec": 5, "store": 5, "snapshot": 15, "keeper": 25,
           "pid1": 25, "command": 15, "client": 5}
JOBS = [
    ["--no-snapshot", "--", "true"],
    ["--no-snapshot", "--", "sh", "-c", "sleep 0.1 & sleep 0.05; echo x; exit 3"],
    ["--no-snapshot", "--", "sh", "-c", "setsid sleep 100 & mkdir -p d/e; head -c 300000 /dev/zero >d/e/f"],
    ["--include-all", "-C", T + "/tree", "--", "sh", "-c", "cat a >b; rm a; mkdir n; sleep 0.05"],
    ["--no-snapshot", "--as-root", "--", "sh", "-c", "seq 20000; chmod 0 .; sleep 0.1"],
]
if a.disk:
    WEIGHTS["disks"] = 5
    JOBS.append(["--no-snapshot", "--disk", a.disk, "--", "sh", "-c", "head -c 2000000 /dev/zero >f; sleep 0.1"])
stop = threading.Event()
hung, done, clients = [], [0], {}
lock = threading.Lock()
tests = [0, 0]


def ok(good, text, *why):
    tests[0] += 1
    tests[1] += not good
    print("%sok %d - %s" % ("" if good else "not ", tests[0], text))
    for w in why if not good else ():
        print("# " + str(w))
    sys.stdout.flush()


def stat(pid):
    with open("/proc/%d/stat" % pid) as f:
        s = f.read()
    comm, rest = s[s.index("(") + 1:s.rindex(")")], s[s.rindex(")") + 2:].split()
    return comm, rest[0], int(rest[1])


def table():
    out = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            try:
                out[int(d)] = stat(int(d))
            except (OSError, ValueError):
                pass
    return out


def mine(pid):
    """Ours by identity: a program of BIN about T, or one of our uids."""
    try:
        if os.stat("/proc/%d" % pid).st_uid in UIDS:
            return True
        with open("/proc/%d/status" % pid) as f:
            uids = [l for l in f if l.startswith("Uid:")][0].split()[1:]
        if any(int(u) in UIDS for u in uids):
            return True
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            words = f.read().split(b"\0")
        return words[0].startswith(BIN.encode() + b"/errand") and \
            any(T.encode() in w for w in words[1:])
    except (OSError, IndexError):
        return False


def listing():
    procs, spaces = [], set()
    for pid, (comm, state, _) in table().items():
        if state != "Z" and mine(pid):
            procs.append("%d %s" % (pid, comm))
            for ns in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
                try:
                    spaces.add(os.readlink("/proc/%d/ns/%s" % (pid, ns)))
                except OSError:
                    pass
    for ns in os.listdir("/proc/self/ns"):
        spaces.discard(os.readlink("/proc/self/ns/" + ns))
    with open("/proc/self/mountinfo") as f:
        mounts = [l.strip() for l in f if T in l]
    groups = []
    for top, dirs, _ in os.walk("/sys/fs/cgroup"):
        groups += [os.path.join(top, d) for d in dirs if d in TAGS or
                   os.path.basename(top) in TAGS]
    loops = []
    for d in os.listdir("/sys/block"):
        try:
            with open("/sys/block/%s/loop/backing_file" % d) as f:
                p = f.read()
            if T in p:
                loops.append(d + " " + p.strip())
        except OSError:
            pass
    dirs = []
    run = T + "/state/run"
    for u in sorted(os.listdir(run)) if os.path.isdir(run) else ():
        for part in ("jobs",):
            p = os.path.join(run, u, part)
            if os.path.isdir(p):
                dirs += [os.path.join(p, j) for j in os.listdir(p)]
    img = T + "/state/images"
    dirs += [os.path.join(img, x) for x in os.listdir(img)] if os.path.isdir(img) else []
    return {"processes": sorted(procs), "mounts": sorted(mounts),
            "cgroups": sorted(groups), "loop devices": sorted(loops),
            "namespaces": sorted(spaces), "directories": sorted(dirs)}


TAGS = set()


class Daemon:
    def __init__(self):
        self.p = None

    def up(self):
        log = open(T + "/errandd.log", "ab")
        self.p = subprocess.Popen([BIN + "/errandd", "-d", "-f", T + "/errandd.conf"],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  env=ENV, start_new_session=True)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if subprocess.run([BIN + "/errandctl", "-s", CONTROL, "status"], env=ENV,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                return
            if self.p.poll() is not None:
                break
            time.sleep(0.02)
        sys.exit("the daemon did not start; see %s/errandd.log" % T)

    def down(self, sig=signal.SIGTERM):
        self.p.send_signal(sig)
        self.p.wait(60)


def client_loop(n):
    r = random.Random(a.seed * 31 + n)
    while not stop.is_set():
        argv = [BIN + "/errand", "run"] + r.choice(JOBS)
        p = subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with lock:
            clients[n] = p.pid
        try:
            p.wait(90)
        except subprocess.TimeoutExpired:
            hung.append(" ".join(argv))
            p.kill()
            p.wait()
        with lock:
            clients[n] = None
            done[0] += 1


def roles(daemon):
    """The processes that can be killed now, by role."""
    t = table()
    kids = {}
    for pid, (comm, state, ppid) in t.items():
        if state != "Z":
            kids.setdefault(ppid, []).append(pid)
    out = {k: [] for k in WEIGHTS}
    if daemon.p.pid in t:
        out["errandd"].append(daemon.p.pid)
    for pid in kids.get(daemon.p.pid, ()):
        comm = t[pid][0]
        role = comm[7:] if comm.startswith("errand-") else None
        if role in out:
            out[role].append(pid)
        if role == "exec":
            out["keeper"] += kids.get(pid, [])
    for k in out["keeper"]:
        out["pid1"] += kids.get(k, [])
    for k in out["pid1"]:
        out["command"] += kids.get(k, [])
    with lock:
        out["client"] += [p for p in clients.values() if p]
    return out


def settle(seconds, good):
    end = time.monotonic() + seconds
    while not good() and time.monotonic() < end:
        time.sleep(0.05)
    return good()


def same(before):
    now = listing()
    return all(now[k] == before[k] for k in before)


def show_diff(before, now):
    return ["%s: %s" % (k, sorted(set(now[k]) ^ set(before[k]))[:6])
            for k in before if now[k] != before[k]]


def jobs_dirs():
    return [d for d in listing()["directories"] if "/jobs/" in d]


print("# seed %d: --seed %d repeats the choices" % (a.seed, a.seed))
for d in ("home", "data", "run", "tree"):
    os.makedirs(T + "/" + d, exist_ok=True)
with open(T + "/tree/a", "w") as f:
    f.write("a\n" * 1000)
with open(T + "/errandd.conf", "w") as f:
    f.write('state_dir = "%s/state"\nrun_dir = "%s/run"\nworker_dir = "%s"\n'
            'local_tenants = "auto"\nslots = 3\nidle_sandboxes = %d\ntenant_uids = "%d-%d"\n'
            'worker_uids = "%d-%d"\n' % (T, T, BIN, a.prepared, a.base, a.base + 999,
                                        a.base + 1000, a.base + 1255))
before = listing()
ok(not any(before.values()), "nothing is there before", before)
daemon = Daemon()
daemon.up()
st = os.stat(T + "/state")
TAGS.add("errand.%x-%x" % (st.st_dev, st.st_ino))
seen = {k: False for k in before}
threads = [threading.Thread(target=client_loop, args=(n,), daemon=True) for n in range(a.clients)]
for t in threads:
    t.start()
killed = {k: 0 for k in WEIGHTS}
last = time.monotonic()
while sum(killed.values()) < a.kills and time.monotonic() - last < 60:
    time.sleep(rng.uniform(0, 0.08))
    here = roles(daemon)
    names = [k for k in here if here[k]]
    if not names:
        continue
    role = rng.choices(names, [WEIGHTS[k] for k in names])[0]
    try:
        os.kill(rng.choice(here[role]), signal.SIGKILL)
    except ProcessLookupError:
        continue
    killed[role] += 1
    if sum(killed.values()) % 20 == 0:
        for k, v in listing().items():
            seen[k] = seen[k] or bool(v)
    last = time.monotonic()
    if role == "errandd":
        daemon.p.wait()
        daemon.up()
ok(sum(killed.values()) >= a.kills, "%d processes were killed" % a.kills, killed)
print("# killed: " + ", ".join("%s %d" % kv for kv in killed.items()) +
      "; %d jobs" % done[0])
ok(all(killed.values()), "some of each kind", killed)
must = ["processes", "namespaces", "directories"] + \
    (["loop devices"] if a.disk else []) + \
    (["cgroups"] if os.path.isdir("/sys/fs/cgroup/pids") or
     os.path.exists("/sys/fs/cgroup/cgroup.controllers") else [])
ok(all(seen[k] for k in must), "while jobs ran, there was something of each to see",
   [k for k in must if not seen[k]])
stop.set()
for t in threads:
    t.join(100)
ok(not hung, "no client hangs", *hung[:5])
ok(settle(60, lambda: len(jobs_dirs()) <= a.prepared), "no directory of a job is left while the daemon runs",
   *jobs_dirs()[:5])
ok(subprocess.run([BIN + "/errand", "-q", "--no-snapshot", "--", "true"], env=ENV,
                  stdin=subprocess.DEVNULL).returncode == 0, "a job runs as before")
daemon.down()
good = settle(30, lambda: same(before))
now = listing()
for k in before:
    ok(now[k] == before[k], "%s are what they were" % k, *show_diff(before, now))
print("1..%d" % tests[0])
sys.exit(tests[1] != 0)
