#!/bin/sh
# cannot-job-tree.sh as an ordinary user.
# shellcheck disable=SC2034

AS_USER_TEST=cannot-job-tree.sh
. "$(dirname "$0")/../tools/as_user.sh"
