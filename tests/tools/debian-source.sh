#!/bin/sh
# Unpack the upstream sources of Debian packages, for tests on real projects.
#
#	debian-source.sh DIR NAME...
#
# NAME is a source package; it is unpacked into DIR/NAME.  The mirror is the
# one this machine is configured with.  apt gets a state directory of its own,
# so nothing of the system's is touched, and nothing is installed.  Archives
# are kept in ERRAND_SOURCES for the next time.

set -eu
[ $# -ge 2 ] || { echo "usage: debian-source.sh DIR NAME..." >&2; exit 2; }
dir=$1
shift
cache=${ERRAND_SOURCES:-${TMPDIR:-/tmp}/errand-sources-$(id -u)}
mkdir -p "$cache/lists/partial" "$cache/parts" "$cache/archives" "$dir"

fail() { echo "debian-source.sh: $*" >&2; exit 1; }

# The first URI that apt is configured with, in either of its two syntaxes.
mirror() {
	{
		sed -n 's/^URIs: *\([^ ]*\).*/\1/p' \
		    /etc/apt/sources.list.d/*.sources 2>/dev/null || :
		sed -n 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' \
		    /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
		    2>/dev/null || :
	} | head -n 1
}

private_apt() {
	apt-get -q -o Dir::Etc::sourcelist=/dev/null \
	    -o Dir::Etc::sourceparts="$cache/parts" \
	    -o Dir::State::lists="$cache/lists" \
	    -o Acquire::http::Timeout=20 -o Acquire::Retries=2 "$@"
}

# fetched NAME: its .dsc file, from the archives that were kept
fetched() {
	for f in "$cache/archives/$1"_*.dsc; do
		[ -e "$f" ] && echo "$f" && return
	done
	return 1
}

fetch() {
	if [ ! -e "$cache/parts/source.sources" ]; then
		uri=$(mirror)
		[ -n "$uri" ] || fail "no Debian mirror is configured"
		suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
		[ -n "$suite" ] || fail "this is no Debian"
		printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
		    "$uri" "$suite" \
		    /usr/share/keyrings/debian-archive-keyring.gpg \
		    >"$cache/parts/source.sources"
	fi
	ls "$cache/lists"/*Sources* >/dev/null 2>&1 ||
	    private_apt update >/dev/null 2>"$cache/err" ||
	    fail "the mirror cannot be reached: $(tail -n 1 "$cache/err")"
	(cd "$cache/archives" && private_apt source --download-only "$1" \
	    >/dev/null 2>"$cache/err") ||
	    fail "$1: $(tail -n 1 "$cache/err")"
}

command -v dpkg-source >/dev/null || fail "needs dpkg-source (package dpkg-dev)"
for name; do
	dsc=$(fetched "$name") || { fetch "$name"; dsc=$(fetched "$name"); }
	dpkg-source --skip-patches --no-check --no-copy -x "$dsc" "$dir/$name" \
	    >/dev/null 2>"$cache/err" || fail "$name: $(tail -n 1 "$cache/err")"
done
