#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds aesop, switches it on for the openssl command through an openssl.cnf, and compares:
# this machine's OpenSSL with and without it.
set -euo pipefail

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/scripts/setup.sh"
setup_install "${build_needs[@]}"
setup_demand "${build_needs[@]}"
build_release -DAESOP_BUILD_TESTS=OFF

conf=$root/build/openssl.cnf
"$root/build/bin/aesop" conf --node --force -o "$conf" --module "$root/build/ossl-modules/aesop.so"
stock() { OPENSSL_CONF=/dev/null openssl "$@"; }
aesop() { OPENSSL_CONF=$conf openssl "$@"; }

echo
echo "== Providers, as $(openssl version | cut -d' ' -f1,2) sees them with $conf"
aesop list -providers -verbose
if ! aesop list -cipher-algorithms | grep -q '@ aesop'; then
    echo "This CPU has no instructions that aesop could use: it offers nothing, and both columns below are stock."
fi

# bytes_per_second COMMAND OPTION...: the last field of "+F:25:AES-128-GCM:1535477760.00"
bytes_per_second() {
    "$1" speed -mr -elapsed -seconds 1 "${@:2}" 2>/dev/null | sed -n 's/^+F:.*://p'
}

echo
echo "== openssl speed -evp CIPHER -bytes N, MB/s, one second each"
printf '%-12s %-8s %8s %10s %10s %7s\n' cipher "" bytes stock aesop ratio
for cipher in aes-128-gcm aes-256-gcm aes-128-cbc aes-256-cbc; do
    for direction in encrypt decrypt; do
        for bytes in 64 256 1024 8192 16384 1048576; do
            options=(-evp "$cipher" -bytes "$bytes")
            [[ $direction == encrypt ]] || options+=(-decrypt)
            # One right after the other, so that a busy machine is as busy for both
            before=$(bytes_per_second stock "${options[@]}")
            after=$(bytes_per_second aesop "${options[@]}")
            LC_ALL=C awk -v c="$cipher" -v d="$direction" -v n="$bytes" -v b="$before" -v a="$after" 'BEGIN {
                printf "%-12s %-8s %8d %10.0f %10.0f %7.2f\n", c, d, n, b / 1e6, a / 1e6, a / b }'
        done
    done
done

echo
echo "== A file through openssl enc, both ways"
file=$(command -v openssl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for pair in "aesop stock" "stock aesop"; do
    read -r writer reader <<<"$pair"
    "$writer" enc -aes-256-cbc -pbkdf2 -pass pass:example -in "$file" -out "$work/encrypted"
    "$reader" enc -d -aes-256-cbc -pbkdf2 -pass pass:example -in "$work/encrypted" -out "$work/decrypted"
    cmp "$file" "$work/decrypted"
    echo "$file: encrypted with $writer, decrypted with $reader: the same $(stat -c %s "$file") bytes"
done
