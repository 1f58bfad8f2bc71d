#!/bin/sh
# What a job leaves in its workspace is data: links are never followed, what
# looks like the overlay's own marks is not believed, and whatever cannot be
# kept is said.  TREE_OPTS are options of run.
# shellcheck disable=SC2016,SC2154

. "$(dirname "$0")/../lib.sh"

LIMIT=30
TOOLS=$BUILD/tests/tools

mkdir "$T/tree"
cp "$TOOLS/job_syscalls" "$T/tree/"
cd "$T/tree" || exit 1
mkdir -p dir/sub plain secret gone
echo first >dir/first
echo second >dir/sub/second
echo x >x
echo plain >plain/file
echo secret >secret/file
echo gone >gone/file
start_daemon 'slots = 4' 'idle_sandboxes = 0'
tree_files=$(find . -type f | wc -l)

field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$T/json" | head -n 1
}

# run COMMAND: a job in the tree; sets rc, err and diff
run() {
	# shellcheck disable=SC2086
	timeout 120 "$BIN/errand" run --include-all -C . ${TREE_OPTS-} -- sh -c "$1" \
	    >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	err=$(cat "$T/err")
	errand status last --json >"$T/json" 2>&1
	diff=$(errand diff last 2>"$T/diff.err")
	[ ! -d "$T/got" ] || chmod -R u+rwx "$T/got"
	rm -rf "$T/got"
	errand fetch -q -o "$T/got" last >"$T/fetch.out" 2>&1
	fetch_rc=$?
}
whole() { is "$rc:$(sed -n 's/.*"changes":{[^}]*"complete":\([a-z]*\).*/\1/p' \
    "$T/json" | head -n 1)" 0:true "$1"; }
fine() {
	check "$1: errandd is the same" test -e "/proc/$daemon_pid/exe"
	check "$1: nothing stays" wait_for $LIMIT swept
	check "$1: the next job works" \
	    "$BIN/errand" run -q --include-all -C . -- test -f dir/first
}
swept() { [ -z "$(find "$T/state/run" -path '*/jobs/*' 2>/dev/null)" ]; }

# --- links ---

run 'ln -s /etc/passwd passwd; ln -s ../../../../../etc up
    ln -s /proc/self/root root; ln -s loop loop; ln -s . self
    ln -s /nowhere dangling; ln -s "$(printf "a\nb")" newline'
whole "links are collected"
is "$diff" 'A dangling
A loop
A newline
A passwd
A root
A self
A up' "links: as links"
is "$fetch_rc" 0 "links: they can be fetched"
is "$(readlink "$T/got/passwd"):$(readlink "$T/got/up")" \
    "/etc/passwd:../../../../../etc" "links: with what they say"
is "$(find "$T/got" -type f | wc -l)" 0 "links: nothing was read through them"
fine links

# A directory of the tree becomes a link.
run 'rm -r dir secret; ln -s /etc dir; ln -s plain secret; mv plain moved
    ln -s moved plain'
whole "directories become links"
like "$diff" '^T dir$' "dir became a link"
like "$diff" '^T plain$' "plain became a link"
like "$diff" '^A moved/file$' "what was moved is there"
is "$(printf '%s\n' "$diff" | grep -c 'shadow\|hostname\|passwd')" 0 \
    "nothing of where they point"
fine "directories to links"

# Something goes on changing files into links until it is killed.
run 'mkdir r; (setsid sh -c "while :; do mkdir r/a; echo >r/a/f; rm -r r/a
    ln -s /etc r/a; rm r/a; done" >/dev/null 2>&1 &); i=0
    while [ $i -lt 300 ]; do i=$((i + 1)); ls r >/dev/null; done; exit 0'
whole "a race against the collector"
is "$(printf '%s\n' "$diff" | grep -vcE '^A r(/a(/f)?)?$')" 0 \
    "race: but one of its states"
fine race

run 'echo one >farm0; i=1
    while [ $i -le 400 ]; do ln farm0 farm$i; i=$((i + 1)); done'
whole "hard links are collected"
is "$(printf '%s\n' "$diff" | grep -c '^A farm')" 401 "hard links: all of them"
is "$(cat "$T/got/farm400")" one "hard links: with their content"
fine "hard links"

run 'ln x linked 2>&1; echo more >>linked; cat x'
whole "a hard link to a file of the tree"
is "$(cat "$T/out")" 'x
more' "it is one file for the job"
is "$(cat x)" x "and the submitter's stays"
fine "hard link to the tree"

# --- kinds and names ---

run 'mkfifo fifo; mkdir d; mkfifo d/fifo; python3 -c "
import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")" 2>/dev/null
    echo y >d/y; rm x; mkfifo x; mknod zero c 1 5; mknod white c 0 0; :'
is "$rc" 0 "FIFOs and sockets hold nobody up"
like "$diff" '^A d/y$' "FIFOs: what is beside them is collected"
is "$(printf '%s\n' "$diff" | grep -cE '^A .*(fifo|sock|zero|white)$')" 0 \
    "FIFOs: they are not"
like "$diff" '^D x$' "FIFOs: what was in their place has gone"
fine FIFOs

run './job_syscalls names n'
whole "names of every byte"
is "$(errand diff -z last | tr '\0' '\n' | grep -ac '^A n/')" 254 \
    "names: all of them"
is "$(find "$T/got/n" -type f -print0 | tr -dc '\0' | wc -c)" 254 \
    "names: all can be fetched"
printf '%s\n' "$diff" >"$T/diff"
is "$(LC_ALL=C grep -c "$(printf '[\001-\010\013-\037\177]')" "$T/diff")" 0 \
    "names: none does anything to a terminal"
fine names

long=$(printf '%0255d' 0)
run "mkdir $long && echo long >$long/$long"
whole "names of 255 bytes"
is "$(cat "$T/got/$long/$long")" long "long: with their content"
fine long

run 'mkdir .git sub .GIT; echo "[core]" >.git/config; echo >.GIT/config
    mkdir sub/.git; echo >sub/.git/config; echo >sub/kept'
is "$rc" 0 "a job may write .git"
is "$(printf '%s\n' "$diff" | grep -ic '\.git')" 0 "it is not collected"
like "$diff" '^A sub/kept$' "what is beside it is"
fine .git

run './job_syscalls deep 3000'
whole "3000 directories in one another"
is "$(printf '%s\n' "$diff" | grep -c bottom)" 1 "deep: to the bottom"
is "$fetch_rc" 0 "deep: and can be fetched"
is "$(find "$T/got" -name bottom | wc -l)" 1 "deep: all the way down"
fine deep

run './job_syscalls deep 6000 >/dev/null 2>&1; echo y >y'
case $rc in
0) like "$diff" '^A y$' "deeper: collected" ;;
*) like "$err" '(changes|deep|collect)' "deeper: what was not kept is said" ;;
esac
fine deeper

# What is written goes on until it is killed: what is collected is one state of
# each file, whose content and length belong together.
run '(setsid sh -c "while :; do printf %0100d 0; done >>grow" >/dev/null 2>&1 &)
    (setsid python3 -c "
while 1:
	open(\"shrink\", \"w\").write(\"x\" * 1000000); open(\"shrink\", \"w\")
" >/dev/null 2>&1 &)
    until [ -s grow ] && [ -e shrink ]; do :; done; exit 0'
whole "files that grow and shrink to the end"
is "$(($(wc -c <"$T/got/grow") > 0)):$(tr -d 0 <"$T/got/grow" | wc -c)" 1:0 \
    "grow: with what had been written"
is "$(tr -d x <"$T/got/shrink" | wc -c)" 0 "shrink: with nothing else"
fine growing

# --- modes ---

run 'mkdir -p closed/in; echo hidden >closed/in/file; echo f >unreadable
    mkdir search list; echo s >search/f; echo l >list/f
    chmod 000 unreadable closed/in/file closed/in closed
    chmod 111 search; chmod 444 list; chmod 000 dir/sub; chmod 500 secret'
whole "what nobody may read is collected"
like "$diff" '^A closed/in/file$' "closed: to the end"
like "$diff" '^A unreadable$' "closed: files too"
like "$diff" '^C dir/sub$' "closed: a directory of the tree"
like "$diff" '^A search/f$' "closed: directories without names"
is "$(printf '%s\n' "$diff" | grep -c '^D')" 0 "closed: nothing has gone"
fine closed

run 'mkdir fixed; echo f >fixed/f; echo a >only; for f in fixed/f fixed only; do
    chattr +i "$f" && echo "fixed $f"; chattr +a "$f" && echo "only $f"; done 2>/dev/null
    rm -r fixed; mkdir fixed; echo g >fixed/f'
whole "no file can be made to stay"
is "$(cat "$T/out" "$T/got/fixed/f")" g "fixed: no flag was set"
fine fixed

run 'mkdir s; cp /bin/true s/setuid; chmod 7755 s/setuid; chmod 3777 s
    chmod 4644 x'
whole "setuid and sticky bits"
is "$(find "$T/got" -perm /7000 2>/dev/null | wc -l)" 0 \
    "they do not come back"
fine setuid

# --- the overlay's marks ---

run 'echo fake >.wh.x; echo fake >.wh..wh..opq; echo fake >dir/.wh.first
    mkdir dir/.wh..wh..opq; : >plain/.wh.file'
whole "names that mark a deletion elsewhere"
is "$diff" 'A .wh..wh..opq
A .wh.x
A dir/.wh..wh..opq
A dir/.wh.first
A plain/.wh.file' "marks: are names like any other"
is "$(cat x dir/first)" 'x
first' "marks: nothing was deleted"
fine marks

# Attributes that overlayfs itself would believe.
run 'for d in dir plain gone x dir/first; do touch "$d"
    ./job_syscalls xattr "$d" >/dev/null; done
    mkdir fresh; ./job_syscalls xattr fresh; echo in >fresh/in
    : >empty; ./job_syscalls xattr empty; echo new >dir/new; cat dir/first'
is "$rc" 0 "attributes of the overlay can be tried"
is "$(tail -n 1 "$T/out")" first "attributes: the job's own view stays"
is "$(printf '%s\n' "$diff" | grep -c '^D')" 0 "attributes: nothing has gone"
is "$(printf '%s\n' "$diff" | grep -c secret)" 0 "attributes: nor moved"
like "$diff" '^A dir/new$' "attributes: what is new is there"
like "$diff" '^A fresh/in$' "attributes: and in new directories"
like "$diff" '^A empty$' "attributes: an empty file is no deletion"
is "$(cat "$T/got/fresh/in" "$T/got/dir/new")" 'in
new' "attributes: and can be fetched"
fine attributes

# Control: the same diff does show deletions and replacements.
run 'rm x; rm -r gone; rm -r dir; mkdir dir; echo other >dir/other'
whole "control: deletions"
is "$diff" 'D dir/first
A dir/other
D dir/sub
D dir/sub/second
D gone
D gone/file
D x' "control: they are shown"
fine control

is "$(find . -type f | wc -l)" "$tree_files" "the submitter's tree is as it was"
is "$(grep -cE 'killed by signal|broke' "$T/errandd.log")" 0 \
    "no worker was killed"

done_testing
