#!/bin/sh
# Changes come home: fetch --apply and run --apply, the three-way merge, what is
# refused, and what is said.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
start_daemon

job() { errand -q -- sh -c "$1" >/dev/null; }
apply() { run errand fetch last --apply "$@"; }
said() { cat "$T/err"; }
# state: everything in this tree but times
state() {
	find . -mindepth 1 ! -name .errandignore -printf '%y %m %p %l\n' |
	    LC_ALL=C sort
	find . -type f ! -name .errandignore -exec sha256sum {} + |
	    LC_ALL=C sort -k2
}

# --- what is taken ---

tree take
mkdir -p d/old sub
echo 1 >a; echo 2 >sub/b; echo 3 >d/old/c; echo 4 >gone; ln -s a l
chmod 644 a sub/b
job 'echo new >a; chmod +x sub/b; rm -r d gone; mkdir -p n/empty
    echo x >n/x; ln -sf sub l; ln -s /outside out; printf "a\r\n" >crlf'
apply
is "$rc" 0 'changes are applied'
like "$(said)" \
    'errand: applied 12 paths \(5 created, 3 modified, 4 deleted\), [0-9]+ bytes$' \
    'and it is said how many, and how much'
is "$(cat a) $(stat -c %a sub/b) $(readlink l) $(readlink out) $(cat n/x)" \
    'new 755 sub /outside x' 'content, mode, links and new files (SYM-A3)'
check 'a file that the job deleted is gone' test ! -e gone
check 'and a directory' test ! -e d
check 'empty directories come too (CAP-A6)' test -d n/empty
is "$(od -An -tx1 crlf | tr -d ' \n')" 610d0a 'bytes are as they were'
check 'nothing is left beside the tree' test ! -e .errand-apply
before=$(state)
apply
is "$rc" 0 'applied twice is a success'
like "$(said)" 'applied 0 paths' 'that changes nothing'
is "$(state)" "$before" 'and leaves everything as it is'

tree nothing
echo 1 >a
job true
before=$(state)
apply
is "$rc $(state)" "0 $before" 'a job without changes applies as nothing'
is "$(errand -q fetch last --apply -q 2>&1)" '' '-q says nothing'

tree bytes
printf 'no newline' >f
printf 'a\r\nb\r\nc\r\n' >crlf
job 'printf "still none" >f; head -c 300 /dev/urandom >bin; sha256sum bin >sum
    sed -i "s/^b/B/" crlf'
apply
is "$rc $(cat f)" '0 still none' 'a missing last newline stays so (APPLY-A4)'
check 'binary files come whole (APPLY-A4)' sha256sum -c --quiet sum
is "$(od -An -c crlf | tr -d ' \n')" 'a\r\nB\r\nc\r\n' \
    'lines keep their ends (EOL-A1)'

tree anew
mkdir d
touch d/old keep .wh.x
job 'rm -r d; mkdir d; touch d/new .wh.keep .wh..wh..opq; rm .wh.x'
apply
is "$(find . -type f ! -name .errandignore | LC_ALL=C sort | tr '\n' ' ')" \
    './.wh..wh..opq ./.wh.keep ./d/new ./keep ' \
    'a directory made anew has nothing of the old; no name is special (CAP-A1, CAP-A5)'

tree swap
echo 1 >a
echo 2 >b
echo x >readme
job 'rm b; mv a b; mv readme README'
apply
is "$(ls) $(cat b README)" "README
b 1
x" 'renames, also to another case (CAP-A3, NAME-A4)'

tree types
mkdir -p d/e x
echo 1 >f; echo 2 >d/e/g; ln -s f l; echo 3 >x/y
job 'rm f l; mkdir f l; echo 1 >f/z; echo 2 >l/z; rm -r d; echo file >d
    rm -r x; ln -s d x'
apply
is "$rc $(cat f/z l/z d) $(readlink x)" '0 1
2
file d' 'files become directories, and directories files and links'
job 'rm -r f l x d; echo f >f; ln -s f l; mkdir -p d/e x; echo g >d/e/g'
apply
is "$rc $(cat f d/e/g) $(readlink l) $(stat -c %F x)" '0 f
g f directory' 'and back'

tree twice
printf '%s\n' 1 2 3 4 5 6 7 8 9 >f
echo x >gone
job 'sed -i s/9/nine/ f; chmod +x f; rm gone; echo new >same'
sed -i s/1/one/ f
rm gone
echo new >same
apply
is "$rc $(head -n 1 f)$(tail -n 1 f) $(stat -c %A f | cut -c 4)" '0 onenine x' \
    'a text that both changed is merged, and its mode'
like "$(said)" 'applied 1 paths ' 'what is the same on both sides is no change'

tree touched
echo 1 >f
job 'echo 2 >f'
touch -d 2001-01-01 f
apply
is "$rc $(cat f)" '0 2' 'a file of which only the time changed has not changed'

tree times
job 'echo 1 >z; sleep 0.05; echo 2 >a'
touch -d '5 seconds ago' mark
apply
check 'what is applied is newer than what was here' test z -nt mark
check 'and in the order in which the job wrote it' test a -nt z

# --- conflicts ---

tree conflict
for f in a m z del mod kind; do echo 1 >$f; done
job 'echo 2 >a; echo 2 >m; echo 2 >z; echo 2 >del; rm mod; echo 2 >kind
    echo theirs >new.txt'
job=$(errand ps -a -n 1 --json | "$TOOLS/jget" id)
echo local >m; rm del; echo local >mod; rm kind; mkdir kind; echo mine >new.txt
before=$(state)
apply
is "$rc" 121 'conflicts are 121 (APPLY-A1, APPLY-A2)'
is "$(state)" "$before" 'nothing was changed (APPLY-A1, APPLY-A2, APPLY-A3)'
is "$(said | sed -n 's/^errand: \(conflict: .*\)/\1/p')" \
    'conflict: del: deleted here, changed by the job
conflict: kind: different types
conflict: m: changed here and by the job
conflict: mod: changed here, deleted by the job
conflict: new.txt: changed here and by the job' 'each is named with what is wrong'
like "$(said)" "errand fetch --apply --conflicts $job\$" 'and how to go on'
mkdir "$T/in to"; echo local >"$T/in to/m"; echo local >"$T/in to/a"
run errand fetch "$job" --apply --into "$T/in to" m
like "$(said)" "errand fetch --apply --conflicts --into '$T/in to' -- $job m\$" \
    'with all that the command had'
hint=$(said | sed -n 's/.*these: errand //p')
(eval "errand $hint") >/dev/null 2>&1
is "$? $(cat "$T/in to/a") $(grep -c '<<<' "$T/in to/m")" '121 local 1' 'so that it can be given as it stands'
apply --json
is "$rc $("$TOOLS/jget" paths <"$T/out") $("$TOOLS/jget" exit_code <"$T/out")" \
    '121 0 121' '--json says so in one object'
like "$(cat "$T/out")" '"path": ?"del", ?"conflict": ?"deleted here, changed by' \
    'with the conflicts'
apply --conflicts
is "$rc" 121 '--conflicts: 121 too'
is "$(cat a z mod) $(cat new.txt) $(stat -c %F kind)" '2
2
local mine directory' 'the rest is applied, what is here stays'
like "$(cat m)" '^<<<<<<< here' 'texts get markers'
is "$(sed -n '2p;4p' m)" 'local
2' 'with both versions between them'
is "$(cat new.txt.errand-theirs del.errand-theirs kind.errand-theirs)" 'theirs
2
2' 'other conflicts get the job'\''s version beside them'
like "$(said)" 'applied 2 paths \(0 created, 2 modified, 0 deleted\), [0-9]+ bytes; 1 marked, 3 put beside as' \
    'what was applied is counted'
before=$(sum m)
apply --conflicts
is "$rc $(sum m)" "121 $before" 'given again, no markers are put between markers'
like "$(said)" 'conflict: m: .*; left as it is: the markers of an earlier merge are in it' \
    'which is said'
apply --conflicts
is "$(find . -name '*.errand-theirs*' | wc -l)" 3 \
    'copies do not multiply (APPLY-A5)'
errand ls >"$T/ls"
cannot 'and are not sent (APPLY-A5)' grep errand-theirs "$T/ls"

tree binary
head -c 100 /dev/urandom >b
job 'head -c 90 /dev/urandom >b'
head -c 80 /dev/urandom >b
before=$(sum b)
apply
is "$rc $(sum b)" "121 $before" 'binary files that both changed are a conflict'
ln -s nothing b.errand-theirs
apply --conflicts
is "$rc $(sum b) $(size b.errand-theirs)" "121 $before 90" \
    'the job'\''s goes beside'

# --- directories ---

tree dirs
mkdir -p d/sub keep
echo '*.o' >.errandignore
echo 1 >d/f; echo 1 >d/sub/g; echo 1 >keep/f
job 'rm -r d; rm keep/f; echo 1 >keep/new; mkdir made; echo 1 >made/f'
echo obj >d/x.o
rm -r keep
mkdir made
echo 2 >made/mine
apply
is "$rc $(find d | LC_ALL=C sort | tr '\n' ' ')" '0 d d/x.o ' \
    'a deleted directory stays for what the job did not have'
like "$(said)" 'd: kept' 'and it is said'
is "$(cat keep/new) $(cat made/f made/mine)" '1 1
2' 'a new file brings its directory back; a directory may be new on both sides'

tree blocked
mkdir -p d "$T/outside"
echo 1 >d/f
job 'echo 2 >d/f; echo 1 >d/g'
rm -r d
ln -s "$T/outside" d
apply
is "$rc" 121 'a directory that became a link here is a conflict (TRAV-A2)'
is "$(said | grep -c 'conflict: d: different types')" 1 'named once'
is "$(find "$T/outside" | wc -l)" 1 'nothing is written through it (TRAV-A2)'
apply --conflicts
is "$rc $(find "$T/outside" | wc -l) $(readlink d)" "121 1 $T/outside" \
    'with --conflicts neither'

tree link
mkdir w real
ln -s real "$T/w/link/tree"
cd tree || exit 1
: >.errandignore
echo 1 >a
job 'echo 2 >a'
apply
is "$rc $(cat a)" '0 2' 'the tree may be reached through a link (TRAV-A4)'

# --- which tree ---

tree origin
echo 1 >a
job 'echo 2 >a'
id=$(errand ps -a -n 1 --json | "$TOOLS/jget" id)
work elsewhere
run errand fetch "$id" --apply
is "$rc $(cat "$T/w/origin/a")" '0 2' 'it goes to the tree the job came from'
mkdir other
echo 1 >other/a
run errand fetch "$id" --apply --into other
is "$rc $(cat other/a)" '0 2' '--into names another'
rm -r "$XDG_STATE_HOME/errand/origins"
run errand fetch "$id" --apply
is "$rc" 120 'a job of which the tree is not known here is refused'
like "$(said)" 'name the tree with --into DIR' 'and the remedy named'
run errand fetch "$id" --apply --into missing
is "$rc" 120 'a tree that is not there is an error'
run errand run -q --no-snapshot -- sh -c 'echo 1 >made'
mkdir empty
run errand fetch last --apply --into "$PWD/empty"
is "$rc $(cat empty/made)" '0 1' 'a job without a tree can be applied into one'

tree paths
mkdir d
echo 1 >a; echo 1 >d/b
job 'echo 2 >a; echo 2 >d/b; mkdir -p n/m; echo 1 >n/m/f; echo 1 >n/g'
apply d n/m/f
is "$rc $(cat a d/b n/m/f) $(ls n)" '0 1
2
1 m' 'only the paths that are named'
apply nowhere
is "$rc" 1 'a path that the job did not change is an error'

for o in '--conflicts' '--into x' '-o y --apply' ''; do
	# shellcheck disable=SC2086
	run errand fetch last $o
	[ $rc -eq 2 ] || break
done
is "$rc" 2 'options that do not go together are refused'

# --- run --apply ---

tree run
echo 1 >a
run errand run --apply -- sh -c 'echo 2 >a; echo out'
is "$rc $(cat a) $(cat "$T/out")" '0 2 out' 'run --apply applies'
like "$(said)" 'applied 1 paths \(0 created, 1 modified' 'and says it'
run errand run --apply -- sh -c 'echo 3 >a; exit 3'
is "$rc $(cat a)" '3 2' 'not when the command failed'
like "$(said)" 'errand fetch [a-z0-9]+ --apply' 'then it says how'
errand run --apply --json -- sh -c 'echo 4 >a' >"$T/out" 2>"$T/err"
is "$? $(grep -Ec '"event": ?"applied"' "$T/err") $(cat a)" '0 1 4' \
    '--json has an event of it'
errand run --apply -- sh -c 'trap go=1 USR1; echo ready
    while [ -z "$go" ]; do sleep 0.05; done; echo 5 >a' >"$T/out" 2>"$T/err" &
pid=$!
wait_for 20 grep -q ready "$T/out"
echo mine >a
errand kill -s USR1 last
wait "$pid"
is "$? $(cat a)" '121 mine' 'a conflict is 121 though the command succeeded'
like "$(said)" 'conflict: a: changed here and by the job' 'and named'
run errand run --apply --detach -- true
is "$rc" 2 'not with --detach'
run errand run --apply --no-snapshot -- true
is "$rc" 2 'nor without a tree'

done_testing
