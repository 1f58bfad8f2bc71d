#!/bin/bash
# Runs as a job: tries what a job must not be able to do, and says how it went
# in lines "ok TEXT" and "not ok TEXT: why".
#
#	job_probe.sh UID STATE PORT ABSTRACT MARK HOSTNAME
#
# UID is the one the job should have (neither 0 nor 1000: where there are no user
# namespaces); STATE the daemon's state directory; PORT
# and ABSTRACT are listened to on the host; MARK is in the command line of
# processes of the host and of another job; HOSTNAME is the host's.

uid=$1 state=$2 port=$3 abstract=$4 mark=$5 host=$6
here=$(dirname "$0")

ok() { echo "ok $1"; }
no() { echo "not ok $1: ${2:-}"; }
is() { if [ "$1" = "$2" ]; then ok "$3"; else no "$3" "$1, not $2"; fi; }
can() { if "${@:2}" >/dev/null 2>&1; then ok "$1"; else no "$1" failed; fi; }
cannot() {
	if out=$("${@:2}" 2>&1); then no "$1" "it worked: $out"; else ok "$1"; fi
}
status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }

# --- who it is ---

is "$(id -u)" "$uid" "its uid"
is "$(id -g)" "$uid" "its gid"
is "$(status Groups | tr -d ' ' | tr -d "$uid")" "" "no other groups"
is "$(status NoNewPrivs)" 1 "no new privileges"
is "$(status Seccomp)" 2 "a filter of system calls"
if [ "$uid" -ne 0 ]; then
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		is "$(status $set)" 0000000000000000 "$set is empty"
	done
fi
if [ "$uid" -eq 0 ] || [ "$uid" -eq 1000 ]; then
	is "$(wc -l </proc/self/uid_map)" 1 "one id is mapped"
	is "$(tr -s ' ' </proc/self/uid_map)" " $uid 0 1" "it is the sandbox's own"
	is "$(cat /proc/self/setgroups)" deny "setgroups is denied"
else
	is "$(id -un)" runner "it has a name"
	for id in 0 1 1000 $((uid + 1)) $((uid - 1)); do
		cannot "uid $id cannot be taken" perl -MPOSIX -e \
		    "POSIX::setuid($id) or exit 1"
		cannot "gid $id cannot be taken" perl -MPOSIX -e \
		    "POSIX::setgid($id) or exit 1"
	done
	is "$(stat -c %u /proc/1/status)" 0 "pid 1 is not for it to look at"
fi

# --- files of the host ---

can "control: programs can be read" test -r /bin/sh
can "control: the workspace can be written" sh -c ': >written'
cannot "/etc/shadow is not readable" cat /etc/shadow
cannot "/etc/gshadow is not readable" cat /etc/gshadow
cannot "/etc/ssh is not there" test -e /etc/ssh/ssh_host_ed25519_key
is "$(ls -A /root 2>/dev/null)" "" "/root is empty"
is "$(ls -A /home)" runner "/home has but its own"
for d in "$state" "$state/store" "$state/keys" "$state/keys/host.key" \
    "$state/run" "$state/logs" "$(dirname "$state")" /var/lib/errand \
    /run/errand /boot /media /lost+found /work; do
	cannot "no $d" ls "$d"
done
is "$(find /tmp /var/tmp /run -mindepth 1)" "" \
    "/tmp, /var/tmp and /run are empty"
for d in / /usr /usr/bin /usr/local /bin /lib /etc /opt /dev /sys /proc/sys \
    /var /home /mnt /srv; do
	[ -d "$d" ] || continue
	cannot "$d is not writable" sh -c ": >'$d/errand-probe'"
done
cannot "a program is not writable" sh -c ': >>/bin/sh'
cannot "a program cannot be removed" rm -f /usr/bin/env
cannot "/etc/passwd is not writable" sh -c ': >>/etc/passwd'
cannot "/usr cannot be mounted writable" mount -o remount,rw /usr
cannot "nothing can be mounted" mount -t tmpfs none /tmp
cannot "nothing can be bound" mount --bind /etc /tmp
cannot "nothing can be unmounted" umount /workspace
cannot "/proc cannot be unmounted" umount -l /proc
is "$(stat -c %i /)" "$(stat -c %i /..)" "nothing is above the root"
is "$(cd / && cd ../../../.. && ls)" "$(ls /)" "however often one goes up"
is "$(grep -c "$state" /proc/self/mountinfo)" 0 "mounts do not tell of the host"

# --- processes ---

seen=0
for p in /proc/[0-9]*; do
	seen=$((seen + 1))
	if tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -q "$mark " &&
	    [ "${p#/proc/}" -ne $$ ]; then
		no "processes of others are invisible" "$p"
	fi
	[ -e "$p/root/" ] || continue
	[ ! -e "$p/root/$state" ] || no "$p/root leads to the host"
	is "$(stat -Lc %d:%i "$p/root/")" "$(stat -c %d:%i /)" \
	    "the root of process ${p#/proc/} is its own"
done
if [ "$seen" -ge 2 ] && [ "$seen" -lt 9 ]; then
	ok "it sees its own processes"
else
	no "it sees its own processes" "$seen of them"
fi
is "$(cat /proc/1/comm)" errand-init "pid 1 is ours"
"$here/job_syscalls" trace
is "$("$here/job_syscalls" fds | tr '\n' ' ')" "" "no descriptor above 2"
is "$(readlink /proc/self/fd/0)" /dev/null "stdin is /dev/null"
cannot "stdin is not writable" sh -c 'echo >&0'

# What is executed is nobody's to overwrite, under whichever name.
for p in /proc/self/exe /proc/[0-9]*/exe /proc/[0-9]*/root/bin/sh; do
	cannot "$p is not writable" sh -c ": >>$p" 2>/dev/null
done
# A descriptor is no way to what is above what it is of.
exec 5</workspace 6</
for p in /proc/self/fd/5/../../.. /proc/self/fd/6/.. /proc/self/cwd/../..; do
	is "$(stat -Lc %d:%i $p)" "$(stat -c %d:%i /)" "$p ends at the root"
done
for f in /proc/self/fd/*; do
	is "$(stat -Lc %F "$f/../." 2>/dev/null | grep -v directory)" "" \
	    "$f leads nowhere else"
	cannot "$f leads to no state" ls "$f/../$state"
done
exec 5<&- 6<&-

# --- network ---

is "$(sed -n 's/^ *\(.*\):.*/\1/p' /proc/net/dev | grep -vE \
    '^(gre|gretap|erspan|sit|tunl|ip6|ip_vti|teql)' | tr '\n' ' ')" "lo " \
    "no interface but lo"
is "$(tail -n +2 /proc/net/route | wc -l)" 0 "no route"
cannot "the host's loopback is another" \
    bash -c "echo leak >/dev/tcp/127.0.0.1/$port"
cannot "abstract sockets of the host are not there" \
    "$here/job_syscalls" abstract "$abstract"
cannot "no address can be reached" \
    timeout 5 bash -c 'echo >/dev/tcp/192.0.2.1/80'

# --- privileges ---

cannot "su fails" su root -c true
cp /bin/sh setuid && chmod 6755 setuid
is "$(./setuid -c 'id -u')" "$uid" "a setuid program is a program"
for id in 1 12345 65534; do
	: >owned
	cannot "a file cannot be given to $id" chown "$id" owned
	cannot "nor to group $id" chgrp "$id" owned
done
rm -f owned setuid
for dev in "c 1 1" "c 1 3" "c 5 1" "b 8 0" "b 7 0" "c 0 0"; do
	# shellcheck disable=SC2086
	cannot "no device $dev" mknod node $dev
	rm -f node
done
cannot "the host name stays" hostname other
is "$(hostname)" errand "it is not the host's"
[ "$(hostname)" = "$host" ] && no "the host's name is hidden"
"$here/job_syscalls" calls

# --- the kernel's switches ---

w() { cannot "$2 stays" sh -c "echo '$1' >$2"; }
w x /proc/sys/kernel/core_pattern
w x /proc/sys/kernel/hostname
w 1 /proc/sys/kernel/sysrq
w 1 /proc/sys/vm/drop_caches
w 0 /proc/sys/user/max_user_namespaces
w 1 /proc/sys/net/ipv4/ip_forward
w x /proc/sys/kernel/modprobe
w '\055999' /proc/self/oom_score_adj
for f in sysrq-trigger kcore kmsg keys timer_list; do
	[ -e /proc/$f ] || continue
	if (: </proc/$f) 2>/dev/null; then
		is "$(stat -c %t:%T /proc/$f)" 1:3 "/proc/$f is covered"
	else
		ok "/proc/$f is covered"
	fi
done
cannot "no kernel log" dmesg
cannot "no other clock" date -s 2000-01-01
cannot "no uid map is written twice" sh -c 'echo 0 0 1 >/proc/self/uid_map'
for p in 1 self; do
	for f in uid_map gid_map projid_map setgroups oom_score_adj; do
		case $p/$f in
		self/setgroups) v=allow ;;
		*/oom_score_adj) v=-1000 ;;
		*) v='0 0 1' ;;
		esac
		cannot "/proc/$p/$f stays" sh -c "echo '$v' >/proc/$p/$f"
	done
done
is "$(ls -A /sys)" devices "/sys has but the processors"
cannot "no cgroups" ls /sys/fs/cgroup

# --- limits ---

is "$("$here/job_syscalls" core)" "signal 11, core 0" "no core"
is "$(find . -name 'core*')" "" "really none"
can "enough descriptors" test "$(ulimit -n)" -ge 256
can "a limit of processes" test "$(ulimit -u)" != unlimited
cannot "limits are not raised" bash -c 'ulimit -Hc unlimited'
# shellcheck disable=SC2016
cannot "priority is not raised" nice -n -5 sh -c '[ "$(nice)" -lt 0 ]'
is "$(umask)" 0022 "the umask"
is "$(env | sed 's/=.*//' | grep -vE '^(_|PWD|OLDPWD|SHLVL)$' | sort |
    tr '\n' ' ')" "ERRAND_JOB ERRAND_WORKSPACE HOME LANG LOGNAME PATH SHELL \
TERM TMPDIR USER " "nothing else in its environment"
exit 0
