#!/bin/sh
# From a fresh clone to a first job: installs the packages (as root), builds,
# starts a private daemon in a scratch directory, runs `errand -- make` on this
# project's own tree, shows what it changed, checks the receipt, cleans up.

set -eu
cd "$(dirname "$0")/.."
. contrib/packages.sh

say() { printf '\n== %s\n' "$*"; }

packages_install || exit 1
jobs=$(nproc 2>/dev/null || echo 2)
say "building errand"
make -j"$jobs" all
bin=$PWD/build/bin

scratch=$(mktemp -d "${TMPDIR:-/tmp}/errand-quickstart.XXXXXX")
daemon=
cleanup() {
	trap - EXIT INT TERM
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null || :
		wait "$daemon" 2>/dev/null || :
	fi
	# A job may leave directories that nobody may enter.
	chmod -R u+rwx "$scratch" 2>/dev/null || :
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'cleanup; exit 130' INT TERM
chmod 755 "$scratch"
mkdir "$scratch/client"

say "starting a private errandd in $scratch"
if [ "$(id -u)" -eq 0 ]; then
	printf 'state_dir = "%s/state"\nrun_dir = "%s/run"\n' \
	    "$scratch" "$scratch" >"$scratch/errandd.conf"
	"$bin/errandd" -d -f "$scratch/errandd.conf" \
	    2>"$scratch/errandd.log" &
	sockets=$scratch/run
else
	mkdir -m 700 "$scratch/user" "$scratch/user/run"
	XDG_STATE_HOME=$scratch/user XDG_RUNTIME_DIR=$scratch/user/run \
	    "$bin/errandd" -d --user 2>"$scratch/errandd.log" &
	sockets=$scratch/user/run/errand
fi
daemon=$!
ERRAND_HOST=unix:$sockets/errand.sock
XDG_STATE_HOME=$scratch/client
export ERRAND_HOST XDG_STATE_HOME
tries=0
until "$bin/errandctl" -s "$sockets/control.sock" status \
    >"$scratch/status" 2>/dev/null; do
	tries=$((tries + 1))
	if [ "$tries" -gt 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
		echo "errandd did not start:" >&2
		cat "$scratch/errandd.log" >&2
		exit 1
	fi
	sleep 0.1
done
cat "$scratch/status"

all=
[ -e .git ] || all=--include-all

# What a build makes is ignored by Git; --artifact keeps it nevertheless.
made=build-errand/bin
say "errand run $all --artifact $made -- make -j$jobs B=build-errand"
status=0
# shellcheck disable=SC2086
"$bin/errand" run $all --artifact $made -- make -j"$jobs" B=build-errand ||
    status=$?
echo "exit status $status"

say "errand diff last $made, errand fetch last $made -o RESULT"
if "$bin/errand" diff -q --stat last $made; then
	"$bin/errand" fetch -q last $made -o "$scratch/result"
	ls -l "$scratch/result/$made"
	"$scratch/result/$made/errand" --version
fi

say "errand receipt last, errand verify"
"$bin/errand" receipt last -o "$scratch/receipt"
"$bin/errand" verify "$scratch/receipt"

if [ "$status" -ne 0 ]; then
	echo "the job failed; the daemon's log:" >&2
	cat "$scratch/errandd.log" >&2
	exit "$status"
fi

if [ "$(id -u)" -eq 0 ]; then
	cat <<EOF

== What to try next (build/bin is where the programs are)

  make install install-man            errandd and its manuals on this system
  errandd -d                          run it (or enable contrib/errandd.service)
EOF
else
	cat <<EOF

== What to try next (build/bin is where the programs are)
EOF
fi
cat <<EOF

  In the tree of a project of yours (an ordinary user without a system daemon
  gets a private one by itself):

  errand --artifact PROG -- make      run it there, and keep PROG, which the
                                      ignore rules would have left out
  errand ps -a; errand diff last      what ran, what it changed
  errand fetch last -o /tmp/result    the changed files
  man man/errand.1                    all of it
EOF
