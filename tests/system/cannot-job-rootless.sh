#!/bin/sh
# cannot-job.sh as an ordinary user.
# shellcheck disable=SC2034

AS_USER_TEST=cannot-job.sh
. "$(dirname "$0")/../tools/as_user.sh"
