#!/bin/sh
# cannot-bombs.sh as an ordinary user.
# shellcheck disable=SC2034

AS_USER_TEST=cannot-bombs.sh
. "$(dirname "$0")/../tools/as_user.sh"
