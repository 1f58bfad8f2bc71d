# shellcheck shell=sh
# Rounds of power loss on one kind of file system.  Sourced after lib.sh and
# loop.sh by tests/crash/power-*.sh.

: "${loop_dev:=}"	# loop_make sets it

# The store of a build with CRASH=1: small packs, crash points, mutants.
crash_build() {
	[ -x "$BUILD-crash/bin/errand-store" ] || {
		echo "make CRASH=1 builds what is tested here" >&2
		exit 1
	}
	ERRAND_BIN=$BUILD-crash/bin
	export ERRAND_BIN
}

# power_fs FS: an empty file system on $loop_dev
power_fs() {
	mkdir -p "$T/mnt"
	chmod 711 "$T" "$T/mnt"
	loop_make "$1" 320M
	case $1 in
	ext4) mkfs.ext4 -q -F "$loop_dev" ;;
	xfs) mkfs.xfs -q -f "$loop_dev" ;;
	esac || exit 1
}

# Everything small, so that it happens often; a minute takes 20 ms.
POWER_WORDS='pack-seal=256K rewrite-seal=64K recent-max=64 batch-min=16
group-entries=64 trigger-0=2 trigger=2 stamp-us=20000 trace=gc- trace=rewrite-'

# power ROUNDS HITS FS [WORD...]: words are for ERRAND_CRASH; cut off at
# $power_at, if that is a point
power() {
	power_rounds=$1 power_hits=$2 power_kind=$3
	shift 3
	ERRAND_CRASH="$POWER_WORDS $*" "$BUILD/tests/crash/store_power" \
	    -n "$power_rounds" -h "$power_hits" ${power_at:+-a "$power_at"} \
	    ${ERRAND_TEST_SEED:+-s "$ERRAND_TEST_SEED"} -l "$T/store.log" \
	    "$power_kind" "$loop_dev" "$T/mnt"
}

# power_loss FS: the promise, and that it is looked at
power_loss() {
	need_loop
	need_program "mkfs.$1"
	crash_build
	plan 1
	power_fs "$1"
	power "${ERRAND_POWER_ROUNDS:-110}" 20 "$1" >"$T/power.out"
	power_status=$?
	cat "$T/power.out"
	is "$power_status" 0 "power loss on $1: what was acknowledged is there"
	done_testing
}
