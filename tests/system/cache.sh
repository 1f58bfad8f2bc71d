#!/bin/sh
# errand run --cache: directories that outlive jobs.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_root
need_program setpriv pgrep python3

ALICE=64301
BOB=64302

base=$((2000000000 + $$ % 10000 * 10000))
start_daemon 'slots = 8' \
    'defaults { slots = 8
cache_size = 8M
cache_total = 20M }' \
    "tenant_uids = \"$base-$((base + 999))\"" \
    "worker_uids = \"$((base + 1000))-$((base + 1255))\""

for t in one two; do
	mkdir "$T/$t" "$T/$t/kept"
	echo "$t" >"$T/$t/file"
	echo tracked >"$T/$t/kept/file"
done
chown -R $ALICE "$T/one" "$T/two"

# as WHO PROJECT ARGUMENT...: a job; its output in $out, what errand said in $err
as() {
	as_who=$1
	as_tree=$T/$2
	shift 2
	as_uid "$as_who" timeout 120 "$BIN/errand" run -C "$as_tree" --include-all \
	    "$@" >"$T/out" 2>"$T/err"
	rc=$?
	out=$(cat "$T/out")
	err=$(tr '\n' ' ' <"$T/err")
}
alice() { as $ALICE "$@"; }
bob() { as $BOB "$@"; }
# flat TEXT: its words, with a blank after each
# shellcheck disable=SC2086
flat() { printf '%s ' $1; }
# use FIELD: of what alice's last job says of its first cache
use() {
	as_uid $ALICE "$BIN/errand" status --json last 2>/dev/null |
	    python3 -c "import json, sys
print(json.load(sys.stdin)['caches'][0]['$1'])"
}
changes() { as_uid $ALICE "$BIN/errand" diff last; }
figure() { errandctl --json status | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
caches() { find "$T"/state/run/*/caches -mindepth 1 -maxdepth 1 -name "$1" 2>/dev/null; }
# nothing of what is made, or was replaced, is left
none_left() { [ -z "$(caches '.[0-9a-f]*')" ]; }
the_cache() { find "$T/state/run/$a_uid/caches" -mindepth 1 -maxdepth 1 -name '[0-9a-f]*' | head -n 1; }
alice_name() { errandctl --json tenant list | sed -n "s/.*\"name\":\"\([^\"]*\)\".*\"uids\":\[$1\].*/\1/p"; }

# --- saved and restored ---

alice one --cache c=out -- sh -c 'ls out; echo 1 >out/a; mkdir out/d; echo 2 >out/d/b
    chmod 640 out/a; chmod 2750 out/d; ln -s a out/l; ln out/a out/h
    touch -d 2001-02-03T04:05:06 out/a; touch -d 2002-02-03T04:05:06 out/d'
is "$rc $out" '0 ' 'at first it is empty'
is "$(use restored)$(use saved)" FalseTrue 'it was not restored, and is saved'
is "$(changes)" '' 'what is in it is no change of the tree, nor is its place'
NAME=$(alice_name $ALICE)
a_uid=$(errandctl --json tenant show "$NAME" | sed 's/.*"host_uid":\([0-9]*\).*/\1/')
wipe() { errandctl cache rm "$NAME" --all >/dev/null 2>&1; }
alice one --cache c=out -- sh -c 'cat out/a out/d/b; readlink out/l
    stat -c "%a %h %Y %u" out/a; stat -c "%a %Y" out/d; stat -c %i out/a out/h | uniq | wc -l'
is "$(flat "$out")" '1 2 a 640 2 981173106 1000 2750 1012709106 1 ' \
    'then it is as it was left: modes, times, links, owner'
is "$(use restored)$(use saved)$(use unchanged)" TrueFalseTrue \
    'a job that changes nothing saves nothing'
cannot 'and no word about it' grep cache "$T/err"
alice one --as-root --cache c=out -- sh -c 'cat out/a; stat -c %u out/a'
is "$(flat "$out")" '1 0 ' 'the same as root, whose it is then'
alice one --cache c=out -- sh -c 'rm -r out/d out/l; echo 3 >out/a; mkdir out/new; echo 4 >out/new/f'
alice one --cache c=out -- sh -c 'cd out; find . | sort; cat a h new/f'
is "$(flat "$out")" '. ./a ./h ./new ./new/f 3 1 4 ' \
    'what is removed is gone, what is written is new'
alice one --cache c=out -- sh -c 'python3 -c "import os; os.rename(\"out/new\", \"out/moved\")" && cat out/moved/f'
is "$rc $out" '0 4' 'a directory of it can be renamed'
alice one --cache c=out -- sh -c 'ls out; rm -r out/moved; mkdir out/moved; ls -A out/moved'
alice one --cache c=out -- sh -c 'ls -A out out/moved'
is "$(flat "$out")" 'out: a h moved out/moved: ' 'and one made anew is empty'
alice one --cache c=out -- sh -c 'chmod 700 out; echo x >out/x'
alice one --cache c=out -- stat -c %a out
is "$out" 700 'its top keeps its mode'
check 'nothing is left of what was replaced' none_left

# --- where it is ---

alice one --cache h=~/.cache/x --cache t=/tmp/t --cache v=/var/tmp/v --cache w=/workspace/deep/in/it -- \
    sh -c 'for d in ~/.cache/x /tmp/t /var/tmp/v deep/in/it; do echo $d >$d/f || exit; done'
is "$rc" 0 'in the home, in /tmp, /var/tmp, and deep in the workspace'
is "$(changes)" '' 'the way to it is no change either'
alice one --cache "h=$T/home-$ALICE/.cache/x" --cache "w=$T/one/deep/in/it" -- \
    sh -c 'cat ~/.cache/x/f deep/in/it/f; echo n >deep/new; echo m >out'
is "$(flat "$out")" '/home/runner/.cache/x deep/in/it ' \
    'what a shell makes of ~, and the path of the tree here, mean the same'
is "$(changes | tr '\n' ' ')" 'A deep A deep/new A out ' 'beside it, changes are changes'
alice one --cache k=kept -- sh -c 'ls kept; echo c >kept/c'
is "$rc $out $(changes)" '0  ' 'over a directory of the tree: that is hidden, and no change'
alice one -- cat kept/file
is "$out" tracked 'and there again without it'
ln -s /etc "$T/one/link"
alice one --cache c=link/x -- true
is "$rc" 120 'a link on the way is refused'
like "$err" 'cache c cannot be at /workspace/link/x: a file or a symbolic link' 'in words'
alice one --cache c=file -- true
like "$rc $err" '120 .*cannot be at /workspace/file' 'a file in its place too'
rm "$T/one/link"
alice one --cache c=out -- sh -c 'rmdir out 2>/dev/null; mv out o2 2>/dev/null; rm -rf out 2>/dev/null; ls -d out'
is "$out" out 'a job cannot take it away'
alice one --cache c=p/out -- sh -c 'mv p q; ln -s / p; echo 1 >q/out/f'
alice one --cache c=p/out -- cat p/out/f
is "$rc $out" '0 1' 'nor make a later one follow a link'
mkdir "$T/away"
as_uid $ALICE timeout 60 "$BIN/errand" run -q --no-snapshot --cache n=here -- \
    sh -c 'echo n >here/f' >/dev/null 2>&1
is "$(as_uid $ALICE timeout 60 "$BIN/errand" run -q --no-snapshot --cache n=here -- \
    cat here/f 2>&1)" n 'without a tree there is one as well'

for a in c= =out c=. c=/workspace c=~ c=/etc/x c=/usr/local/x c=../x c=a/../b c=.git/x \
    c=a/.GIT .c=out c/d=out 'c d=out' out c=/run/x c=/proc/x c=/tmp; do
	alice one --cache "$a" -- true
	[ "$rc" -eq 2 ] || break
done
is "$rc" 2 "what is no name and no place is a usage error ($a)"
alice one --cache c=out --cache c=out2 -- true
like "$rc $err" '2 .*two of that name' 'so are two of one name'
alice one --cache c=out --cache d=./out//x/ -- true
like "$rc $err" '2 .*overlap' 'and two that overlap'
alice one --cache c=out --cache d=outer -- true
is "$rc" 0 'names that only begin alike do not'
caches_of() { seq "$1" | sed 's/.*/--cache c&=o&/'; }
# shellcheck disable=SC2046
alice one $(caches_of 9) -- true
like "$rc $err" '2 .*at most 8' 'and there are 8 at most'
# shellcheck disable=SC2046
alice one $(caches_of 8) -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo $i >o$i/f; done'
# shellcheck disable=SC2046
alice one $(caches_of 8) -- sh -c 'cat o*/f'
is "$(flat "$out" | tr -d ' ')" 12345678 'eight work'

# --- whose it is ---

wipe
alice one --cache c=out -- sh -c 'echo alice >out/f'
alice two --cache c=out -- sh -c 'ls out; echo two >out/f'
is "$rc $out" '0 ' 'another project has one of its own'
alice one --cache d=out -- ls out
is "$out" '' 'another name too'
bob one --cache c=out -- sh -c 'ls out; echo bob >out/f'
is "$rc $out" '0 ' 'and another tenant, with the same project and name (CAS-A3)'
alice one --cache c=out -- cat out/f
is "$out" alice 'nobody has changed the first'
is "$(stat -c '%a %u' "$T"/state/run/*/caches | sort -u | wc -l)" 2 \
    'on the disk each is the tenant'\''s alone'
is "$(stat -c %a "$T"/state/run/[0-9]* | sort -u)" 700 'behind doors of its own'
cp -a "$T/one" "$T/copy" && mkdir "$T/else" && mv "$T/copy" "$T/else/one"
alice else/one --cache c=out -- ls out
is "$out" '' 'a copy of the tree elsewhere is another project'

# --- when it is saved ---

alice one --cache c=out -- sh -c 'echo bad >out/f; exit 3'
is "$rc" 3 'a command that fails'
like "$err" 'cache c was not saved: the command exited with 3' 'saves nothing, and that is said'
alice one --cache c=out -- sh -c 'echo bad >out/f; kill -9 $$'
like "$rc $err" '137 .*cache c was not saved: the command died of signal 9' 'one that dies neither'
alice one --cache c=out --timeout 1 -- sh -c 'echo bad >out/f; sleep 20'
like "$err" 'cache c was not saved: the command died' 'nor one whose time is over (CAS-A5)'
alice one --cache c=out --timeout 1 -- sh -c 'trap "exit 0" TERM; echo bad >out/f; sleep 20 & wait'
like "$rc $err" '120 .*cache c was not saved: the command was told to end' 'though it ends with 0'
alice one --cache c=out -- ./none
like "$rc $err" '127 .*cache c was not saved: the command did not run' 'nor one that is not there'
alice one --cache c=out -- cat out/f
is "$out" alice 'what was saved is still that'
alice one -q --cache c=out -- false
is "$err" '' '-q says nothing of it'

: >"$T/o1"
as_uid $ALICE timeout 60 "$BIN/errand" run -q -C "$T/one" --include-all --cache c=out -- \
    sh -c 'cat out/f; echo first >out/f; while [ ! -e out/go ]; do sleep 0.05; [ $((n += 1)) -lt 40 ] || break; done
    cat out/f; ls out' >"$T/o1" 2>&1 &
p1=$!
wait_for 10 test -s "$T/o1"
alice one --cache c=out -- sh -c 'cat out/f; echo second >out/f; touch out/go'
is "$out" alice 'two at once: each sees what was saved'
wait $p1
is "$(flat "$(cat "$T/o1")")" 'alice first f ' 'and nothing of the other'
alice one --cache c=out -- sh -c 'cat out/f; ls out'
is "$(flat "$out")" 'first f ' 'the last one to end has written what there is'
check 'nothing is left of the others' none_left

# --- the receipt ---

as_uid $ALICE "$BIN/errand" receipt last -o "$T/home-$ALICE/r" 2>/dev/null
as_uid $ALICE "$BIN/errand" verify --json "$T/home-$ALICE/r" >"$T/json" 2>&1
like "$(cat "$T/json")" '"caches":\[\{"name":"c","restored":true,"saved":false,"unchanged":true' \
    'the receipt names the cache and what came of it'

# --- prepared sandboxes ---

wait_for 20 test "$(figure ready)" -ge 1
warm=$(figure warm)
alice one --cache c=out -- cat out/f
is "$out" first 'a sandbox that was ready before'
check 'was taken' [ "$(figure warm)" -gt "$warm" ]

# --- bounds ---

wipe
alice one --cache c=out -- sh -c 'echo small >out/f'
alice one --cache c=out -- sh -c 'head -c 9000000 /dev/zero | tr "\0" x >out/big'
is "$rc" 0 'over the bound: the job is well'
like "$err" 'cache c was not saved: it is larger than the 8.0 MiB' 'but nothing is saved'
alice one --cache c=out -- sh -c 'for i in $(seq 2500); do echo >out/$i; done'
like "$err" 'cache c was not saved: it is larger' 'small files count as blocks'
alice one --cache c=out -- ls out
is "$out" f 'and the former is there'
alice one --cache c=out -- sh -c 'head -c 5000000 /dev/zero | tr "\0" x >out/b; for i in 1 2 3 4 5; do ln out/b out/b$i; done; truncate -s 1T out/sparse'
is "$(use saved)" True 'names of one file are counted once, holes not at all'
for i in 1 2 3 4 5; do
	alice one --cache e$i=out -- sh -c 'head -c 6000000 /dev/zero | tr "\0" x >out/f'
	[ "$(use saved)" = True ] || break
done
is "$i" 5 'when all together are too large'
is "$(errandctl --json cache list "$NAME" | sed 's/.*"name":"\([^"]*\)".*/\1/' | tr '\n' ' ')" 'e3 e4 e5 ' \
    'those used longest ago are gone'
alice one --cache e3=out -- ls out
is "$out" f 'one that is used'
alice one --cache e6=out -- sh -c 'head -c 6000000 /dev/zero | tr "\0" x >out/f'
is "$(errandctl --json cache list "$NAME" | sed 's/.*"name":"\([^"]*\)".*/\1/' | tr '\n' ' ')" 'e5 e3 e6 ' \
    'outlives one that is not'
check 'nothing is left of what was evicted' none_left
: >"$T/o1"
as_uid $ALICE timeout 60 "$BIN/errand" run -q -C "$T/one" --include-all --cache e3=a --cache e5=b --cache e6=c -- \
    sh -c 'echo go; sleep 3; cat a/f b/f c/f | wc -c' >"$T/o1" 2>&1 &
p1=$!
wait_for 10 test -s "$T/o1"
alice one --cache e7=out -- sh -c 'head -c 6000000 /dev/zero | tr "\0" x >out/f'
like "$err" 'cache e7 was not saved: the caches that jobs use now leave no room' \
    'what a running job has is not evicted'
wait $p1
is "$(flat "$(cat "$T/o1")")" 'go 18000000 ' 'and is whole'
: >"$T/o1"
as_uid $ALICE timeout 60 "$BIN/errand" run -q -C "$T/one" --include-all --cache e3=a -- \
    sh -c 'echo go; while [ ! -e /tmp/x ]; do sleep 0.1; [ $((n += 1)) -lt 25 ] || break; done; wc -c <a/f' >"$T/o1" 2>&1 &
p1=$!
wait_for 10 test -s "$T/o1"
errandctl cache rm "$NAME" --all >"$T/rm"
is "$(grep -c removed "$T/rm")" 3 'an operator can remove all'
is "$(errandctl cache list "$NAME")" '' 'they are gone'
wait $p1
is "$(flat "$(cat "$T/o1")")" 'go 6000000 ' 'but a running job keeps what it has'
check 'until it ends' wait_for 10 none_left
alice one --cache e3=out -- sh -c 'ls out; echo 1 >out/f'
is "$out" '' 'the next begins empty'
like "$(errandctl cache list)" "$NAME +one-[0-9a-f]{16}/e3  4.0 KiB, 1 entries" 'the list shows one'
p=$(errandctl cache list "$NAME" | sed 's/^[^ ]* *\([^ ]*\) .*/\1/')
errandctl cache rm "$NAME" "$p" >/dev/null
is "$? $(errandctl cache list "$NAME")" '0 ' 'and removes one by its name'
errandctl cache rm "$NAME" "$p" >/dev/null 2>"$T/err"
is "$?" 1 'but not twice'
errandctl cache rm nobody --all >/dev/null 2>"$T/err"
like "$(cat "$T/err")" 'no tenant nobody' 'nor of somebody who is not there'

# --- the tenant's own limits ---

like "$(errandctl tenant show "$NAME")" 'caches .--cache. hold 8\.0 MiB each, 20\.0 MiB together' \
    'what a tenant'\''s caches may hold is shown'
alice one --cache s=out -- sh -c 'head -c 100000 /dev/zero | tr "\0" x >out/f'
errandctl tenant set "$NAME" --cache-size 64K --cache-total 290K >"$T/set"
is "$?" 0 'and can be set for one'
is "$(errandctl --json tenant show "$NAME" | "$BUILD/tests/system/jget" cache_size)" 65536 'it is so then'
grep -q '^cache_total = "296960"' "$T/state/tenants.d/$NAME.conf"
is "$?" 0 'and in the tenant'\''s file'
alice one --cache t=out -- sh -c 'head -c 100000 /dev/zero | tr "\0" x >out/f'
like "$err" 'cache t was not saved: it is larger than the 64.0 KiB' 'it holds for the next job'
for i in 1 2 3 4 5; do
	alice one --cache l$i=out -- sh -c 'head -c 60000 /dev/zero | tr "\0" x >out/f'
done
is "$(errandctl --json cache list "$NAME" | sed 's/.*"name":"\([^"]*\)".*/\1/' | tr '\n' ' ')" 'l2 l3 l4 l5 ' \
    'and for all of them together'
errandctl tenant set "$NAME" --cache-size 64X 2>"$T/err"
like "$? $(cat "$T/err")" '^2 .*--cache-size 64X: write a size' 'what is no size is refused'
errandctl tenant set "$NAME" --cache-size 0 --cache-total 0 >"$T/set"
like "$(cat "$T/set")" 'hold 8\.0 MiB each, 20\.0 MiB together' '0 is what the defaults say again'
errandctl tenant add erna --cache-size 1M >"$T/set"
like "$(cat "$T/set")" 'hold 1\.0 MiB each, 20\.0 MiB together' 'a new tenant may have its own from the start'

# --- what cannot be used ---

wipe

check 'nothing is left of others' wait_for 10 none_left
alice one --cache c=out -- sh -c 'echo good >out/f'
d=$(the_cache)
for how in 'echo x >>mark' ': >mark' 'rm mark' 'rm -r tree' 'rm -r tree; ln -s / tree' \
    'rm mark; mkfifo mark' 'rm -r tree mark' 'sed -i s/4096/9999/ mark' 'rm mark; ln -s /etc/passwd mark'; do
	(cd "$d" && eval "$how")
	alice one --cache c=out -- sh -c 'ls -A out; echo good >out/f'
	[ "$rc $out" = '0 ' ] || break
	printf '%s\n' "$err" | grep -q 'cache c: what was saved of it is damaged; it began empty' ||
	    break
	alice one --cache c=out -- cat out/f
	[ "$out" = good ] || break
done
is "$out" good "a state that is damaged or gone in part: an empty cache, and a sentence ($how)"
rm -rf "$d"
alice one --cache c=out -- sh -c 'ls out; echo good >out/f'
is "$rc $out" '0 ' 'one that is gone: an empty one'
check 'nothing is left of them' none_left

# --- hostile content ---

alice one --cache c=out -- sh -c 'cd out; rm -f f; ln -s /etc/shadow s; ln -s /proc/self/root r; ln -s .. up
    mkfifo p; mkdir dead; echo 1 >dead/f; chmod 0 dead/f dead; mkdir u; echo 1 >u/f; chmod 500 u
    python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"
    mknod w c 0 0; for i in $(seq 300); do ln u/f h$i; done
    python3 -c "
import os
os.mkdir(\"x\"); open(\"x/f\", \"w\").write(\"1\\n\")
for p, a, v in ((\"x\", \"redirect\", b\"/etc\"), (\"x\", \"opaque\", b\"y\"), (\"x/f\", \"metacopy\", b\"\"),
    (\"x/f\", \"redirect\", b\"/passwd\"), (\"x/f\", \"whiteout\", b\"y\"), (\"x/f\", \"plain\", b\"y\")):
	for n in \"user.overlay.\" + a, \"trusted.overlay.\" + a, \"user.\" + a:
		try: os.setxattr(p, n, v)
		except OSError: pass
" ; true'
is "$rc $(use saved)" '0 True' 'links out, FIFOs, sockets, closed directories, marks of overlays: saved'
alice one --cache c=out -- sh -c 'cd out; ls -A | grep -v "^h" | tr "\n" " "; readlink s r up; ls x; cat x/f; ls h* | wc -l
    chmod 700 dead; cat u/f; chmod 600 dead/f; cat dead/f
    python3 -c "import os; print(os.listxattr(\"x/f\"), os.listxattr(\"x\"))"'
is "$(flat "$out")" 'dead r s u up x /etc/shadow /proc/self/root .. f 1 300 1 1 [] [] ' \
    'and are what they were, but for what is no file'
d=$(the_cache)
is "$(find "$d" ! -type f ! -type d ! -type l; getfattr -R -m - -d "$d" 2>/dev/null)" '' \
    'on the disk there is nothing special'
alice one --cache c=out -- sh -c 'cd out; for i in $(seq 150); do mkdir d && cd d; done; echo 1 >f'
like "$rc $err" '0 .*cache c was not saved: it is more than 100 directories deep' 'too deep: not saved'
alice one --cache c=out -- sh -c 'cd out; for i in $(seq 90); do mkdir d && cd d; done; echo deep >f'
alice one --cache c=out -- sh -c 'cd out; for i in $(seq 90); do cd d; done; cat f; chmod -R u+rwx /workspace/out; rm -rf /workspace/out/* ; echo end >/workspace/out/f'
is "$out" deep 'deep: saved'
alice one --cache c=out -- ls out
is "$out" f 'and all of it can be removed'
check 'nothing is left of it' none_left

# --- --disk ---

if [ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null && losetup -f >/dev/null 2>&1; then
	alice one --disk 16M --cache c=out -- sh -c 'head -c 30000000 /dev/zero >out/f'
	like "$rc $err" 'limit: disk|No space|disk' 'with --disk, what is written to a cache counts'
	like "$err" 'cache c was not saved' 'and is not saved then'
	alice one --disk 16M --cache c=out -- sh -c 'head -c 30000000 /dev/zero >out/f; exit 0'
	like "$rc $err" '120 .*cache c was not saved: its disk was full' 'though the command does not mind'
	alice one --disk 16M --cache c=out -- sh -c 'cat out/f; cd out; echo d >a; chmod 604 a; touch -d 2003-02-03T04:05:06 a
	    ln a b; ln -s a l; truncate -s 1G s; echo tail >>s; mkdir e; echo e >e/f; touch -d 2004-02-03T04:05:06 e; mkfifo p'
	is "$rc $out $(use saved)" '0 end True' 'below it, it is saved from there'
	alice one --cache c=out -- sh -c 'cd out; ls -A; cat f a e/f; stat -c "%a %h %Y" a; stat -c %Y e; stat -c %s s; tail -n 1 s; du -k s | cut -f 1; readlink l'
	is "$(flat "$out")" 'a b e f l s end d e 604 2 1044245106 1075781106 1073741829 tail 4 a ' \
	    'with modes, times, links and holes'
else
	skip 5 'needs loop devices'
fi

# --- killed ---

wipe
alice one --cache c=out -- sh -c 'echo old >out/f'
seed=${ERRAND_TEST_SEED:-$(date +%s)}
diag "seed $seed"
# killed WHO N: while it is being saved, or a moment later
at_save='import os, random, signal, sys, time
where, seed, end = sys.argv[1], sys.argv[2], time.time() + 20
while not any(n[0] == "." and len(n) > 33 for n in os.listdir(where)):
	if time.time() > end: sys.exit(1)
random.seed(seed)
time.sleep(random.random() * 0.03)
for p in sys.argv[3:]:
	try: os.kill(int(p), signal.SIGKILL)
	except OSError: pass'
killed() {
	: >"$T/o1"
	as_uid $ALICE timeout 60 "$BIN/errand" run -q -C "$T/one" --include-all --cache c=out -- \
	    sh -c 'rm -f out/f; echo begun; i=0; while [ $i -lt 1900 ]; do echo $1 >out/$i; i=$((i + 1)); done; echo $1 >out/f' \
	    sh "$2" >"$T/o1" 2>&1 &
	p1=$!
	wait_for 20 test -s "$T/o1"
	case $1 in
	errandd) who_pids=$daemon_pid ;;
	exec) who_pids=$(pgrep -P "$daemon_pid" -x errand-exec) ;;
	keeper) who_pids=$(pgrep -u "$base,$((base + 1))" -x errand-keeper) ;;
	esac
	# shellcheck disable=SC2086
	python3 -c "$at_save" "$T/state/run/$a_uid/caches" "$seed$2" $who_pids
	[ "$1" != errandd ] || { wait_for 20 no_workers; run_daemon; }
	wait $p1
}
no_workers() { ! pgrep -r S,R,D -u "$base,$((base + 1)),$((base + 1001))" >/dev/null; }
prev=old
n=1
bad=
rounds=
for who in keeper exec errandd keeper exec errandd keeper exec errandd keeper exec keeper; do
	killed $who $n
	check "$who is killed: nothing is left (round $n)" wait_for 20 none_left
	wait_for 20 daemon_up
	until alice one --cache c=out -- sh -c 'cat out/f; ls out | wc -l' && [ "$rc" -eq 0 ]; do
		[ $((tries += 1)) -lt 20 ] || break
		sleep 0.2
	done
	got=$(flat "$out")
	rounds="$rounds $who/$n: $got;"
	case $got in
	"$prev 1 ") ;;
	"$n 1901 ") prev=$n ;;
	"$prev 1901 ") [ "$prev" != old ] || bad="$bad $who/$n: $got" ;;
	*) bad="$bad $who/$n: $got" ;;
	esac
	n=$((n + 1))
done
is "$bad" '' 'and what there is is the old state or the new, whole'
diag "rounds:$rounds"

# --- the daemon, again ---

alice one --cache c=out -- sh -c 'rm -rf out/*; echo kept >out/f'
stop_daemon
mkdir "$(dirname "$(the_cache)")/.0123456789abcdef0123456789abcdef.x"
run_daemon
check 'what a crash of the host left is removed at the start' wait_for 10 none_left
alice one --cache c=out -- cat out/f
is "$out" kept 'and caches outlive the daemon'
stop_daemon
done_testing
