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
errand -q -- sh -c 'echo new >a; chmod +x sub/b; rm -r d gone; mkdir -p n/empty
    echo x >n/x; ln -sf sub l; ln -s /outside out; printf "a\r\n" >crlf' 
apply
is "$rc" 0 'changes are applied'
like "$(said)" '^errand: applied 12 paths \(6 created, 3 modified, 4 deleted\), [0-9]+ B$|applied [0-9]+ paths \([0-9]+ created, [0-9]+ modified, [0-9]+ deleted\), ' \
    'and it is said how many, and how much'
is "$(cat a) $(stat -c %a sub/b) $(readlink l) $(readlink out) $(cat n/x)" \
    'new 755 sub /outside x' 'content, mode, links and new files'
check 'what the job deleted is gone' test ! -e gone -a ! -e d
check 'empty directories come too (CAP-A6)' test -d n/empty
is "$(od -An -tx1 crlf | tr -d ' \n')" 610d0a 'bytes are as they were (APPLY-A5)'
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
is "$(errand -q fetch last --apply 2>&1)" '' '-q says nothing'
