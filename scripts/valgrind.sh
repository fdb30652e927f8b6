#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a test program under memcheck. Exit status 77: valgrind is not on this machine.
set -euo pipefail

command -v valgrind >/dev/null || { echo "left out: $*: no valgrind on this machine"; exit 77; }
exec valgrind --quiet --error-exitcode=99 --leak-check=full \
    --show-leak-kinds=definite --errors-for-leak-kinds=definite "$@"
