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
if ! aesop list -cipher-algorithms | grep '@ aesop' >/dev/null; then
    echo "This CPU has no instructions that aesop could use: it offers nothing, and default serves as before."
    exit
fi

echo
echo "== openssl speed -evp CIPHER -bytes N, one second each"
"$root/bench/speed.sh" aes-{128,256}-{gcm,cbc}:{,-decrypt} |
    awk -F, '{ printf "%-12s %-8s %8s %12s %12s %7s\n", $1, $2, $3, $4, $5, $6; fflush() }'

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
