#!/bin/sh
# What of a tree is sent, that it arrives as it is, and that only what is new
# travels.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program git
start_daemon

# arrived: the paths in the workspace of a job, one a line
# What is there but the host's stand-in for .git.
arrived() {
	errand -q "$@" -- find . -mindepth 1 -path ./.git -prune -o -print |
	    sed 's|^\./||' | LC_ALL=C sort
}
commit() { git add -A && git commit -q -m "${1:-x}"; }

# --- Git work trees ---

repo git
echo tracked >a && git add a
echo fresh >b
is "$(errand -q -- cat a b | tr '\n' ' ')" 'tracked fresh ' \
    'tracked and untracked files are sent (SEL-A1)'
printf '*.gen\n/out/\nd/\n!d/sub/*\n' >.gitignore
mkdir -p out d/sub empty/deep keep only
echo x >api.gen && git add -f api.gen
echo x >other.gen; echo x >out/o; echo s >d/sub/f.txt; echo k >keep/k
echo x >only/x.gen
is "$(errand -q -- cat api.gen)" x 'tracked files are sent although a rule matches (IGN-A5)'
is "$(arrived | tr '\n' ' ')" \
    '.gitignore a api.gen b empty empty/deep keep keep/k only ' \
    'ignored ones are not, not even through a negation below (IGN-A1)'
is "$(errand ls | tr '\n' ' ')" \
    '.gitignore a api.gen b empty/ empty/deep/ keep/ keep/k only/ ' 'ls says the same'
git -c user.name=t commit -q -m one
rm a
is "$(arrived | grep -c '^a$')" 0 'a tracked file that was deleted is not sent'
mkdir a && echo 1 >a/in
is "$(errand -q -- cat a/in)" 1 'a tracked file that became a directory is sent as it is'
rm -r a && ln -s b a
is "$(errand -q -- readlink a)" b 'or a link'
is "$(arrived --include-all | grep -c -e '^\.git' -e '/\.git$')" 1 \
    '.git is never sent, with --include-all either'
is "$(arrived --include-all | grep -c -e out/o -e d/sub/f.txt)" 2 \
    '--include-all sends what is ignored'

repo nested
echo top >f; git add f
git init -q inner && echo '*.o' >inner/.gitignore && echo i >inner/i && echo o >inner/i.o
(cd inner && git add i && mkdir -p deep && echo u >deep/u)
is "$(arrived | tr '\n' ' ')" 'f inner inner/.gitignore inner/deep inner/deep/u inner/i ' \
    'a repository inside is part of the tree, under its own rules'
work module && git init -q . && echo m >m && commit
repo super
git -c protocol.file.allow=always submodule -q add "$T/w/module" sub 2>/dev/null
echo new >sub/new
is "$(arrived | tr '\n' ' ')" '.gitmodules sub sub/m sub/new ' 'so is a submodule'
is "$(cd sub && errand -q -- pwd)" /workspace 'which is a tree of its own when one stands in it'
work linked-main && git init -q . && commit_it=1 && echo 1 >f && commit "$commit_it"
git worktree add -q ../linked-wt 2>/dev/null && cd ../linked-wt || exit 1
echo x >g
is "$(arrived | tr '\n' ' ')" 'f g ' 'a linked work tree is sent like any other (SEL-A3)'

repo readonly
echo 'bundle/vendor/' >.gitignore && mkdir -p bundle/vendor && echo keep >bundle/vendor/blah
echo 1 >f && git add f .gitignore
touch f
state() {
	find . -not -path './.git*' -printf '%p %s %T@ %A@ %m %i\n' | sort
	find .git -type f -printf '%p %s %T@\n' | sort
	sha256sum .git/index
}
# Directories are read, which may set their access time.
state | sed 's/ [^ ]* \([0-9]* [0-9]*\)$/ \1/' >"$T/before"
errand -q -- sh -c 'echo x >new; rm f'
state | sed 's/ [^ ]* \([0-9]* [0-9]*\)$/ \1/' >"$T/after"
check 'a run changes nothing in the tree or the index (SEL-A2)' \
    cmp "$T/before" "$T/after"

# --- .errandignore ---

tree ignore
mkdir -p secret build/keep src/build; echo k >secret/key; echo p >plain
echo o >build/o; echo k >build/keep/k; echo b >src/build/b; echo l >a.log; echo l >keep.log
printf '%s\n' '# comment' 'secret/' '/build/*' '!/build/keep/' '*.log' '!keep.log' >.errandignore
is "$(arrived | tr '\n' ' ')" \
    '.errandignore build build/keep build/keep/k keep.log plain src src/build src/build/b ' \
    '.errandignore: patterns, anchors and negations as in gitignore'
tree ignore2
mkdir -p d/sub; echo s >d/sub/f; printf 'd/\n!d/sub/*\n' >.errandignore; echo p >plain
is "$(errand ls | tr '\n' ' ')" '.errandignore plain ' \
    'nothing comes back from below an excluded directory'
work ignore3
mkdir cfg && echo 'secret/' >cfg/ig && mkdir tree && cd tree || exit 1
ln -s ../cfg/ig .errandignore
mkdir secret && echo k >secret/key && echo p >plain
is "$(errand ls | tr '\n' ' ')" '.errandignore plain ' \
    'an ignore file that is a link is followed (IGN-A3)'
ln -sf nowhere .errandignore
run errand -q -- true
is "$rc" 120 'one that cannot be read sends nothing'
like "$(cat "$T/err")" 'errandignore' 'and says so'
tree ignore4
echo data >a; ln a b; echo /a >.errandignore
is "$(errand -q -- sh -c 'test ! -e a && cat b')" data \
    'an excluded name does not take its hard link along (LINK-A1)'

# --- kinds of files ---

tree kinds
ln -s /opt/tool/bin/x abs; ln -s nowhere dangling; ln -s b a; ln -s a b; ln -s . self
mkdir dir && ln -s ../dir dir/up && ln -s dir tolink && echo 1 >dir/f
errand -q -- sh -c 'for l in abs dangling a b self dir/up tolink; do
    echo "$l $(readlink $l)"; done; cat tolink/f' >"$T/got"
is "$(tr '\n' ';' <"$T/got")" \
    'abs /opt/tool/bin/x;dangling nowhere;a b;b a;self .;dir/up ../dir;tolink dir;1;' \
    'links are sent as they are: absolute, dangling, in a circle (SYM-A1, SYM-A2)'
mkfifo fifo
python3 -c 'import socket; socket.socket(1).bind("agent.sock")'
run timeout 20 "$BIN/errand" -- cat dir/f
is "$rc $(cat "$T/out")" '0 1' 'a FIFO and a socket do not hold it up (SPEC-A1, SPEC-A2)'
like "$(cat "$T/err")" 'fifo: a FIFO' 'the FIFO is named'
like "$(cat "$T/err")" 'agent.sock: a socket' 'and the socket'
is "$(arrived | grep -c -e fifo -e agent)" 0 'neither is sent'
tree hard
echo 1 >one; ln one two
run errand -- sh -c 'echo 2 >one; cat two'
is "$(cat "$T/out")" 1 'hard links become copies (LINK-A2)'
like "$(cat "$T/err")" 'two: a hard link to one' 'which is said'
tree modes
umask 022
echo x >f; mkdir d; chmod 640 f; chmod 750 d
printf '#!/bin/sh\nexit 7\n' >s
errand -q -- true
is "$(errand -q -- stat -c %a f d | tr '\n' ' ')" '640 750 ' \
    'permission bits arrive exactly (META-A2)'
chmod +x s
errand -q -- ./s
is $? 7 'a change of mode alone is a change (META-A1)'
chmod 4755 f; chmod 2755 s; chmod 1777 d
is "$(errand -q -- stat -c %a f s d | tr '\n' ' ')" '755 755 777 ' \
    'set-user-id, set-group-id and sticky bits are not sent'
touch -d '2024-01-02 03:04:05.123456789 UTC' f
touch -d '1931-02-03 04:05:06.7 UTC' s
is "$(errand -q -- stat -c %.9Y f s | tr '\n' ' ')" \
    '1704164645.123456789 -1227902093.300000000 ' \
    'times arrive to the nanosecond (META-A3)'
touch -d '+2 hours' f
is "$(errand -q -- stat -c %Y f)" "$(stat -c %Y f)" 'those in the future too (CLK-A2)'
tree sparse
truncate -s 5G f; printf END | dd of=f bs=1 seek=5368709117 conv=notrunc status=none
is "$(errand -q -- sh -c 'stat -c %s f; tail -c 3 f; echo; du -k f | cut -f1' | tr '\n' ' ')" \
    '5368709120 END 4 ' 'a sparse file of 5 GiB arrives whole and sparse (BIG-A1, BIG-A2)'
check 'as less than a megabyte' test "$(field tree.shipped_bytes)" -lt 1000000

# --- names ---

tree names
touch -- -rf '*' 'a b' '[x]' 'q\z' '~' '$(id)' '"' "'" '#c' '!n' ' lead' 'trail '
"$TOOLS/names" make
errand -q -- find . -type f -print0 | LC_ALL=C sort -z >"$T/got"
find . -type f -print0 | LC_ALL=C sort -z >"$T/want"
check 'names are bytes: every one of them, newlines, invalid UTF-8, dashes (NAME-A1, NAME-A2)' \
    cmp "$T/want" "$T/got"
errand ls -z | LC_ALL=C sort -z >"$T/got"
sed -z 's|^\./||' "$T/want" >"$T/names"
check 'ls -z gives them raw' cmp "$T/names" "$T/got"
is "$(errand ls | wc -l)" "$(tr -dc '\0' <"$T/want" | wc -c)" \
    'ls gives each a line of its own'
errand -q -- rm -- -rf
is "$(errand diff last)" 'D -rf' 'no option and no pattern among them is taken for one (NAME-A3)'
repo names-git
"$TOOLS/names" make
errand -q -- find . -type f -print0 | LC_ALL=C sort -z >"$T/got"
find . -type f -not -path './.git/*' -print0 | LC_ALL=C sort -z >"$T/want"
check 'in a Git work tree too' cmp "$T/want" "$T/got"
tree deep
p=.
i=0
while [ $i -lt 100 ]; do p=$p/directory-number-$i; i=$((i + 1)); done
mkdir -p "$p" && (cd "$p" && echo deep >f)
is "$(errand -q -- sh -c 'find . -name f -exec cat {} +')" deep \
    'a path of 2 KB works'
n255=$(printf 'n%.0s' $(seq 255))
echo 255 >"$n255"
is "$(errand -q -- cat "$n255")" 255 'a name of 255 bytes works'

# --- what changes meanwhile ---

tree frozen
echo old >in
J=$(errand -d -- sh -c 'trap "cat in; exit" USR1; echo up; while :; do sleep 0.05; done')
wait_for 10 has_output "$J" up || diag 'it does not come up'
echo new >in
errand kill -s USR1 "$J"
errand wait "$J"
is "$(errand logs "$J" | tail -n 1)" old 'the job has a frozen copy (RACE-A3)'
tree growing
: >log.txt
"$TOOLS/busy" grow log.txt & busy=$!
bad=
for i in 1 2 3 4 5 6 7 8 9 10; do
	errand -q -- sh -c 'wc -c <log.txt' >/dev/null 2>"$T/err" || bad="$bad $i"
done
kill $busy; wait $busy 2>/dev/null
is "$bad" '' 'a file that grows while it is read is sent in one state (RACE-A1)'
tree moving
bad=
for d in 0.2 0.5 0.8; do
	head -c 100000000 /dev/urandom >f
	old=$(sum f)
	# Some of these come between reading and sending.
	(sleep $d && printf changed | dd of=f bs=1 seek=99000000 conv=notrunc \
	    status=none) &
	p=$!
	got=$(errand -q -- sha256sum f 2>"$T/err") || bad="$bad $d"
	wait $p
	[ "${got%% *}" = "$old" ] || [ "${got%% *}" = "$(sum f)" ] || bad="$bad $d:$got"
done
is "$bad" '' 'a file that changes after it was read is read again (NEG-A2)'
tree vanishing
echo 1 >a
"$TOOLS/busy" vanish t & busy=$!
bad=
for i in $(seq 40); do
	[ "$(errand -q -- cat a 2>"$T/err")" = 1 ] || bad="$bad $i $(cat "$T/err")"
done
kill $busy; wait $busy 2>/dev/null
is "$bad" '' 'files that vanish are left out (RACE-A2)'
tree swapping
echo 1 >a
"$TOOLS/busy" swap x & busy=$!
bad=
for i in 1 2 3 4 5 6 7 8 9 10; do
	timeout 20 "$BIN/errand" -q -- cat a >/dev/null 2>"$T/err"
	[ $? -lt 124 ] || bad="$bad $i"
done
kill $busy; wait $busy 2>/dev/null
is "$bad" '' 'a file that turns into a FIFO does not hang it (SPEC-A3)'
run errand -q -- true
is "$rc" 0 'and it works when that is over'
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$T/w"
	tree unreadable
	echo 1 >a; echo s >locked; chmod 600 locked
	chown 4242 . && chmod 755 .
	run as_uid 4242 "$BIN/errand" -q -- cat a
	is "$rc" 120 'a file that cannot be read stops it'
	like "$(cat "$T/err")" 'locked.*ermission denied' 'by name'
	echo locked >.errandignore
	run as_uid 4242 "$BIN/errand" -q -- cat a
	is "$rc $(cat "$T/out")" '0 1' 'and a rule leaves it out, as the error said'
else
	skip 3 'needs root'
fi
if [ "$(id -u)" -eq 0 ]; then
	tree mounted
	mkdir m; echo 1 >a; mount -t tmpfs none m && echo 2 >m/b
	run errand -- cat a m/b
	is "$(tr '\n' ' ' <"$T/out")" '1 2 ' \
	    'what is mounted inside is part of the tree (SEL-A4)'
	like "$(cat "$T/err")" 'm: another file system, which is sent too' 'and named (SEL-A4)'
	is "$(errand ls | tr '\n' ' ')" '.errandignore a m/ m/b ' 'as in the listing'
	echo m >.errandignore
	is "$(errand -q -- ls)" a 'a rule leaves it out'
	umount m
else
	skip 4 'needs root'
fi

# --- what travels ---

tree wide
i=0
while [ $i -lt 100 ]; do
	mkdir d$i
	for j in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
		echo "$i.$j some text of a small file" >d$i/f$j
	done
	i=$((i + 1))
done
# The same bytes each time: where they are cut decides what an edit ships.
seq 2000000 | gzip -1n | head -c 3000000 >big
errand -q -- true
first=$(field id)
is "$(field tree.files) $(errand -q -- sh -c 'find . -type f | wc -l')" '2002 2002' \
    'the number of files is said'
check 'all of them were shipped, packed' test "$(field tree.shipped_bytes "$first")" -gt 1500000
errand -q -- true
is "$(field tree.shipped_objects) $(field tree.shipped_bytes)" '0 0' \
    'an unchanged tree ships no object and no byte'
printf '7 bytes' >d42/f7
errand -q -- true
check 'an edit of 7 bytes ships less than 4 KB' test "$(field tree.shipped_bytes)" -lt 4096
check 'and something' test "$(field tree.shipped_bytes)" -gt 0
is "$(errand -q -- cat d42/f7)" '7 bytes' 'it arrives'
printf X | dd of=big bs=1 seek=1500000 conv=notrunc status=none
errand -q -- true
shipped=$(field tree.shipped_bytes)
check 'an edit in a large file ships a chunk of it' test "$shipped" -lt 200000
diag "$shipped bytes"
is "$(errand -q -- sha256sum big | cut -d' ' -f1)" "$(sum big)" 'and it arrives'
mv big bigger
errand -q -- true
check 'a renamed file is not sent again' test "$(field tree.shipped_bytes)" -lt 8192
cp -r d1 copy
errand -q -- true
check 'nor a copy of a directory' test "$(field tree.shipped_bytes)" -lt 4096
rm -rf "$XDG_STATE_HOME/errand/trees"
errand -q -- true
check 'without its cache the client sends no content that is there' \
    test "$(field tree.shipped_bytes)" -lt 200000
rm -r d1
is "$(errand -q -- sh -c 'ls -d d1 2>/dev/null; ls | wc -l')" 101 'what was deleted is gone'

tree clock
echo 1 >f; touch -d @1000 f; errand -q -- cat f >/dev/null
echo 2 >f; touch -d @1000 f
is "$(errand -q -- cat f)" 2 'an edit of the same size and time is noticed (CLK-A1)'
tree racy
bad=
i=0
while [ $i -lt 200 ]; do
	printf %03d $i >f
	[ "$(errand -q -- cat f)" = "$(cat f)" ] || bad="$bad $i"
	i=$((i + 1))
done
is "$bad" '' 'each of 200 quick edits is seen'
for i in 1 2 3; do errand -q -- true; done
is "$(field tree.shipped_objects)" 0 'and when it rests nothing is sent'

done_testing
