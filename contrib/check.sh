#!/bin/sh
# Everything a change has to pass: packages, both compilers, lint, tests.  As
# an ordinary user the tests that need root are skipped.  The last line is the
# summary of the tests.

set -eu
cd "$(dirname "$0")/.."
. contrib/packages.sh

packages_install || exit 1
jobs=$(nproc 2>/dev/null || echo 2)
make -j"$jobs" all tests
make -j"$jobs" CLANG=1 all tests
make lint

# A root directory that was only unpacked has no /proc yet.
if [ "$(id -u)" -eq 0 ] && [ ! -e /proc/self ]; then
	mount -t proc proc /proc
	trap 'umount /proc' EXIT
	trap 'exit 130' INT TERM
fi
ERRAND_BUILD=build tests/run "$@"
