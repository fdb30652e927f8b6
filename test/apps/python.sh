#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Python's cryptography, ssl and hashlib, as the distribution ships them, with aesop switched on by a configuration
# file: they have to print what they print with default alone.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
PYTHON=/usr/bin/python3 # not another one on the PATH: its libcrypto may be its own
needs openssl "$PYTHON"
needs_module
"$PYTHON" -c 'import cryptography, ssl' 2>/dev/null ||
    missing "$PYTHON has no module cryptography (python3-cryptography)"
export PYTHONDONTWRITEBYTECODE=1

certificate "$WORK/key.pem" "$WORK/cert.pem"

# Python's cryptography loads default (and legacy) by itself, which changes whom 3.0 prefers among equals:
# the second configuration has default first.
conf "$WORK/default_first.cnf" "default aesop" "?provider=aesop"
default_first() { OPENSSL_CONF=$WORK/default_first.cnf "$@"; }

for side in theirs ours default_first; do
    provider=aesop
    [ $side != theirs ] || provider=default
    check "who serves inside the process: $side" $side "$PYTHON" "$APPS/python_serves.py" $provider
    for program in ciphers tls; do
        if $side "$PYTHON" "$APPS/python_$program.py" "$WORK" >"$WORK/$program.$side" 2>"$WORK/python.err"; then
            pass "python_$program.py runs: $side"
        else
            fail "python_$program.py runs: $side" "$WORK/python.err"
        fi
        [ $side = theirs ] || check "python_$program.py prints the same as with default: $side" \
            diff -u "$WORK/$program.theirs" "$WORK/$program.$side"
    done
done
for program in ciphers tls; do
    equal "python_$program.py says that it came to its end" "done" "$(tail -n 1 "$WORK/$program.ours")"
done
finish
