#!/bin/sh
# Connections that users hold, others still get.
# shellcheck disable=SC2016,SC2034,SC2154

. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_root

chmod 755 "$T" "$T/run"
work starve
modest() { as_uid 4253 timeout 60 "$BIN/errand" "$@"; }

# Few places, so that few clients fill them: 2 of these uids are for others, 8
# places for operators, 4 for tenants that have a file.
start_daemon 'worker_uids = "1879048192-1879048217"'
raw=$BUILD/tests/raw/raw
errandctl tenant add modest --uid 4253 >"$T/out" 2>&1 || diag "$(cat "$T/out")"
errandctl tenant add other --uid 4255 >"$T/out" 2>&1 || diag "$(cat "$T/out")"
pids=
# hold UID N: connections that stay
hold() {
	i=0
	while [ $i -lt "$2" ]; do
		setpriv --reuid "$1" --regid "$1" --clear-groups \
		    "$raw" -t 100 "$SOCK" pong >"$T/hold.$1.$i" 2>&1 &
		pids="$pids $!"
		i=$((i + 1))
	done
}
release() {
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null
	# shellcheck disable=SC2086
	wait $pids
	pids=
}
served() { [ "$(pgrep -c -x -P "$daemon_pid" errand-snapshot)" -ge "$1" ]; }
turned_away() { grep -q 'too few places' "$T"/hold."$1".*; }

hold 4252 30
wait_for 30 turned_away 4252
check 'one who takes all he can leaves some to one who is nobody' \
    as_uid 4254 timeout 20 "$BIN/errand" info
u=5000
while [ $u -lt 5030 ]; do
	hold $u 1
	u=$((u + 1))
done
wait_for 30 turned_away 5029
check 'many fill what there is: a tenant with a file is served' \
    modest -q --no-snapshot -- true
hold 4255 30
wait_for 30 turned_away 4255
check 'so he is when another one takes all it can' \
    modest -q --no-snapshot -- true
as_uid 4254 timeout 50 "$BIN/errand" info >"$T/out" 2>"$T/err"
is "$?" 1 'one who is nobody then is not'
like "$(cat "$T/err")" 'uid 4254 has 0 connections.*too few places' \
    'and hears why'
check 'an operator is served' timeout 20 "$BIN/errandctl" -s "$CONTROL" status
check 'the log has a few lines on it, not one for each' \
    test "$(grep -c 'too few places' "$T/errandd.log")" -lt 40
release
check 'when they are gone, so are others' \
    as_uid 4254 timeout 20 "$BIN/errand" info

# --- users who are not as many ---

# One who has 65536 user ids is one user: with them he would have as many tenants,
# and an operator could make none.
if unshare -m --propagation private true 2>/dev/null && [ -e /etc/subuid ]; then
	stop_daemon
	mkdir "$T/bin"
	for p in errand errandctl errand-snapshot errand-exec errand-store; do
		ln -s "$BIN/$p" "$T/bin/$p"
	done
	echo 'somebody:100000:65536' >"$T/subuid"
	cat >"$T/bin/errandd" <<-END
	#!/bin/sh
	exec unshare -m --propagation private sh -c 'mount --bind "$T/subuid" \
	    /etc/subuid && exec "$BIN/errandd" "\$@"' errandd "\$@"
	END
	chmod 755 "$T/bin/errandd"
	BIN=$T/bin
	start_daemon
	as_uid 165535 "$BIN/errand" info >"$T/out" 2>"$T/err"
	like "$? $(cat "$T/err")" '^1 .*uid 165535 .* gives to somebody' \
	    'a subordinate user id becomes no tenant'
	is "$(errandctl tenant list | grep -c u165535)" 0 'none is made'
	check 'the next user id does' as_uid 165536 "$BIN/errand" info
	errandctl tenant add sub --uid 165535 >/dev/null
	check 'an operator can make it one' as_uid 165535 "$BIN/errand" info
else
	skip 4 'needs /etc/subuid and a root that is a mount'
fi

done_testing
