#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Other CPUs than this one, emulated: without AES instructions aesop loads and offers nothing, without AVX it serves
# by the 128-bit kernels alone, and elsewhere than on x86-64 it builds.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
needs openssl qemu-x86_64
needs_module

# on CPU CONF ARGUMENT...: the openssl command on that CPU
on() {
    local cpu=$1 file=$2
    shift 2
    OPENSSL_CONF=$WORK/$file.cnf qemu-x86_64 -cpu "$cpu" "$(command -v openssl)" "$@" 2>"$WORK/on.err"
}
served_by_aesop() { on "$1" "$2" list -cipher-algorithms | grep -c '@ aesop'; }

# Nehalem has neither AES nor AVX, Westmere has AES and PCLMULQDQ. The emulator knows no VAES.
contains "Nehalem: loads, and names no kernel" "kernel none" "$(on Nehalem ours list -providers -verbose)"
equal "Nehalem: offers nothing" 0 "$(served_by_aesop Nehalem ours)"
contains "Westmere: loads with the 128-bit kernels" "kernel aesni" "$(on Westmere ours list -providers -verbose)"
equal "Westmere: offers all six" 6 "$(served_by_aesop Westmere ours)"

for kernel in aesni vaes256 vaes512; do
    conf "$WORK/forced_$kernel.cnf" "aesop- default" "" "kernel = $kernel"
done
# forced CPU KERNEL: loads aesop by name, since a refusal is silent where a configuration activates it.
forced() { on "$1" "forced_$2" list -providers -provider aesop -provider default; }
refused "Nehalem: kernel = aesni is refused" forced Nehalem aesni
contains "Nehalem: the refusal names key and value" "kernel = aesni" "$(cat "$WORK/on.err")"
check "Westmere: kernel = aesni is accepted" forced Westmere aesni
refused "Westmere: kernel = vaes256 is refused" forced Westmere vaes256
refused "Westmere: kernel = vaes512 is refused" forced Westmere vaes512

if [ -x "$BUILD/bin/aesop" ]; then
    diagnosis=$(OPENSSL_CONF=$WORK/ours.cnf qemu-x86_64 -cpu Nehalem "$BUILD/bin/aesop" doctor 2>/dev/null)
    contains "Nehalem: doctor says why default serves" "this CPU has no AES instructions" "$diagnosis"
    contains "Nehalem: doctor says who serves" "AES-128-GCM +default" "$diagnosis"
else
    skip "doctor on Nehalem" "$BUILD/bin/aesop is not built"
fi

random_file "$WORK/plain" 100003
key=(-K 000102030405060708090a0b0c0d0e0f -iv 0f0e0d0c0b0a09080706050403020100)
theirs openssl enc -aes-128-cbc "${key[@]}" -in "$WORK/plain" -out "$WORK/encrypted"
for cpu in Nehalem Westmere; do
    check "$cpu: decrypts" on "$cpu" ours enc -d -aes-128-cbc "${key[@]}" -in "$WORK/encrypted" -out "$WORK/$cpu.plain"
    check "$cpu: the same file" cmp "$WORK/plain" "$WORK/$cpu.plain"
    check "$cpu: encrypts" on "$cpu" ours enc -aes-128-cbc "${key[@]}" -in "$WORK/plain" -out "$WORK/$cpu.encrypted"
    check "$cpu: the same ciphertext" cmp "$WORK/encrypted" "$WORK/$cpu.encrypted"
done
if [ -x "$BUILD/test/test_vectors" ]; then
    check "Westmere: NIST's vectors" qemu-x86_64 -cpu Westmere "$BUILD/test/test_vectors" --kernel aesni
else
    skip "NIST's vectors on Westmere" "$BUILD/test/test_vectors is not built"
fi

compiler=aarch64-linux-gnu-gcc
if command -v $compiler >/dev/null; then
    # OpenSSL's headers are the same everywhere but for their configuration; the C library's are not.
    mkdir "$WORK/include"
    cp -r "$(pkg-config --variable=includedir libcrypto)/openssl" "$WORK/include/"
    cp "$(dirname "$("${CC:-cc}" -E -include openssl/opensslconf.h -xc /dev/null |
        sed -n 's/^# 1 "\(.*configuration\.h\)".*/\1/p' | head -n 1)")"/*.h "$WORK/include/openssl/"
    build_elsewhere() {
        cd "$ROOT" &&
            $compiler -shared -fPIC -O2 -std=c17 -D_GNU_SOURCE= '-DAESOP_VERSION="test"' -Wall -Wextra -Wundef -Wvla \
                -Wmissing-prototypes -Werror -Wl,-z,defs -Wl,--version-script=provider/provider.map -I. \
                -isystem "$WORK/include" -o "$WORK/aesop.so" cache/constraint.c ciphers/*.c provider/*.c
    }
    check "aarch64: builds" build_elsewhere
else
    skip "the build for another processor" "$compiler is not installed"
fi
finish
