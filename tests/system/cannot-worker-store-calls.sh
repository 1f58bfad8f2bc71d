#!/bin/sh
# Row "errand-store" of the table of processes: it may not have sockets, other
# programs, files outside its directory, or a say over other processes.  A
# stand-in behind the real one's fence tries each.

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/hostile/stand-in.sh"
need_root
need_program setpriv timeout

workers_make store
start_daemon

for t in open=/etc/shadow open=/etc/passwd "open=$T/state/keys/host.key" \
    "create=$T/state/x" "open=$T/state/logs" unlink=/etc/passwd "unix=$SOCK" \
    tcp=7 pair exec=/bin/true fork ptrace kill pidfd getfd vmread root \
    chroot=/ mount=/mnt unshare code bpf uring module; do
	again
	replace store "try $t"
	saw "$t: refused, or ends it" \
	    'store\[[0-9]+\]: killed by signal 31|: refused, errno'
	never "$t: not reached" REACHED
done
alive 'system calls'
works 'system calls'
done_testing
