#!/bin/sh
# An index made anew from many small packs, of which collection and rewriting
# have moved and removed some: the tests of test_store_rebuild, with numbers
# that only a CRASH=1 build takes.

TOP=${ERRAND_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${ERRAND_BUILD:-$TOP/build}
CRASH=$TOP/build-crash/bin

[ -x "$CRASH/errand-store" ] || {
	echo '1..0 # SKIP no build with CRASH=1'
	exit 0
}
CMOCKA_MESSAGE_OUTPUT=TAP ERRAND_BIN=$CRASH \
    ERRAND_CRASH='pack-seal=20K rewrite-seal=4K lease-grace=0' \
    exec "$BUILD/tests/unit/test_store_rebuild"
