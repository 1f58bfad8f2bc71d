#!/bin/sh
# Jobs that are root in an image and have more ids than one: what they can do
# with them inside, whose they are outside, and what is left of them.
# shellcheck disable=SC2016,SC2154

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/image.sh"

if [ "$(id -u)" -ne 0 ]; then
	skip 1 'needs root'
	done_testing
	exit 0
fi

LIMIT=30
base=$((1900000000 + $$ % 10000 * 10000))
more=$((base + 2000))
tenants=$T/state/tenants.d
for p in setpriv chown chgrp id; do
	image_which "$p" >/dev/null || { skip 1 "needs $p"; done_testing; exit 0; }
done
image_make "$T/image"
image_programs "$T/image" setpriv chown mv cp find
start_daemon 'slots = 4' "tenant_uids = \"$base-$((base + 999))\"" \
    "worker_uids = \"$((base + 1000))-$((base + 1255))\"" \
    "image \"i\" { path = \"$T/image\" }"
errandctl tenant add alpha --uid 0 >/dev/null
errandctl tenant add beta --uid 1000 >/dev/null
mkdir "$T/tree" "$T/tree/sub"
: >"$T/tree/.errandignore"
echo text >"$T/tree/f"
echo text >"$T/tree/sub/g"
cd "$T/tree" || exit 1

# job ARGUMENT...: what it prints
job() {
	timeout 60 "$BIN/errand" run -q --image i "$@" 2>&1 </dev/null
}
# file TENANT LINE: the line goes to the tenant's file
file() { echo "$2" >>"$tenants/$1.conf"; }
unfile() { sed -i '/^image_uids/d' "$tenants/$1.conf"; }

like "$(job --as-root -- chown 33 f)" 'Invalid argument' \
    'with one id nobody else can own a file'

# --- what a range can be ---

# refused RANGE PATTERN WHY
refused() {
	file alpha "image_uids = \"$1\""
	like "$("$BIN/errandd" -n -f "$T/errandd.conf" 2>&1)" "$2" "$3"
	unfile alpha
}
refused 0-70 'no range of uids' 'not one with the root of the host'
refused "$more-$((more + 65535))" 'at most 65535' 'not one larger than any program knows'
refused "$((base + 999))-$more" 'overlap' 'not one with ids of other tenants'
refused "$((base + 1255))-$more" 'overlap' 'nor of workers'
file beta "image_uids = \"$((more + 10))-$((more + 1000))\""
refused "$more-$((more + 10))" 'image_uids overlap with those of' 'nor of another range'
unfile beta
file beta 'image_uids = "1000-1009"'
out=$("$BIN/errandd" -n -f "$T/errandd.conf" 2>&1)
like "$out" 'uid 1000 is in image_uids' "nor the tenant's own user"
unfile beta
file alpha "image_uids = \"$more-$((more + 65534))\""
kill -HUP "$daemon_pid"
said() { errandctl status | grep -q 'image_uids cannot change while'; }
check 'one that runs keeps what it had' wait_for $LIMIT said
stop_daemon
run_daemon
errandctl tenant set alpha --slots 4 >/dev/null
like "$(cat "$tenants/alpha.conf")" "image_uids = \"$more-" \
    'a file that errandd writes keeps it'

# --- inside ---

is "$(job --as-root -- sh -c 'chown 33:8 f && chown -h 65534 sub/g && stat -c %u:%g f sub/g')" \
    "33:8
65534:0" 'root gives files to others'
is "$(job --as-root -- setpriv --reuid 33 --regid 33 --groups 4,5 \
    sh -c 'id -u; id -g; id -G; touch /tmp/mine; stat -c %u /tmp/mine; rm -f f 2>/dev/null || echo no')" \
    "33
33
33 4 5
33
no" 'and runs programs as them, who cannot do what root can'
is "$(job --as-root -- setpriv --reuid 33 --regid 33 --clear-groups \
    setpriv --reuid 0 true >/dev/null && echo root || echo no)" no \
    'from there nothing leads back'
is "$(job --as-root -- sh -c 'cat /proc/self/uid_map /proc/self/gid_map' | tr -s ' ')" \
    " 0 0 1
 1 1 65535
 0 0 1
 1 1 65535" 'its maps name no id of the host'
is "$(job -- sh -c 'cat /proc/self/uid_map; chown 33 f' | tr -s ' ' | head -n 1)" \
    ' 1000 0 1' 'who is not root has one id as ever'
like "$(timeout 60 "$BIN/errand" run -q --as-root -- chown 33 f 2>&1)" \
    'Invalid argument' 'nor has who has no image'
is "$(job --as-root -- sh -c 'mv sub other && ls other')" g \
    'a directory of the tree can be renamed by mv'

# What it cannot do is the same as with one id.
cp "$BUILD/tests/tools/job_syscalls" .
for what in calls trace; do
	out=$(job --as-root -- ./job_syscalls $what)
	like "$out" '^ok ' "$what: were tried"
	is "$(printf '%s\n' "$out" | grep -v '^ok ')" '' "$what: as refused as ever"
done
is "$(job --as-root -- ./job_syscalls fds)" '' 'no descriptor is left open'
is "$(job --as-root -- sh -c 'for i in 0 1 65535; do echo "$i 0 1" >/proc/self/uid_map ||
    echo no; done 2>/dev/null' | tr '\n' ' ')" 'no no no ' 'its map is not written again'
rm job_syscalls

# --- outside ---

timeout 60 "$BIN/errand" run -q --image i --as-root -- setpriv --reuid 33 \
    --regid 33 --clear-groups sleep 3600 >/dev/null 2>&1 &
client=$!
pid_of() { pgrep -u "$((more + 32))" -x sleep; }
check 'its processes have ids of its range' wait_for $LIMIT pid_of
errand kill -q last
wait "$client"

out=$(job --as-root -- sh -c 'mkdir d d/e; echo new >d/e/n; echo changed >f
    chmod 4755 d/e/n; chown -R 33:33 d f; chmod 000 d/e/n d/e d')
rc=$?
is "$rc" 0 'a job that gives away what it made'
rm -rf "$T/got"
errand fetch -q last -o "$T/got" >/dev/null 2>&1
chmod -R u+rwX "$T/got"
is "$(cat "$T/got/d/e/n" "$T/got/f")" "new
changed" \
    'and shuts it: it is collected all the same'
is "$(find "$T/got" ! -uid 0 | wc -l)" 0 'and is its owner'\''s where it is fetched'

job --as-root --cache c=/workspace/c -- sh -c 'mkdir -p c/d; echo 1 >c/d/f; chown -R 33:33 c/d; chmod 700 c/d' >/dev/null
saved() { [ -n "$(find "$T/state/run/$base/caches" -name f)" ]; }
check 'a cache is saved' saved
is "$(find "$T/state/run/$base/caches" ! -uid "$base" | wc -l)" 0 "it is the tenant's alone"
is "$(job --cache c=/workspace/c -- cat c/d/f)" 1 'and any job of its has it'

# --- what is left ---

not_owned() { ! owned; }
owned() { [ -n "$(find "$T/state/run/$base/jobs" -uid "$((more + 32))")" ]; }
check 'the jobs before have left nothing of them' wait_for $LIMIT not_owned
timeout 60 "$BIN/errand" run -q --image i --as-root -- sh -c 'mkdir d d/e; echo x >d/e/x
    chown -R 33:33 d; chmod 700 d d/e; sleep 3600' >/dev/null 2>&1 &
client=$!
check 'control: a job has files of its other ids' wait_for $LIMIT owned
box=$(find "$T/state/run/$base/jobs" -uid "$((more + 32))" | sed "s|.*/jobs/\([^/]*\)/.*|\1|" | head -n 1)
pkill -9 -u "$base" -x errand-keeper
wait "$client"
gone() { [ ! -e "$T/state/run/$base/jobs/$box" ]; }
check 'when its keeper is killed nothing stays' wait_for $LIMIT gone
is "$(find "$T/state" -uid +"$((more - 1))" -uid -"$((more + 65535))" | wc -l)" 0 \
    'no file of its range is left on the host'

done_testing
