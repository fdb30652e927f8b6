#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Do the benchmarks say what their options are, and refuse what is none before they measure?
# Usage: check-options.sh FOLDER, that of the programs
set -euo pipefail

cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "$*:"
    head -n 5 "$work/out" "$work/err"
    failures=$((failures + 1))
}

# run STATUS BENCHMARK OPTION...
run() {
    local status=0
    timeout 10 "./bench_$2" "${@:3}" >"$work/out" 2>"$work/err" || status=$?
    [[ $status -eq $1 ]] || fail "${*:2}: status $status, not $1"
}

# refused PATTERN BENCHMARK OPTION...: nothing but a message, which looks like that
refused() {
    [[ -x bench_$2 ]] || return 0 # those of TLS may not be built
    run 2 "${@:2}"
    [[ ! -s $work/out ]] || fail "${*:2}: more than a message"
    grep -q -- "$1" "$work/err" || fail "${*:2}: no \"$1\""
}

for program in bench_*; do
    name=${program#bench_}
    run 0 "$name" --help
    grep -q '^  --seconds .*from 0 to 3600' "$work/out" || fail "$name --help: nothing of --seconds"
    [[ ! -s $work/err ]] || fail "$name --help: a message"
    refused "^--sise: no such option; .* --seconds" "$name" --sise 16
    refused "^sideways: no such option; .* --seconds" "$name" sideways 16
    refused "^--seconds: its value is missing" "$name" --seconds
    refused "^--csv: given twice" "$name" --csv /dev/null --csv /dev/null
    for wrong in "" abc 1x -1 nan 3601; do
        refused "^--seconds $wrong: .* from 0 to 3600" "$name" --seconds "$wrong"
    done
    refused "^--patience 61: .* from 0 to 60" "$name" --patience 61
done

# Each kind of value, and what once was taken for another
refused "nonsense: .* instructions,modes,both" ceiling --table nonsense
refused "encrypt,sideways: .* encrypt,decrypt" cipher --direction encrypt,sideways
refused "vaes5: .* auto,aesni,vaes256,vaes512" cipher --kernel vaes5
refused "16,,64: .* from 1 to 1073741824" cipher --size 16,,64
refused "16[.]5: .* from 1 to 1073741824" cipher --size 16.5
refused "at most 32 items" cipher --size "$(seq -s, 33)"
refused "iv,key: .* one of iv,key,cipher" cipher --init iv,key
refused "AES-128: .* AES-128-GCM,.*,AES-256-CBC" kernel --cipher AES-128
refused "nonsense: .* AES-128-GCM,.*,AES-256-CBC" place --cipher nonsense
refused "vaes5: .* auto,aesni,vaes256,vaes512" place --kernel vaes5
refused "0: .* from 1 to 1073741824" large --size 0
refused "0: .* from 32 to 65536" scan --to 0
refused "70000: .* from 32 to 65536" scan --to 70000
refused "evp,kernel: .* evp,kernels" scan --through evp,kernel
refused "0: .* from 1 to 1073741824" stream --buffer 0
refused "56: .* from 57 to 1073741824" stream --segment 56
refused "threds: .* threads,memory" resolver --tables threds
refused "1,0: .* from 1 to 64" resolver --threads 1,0
refused "16385: .* from 1 to 16384" tls --size 16385
refused "nonsense: .* policy,memory,preload" handshake --tables nonsense

# This it sees after it has named the machine.
if [[ -x bench_handshake ]]; then
    run 2 handshake --preload nothing.so
    grep -q "nothing.so: .* can be read" "$work/err" || fail "handshake --preload nothing.so"
fi

exit $((failures > 0))
