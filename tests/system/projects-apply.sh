#!/bin/sh
# Jobs on real projects whose changes are applied to the tree they came from: a
# build, a build with its tests, a formatter, a generator of code.  Afterwards
# the tree is what the same command makes of it here; see tests/tools/projects.sh.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/projects.sh"

# applied NAME COMMAND: here, then as a job from a Git work tree
applied() {
	name=$1
	cp -a "$T/src/$name" "$T/local"
	local_build "$T/local" "$2" >"$T/$name.out" 2>"$T/$name.err"
	is $? 0 "$name: it works here"
	manifest "$T/local" >"$T/$name.manifest"
	rm -rf "$T/local" "$T/job"
	cp -a "$T/src/$name" "$T/job"
	cd "$T/job" || exit 1
	manifest . >"$T/$name.before"
	git init -q . && git add -A -f && git commit -q -m upstream
	eval "set -- $2"
	errand -q --apply --artifact . -e SOURCE_DATE_EPOCH=$epoch -- "$@" \
	    >"$T/job.out" 2>"$T/job.err"
	is $? 0 "$name: the job and its changes went well"
	check "$name: the same output" cmp "$T/$name.out" "$T/job.out"
	cannot "$name: something was changed" \
	    cmp "$T/$name.before" "$T/$name.manifest"
	manifest . >"$T/job.manifest"
	check "$name: the same $(wc -l <"$T/$name.manifest") lines of files" \
	    diff "$T/$name.manifest" "$T/job.manifest"
	check "$name: nothing of ours is left in the tree" \
	    test -z "$(find . -name '.errand*' -o -name '*.errand-theirs')"
	git status --porcelain >"$T/status"
	errand -q fetch last --apply >"$T/twice.out" 2>"$T/twice.err"
	is "$? $(manifest . | cmp - "$T/job.manifest" && echo same)" '0 same' \
	    "$name: a second time changes nothing"
}

projects_begin lua5.4 zlib tinycdb jansson protobuf-c
applied lua5.4 'make -C src linux MYCFLAGS=-g'
applied zlib 'sh -c "./configure && make && make test"'
applied tinycdb 'make check'
applied jansson 'find src test -name "*.[ch]" -exec sed -i -e "s/[[:space:]]*\$//" -e "s/^    /\t/" {} +'
applied protobuf-c 'sh -c "for f in t/issue*/*.proto; do d=\${f%/*}; grep -q ^import \$f || protoc-c -I \$d --c_out=\$d \$f 2>/dev/null || exit 1; done; ls t/issue*/*.pb-c.h"'
done_testing
