# shellcheck shell=sh
# A system test once more where no user namespace can be made, so that errandd
# has to do without: in one that may make none itself, with all ids of the host
# and root's rights over nothing but what is made in it.  To be sourced by a
# script that is nothing else:
#
#	BOUNDED_TEST=cannot-job.sh
#	. "$(dirname "$0")/../tools/bounded.sh"

bounded_test=$(realpath "$(dirname "$0")/${BOUNDED_TEST:?}")
[ "$(id -u)" -eq 0 ] || {
	echo '1..0 # SKIP needs root'
	exit 0
}
if ! command -v nsenter >/dev/null || ! unshare -U true 2>/dev/null; then
	echo '1..0 # SKIP needs nsenter and user namespaces, to make one that may make none'
	exit 0
fi
cd / || exit 1
unshare -U -m sleep 3600 &
bounded_pid=$!
trap 'kill "$bounded_pid" 2>/dev/null' EXIT INT TERM
bounded_made() {
	[ "$(readlink "/proc/$bounded_pid/ns/user")" != "$(readlink /proc/self/ns/user)" ] &&
	    grep -q sleep "/proc/$bounded_pid/comm"
}
until bounded_made; do
	kill -0 "$bounded_pid" || exit 1
	sleep 0.05
done
echo '0 0 4294967295' >"/proc/$bounded_pid/uid_map" &&
    echo '0 0 4294967295' >"/proc/$bounded_pid/gid_map" &&
    echo '0 0 4294967295' >"/proc/$bounded_pid/projid_map" || exit 1
# shellcheck disable=SC2016
ERRAND_TEST_BOUNDED=1 nsenter -U -m -t "$bounded_pid" -S 0 -G 0 sh -c '
	echo 0 >/proc/sys/user/max_user_namespaces || exit 1
	exec sh "$1"' sh "$bounded_test"
