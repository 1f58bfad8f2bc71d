#!/bin/sh
# A job saves a cache, and its keeper dies, or the host loses power, at each point
# of that which the sources name: the next job sees what was saved last or the
# new state, whole, and what is left of the other goes.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/loop.sh"
need_loop
need_program mkfs.xfs python3 setpriv pgrep

[ -x "$BUILD-crash/bin/errand-exec" ] || {
	echo "make CRASH=1 builds what is tested here" >&2
	exit 1
}
points=$(cd "$TOP" && grep -hoE 'CRASH_POINT\("cache-[^"]+"\)' \
    worker-exec/*.c lib/*.c | cut -d '"' -f 2)
is "$(echo "$points" | sort | uniq -d)" '' 'no two crash points have one name'

# Its words are in a file beside it, which is found through /proc/self/exe.
mkdir "$T/bin"
chmod 711 "$T"
for p in errandd errand-snapshot errand-store errand errandctl; do
	ln -s "$BIN/$p" "$T/bin/$p"
done
cp "$BUILD-crash/bin/errand-exec" "$T/bin/errand-exec"
words() { echo "$*" >"$T/bin/crash.conf"; }
words

base=$((2000000000 + $$ % 10000 * 10000))
conf() {
	daemon_conf | sed "s|^worker_dir.*|worker_dir = \"$T/bin\"|"
	cat <<-END
	defaults { cache_total = 6M }
	tenant_uids = "$base-$((base + 999))"
	worker_uids = "$((base + 1000))-$((base + 1255))"
	END
}
conf >"$T/errandd.conf"
mkdir "$T/tree"
echo x >"$T/tree/file"

job() {
	timeout 60 "$BIN/errand" run -q -C "$T/tree" --include-all "$@" \
	    >"$T/out" 2>"$T/err"
}

# Files that every state has anew (f), that no state changes (k), that come and go
# (o), and all of them large enough to be lost when nothing flushes them.
writes='cd out; g=$1
for i in 0 1 2 3 4 5 6 7 8 9; do
	head -c 60000 /dev/zero | tr "\0" "$g" >f$i
	mkdir -p k; [ -e k/$i ] || head -c 60000 /dev/zero | tr "\0" K >k/$i
done
rm -f o*; head -c 4000 /dev/zero | tr "\0" "$g" >o$g'
# What there is, each once: N entries, and of f, k and o which one.
shows='import os
v = set()
for top, dirs, names in os.walk("out"):
	for n in names:
		b = open(top + "/" + n, "rb").read()
		whole = len(b) == (4000 if n[0] == "o" else 60000)
		v.add(chr(b[0]) if whole and b.count(b[0]) == len(b) else "damaged")
print(len(os.listdir("out")), "".join(sorted(v)))'
# state G: what that prints of the state G
state() { printf '12 K%s' "$1"; }

save() { job "$@" --cache c=out -- sh -c "$writes" sh "$g"; }
# Others are saved before, so that room has to be made for each state.
others() {
	for o in 1 2 3 4 5 6; do
		job --cache "x$o=out" -- sh -c 'head -c 900000 /dev/zero | tr "\0" x >out/x'
	done
}
see() {
	job --cache c=out -- python3 -c "$shows"
	cat "$T/out"
}
caches() { find "$T"/state/run/*/caches -mindepth 1 -maxdepth 1 -name "$1" 2>/dev/null; }
none_left() { [ -z "$(caches '.[0-9a-f]*')" ]; }
at_point() { grep -q "^\(crash point\|at\) $1$" "$T/errandd.log"; }

# The next letter, so that each state differs from the one before.
letters=abcdefghijklmnopqrstuvwx
next() {
	n=$((n % 24 + 1))
	g=$(echo $letters | cut -c $n)
}
n=0

# The former or the new one.
judge() {
	got=$(see)
	case "$got" in
	"$(state "$g")") was=$g ;;
	"$(state "$was")") ;;
	*) bad="$bad $1: $got, not $was or $g;" ;;
	esac
	seen="$seen$1: $got
"
}

# first: a daemon, and a state that was saved
first() {
	words
	run_daemon
	others
	next
	save
	was=$g
	is "$(see)" "$(state "$was")" "$1: a state is saved"
}

# --- the keeper dies ---

first killed
bad='' left='' seen='' missed=''
for p in $points; do
	how=
	[ "$p" != cache-copied ] || how='--disk 8M'
	stop_daemon
	words "point=$p$(case $p in *-moved | *-copied | *-kept) echo :7 ;; esac)"
	: >"$T/errandd.log"
	run_daemon
	next
	# shellcheck disable=SC2086
	save $how
	at_point "$p" || missed="$missed $p"
	wait_for 20 none_left || left="$left $p"
	stop_daemon
	words
	run_daemon
	judge "$p"
done
is "$missed" '' 'a keeper comes to each point of it'
is "$bad" '' 'dead at any of them, it leaves the last state or the new one'
is "$left" '' 'and nothing else, before the daemon starts again'
diag "$seen"
stop_daemon
rm -rf "$T/state"

# --- the power goes ---

cut_power() {
	python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$T/state"
}
# Others flush while it is saved, and with that what the file system has noted so
# far, but not the content of files.
sync_names() {
	: >"$T/state/flush"
	python3 -c 'import os, sys
os.fsync(os.open(sys.argv[1], os.O_RDONLY))' "$T/state/flush"
}
fs_up() {
	umount "$T/state" 2>/dev/null
	mount "$loop_dev" "$T/state" && touch "$T/state/touched" 2>/dev/null
}
no_workers() { ! pgrep -r S,R,D -u "$(seq -s, $base $((base + 3))),$((base + 1000)),$((base + 1001))" >/dev/null; }

# power_round WORDS POINT: a job saves, and at that point the power goes
power_round() {
	stop_daemon
	words "trace=cache- pause=$2:4000000 $1"
	: >"$T/errandd.log"
	run_daemon
	next
	how=
	[ "$2" != cache-copied ] || how='--disk 8M'
	# shellcheck disable=SC2086
	save $how &
	client=$!
	wait_for 20 at_point "$2" || missed="$missed $2"
	sync_names
	cut_power
	kill -s KILL -- "-$daemon_pid" 2>/dev/null
	kill "$client" 2>/dev/null
	wait "$client" "$daemon_pid" 2>/dev/null
	daemon_pid=
	wait_for 20 no_workers
	wait_for 20 fs_up || { diag "$loop_dev does not come up"; exit 1; }
	words
	run_daemon
}

# power FS POINT...
power() {
	fs=$1
	shift
	loop_make "$fs" 320M
	"mkfs.$fs" -q "$loop_dev"
	mkdir -p "$T/state"
	mount "$loop_dev" "$T/state"
	first "$fs"
	bad='' left='' seen='' missed=''
	for p; do
		power_round '' "$p"
		wait_for 20 none_left || left="$left $p"
		judge "$p"
	done
	is "$missed" '' "$fs: the power goes at each point"
	is "$bad" '' "$fs: what there is afterwards is the last state or the new one"
	is "$left" '' "$fs: and nothing else, once the daemon has started"
	diag "$seen"
}

# shellcheck disable=SC2086
power ext4 $points
# The machinery itself: a state that takes its place before it is flushed.
bad='' missed='' seen=''
for i in 1 2 3; do
	[ -z "$bad" ] || break
	power_round mutant=no-cache-flush cache-swept
	judge no-flush
done
like "$bad" 'no-flush' 'without the flush before it, that is found out'
diag "$bad"
stop_daemon
umount "$T/state"
# shellcheck disable=SC2086
power xfs $points
stop_daemon
done_testing
