# shellcheck shell=sh disable=SC2034,SC2154
# A daemon whose store has small numbers (CRASH=1).  Sourced after lib.sh.

# small_store WORDS: of lib/crash.h, for the daemons that are started next
small_store() {
	[ -x "$BUILD-crash/bin/errand-store" ] || skip_all \
	    "needs $BUILD-crash/bin/errand-store (make tests)"
	mkdir -m 755 "$T/bin"
	cp "$BIN"/errand* "$T/bin/"
	cp -f "$BUILD-crash/bin/errand-store" "$T/bin/errand-store"
	printf '%s\n' "$1" >"$T/bin/crash.conf"
	chmod 644 "$T/bin/crash.conf"
	BIN=$T/bin
}

# later MINUTES: the store takes it to be so much later than it is
later() {
	sed "s/ stamp-ahead=[0-9]*//; s/\$/ stamp-ahead=$1/" "$T/bin/crash.conf" \
	    >"$T/bin/crash.new"
	mv "$T/bin/crash.new" "$T/bin/crash.conf"
	test_store=$(pgrep -P "$daemon_pid" -x errand-store)
	kill -KILL "$test_store"
	wait_for 10 gone "$test_store"
	wait_for 20 errandctl store stat
}

# used NAME [TENANT]: a figure of what a tenant uses of the store
used() { errandctl --json tenant show "${2:-alice}" | "$TOOLS/jget" "used.$1"; }

# figure NAME: of errandctl store stat
figure() { errandctl --json store stat | "$TOOLS/jget" "$1"; }
