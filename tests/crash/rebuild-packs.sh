#!/bin/sh
# An index made anew from many small packs, of which collection and rewriting
# have moved and removed some: the tests of test_store_rebuild, with numbers
# that only a CRASH=1 build takes.  Likewise test_store_doubt, with an index that
# is looked through while the store serves.  And a store that keeps no journal,
# which they must find out.

TOP=${ERRAND_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${ERRAND_BUILD:-$TOP/build}
ERRAND_BIN=$TOP/build-crash/bin
export ERRAND_BIN

[ -x "$ERRAND_BIN/errand-store" ] || {
	echo '1..0 # SKIP no build with CRASH=1'
	exit 0
}
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/errand-test.XXXXXX") || exit 1
export TMPDIR
chmod 711 "$TMPDIR"
trap 'rm -rf "$TMPDIR"' EXIT
echo 1..3
failed=0
out=$(ERRAND_CRASH='pack-seal=20K rewrite-seal=4K rewrite-forgot=100 lease-grace=0' \
    "$BUILD/tests/unit/test_store_rebuild" 2>&1) || {
	failed=1
	printf 'not '
}
echo 'ok 1 - an index made anew from many packs'
[ "$failed" -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'
rc=0
out=$(ERRAND_CRASH='pack-seal=20K rewrite-seal=4K rewrite-forgot=100 '\
'lease-grace=0 doubt-open-us=0 doubt-step-us=20' \
    "$BUILD/tests/unit/test_store_doubt" 2>&1) || {
	rc=1
	failed=1
	printf 'not '
}
echo 'ok 2 - nothing is believed of a damaged index that opens'
[ "$rc" -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'
if ERRAND_CRASH='mutant=no-journal' \
    "$BUILD/tests/unit/test_store_rebuild" \
    >/dev/null 2>&1; then
	failed=1
	printf 'not '
fi
echo 'ok 3 - a store without a journal is found out'
exit "$failed"
