#!/bin/sh
# What is kept of what a job made: all that was submitted, and new paths unless
# the ignore rules exclude them that were in force when the job was submitted.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program git
start_daemon

# changed: the list of the last job, in one line
changed() { errand diff last 2>/dev/null | tr '\n' ' '; }

# fetched: the paths of the last job's result tree that are files
fetched() {
	rm -rf "$T/fetched"
	errand -q fetch last -o "$T/fetched" 2>/dev/null
	(cd "$T/fetched" && find . -mindepth 1 -not -type d | sed 's|^\./||' |
	    LC_ALL=C sort | tr '\n' ' ')
}

repo git
printf '*.o\n/out/\n!keep.o\n' >.gitignore
mkdir -p src out sub && echo '*.log' >sub/.gitignore
echo 1 >src/a.c; echo 1 >src/tracked.o; echo 1 >out/tracked
git add -f . && git commit -qm 1
errand -q -- sh -c 'echo 2 >src/a.o; echo 2 >src/keep.o; echo 2 >src/b.c
    echo 2 >src/tracked.o; echo 2 >out/tracked; echo 2 >out/new; mkdir out/dir
    echo 2 >out/dir/f; echo 2 >sub/x.log; echo 2 >sub/y; echo 2 >x.log'
is "$(changed)" 'M out/tracked A src/b.c A src/keep.o M src/tracked.o A sub/y A x.log ' \
    'new paths that a rule excludes are not kept, submitted ones always are'
is "$(fetched)" 'out/tracked src/b.c src/keep.o src/tracked.o sub/y x.log ' \
    'neither are they fetched'
is "$(field changes.ignored)" 4 'how many were left out is in the status: a directory is one'
is "$(errand receipt last --json | "$TOOLS/jget" changes.ignored)" 4 'and in the receipt'
run errand -- sh -c 'touch new.o new.c'
like "$(cat "$T/err")" '1 path changed.*1 new left out by ignore rules.*--artifact' \
    'and is said, with how to keep them'
run errand diff last
like "$(cat "$T/err")" '1 new path was left out by ignore rules.*--artifact' 'by diff too'
run errand fetch last -o "$T/hint"
like "$(cat "$T/err")" '1 new path was left out by ignore rules.*--artifact' 'by fetch'
like "$(cat "$T/err")" 'fetched 1 file, 0 B into' 'which fetched one file, not files'
run errand fetch last new.o -o "$T/hint2"
is "$rc $(test -e "$T/hint2"; echo $?)" '1 1' 'and when only what was left out is asked for'
like "$(cat "$T/err")" '1 new path was left out by ignore rules' 'it says so too'
run errand diff last new.o
like "$(cat "$T/err")" '1 new path was left out by ignore rules' 'as does diff'
run errand fetch last --apply
like "$(cat "$T/err")" '1 new path was left out by ignore rules' 'and fetch --apply'
rm new.c
errand -q -- sh -c 'rm src/tracked.o out/tracked; mkdir out/other; touch out/other/f'
is "$(changed)" 'D out/tracked D src/tracked.o ' 'deletions of what a rule matches are kept'
errand -q -- sh -c 'rm src/a.c; mkdir src/a.c; touch src/a.c/x.o src/a.c/y'
is "$(changed)" 'T src/a.c A src/a.c/y ' 'a file that became a directory is kept, in it the rules count'
errand -q -- sh -c 'rm -r src; mkdir src; touch src/n.o src/n.c'
is "$(changed)" 'D src/a.c A src/n.c D src/tracked.o ' 'as in a directory that was made anew'
errand -q -- sh -c 'mkdir empty new; touch new/x.o'
is "$(changed)" 'A empty A new ' 'directories that no rule excludes are kept, also empty ones'
errand -q -- sh -c 'ln -s a l.o; ln -s a l; mkfifo f.o'
is "$(changed)$(field changes.ignored)" 'A l 1' 'links are judged like files'

# --- frozen ---

errand -q -- sh -c 'rm .gitignore sub/.gitignore; touch a.o out/x sub/x.log'
is "$(changed)" 'D .gitignore D sub/.gitignore ' 'a job that removes the rules gains nothing'
errand -q -- sh -c 'echo "!*" >.gitignore; echo "!*.o" >src/.gitignore; touch src/a.o'
is "$(changed)" 'M .gitignore A src/.gitignore ' 'nor one that writes others'
errand -q -- sh -c 'echo "*" >new.d 2>/dev/null; mkdir d; echo "*" >d/.gitignore; touch d/f'
is "$(changed)" 'A d A d/.gitignore A d/f A new.d ' 'nor can it hide what it made'
J=$(errand -d -- sh -c 'trap "touch x.o x.c; exit" USR1; echo up; while :; do sleep 0.05; done')
wait_for 20 has_output "$J" up || diag 'it does not come up'
cp .gitignore "$T/gitignore" && echo '*.c' >.gitignore
errand kill -s USR1 "$J"; errand wait "$J"
is "$(changed)" 'A x.c ' 'rules that are changed here meanwhile do not count'
cp "$T/gitignore" .gitignore

# --- artifacts ---

errand -q --artifact out/bin/app --artifact a.o -- sh -c 'mkdir -p out/bin out/etc
    touch out/bin/app out/bin/other out/etc/f a.o b.o'
is "$(changed)" 'A a.o A out/bin A out/bin/app ' '--artifact keeps a path, and the way to it'
is "$(errand receipt last --json | "$TOOLS/jget" artifacts | tr -d '\n ')" \
    '["out/bin/app","a.o"]' 'the receipt names it'
errand -q --artifact out -- sh -c 'mkdir -p out/a/b; touch out/a/b/x.o out/y'
is "$(changed)" 'A out/a A out/a/b A out/a/b/x.o A out/y ' 'and all that is below it'
run errand --artifact out/none/f --artifact '*.o' --artifact n.o -- sh -c 'mkdir out/none; touch n.o'
like "$(cat "$T/err")" 'artifact out/none/f: the job neither made nor changed such a path$' 'one that was not made is named'
like "$(cat "$T/err")" 'artifact \*.o: the job neither .* not as a pattern' 'with the reason, if it looks like a pattern'
is "$(grep -c 'neither made' "$T/err")" 2 'one that was made is not'
errand -q --artifact out/none/f -- sh -c 'mkdir out/none'
is "$(changed)" '' 'one that was not made leaves nothing'
errand -q --artifact out/l/passwd -- sh -c 'ln -s /etc out/l'
is "$(changed)" '' 'one behind a link is not looked for'
(cd sub && errand -q --artifact b.o --artifact ../c.o --artifact /workspace/d.o -- sh -c 'touch a.o b.o ../c.o ../d.o')
is "$(changed)" 'A c.o A d.o A sub/b.o ' 'it is relative to where the command runs'
errand -q --artifact . -- sh -c 'touch a.o; mkdir out/x'
is "$(changed)$(field changes.ignored)" 'A a.o A out/x 0' '--artifact . keeps everything'
run errand -q --artifact ../x -- true
is "$rc" 2 'one outside the tree is refused'
like "$(cat "$T/err")" 'artifact ../x: name something in the tree' 'in words'

# --- the other ways to select ---

tree own
printf '*.o\n' >.errandignore; mkdir sub; echo '*.log' >sub/.errandignore
errand -q -- touch a.o b sub/x.log sub/y x.log
is "$(changed)" 'A b A sub/y A x.log ' '.errandignore: its rules count likewise, nested ones too'
is "$(errand ls | tr '\n' ' ')" '.errandignore sub/ sub/.errandignore ' 'as they do for what is sent'
repo all
echo '*.o' >.gitignore
errand -q --include-all -- touch a.o b
is "$(changed)$(field changes.ignored)" 'A a.o A b 0' '--include-all keeps everything'
repo incremental
printf '*.o\n/prog\n' >.gitignore; printf 'prog: a.o\n\tcat a.o >prog\na.o: a.c\n\tcp a.c a.o\n' >Makefile; echo 1 >a.c
run errand --include-all --apply -- make
is "$(cat prog)" 1 '--include-all --apply brings back what a build made'
run errand --include-all --apply -- make
like "$(cat "$T/out")" "'prog' is up to date" 'and the next one goes on from there'
echo 2 >a.c
run errand --include-all --apply -- make
is "$(cat prog)" 2 'making anew what has changed'
J=$(errand -d --no-snapshot -- touch a.o) && errand wait "$J"
is "$(errand diff "$J")" 'A a.o' 'so does --no-snapshot'
repo outer && echo '*.x' >.gitignore && mkdir -p in && cd in && git init -q . && echo '*.y' >.gitignore
cd .. || exit 1
errand -q -- sh -c 'touch a.x a.y in/a.x in/a.y'
is "$(changed)" 'A a.y A in/a.x ' 'a repository inside has rules of its own'
cd in || exit 1
errand -q -- sh -c 'touch a.x a.y'
is "$(changed)" 'A a.x ' 'also as a tree by itself'
repo below && echo '/sub/*.x' >.gitignore && mkdir sub && echo 1 >sub/f
errand -q -C sub -- touch a.x b
is "$(cd sub && changed)" 'A b ' 'rules above the root count'
repo fold && git config core.ignoreCase true && echo '*.OBJ' >.gitignore
errand -q -- touch a.obj b.Obj c
is "$(changed)" 'A c ' 'core.ignoreCase counts'
repo big
i=0
while [ $i -lt 3000 ]; do echo "/some/rather/long/path/to/something/number/$i/*.o"; i=$((i + 1)); done >.gitignore
mkdir -p some/rather/long/path/to/something/number/2999
echo 1 >f
errand -q -- sh -c 'cd some/rather/long/path/to/something/number; touch 2999/a.o 2999/b; mkdir 3000; touch 3000/a.o'
is "$(changed | tr ' ' '\n' | sed 's|.*/number/||' | tr '\n' ' ')" 'A 2999/b A 3000 A 3000/a.o ' '3,000 rules go along'
i=0
while [ $i -lt 12000 ]; do echo "/some/rather/long/path/to/something/number/$i/*.o"; i=$((i + 1)); done >.gitignore
run errand -q -- true
is "$rc" 120 'rules that are too many are refused before the job'
like "$(cat "$T/err")" 'ignore rules .* larger than 512' 'in words'
done_testing
