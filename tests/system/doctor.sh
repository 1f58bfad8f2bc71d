#!/bin/sh
# errandctl doctor says what a host lacks, and how to mend it: each lack is
# made in namespaces of the test's own.

# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
need_program unshare setpriv
need_root
unshare -m --propagation private true 2>/dev/null ||
    skip_all 'needs a root that is a mount (not a chroot)'

doctor=$BIN/errandctl
# with SHELL-COMMANDS: doctor after them, in a mount namespace of its own
with() {
	unshare -m --propagation private sh -c "$1"'
		exec "$0" -s /nowhere/control.sock doctor' "$doctor" 2>&1
}
# lacks COMMANDS LEVEL NAME PATTERN TEXT: a line of that level, and a remedy
lacks() {
	out=$(with "$1")
	rc=$?
	want=0
	[ "$2" = BAD ] && want=1
	if printf '%s\n' "$out" | grep -Eq "^$2 +$3 .*$4" &&
	    printf '%s\n' "$out" | grep -A1 "^$2 *$3 " | grep -q 'to mend it: ' &&
	    [ $rc -eq $want ]; then
		ok "$5"
	else
		not_ok "$5"
		diag "status $rc" "$out"
	fi
}
empty=$T/empty
mkdir "$empty"

lacks ':' less daemon 'no socket at /nowhere' 'no daemon is no fault, and said'
lacks "mount --bind $empty /usr/sbin" less 'disk limits' 'mkfs.ext4' \
    'no mkfs.ext4: --disk will be refused'
lacks 'mount -t tmpfs none /sys/fs' less cgroups 'no cgroups' 'no cgroups'
lacks 'mount -t tmpfs none /proc/sys' BAD proc 'covered' \
    'a /proc that is covered in part'
echo 'builder:1879100000:65536' >"$T/subuid"
lacks "mount --bind $T/subuid /etc/subuid" BAD identities \
    'builder in /etc/subuid' 'subordinate uids that clash'
{ cat /etc/passwd; echo 'odd:x:1879150000:100::/:/bin/sh'; } >"$T/passwd"
lacks "mount --bind $T/passwd /etc/passwd" BAD identities 'user odd' \
    'a user who clashes'
# The setting is of the user namespace that it is made in.
out=$(unshare -Ur --map-users 0,0,1 sh -c 'echo 0 >/proc/sys/user/max_user_namespaces
    exec "$0" -s /nowhere/control.sock doctor' "$doctor" 2>&1)
rc=$?
like "$out" '^less +user namespaces .*max_user_namespaces.*bounded' \
    'closed user namespaces, by which setting, and what then'
rc=$(printf '%s\n' "$out" | grep -c '^BAD.*namespaces')
is "$rc" 0 'which as root is not the end'
like "$out" '^less +overlay .*not tried' 'what cannot be tried is not claimed'

json=$("$doctor" -s /nowhere/control.sock --json doctor)
check '--json is a list of names, levels, findings and remedies' \
    python3 -c 'import json,sys
d = json.loads(sys.argv[1])
assert len(d) >= 10, len(d)
assert all(set(o) == {"name", "level", "found", "mend"} for o in d), d
assert all((o["mend"] is None) == (o["level"] == "ok") for o in d), d' "$json"
start_daemon 'slots = 9'
for l in less:128 less:0 ok:144; do
	echo "${l#*:}" >"$T/instances"
	out=$(unshare -m --propagation private sh -c "mount --bind $T/instances \
	    /proc/sys/fs/inotify/max_user_instances && exec $doctor -s $CONTROL doctor" 2>&1)
	like "$out" "^${l%:*} +inotify " "${l#*:} inotify instances for 9 slots: ${l%:*}"
	[ "$l" = less:128 ] && like "$(printf '%s\n' "$out" | grep -A1 inotify | tr '\n' ' ')" \
	    'max_user_instances=128 is enough for 8 jobs .* 9 slots.*to mend it: sysctl -w fs.inotify.max_user_instances=144' \
	    'with the numbers, and the one that would do'
done
# Whether or not this machine's root has the right.
out=$(setpriv --bounding-set=-sys_resource "$BIN/errandctl" -s "$CONTROL" doctor 2>&1)
like "$(printf '%s\n' "$out" | grep -A1 '^less *limits' | tr '\n' ' ')" \
    'one job can take the signals .*to mend it: give errandd CAP_SYS_RESOURCE' \
    'without the right to raise limits, jobs share some: said, and what to do'
like "$(errandctl doctor)" '^(ok|less) +limits ' 'with it, or without: looked at'
like "$(errandctl doctor)" "^ok +daemon +answers at $CONTROL" \
    'a daemon that runs is found'
done_testing
