# shellcheck shell=sh disable=SC2034,SC2154
# A tree and a job that changes it in every way, for tests that interrupt the
# apply.  Sourced after lib.sh and jobs.sh.

# As an ordinary user, whom modes keep out.
user() {
	if [ "$(id -u)" -eq 0 ]; then
		as_uid 12345 "$@"
	else
		"$@"
	fi
}

# apply_tree: in a new directory $A; submits the job, $job is its id
apply_tree() {
	tree apply
	A=$PWD
	mkdir -p gone/deep stays empty modes todir ro/gone
	echo 1 >file; echo 1 >stays/file; echo 1 >gone/deep/f; echo 1 >gone/g
	echo 1 >removed; echo 1 >tolink; ln -s file link; echo 1 >modes/f
	echo 1 >todir/f; printf '%s\n' 1 2 3 4 5 6 7 8 9 >text; echo 1 >becomes
	echo 1 >ro/f; echo 1 >ro/gone/f; chmod 555 ro/gone ro
	[ "$(id -u)" -ne 0 ] || chown -R 12345 .
	user timeout 60 "$BIN/errand" run -q -- sh -c '
		chmod u+w ro ro/gone; echo 2 >ro/f; rm -r ro/gone; echo 2 >ro/new
		chmod 555 ro
		echo 2 >file; echo 2 >stays/file; echo 2 >stays/new
		rm -r gone removed empty; rm tolink; ln -s file tolink
		ln -sfn stays link; chmod 755 modes/f; chmod 700 modes
		rm -r todir; echo 2 >todir; rm becomes; mkdir becomes
		echo 2 >becomes/f; mkdir -p new/dir/empty; echo 2 >new/dir/f
		chmod 500 new/dir; sed -i s/9/nine/ text' || return 1
	user sed -i s/1/one/ text
	job=$(user "$BIN/errand" ps -a -n 1 --json | "$TOOLS/jget" id)
	cp -a . "$T/apply-before"
	before=$(apply_state)
	user "$BIN/errand" fetch "$job" --apply >"$T/out" 2>"$T/err" || return 1
	after=$(apply_state)
}

# apply_one: the same with a job that changes one file
apply_one() {
	tree one
	A=$PWD
	mkdir d && echo 1 >d/file && echo 1 >other
	[ "$(id -u)" -ne 0 ] || chown -R 12345 .
	user timeout 60 "$BIN/errand" run -q -- sh -c 'echo 2 >>d/file' ||
	    return 1
	job=$(user "$BIN/errand" ps -a -n 1 --json | "$TOOLS/jget" id)
	chmod -R u+rwX "$T/apply-before"
	rm -rf "$T/apply-before"
	cp -a . "$T/apply-before"
	before=$(apply_state)
	user "$BIN/errand" fetch "$job" --apply >"$T/out" 2>"$T/err" || return 1
	after=$(apply_state)
}

# apply_state: all of the tree in which we are, but for times
apply_state() {
	find . -mindepth 1 -path ./.errand-apply -prune -o \
	    ! -name .errandignore -printf '%y %m %p %l\n' | LC_ALL=C sort
	find . -path ./.errand-apply -prune -o -type f -exec sha256sum {} + |
	    LC_ALL=C sort -k2
}

# apply_reset: as it was before
apply_reset() {
	cd "$T" || return 1
	chmod -R u+rwX "$A"
	mkdir -p "$T/home-12345"
	rm -rf "$A"
	cp -a "$T/apply-before" "$A"
	cd "$A" || return 1
}

# The calls by which a client changes something.
APPLY_CALLS='renameat2 renameat unlinkat mkdirat symlinkat fchmodat fchmod
    utimensat fdatasync ftruncate pwrite64 write fchown linkat'

# apply_with INJECTION: an apply with it; its status.  $T/home-12345/trace
# has the calls.
apply_with() {
	user timeout -k 5 60 strace -f -o "$T/home-12345/trace" -e "trace=${1%%:*}" \
	    -e "inject=$1" "$BIN/errand" fetch "$job" --apply >"$T/out" \
	    2>"$T/err" </dev/null
}
