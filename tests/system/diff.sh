#!/bin/sh
# errand diff: the list of what a job changed, and the changes as a patch.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program git script
start_daemon

tree small
printf '1\n2\n3\n' >text; printf 'no newline' >./cut; echo gone >gone; echo x >modes
ln -s a link; echo f >turned; printf 'a\0b' >binary; mkdir d; echo d >d/f
errand -q -- sh -c 'printf "1\ntwo\n3\n" >text; printf "still none" >cut; rm gone
    chmod +x modes; ln -sf b link; rm turned; mkdir turned; echo in >turned/in
    printf "a\0c" >binary; mkdir -p new/empty; echo n >new/n; echo y >"sp ace"'
is "$(errand diff last | tr '\n' ';')" \
    'M binary;M cut;D gone;M link;C modes;A new;A new/empty;A new/n;A sp ace;M text;T turned;A turned/in;' \
    'every kind of change has its letter'
is "$(errand diff last new text | tr '\n' ';')" 'A new;A new/empty;A new/n;M text;' \
    'of some paths only'
run errand diff last empty
like "$(cat "$T/err")" '^errand: empty: the job changed no such path, but new/empty; paths begin at the root' \
    'a path that is not from the root is told from one that is in no list'
run errand diff last nothing
is "$rc" 1 'one that is not in the list is an error'
is "$(errand diff -z last text | od -An -c | tr -d ' \n')" 'Mtext\0' '-z ends lines with NUL'
is "$(errand diff --stat last | tail -n 1)" \
    '12 paths: 5 created, 4 modified, 1 deleted, 1 other mode, 1 other type; 28 B' '--stat adds up'
is "$(errand diff --json last text link | tr '\n' ' ')" \
    '{"op":"M","path":"link","bytes":1,"kind":"link","mode":"0777","target":"b"} {"op":"M","path":"text","bytes":8,"kind":"file","mode":"0644"} ' \
    '--json: what each is now'
like "$(errand diff --json last gone)" '^\{"op":"D","path":"gone","bytes":0\}$' 'but for what is gone'

errand diff --patch last >"$T/patch"
is $? 0 '--patch succeeds'
sed -n '/^diff --git a.text/,/^diff --git a.turned/p' "$T/patch" | sed '/^index/d;/^diff --git a.turned/d' >"$T/got"
cat >"$T/want" <<'END'
diff --git a/text b/text
--- a/text
+++ b/text
@@ -1,3 +1,3 @@
 1
-2
+two
 3
END
check 'and is one that git would make' cmp "$T/want" "$T/got"
is "$(sed -n '/^diff --git a.binary/,/^$/p' "$T/patch" | grep -c -e '^GIT binary patch' -e '^literal 3')" 2 \
    'binary files are in it'
is "$(grep -A2 '^diff --git a/modes' "$T/patch" | tr '\n' ';')" \
    'diff --git a/modes b/modes;old mode 100644;new mode 100755;' 'so do modes'
cp -r . "$T/applied" && cd "$T/applied" || exit 1
git init -q . && check 'git apply takes it' git apply "$T/patch"
rm -rf .git
rm -rf "$T/result" && (cd "$T/w/small" && errand -q fetch last -o "$T/result")
bad=
for f in text cut binary new/n 'sp ace' turned/in; do cmp -s "$f" "$T/result/$f" || bad="$bad $f"; done
is "$bad" '' 'applied elsewhere, it gives what the job left'
is "$(readlink link) $(test -x modes && echo x) $(test -e gone || echo gone)" 'b x gone' \
    'links, modes and deletions too'
cd "$T/w/small" || exit 1
run errand diff --patch --json last
is "$rc" 2 '--patch does not go with --json'

# --- safe from what it shows ---

mkdir -m 777 "$T/ran"
cat >"$T/bait" <<END
#!/bin/sh
: >"$T/ran/\$(basename "\$0")\$\$"
END
chmod 755 "$T/bait"
repo bait
for k in diff.external diff.x.command diff.x.textconv filter.x.clean filter.x.smudge core.pager core.fsmonitor; do
	git config $k "$T/bait"
done
git config core.attributesFile "$T/attributes"
echo '* diff=x filter=x' | tee .gitattributes .git/info/attributes >"$T/attributes"
echo 1 >f; git add -A 2>/dev/null
rm -f "$T/ran"/*
errand -q -- sh -c 'echo 2 >f; echo "* diff=x -text" >d.gitattributes; mkdir d; echo "* diff=x" >d/.gitattributes; echo 3 >d/g'
cp "$(git rev-parse --git-dir)/config" "$T/evil-config"
GIT_EXTERNAL_DIFF=$T/bait GIT_PAGER=$T/bait GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.external \
    GIT_CONFIG_VALUE_0=$T/bait GIT_CONFIG_GLOBAL=$T/evil-config TMPDIR=$PWD \
    errand diff --patch last >"$T/got" 2>"$T/err"
is "$? $(find "$T/ran" -type f | wc -l)" '0 0' 'neither configuration nor attributes nor environment make it run something'
is "$(grep -c -e '^-1' -e '^+2' -e '^+3' "$T/got")" 3 'and it shows all'
is "$(find . -name 'errand-diff.*' | wc -l)" 0 'nothing is left in TMPDIR'

tree odd
printf 1 >"$(printf 'new\nline')"; echo 1 >"$(printf 'caf\351')"; echo 1 >-rf; echo 1 >'a"b'
errand -q -- sh -c 'for f in *; do echo 2 >"./$f"; done'
errand diff --patch last >"$T/got"
is "$(grep -c '^+2' "$T/got")" 4 'names of every byte'
errand -q -- sh -c 'printf "\033]0;pwn\007\033[31mred\n" >esc; ln -s /etc l; ln -s /etc m; rm m; mkdir m; echo p >m/passwd'
script -qec "$BIN/errand diff --patch last" /dev/null </dev/null >"$T/tty"
is "$(grep -c "$(printf '\033]0;pwn')" "$T/tty")" 0 'on a terminal, content cannot command it (ESC-A1)'
like "$(cat "$T/tty")" "$(printf '\033\\[32m\\+\\\\x1b')" 'but is shown, in colour'
NO_COLOR=1 script -qec "$BIN/errand diff --patch last" /dev/null </dev/null >"$T/tty"
is "$(grep -c "$(printf '\033')" "$T/tty")" 0 'NO_COLOR is honoured'
errand -q -- sh -c 'printf "a\0b" >bin'
script -qec "$BIN/errand diff --patch last" /dev/null </dev/null >"$T/tty"
is "$(grep -c 'Binary files /dev/null and b/bin differ' "$T/tty")" 1 'on a terminal binary files only differ'
errand -q -- sh -c 'head -c 20000000 /dev/zero >big; echo s >small'
run errand diff --patch last
like "$(cat "$T/err")" 'big: 19.*which is too large to be shown' 'what is too large is said'
is "$(grep -c '^+s' "$T/out")" 1 'the rest is shown'
errand -q -- sh -c 'for i in $(seq 2500); do echo $i >n$i; done'
is "$(errand diff --patch last | grep -c '^diff --git')" 2500 'thousands of files'
mkdir "$T/tmp"
export TMPDIR="$T/tmp"
empty() { [ -z "$(ls "$TMPDIR")" ]; }
is "$(errand diff --patch last | head -n 1)" \
    'diff --git b/n1 b/n1' 'a reader that has seen enough'
check 'leaves nothing in TMPDIR' wait_for 10 empty
mkfifo "$T/fifo"
for sig in HUP TERM KILL; do
	"$BIN/errand" diff --patch last >"$T/fifo" 2>"$T/err" &
	exec 8<"$T/fifo"
	full() { ! empty; }
	wait_for 10 full || diag 'it made no directory'
	kill -s "$sig" $!
	check "nor does $sig" wait_for 10 empty
	exec 8<&-
	wait $!
done
unset TMPDIR
J=$(errand -d --no-snapshot -- sh -c 'echo 1 >f') && errand wait "$J"
is "$(errand diff -p "$J" | grep -c '^+1')" 1 'a job without a tree'
done_testing
