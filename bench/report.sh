#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs all benchmarks and writes docs/benchmarks.md with its charts and the README's table; the figures stay as CSV in
# build/bench-results.
# Usage: report.sh [SECONDS-PER-ROW]   (0.15: about 18 minutes, up to an hour where others disturb), or
#        report.sh --write               from the figures that are there
set -euo pipefail

seconds=${1:-0.15}
case $seconds in
--help) sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
--write | [0-9]*) ;;
*) echo "$seconds: allowed are a number of seconds, --write and --help" >&2 && exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

setup_install "${build_needs[@]}" gnuplot=gnuplot-nox clang=clang /usr/include/intel-ipsec-mb.h=libipsec-mb-dev \
    /usr/share/keyrings/debian-archive-keyring.gpg=debian-archive-keyring
setup_demand "${build_needs[@]}"
build=${AESOP_BUILD_DIR:-$root/build}
export AESOP_BUILD_DIR=$build

# build_benchmarks FOLDER TARGET CMAKE-OPTION...
build_benchmarks() {
    mkdir -p "$1"
    cmake -S . -B "$1" -DCMAKE_BUILD_TYPE=Release -DAESOP_BUILD_BENCH=ON "${@:3}" >"$1/bench.log"
    cmake --build "$1" --target "$2" -j "$(nproc)" >>"$1/bench.log" 2>&1 || { tail -n 20 "$1/bench.log"; return 1; }
}

if [[ $seconds != --write ]]; then
    build_benchmarks "$build" benchmarks
    scripts/openssl-versions.sh || true
fi

# shellcheck source=bench/common.sh
. bench/common.sh
figures=$build/bench-results
docs=${AESOP_DOCS_DIR:-$root/docs}
here=$(release)
mkdir -p "$docs"
[[ -w $docs ]] || { echo "$docs: cannot be written to; AESOP_DOCS_DIR names another folder" >&2; exit 1; }
# All is made here and brought to its place when it is complete.
results=$figures.new
written=$work/docs
mkdir "$written"

# --- measure --------------------------------------------------------------------------------------------------------

# measure NAME BENCHMARK OPTION...: into NAME.csv and, with the lines that name the machine, NAME.txt
measure() {
    echo "== $1 ($SECONDS s)"
    "$build/bench/bench_$2" --seconds "$seconds" --patience 3 --csv "$results/$1.csv" "${@:3}" >"$results/$1.txt"
}

# on RELEASE NAME BENCHMARK OPTION...: the same on another release, which may not be there
on() {
    echo "== $2 ($SECONDS s)"
    bench/on-release.sh "$1" "bench_$3" --seconds "$seconds" --patience 3 --csv "$results/$2.csv" "${@:4}" \
        >"$results/$2.txt" 2>"$results/$2.log" ||
        { echo "left out: $2: $(tail -n 1 "$results/$2.log")"; rm -f "$results/$2.csv"; }
}

# speed RELEASE COMMAND: what users see who compare with that openssl command
speed() {
    echo "== speed-$1 ($SECONDS s)"
    OPENSSL=$2 bench/speed.sh --times 2 --ceilings "$results/ceiling-modes.csv" >"$results/speed-$1.csv"
}

# What is measured: the commit, if there is one
commit() {
    local id
    id=$(git rev-parse --short=7 HEAD 2>/dev/null) || return 0
    [[ -z $(git status --porcelain --untracked-files=no) ]] || id+=", with changes"
    echo "$id"
}

sizes=16,64,256,1024,1350,4096,8192,16384,65536,1048576

measure_all() {
    local other compiler folder preload=$work/libaesop-fetch.so
    ln -s "$build/lib/libaesop-fetch.so" "$preload" # by a path without blanks, at which LD_PRELOAD would be split
    measure ceiling-instructions ceiling --table instructions
    measure ceiling-modes ceiling --table modes
    measure "cipher-$here" cipher --size "$sizes,16777216,67108864" \
        --cipher AES-128-GCM,AES-192-GCM,AES-256-GCM,AES-128-CBC,AES-192-CBC,AES-256-CBC
    measure cipher-kernels cipher --cipher AES-128-GCM,AES-128-CBC --kernel aesni,vaes256 --size "$sizes"
    measure rekey cipher --cipher AES-128-GCM,AES-256-GCM --direction encrypt --init key --size 16,64,256,1024,16384
    measure new-cipher cipher --cipher AES-128-GCM,AES-256-GCM --direction encrypt --init cipher \
        --size 16,64,256,1024,16384
    measure in-place cipher --cipher AES-128-GCM,AES-128-CBC --place same --size 16,64,1350,16384,1048576
    for other in 3.5 3.6 4.0; do
        [[ $other == "$here" ]] || on "$other" "cipher-$other" cipher --cipher AES-128-GCM,AES-128-CBC --size "$sizes"
    done
    measure kernel kernel
    measure scan scan --curve "$results/curve.txt"
    [[ $here == 4.0 ]] || on 4.0 scan-4.0 scan --through evp
    measure place place --kernel aesni,vaes256,vaes512
    measure large large
    [[ ! -x $build/bench/bench_tls ]] || measure tls tls
    measure stream stream --buffer 2048,32768,1048576
    measure resolver resolver --tables threads --rounds 15 --microseconds 200
    measure resolver-memory resolver --tables memory
    LD_PRELOAD=$preload measure resolver-preload resolver --tables threads --threads 1 --rounds 9
    [[ $here == 4.0 ]] || on 4.0 resolver-4.0 resolver --tables threads --threads 1 --rounds 9
    if [[ -x $build/bench/bench_handshake ]]; then
        # Ratios near 1 take longer.
        seconds=$(awk "BEGIN { print 20 * $seconds }") measure handshake handshake --tables policy --threads 1
        seconds=$(awk "BEGIN { print 2 * $seconds }") measure handshake-memory handshake --tables memory --key ecdsa \
            --threads 1
        seconds=$(awk "BEGIN { print 6 * $seconds }") measure handshake-preload handshake --tables preload --threads 2 \
            --repeats 4 --preload "$preload"
    fi
    echo "== loopback ($SECONDS s)"
    bench/tls.sh 300 6 >"$results/loopback.csv"
    speed "$here" "$openssl"
    [[ $here == 4.0 || ! -x build/openssl/4.0/openssl ]] || speed 4.0 "$root/build/openssl/4.0/openssl"
    if command -v clang >/dev/null; then
        echo "== compilers ($SECONDS s)"
        build_benchmarks "$build/variants/bench-clang" bench_kernel -DCMAKE_C_COMPILER=clang -DAESOP_BUILD_TESTS=OFF
        for compiler in gcc clang; do
            folder=$build
            [[ $compiler == gcc ]] || folder=$build/variants/bench-clang
            "$folder/bench/bench_kernel" --seconds "$seconds" --patience 3 --csv "$results/kernel-$compiler.csv" \
                --size 64,1350,16384 --cipher AES-128-GCM,AES-128-CBC >"$results/kernel-$compiler.txt"
        done
    fi
}
if [[ $seconds != --write ]]; then
    rm -rf "$results"
    mkdir "$results"
    commit >"$results/commit.txt"
    measure_all
    rm -rf "$figures"
    mv "$results" "$figures"
fi
[[ -d $figures ]] || { echo "$figures: no figures are there; report.sh without --write measures them" >&2; exit 1; }
results=$work/figures # with tables that are made of others
cp -r "$figures" "$results"

# --- write ----------------------------------------------------------------------------------------------------------

echo "== report ($SECONDS s)"
missing=$work/missing

# table NAME [COLUMNS [WHERE]]
table() {
    awk -v mode=table -v columns="${2-}" -v where="${3-}" -f bench/tables.awk "$results/$1.csv" ||
        echo "$1" >>"$missing"
}

# pivot NAME ROWS ACROSS VALUE [WHERE]
pivot() {
    awk -v mode=pivot -v rows="$2" -v across="$3" -v value="$4" -v where="${5-}" -f bench/tables.awk \
        "$results/$1.csv" || echo "$1" >>"$missing"
}

# Everything that there is a goal for: what openssl cipher direction kernel bytes value [most]. The most is what a
# kernel at the ceiling would reach on this CPU, EVP's own part of the time included.
measured() {
    local file of
    for file in "$results"/cipher-[0-9]*.csv "$results/cipher-kernels.csv"; do
        of=${file##*cipher-}
        of=${of%.csv}
        awk -F, -v o="${of/kernels/$here}" 'NR > 1 {
            print "message", o, $1, $2, $3, $4, $7, $10 / ($12 + $4 * 1000 / $8) }' "$file"
    done
    awk -F, -v o="$here" '$3 == "whole" { print "message", o, $1, $2, "auto", 30000000, $6, $6 * 100 / $9 }' \
        "$results/large.csv"
    for file in "$results"/speed-*.csv; do
        of=${file##*speed-}
        awk -F, -v o="${of%.csv}" 'NR > 1 { print "speed", o, $1, $2, "auto", $3, $6 }' "$file"
    done
    awk -F, -v o="$here" '$2 == 1048576 { print "stream", o, $3, $4, $5, $1, $10 }' "$results/stream.csv"
    awk -F, 'NR > 1 && $9 != "nan" { print "share", "-", $1, $2, "vaes512", $3, $9 }' "$results/kernel.csv"
}

# The same of the resolver; its figures stand in other columns
measured_of_resolver() (
    shopt -s nullglob
    awk -F, -v here="$here" '
        FNR == 1 { count = 0; least = ""; name = FILENAME; sub(/.*\//, "", name); next }
        name ~ /^resolver/ { gsub(" ", "_", $1); ns[name, $1, $2] = $3; scale[name, $1, $2] = $4 }
        name == "handshake.csv" && $8 != "" && (cached == "" || $8 < cached) { cached = $8 }
        name == "handshake-memory.csv" { memory++; fails += $7 == "failed" || $8 == "failed"; loses += $8 < $7 }
        name == "handshake-preload.csv" && (least == "" || $8 < least) { preload = least = $8 }
        function say(of, question, unit, threads, value) {
            if (value != "")
                print "resolver", of, question, unit, threads, "value", value
        }
        END {
            n = split("get0_hit get0_miss permits", questions, " ")
            for (i = 1; i <= n; i++)
                say(here, questions[i], "ns", 1, ns["resolver.csv", questions[i], 1])
            say(here, "get0_hit", "times_one_thread", 2, scale["resolver.csv", "get0_hit", 2])
            if (ns["resolver-4.0.csv", "get0_hit", 1] > 0)
                say("4.0", "get0_hit", "times_as_fast_as_fetch", 1, sprintf("%.1f",
                    ns["resolver-4.0.csv", "fetch_hit", 1] / ns["resolver-4.0.csv", "get0_hit", 1]))
            if (ns["resolver-preload.csv", "init_fetched", 1] > 0)
                say(here, "init_const", "times_a_prefetched_init_preload", 1, sprintf("%.2f",
                    ns["resolver-preload.csv", "init_const", 1] / ns["resolver-preload.csv", "init_fetched", 1]))
            say(here, "handshakes_cached", "ratio_to_none_least_of_rows", 1, cached)
            if (memory > 0) {
                say(here, "handshakes_memory", "rows_where_evaluated_wins", 1, loses + 0)
                say(here, "handshakes_memory", "rows_that_fail", 1, fails + 0)
            }
            say(here, "handshakes_preload", "ratio_to_stock_least_of_rows", 2, preload)
        }' "$results"/resolver*.csv "$results"/handshake*.csv
)

# What others disturbed all the same
disturbed() {
    sed -n 's/^# \([0-9]*\) % of the slices were disturbed.*/\1/p' "$results"/*.txt | awk '
        { sum += $1; if ($1 > most) most = $1 }
        END {
            if (NR > 0)
                printf "Of the slices that count %.0f %% were disturbed nevertheless (%d %% of one benchmark).\n",
                    sum / NR, most
        }'
}

host=
! grep -q '^flags.* hypervisor' /proc/cpuinfo || host=' of a virtual machine, whose host others share'
widest=$(tail -n 1 "$results/ceiling-instructions.csv" | cut -d, -f1) # kernel that this CPU has
releases=$(cd "$results" && for file in cipher-[0-9]*.csv; do basename "${file#cipher-}" .csv; done | tr '\n' ' ')
# One table of all releases
awk 'FNR == 1 { release = FILENAME; gsub(/.*cipher-|[.]csv$/, "", release) }
    NR == 1 || FNR > 1 { print (NR == 1 ? "OpenSSL" : release) "," $0 }' "$results"/cipher-[0-9]*.csv |
    grep -v -e AES-192 -e AES-256 >"$results/releases.csv"
awk -F, -v here="$here" '
    NR == 1 { print "what,cipher,direction,kernel,fall" }
    FNR == 1 { release = FILENAME ~ /scan-4[.]0/ ? "4.0" : here; next }
    { fall = $9 >= 0.05 ? $9 " at " $5 : "none"
      printf "%s,%s,%s,%s,%s\n", $1 == "evp" ? "EVP " release : "kernels alone", $2, $3, $4, fall }
    ' "$results"/scan*.csv >"$results/falls.csv"
for chart in "AES-128-GCM encrypt gcm" "AES-128-CBC decrypt cbc"; do
    command -v gnuplot >/dev/null || { echo "left out: charts: gnuplot is not installed"; break; }
    read -r cipher direction name <<<"$chart"
    gnuplot -e "results='$results'; docs='$written'; here='$here'; releases='${releases% }'" \
        -e "cipher='$cipher'; direction='$direction'; name='$name'" bench/plot.gp
done

{
    cat <<TEXT
# Benchmarks

Written by \`bench/report.sh\`; run it for the figures of another machine. Measured on:

$(sed -n '2,3{ s/^# /- /; s/ now$//; p }' "$results/cipher-$here.txt")
- $(nproc --all) CPUs$host
$(sed 's/^/- aesop at commit /' "$results/commit.txt")
$(sed -n 's/^# \(OpenSSL.*\), compiled.*/- \1, with its own libraries/p' "$results"/cipher-[0-9]*.txt |
        grep -v "OpenSSL $here" || true)
$(sed -n 's/^# \(libipsec-mb .*\)/- \1/p' "$results/kernel.txt")

Subjects that are compared run in one process on one thread, in alternating slices of a fifth of a millisecond; the
clock is the thread's CPU time. A figure is the median of its slices, a ratio the median of the ratios of neighbouring
slices: above 1, aesop is faster than the default provider of the same release. The spread is the distance between the
quartiles of the slices. Messages of up to 4 MiB are measured in five passes over all sizes, each with contexts and
buffers in other places, and the medians of the passes count: where they lie moves a figure by up to 5 %.

Others who use the core, on its other thread or in turns with us, take a quarter or more from code that fills it and
nothing from code that waits. So before and after each slice additions are counted, for some microseconds; below 95 % of
their best the slice is disturbed. Those do not count where there are enough others, for which a benchmark waits some
times as long as it measures (\`--patience\`). $(disturbed)

A share is that of the ceiling: what the CPU reaches in a loop of the same instructions of which none has to wait for
another, by the faster quartile of its slices. A few percent above 100 are GCM's: a table takes the place of the first
round of AES, which the loop does, and the order of a kernel's instructions may suit the CPU better than the loop's.
Each program under bench/ answers one question and can be run by itself:
\`bench_cipher --cipher AES-256-GCM --size 1350\`; \`--help\` names its options.

## Goals

The goals were set on another CPU (Zen 4), where instructions cost otherwise; the ratios also hang on what default does.

$(measured | awk -v others="stream|resolver" -f bench/goals.awk - bench/goals.txt)

$(awk -F, '$1 == "AES-128-GCM" && ($3 == 1350 || $3 == 16384) && $10 != "nan" {
        if (n++ == 0)
            print "Beside the shares: libipsec-mb, which is written in assembly, reaches in the same run"
        printf "%s%d %% (%s, %d bytes)", (n > 1 ? ", " : ""), 100 * $10 / $11 + 0.5, $2, $3 }
    END { if (n > 0) print "." }' "$results/kernel.csv")

The AEAD filter, as a share of one EVP call over the same bytes, the caller's buffer holding all of them. An encrypted
segmented stream has a key of its own, by the format: HKDF, key schedule and powers of H take as long as 16 KiB of AES:

$(measured | awk -v only=stream -v head="format | direction | side" -f bench/goals.awk - bench/goals.txt)

The resolver, and handshakes with constraints or with libaesop-fetch.so:

$(measured_of_resolver | awk -v only=resolver -v head="question | unit | threads" -f bench/goals.awk - bench/goals.txt)

## What this CPU can do

Instructions per nanosecond (latency in ns):

$(table ceiling-instructions)

Ceilings in GB/s, CBC for decryption; encryption of one CBC stream waits for the latency of AES, whatever the kernel:

$(table ceiling-modes)

## Messages through EVP

A message is an IV-only init, 13 bytes of associated data, the text and the tag (GCM), or an IV-only init and the text
(CBC). MB/s with aesop, OpenSSL $here:

$(pivot "cipher-$here" cipher,direction bytes aesop_MB/s)

Times as fast as default:

$(pivot "cipher-$here" cipher,direction bytes ratio)

Percent of the ceiling:

$(pivot "cipher-$here" cipher,direction bytes 'share%')

What short messages of AES-128-GCM cost in ns, with default, with aesop, and with a provider that does nothing (EVP's
own part):

$(table "cipher-$here" cipher,direction,bytes,default_ns,aesop_ns,evp_ns,spread% cipher=AES-128-GCM |
        awk -F '|' 'NR <= 2 || $4 <= 1350')

![AES-128-GCM, messages](gcm-messages.svg)
![AES-128-CBC decryption, messages](cbc-messages.svg)

Narrower kernels, forced, times as fast as default:

$(pivot cipher-kernels cipher,direction,kernel bytes ratio)

In place:

$(pivot in-place cipher,direction bytes ratio)

Key and IV anew for each message:

$(pivot rekey cipher bytes ratio)

The cipher named again as well, which takes a context of the provider's anew:

$(pivot new-cipher cipher bytes ratio)

## Releases of OpenSSL

The same module under each, times as fast as that release's default:

$(pivot releases OpenSSL,cipher,direction bytes ratio)

![AES-128-GCM, ratio](gcm-ratio.svg)
![AES-128-CBC decryption, ratio](cbc-ratio.svg)

## Kernels alone

Without EVP, in GB/s and percent of the ceiling, beside libipsec-mb where there is one:

$(table kernel "" cipher=AES-128-GCM)

Percent of the ceiling, $widest:

$(pivot kernel cipher,direction bytes "$widest%")

![AES-128-GCM, kernels](gcm-kernels.svg)
![AES-128-CBC decryption, kernels](cbc-kernels.svg)

The greatest fall of throughput as a message of up to 2100 bytes grows by one byte (CBC: by one block), in percent, and
at which length. The goal is never more than 10 %, for what programs have: messages through EVP.
The kernels alone fall further: a vector more, of which one byte is used, is a greater part of their time:

$(pivot falls what,cipher,direction kernel fall)

![AES-128-GCM, every length](gcm-lengths.svg)
![AES-128-CBC decryption, every length](cbc-lengths.svg)

Where input and output lie, percent of the aligned case, 16 KiB: the input starts a page, the columns say how far the
output is from it, but for whole pages:

$(pivot place cipher,direction,kernel apart '%_of_aligned' in_offset=0)

The same with the input one byte into its page:

$(pivot place cipher,direction,kernel apart '%_of_aligned' in_offset=1)

## Large payloads

30,000,000 bytes, in one call and in chunks, in operations per second. One call of 16 MiB or more goes past the caches;
chunks do not, as each by itself may fit:

$(pivot large cipher,direction chunk aesop_op/s)

Times as fast as default:

$(pivot large cipher,direction chunk ratio)

In one call, beside memcpy of the same bytes:

$(table large cipher,direction,default_GB/s,aesop_GB/s,share%,memcpy_GB/s,spread% chunk=whole)

## TLS

Records through libssl in memory, client and server on one thread: GB/s that one core both writes and reads, and its
share of the ceiling of doing both. HMAC is libcrypto's own, so suites with CBC gain little.

$([[ ! -f $results/tls.csv ]] || table tls)

s_server sends a file to s_client over loopback with TLS 1.3; kernel TLS was not on. By wall time of the fastest of six
transfers, and the least CPU time of both programs together. Most of it is spent in the kernel and in copies, so a tenth
more or less is noise:

$(table loopback)

## Streams

The AEAD filter of libaesop beside one EVP call over the same bytes, with aesop as the provider:

$(table stream)

## Resolver

An implementation or a decision, in ns, from OpenSSL (fetch) and from libaesop's resolver, for threads that ask at once
(own: a resolver for each; new: a query or a size not asked about before; init: EVP_EncryptInit_ex with a fetched cipher
and with EVP_aes_128_gcm()):

$(pivot resolver question threads ns)

What threads get done together, one being 1. \`get0 own\` shares nothing, so it is what the CPUs can do:

$(pivot resolver question threads scale)

The same with libaesop-fetch.so in the process, one thread, in ns:

$(table resolver-preload question,ns)

How often a small memory knows the answer, of 64 names in the frequencies of Zipf's law:

$(table resolver-memory)
$(
    [[ -f $results/handshake.csv ]] || exit 0
    cat <<HANDSHAKES

### Handshakes

Client and server on one thread, in memory. Handshakes per second without constraints, and the ratio to that of
constraints evaluated each time and of the resolver:

$(table handshake version,key,session,context,none,evaluated,cached)

With no more address space than handshakes take at least, 1.25 and 2 times that, each policy in a process of its own and
a resolver of 16 entries, ECDSA:

$(table handshake-memory)

Two threads, with and without libaesop-fetch.so:

$(table handshake-preload version,key,session,context,stock,preload,ratio)
HANDSHAKES
)

## openssl speed

As users run it (\`-evp\`, and the options named), the faster of two times each in turn; it sets key and IV anew for
each GCM message.

$(for other in "$here" 4.0; do
        [[ -f $results/speed-$other.csv ]] || continue
        [[ $other == "$here" || $here != 4.0 ]] || continue
        echo "OpenSSL $other, stock, MB/s:"
        echo
        pivot "speed-$other" cipher,options bytes stock_MB/s
        echo
        echo "With aesop:"
        echo
        pivot "speed-$other" cipher,options bytes aesop_MB/s
        echo
        echo "Ratio:"
        echo
        pivot "speed-$other" cipher,options bytes ratio
        echo
        echo "Percent of the ceiling, of two processes with \`-multi 2\`:"
        echo
        pivot "speed-$other" cipher,options bytes 'share%'
        echo
    done)
TEXT
    if [[ -f $results/kernel-clang.csv ]]; then
        printf '\n## Compilers\n\nKernels alone, GB/s, built by gcc and by clang (%s):\n\n' \
            "$(sed -n 's/.*compiled by //p' "$results/kernel-clang.txt")"
        for compiler in gcc clang; do
            echo "$compiler:"
            echo
            table "kernel-$compiler" cipher,direction,bytes,aesni,vaes256,vaes512
            echo
        done
    fi
} >"$written/benchmarks.md"
[[ -e $written/gcm-ratio.svg ]] || sed -i '/^!\[.*svg)$/d' "$written/benchmarks.md"
[[ ! -e $missing ]] || { echo "no report: the figures lack $(tr '\n' ' ' <"$missing")" >&2; exit 1; }
cp "$written"/* "$docs/"

# The README's table: a part of that of all releases
if [[ $docs == "$root/docs" ]]; then
    awk -F, 'NR == 1 || $1 != "3.6" && $5 ~ /^(64|256|1024|16384|1048576)$/' "$results/releases.csv" \
        >"$results/readme.csv"
    { echo; pivot readme OpenSSL,cipher,direction bytes ratio; echo; } >"$results/readme.md"
    sed -i -e '/^<!-- bench.report/,/^<!-- end/{ //!d }' -e "/^<!-- bench.report/r $results/readme.md" README.md
fi
echo "$docs/benchmarks.md ($SECONDS s)"
