#!/bin/sh
# inside.sh as an ordinary user.
# shellcheck disable=SC2034

AS_USER_TEST=inside.sh
. "$(dirname "$0")/../tools/as_user.sh"
