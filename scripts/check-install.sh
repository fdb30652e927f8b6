#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs into a prefix, and where namespaces allow it lays the installation of prefix /usr over libcrypto's own
# modules folder; each time the openssl command has to find aesop by its name alone.
# Usage: check-install.sh BUILD-FOLDER
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
work=$build/install-check
modules=$(pkg-config --variable=modulesdir libcrypto)

rm -rf "$work"
mkdir "$work"
# By name alone: no "module = PATH" in the configuration
cat >"$work/openssl.cnf" <<'CONF'
openssl_conf = init
[init]
providers = providers
[providers]
aesop = aesop_section
default = default_section
[aesop_section]
activate = 1
[default_section]
activate = 1
CONF

# Run by shells of their own, inside the namespace as well
finds_aesop='openssl list -cipher-algorithms | grep "aes-128-gcm.*@ aesop" || { echo "not found by name"; exit 1; }'
export OPENSSL_CONF=$work/openssl.cnf

cmake --install "$build" --prefix "$work/prefix" >/dev/null
installed=$(dirname "$(find "$work/prefix" -name aesop.so)")
for file in bin/aesop libaesop.so include/aesop/stream.h share/man/man1/aesop.1 share/doc/aesop/openssl.cnf.example; do
    [[ -n $(find "$work/prefix" -path "*/$file") ]] || { echo "not installed: $file"; exit 1; }
done
OPENSSL_MODULES=$installed bash -c "$finds_aesop"

cmake -S "$root" -B "$work/build" -DCMAKE_INSTALL_PREFIX=/usr -DAESOP_BUILD_TESTS=OFF >/dev/null
cmake --build "$work/build" -j "$(nproc)" >/dev/null
DESTDIR=$work/destdir cmake --install "$work/build" >/dev/null
[[ -f $work/destdir$modules/aesop.so ]]
if ! unshare -rm true 2>/dev/null; then
    echo "left out: libcrypto's modules folder: this machine gives no mount namespace"
else
    unshare -rm bash -c "mount --bind '$work/destdir$modules' '$modules' && $finds_aesop"
fi
