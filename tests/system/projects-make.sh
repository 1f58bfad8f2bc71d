#!/bin/sh
# Two real projects with makefiles of their own; see tests/tools/projects.sh.

# Jobs' own scripts stand in single quotes; lib.sh has its own variables.
# shellcheck disable=SC2016,SC2034,SC2154
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/tools/jobs.sh"
. "$TOP/tests/tools/projects.sh"
projects_begin lua5.4 zlib
project lua5.4 'make -C src linux MYCFLAGS=-g'
project zlib 'sh -c "./configure && make && make test"'

done_testing
