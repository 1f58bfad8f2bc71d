#!/bin/sh
# Images: directories of the operator's that jobs see in the place of the host's
# own files.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/image.sh"
need_program ldd

umask 022
me=$(id -u)
I=$T/images
mkdir "$I"
image_make "$I/plain" || skip_all 'no image can be made of the programs here'
cp -a "$I/plain" "$I/merged" && image_merge "$I/merged"

# A rich one: what distributions have, and what an image should not matter by.
cp -a "$I/merged" "$I/full"
(
	cd "$I/full" || exit 1
	mkdir -p etc/deep/er var/lib/db var/empty var/tmp home/app opt/tool \
	    srv data workspace tmp root boot
	echo 'ID=imagined' >etc/os-release
	echo deep >etc/deep/er/f
	echo 'root:x:0:0:root:/root:/bin/sh
runner:x:77:77::/:/bin/false
builder:x:1000:1000::/home/app:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin' >etc/passwd
	echo 'root:x:0:
daemon:x:1:
cdrom:x:24:' >etc/group
	echo secret >etc/shadow && chmod 600 etc/shadow
	echo 127.9.9.9 imagined >etc/hosts
	echo record >var/lib/db/r && ln -s lib/db var/db
	echo app >home/app/f && echo tool >opt/tool/f && echo data >data/f
	echo top >top.txt && ln -s data/f link.txt
	echo no >workspace/f && echo no >tmp/f && echo no >root/f
	cp bin/id usr/bin/suid-id && chmod 4755 usr/bin/suid-id
	chmod 1777 tmp
)

# A hostile one: names that are ours are links to somewhere else.
cp -a "$I/merged" "$I/links"
(
	cd "$I/links" || exit 1
	echo outside >"$I/outside" && chmod 644 "$I/outside"
	mkdir "$I/dir" && echo outside >"$I/dir/f"
	ln -s /etc workspace
	ln -s / tmp
	ln -s "$I/dir" home
	ln -s "../../../../../../../..$I/dir" var
	ln -s /proc/self/cwd run
	ln -s "$I/dir" opt
	mkdir etc && ln -s "$I/outside" etc/passwd && ln -s "$I/dir" etc/d
	ln -s /etc/shadow etc/group
)

# One whose programs are none.
mkdir -p "$I/broken/bin"
printf 'no program\n' >"$I/broken/bin/true" && chmod 755 "$I/broken/bin/true"
cp "$I/broken/bin/true" "$I/broken/bin/sh"

# One whose /etc is a link within it, without any user.
cp -a "$I/merged" "$I/moved"
mkdir -p "$I/moved/usr/share/etc" && ln -s /usr/share/etc "$I/moved/etc"
echo moved >"$I/moved/usr/share/etc/marker"

conf() {
	for c_i; do
		printf 'image "%s" { path = "%s" }\n' "$c_i" "$I/$c_i"
	done
}

# --- what an image may be: errandd -n ---

# bad TEXT PATTERN LINE...: the configuration is refused, with a place
bad() {
	b_text=$1 b_like=$2
	shift 2
	{ daemon_conf; printf '%s\n' "$@"; } >"$T/bad.conf"
	set -- -n -f "$T/bad.conf"
	[ "$me" -eq 0 ] || set -- --user "$@"
	"$BIN/errandd" "$@" 2>"$T/err"
	is "$?" 1 "$b_text"
	like "$(cat "$T/err")" "bad.conf:[0-9]+: .*$b_like" '... and said so, with the line'
}
mkdir -m 777 "$I/open" && mkdir -m 755 "$I/open/in" && chmod 777 "$I/open"
bad 'a path that is not absolute' 'no absolute path' 'image "a" { path = "srv/a" }'
bad 'a path that is not there' 'No such file' 'image "a" { path = "/nonexistent/a" }'
bad 'a file' 'not a directory' "image \"a\" { path = \"$I/plain/bin/sh\" }"
bad 'a directory that all may write to' 'chmod go-w' "image \"a\" { path = \"$I/open\" }"
bad 'one in such a directory' 'chmod go-w' "image \"a\" { path = \"$I/open/in\" }"
bad 'no path' 'it has no path' 'image "a" { }'
bad 'a name that is none' 'no name of an image' "image \"../a\" { path = \"$I/plain\" }"
bad 'the same name twice' 'duplicate title.*name of its own' \
    "image \"a\" { path = \"$I/plain\" }" "image \"a\" { path = \"$I/merged\" }"
bad 'the root itself' 'own root' 'image "a" { path = "/" }'
bad 'an unknown key' 'no such option' "image \"a\" { paht = \"$I/plain\" }"
if [ "$me" -eq 0 ]; then
	mkdir "$I/owned" && chown 12345 "$I/owned"
	bad "somebody else's directory" 'owned by uid 12345' \
	    "image \"a\" { path = \"$I/owned\" }"
	rm -r "$I/owned"
else
	skip 2 'needs root'
fi
rm -r "$I/open"

# --- jobs in them ---

ln -s full "$I/alias"
start_daemon 'slots = 4' "$(conf plain merged full links broken moved alias)"
tree image
echo 1 >f
job() { errand -q --image "$@" 2>&1; }
state_of() { (cd "$I" && find . -printf '%p %y %m %U %T@ %l\n' | sort | sha256sum); }
before=$(state_of)

like "$(errand info)" '^images +plain, merged, full, links, broken, moved, alias$' \
    'errand info lists them'
is "$(errand info --json | "$TOOLS/jget" images | cut -c1-17)" '["plain","merged"' \
    'for programs too'

uid=1000
[ -z "${ERRAND_TEST_BOUNDED-}" ] ||
    uid=$(sed -n 's/^host_uid = //p' "$T/state/tenants.d"/*.conf)
for i in plain merged full moved; do
	is "$(job $i -- sh -c 'cat f; id -u; pwd; echo 2 >n; ls /usr/share 2>&1 | grep -c doc')" \
	    "1${NL}$uid${NL}/workspace${NL}0" "$i: a job runs, in the image's files and not the host's"
	is "$(errand diff last)" 'A n' "$i: and its changes are taken"
	is "$(job $i -- sh -c 'for d in /tmp /var/tmp /run /dev/shm $HOME /workspace; do
	    echo x >$d/x && test "$(cat $d/x)" = x || echo "no $d"; done; ls -A /tmp /run')" \
	    "/run:${NL}x${NL}${NL}/tmp:${NL}x" "$i: the private directories are there, and empty"
	is "$(job $i -- sh -c 'for d in null zero full random urandom tty; do
	    test -c /dev/$d || echo "no $d"; done; test -r /proc/self/status &&
	    test -d /sys/devices/system/cpu && echo "$HOME" && id -un')" \
	    "/home/runner${NL}runner" "$i: devices, /proc, /sys, and a name"
	[ "$uid" -eq 1000 ] || { skip 1 'needs user namespaces'; continue; }
	is "$(job $i --as-root -- sh -c 'id -u; id -un; touch /root/x 2>/dev/null || echo no')" \
	    "0${NL}root${NL}no" "$i: as root inside"
done
is "$(job plain -- sh -c 'readlink /bin || echo plain')" plain 'directories stay directories'
is "$(job merged -- readlink /bin)" usr/bin 'links stay links'
is "$(job alias -- cat /etc/os-release)" ID=imagined 'the path may be a link to the image'

is "$(job full -- cat /etc/os-release /etc/deep/er/f /var/lib/db/r /var/db/r /home/app/f \
    /opt/tool/f /data/f /top.txt /link.txt | tr '\n' ' ')" \
    'ID=imagined deep record record app tool data top data ' \
    '/etc, /var, /home and whatever else is in it'
is "$(job full -- sh -c 'ls -A /workspace /tmp; cat /etc/shadow 2>/dev/null; cat /root/f 2>/dev/null')" \
    "/tmp:${NL}${NL}/workspace:${NL}.errandignore${NL}f" \
    'but for what is in the place of what is ours, and root'\''s secrets'
is "$(job full -- sh -c 'grep -c . /etc/passwd; grep -c ":$(id -u):" /etc/passwd; grep daemon: /etc/passwd
    grep -c imagined /etc/hosts; grep cdrom /etc/group')" \
    "4${NL}1${NL}daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin${NL}0${NL}cdrom:x:24:" \
    'its users are there beside ours, who come first; names are those of the sandbox'
is "$(job moved -- cat /etc/marker)" moved 'an /etc that is a link within the image'

# --- what jobs cannot do to it, and with it ---

is "$(job full -- sh -c 'for f in /usr/x /bin/x /etc/x /var/lib/db/x /home/app/x /opt/x /data/x /x /top.txt \
    /etc/os-release /usr/bin/id; do ( echo x >>$f ) 2>/dev/null && echo "wrote $f"; done
    chmod 777 /usr 2>/dev/null && echo chmod; rm /top.txt 2>/dev/null && echo rm; true')" '' \
    'a job cannot write to it'
[ "$uid" -eq 1000 ] || skip 1 'needs user namespaces'
[ "$uid" -ne 1000 ] || is "$(job full --as-root -- sh -c 'for f in /usr/x /bin/x /etc/x /var/lib/db/x /home/app/x /data/x /x /top.txt \
    /etc/os-release /usr/bin/id; do ( echo x >>$f ) 2>/dev/null && echo "wrote $f"; done
    chmod 777 /usr 2>/dev/null && echo chmod; rm /top.txt 2>/dev/null && echo rm; true')" '' \
    'nor as root inside'
is "$(job full -- suid-id -u)" "$uid" 'setuid programs in it are like any'
is "$(job links -- sh -c 'pwd; cat f; ls -A /tmp /run; test -L /workspace || test -L /tmp || echo dirs')" \
    "/workspace${NL}1${NL}/run:${NL}${NL}/tmp:${NL}dirs" \
    'a link in the place of what is ours is not there'
is "$(job links -- sh -c 'ls /home /var; cat /etc/passwd /etc/group /etc/d/f /opt/f 2>&1 | grep -cE "outside|^daemon"')" \
    "/home:${NL}runner${NL}${NL}/var:${NL}cache${NL}lib${NL}lock${NL}log${NL}run${NL}spool${NL}tmp${NL}0" \
    'and none leads to a file of the host'
is "$(job links -- id -un)" runner 'not even that of the users'
is "$(job full -- sh -c 'grep -E "images/(plain|merged|links|broken|moved)" /proc/self/mountinfo
    ls -d /images /view 2>/dev/null')" '' 'the other images are not in its view'
is "$(state_of)" "$before" 'and all are as they were'

# --- what is said ---

run errand -q --image nope -- true
is "$rc" 120 'an unknown image'
like "$(cat "$T/err")" 'no image "nope"; there is: plain, merged, full' 'is named, with those there are'
run errand -q --image ../plain -- true
is "$rc" 2 'a name that can be none is wrong usage'
run errand -q --image broken -- true
is "$rc" 126 'a program of an image that is none cannot be executed'
run errand -q --image plain -- nonesuch
is "$rc" 127 'one that is not in it is not found'
run errand -q -- true
is "$rc" 0 'jobs without an image are none the worse'
job full -- true
is "$(errand status last --json | "$TOOLS/jget" image)" full 'status names the image'
errand receipt last -o "$T/r"
is "$(errand verify --json "$T/r" | "$TOOLS/jget" image)" full 'and so does the receipt'
errand -q -- true
is "$(errand status last --json | "$TOOLS/jget" image)" null 'null without one'
errand -q --id one --image full -- true
errand -q --id one --image full -- true
is "$?" 0 'the same id and image are the same job'
run errand -q --id one --image plain -- true
is "$rc" 120 'another image under the id is another job'
like "$(cat "$T/err")" 'idempotency id' 'and refused'

# --- prepared sandboxes ---

made() { errandctl --json status | "$TOOLS/jget" sandboxes.made; }
was=$(made)
job full -- true
made_more() { [ "$(made)" -gt "$was" ]; }
check 'one is prepared for the image too' wait_for 10 made_more
is "$(job full -- cat /etc/os-release)" ID=imagined 'which the next job of it gets'
is "$(job plain -- sh -c 'cat /etc/os-release 2>/dev/null || echo none')" none 'and a job of another does not'
job broken -- true >"$T/out"
check 'one that cannot be prepared is no reason' wait_for 10 \
    grep -q 'image broken: no sandbox is prepared' "$T/errandd.log"
is "$(errandctl --json status | "$TOOLS/jget" sandboxes.note)" '' 'to prepare none of the others'

# --- an image that is gone ---

mv "$I/moved" "$I/moved.away"
stop_daemon
set -- -n -f "$T/errandd.conf"
[ "$me" -eq 0 ] || set -- --user "$@"
"$BIN/errandd" "$@" 2>"$T/err"
is "$?" 1 'an image that is gone is found at start'
mv "$I/moved.away" "$I/moved"

# --- a real one ---

if [ "$me" -eq 0 ] && command -v mmdebstrap >/dev/null && timeout 300 mmdebstrap \
    --variant=minbase --mode=root "$(. /etc/os-release; echo "${VERSION_CODENAME:-bookworm}")" \
    "$I/debian" >"$T/mmdebstrap.log" 2>&1; then
	start_daemon 'slots = 4' "$(conf debian)"
	is "$(job debian -- sh -c '. /etc/os-release; echo $ID; id -un; dpkg -s libc6 | grep -c ^Status')" \
	    "debian${NL}runner${NL}1" 'a directory of mmdebstrap'
	is "$(job debian -- perl -e 'print "perl\n"')" perl 'whose programs run'
else
	skip 2 'needs root, mmdebstrap and a Debian mirror'
fi

done_testing
