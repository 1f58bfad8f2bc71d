#!/bin/sh
# A repository that somebody else prepared: reading its tree runs nothing that
# its configuration names, and what is sent is what is there.

# Scripts of hooks stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
need_program git
start_daemon

# Whatever is run leaves a file here, named after how it was called.
RAN=$T/ran
mkdir -m 777 "$RAN"
cat >"$T/bait" <<END
#!/bin/sh
: >"$RAN/\${1##*/}"
END
chmod 755 "$T/bait"
bait() { printf '%s %s' "$T/bait" "$1"; }

# sent: the files that a job finds, in one line
# beside the host's stand-in for .git
sent() {
	errand -q -- find . -path ./.git -prune -o -type f -printf '%P\n' |
	    LC_ALL=C sort | tr '\n' ' '
}

# nothing_runs TEXT FILES: nothing is run, and these files are sent
nothing_runs() {
	rm -f "$RAN"/*
	got=$(sent)
	got=$got/$(errand ls | grep -v '/$' | tr '\n' ' ')
	is "$(find "$RAN" -type f -printf '%P ')$got" "$2/$2" "$1"
}

# would_run TEXT COMMAND...: the bait is one that Git itself takes
would_run() {
	text=$1
	shift
	rm -f "$RAN"/*
	timeout -k 1 5 "$@" >/dev/null 2>&1 </dev/null
	if [ -n "$(ls "$RAN")" ]; then
		ok "$text: git itself would have"
	else
		diag "$*: runs nothing here"
		skip 1 'needs a git that falls for it'
	fi
}

# project NAME: a repository with a commit and a file that is ignored
project() {
	repo "$1"
	echo '*.o' >.gitignore
	echo 1 >f
	git add . && git commit -qm 1
	echo 2 >untracked
	echo 3 >x.o
}

# --- what a repository can say on its own ---

project fsmonitor
git config core.fsmonitor "$(bait fsmonitor)"
would_run 'core.fsmonitor' git status
nothing_runs 'core.fsmonitor is not run' '.gitignore f untracked '

project hooks
git config core.hooksPath "$PWD/hooks"
mkdir hooks
for h in post-index-change post-checkout pre-commit fsmonitor-watchman \
    reference-transaction pre-auto-gc; do
	printf '#!/bin/sh\n: >%s/hook-%s\n' "$RAN" $h | tee hooks/$h >.git/hooks/$h
	chmod 755 hooks/$h .git/hooks/$h
done
echo hooks >.git/info/exclude
touch -d '1 hour ago' f
would_run 'hooks' git update-index --refresh --force-write-index
touch -d '2 hours ago' f
nothing_runs 'hooks are not run' '.gitignore f untracked '

project filter
echo '* filter=bait diff=bait' >.git/info/attributes
for k in filter.bait.clean filter.bait.smudge filter.bait.process \
    diff.bait.textconv diff.bait.command diff.external; do
	git config $k "$(bait $k)"
done
git config filter.bait.required true
echo 12 >f
would_run 'filters' git diff
nothing_runs 'filters are not run' '.gitignore f untracked '
is "$(errand -q -- cat f)" 12 'and files are sent as they are'

project aliases
for k in alias.ls-files alias.rev-parse alias.check-ignore alias.config; do
	git config $k "!$(bait $k)"
done
for k in core.editor core.pager core.askPass pager.ls-files pager.rev-parse \
    pager.check-ignore credential.helper gpg.program core.alternateRefsCommand \
    uploadpack.packObjectsHook trace2.eventTarget; do
	git config $k "$(bait $k)"
done
nothing_runs 'neither aliases nor pagers nor helpers are' '.gitignore f untracked '

project include
printf '[core]\nfsmonitor = %s\nexcludesFile = %s\n' "$(bait include)" \
    /dev/null >.git/more
git config includeIf.gitdir:/.path more
git config include.path more
would_run 'an included file' git status
nothing_runs 'what an included file names is not run' '.gitignore f untracked '

project nested
mkdir -p sub/deep "$T/w/elsewhere"
git init -q sub/deep
git -C sub/deep config core.fsmonitor "$(bait nested)"
echo 1 >sub/deep/g
git init -q --separate-git-dir "$T/w/elsewhere/git" linked
git --git-dir "$T/w/elsewhere/git" config core.fsmonitor "$(bait linked)"
git --git-dir "$T/w/elsewhere/git" config core.worktree "$PWD/linked"
echo 1 >linked/h
would_run 'one inside it' git -C sub/deep status
nothing_runs 'nor what a repository inside it names' \
    '.gitignore f linked/h sub/deep/g untracked '

# --- a partial clone, which would fetch what it lacks ---

# partial NAME: ignore rules that are only in the index, as an object that only
# the remote has
partial() {
	project "$1"
	b=$(git rev-parse :.gitignore)
	git update-index --skip-worktree .gitignore
	rm -f .gitignore x.o ".git/objects/$(echo "$b" | cut -c1-2)/$(echo "$b" |
	    cut -c3-)"
	git config core.repositoryformatversion 1
	git config extensions.partialClone origin
	git config remote.origin.promisor true
	git config remote.origin.url "$2"
}
list="git ls-files -o --exclude-standard"

partial uploadpack "$T/none"
git config remote.origin.uploadpack "$(bait uploadpack);"
# shellcheck disable=SC2086
would_run 'remote.origin.uploadpack' $list
nothing_runs 'remote.origin.uploadpack is not run' 'f untracked '

partial ssh ssh://localhost/none
git config core.sshCommand "$(bait ssh);"
# shellcheck disable=SC2086
would_run 'core.sshCommand' $list
nothing_runs 'core.sshCommand is not run' 'f untracked '
GIT_SSH_COMMAND="$(bait ssh);" GIT_ALLOW_PROTOCOL=ssh:file:ext \
    GIT_NO_LAZY_FETCH=0 nothing_runs \
    'not even when the environment would let it' 'f untracked '

partial ext "ext::$(bait ext)"
git config protocol.ext.allow always
git config protocol.allow always
# shellcheck disable=SC2086
would_run 'a remote that is a command' $list
nothing_runs 'a remote that is a command is not run' 'f untracked '

partial proxy git://localhost/none
git config core.gitProxy "$T/bait"
# shellcheck disable=SC2086
would_run 'core.gitProxy' $list
nothing_runs 'core.gitProxy is not run' 'f untracked '

project outer
partial outer/inner "$T/none"
git config remote.origin.uploadpack "$(bait inner);"
cd "$T/w/outer" || exit 1
nothing_runs 'nor is anything in a repository inside' \
    '.gitignore f inner/f inner/untracked untracked '

# --- the environment ---

# Another repository, which the environment speaks of: everything in it, and
# its configuration is bait.
project other
echo 1 >other-file
git add . && git commit -qm 2
git config core.fsmonitor "$(bait other)"
echo f >.git/info/exclude
cp .git/index "$T/other-index"

project environment
mkdir e.d
all='.gitignore f untracked '
nothing_runs 'without any of it' "$all"
try() {
	text=$1
	shift
	rm -f "$RAN"/*
	# shellcheck disable=SC2163
	got=$(for v; do export "$v"; done; sent)
	is "$(find "$RAN" -type f -printf '%P ')$got" "$all" "$text"
}
other=$T/w/other
try 'GIT_DIR is another repository' "GIT_DIR=$other/.git"
try 'so is GIT_WORK_TREE' "GIT_DIR=$other/.git" "GIT_WORK_TREE=$other"
try 'GIT_WORK_TREE alone' "GIT_WORK_TREE=$other"
try 'GIT_INDEX_FILE' "GIT_INDEX_FILE=$T/other-index"
try 'GIT_COMMON_DIR' "GIT_COMMON_DIR=$other/.git"
try 'GIT_OBJECT_DIRECTORY' "GIT_OBJECT_DIRECTORY=$other/.git/objects"
try 'GIT_CEILING_DIRECTORIES' "GIT_CEILING_DIRECTORIES=$T/w"
try 'GIT_CONFIG_COUNT with core.fsmonitor' GIT_CONFIG_COUNT=1 \
    GIT_CONFIG_KEY_0=core.fsmonitor "GIT_CONFIG_VALUE_0=$(bait count)"
try 'GIT_CONFIG_PARAMETERS with it' \
    "GIT_CONFIG_PARAMETERS='core.fsmonitor'='$(bait parameters)'"
printf '[core]\n\tfsmonitor = %s\n\thooksPath = %s\n' "$(bait global)" \
    "$T/w/hooks/hooks" >"$T/gitconfig"
try 'a global configuration with it' "GIT_CONFIG_GLOBAL=$T/gitconfig"
try 'GIT_EXTERNAL_DIFF, GIT_PAGER, GIT_EDITOR and GIT_ASKPASS' \
    "GIT_EXTERNAL_DIFF=$(bait diff)" "GIT_PAGER=$(bait pager)" \
    "GIT_EDITOR=$(bait editor)" "GIT_ASKPASS=$(bait askpass)" \
    "GIT_SSH_COMMAND=$(bait ssh)"
try 'GIT_TRACE and GIT_TRACE2_EVENT to a file' "GIT_TRACE=$RAN/trace" \
    "GIT_TRACE2_EVENT=$RAN/trace2" "GIT_TRACE_SETUP=$RAN/setup"
is "$(git status --porcelain | tr '\n' ' ')" '?? untracked ' \
    'and the repository is as it was'

done_testing
