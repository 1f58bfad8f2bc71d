#!/bin/sh
# A real project with Autoconf and Automake; see tests/tools/projects.sh.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/projects.sh"
projects_begin hello
project hello \
    'sh -c "./configure --disable-dependency-tracking && make && ./hello"'

done_testing
