#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is left of it end to end? s_server sends a file to s_client over loopback with TLS 1.3, stock and aesop in turn:
# GB/s of the fastest of several transfers, and the CPU time of both programs together. s_server's -HTTP has no kernel
# TLS. As CSV.
#
# Usage: tls.sh [MEGABYTES [TRANSFERS]]   AESOP_BUILD_DIR, OPENSSL: see common.sh
set -euo pipefail

# shellcheck source=bench/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
megabytes=${1:-512}
transfers=${2:-3}

server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
truncate -s "${megabytes}MB" body
"$openssl" req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -days 2 2>/dev/null

# transfer stock|aesop SUITE: prints seconds of wall time, and of CPU time in client and server
transfer() {
    local port client
    : >server.log # that of the transfer before names another port
    OPENSSL_CONF=$(conf_of "$1") "$openssl" s_server -accept 127.0.0.1:0 -key key.pem -cert cert.pem -tls1_3 \
        -ciphersuites "$2" -HTTP </dev/null >server.log 2>&1 &
    server=$!
    until port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' server.log) && [[ -n $port ]]; do
        kill -0 "$server"
        sleep 0.05
    done
    client=$({
        TIMEFORMAT='%R %U %S'
        time printf 'GET /body HTTP/1.0\r\n\r\n' |
            with "$1" "$openssl" s_client -connect "127.0.0.1:$port" -tls1_3 -quiet 2>/dev/null | wc -c >received
    } 2>&1)
    [[ $(<received) -eq ${megabytes}000000 ]]
    awk -v client="$client" -v hz="$(getconf CLK_TCK)" '
        { split(client, c); print c[1], c[2] + c[3] + ($14 + $15) / hz }' "/proc/$server/stat"
    kill "$server"
    wait "$server" 2>/dev/null || true
    server=
}

echo "suite,with,GB/s,cpu_s_per_GB"
for suite in TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384; do
    for ((i = 0; i < transfers; i++)); do
        for who in stock aesop; do
            transfer "$who" "$suite" >>"$who.$suite"
        done
    done
    for who in stock aesop; do
        LC_ALL=C sort -n "$who.$suite" | LC_ALL=C awk -v s="$suite" -v w="$who" -v gb="${megabytes}e-3" '
            NR == 1 { wall = $1 }
            NR == 1 || $2 < cpu { cpu = $2 }
            END { printf "%s,%s,%.2f,%.2f\n", s, w, gb / wall, cpu / gb }'
    done
done
