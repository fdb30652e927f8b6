#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What do users see who compare with `openssl speed`? Stock and aesop, one right after the other, as CSV in MB/s by the
# CPU time that it measures; with --times N in turn, of which the fastest count. It sets key and IV anew for each GCM
# message; -aead adds associated data, -decrypt a tag, -multi 2 a second process. With the modes' table of
# bench_ceiling, as CSV, also aesop's share of the ceiling.
#
# Usage: speed.sh [--seconds S] [--times N] [--ceilings FILE] [CIPHER[:OPTIONS]...]
#        for instance "aes-128-gcm:-aead -decrypt"
# AESOP_BUILD_DIR, OPENSSL: see common.sh
set -euo pipefail

# shellcheck source=bench/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=1 times=1 ceilings=/dev/null
while [[ ${1-} == --* ]]; do
    case $1 in
    --seconds) seconds=${2?--seconds: how many?} ;;
    --times) times=${2?--times: how many?} ;;
    --ceilings) ceilings=${2?--ceilings: which file?} ;;
    *) echo "$1: allowed are --seconds S, --times N and --ceilings FILE, then CIPHER[:OPTIONS]" >&2; exit 2 ;;
    esac
    shift 2
done
[[ $# -gt 0 ]] || set -- aes-128-gcm: "aes-128-gcm:-aead" "aes-128-gcm:-decrypt" "aes-128-gcm:-multi 2" aes-256-gcm: \
    aes-128-cbc: "aes-128-cbc:-decrypt"

# bytes_per_second stock|aesop OPTION...: the last field of the last "+F:25:AES-128-GCM:1535477760.00"
bytes_per_second() {
    with "$1" "$openssl" speed -mr -seconds "$seconds" "${@:2}" 2>"$work/speed.log" | sed -n 's/^+F:.*://p' |
        tail -n 1 | grep . || { echo "$openssl speed ${*:2}: $(head -n 1 "$work/speed.log")" >&2; exit 1; }
}

# ceiling CIPHER OPTIONS: GB/s, with the widest kernel that this CPU has, in all processes together
ceiling() {
    LC_ALL=C awk -F, -v cipher="${1^^}" -v options=" $2 " '
        $1 == cipher {
            for (i = 2; i <= 4; i++)
                if ($i != "nan")
                    most = $i
            if (cipher ~ /CBC/ && options !~ / -decrypt /)
                most = $5
        }
        END {
            processes = options ~ / -multi [0-9]/ ? options : "1"
            sub(/.* -multi /, "", processes)
            print most * processes
        }' "$ceilings"
}

echo "cipher,options,bytes,stock_MB/s,aesop_MB/s,ratio,share%"
for subject; do
    IFS=: read -r cipher options <<<"$subject"
    read -r -a options <<<"$options"
    most=$(ceiling "$cipher" "${options[*]}")
    for bytes in 16 64 256 1024 8192 16384; do # as openssl speed itself
        for ((i = 0; i < times; i++)); do
            stock=$(bytes_per_second stock -evp "$cipher" -bytes "$bytes" "${options[@]}")
            aesop=$(bytes_per_second aesop -evp "$cipher" -bytes "$bytes" "${options[@]}")
            echo "$stock $aesop"
        done | LC_ALL=C awk -v c="$cipher" -v o="${options[*]}" -v n="$bytes" -v most="$most" '
            { if ($1 > s) s = $1; if ($2 > a) a = $2 }
            END { printf "%s,%s,%d,%.0f,%.0f,%.2f,%s\n", c, o == "" ? "-encrypt" : o, n, s / 1e6, a / 1e6, a / s,
                (most > 0 ? int(a / most / 1e7 + 0.5) : "nan") }'
    done
done
