# shellcheck shell=sh disable=SC2034,SC2154
# An ordinary user's own daemon, below $T/u, whoever runs the test.  Sourced after
# lib.sh.
#
#	u COMMAND...	as that user, whose id is $uid
#	uctl ...	errandctl, of that daemon
#	own_daemon	starts it; true when it answers

uid=$((600000 + $$))
if [ "$(id -u)" -eq 0 ]; then
	need_program setpriv
	own_as() { as_uid "$uid" "$@"; }
else
	uid=$(id -u)
	own_as() { "$@"; }
fi
u() { own_as env XDG_RUNTIME_DIR="$T/u/run" XDG_STATE_HOME="$T/u/state" "$@"; }
uctl() { u "$BIN/errandctl" -s "$T/u/run/errand/control.sock" "$@"; }
own_pid() { uctl status | awk '$1 == "supervisor" { print $2 }'; }

own_daemon() {
	u setsid "$BIN/errandd" --user -d >>"$T/errandd.log" 2>&1 </dev/null &
	wait_for "${ERRAND_START_TIME:-20}" uctl status || return 1
	daemon_pid=$(own_pid)
}

unset ERRAND_HOST
mkdir -m 700 "$T/u" "$T/u/run" "$T/u/state" "$T/u/tree"
[ "$(id -u)" -ne 0 ] || chown -R "$uid" "$T/u"
cd / || exit 1
if ! u unshare -U true 2>"$T/err"; then
	skip_all 'needs user namespaces for ordinary users'
fi
