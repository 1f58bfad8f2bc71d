# shellcheck shell=sh disable=SC2034,SC2154
# What the system tests of jobs share.  Sourced after lib.sh.

TOOLS=$BUILD/tests/system
NL='
'

# Every client is bounded in time: what hangs, fails.
errand() { timeout -k 5 "${ERRAND_TIME:-60}" "$BIN/errand" "$@"; }

# run COMMAND...: output to $T/out, errors to $T/err, the status to $rc
run() {
	"$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
}

# field NAME [JOB]: one field of a job's status, as JSON text or plain string
field() { errand status "${2:-last}" --json | "$TOOLS/jget" "$1"; }

# has_state JOB STATE
has_state() { [ "$(field state "$1")" = "$2" ]; }

# has_output JOB PATTERN: has it written a line like that by now?
has_output() { errand logs "$1" 2>/dev/null | grep -q -e "$2"; }

# work NAME: a new, empty directory to be in
work() {
	mkdir -p "$T/w/$1" && cd "$T/w/$1" || exit 1
}

# tree NAME: the same, with an ignore file, so that it is a tree of its own
tree() {
	work "$1"
	: >.errandignore
}

# repo NAME: the same, a Git work tree
repo() {
	work "$1"
	git init -q .
}

# git without the user's and the system's configuration
GIT_CONFIG_GLOBAL=/dev/null
GIT_CONFIG_NOSYSTEM=1
GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org
GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME \
    GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

# size FILE, sum FILE
size() { wc -c <"$1" | tr -d ' '; }
sum() { sha256sum <"$1" | cut -d' ' -f1; }
