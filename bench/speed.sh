#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What do users see who compare with `openssl speed`? Stock and aesop, one right after the other, as CSV in MB/s by the
# CPU time that it measures. It sets key and IV anew for each GCM message; -aead adds associated data, -decrypt a tag,
# -multi 2 a second process.
#
# Usage: speed.sh [--seconds S] [CIPHER:OPTIONS...]   for instance "aes-128-gcm:-aead -decrypt"
# AESOP_BUILD_DIR, OPENSSL: see common.sh
set -euo pipefail

# shellcheck source=bench/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=1
if [[ ${1-} == --seconds ]]; then
    seconds=$2
    shift 2
fi
[[ $# -gt 0 ]] || set -- aes-128-gcm: "aes-128-gcm:-aead" "aes-128-gcm:-decrypt" "aes-128-gcm:-multi 2" aes-256-gcm: \
    aes-128-cbc: "aes-128-cbc:-decrypt"

# bytes_per_second stock|aesop OPTION...: the last field of the last "+F:25:AES-128-GCM:1535477760.00"
bytes_per_second() {
    with "$1" "$openssl" speed -mr -seconds "$seconds" "${@:2}" 2>/dev/null | sed -n 's/^+F:.*://p' | tail -n 1
}

echo "cipher,options,bytes,stock_MB/s,aesop_MB/s,ratio"
for subject; do
    cipher=${subject%%:*}
    read -r -a options <<<"${subject#*:}"
    for bytes in 16 64 256 1024 8192 16384; do # as openssl speed itself
        stock=$(bytes_per_second stock -evp "$cipher" -bytes "$bytes" "${options[@]}")
        aesop=$(bytes_per_second aesop -evp "$cipher" -bytes "$bytes" "${options[@]}")
        LC_ALL=C awk -v c="$cipher" -v o="${options[*]}" -v n="$bytes" -v s="$stock" -v a="$aesop" 'BEGIN {
            printf "%s,%s,%d,%.0f,%.0f,%.2f\n", c, o == "" ? "-encrypt" : o, n, s / 1e6, a / 1e6, a / s }'
    done
done
