#!/bin/sh
# Changes come home at the edges: odd names, modes and sizes, Git, what is
# refused, more than one at a time, interrupts, a full disk.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon

job() { errand -q -- sh -c "$@" >/dev/null 2>&1; }
apply() { run errand fetch last --apply "$@"; }
said() { cat "$T/err"; }
can_trace() { strace -o /dev/null true 2>/dev/null; }
# inject WHAT: an apply in which the kernel does that
inject() {
	timeout 60 strace -f -o /dev/null -e "trace=${1%%:*}" -e "inject=$1" \
	    "$BIN/errand" fetch last --apply >"$T/out" 2>"$T/err" </dev/null
	rc=$?
}

# --- Git ---

repo git
printf '%s\n' 1 2 3 4 5 >f
mkdir d
echo 1 >d/g
git add . && git commit -qm one
job 'sed -i s/5/five/ f; echo 1 >d/new; rm d/g'
for k in core.fsmonitor merge.trap.driver diff.external core.hooksPath; do
	git config "$k" "touch $T/trap-$k; false"
done
echo '* merge=trap diff=trap' >.git/info/attributes
sed -i s/1/one/ f
apply
is "$rc $(head -n 1 f)$(tail -n 1 f)" '0 onefive' 'in a Git work tree'
is "$(find "$T" -maxdepth 1 -name 'trap-*')" '' \
    'its configuration runs nothing, not even to merge'
git config --unset core.fsmonitor
is "$(git status --porcelain | tr '\n' ' ')" ' D d/g  M f ?? d/new ' \
    'git sees the changes and nothing else'
if can_trace; then
	git checkout -q . && rm d/new
	inject renameat2:signal=SIGKILL:when=2
	is "$rc $(git status --porcelain | grep -c errand)" '137 0' \
	    'nor when an apply was killed'
	cannot 'what is left is not sent' sh -c \
	    "'$BIN/errand' ls 2>/dev/null | grep errand-apply"
	check 'and the next command has tidied up' test ! -e .errand-apply
else
	skip 3 'needs ptrace'
fi

# --- what is refused ---

tree reserved
echo 1 >f
job 'mkdir -p .errand-apply; echo x >.errand-apply/journal; echo 2 >f'
apply
is "$rc $(cat f)" '120 1' 'a result with our staging directory is refused'
like "$(said)" 'a name that no result may have; nothing was changed' 'and why'
job 'mkdir -p sub/.Errand-Apply; echo 2 >f'
apply
is "$rc $(cat f)" '120 1' 'in any directory, in any case'
# For ext4 with case folding, vfat and NTFS these are .git.
zwnj=$(printf '\342\200\214') bad=
for n in ".g${zwnj}it" .GIT. '.git ' '.git . .' '.git::$INDEX_ALLOCATION' \
    'git~1' 'GIT~1.' ".errand-${zwnj}apply" '.git\x'; do
	job 'mkdir -p "sub/$0"; echo x >"sub/$0/config"; echo 2 >f' "$n"
	apply
	[ "$rc $(cat f)" = '120 1' ] && [ ! -e sub ] || bad="$bad [$n]"
	errand fetch last -o out >"$T/out" 2>"$T/err" && bad="$bad fetch [$n]"
	[ -z "$(find out -name config 2>/dev/null)" ] || bad="$bad out [$n]"
	rm -rf out
done
is "$bad" '' 'so is what some file system takes for .git or that directory'
mkdir .github
job 'echo x >.github/y; echo x >.gitx; echo x >git~2; echo x >..git; echo 2 >f'
apply
is "$rc $(cat f .gitx git~2 ..git .github/y | tr '\n' ' ')" '0 2 x x x x ' \
    'but not what only begins so'
echo 1 >f

tree planted
echo 1 >f && echo 1 >g
job 'echo 2 >f; echo 2 >g'
mkdir -m 700 .errand-apply
echo '*' >.errand-apply/.gitignore
printf 'errand apply 1\n\0 and so on' >.errand-apply/journal
apply
is "$rc $(cat f)" '120 1' 'a journal that somebody planted is not believed'
like "$(said)" 'did not write for this tree' 'and it is said'
run errand -q -- true
is "$rc" 120 'no job is submitted from such a tree'
rm .errand-apply/journal
echo precious >.errand-apply/notes
apply
is "$rc $(cat .errand-apply/notes)" '120 precious' \
    'what is not ours in such a directory is not removed'
rm -r .errand-apply
ln -s / .errand-apply
apply
is "$rc" 120 'a link of that name is refused'
rm .errand-apply
apply
is "$rc $(cat f)" '0 2' 'without it all is well'
if can_trace; then
	# Two files: one alone is staged without a directory (crash/apply-kill.sh).
	echo 1 >f && echo 1 >g
	inject unlinkat:signal=SIGKILL:when=1
	cp -a . ../copied
	cd ../copied || exit 1
	run errand ls
	is "$rc" 120 'the journal of another tree is none of this one'
	cd ../planted || exit 1
	if [ "$(id -u)" -eq 0 ]; then
		chown 12345 .errand-apply
		run errand ls
		like "$rc $(said)" '120 .*another user' \
		    'nor is another user'\''s'
		chown 0 .errand-apply
	else
		skip 1 'needs root'
	fi
	run errand ls
	is "$rc $(cat f)" '0 2' 'its own is finished'
else
	skip 3 'needs ptrace'
fi

# --- names ---

tree names
errand -q -- python3 -c '
import os
for b in range(1, 256):
    if b != 47: open(b"x%c" % b, "wb").write(b"%d" % b)
open(b"a\nb", "w"); open(b"-rf", "w"); open(b"caf\xe9", "w")
open(b"y" * 255, "w")'
apply
is "$rc $(find . -name 'x*' | LC_ALL=C wc -l)" "0 $(find . -name 'x*' |
    LC_ALL=C wc -l)" 'names of every byte'
is "$(python3 -c '
import os
print(sum(open(b"x%c" % b, "rb").read() == b"%d" % b
    for b in range(1, 256) if b != 47), os.path.exists(b"a\nb"),
    os.path.exists(b"-rf"), os.path.exists(b"y" * 255))')" \
    '254 True True True' 'each with its content'
job 'rm -- -rf; printf 2 >"$(printf "caf\351")"; printf 3 >"$(printf "a\nb")"'
apply
is "$rc $(cat "$(printf 'caf\351')" "a${NL}b")" '0 23' \
    'changed and deleted too (NAME-A1, NAME-A2, NAME-A3)'
check 'none is taken for an option' test ! -e ./-rf

tree deep
errand -q -- python3 -c '
import os
for i in range(40):
    os.mkdir("d" * 200); os.chdir("d" * 200)
open("f", "w").write("deep")'
apply
is "$rc $(python3 -c '
import os
for i in range(40): os.chdir("d" * 200)
print(open("f").read())')" '0 deep' 'a path of 8,000 bytes'
errand -q -- python3 -c '
import os
for i in range(40): os.chdir("d" * 200)
open("f", "w").write("deeper")'
apply
like "$rc $(said)" '0 .*\(0 created, 1 modified' 'is changed'
job 'rm -r d*'
apply
is "$rc $(ls)" '0 ' 'and removed'

# --- modes and owners ---

tree umask
for u in 022 077 002; do
	job 'rm -rf f x d e; echo 1 >f; echo 1 >x; chmod +x x; mkdir d
	    echo 1 >e; chmod 640 e'
	(umask $u; errand -q fetch last --apply >/dev/null 2>&1)
	stat -c %a f x d e | tr '\n' ' '
	rm -rf f x d e
done >"$T/modes"
is "$(cat "$T/modes")" '644 755 755 640 600 700 700 640 664 775 775 640 ' \
    'new files follow the umask, unless their mode was meant'

tree owner
echo 1 >f
echo 1 >g
job 'echo 2 >f; cp /bin/true s; chmod 4755 s; mkdir o; touch o/f
    chown 4321 o/f 2>/dev/null; true'
if [ "$(id -u)" -eq 0 ]; then
	chown 1234:1234 f
	python3 -c 'import os; os.setxattr("f", "user.note", b"kept")'
	apply
	is "$rc $(stat -c %u:%g f) $(cat f)" '0 1234:1234 2' \
	    'a replaced file keeps its owner'
	is "$(python3 -c 'import os; print(os.getxattr("f", "user.note"))')" \
	    "b'kept'" 'and its attributes'
else
	apply
	skip 2 'needs root'
fi
is "$(stat -c %u o/f s) $(stat -c %a s)" "$(id -u)
$(id -u) 755" 'new files are the user'\''s own, and not set-user-id (UID-A2, UID-A3)'

# As an ordinary user, whom modes keep out.
if [ "$(id -u)" -eq 0 ] && as_uid 12345 test -x "$BIN/errand"; then
	work readonly
	: >.errandignore
	mkdir -p d/e gone/x
	echo 1 >d/f; echo 1 >d/e/f; echo 1 >gone/x/f
	chmod 444 d/f
	chmod 555 d/e d gone/x gone
	chown -R 12345 .
	user() { as_uid 12345 timeout 60 "$BIN/errand" "$@"; }
	user -q -- sh -c 'chmod u+w d d/e gone gone/x; rm -f d/f; echo 2 >d/f
	    chmod 444 d/f; echo 2 >d/e/f; rm -r gone; mkdir n; echo 1 >n/f
	    chmod 555 d d/e n'
	run user fetch last --apply
	is "$rc $(cat d/f d/e/f n/f) $(stat -c %a d d/e d/f n | tr '\n' ' ')" \
	    '0 2
2
1 555 555 444 555 ' 'read-only directories and files are changed and stay so'
	check 'and removed' test ! -e gone
	chmod 755 n d
	user -q -- sh -c 'echo 3 >d/f2; echo 3 >n/g'
	chmod 555 d
	chattr +i n 2>/dev/null
	run user fetch last --apply
	chattr -i n 2>/dev/null
	like "$rc $(said)" '120 .*nothing was changed|^0 ' \
	    'a failure is undone'
	is "$(stat -c %a d)" 555 'with the modes'
else
	skip 4 'needs root'
fi

# --- links and mounts ---

tree hard
echo 1 >a
ln a b
job 'echo 2 >a'
apply
is "$rc $(cat a b)" '0 2
1' 'a hard link is replaced alone'
like "$(said)" 'a: is a hard link; its other names keep what they have' \
    'and it is said (LINK-A2)'

tree race
mkdir p "$T/out-race"
job 'for i in 1 2 3 4 5 6 7 8 9 10; do echo evil >p/f$i; done'
(
	i=0
	while [ $i -lt 1500 ]; do
		mv p q; ln -s "$T/out-race" p; rm -f p; mv q p
		i=$((i + 1))
	done
) 2>/dev/null &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
	apply "p/f$i"
done 2>/dev/null
kill "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
is "$(ls -A "$T/out-race")" '' \
    'a directory that is swapped for a link leads nowhere (TRAV-A3)'

if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	tree mount
	mkdir d
	echo 1 >d/f; echo 1 >g
	job 'echo 2 >d/f; echo 2 >g'
	cp -a d copy
	run unshare -m sh -c "mount -t tmpfs none d && cp copy/f d/f &&
	    timeout 60 '$BIN/errand' fetch last --apply"
	is "$rc $(cat g)" '120 1' 'a mount point is not crossed'
	like "$(said)" 'd/f: lies on another file system' 'and named'

	tree full
	job 'for i in 1 2 3 4 5 6 7 8; do head -c 60000 /dev/urandom >s$i; done'
	run unshare -m sh -c "mount -t tmpfs -o size=256k none . && cd . && cd '$PWD' &&
	    : >.errandignore; echo 1 >here
	    timeout 60 '$BIN/errand' fetch last --apply --into '$PWD'; echo \$?
	    ls -A"
	is "$(cat "$T/out")" '120
.errandignore
here' 'on a full disk nothing is changed (FULL-A2)'
	like "$(said)" 'No space left on device; 468.8 KiB are needed' \
	    'and it is said how much it takes (FULL-A2)'
	job 'rm -f s*; head -c 3000000 /dev/urandom >big; echo 1 >small'
	run unshare -m sh -c "mount -t tmpfs -o size=1m none . && cd '$PWD' &&
	    timeout 60 '$BIN/errand' fetch last --apply --into '$PWD'; echo \$?
	    ls -A"
	is "$(cat "$T/out")" 120 'nor when it fills up on the way (FULL-A2)'
else
	skip 5 'needs a mount namespace'
fi

# --- sizes ---

tree sparse
job 'truncate -s 4G big; printf x | dd of=big bs=1 seek=4000000000 conv=notrunc'
apply
is "$rc $(stat -c %s big) $(dd if=big bs=1 skip=4000000000 count=1 2>/dev/null)" \
    '0 4294967296 x' 'a file of 4 GiB'
check 'keeps its holes' test "$(stat -c %b big)" -lt 20000

tree copies
job 'head -c 3000000 /dev/urandom >big; ln big big2; mkdir d; cp big d/big3'
if can_trace; then
	timeout 60 strace -o "$T/trace" -e trace=read "$BIN/errand" fetch last \
	    --apply 2>"$T/err"
	is "$?" 0 'three names of one content'
	n=$(sed -n 's/.* = \([0-9]*\)$/\1/p' "$T/trace" | awk '{ n += $1 }
	    END { print n }')
	check 'come over once (LINK-A3)' test "$n" -gt 3000000 -a "$n" -lt 4000000
else
	apply
	is "$rc" 0 'three names of one content'
	skip 1 'needs ptrace'
fi
is "$(cmp big big2 && cmp big d/big3 && echo same)" same \
    'and are all there (LINK-A3)'

# --- more than one, and interrupts ---

tree both
echo 1 >a
for i in 1 2 3 4 5 6; do
	job "mkdir d$i; for j in 1 2 3 4 5 6 7 8 9; do echo $i >d$i/\$j; done"
done
pids=
bad=0
errand ps -a -n 6 --json | sed -n 's/.*"id": *"\([a-z2-7]*\)".*/\1/p' >"$T/ids"
while read -r id; do
	errand -q fetch "$id" --apply >/dev/null 2>&1 &
	pids="$pids $!"
done <"$T/ids"
for pid in $pids; do
	wait "$pid" || bad=$((bad + 1))
done
is "$bad $(find . -type f ! -name '.*' | wc -l)" '0 55' \
    'six applies at once in one tree'

if can_trace; then
	tree interrupt
	echo 1 >a; echo 1 >b
	job 'echo 2 >a; echo 2 >b; echo 2 >c'
	inject fdatasync:signal=INT:when=2
	is "$rc $(cat a b) $(ls -A)" "130 1
1 .errandignore
a
b" 'an interrupt while files are staged: nothing was changed, nothing is left'
	inject renameat2:signal=INT:when=2
	is "$rc $(cat a b c)" '130 2
2
2' \
	    'an interrupt while they are put in place: all of it first'
	check 'with nothing left' test ! -e .errand-apply
else
	skip 3 'needs ptrace'
fi

done_testing
