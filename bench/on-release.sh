#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a benchmark on another release of OpenSSL, which scripts/openssl-versions.sh unpacked, with the module that was
# built for this machine's. Usage: on-release.sh RELEASE BENCHMARK ARGS...   Exit status 77: it could not be had here.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${AESOP_BUILD_DIR:-$root/build}
release=$1 benchmark=$2
shift 2

programs=$build/bench
if [[ $release == 4.* && -d $root/build/openssl/$release ]]; then
    # Another soname: programs are built anew.
    variant=$build/variants/bench-$release
    {
        cmake -S "$root" -B "$variant" -DCMAKE_BUILD_TYPE=Release -DAESOP_BUILD_TESTS=OFF -DAESOP_BUILD_BENCH=ON \
            -DAESOP_OPENSSL_ROOT="$root/build/openssl/$release/root"
        cmake --build "$variant" --target "$benchmark" -j "$(nproc)"
    } >&2
    programs=$variant/bench
fi
AESOP_MODULE_DIR=$build/ossl-modules exec "$root/scripts/on-openssl.sh" "$release" "$programs/$benchmark" "$@"
