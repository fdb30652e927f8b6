#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the module may need and show: libc and the loader, OSSL_provider_init. The other files are held to the same, with
# patterns of their own. Usage: check-module.sh FILE [LIBRARIES SYMBOLS]
set -euo pipefail

module=$1
libraries=${2-'@(libc.so.6|ld-linux*)'}
symbols=${3-OSSL_provider_init}
failed=0

# check WHAT ALLOWED FOUND: every word found matches the pattern, and there is one
check() {
    local word
    [[ -n $3 ]] || { echo "$1: none found"; failed=1; }
    for word in $3; do
        # shellcheck disable=SC2254 # a pattern is meant
        case $word in $2) ;; *) echo "$1: $word is not allowed"; failed=1 ;; esac
    done
}

dynamic=$(readelf -dW "$module")
shopt -s extglob
check "needed libraries" "$libraries" "$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")"
check "exported symbols" "$symbols" "$(nm -D --defined-only --format=posix "$module" | cut -d' ' -f1)"
check "binding" '@(NOW|BIND_NOW)' "$(grep -o -w -m 1 -e BIND_NOW -e NOW <<<"$dynamic")"
grep -q GNU_RELRO < <(readelf -lW "$module") || { echo "no read-only relocations"; failed=1; }
! grep -q -w -e RPATH -e RUNPATH -e TEXTREL <<<"$dynamic" || { echo "a search path or text relocation"; failed=1; }
readelf -lW "$module" | grep GNU_STACK | grep -q 'RW ' || { echo "an executable stack"; failed=1; }
exit $failed
