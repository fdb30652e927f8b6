# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every script here shares: a temporary folder, configurations, named checks, servers that end with the script.
# Sourced first; a script ends with `finish`. Exit status: 0, 1 where a check failed, 77 where a program is missing.
# With pipefail, "| grep -q" may fail where it matches: it ends before the writer has written all.
set -u -o pipefail
export LC_ALL=C

APPS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$APPS/../.." && pwd)
BUILD=$(cd "${AESOP_BUILD_DIR:-$ROOT/build}" 2>/dev/null && pwd) || {
    echo "SKIP: everything: there is no build folder ${AESOP_BUILD_DIR:-$ROOT/build}"
    exit 77
}
# LD_PRELOAD and the files of nginx and sshd are split at blanks: no path here has any.
WORK=${TMPDIR:-/tmp}
[[ $WORK != *[[:space:]]* ]] || WORK=/tmp
WORK=$(mktemp -d "$WORK/aesop-apps.XXXXXX") || exit 1
# Servers may drop privileges and still have to read what lies here.
chmod 755 "$WORK"
if [[ $ROOT$BUILD == *[[:space:]]* ]]; then
    ln -s "$ROOT" "$WORK/root" && ln -s "$BUILD" "$WORK/build" || exit 1
    ROOT=$WORK/root BUILD=$WORK/build APPS=$WORK/root/test/apps
fi
MODULES=$BUILD/ossl-modules
unset OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES

PASSED=0 FAILED=0 SKIPPED=0 SERVERS=()

cleanup() {
    local pid
    for pid in ${SERVERS[@]+"${SERVERS[@]}"}; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

pass() {
    PASSED=$((PASSED + 1))
    echo "ok: $1"
}

# fail NAME [FILE]: FILE holds what was printed.
fail() {
    FAILED=$((FAILED + 1))
    echo "FAIL: $1"
    [ $# -lt 2 ] || sed 's/^/    /' "$2" | tail -n 40
}

# skip WHAT WHY
skip() {
    SKIPPED=$((SKIPPED + 1))
    echo "SKIP: $1: $2"
}

# check NAME COMMAND...: the command has to succeed.
check() {
    local name=$1
    shift
    if "$@" >"$WORK/check.log" 2>&1 </dev/null; then pass "$name"; else fail "$name" "$WORK/check.log"; fi
}

# refused NAME COMMAND...: the command has to fail, but not by a signal.
refused() {
    local name=$1 status=0
    shift
    "$@" >"$WORK/check.log" 2>&1 </dev/null || status=$?
    if [ $status -gt 0 ] && { [ $status -lt 126 ] || [ $status -eq 255 ]; }; then
        pass "$name"
    else
        echo "exit status $status, a refusal was expected" >>"$WORK/check.log"
        fail "$name" "$WORK/check.log"
    fi
}

# equal NAME EXPECTED GOT
equal() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        printf 'expected: %s\ngot:      %s\n' "$2" "$3" >"$WORK/check.log"
        fail "$1" "$WORK/check.log"
    fi
}

# contains NAME PATTERN TEXT: an extended regular expression.
contains() {
    if grep -Eq -- "$2" <<<"$3"; then
        pass "$1"
    else
        printf 'expected to match: %s\ngot: %s\n' "$2" "$3" >"$WORK/check.log"
        fail "$1" "$WORK/check.log"
    fi
}

# needs COMMAND...: ends the script with 77 where one is missing.
needs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || missing "$program is not installed"
    done
}

missing() {
    echo "SKIP: everything: $1"
    exit 77
}

finish() {
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ]
    exit
}

needs_module() {
    [ -f "$MODULES/aesop.so" ] || missing "$MODULES/aesop.so is not built"
}

# conf FILE PROVIDERS PROPERTIES [LINES]: writes an openssl.cnf that activates PROVIDERS (names, in that order; one
# that ends in "-" has its section but is not activated) with default_properties PROPERTIES ("" for none), and LINES
# added to aesop's section. Node.js reads it as well.
conf() {
    local file=$1 providers=$2 properties=$3 lines=${4-} name
    {
        printf '%s\n' 'openssl_conf = start' 'nodejs_conf = start' 'config_diagnostics = 1' ''
        printf '%s\n' '[start]' 'providers = providers'
        [ -z "$properties" ] || printf '%s\n' 'alg_section = algorithms'
        printf '%s\n' '' '[providers]'
        for name in $providers; do printf '%s = %s_section\n' "${name%-}" "${name%-}"; done
        for name in $providers; do
            printf '\n[%s_section]\n' "${name%-}"
            if [ "${name%-}" = aesop ]; then
                printf 'module = %s\n' "$MODULES/aesop.so"
                [ -z "$lines" ] || printf '%s\n' "$lines"
            fi
            [ "$name" != "${name%-}" ] || printf 'activate = 1\n'
        done
        [ -z "$properties" ] || printf '%s\n' '' '[algorithms]' "default_properties = $properties"
        printf '%s\n' '' '[req]' 'distinguished_name = req_name' '[req_name]'
    } >"$file"
}

# The pair that every comparison is made with: aesop as users switch it on, and nothing but default.
conf "$WORK/ours.cnf" "aesop default" "?provider=aesop"
conf "$WORK/theirs.cnf" "default" ""
ours() { OPENSSL_CONF=$WORK/ours.cnf "$@"; }
theirs() { OPENSSL_CONF=$WORK/theirs.cnf "$@"; }
SIDES="ours theirs"

digest() { sha256sum | cut -d' ' -f1; }

# random_file FILE BYTES
random_file() { head -c "$2" /dev/urandom >"$1"; }

# reasons: the lines of an error output with what differs between any two runs or providers taken out (thread,
# packed code, place in the source, name of the provider); what stays is the reason.
reasons() {
    sed -E -e 's/^[0-9A-Fa-f]+:error:[0-9A-Fa-f]+:[^:]*:[^:]*:([^:]*):.*$/error: \1/' "$@"
}

# same_refusal NAME COMMAND...: ours and theirs both fail, with the same status and the same reasons.
same_refusal() {
    local name=$1 side status
    shift
    for side in $SIDES; do
        status=0
        $side "$@" >/dev/null 2>"$WORK/refusal.raw" </dev/null || status=$?
        { reasons "$WORK/refusal.raw" && echo "exit status $status"; } >"$WORK/refusal.$side"
        if [ $status -eq 0 ] || [ $status -ge 126 ]; then
            fail "$name: $side did not refuse" "$WORK/refusal.$side"
            return
        fi
    done
    if diff -u "$WORK/refusal.theirs" "$WORK/refusal.ours" >"$WORK/check.log"; then
        pass "$name"
    else
        fail "$name" "$WORK/check.log"
    fi
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
    local tries=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.05
    done
}

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# serve LOG SIDE COMMAND...: starts a server and notes it for the end; sets SERVER to its process id. LOG takes what it
# writes, LOG.err its errors.
serve() {
    local log=$1 side=$2
    shift 2
    OPENSSL_CONF=$WORK/$side.cnf "$@" >"$log" 2>"$log.err" <&0 &
    SERVER=$!
    SERVERS+=("$SERVER")
}

# serve_port LOG SIDE COMMAND...: the same on a free loopback port, put in the place of the word PORT; sets PORT.
serve_port() {
    for _ in 1 2 3 4 5 6 7 8; do
        # Below the ports that connections take by themselves.
        PORT=$((10000 + (RANDOM * 32768 + RANDOM) % 20000))
        port_open "$PORT" && continue
        serve "${@//PORT/$PORT}"
        wait_for 10 eval "port_open $PORT || ! kill -0 $SERVER" || true
        kill -0 "$SERVER" 2>/dev/null && port_open "$PORT" && return 0
        stop_server
    done
    return 1
}

stop_server() {
    kill "$SERVER" 2>/dev/null
    wait "$SERVER" 2>/dev/null
    unset 'SERVERS[-1]'
}

# certificate KEY CERT: a new RSA key and a self-signed certificate for localhost, as PEM files.
certificate() {
    theirs openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1" -out "$2" -subj /CN=localhost -days 2 \
        -addext subjectAltName=DNS:localhost 2>/dev/null
}

# use_openssl [RELEASE]: the system's OpenSSL, or one that scripts/openssl-versions.sh unpacked, is from now on what
# "openssl" and ask mean; VERSION is its release ("3.0"). Returns 1 where that one is not there.
# shellcheck disable=SC2034,SC2120 # used, and called, by those that source this
use_openssl() {
    local place
    if [ $# -eq 0 ]; then
        VERSION=$(openssl version | sed 's/^OpenSSL \([0-9]*\.[0-9]*\).*/\1/') RUN=
        LIBCRYPTO=$(ldd "$(command -v openssl)" | sed -n 's/.*=> \(.*libcrypto\.so[^ ]*\).*/\1/p')
        return
    fi
    for place in "$BUILD/openssl/$1" "$ROOT/build/openssl/$1"; do
        [ -x "$place/run" ] || continue
        VERSION=$1 RUN=$place/run
        LIBCRYPTO=$(find -L "$place" -name 'libcrypto.so.[0-9]*' | head -n 1)
        PATH=$place:$PATH
        return
    done
    return 1
}
use_openssl

# ask QUESTION...: what the probe answers about that OpenSSL's libcrypto (see probe.c; after build_probe).
ask() { ${RUN:+"$RUN"} "$WORK/probe" "$LIBCRYPTO" "$@"; }

# build_probe: compiles $WORK/probe (see probe.c).
build_probe() {
    "${CC:-cc}" -std=c17 -Wall -Wextra -Werror -O1 -o "$WORK/probe" "$APPS/probe.c" -ldl >"$WORK/cc.log" 2>&1 || {
        fail "probe.c compiles" "$WORK/cc.log"
        finish
    }
}

# serves_check SIDE: asserts who serves the six ciphers under that side's configuration.
ALL_CIPHERS="AES-128-GCM AES-192-GCM AES-256-GCM AES-128-CBC AES-192-CBC AES-256-CBC"
serves_check() {
    local side=$1 provider=$2 cipher expected=
    for cipher in $ALL_CIPHERS; do expected+="cipher=$cipher $provider"$'\n'; done
    equal "$side: $provider serves the six ciphers" "$expected" \
        "$($side ask ${ALL_CIPHERS//AES/cipher=AES} 2>&1)"$'\n'
}
