# shellcheck shell=sh
# The packages of packages.txt.  Sourced from the top of the tree.

# Print those that are not installed.
packages_missing() {
	sed 's/#.*//' contrib/packages.txt | while read -r p _; do
		[ -n "$p" ] || continue
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null |
		    grep -qx installed || echo "$p"
	done
}

# Install what is missing.  An ordinary user is told how, and 1 is returned.
packages_install() {
	packages=$(packages_missing | tr '\n' ' ')
	[ -n "$packages" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "packages are missing; as root:" >&2
		echo "apt-get install --no-install-recommends $packages" >&2
		return 1
	fi
	echo "installing $packages"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q || return 1
	# One word a package.
	# shellcheck disable=SC2086
	apt-get install -q -y --no-install-recommends $packages
}
