#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# How long do aesop seal and open take for a file in memory-backed storage, beside cp, age and openssl enc -aes-256-ctr
# (which authenticates nothing)? One after the other, several rounds; CSV with the fastest and the median round, the
# median's ratio to cp's, and the peak memory.
#
# Usage: bench_command.sh [--rounds N] [GIB...]   AESOP_BUILD_DIR, OPENSSL: see common.sh; FOLDER: where (/dev/shm)
set -euo pipefail

# shellcheck source=bench/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rounds=5
if [[ ${1-} == --rounds ]]; then
    rounds=$2
    shift 2
fi
[[ $# -gt 0 ]] || set -- 1

command=$build/bin/aesop
cores=$(nproc)
folder=$(mktemp -d "${FOLDER:-/dev/shm}/aesop-bench.XXXXXX")
trap 'rm -rf "$work" "$folder"' EXIT
cd "$folder"
"$command" keygen -o key
digits=$(cat key)
export OPENSSL_CONF=$work/aesop.cnf
[[ -x /usr/bin/time ]] || echo "left out: peak memory: GNU time is not installed" >&2
if command -v age >/dev/null; then
    age-keygen -o age.key 2>/dev/null
    recipient=$(sed -n 's/.*public key: //p' age.key)
else
    echo "left out: age: it is not installed" >&2
fi

# measure NAME THREADS COMMAND...: appends seconds and KiB to a file of that name. The command makes `out`.
measure() {
    local name=$1 threads=$2 start end
    shift 2
    rm -f out
    start=$EPOCHREALTIME
    if [[ -x /usr/bin/time ]]; then
        /usr/bin/time -o memory -f %M "$@"
    else
        "$@"
        echo - >memory
    fi
    end=$EPOCHREALTIME
    awk -v a="$start" -v b="$end" -v m="$(cat memory)" 'BEGIN { printf "%.3f %s\n", b - a, m }' \
        >>"times.$name.$threads"
    # In the order of the first round.
    grep -qx "$name $threads" order 2>/dev/null || echo "$name $threads" >>order
}

round() {
    measure cp 1 cp in out
    measure openssl-enc-aes-256-ctr 1 "$openssl" enc -aes-256-ctr -K "$digits" -iv "${digits:0:32}" -in in -out out
    if [[ -n ${recipient-} ]]; then
        measure age "$cores" age -r "$recipient" -o out in
        mv out sealed
        measure age-decrypt "$cores" age -d -i age.key -o out sealed
        rm sealed
    fi
    for threads in 1 $([[ $cores -eq 1 ]] || echo "$cores"); do
        measure seal "$threads" "$command" seal -qj "$threads" -k key -o out in
        mv out sealed
        measure open "$threads" "$command" open -qj "$threads" -k key -o out sealed
        cmp -s in out || { echo "what open wrote is not what seal read" >&2; exit 1; }
        measure verify "$threads" "$command" verify -qj "$threads" -k key sealed
        rm sealed
    done
    # shellcheck disable=SC2016
    measure seal-pipe 1 bash -c '"$0" seal -qk key <in | cat >out' "$command"
}

echo "command,threads,GiB,best_s,median_s,median_ratio_to_cp,GB/s,peak_KiB"
for gib; do
    rm -f times.* order in
    head -c "${gib}G" /dev/zero >in
    # Where the machine is a virtual one, its host may only now bring the memory.
    cp in out
    cp in sealed
    rm sealed
    for ((i = 0; i < rounds; i++)); do round; done
    cp_median=
    while read -r name threads; do
        read -r best median peak < <(sort -n "times.$name.$threads" |
            awk '{ t[NR] = $1; if ($2 > m) m = $2 } END { print t[1], t[int((NR + 1) / 2)], m }')
        cp_median=${cp_median:-$median}
        LC_ALL=C awk -v n="$name" -v t="$threads" -v g="$gib" -v b="$best" -v m="$median" -v c="$cp_median" \
            -v p="$peak" 'BEGIN {
            printf "%s,%s,%s,%.3f,%.3f,%.2f,%.2f,%s\n", n, t, g, b, m, m / c, g * 1.073741824 / m, p }'
    done <order
done
