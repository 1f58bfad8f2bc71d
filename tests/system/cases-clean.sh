#!/bin/sh
# Nothing of a job stays, nothing outside it is touched; what it cannot reach;
# what of a file does not travel.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_root
need_program python3
# Prepared sandboxes would be counted.
start_daemon 'idle_sandboxes = 0'
work clean && : >.errandignore

left() { find "$T/state/run" -mindepth 3 -maxdepth 3 -path '*/jobs/*'; }
clean() { [ -z "$(left)" ]; }
mounts() { grep -c " $T/state/run" /proc/mounts; }

# --- what a job leaves ---

errand -q -- sh -c 'mkdir -p d/e; touch d/e/f; chmod 000 d/e d' 2>/dev/null
check 'directories without any permission are removed (CLEAN-A1)' wait_for 20 clean
errand -q -- true
is $? 0 'and the next job starts (CLEAN-A1)'
errand -q --as-root -- sh -c 'mkdir -p d/e; touch d/e/f; chown -R 77:77 d; chmod 000 d' 2>/dev/null
check 'files of another user inside, too' wait_for 20 clean
mkdir "$T/sentinel"; touch "$T/sentinel/f"; chmod 777 "$T/sentinel"; chmod 666 "$T/sentinel/f"
errand -q -- sh -c "ln -s $T/sentinel s; mkdir d; ln -s $T/sentinel d/s; ln -s / root; ln -s ../.. up"
wait_for 20 clean
check 'links out of a workspace are not followed by removal (CLEAN-A4)' test -e "$T/sentinel/f"
bad=
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	J=$(errand -qd -- sh -c 'echo up; while :; do echo x >f; mkdir -p a/b; rm -rf a; done')
	wait_for 20 has_output "$J" up || bad="$bad $i"
	errand kill "$J" >/dev/null 2>&1 || bad="$bad kill:$i"
done
check 'jobs killed while they write leave nothing (CLEAN-A5)' wait_for 20 clean
is "$bad $(mounts)" ' 0' 'no mount either (CLEAN-A5)'

mark=$((3000000 + $$))
J=$(errand -qd -- sh -c 'echo up; exec sleep '$mark)
wait_for 20 has_output "$J" up
tag=$(sed -n 's|.*/errand\.\([^/]*\)/.*|\1|p' "/proc/$(pgrep -f "[s]leep $mark" | head -n 1)/cgroup" | head -n 1)
errand kill -f "$J" >/dev/null 2>&1
if [ -n "$tag" ]; then
	for l in '' '--memory 64M' '--pids 50' '--cpus 1' '--memory 64M --pids 50 --cpus 1'; do
		# The words are options.
		# shellcheck disable=SC2086
		for i in 1 2 3; do errand -q $l -- true; done
	done
	groups() { find /sys/fs/cgroup -maxdepth 5 -type d -path "*/errand.$tag*/*" ! -name 'pool*' ! -name 'box*'; }
	few() { [ "$(groups | wc -l)" -le "$1" ]; }
	n=$(groups | wc -l)
	for i in 1 2 3 4 5 6; do errand -q --memory 80M -- true; done
	check 'control groups go with their jobs, whatever the limits (CLEAN-A3)' wait_for 20 few "$n"
else
	skip 1 'needs control groups'
fi

# --- what a job cannot reach ---

python3 - "$T" <<'END' &
import http.server, socket, sys, threading
h = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
a = socket.socket(socket.AF_UNIX)
a.bind("\0errand-probe-%d" % h.server_port)
a.listen(5)
threading.Thread(target=h.serve_forever, daemon=True).start()
open(sys.argv[1] + "/port", "w").write(str(h.server_port))
threading.Event().wait()
END
server=$!
wait_for 20 test -s "$T/port"
port=$(cat "$T/port")
connect() { python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 3)"; }
abstract="import socket; s = socket.socket(1); s.connect('\\0errand-probe-$port')"
check 'a service on the host answers there' connect
cannot 'a job cannot reach it by the loopback interface (NET-A2)' errand -q -- \
    python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 3)"
check 'an abstract socket on the host answers there' python3 -c "$abstract"
cannot 'a job cannot reach it (NET-A3)' errand -q -- python3 -c "$abstract"
kill $server; wait $server 2>/dev/null

# --- what of a file does not travel ---

cp /bin/true myid; chmod 4755 myid
run errand -- stat -c %a myid
is "$(cat "$T/out")" 755 'set-user-id is not sent (UID-A3)'
like "$(cat "$T/err")" 'myid: its set-user-id' 'which is said'
errand -q -- sh -c 'cp /bin/true s; chmod 6755 s; mkdir g; chmod 2777 g; touch ok'
errand -q fetch last --apply 2>/dev/null
is "$(stat -c %a s g)" "$(printf '755\n777')" 'nor does it come back (UID-A3)'
rm -rf s g ok myid
echo x >attr
if python3 -c 'import os; os.setxattr("attr", "user.k", b"v")' 2>/dev/null; then
	run errand -- python3 -c 'import os; print(os.listxattr("attr"), open("attr").read().strip())'
	is "$(cat "$T/out")" '[] x' 'extended attributes are not sent (META-A4)'
	like "$(cat "$T/err")" 'attr: its extended attributes are not sent' 'which is said (META-A4)'
else
	skip 2 'needs a file system with extended attributes'
fi
errand -q -- sh -c 'head -c 5000000 /dev/urandom >big; ln big big2; ln big big3'
errand -q fetch last --apply 2>/dev/null
check 'names of one file come home with its content (LINK-A3)' sh -c 'cmp big big2 && cmp big big3'
check 'which was kept once (LINK-A3)' test "$(field usage.disk_bytes)" -lt 7000000
errand -q -- rm big big2 big3
rm -f big big2 big3
done_testing
