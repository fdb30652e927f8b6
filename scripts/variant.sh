#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds aesop once more with other options and runs its tests there.
# Usage: variant.sh FOLDER TESTS CMAKE-OPTION...   TESTS: regular expression of the tests to run
# Exit status 77: what an option asks for is not on this machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$1 tests=$2
shift 2

for option; do
    case $option in
    -DCMAKE_C_COMPILER=*)
        command -v "${option#*=}" >/dev/null || { echo "left out: no ${option#*=} on this machine"; exit 77; } ;;
    -DAESOP_OPENSSL_ROOT=*)
        [[ -d ${option#*=} ]] || { echo "left out: no ${option#*=}, see scripts/openssl-versions.sh"; exit 77; } ;;
    esac
done
cmake -S "$root" -B "$folder" -DAESOP_BUILD_TESTS=ON "$@" >/dev/null
cmake --build "$folder" -j "$(nproc)"
ctest --test-dir "$folder" -R "$tests" -j "$(nproc)" --output-on-failure --no-tests=error
