#!/bin/sh
# What is sent, before it is: ls, ls --explain, ls --digest, run --dry-run.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program git
start_daemon

# --- why ---

# explain PATH: what is said on stdout, and the exit code
explain() {
	run errand ls --explain "$@"
	echo "$(cat "$T/out") $rc"
}

tree rules
mkdir -p foo/bar/baz build/keep sub; echo x >foo/bar/baz/f; echo x >build/keep/k; echo x >a.o
printf '%s\n' '# comment' '/foo/bar' '!/foo/bar/baz' '*.o' '!keep.o' '/build/*' '!/build/keep/' >.errandignore
echo '*.tmp' >sub/.errandignore; touch keep.o sub/x.tmp sub/y
is "$(explain foo/bar/baz/f)" \
    'foo/bar/baz/f: not sent: .errandignore:2: /foo/bar excludes foo/bar, and so all below 1' \
    'ls --explain names the file, line and pattern that decide (IGN-A2)'
like "$(cat "$T/err")" 'warning: .errandignore:3: !/foo/bar/baz can bring nothing back, since .errandignore:2: /foo/bar excludes foo/bar' \
    'a negation that can have no effect is warned of (IGN-A2)'
is "$(grep -c warning "$T/err")" 1 'one that has an effect is not'
is "$(explain a.o)" 'a.o: not sent: .errandignore:4: *.o 1' 'a path that a rule excludes itself'
is "$(explain keep.o)" 'keep.o: sent: .errandignore:5: !keep.o 0' 'one that a rule brings back'
is "$(explain foo)" 'foo: sent: no rule matches 0' 'one without any rule'
is "$(explain sub/x.tmp)" 'sub/x.tmp: not sent: sub/.errandignore:1: *.tmp 1' 'a rule of a directory below'
is "$(explain build/keep/k)" 'build/keep/k: sent: no rule matches 0' 'one in a directory that was brought back'
is "$(explain none)" 'none: not sent: there is no such path 1' 'one that is not there'
is "$(explain none.o)" 'none.o: not sent: .errandignore:4: *.o 1' 'one that is not there and would be excluded'
is "$(explain .git)" '.git: not sent: that name never is 1' '.git'
is "$(explain .)" '.: sent: it is the tree 0' 'the tree'
is "$(cd foo && explain ../a.o)" 'a.o: not sent: .errandignore:4: *.o 1' 'paths are relative to where one stands'
run errand ls --explain ../x
is "$rc" 1 'one outside the tree is none'
mkfifo pipe
is "$(explain pipe)" 'pipe: not sent: neither a file nor a directory nor a link 1' 'a FIFO'
is "$(errand ls --explain a.o --json 2>/dev/null)" \
    '{"path":"a.o","sent":false,"why":"rule","rule":{"file":".errandignore","line":4,"pattern":"*.o"}}' \
    'as JSON'
run errand ls
like "$(cat "$T/err")" 'warning: .errandignore:3' 'ls warns too'
run errand -- true
like "$(cat "$T/err")" 'warning: .errandignore:3' 'and so does run'
run errand ls -q --explain a.o
is "$(cat "$T/err")" '' 'but not with -q'

repo git
printf '*.gen\nd/\n!d/sub/*\n' >.gitignore
mkdir -p d/sub e; echo x >api.gen; echo x >d/sub/f; echo x >d/t; echo x >e/u
echo info >.git/info/exclude; echo i >info
git add -f api.gen d/t
is "$(explain api.gen)" 'api.gen: sent: tracked, although .gitignore:1: *.gen 0' \
    'in a Git work tree what is tracked is sent (IGN-A5)'
is "$(explain d/sub/f)" 'd/sub/f: not sent: .gitignore:2: d/ excludes d, and so all below 1' \
    'nothing comes back from below an excluded directory (IGN-A1)'
like "$(cat "$T/err")" '.gitignore:3: !d/sub/\* can bring nothing back' 'which is warned of'
is "$(explain e/u)" 'e/u: sent: no rule matches 0' 'what is untracked and not ignored'
is "$(explain info)" 'info: not sent: .git/info/exclude:1: info 1' 'a rule of info/exclude'
printf 'x\n\nglobal' >"$T/global"; git config core.excludesFile "$T/global"
is "$(explain global)" "global: not sent: $T/global:3: global 1" 'one of core.excludesFile'
run errand ls
is "$(cat "$T/err")" '' 'of negations in a .gitignore only --explain warns'
if [ "$(id -u)" -eq 0 ]; then
	chmod 000 .gitignore
	chmod 755 "$T/w"; chown -R 4242 .
	run as_uid 4242 "$BIN/errand" ls
	is "$rc" 120 'a .gitignore that cannot be read sends nothing'
	like "$(cat "$T/err")" 'cannot read .gitignore: Permission denied; nothing is sent without its rules' 'in words'
	chown -R 0 . && chmod 644 .gitignore
else
	skip 2 'needs root'
fi
rm .gitignore && ln -s "$T/outside" .gitignore && echo '*.gen' >"$T/outside" && git rm -q --cached api.gen
is "$(errand ls 2>/dev/null | grep -c api.gen)" 0 'a .gitignore that is a link is followed (IGN-A3)'
run errand ls
like "$(cat "$T/err")" '.gitignore: a link; git does not follow it' 'with a note that Git does not'
rm "$T/outside"
run errand ls
is "$rc" 120 'when it leads nowhere nothing is sent'
repo linked-from && git commit -q --allow-empty -m 1 && git worktree add -q ../linked 2>/dev/null
cd ../linked && echo x >f
run errand -- sh -c 'cat f; git rev-parse HEAD 2>/dev/null'
like "$(head -n 1 "$T/err")" 'this is a linked work tree.*in the job git finds a stand-in without history' \
    'a linked work tree is noted before the job starts (SEL-A3)'
repo sparse && mkdir in out && touch in/a out/b && git add . && git commit -qm 1
git sparse-checkout set in 2>/dev/null
run errand ls
like "$(cat "$T/err")" 'sparse checkout: 1 tracked file is not on disk' 'so is a sparse checkout'

repo replaced
printf 'secret.txt\n/keys/\n*.o\n' >.gitignore; printf '*.o\n' >.errandignore
mkdir -p keys/old d; touch secret.txt keys/a keys/old/b tracked.txt x.o d/f
echo tracked.txt >>.gitignore; git add -f tracked.txt
run errand ls
like "$(cat "$T/err")" 'note: 3 files that Git ignores are sent \(secret.txt, for one\), because .errandignore replaces' \
    '.errandignore in a Git work tree: ls says how much is sent that Git ignores'
run errand -- true
like "$(cat "$T/err")" 'note: 3 files that Git ignores are sent' 'run says it too'
run errand run -n -- true
like "$(cat "$T/err")" 'note: 3 files that Git ignores are sent' 'and so does a dry run'
is "$(explain secret.txt)" 'secret.txt: sent: no rule matches, though Git ignores it (.gitignore:1: secret.txt); its rules do not count beside .errandignore 0' \
    '--explain names the rule of Git that does not count'
like "$(explain keys/old/b)" 'sent: .* though Git ignores it \(.gitignore:2: /keys/\)' 'also one of a directory above'
is "$(explain tracked.txt) $(explain d/f)" 'tracked.txt: sent: no rule matches 0 d/f: sent: no rule matches 0' \
    'what Git tracks, or does not ignore, is said nothing of'
run errand -q -- true
is "$(cat "$T/err")" '' 'nothing is, with -q'
printf 'secret.txt\n/keys/\n' >>.errandignore
run errand -- true
is "$(grep -c note: "$T/err")" 0 'or when the rules are repeated'

# --- the content digest ---

work digest-a && git init -q .
mkdir -p d/e empty; echo 1 >d/e/f; echo 2 >B; echo 3 >a; printf 4 >"$(printf '\303\251')"; ln -s B l; chmod 755 a
d=$(errand ls --digest)
like "$d" '^[0-9a-f]{64}$' 'ls --digest gives 64 digits'
for l in C C.UTF-8 en_US.UTF-8 tr_TR.UTF-8 ja_JP.SJIS; do LC_ALL=$l errand ls --digest; done | sort -u >"$T/locales"
is "$(cat "$T/locales")" "$d" 'the same under every locale (LOC-A2)'
find . -not -path './.git*' -exec touch -h -d '2001-02-03 04:05:06.789' {} +
is "$(errand ls --digest)" "$d" 'whatever the times are'
cd "$T/w" && cp -r digest-a digest-b && rm -rf digest-b/.git && cd digest-b || exit 1
is "$(errand ls --digest --include-all)" "$d" 'the same for the same tree elsewhere'
chmod 600 a
check 'not the same when a mode differs' test "$(errand ls --digest --include-all)" != "$d"
chmod 755 a; ln -sf a l
check 'or a link' test "$(errand ls --digest --include-all)" != "$d"
ln -sf B l; mv B b
check 'or a name' test "$(errand ls --digest --include-all)" != "$d"
mv b B; rmdir empty
check 'or an empty directory' test "$(errand ls --digest --include-all)" != "$d"
mkdir empty; printf x >>d/e/f
check 'or a byte' test "$(errand ls --digest --include-all)" != "$d"
cd "$T/w/digest-a" || exit 1
errand -q -- true
is "$(errand receipt last --json | "$TOOLS/jget" content_digest)" "$d" 'the receipt has it'
touch d/e/f
errand -q -- true
is "$(errand receipt last --json | "$TOOLS/jget" content_digest)" "$d" 'also when only times changed'
echo new >d/e/f
errand -q -- true
is "$(errand receipt last --json | "$TOOLS/jget" content_digest)" "$(errand ls --digest)" \
    'or one file did, and the rest was remembered'
errand -q -- true
is "$(errand receipt last --json | "$TOOLS/jget" content_digest)" "$(errand ls --digest)" \
    'or nothing'
like "$(errand ls --digest --json)" "\"content_digest\":\"[0-9a-f]*\",\"files\":4,\"bytes\":" 'as JSON'

# --- dry runs ---

repo dry
printf '*.o\n!keep.o\n' >.gitignore
head -c 300000 /dev/urandom >large; echo small >small; : >empty; echo k >keep.o; echo o >x.o; ln -s small link
git add small
before=$(errand ps -a --json | wc -l)
run errand run --dry-run -- make
is "$rc" 0 'a dry run succeeds'
is "$(awk '{print $NF, $(NF-1)}' <"$T/out" | head -n 1)" 'matches) rule' 'says what decides'
is "$(sed -n 's/.*  \([^ ]*\)  (.*/\1/p' <"$T/out" | tr '\n' ' ')" \
    'large .gitignore small keep.o link empty ' 'and lists what would be sent, largest first'
like "$(grep large "$T/out")" '^ *293\.0 KiB +293\.0 KiB  large  \(no rule matches\)$' 'with what the host lacks of it'
like "$(cat "$T/out")" '  small  \(tracked\)' 'why: tracked'
like "$(cat "$T/out")" '  keep.o  \(.gitignore:2: !keep.o\)' 'or by a rule'
like "$(cat "$T/err")" '6 files and links, .* in 1 directory; the host lacks [0-9]+ objects, .*nothing was submitted' 'and the sum'
is "$(errand ps -a --json | wc -l)" "$before" 'there is no job'
errand -q -- true
run errand run -n -- true
like "$(cat "$T/err")" 'the host lacks 0 objects, 0 B' 'after a job the host lacks nothing'
like "$(grep large "$T/out")" '^ *293\.0 KiB +-  large' 'of no file'
cp large copy; printf x >>copy
run errand run -n --json -- true
like "$(head -n 1 "$T/out")" '"path":"copy","bytes":300001,"lacks_bytes":[0-9]+,"why":"no rule matches"' \
    'of a new one, which comes first, only what is new'
check 'which is less than all' test "$("$TOOLS/jget" lacks_bytes <"$T/out" 2>/dev/null | head -n 1)" -lt 200000
run errand run -n --no-snapshot -- true
is "$rc" 0 'it works without a tree'
is "$(cd "$T/w/dry" && ERRAND_HOST=unix:$T/none errand run -n -- true >/dev/null 2>&1; echo $?)" 120 \
    'without a host it fails'
done_testing
