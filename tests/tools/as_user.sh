# shellcheck shell=sh
# A system test once more as an ordinary user, with errandd --user.  To be
# sourced by a script that is nothing else:
#
#	AS_USER_TEST=image.sh
#	. "$(dirname "$0")/../tools/as_user.sh"

as_user_test=$(realpath "$(dirname "$0")/${AS_USER_TEST:?}")
if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP $AS_USER_TEST is this, where an ordinary user runs it"
	exit 0
fi
command -v setpriv >/dev/null || {
	echo '1..0 # SKIP no setpriv here'
	exit 0
}
as_user_uid=$((600000 + $$))
as_user() { setpriv --reuid "$as_user_uid" --regid "$as_user_uid" --clear-groups "$@"; }
cd / || exit 1
as_user unshare -U true 2>/dev/null || {
	echo '1..0 # SKIP needs user namespaces for ordinary users'
	exit 0
}
exec setpriv --reuid "$as_user_uid" --regid "$as_user_uid" --clear-groups \
    sh "$as_user_test"
