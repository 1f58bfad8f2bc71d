#!/usr/bin/env python3
"""peers: time errand beside what people use today, in one run.

usage: peers [--bin DIR] [--rounds N] [--out DIR] [--seed N] [WHAT ...]

WHAT is one of p1 p2 p3 p4 p5 p13 p14 p15 p17; default: all.  Needs root, a private sshd is
started on 127.0.0.1 for rsync and ssh.  Prints medians, ranges and ratios;
with --out writes report.json with every raw sample.  Variants take turns
(A B B A); a failed command ends the run.
"""
import argparse, json, os, platform, random, shutil, signal, statistics
import subprocess, sys, tempfile, time

ap = argparse.ArgumentParser(usage=__doc__)
ap.add_argument("--bin", default="build/bin")
ap.add_argument("--rounds", type=int, default=7)
ap.add_argument("--out")
ap.add_argument("--seed", type=int, default=20261130)
ap.add_argument("what", nargs="*")
a = ap.parse_args()
what = a.what or ["p1", "p2", "p3", "p4", "p5", "p13", "p14", "p15", "p17"]
rng = random.Random(a.seed)
bindir = os.path.abspath(a.bin)
top = tempfile.mkdtemp(prefix="errand-bench.")
os.chmod(top, 0o755)
env = dict(os.environ, HOME=top, XDG_STATE_HOME=top + "/client",
           ERRAND_HOST="unix:" + top + "/run/errand.sock")
env["PATH"] = bindir + ":" + env["PATH"]
report = {"seed": a.seed, "rounds": a.rounds, "machine": platform.uname()._asdict(),
          "cpus": os.cpu_count(), "samples": {}, "complete": False}
procs = []


def run(argv, cwd=None, **k):
    p = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, **k)
    if p.returncode != 0:
        sys.exit("%s: status %d\n%s" % (argv, p.returncode, p.stderr.decode(errors="replace")))
    return p


def timed(argv, cwd=None):
    t = time.perf_counter()
    run(argv, cwd)
    return time.perf_counter() - t


def tree(name, files):
    d = os.path.join(top, "src", name)
    for path, size in files:
        p = os.path.join(d, path)
        os.makedirs(os.path.dirname(p), exist_ok=True)
        with open(p, "wb") as f:
            f.write(rng.randbytes(size))
    old = time.time() - 60
    for r, ds, fs in os.walk(d):
        for f in fs:
            os.utime(os.path.join(r, f), (old, old))
    return d


WORK = {
    "big": [("d%d/f%d" % (i % 8, i), 65536) for i in range(128)],
    "small": [("d%d/f%d" % (i % 10, i), 1024) for i in range(1000)],
    "wide": [("d%d/f%d" % (i % 100, i), 1024) for i in range(10000)],
}


def start_errandd():
    conf = top + "/errandd.conf"
    with open(conf, "w") as f:
        f.write('state_dir = "%s/state"\nrun_dir = "%s/run"\nlocal_tenants = "auto"\n'
                'defaults { log = "2G" }\n' % (top, top))
    log = open(top + "/errandd.log", "w")
    p = subprocess.Popen([bindir + "/errandd", "-d", "-f", conf], env=env, stdin=subprocess.DEVNULL,
                         stdout=log, stderr=log)
    procs.append(p)
    for _ in range(200):
        q = subprocess.run([bindir + "/errandctl", "-s", top + "/run/control.sock", "status"],
                           env=env, capture_output=True)
        if q.returncode == 0:
            return p
        time.sleep(0.05)
    sys.exit("errandd did not start: " + open(top + "/errandd.log").read())


def start_sshd():
    d = top + "/ssh"
    os.mkdir(d, 0o700)
    os.makedirs("/run/sshd", exist_ok=True)
    for k in ("host", "user"):
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", d + "/" + k])
    shutil.copy(d + "/user.pub", d + "/authorized")
    os.chmod(d + "/authorized", 0o600)
    with open(d + "/sshd_config", "w") as f:
        f.write("Port 22922\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\n"
                "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n" % (d, d))
    procs.append(subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", d + "/sshd_config"],
                                  stderr=subprocess.DEVNULL))
    ssh = ["ssh", "-q", "-p", "22922", "-i", d + "/user", "-o", "StrictHostKeyChecking=no",
           "-o", "UserKnownHostsFile=/dev/null", "-o", "ControlMaster=auto",
           "-o", "ControlPath=" + d + "/mux", "-o", "ControlPersist=600"]
    for _ in range(100):
        if subprocess.run(ssh + ["127.0.0.1", "true"], capture_output=True).returncode == 0:
            return ssh
        time.sleep(0.05)
    sys.exit("sshd did not start")


def flush_cost():
    v = []
    with open(top + "/append", "ab", buffering=0) as f:
        for _ in range(50):
            t = time.perf_counter()
            f.write(b"x" * 200)
            os.fdatasync(f.fileno())
            v.append(time.perf_counter() - t)
    return statistics.median(v)


def compare(name, variants, rounds=None, before=None):
    """variants: {label: function returning seconds}; A B B A."""
    samples = {k: [] for k in variants}
    keys = list(variants)
    for i in range(rounds or a.rounds):
        for k in (keys if i % 2 == 0 else keys[::-1]):
            if before:
                before(k)
            samples[k].append(variants[k]())
    report["samples"][name] = samples
    med = {k: statistics.median(v) for k, v in samples.items()}
    for k, v in samples.items():
        print("  %-34s %8.2f ms  (%.2f to %.2f, n=%d)" % (k, med[k] * 1e3, min(v) * 1e3, max(v) * 1e3, len(v)))
    return med


ERRAND_NONE = ["errand", "run", "-q", "--no-snapshot", "--", "true"]
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
         "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
         "--tmpfs", "/tmp", "true"]


def job(d):
    return timed(["errand", "run", "-q", "--include-all", "--", "true"], d)


def forget():
    shutil.rmtree(top + "/client", ignore_errors=True)


def edit(d):
    p = os.path.join(d, "d1/f1")
    with open(p, "r+b") as f:
        f.write(rng.randbytes(7))


def shipped(d):
    q = run(["errand", "status", "last", "--json"], d)
    return json.loads(q.stdout)["tree"]


def apply_one(fl):
    """One changed file of wide, applied by errand and by git apply."""
    d = tree("apply", WORK["wide"])
    p = os.path.join(d, "d1/f1")
    with open(p, "rb") as f:
        old = f.read()
    run(["git", "init", "-q", "."], d)
    run(["git", "add", "."], d)
    job(d)
    run(["errand", "run", "-q", "--include-all", "--", "sh", "-c", "echo changed >>d1/f1"], d)
    with open(p, "ab") as f:
        f.write(b"changed\n")
    with open(top + "/patch", "wb") as f:
        f.write(run(["git", "diff", "--binary"], d).stdout)

    def before(_):
        with open(p, "wb") as f:
            f.write(old)

    def apply(argv):
        t = timed(argv, d)
        with open(p, "rb") as f:
            if f.read() != old + b"changed\n":
                sys.exit("not applied")
        return t
    print("P17 apply of one change in wide")
    m = compare("p17", {"errand fetch --apply": lambda: apply(["errand", "fetch", "-q", "last", "--apply"]),
                        "git apply": lambda: apply(["git", "apply", top + "/patch"])}, 4 * a.rounds, before)
    e, g = m["errand fetch --apply"], m["git apply"]
    print("  bound 1.5 x git apply + 3 flushes = %.2f ms: %s" % (
        (1.5 * g + 3 * fl) * 1e3, "holds" if e <= 1.5 * g + 3 * fl else "MISSED"))


def run_time(d):
    return json.loads(run(["errand", "status", "last", "--json"], d).stdout)["phases_us"]["run"] / 1e6


def output():
    """A GiB out of a job to a follower here, and a GiB copied inside of one.

    Both read the same 16 MiB 64 times, so that neither has to bring a GiB of
    source into memory.  The copy is removed at the end: its memory is used again
    by the next one; errand's log is kept, on the disk.
    """
    d = tree("output", [("f", 1)])
    prepare = "truncate -s 16M big; set --; for i in 1 2 3 4 5 6 7 8; do set -- \"$@\"" + 8 * " big" + "; done; "

    def inside(script):
        run(["errand", "run", "-q", "--include-all", "--", "sh", "-c", prepare + script], d)
        return run_time(d)

    def followed():
        t = time.perf_counter()
        p = subprocess.Popen(["errand", "run", "-q", "--include-all", "--", "sh", "-c", prepare + 'cat "$@"'],
                             cwd=d, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        n = subprocess.run(["wc", "-c"], stdin=p.stdout, stdout=subprocess.PIPE).stdout
        if p.wait() or int(n) != 1 << 30:
            sys.exit("the output is not whole")
        return time.perf_counter() - t
    print("P14 output of a job, 1 GiB, followed through a pipe; the log flushed and kept")
    m = compare("p14", {"errand": followed,
                        "cat into a file, in a job": lambda: inside('cat "$@" >copy; rm copy')},
                min(a.rounds, 5))
    r = m["cat into a file, in a job"] / m["errand"]
    print("  ratio of rates %.3f (target 0.35): %s" % (r, "holds" if r >= 0.35 else "MISSED"))


def private(pid):
    """KiB of private pages, those of the index's map left out."""
    n, count = 0, True
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            w = line.split()
            if not w[0].endswith(":"):
                count = not line.rstrip().endswith(".mdb")
            elif w[0].startswith("Private_") and w[0] != "Private_Hugetlb:" and count:
                n += int(w[1])
    return n


def below(pid, name):
    """Processes of that name, at any depth."""
    out = []
    for t in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, t)) as f:
            for c in map(int, f.read().split()):
                with open("/proc/%d/comm" % c) as g:
                    if g.read().strip() == name:
                        out.append(c)
                out += below(c, name)
    return out


def memory(daemon):
    run(ERRAND_NONE)
    time.sleep(2)               # the sandbox for the next is made, and all is quiet
    box = below(daemon, "errand-keeper")[0]
    figures = {"errandd": private(daemon), "errand-store": private(below(daemon, "errand-store")[0]),
               "a sandbox that waits": private(box) + sum(map(private, below(box, "errand-init")))}
    alone = private(daemon)
    run(["errand", "run", "-q", "-d", "--no-snapshot", "--", "sleep", "600"])
    ps = [subprocess.Popen(["errand", "logs", "-f", "last"], env=env, stdin=subprocess.DEVNULL) for _ in range(8)]
    time.sleep(2)
    figures["a connection that waits"] = \
        statistics.median(map(private, below(daemon, "errand-snapshot"))) + max(0, private(daemon) - alone) / 8
    for p in ps:
        p.terminate()
        p.wait()
    subprocess.run(["errand", "kill", "-f", "last"], env=env, capture_output=True)
    report["samples"]["p15"] = figures
    print("P15 private pages, KiB")
    for k, v in figures.items():
        most = 8192 if k.startswith("errand") else 1024
        print("  %-34s %8d  at most %d: %s" % (k, v, most, "holds" if v <= most else "MISSED"))


def bench():
    fl = flush_cost()
    print("one small append with fdatasync: %.3f ms" % (fl * 1e3))
    report["flush_s"] = fl
    if "p1" in what:
        print("P1 job none")
        m = compare("p1", {"errand none": lambda: timed(ERRAND_NONE), "bwrap true": lambda: timed(BWRAP),
                           "ssh true, multiplexed": lambda: timed(ssh + ["127.0.0.1", "true"])}, 4 * a.rounds)
        e, b = m["errand none"], m["bwrap true"]
        print("  bound 1.5 x bwrap + 3 flushes = %.2f ms: %s; 0.7 x bwrap + 3 flushes = %.2f ms; ssh/errand = %.1f" % (
            (1.5 * b + 3 * fl) * 1e3, "holds" if e <= 1.5 * b + 3 * fl else "MISSED", (0.7 * b + 3 * fl) * 1e3,
            m["ssh true, multiplexed"] / e))
    if "p13" in what:
        def many():
            t = time.perf_counter()
            ps = [subprocess.Popen(ERRAND_NONE, env=env, stdin=subprocess.DEVNULL) for _ in range(16)]
            if any(p.wait() for p in ps):
                sys.exit("a job failed")
            return time.perf_counter() - t
        print("P13 16 jobs at once")
        m = compare("p13", {"one": lambda: timed(ERRAND_NONE), "sixteen": many})
        print("  ratio %.1f (target 10)" % (m["sixteen"] / m["one"]))
    for pn, w, target in (("p2", "big", 0.4), ("p3", "wide", 0.12)):
        if pn not in what:
            continue
        print("%s job %s cold" % (pn.upper(), w))
        count = [0]

        def cold():
            # New content each time, so that nothing of it is known anywhere.
            count[0] += 1
            d = tree("%s%d" % (w, count[0]), WORK[w])
            forget()
            return d

        def errand_cold():
            return job(cold())

        def rsync_cold():
            d = cold()
            dst = d + ".copy"
            return timed(["rsync", "-a", "--fsync", "-e", " ".join(ssh), d + "/", "127.0.0.1:" + dst])
        m = compare(pn, {"errand": errand_cold, "rsync --fsync over ssh": rsync_cold}, min(a.rounds, 3 if w == "wide" else 5))
        print("  ratio %.3f (target %.2f)" % (m["errand"] / m["rsync --fsync over ssh"], target))
    if "p4" in what or "p5" in what:
        d = tree("wide", WORK["wide"])
        copy = d + ".copy"
        run(["rsync", "-a", d + "/", copy])
        job(d)

        def errand_edit():
            edit(d)
            return job(d)
        print("P4, P5 job wide warm and edit")
        m = compare("p4", {"errand warm": lambda: job(d), "rsync -a local, unchanged": lambda: timed(["rsync", "-a", d + "/", copy])},
                    2 * a.rounds)
        p4 = m["errand warm"]
        print("  ratio %.3f (target 0.5); shipped %s" % (p4 / m["rsync -a local, unchanged"], shipped(d)))
        m = compare("p5", {"errand edit": errand_edit})
        print("  edit - warm = %.2f ms (target 8); shipped %s" % ((m["errand edit"] - p4) * 1e3, shipped(d)))
    if "p14" in what:
        output()
    if "p15" in what:
        memory(procs[-1].pid)
    if "p17" in what:
        apply_one(fl)


try:
    ssh = start_sshd()
    start_errandd()
    bench()
    report["complete"] = True
finally:
    for p in procs[::-1]:
        p.send_signal(signal.SIGTERM)
    for p in procs:
        p.wait()
    if a.out:
        os.makedirs(a.out, exist_ok=True)
        with open(a.out + "/report.json", "w") as f:
            json.dump(report, f, indent=1)
    shutil.rmtree(top, ignore_errors=True)
