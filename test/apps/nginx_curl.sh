#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nginx and curl, each with aesop (ours) and without (theirs): what arrives is what was sent, over every suite.
# nginx reads the configuration in its master process, before it clears the environment and forks its workers, so
# OPENSSL_CONF at its start is enough; a reload keeps what was loaded.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
PATH=$PATH:/usr/sbin:/sbin
needs nginx curl openssl "${CC:-cc}"
needs_module
[[ $(curl -V) == *OpenSSL/* ]] || missing "curl is not built on OpenSSL"
[[ $(nginx -V 2>&1) == *OpenSSL* ]] || missing "nginx is not built on OpenSSL"
build_probe
serves_check ours aesop
serves_check theirs default

certificate "$WORK/key.pem" "$WORK/cert.pem"
mkdir "$WORK/site"
random_file "$WORK/site/big" 8000009
random_file "$WORK/site/small" 100
chmod 644 "$WORK/site/"*
BIG=$(digest <"$WORK/site/big")

# nginx_conf SIDE
nginx_conf() {
    cat >"$WORK/nginx.$1.conf" <<CONF
daemon off;
worker_processes 2;
pid $WORK/nginx.$1.pid;
error_log stderr;
$([ "$(id -u)" -ne 0 ] || echo "user nobody $(id -gn nobody);") # as everywhere, the workers drop root
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $WORK/temp.$1; proxy_temp_path $WORK/temp.$1; fastcgi_temp_path $WORK/temp.$1;
    uwsgi_temp_path $WORK/temp.$1; scgi_temp_path $WORK/temp.$1;
    server {
        listen unix:$WORK/nginx.$1.sock ssl;
        server_name localhost;
        root $WORK/site;
        ssl_certificate $WORK/cert.pem;
        ssl_certificate_key $WORK/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_ciphers ALL;
    }
}
CONF
}

workers() { pgrep -P "$SERVER"; }

# workers_have PATTERN FILE: how many workers have it in /proc/PID/FILE
workers_have() {
    local pid count=0
    for pid in $(workers); do
        ! tr '\0' '\n' <"/proc/$pid/$2" | grep -- "$1" >/dev/null || count=$((count + 1))
    done
    echo $count
}

SUITES=(
    "TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256"
    "TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384"
    "TLSv1.2 ECDHE-RSA-AES256-SHA384"
    "TLSv1.2 AES128-SHA256"
    "TLSv1.3 TLS_AES_128_GCM_SHA256"
    "TLSv1.3 TLS_AES_256_GCM_SHA384"
)

# get CLIENT SERVER VERSION SUITE URL
get() {
    local version=${3#TLSv} options=(--ciphers "$4")
    [ "$version" != 1.3 ] || options=(--tls13-ciphers "$4")
    $1 curl -sS -v --max-time 30 --unix-socket "$WORK/nginx.$2.sock" --cacert "$WORK/cert.pem" \
        "--tlsv$version" --tls-max "$version" "${options[@]}" "https://localhost/$5" 2>"$WORK/curl.log"
}

transfers() {
    local server=$1 client suite
    for client in $SIDES; do
        for suite in "${SUITES[@]}"; do
            equal "nginx $server, curl $client, $suite" "$BIG" "$(get $client $server $suite big | digest)"
            contains "... over that suite" "SSL connection using ${suite/ / / }" "$(cat "$WORK/curl.log")"
        done
    done
}

# The loader itself says what curl loads.
LD_DEBUG=files LD_DEBUG_OUTPUT=$WORK/loaded ours curl -sS "file://$WORK/site/small" >/dev/null
check "curl loads the module" eval "grep -q 'calling init.*/aesop\.so' $WORK/loaded.*"

for side in $SIDES; do
    nginx_conf $side
    serve "$WORK/nginx.log" $side nginx -c "$WORK/nginx.$side.conf" -p "$WORK"
    if ! wait_for 10 test -S "$WORK/nginx.$side.sock" || ! wait_for 10 eval '[ $(workers | wc -l) -eq 2 ]'; then
        fail "nginx starts: $side" "$WORK/nginx.log.err"
        stop_server
        continue
    fi
    pass "nginx starts: $side"
    case $side in ours) expected=2 ;; *) expected=0 ;; esac
    equal "workers with the module: $side" $expected "$(workers_have 'aesop\.so' maps)"
    equal "workers with OPENSSL_CONF in their environment: $side" 0 "$(workers_have OPENSSL_CONF environ)"
    transfers $side
    equal "300 small files over one connection: $side" \
        "$(for _ in {1..300}; do cat "$WORK/site/small"; done | digest)" \
        "$(get ours $side TLSv1.3 TLS_AES_128_GCM_SHA256 'small?[1-300]' | digest)"

    old=$(workers | tr '\n' ' ')
    kill -HUP "$SERVER"
    check "a reload replaces the workers: $side" wait_for 10 eval "! kill -0 ${old% } && [ \$(workers | wc -l) -eq 2 ]"
    equal "workers with the module after a reload: $side" $expected "$(workers_have 'aesop\.so' maps)"
    equal "a file after a reload: $side" "$BIG" "$(get theirs $side TLSv1.3 TLS_AES_256_GCM_SHA384 big | digest)"
    stop_server
    refused "nginx had no errors: $side" grep -E '\[(error|crit|alert|emerg)\]' "$WORK/nginx.log.err"
done
finish
