#!/bin/sh
# What is sent of a Git work tree is what Git itself says: over generated
# repositories, submodules, linked work trees, sparse checkouts, and real
# projects.  SEED is the first of the seeds, ROUNDS how many.

# lib.sh has its own variables.
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program git python3

SEED=${SEED:-$(($(date +%s) % 1000000))}
ROUNDS=${ROUNDS:-60}
diag "SEED=$SEED ROUNDS=$ROUNDS"

# git_says DIR PREFIX: files that Git counts, in it and in repositories inside
git_says() {
	(
		cd -- "$1" || exit 1
		git ls-files -z -c -o --exclude-standard | tr '\n\0' '\1\n' |
		    LC_ALL=C sort -u | while IFS= read -r p; do
			f=$(printf %s. "$p" | tr '\1' '\n')
			f=${f%.}
			f=${f%/}
			if [ -d "$f" ] && [ ! -L "$f" ]; then
				[ ! -e "$f/.git" ] || git_says "$f" "$2${p%/}/"
			elif [ -e "$f" ] || [ -L "$f" ]; then
				printf '%s\n' "$2$p"
			fi
		done
	)
}

# compare DIR: 0 when the two are the same
compare() {
	git_says "$1" '' | LC_ALL=C sort >"$T/want"
	(cd "$1" && errand ls -z 2>"$T/err") | tr '\n\0' '\1\n' |
	    grep -v '/$' | LC_ALL=C sort >"$T/got"
	cmp -s "$T/want" "$T/got"
}

bad=
n=0
files=0
while [ "$n" -lt "$ROUNDS" ]; do
	s=$((SEED + n))
	python3 "$TOP/tests/tools/gen_repo.py" "$s" "$T/gen" || bad="$bad gen:$s"
	if ! compare "$T/gen"; then
		bad="$bad $s"
		diag "seed $s: $(diff "$T/want" "$T/got" | head -n 5)"
	fi
	files=$((files + $(wc -l <"$T/want")))
	rm -rf "$T/gen" "$T/gen.global"
	n=$((n + 1))
done
is "$bad" '' "of $ROUNDS generated repositories what Git says is sent (IGN-A1, IGN-A5, SEL-A1)"
check "which was $files files" test "$files" -gt "$ROUNDS"

# --- from a directory below the top ---

repo below
printf 'x\n/sub/y\n!z\n' >.gitignore
mkdir -p sub/deep && touch sub/x sub/y sub/z sub/deep/x sub/deep/w
echo w >sub/.gitignore
is "$(errand ls -C sub | tr '\n' ' ')" '.gitignore deep/ z ' \
    'rules above a root that was named count too'
echo deep >>.gitignore
is "$(errand ls -C sub/deep | tr '\n' ' ')" '' \
    'nothing untracked is sent of a directory that is ignored'
git add -f sub/deep/w
is "$(errand ls -C sub/deep | tr '\n' ' ')" 'w ' 'what is tracked is'

# --- submodules and nested repositories ---

work module && git init -q . && echo '*.o' >.gitignore && echo m >m && git add . && git commit -qm 1
repo super
printf 'vendor/\n*.tmp\n' >.gitignore
git add . && git commit -qm 1
git -c protocol.file.allow=always submodule -q add -f "$T/w/module" vendor/sub 2>/dev/null
touch vendor/sub/x.o vendor/sub/y.tmp vendor/sub/z vendor/other
check 'a submodule in an ignored directory, under its own rules' compare .
is "$(errand ls vendor 2>/dev/null; grep -c y.tmp "$T/got")" 1 \
    'those of the outer repository do not count in it'
git config -f .gitmodules x.y z
mkdir -p broken && echo 'gitdir: /nonexistent' >broken/.git && touch broken/f broken/g.tmp
is "$(errand ls | grep broken | tr '\n' ' ')" 'broken/ broken/f ' \
    'one whose repository is gone is a plain directory'

# --- linked work trees ---

repo main && echo '*.o' >.gitignore && echo 1 >f && git add . && git commit -qm 1
echo secret >.git/info/exclude
git worktree add -q "$T/w/linked" 2>/dev/null
cd "$T/w/linked" && touch secret x.o g
check 'a linked work tree, with the info/exclude of the main one' compare .
is "$(grep -c secret "$T/got")" 0 'which leaves out what it names'

# --- sparse checkouts ---

repo sparse
mkdir -p in out && touch in/f out/f && echo '*.o' >out/.gitignore && echo '*.p' >in/.gitignore
git add . && git commit -qm 1
git sparse-checkout set in 2>/dev/null
mkdir -p out && touch out/x.o out/y in/x.p in/x.o
check 'a sparse checkout: rules that are in the index only' compare .
is "$(tr '\n' ' ' <"$T/got")" 'in/.gitignore in/f in/x.o out/y ' 'as they were before'

# --- the user's own rules ---

repo own
mkdir -p "$T/config/git" && echo from-default >"$T/config/git/ignore"
touch from-default from-file other
check 'without core.excludesFile, those in the usual place' compare .
is "$(tr '\n' ' ' <"$T/got")" 'from-file other ' 'count'
# The tilde is for git.
# shellcheck disable=SC2088
git config core.excludesFile '~/my rules' && echo from-file >"$HOME/my rules"
check 'core.excludesFile, with a tilde' compare .
is "$(tr '\n' ' ' <"$T/got")" 'from-default other ' 'takes their place'
home=$(getent passwd "$(id -un)" | cut -d: -f6)
if [ -d "$home" ]; then
	echo other >"$T/named"
	git config core.excludesFile "~$(id -un)/$(realpath \
	    --relative-to="$home" "$T/named")"
	check 'and with a user after it' compare .
	is "$(tr '\n' ' ' <"$T/got")" 'from-default from-file ' 'as well'
fi
git config core.excludesFile rel && echo other >rel
check 'and relative to the top' compare .
rm "$T/config/git/ignore"

# --- real projects ---

if [ "$(id -u)" -eq 0 ] && sh "$TOP/tests/tools/debian-source.sh" "$T" zlib \
    hello 2>"$T/src.err"; then
	for p in zlib hello; do
		cd "$T/$p" && git init -q . && compare "$T/$p"
		is "$?:$(wc -l <"$T/got")" "0:$(wc -l <"$T/want")" "$p, untracked"
		git add . && find . -name '*.c' | head -n 3 | xargs rm
		touch x.o Makefile.x config.status foo.pc
		compare "$T/$p"
		is "$?:$(wc -l <"$T/got")" "0:$(wc -l <"$T/want")" "$p, tracked and built"
	done
else
	diag "$(cat "$T/src.err")"
	skip 4 'needs a Debian mirror'
fi
done_testing
