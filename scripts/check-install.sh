#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs into a prefix, and where namespaces allow it lays the installation of prefix /usr over libcrypto's own
# modules folder; each time the openssl command has to find aesop by its name alone. What else is installed: files that
# need and show what they should, and a library that programs in C and C++ find.
# Usage: check-install.sh BUILD-FOLDER
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
work=$(mktemp -d /tmp/aesop-install.XXXXXX) # pkg-config splits at blanks, which TMPDIR may have
trap 'rm -rf "$work"' EXIT
modules=$(pkg-config --variable=modulesdir libcrypto)

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
for file in bin/aesop libaesop.so include/aesop/stream.h share/man/man1/aesop.1 share/man/man3/AESOP_BIO_rekey.3 \
    share/doc/aesop/openssl.cnf.example; do
    [[ -n $(find "$work/prefix" -path "*/$file") ]] || { echo "not installed: $file"; exit 1; }
done
export OPENSSL_MODULES=$installed
bash -c "$finds_aesop"
# The example as it stands, and with all the settings that it shows, which leave one cipher
OPENSSL_CONF=$root/openssl.cnf.example bash -c "$finds_aesop"
sed -E 's/^#(kernel|chunk|constraints) =/\1 =/' "$root/openssl.cnf.example" >"$work/settings.cnf"
[[ $(OPENSSL_CONF=$work/settings.cnf openssl list -cipher-algorithms | grep '@ aesop') == *aes-256-gcm* ]]
[[ $(OPENSSL_CONF=$work/settings.cnf openssl list -cipher-algorithms | grep -c '@ aesop') -eq 1 ]]
unset OPENSSL_MODULES

cmake -S "$root" -B "$work/build" -DCMAKE_INSTALL_PREFIX=/usr -DAESOP_BUILD_TESTS=OFF >/dev/null
cmake --build "$work/build" -j "$(nproc)" >/dev/null
DESTDIR=$work/destdir cmake --install "$work/build" >/dev/null
[[ -f $work/destdir$modules/aesop.so ]]
# Another prefix takes all of it along, whatever the build was made for.
cmake --install "$work/build" --prefix "$work/moved" >/dev/null
[[ -f $work/moved/${modules#/usr/}/aesop.so ]]
diff <(cd "$work/destdir/usr" && find . -type f | sort) <(cd "$work/moved" && find . -type f | sort)
PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name aesop.pc)") pkg-config --cflags --libs aesop |
    grep -e "-I$work/moved/include .*-L$work/moved/lib" >/dev/null || { echo "aesop.pc names another prefix"; exit 1; }

libraries=$(dirname "$(find "$work/destdir" -name libaesop.so)")
"$root/scripts/check-module.sh" "$libraries/libaesop.so" '@(lib@(c|crypto|ssl).so.*|ld-linux*)' 'AESOP_*'
"$root/scripts/check-module.sh" "$libraries/libaesop-fetch.so" '@(libc.so.6|ld-linux*)' \
    '@(@(CONF|EVP|OPENSSL|OSSL)_*|dlclose)'
"$root/scripts/check-module.sh" "$work/destdir/usr/bin/aesop" '@(lib@(c|crypto).so.*|ld-linux*)' '*'
diff <(nm -D --defined-only --format=posix "$libraries/libaesop.so" | cut -d' ' -f1 | sort) \
    <(grep -oh 'AESOP_[A-Za-z0-9_]*(' "$root"/include/aesop/*.h | tr -d '(' | sort -u) ||
    { echo "libaesop.so shows other functions than its headers"; exit 1; }

cat >"$work/program.c" <<'PROGRAM'
#include <aesop/resolver.h>
#include <aesop/stream.h>

int main(void)
{
    AESOP_RESOLVER *resolver = AESOP_RESOLVER_new(NULL, 0, 0, 0);
    EVP_CIPHER *cipher = AESOP_RESOLVER_get0_cipher(resolver, "AES-128-GCM", NULL);
    BIO *b = BIO_new(AESOP_BIO_f_aead());
    const int done = AESOP_BIO_set_aead(b, cipher, (const unsigned char *)"sixteen or more!", 16, 1, NULL);

    BIO_free(b);
    AESOP_RESOLVER_free(resolver);
    return !done;
}
PROGRAM
read -r -a flags < <(PKG_CONFIG_SYSROOT_DIR=$work/destdir PKG_CONFIG_PATH=$libraries/pkgconfig \
    pkg-config --cflags --libs aesop)
strict=(-Wall -Wextra -pedantic -Werror -o "$work/program")
"${CC:-cc}" "${strict[@]}" "$work/program.c" "${flags[@]}"
OPENSSL_CONF=/dev/null LD_LIBRARY_PATH=$libraries "$work/program"
# clang needs no C++ library for this
if command -v clang >/dev/null; then
    clang -x c++ "${strict[@]}" "$work/program.c" "${flags[@]}"
else
    echo "left out: a program in C++: no clang on this machine"
fi

if ! unshare -rm true 2>/dev/null; then
    echo "left out: libcrypto's modules folder: this machine gives no mount namespace"
else
    unshare -rm bash -c "mount --bind '$work/destdir$modules' '$modules' && $finds_aesop"
fi
