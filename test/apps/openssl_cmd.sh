#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The openssl command with aesop switched on by a configuration file (ours), against default alone (theirs): what one
# side writes the other reads, and both refuse the same things with the same words.
# Usage: openssl_cmd.sh [RELEASE]   (the system's, or one that scripts/openssl-versions.sh unpacked: 3.5, 3.6, 4.0)
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
needs openssl sha256sum "${CC:-cc}"
needs_module
use_openssl "$@" || missing "OpenSSL $1 is not unpacked: scripts/openssl-versions.sh $1"
openssl version
cd "$WORK" || exit 1

KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
IV=f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff
key_for() { echo "${KEY:0:$((${1//[!0-9]/} / 4))}"; } # the key's digits for "aes-192-cbc"

# both_ways NAME WRITE READ: the functions write on one side and read on the other, in every combination;
# WRITE SIDE FILE makes "made" from FILE, READ SIDE puts it back into "back".
both_ways() {
    local name=$1 write=$2 read=$3 file=${4:-$WORK/plain} writer reader
    for writer in $SIDES; do
        for reader in $SIDES; do
            [ "$writer$reader" != theirstheirs ] || continue
            rm -f made back
            if { $write "$writer" "$file" && $read "$reader" && cmp "$file" back; } >step.log 2>&1 </dev/null; then
                pass "$name: $writer writes, $reader reads"
            else
                fail "$name: $writer writes, $reader reads" step.log
            fi
        done
    done
}

# ---------------------------------------------------------------------------------------------- who serves
build_probe
serves_check ours aesop
serves_check theirs default

# A query without "?" leaves only aesop: what still works under it is served by aesop, by the command itself.
for cipher in aes-128-cbc aes-192-cbc aes-256-cbc; do
    check "enc -$cipher runs on aesop and nothing else" \
        ours openssl enc -propquery provider=aesop -"$cipher" -K "$(key_for $cipher)" -iv $IV -out /dev/null
    refused "enc -$cipher: default has nothing with provider=aesop" \
        theirs openssl enc -propquery provider=aesop -"$cipher" -K "$(key_for $cipher)" -iv $IV -out /dev/null
done
refused "enc -aes-128-ctr: aesop does not offer it" \
    ours openssl enc -propquery provider=aesop -aes-128-ctr -K "$(key_for 128)" -iv $IV -out /dev/null
contains "list -providers shows aesop active" 'aesop.*status: active' \
    "$(ours openssl list -providers 2>&1 | tr '\n' ' ')"
# names SIDE PROVIDER: the name lists of that provider's algorithms; which spelling comes first is libcrypto's affair.
names() {
    $1 openssl list -cipher-algorithms -verbose | sed -n "s/^ *\({ .* }\) @ $2\$/\1/p" | tr '[:upper:]' '[:lower:]' | sort
}
names ours aesop >names.aesop
names theirs default >names.default
equal "aesop lists six ciphers" 6 "$(wc -l <names.aesop)"
equal "... with exactly the names that default has for them" "" "$(comm -23 names.aesop names.default)"

conf nonsense.cnf "aesop default" "?provider=aesop" "kernel = nonsense"
refused "with a bad setting the same command has no aesop" env OPENSSL_CONF=nonsense.cnf \
    openssl enc -propquery provider=aesop -aes-128-cbc -K "$(key_for 128)" -iv $IV -out /dev/null

# ---------------------------------------------------------------------------------------------- enc
enc_write() { $1 openssl enc -"$CIPHER" "${OPTIONS[@]}" -in "$2" -out made; }
enc_read() { $1 openssl enc -d -"$CIPHER" "${OPTIONS[@]}" -in made -out back; }
# Longer than the pipe's buffer, and than enc's own.
enc_write_pipe() { $1 openssl enc -"$CIPHER" "${OPTIONS[@]}" < <(cat "$2") | cat >made; }
enc_read_pipe() { $1 openssl enc -d -"$CIPHER" "${OPTIONS[@]}" < <(cat made) | cat >back; }

for size in 0 1 15 16 17 31 4095 8192 65537 3000017; do random_file "plain.$size" $size; done
cp plain.65537 plain
printf '%04095d' 0 >fixed
for CIPHER in aes-128-cbc aes-192-cbc aes-256-cbc; do
    OPTIONS=(-K "$(key_for $CIPHER)" -iv $IV)
    for size in 0 1 15 16 17 31 4095 8192 65537 3000017; do
        equal "enc -$CIPHER, $size bytes: the same ciphertext" \
            "$(theirs openssl enc -$CIPHER "${OPTIONS[@]}" -in plain.$size | digest)" \
            "$(ours openssl enc -$CIPHER "${OPTIONS[@]}" -in plain.$size | digest)"
    done
    for size in 0 17 3000017; do
        both_ways "enc -$CIPHER, $size bytes" enc_write enc_read plain.$size
    done
    OPTIONS=(-pbkdf2 -pass pass:correct)
    both_ways "enc -$CIPHER -pbkdf2" enc_write enc_read
    both_ways "enc -$CIPHER -pbkdf2 in pipes" enc_write_pipe enc_read_pipe plain.3000017
    both_ways "enc -$CIPHER -pbkdf2 -a" enc_write enc_read plain.4095
    OPTIONS=(-K "$(key_for $CIPHER)" -iv $IV -nopad)
    both_ways "enc -$CIPHER -nopad" enc_write enc_read plain.8192
    same_refusal "enc -$CIPHER -nopad with 17 bytes" openssl enc -$CIPHER "${OPTIONS[@]}" -in plain.17 -out made
    same_refusal "enc -d -$CIPHER -nopad with 17 bytes" openssl enc -d -$CIPHER "${OPTIONS[@]}" -in plain.17 -out made

    # Text, salt and password are fixed, so that the wrong key meets the same padding every time: one in 256 is right.
    theirs openssl enc -$CIPHER -pbkdf2 -S 0011223344556677 -pass pass:correct -in fixed -out made 2>/dev/null
    same_refusal "enc -$CIPHER with the wrong password" \
        openssl enc -d -$CIPHER -pbkdf2 -S 0011223344556677 -pass pass:wrong -in made -out back
    head -c 100 made >"cut"
    same_refusal "enc -d -$CIPHER of a cut file" \
        openssl enc -d -$CIPHER -pbkdf2 -S 0011223344556677 -pass pass:correct -in cut -out back
    : >empty
    same_refusal "enc -d -$CIPHER of an empty file" openssl enc -d -$CIPHER -K "$(key_for $CIPHER)" -iv $IV -in empty
done
for bits in 128 192 256; do
    same_refusal "enc refuses aes-$bits-gcm" \
        openssl enc -aes-$bits-gcm -K "$(key_for $bits)" -iv $IV -in plain -out made
done

# ---------------------------------------------------------------------------------------------- certificates
certificate rsa.key rsa.crt
theirs openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ec.key 2>/dev/null
theirs openssl req -x509 -key ec.key -out ec.crt -subj /CN=ec -days 2

# ---------------------------------------------------------------------------------------------- cms, smime
# seal SIDE COMMAND FILE FOR..., unseal SIDE COMMAND FOR...: FOR is a certificate, a password or a secret key.
SECRET=(-secretkey "$(key_for 256)" -secretkeyid 01)
seal() { "$1" openssl "$2" -encrypt -binary -"$CIPHER" -in "$3" -outform DER -out made "${@:4}"; }
unseal() { "$1" openssl "$2" -decrypt -binary -inform DER -in made -out back "${@:3}"; }
cms_write() { seal $1 cms "$2" "$RECIPIENT.crt"; }
cms_write_stream() { seal $1 cms "$2" -stream "$RECIPIENT.crt"; }
cms_read() { unseal $1 cms -inkey "$RECIPIENT.key" -recip "$RECIPIENT.crt"; }
cms_write_password() { seal $1 cms "$2" -pwri_password correct; }
cms_read_password() { unseal $1 cms -pwri_password correct; }
cms_write_secret() { seal $1 cms "$2" "${SECRET[@]}"; }
cms_read_secret() { unseal $1 cms "${SECRET[@]}"; }
smime_write() { seal $1 smime "$2" rsa.crt; }
smime_read() { unseal $1 smime -inkey rsa.key -recip rsa.crt; }

# flip FILE: inverts the byte that is 17th from the end.
flip() {
    local byte
    byte=$(tail -c 17 "$1" | head -c 1 | od -An -tu1)
    {
        head -c -17 "$1"
        printf "\\x$(printf %02x $((byte ^ 255)))"
        tail -c 16 "$1"
    } >flipped
}

for CIPHER in aes-128-cbc aes-192-cbc aes-256-cbc aes-128-gcm aes-192-gcm aes-256-gcm; do
    for RECIPIENT in rsa ec; do
        both_ways "cms -$CIPHER for an $RECIPIENT key" cms_write cms_read
    done
    RECIPIENT=rsa
    both_ways "cms -$CIPHER -stream" cms_write_stream cms_read plain.3000017
    both_ways "cms -$CIPHER with a secret key" cms_write_secret cms_read_secret plain.4095
    both_ways "cms -$CIPHER, empty content" cms_write cms_read plain.0

    # 4095 bytes have one byte of padding: inverted in the block before, it is wrong for certain. GCM minds any byte.
    cms_write theirs plain.4095
    flip made
    same_refusal "cms -$CIPHER with a byte changed" \
        openssl cms -decrypt -binary -inform DER -in flipped -inkey rsa.key -recip rsa.crt -out back
    same_refusal "cms -$CIPHER with another recipient's key" \
        openssl cms -decrypt -binary -inform DER -in made -inkey ec.key -recip ec.crt -out back
    case $CIPHER in *-cbc)
        both_ways "cms -$CIPHER with a password" cms_write_password cms_read_password plain.4095
        both_ways "smime -$CIPHER" smime_write smime_read
        cms_write_password theirs plain.17
        same_refusal "cms -$CIPHER with the wrong password" \
            openssl cms -decrypt -binary -inform DER -in made -pwri_password wrong -out back
        ;;
    esac
done
CIPHER=aes-128-gcm cms_write ours plain
contains "cms writes AuthEnvelopedData for GCM" id-smime-ct-authEnvelopedData \
    "$(theirs openssl cms -cmsout -print -inform DER -in made -noout)"

# ---------------------------------------------------------------------------------------------- pkcs12, pkcs8, PEM
cat rsa.crt rsa.key >bundle
p12_write() {
    $1 openssl pkcs12 -export -in "$2" -keypbe "$CIPHER" -certpbe "$CIPHER" -passout pass:correct -out made
}
p12_read() { # certificate first, then the key, as the bundle was
    $1 openssl pkcs12 -in made -passin pass:correct -nodes -nokeys >parts &&
        $1 openssl pkcs12 -in made -passin pass:correct -nodes -nocerts >>parts &&
        sed -n '/^-----BEGIN/,/^-----END/p' parts >back
}
p8_write() { $1 openssl pkcs8 -topk8 -v2 "$CIPHER" "${OPTIONS[@]}" -passout pass:correct -in "$2" -out made; }
p8_read() { $1 openssl pkcs8 -passin pass:correct -in made -out back; }
pem_write() { $1 openssl rsa -"$CIPHER" -traditional -passout pass:correct -in "$2" -out made; }
pem_read() { $1 openssl rsa -passin pass:correct -in made -out back; }
ec_pem_write() { $1 openssl ec -"$CIPHER" -passout pass:correct -in "$2" -out made; }
ec_pem_read() { $1 openssl ec -passin pass:correct -in made | $1 openssl pkey -out back; }

for CIPHER in aes-128-cbc aes-192-cbc aes-256-cbc; do
    both_ways "pkcs12 with $CIPHER" p12_write p12_read bundle
    same_refusal "pkcs12 with $CIPHER, wrong password" openssl pkcs12 -in made -passin pass:wrong -nodes
    theirs openssl pkcs12 -export -nomac -in bundle -keypbe $CIPHER -certpbe $CIPHER -passout pass:correct -out made
    same_refusal "pkcs12 with $CIPHER without a MAC, wrong password" \
        openssl pkcs12 -in made -passin pass:wrong -nodes -nomacver
    OPTIONS=()
    both_ways "pkcs8 -v2 $CIPHER" p8_write p8_read rsa.key
    same_refusal "pkcs8 -v2 $CIPHER, wrong password" openssl pkcs8 -passin pass:wrong -in made
    OPTIONS=(-scrypt)
    both_ways "pkcs8 -v2 $CIPHER -scrypt" p8_write p8_read ec.key
    theirs openssl rsa -traditional -in rsa.key -out rsa.old 2>/dev/null
    both_ways "rsa -$CIPHER -traditional" pem_write pem_read rsa.key
    same_refusal "rsa -$CIPHER -traditional, wrong password" openssl rsa -passin pass:wrong -in made
    both_ways "ec -$CIPHER" ec_pem_write ec_pem_read ec.key
done
ours openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes-256-cbc -pass pass:correct -out made
check "genpkey -aes-256-cbc is read by default" theirs openssl pkey -in made -passin pass:correct -noout

# ---------------------------------------------------------------------------------------------- s_server, s_client
# A download is a file that s_server -HTTP serves; an upload is s_client's standard input. Unix sockets need no port.
random_file big 4000037
BIG=$(digest <big)
mkfifo silence
exec 9<>silence # a standard input that never ends

# options of both sides, one suite each
SUITES=(
    "-tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256"
    "-tls1_3 -ciphersuites TLS_AES_256_GCM_SHA384"
    "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256"
    "-tls1_2 -cipher ECDHE-RSA-AES256-GCM-SHA384"
    "-tls1_2 -cipher ECDHE-RSA-AES256-SHA384"
    "-tls1_2 -cipher AES128-SHA256"
    "-tls1_2 -cipher AES256-SHA"
)

for server in $SIDES; do
    serve server.log $server openssl s_server -unix "down.$server" -unlink -HTTP -key rsa.key -cert rsa.crt
    check "s_server starts: $server" wait_for 10 test -S "down.$server"
    case $server in ours) expected=1 ;; *) expected=0 ;; esac
    equal "s_server with the module: $server" $expected "$(grep -c -m 1 'aesop\.so' "/proc/$SERVER/maps")"
    for client in $SIDES; do
        for suite in "${SUITES[@]}"; do
            name="TLS ${suite##* }, $server serves, $client connects"
            equal "$name: download" "$BIG" "$(printf 'GET /big HTTP/1.0\r\n\r\n' |
                $client timeout 30 openssl s_client -quiet -unix "down.$server" $suite -CAfile rsa.crt \
                    -verify_return_error 2>client.log | digest)"
            serve received $server openssl s_server -unix up -unlink -naccept 1 -quiet -num_tickets 0 \
                -key rsa.key -cert rsa.crt $suite <&9
            wait_for 10 test -S up
            $client timeout 30 openssl s_client -unix up $suite -CAfile rsa.crt -verify_return_error -nocommands <big \
                >client.log 2>&1
            wait_for 10 eval "! kill -0 $SERVER" || fail "$name: the server does not end" received.err
            stop_server
            equal "$name: upload" "$BIG" "$(digest <received)"
            rm -f up
        done
    done
done
contains "s_client names the suite" 'Cipher is AES256-SHA' "$(cat client.log)"
finish
