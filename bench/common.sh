# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the scripts here: where things are, and the openssl command with and without aesop.
#   AESOP_BUILD_DIR   the build whose module is measured (build/)
#   OPENSSL           the openssl command (that of PATH; for instance build/openssl/4.0/openssl)
# --help shows what stands at the script's top.

if [[ ${1-} == --help ]]; then
    sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${AESOP_BUILD_DIR:-$root/build}
openssl=${OPENSSL:-openssl}
[[ -x $build/bin/aesop ]] ||
    { echo "$build: aesop is not built there; run.sh builds it, AESOP_BUILD_DIR names another folder" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/aesop" conf -o "$work/aesop.cnf" --module "$build/ossl-modules/aesop.so"

# Before anything else on this machine, where we may.
[[ $EUID -ne 0 ]] || renice -n -10 -p $$ >/dev/null || true

# The file that switches aesop on, or does not: conf_of stock|aesop
conf_of() {
    case $1 in
    stock) echo /dev/null ;;
    aesop) echo "$work/aesop.cnf" ;;
    esac
}

# with stock|aesop COMMAND... runs a program that uses OpenSSL
with() {
    OPENSSL_CONF=$(conf_of "$1") "${@:2}"
}

# The release of the openssl command: "3.0"
release() {
    "$openssl" version | sed 's/^OpenSSL \([0-9]*\.[0-9]*\).*/\1/'
}

with aesop "$openssl" list -cipher-algorithms | grep '@ aesop' >/dev/null ||
    { echo "aesop is not active in $openssl with the module of $build: nothing to compare" >&2; exit 1; }
