#!/bin/sh
# A tree whose files are alike is small in the store and large as files: no quota
# of the store bounds what it takes of the disk, what it leaves to others does.
# shellcheck disable=SC2016,SC2034,SC2154

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/loop.sh"
need_loop

loop_make state 256M
mkfs.ext4 -q -m 0 "$loop_dev" && mount "$loop_dev" "$T/state" || exit 1
start_daemon 'slots = 4'
chmod 755 "$T" "$T/run"

greedy() { as_uid 4262 timeout 120 "$BIN/errand" "$@"; }
modest() { as_uid 4263 timeout 60 "$BIN/errand" "$@"; }
free_mib() { df -m --output=avail "$T/state" | tail -1 | tr -d ' '; }

# alike N SIZE: a tree of N files with the same content, new each time
alike() {
	rm -rf "$T/alike" && mkdir "$T/alike" && cd "$T/alike" || exit 1
	head -c "$2" /dev/urandom >f
	i=1
	while [ "$i" -lt "$1" ]; do
		cp f "f$i"
		i=$((i + 1))
	done
}

before=$(free_mib)
alike 100 2M
greedy -q --include-all -- true 2>"$T/err"
is $? 120 'many files that are alike: a tree that takes more than it leaves'
like "$(cat "$T/err")" 'takes more of the host.s disk than it leaves' \
    'is refused, and why is said'
most() { [ "$(free_mib)" -gt $((before - 40)) ]; }
check 'nothing stays of it' wait_for 20 most

alike 1 200k
i=0
while [ $i -lt 10 ]; do
	cat f f f f f f f f f f >g
	mv g f
	i=$((i + 1))
	[ "$(stat -c %s f)" -lt 100000000 ] || break
done
greedy -q --include-all -- true 2>"$T/err"
is $? 120 'so is one large file of the same piece again and again'
check 'nothing stays of that' wait_for 20 most

alike 30 2M
greedy -q --include-all -- true
is $? 0 'a tree that leaves enough is laid out'
alike 40 2M
greedy -q --include-all -- true
is $? 0 'one that does not, beside it, has its place'
check 'what is kept of both leaves room' test "$(free_mib)" -gt 100
alike 10 2M
modest -q --include-all -- true
is $? 0 'and that of another is laid out'

done_testing
