#!/bin/sh
# A submitted tree in the hands of a job: Git in it, directories that move.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program git python3
start_daemon

repo git && echo 1 >f && git add f && git commit -qm 1
run errand -q -- git rev-parse --is-inside-work-tree
is "$rc $(cat "$T/out")" '0 true' 'git works in a workspace: nobody else owns it (UID-A1)'
run errand -q -- git status --short
is "$rc $(cat "$T/err")" '0 ' 'git status too (UID-A1)'
errand -q -- sh -c 'echo x >.git/config; git init -q sub; echo 2 >f; touch g'
is "$(errand diff last | tr '\n' ' ')" 'M f A g A sub ' 'what a job does in .git is none of its changes'
git worktree add -q ../linked 2>/dev/null && cd ../linked && echo 2 >g
run errand -q -- git rev-parse --is-inside-work-tree
is "$rc $(cat "$T/out")" '0 true' 'in a linked work tree too (SEL-A3)'

tree moved
mkdir -p foo/deep/er && echo x >foo/deep/bar && echo y >foo/deep/er/y && ln foo/deep/bar foo/hard && ln -s deep foo/l
chmod 640 foo/deep/bar
run errand -q -- python3 -c 'import os; os.rename("foo", "foo2")'
is "$rc" 0 'a directory of the tree can be renamed in a job (CAP-A2)'
is "$(errand diff last | tr '\n' ' ')" \
    'D foo D foo/deep D foo/deep/bar D foo/deep/er D foo/deep/er/y D foo/hard D foo/l A foo2 A foo2/deep A foo2/deep/bar A foo2/deep/er A foo2/deep/er/y A foo2/hard A foo2/l ' \
    'its old place and its new one are in the list (CAP-A2)'
errand -q fetch last --apply 2>"$T/err"
is "$(cat foo2/deep/bar foo2/hard foo2/deep/er/y | tr '\n' ' ')$(readlink foo2/l) $(stat -c %a foo2/deep/bar) $(test -e foo || echo gone)" \
    'x x y deep 640 gone' 'and it comes home complete (CAP-A2)'
errand -q -- sh -c 'mv foo2 a && mv a b && mv b/deep . && rmdir deep/er 2>/dev/null; mv deep/er/y z; rm -r b'
is "$(errand diff last | grep -v ^D | tr '\n' ' ')" 'A deep A deep/bar A deep/er A z ' 'again and again, in parts'
run errand -q -- python3 -c '
import os
try:
    os.rename("foo2", "foo2/deep/x")
except OSError as e:
    print(e.errno)
os.mkdir("full"); open("full/f", "w").close()
try:
    os.rename("foo2", "full")
except OSError as e:
    print(e.errno)
open("file", "w").close()
try:
    os.rename("foo2", "file")
except OSError as e:
    print(e.errno)
os.mkdir("none"); os.rename("foo2", "none"); print(sorted(os.listdir("none")))'
is "$(tr '\n' ' ' <"$T/out")" "22 39 20 ['deep', 'hard', 'l'] " \
    'what cannot be done fails as elsewhere: into itself, onto a full one, onto a file'

# --- a job is started once ---

work once && : >.errandignore
# So long that no other process on this machine sleeps just so.
mark=$((2000000 + $$))
J=$(errand -qd -- sh -c 'echo begun; exec sleep '$mark)
wait_for 20 has_output "$J" begun || diag 'it does not run'
parent() { ps -o ppid= -p "$1" | tr -d ' '; }
# From the command upwards, to the child of errandd's errand-exec.
keeper() {
	main=$(pgrep -P "$daemon_pid" -f bin/errand-exec) || return 1
	p=$(pgrep -f "[s]leep $mark" | head -n 1)
	until [ -z "$p" ] || [ "$(parent "$p")" = "$main" ]; do p=$(parent "$p"); done
	[ -n "$p" ] && keeper=$p
}
wait_for 10 keeper || diag 'its keeper is not found'
kill -9 "$keeper" 2>/dev/null
over() { errand status "$J" --json | grep -Eq '"state":"(failed|lost|killed|exited)"'; }
check 'a job whose keeper is killed has ended (FAIR-A3)' wait_for 30 over
errand -q -- true
is "$(errand logs "$J" | grep -c begun)" 1 'and is not started again (FAIR-A3)'
none() { ! pgrep -f "[s]leep $mark"; }
check 'nothing of it runs on' wait_for 20 none
done_testing
