#!/bin/sh
# image.sh as an ordinary user.
# shellcheck disable=SC2034

AS_USER_TEST=image.sh
. "$(dirname "$0")/../tools/as_user.sh"
