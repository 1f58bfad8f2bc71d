# shellcheck shell=sh
# Deaths and errors at every place of a short play with the store.  Sourced
# after lib.sh by tests/crash/sweep-*.sh and points.sh.

SWEEP_WORDS='pack-seal=64K rewrite-seal=16K stamp-us=1000 recent-max=8 batch-min=4 group-entries=16 trigger-0=2
trigger=2'

sweep_ready() {
	[ -x "$BUILD-crash/bin/errand-store" ] || {
		echo "make CRASH=1 builds what is tested here" >&2
		exit 1
	}
	ERRAND_BIN=$BUILD-crash/bin
	export ERRAND_BIN
	chmod 711 "$T"
}

# sweep_run WORDS [-e] MODE [NAME...]: all its runs; sets sweep_status
sweep_run() {
	sweep_words=$1
	shift
	sweep_opts=
	[ "$1" = -e ] && { sweep_opts=-e; shift; }
	mkdir -m 711 "$T/sweep"
	# shellcheck disable=SC2086
	ERRAND_CRASH="$SWEEP_WORDS $sweep_words" \
	    "$BUILD/tests/crash/store_sweep" \
	    ${ERRAND_TEST_SEED:+-s "$ERRAND_TEST_SEED"} $sweep_opts \
	    -l "$T/sweep.log" "$T/sweep" "$@" >"$T/sweep.out"
	sweep_status=$?
	cat "$T/sweep.out"
	rm -rf "$T/sweep"
}

# sweep TEXT [-e] MODE [NAME...]: the promise
sweep() {
	sweep_text=$1
	shift
	sweep_run "" "$@"
	is "$sweep_status" 0 "$sweep_text"
}
