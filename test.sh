#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs every test. Options go to ctest (-R NAME, -LE variant, ...).
set -euo pipefail

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/scripts/setup.sh"

# stage NAME COMMAND...
stage() {
    local name=$1 start=$SECONDS
    shift
    echo "== $name"
    "$@"
    echo "== $name: $((SECONDS - start)) s"
}

# Everything that any build or program left out: how often, what, why. CUnit writes the first of a test on its line.
left_out() {
    find "$root/build" -name LastTest.log -exec grep -ohE '(left out|SKIP): .*' {} + | sort | uniq -c
}

stage "set-up" setup_install "${build_needs[@]}" "${test_needs[@]}"
setup_demand "${build_needs[@]}" cunit.pc=libcunit1-dev jansson.pc=libjansson-dev
stage "build" build_release -DAESOP_BUILD_TESTS=ON -DAESOP_TEST_ALL=ON -DAESOP_BUILD_BENCH=ON
stage "newer releases of OpenSSL" "$root/scripts/openssl-versions.sh" || true

# ctest's summary closes the output: it is held back until what was left out has been told.
log=$root/build/test.log
status=0
# What earlier runs left out is no news.
find "$root/build" -name LastTest.log -delete
ctest --test-dir "$root/build" -j "$(nproc)" --output-on-failure --no-label-summary --no-tests=error "$@" | tee "$log" |
    sed -u '/^[0-9]*% tests passed/,$d' || status=$?
echo "Left out here:"
left_out || echo "      nothing"
sed -n '/^[0-9]*% tests passed/,$p' "$log"
exit $status
