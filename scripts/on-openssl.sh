#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a program on one of the releases that openssl-versions.sh unpacked. Usage: on-openssl.sh RELEASE PROGRAM ARGS
# Exit status 77: it could not be had here.
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/openssl
release=$1
shift

if [[ ! -x $folder/$release/run ]]; then
    cat "$folder/$release.unavailable" 2>/dev/null ||
        echo "left out: OpenSSL $release: scripts/openssl-versions.sh was not run"
    exit 77
fi
exec "$folder/$release/run" "$@"
