#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 libaesop-fetch.so under LD_PRELOAD: the openssl command, Python's ssl, hashlib
# and cryptography, and a probe that prints all a program can see of a fetch have to say with it what they say without
# it. On the system's OpenSSL, or with an argument ("preload.sh 4.0") on a release that scripts/openssl-versions.sh
# unpacked. "preload.sh copies": only what hangs on how the library was compiled, a second libcrypto in the process.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
needs openssl readelf nm "${CC:-cc}"
[ "${1-}" = copies ] || needs_module
FETCH=$BUILD/lib/libaesop-fetch.so
HEADERS=
if [ $# -gt 0 ] && [ "$1" != copies ]; then
    use_openssl "$1" || missing "OpenSSL $1 is not unpacked"
fi
# shellcheck disable=SC2153 # set by use_openssl
if [ "${VERSION%%.*}" != 3 ]; then
    # Its symbols bear another version, so the library is that of the build for it.
    FETCH=$BUILD/variants/openssl-$VERSION/lib/libaesop-fetch.so
    HEADERS=-I$(dirname "$RUN")/root/usr/include
fi
[ -f "$FETCH" ] || missing "$FETCH is not built"

stock() { "$@"; }
preloaded() { LD_PRELOAD=$FETCH "$@"; }

# same NAME COMMAND...: output, errors and exit status are those without the library. Addresses and threads differ
# always.
same() {
    local name=$1 side
    shift
    for side in stock preloaded; do
        $side "$@" >"$WORK/out.$side" 2>"$WORK/err.$side" </dev/null
        echo "exit status $?" >>"$WORK/out.$side"
        sed -E 's/^[0-9A-Fa-f]+:error/error/' "$WORK/err.$side" >>"$WORK/out.$side"
    done
    if [ ! -s "$WORK/out.stock" ]; then
        fail "$name: says nothing"
    elif diff -u "$WORK/out.stock" "$WORK/out.preloaded" >"$WORK/check.log"; then
        pass "$name"
    else
        fail "$name" "$WORK/check.log"
    fi
}

# ---- a second libcrypto, under a name of its own ----

compile() { "${CC:-cc}" -std=c17 -D_GNU_SOURCE= -Wall -Wextra -O1 $HEADERS -Wl,--allow-shlib-undefined "$@"; }
sed 's/libcrypto\.so\./libcryptX.so./g' "$LIBCRYPTO" >"$WORK/libcryptX.so.${VERSION%%.*}"
if {
    compile -shared -fPIC -DMODULE -o "$WORK/ours.so" "$APPS/preload_copies.c" "$LIBCRYPTO" &&
        compile -shared -fPIC -DMODULE -o "$WORK/other.so" "$APPS/preload_copies.c" \
            "$WORK/libcryptX.so.${VERSION%%.*}" -Wl,-rpath,"$WORK" &&
        compile -o "$WORK/preload_copies" "$APPS/preload_copies.c"
} >"$WORK/cc.log" 2>&1; then
    for modules in other.so "ours.so other.so" "other.so ours.so"; do
        read -ra paths <<<"$modules"
        same "$VERSION: a libcrypto by another name: $modules" \
            ${RUN:+"$RUN"} "$WORK/preload_copies" "${paths[@]/#/$WORK/}"
    done
    check "$VERSION: ... and that one was met" grep -q "other.so: fetched 1" "$WORK/out.preloaded"
    # Where the caller of one was, the caller of another is.
    for modules in "ours.so other.so" "other.so ours.so"; do
        read -ra paths <<<"$modules"
        same "$VERSION: one libcrypto after another: $modules" \
            ${RUN:+"$RUN"} "$WORK/preload_copies" -u "${paths[@]/#/$WORK/}"
        equal "$VERSION: ... in one place" "where the last one was 1, unloaded 1" \
            "$(grep 'where the last one was' "$WORK/out.preloaded" | tail -n 1)"
    done
else
    fail "preload_copies.c compiles" "$WORK/cc.log"
fi

[ "${1-}" != copies ] || finish

# ---- the library itself ----

equal "$VERSION: it needs the C library alone" "libc.so.6" \
    "$(readelf -d "$FETCH" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | tr '\n' ' ' | sed 's/ $//')"
# Whoever looks for a function in this process is to find what libcrypto has, and dlclose.
exported() { nm -D --defined-only "$1" | awk '$2 == "T" { sub("@@.*", "", $3); if ($3 !~ "@") print $3 }' | sort; }
equal "$VERSION: what it has and libcrypto has not" dlclose "$(comm -23 <(exported "$FETCH") <(exported "$LIBCRYPTO"))"
# A program that has no OpenSSL gets none.
equal "$VERSION: no libcrypto comes into a program without one" 0 "$(preloaded grep -c libcrypto /proc/self/maps)"

# ---- the probe ----

if "${CC:-cc}" -std=c17 -D_GNU_SOURCE= -Wall -Wextra -O1 $HEADERS -o "$WORK/preload_probe" "$APPS/preload_probe.c" \
    "$LIBCRYPTO" -Wl,--allow-shlib-undefined -lpthread >"$WORK/cc.log" 2>&1; then
    probe() { "$side" ${RUN:+"$RUN"} "$WORK/preload_probe" "$@"; }
    side=preloaded check "$VERSION: the probe meets the library at work" probe active
    side=stock refused "$VERSION: ... and does not without it" probe active
    same "$VERSION: all that the probe sees" ${RUN:+"$RUN"} "$WORK/preload_probe" "$MODULES"
    conf "$WORK/aesop.cnf" "aesop default" "?provider=aesop"
    OPENSSL_CONF=$WORK/aesop.cnf same "$VERSION: all that the probe sees, with aesop" \
        ${RUN:+"$RUN"} "$WORK/preload_probe" "$MODULES"
else
    fail "preload_probe.c compiles" "$WORK/cc.log"
fi

# ---- the openssl command ----

random_file "$WORK/data" 100000
key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
bindings=$(LD_DEBUG=bindings preloaded openssl list -providers 2>&1 | grep -c 'to .*libaesop-fetch.so')
check "$VERSION openssl: its calls go to the library ($bindings of them)" test "$bindings" -gt 0
for configuration in default aesop; do
    conf "$WORK/$configuration.cnf" "$([ $configuration = default ] || echo aesop) default" "?provider=aesop"
    export OPENSSL_CONF=$WORK/$configuration.cnf
    name="$VERSION openssl with $configuration"
    same "$name: providers" openssl list -providers
    same "$name: cipher algorithms" openssl list -cipher-algorithms
    for cipher in aes-128-cbc aes-256-ctr aria-128-cbc des-ede3-cbc id-aes192-CBC bf-cbc rc4 no-such; do
        same "$name: enc $cipher" openssl enc "-$cipher" -K "$key" -iv "${key:0:32}" -in "$WORK/data"
    done
    for digest in sha256 sha3-512 md5 blake2b512 md4 whirlpool no-such; do
        same "$name: dgst $digest" openssl dgst "-$digest" "$WORK/data"
    done
    same "$name: mac" openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" "$WORK/data"
    same "$name: kdf" openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt "hexkey:$key" -kdfopt salt:salt HKDF
    same "$name: kdf that is not there" openssl kdf -keylen 32 NO-SUCH-KDF
    same "$name: a provider that is not there" openssl list -providers -provider no-such
    same "$name: legacy" openssl dgst -provider legacy -provider default -md4 "$WORK/data"
    same "$name: a query that nothing meets" openssl dgst -propquery provider=nobody -sha256 "$WORK/data"
    # What is random is made by one and read by the other.
    check "$name: key" preloaded openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$WORK/key.pem"
    check "$name: certificate" preloaded openssl req -x509 -key "$WORK/key.pem" -subj /CN=localhost -days 2 \
        -out "$WORK/cert.pem"
    check "$name: certificate is verified" openssl verify -CAfile "$WORK/cert.pem" "$WORK/cert.pem"
    check "$name: cms" preloaded openssl cms -encrypt -binary -aes-256-gcm -outform DER -in "$WORK/data" \
        -out "$WORK/cms" -recip "$WORK/cert.pem"
    check "$name: cms is read" openssl cms -decrypt -inform DER -in "$WORK/cms" -out "$WORK/plain" \
        -inkey "$WORK/key.pem" -recip "$WORK/cert.pem"
    check "$name: cms is right" cmp "$WORK/data" "$WORK/plain"
    for version in tls1_2 tls1_3; do
        if serve_port "$WORK/server.log" $configuration env LD_PRELOAD="$FETCH" openssl s_server -accept PORT \
            -cert "$WORK/cert.pem" -key "$WORK/key.pem" "-$version" -www; then
            check "$name: $version" bash -c "echo | LD_PRELOAD=$FETCH openssl s_client -connect 127.0.0.1:$PORT \
                -$version -CAfile '$WORK/cert.pem' -verify_return_error"
            stop_server
        else
            fail "$name: $version: server" "$WORK/server.log.err"
        fi
    done
done
[ $# -eq 0 ] || finish

# ---- Python ----

PYTHON=/usr/bin/python3 # not another one on the PATH: its libcrypto may be its own
if ! "$PYTHON" -c 'import cryptography, ssl' 2>/dev/null; then
    skip "Python" "$PYTHON has no module cryptography (python3-cryptography)"
    finish
fi
export PYTHONDONTWRITEBYTECODE=1
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/key.pem" -out "$WORK/cert.pem" -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -days 2 2>/dev/null
# Its modules have libcrypto where only they see it.
bindings=$(LD_DEBUG=bindings preloaded "$PYTHON" -c 'import hashlib; hashlib.sha256(b"")' 2>&1 |
    grep -c 'to .*libaesop-fetch.so')
check "python: hashlib's calls go to the library ($bindings of them)" test "$bindings" -gt 0
for configuration in default aesop; do
    export OPENSSL_CONF=$WORK/$configuration.cnf
    for program in ciphers tls; do
        same "python with $configuration: python_$program.py" "$PYTHON" "$APPS/python_$program.py" "$WORK"
    done
    same "python with $configuration: hashlib" "$PYTHON" -c '
import hashlib
for name in sorted(hashlib.algorithms_available) + ["no-such"]:
    for again in range(2):
        try:
            h = hashlib.new(name, b"abc")
            copy = h.copy()
            copy.update(b"def")
            if name.startswith("shake"):
                print(name, h.hexdigest(32), copy.hexdigest(32))
            else:
                print(name, h.name, h.digest_size, h.hexdigest(), copy.hexdigest())
        except Exception as e:
            print(name, type(e).__name__, e)
print(hashlib.pbkdf2_hmac("sha256", b"p", b"s", 10).hex(), hashlib.scrypt(b"p", salt=b"s", n=16, r=1, p=1).hex())'
done
finish
