#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who serves what, for every order of providers and every default_properties, on the system's OpenSSL and on those that
# scripts/openssl-versions.sh unpacked; and what a wrong configuration leads to.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
needs openssl "${CC:-cc}"
needs_module
build_probe

# At the start of a line of answers: what has to stay default's whatever is configured.
OTHERS="digest=SHA256 cipher=AES-128-CTR"

conf "$WORK/aesop_first.cnf" "aesop default" ""
conf "$WORK/default_first.cnf" "default aesop" ""
conf "$WORK/aesop_first_preferred.cnf" "aesop default" "?provider=aesop"
conf "$WORK/default_first_preferred.cnf" "default aesop" "?provider=aesop"
conf "$WORK/only_aesop_asked.cnf" "aesop default" "provider=aesop"
conf "$WORK/aesop_alone.cnf" "aesop" ""
conf "$WORK/not_activated.cnf" "aesop- default" ""
conf "$WORK/bad_value.cnf" "aesop default" "?provider=aesop" "kernel = nonsense"
sed "s|^module = .*|module = $WORK/nowhere/aesop.so|" "$WORK/aesop_first_preferred.cnf" >"$WORK/no_file.cnf"

# answers CONF QUESTION...: the answers of this version's libcrypto, on one line
answers() {
    local file=$1
    shift
    OPENSSL_CONF=$WORK/$file.cnf ask "$@" 2>"$WORK/probe.err" | cut -d' ' -f2 | tr '\n' ' '
}

# selects CONF PROVIDER: who serves AES, in each way of asking; everything else stays with default.
selects() {
    equal "$VERSION $1: AES is served by $2, the rest by default" "$2 $2 $2 $2 default default " \
        "$(answers "$1" cipher=AES-128-GCM cipher=id-aes256-GCM cipher=2.16.840.1.101.3.4.1.2 implicit=aes-192-cbc \
            $OTHERS)"
    equal "$VERSION $1: the implicit fetch of GCM is served by $2" "$2 " "$(answers "$1" implicit=id-aes128-GCM)"
}

who_serves() {
    local expected
    selects aesop_first_preferred aesop
    selects default_first_preferred aesop
    # Without default_properties the first in the file serves, in every release; but once a program has asked for a
    # provider (OSSL_PROVIDER_available, OSSL_PROVIDER_load), libcrypto has sorted them by name.
    selects aesop_first aesop
    selects default_first default
    equal "$VERSION default_first, after OSSL_PROVIDER_available: by name" "1 aesop " \
        "$(answers default_first available=aesop cipher=AES-128-GCM)"
    equal "$VERSION: a query decides over default_properties" "default aesop none none " \
        "$(answers aesop_first_preferred 'cipher=AES-128-GCM?provider=default' 'cipher=AES-128-GCM?provider=aesop' \
            'cipher=AES-128-GCM?provider=aesop,fips=yes' 'cipher=AES-128-CTR?provider=aesop')"
    equal "$VERSION: not activated, not there" "default default default 0 " \
        "$(answers not_activated cipher=AES-128-GCM $OTHERS available=aesop)"
    # Two mistakes that people make: a preference without "?", and default left out.
    equal "$VERSION: provider=aesop without ? takes away everything else" "aesop aesop none none " \
        "$(answers only_aesop_asked cipher=AES-128-GCM implicit=aes-128-cbc $OTHERS)"
    equal "$VERSION: aesop alone switches default off" "aesop none none 0 " \
        "$(answers aesop_alone cipher=AES-128-GCM $OTHERS available=default)"
}

bytes_agree() {
    equal "$VERSION: aesop and default read each other" "1 1 1 1 1 1 " \
        "$(answers aesop_first_preferred ${ALL_CIPHERS//AES/same=AES})"
}

# libcrypto is silent about a provider that it cannot load from a configuration, and goes on without it.
silence() {
    local file
    for file in no_file bad_value; do
        equal "$VERSION $file: default serves" "0 default default default " \
            "$(answers $file available=aesop cipher=AES-128-GCM $OTHERS)"
        answers not_activated "config=$WORK/$file.cnf" >"$WORK/answer"
        equal "$VERSION $file: libcrypto reports success" "1 " "$(cat "$WORK/answer")"
        equal "$VERSION $file: and no error" "" "$(cat "$WORK/probe.err")"
    done
}

# load LINE: loads aesop by name, with that line in a section that is not activated: here errors are seen.
load() {
    conf "$WORK/setting.cnf" "aesop- default" "" "$1"
    OPENSSL_CONF=$WORK/setting.cnf openssl list -providers -provider aesop -provider default </dev/null 2>&1
}

accepted() { check "$VERSION: accepted: $1" load "$1"; }

# refuses LINE WORD...: loading fails, and the message has every WORD.
refuses() {
    local line=$1 word output
    shift
    if output=$(load "$line"); then
        fail "$VERSION: refused: $line"
        return
    fi
    for word in "$@"; do
        if ! grep -Fq -- "$word" <<<"$output"; then
            printf 'the message lacks "%s":\n%s\n' "$word" "$output" >"$WORK/check.log"
            fail "$VERSION: refused: $line" "$WORK/check.log"
            return
        fi
    done
    pass "$VERSION: refused: $line"
}

settings() {
    local value
    accepted ""
    accepted "kernel = auto"
    accepted "chunk = 4096"
    accepted "chunk = 65536"
    for value in nonsense AUTO aesni2; do
        refuses "kernel = $value" kernel "$value" auto vaes512 vaes256 aesni
    done
    for value in many 0 -4096 4k 4095 0x1000 99999999999999999999; do
        refuses "chunk = $value" chunk "$value" 4096
    done
    # What is nearly a setting is a mistake, not somebody else's.
    for value in "kernle = auto" "kernels = auto" "Kernel = auto" "Chunk = 4096" "chunks = 4096" "chunk_size = 4096"; do
        refuses "$value" "${value%% *}" "${value##* }" kernel chunk
    done
}

everything() {
    who_serves
    bytes_agree
    silence
    settings
}

everything
for release in 3.5 3.6 4.0; do
    if use_openssl $release; then
        everything
    else
        skip "OpenSSL $release" "not unpacked: scripts/openssl-versions.sh $release"
    fi
done
finish
