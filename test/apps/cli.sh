#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# aesop seal, open, verify and keygen: files, pipes, keys, threads, refusals, and what is left behind.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
needs cmp python3 timeout unshare
needs_module
AESOP=$BUILD/bin/aesop
[ -x "$AESOP" ] || missing "$AESOP is not built"
mkdir "$WORK/files" && cd "$WORK/files" || exit 1
ulimit -c 0

# The passphrases here are for tests: little work.
aesop() { ours "$AESOP" "$@"; }
sealp() { ours "$AESOP" seal --work-factor 10 "$@"; }
python3 -c 'import cryptography' 2>/dev/null && PYTHON=python3 || PYTHON=/usr/bin/python3
tink() { "$PYTHON" "$ROOT/test/tink_stream.py" "$@"; }

# says NAME STATUS PATTERN COMMAND...: ends with that status, and its errors match.
says() {
    local name=$1 expected=$2 pattern=$3 status=0
    shift 3
    "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || status=$?
    if [ $status -eq "$expected" ] && { [ -z "$pattern" ] || grep -Eq -- "$pattern" "$WORK/err"; }; then
        pass "$name"
    else
        echo "exit status $status, expected $expected and /$pattern/" >>"$WORK/err"
        fail "$name" "$WORK/err"
    fi
}

# patch FILE OFFSET [HEX]: overwrites bytes, or inverts the lowest bit of one.
patch() {
    local new=${3:-$(printf %02x $((0x$(od -An -tx1 -j"$2" -N1 "$1" | tr -d ' ') ^ 1)))}
    # shellcheck disable=SC2001
    printf "$(sed 's/../\\x&/g' <<<"$new")" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# only NAME FILE...: the folder "there" holds these files and nothing else.
only() {
    local name=$1
    shift
    equal "$name" "$*" "$(find there -mindepth 1 -printf '%f\n' | sort | tr '\n' ' ' | sed 's/ $//')"
}

# ------------------------------------------------------------------------------------------------ keys
umask 022
aesop keygen -o key
equal "keygen: 64 digits and a line end" 65 "$(wc -c <key)"
equal "keygen: for nobody else" 600 "$(stat -c %a key)"
(umask 000 && aesop keygen -c aes-128-gcm --raw -o key128)
equal "keygen --raw: 16 bytes for AES-128-GCM, mode 600 whatever the umask" "16 600" "$(stat -c '%s %a' key128)"
says "keygen: never over a key" 3 "there already" aesop keygen -o key
contains "keygen: on standard output" '^[0-9a-f]{64}$' "$(aesop keygen)"
python3 -c 'print(bytes.fromhex(open("key").read()).hex(), end="")' >key.hex
python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(open("key").read()))' >key.raw
aesop keygen -o other
random_file plain 300000
for file in key.hex key.raw; do
    chmod 600 $file
    check "the same key as $file opens" eval "aesop seal -k key plain | aesop open -k $file | cmp - plain"
done
chmod 644 key.raw
says "a key that others can read: a warning" 0 "warning.*key.raw.*0644" aesop seal -k key.raw -o /dev/null plain
says "... and with -q none" 0 '^$' eval 'aesop seal -qk key.raw -o /dev/null plain; echo >&2'
head -c 15 key.raw >short
says "a key file that is too short" 2 "16 to 64 bytes" aesop seal -k short plain
head -c 65 plain >long
says "... too long" 2 "16 to 64 bytes" aesop seal -k long plain
printf '0g%.0s' {1..16} >letters && od -An -v -tx1 letters | tr -d ' \n' >letters.hex && chmod 600 letters*
check "not all are digits: a raw key" eval "aesop seal -k letters plain | aesop open -k letters.hex | cmp - plain"
for digits in 31 63; do
    (tr -d '\n' <key && tr -d '\n' <key) | head -c $digits >odd
    says "$digits hexadecimal digits are no raw key" 2 "16 to 64 bytes" aesop seal -k odd plain
done
says "a key of 16 bytes for AES-256-GCM" 2 "16 bytes, where AES-256-GCM needs 32" aesop seal -k key128 plain
says "no key file" 3 "nowhere.*No such file" aesop seal -k nowhere plain

# ------------------------------------------------------------------------------------------------ round trips
# pair NAME FILE SEAL-OPTIONS -- OPEN-OPTIONS: by files, by pipes, mixed.
pair() {
    local name=$1 file=$2 seal=() log=$WORK/pair.log
    shift 2
    while [ "$1" != -- ]; do
        seal+=("$1")
        shift
    done
    shift
    rm -f sealed piped back
    if {
        aesop seal "${seal[@]}" -o sealed "$file" && aesop seal "${seal[@]}" <"$file" >piped &&
            aesop open "$@" -o back sealed && cmp back "$file" &&
            aesop open "$@" <sealed | cmp - "$file" && aesop open "$@" -fo back <piped && cmp back "$file" &&
            aesop open "$@" - -o - <piped | cat | cmp - "$file" &&
            aesop verify "$@" sealed && aesop verify "$@" <piped &&
            { [ "$(stat -c %s sealed)" -eq "$(stat -c %s piped)" ] || { echo "other sizes" && false; }; }
    } >"$log" 2>&1; then pass "$name"; else fail "$name" "$log"; fi
}

# Segments of 4096 bytes hold 4080; the first one 40 less with a key of 32 bytes.
for size in 0 1 4039 4040 4041 8119 8120 8121 100000 1500000; do
    head -c $size /dev/urandom >text
    pair "$size bytes, segments of 4096" text -k key -s 4096 -- -k key
    pair "$size bytes, default segments" text -k key -- -k key
    pair "$size bytes, a message" text -k key --message -- -k key
done
for cipher in AES-128-GCM AES-256-GCM ChaCha20-Poly1305; do
    pair "$cipher" plain -k key -c $cipher -a "who it is for" -- -k key -a "who it is for"
    pair "$cipher --raw" plain -k key -c $cipher --raw -- -k key -c $cipher --raw
    pair "$cipher, passphrase" plain --pass pass:secret --work-factor 10 -c $cipher -- --pass pass:secret
done
pair "AES-128-GCM, its own key" plain -k key128 -c AES-128-GCM --message -- -k key128
pair "--raw --message" plain -k key --raw --message -a x -- -k key --raw --message -a x
for bytes in 64 1M 16M; do pair "segments of $bytes" plain -k key -s $bytes -- -k key; done

# ------------------------------------------------------------------------------------------------ passphrases
echo secret >phrase
printf 'secret\r\nand another line' >phrase.crlf
sealp -p pass:secret -o sealed plain -f
PHRASE=secret check "env:" env PHRASE=secret OPENSSL_CONF="$WORK/ours.cnf" "$AESOP" verify -p env:PHRASE sealed
check "file:" aesop verify -p file:phrase sealed
check "file: a first line that ends in CR LF" aesop verify -p file:phrase.crlf sealed
check "fd:" eval 'aesop verify -p fd:3 sealed 3<phrase'
check "stdin" eval 'aesop verify -p stdin sealed <phrase'
check "stdin, and the text follows on it" eval \
    '{ echo secret; cat plain; } | sealp -p stdin >sealed;
     { echo secret; cat sealed; } | aesop open -p stdin | cmp - plain'
says "a variable that is not there" 2 "no variable NOBODY" aesop verify -p env:NOBODY sealed
says "an empty passphrase" 2 "empty" aesop verify -p pass: sealed
says "an unknown source" 2 "pass:TEXT, env:NAME" aesop verify -p word sealed
says "a passphrase file that is not there" 3 "No such file" aesop verify -p file:nowhere sealed
says "no terminal to ask" 2 "no terminal" setsid -w env OPENSSL_CONF="$WORK/ours.cnf" "$AESOP" verify sealed
says "sealed with a passphrase, opened with a key" 2 "passphrase, not a key file" aesop verify -k key sealed
aesop seal -k key -o keyed plain
says "sealed with a key, opened with a passphrase" 2 "key file, not a passphrase" aesop verify -p pass:x keyed

asked() { ours "$APPS/cli_terminal.py" "$@" 2>&1; }
rm -f sealed
contains "asked for twice" 'exit status 0' \
    "$(asked hidden1 hidden1 -- "$AESOP" seal --work-factor 10 -o sealed plain)"
equal "... nothing is echoed" 0 "$(asked hidden1 -- "$AESOP" verify sealed | grep -c hidden1)"
contains "... and opens when asked once" 'exit status 0' "$(asked hidden1 -- "$AESOP" verify sealed)"
contains "two different ones: refused" 'exit status 2' \
    "$(asked hidden1 hidden2 -- "$AESOP" seal --work-factor 10 -fo sealed plain)"
contains "the wrong one" 'exit status 1' "$(asked hidden2 -- "$AESOP" verify sealed)"
(sealp -p pass:visible -fo sealed <(sleep 1)) &
sleep 0.5
equal "the passphrase has left the list of processes" 0 \
    "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c '^pass:visible')"
wait

# ------------------------------------------------------------------------------------------------ threads
random_file large 5000000
opens() { aesop open -k key -j "$1" -fo back sealed && cmp back large && aesop verify -j "$1" -k key sealed; }
for bytes in 64 4096 65536 1M 16M; do
    for j in 1 2 4; do
        rm -f sealed back
        check "-j $j, segments of $bytes: sealed, opened with -j 1, 2, 4 and by a pipe" eval \
            "aesop seal -k key -s $bytes -j $j -o sealed large && aesop open -k key <sealed | cmp - large &&
             opens 1 && opens 2 && opens 4"
    done
done
# Around the size from which on threads serve, and where the last segment is full.
for size in 1048575 1048576 1048577 $((65520 * 32 - 40)) $((65520 * 32 - 39)) $((65520 * 32 - 41)); do
    head -c $size large >text
    pair "$size bytes" text -k key -j 2 -- -k key -j 2
done
head -c 200000000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >big
for j in 1 2; do
    rm -f sealed back
    check "200 MB with $j threads" eval \
        "aesop seal -k key -j $j -o sealed big && aesop open -k key -j $j -o back sealed && cmp back big"
done
check "200 MB by pipes" eval "aesop seal -k key <big | aesop open -k key | cmp - big"
rm -f back

# peak COMMAND...: KiB of memory.
peak() {
    OPENSSL_CONF=$WORK/ours.cnf python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
for file in plain big; do
    check "memory below 16 MiB: seal $file" test "$(peak "$AESOP" seal -k key -j 1 -fo back $file)" -lt 16384
    check "memory below 16 MiB: open $file" test "$(peak "$AESOP" open -k key -j 1 -fo there.out back)" -lt 16384
done
check "memory below 16 MiB: a pipe" test "$(peak sh -c "cat big | $AESOP seal -k key")" -lt 16384
rm -f big back there.out sealed

# ------------------------------------------------------------------------------------------------ other software
if "$PYTHON" -c 'import cryptography' 2>/dev/null; then
    for bits in 128 256; do
        for bytes in 4096 1048576; do
            for size in 0 1 4100 1500000; do
                head -c $size large >text
                name="AES-$bits-GCM, segments of $bytes, $size bytes"
                check "$name: read by Tink's format in Python" eval \
                    "aesop seal -rk key -c AES-$bits-GCM -s $bytes -a ab text |
                     tink decrypt SHA256 $((bits / 8)) $bytes $(cat key.hex) 6162 | cmp - text"
                check "$name: written by it" eval \
                    "tink encrypt SHA256 $((bits / 8)) $bytes $(cat key.hex) 6162 <text >sealed &&
                     aesop open -rk key -c AES-$bits-GCM -s $bytes -a ab sealed -fo back && cmp back text"
            done
        done
    done
    aesop seal -rmk key -a ab plain >sealed
    check "--raw --message: iv, ciphertext, tag" "$PYTHON" -c '
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
data = open("sealed", "rb").read()
assert AESGCM(open("key.raw", "rb").read()).decrypt(data[:12], data[12:], b"ab") == open("plain", "rb").read()'
else
    skip "other software" "Python has no cryptography"
fi

# ------------------------------------------------------------------------------------------------ refusals
head -c 300 plain >text
aesop seal -k key -s 128 -a who -o small text # 36 + 40 + 3 whole segments + a rest
small=$(stat -c %s small)
says "another key" 1 "segment 0 .*key, passphrase" aesop open -k other -a who small
says "other associated data" 1 "segment 0 " aesop open -k key -a whom small
says "no associated data" 1 "segment 0 " aesop open -k key small
sealp -p pass:secret -fo sealed text
says "another passphrase" 1 "segment 0 " aesop open -p pass:Secret sealed
says "not sealed at all" 1 "not made by" aesop open -k key plain
says "a bare stream without --raw" 1 "not made by" eval 'aesop seal -rk key text | aesop open -k key'

# refused_at NAME FILE: opens as a file, as a pipe and verifies: each fails with status 1, and what came out by the
# pipe is whole segments of the text: 72 bytes in the first, 112 in each of the others.
refused_at() {
    local name=$1 status n ok=yes
    rm -f out
    aesop open -k key -a who -o out "$2" 2>/dev/null; status=$?
    { [ $status -eq 1 ] && [ ! -e out ]; } || ok="file: status $status"
    aesop open -k key -a who <"$2" >piped 2>err; status=$?
    n=$(stat -c %s piped)
    { [ $status -eq 1 ] && [ -s err ] && cmp -s -n "$n" piped text &&
        { [ "$n" -eq 0 ] || [ $(((n + 40) % 112)) -eq 0 ]; }; } || ok="pipe: status $status, $n bytes: $(cat err)"
    aesop verify -k key -a who "$2" >/dev/null 2>&1; status=$?
    [ $status -eq 1 ] || [ $status -eq 2 ] || ok="verify: status $status"
    [ "$ok" = yes ] || { echo "$name: $ok" >>refusals; }
}
: >refusals
for ((i = 0; i < small; i++)); do
    cp small flipped && patch flipped $i
    # The kdf's own byte may lead to a question for a passphrase: status 2, no output.
    [ $i -eq 9 ] || refused_at "bit flipped in byte $i" flipped
    head -c $i small >shorter
    refused_at "cut to $i bytes" shorter
done
{ cat small; printf x; } >longer
refused_at "a byte appended" longer
piece() { tail -c +$(($1 + 1)) small | head -c $(($2 - $1)); } # bytes from .. to of the file
{ piece 0 164; piece 292 420; piece 164 292; piece 420 $small; } >swapped
equal "... of the same length" "$small" "$(stat -c %s swapped)"
refused_at "two segments swapped" swapped
{ piece 0 164; piece 292 $small; } >dropped
refused_at "a segment dropped" dropped
{ piece 0 292; piece 164 $small; } >repeated
refused_at "a segment repeated" repeated
equal "every flip, cut, swap and addition of a small file is refused" "" "$(cat refusals)"
says "where: a flip" 1 "segment 2 \(from byte 292\)" eval \
    'cp small flipped && patch flipped 300 && aesop open -k key -a who flipped'
says "where: a cut" 1 "segment 1 .*rest of it is missing \(at byte 292\)" eval \
    'head -c 292 small >shorter && aesop open -k key -a who shorter'
says "where: a cut in a segment" 1 "segment 1 " eval 'head -c 250 small >shorter && aesop open -k key -a who shorter'
says "where: a cut in the header" 1 "ends at byte 20" eval 'head -c 20 small >shorter && aesop open -k key shorter'
says "where: an addition" 1 "byte" aesop open -k key -a who longer

# With threads: the first fault of the file is reported, and nothing is left.
mkdir -p there
aesop seal -k key -o threaded large
for at in 4999000 2500000 1310800 100; do
    cp threaded flipped && patch flipped 4000000 && patch flipped $at
    first=$(((at < 4000000 ? at : 4000000) - 36))
    says "flips at $at and 4000000: the first is reported" 1 "segment $((first / 65536)) " \
        aesop open -k key -j 4 -o there/out flipped
done
for cut in $((36 + 65536 * 40)) $((36 + 65536 * 40 + 5)) $((36 + 65536 * 40 + 30000)); do
    head -c $cut threaded >shorter
    says "cut to $cut bytes" 1 "segment (39|40) .*byte" aesop open -k key -j 2 -o there/out shorter
done
only "a refused file leaves nothing"

# A message: nothing comes out before its tag is verified.
aesop seal -mk key large -fo sealed
patch sealed 4000000
says "a changed message, from a file" 1 "message does not verify" aesop open -k key sealed
equal "... without a byte of output" 0 "$(stat -c %s "$WORK/out")"
says "... from a pipe" 1 "message does not verify" eval 'cat sealed | aesop open -k key'
equal "... without a byte of output" 0 "$(stat -c %s "$WORK/out")"
says "... cut" 1 "message|ends at byte" eval 'head -c 60 sealed | aesop open -k key'
head -c 80000000 /dev/zero >zeros
aesop seal -mk key zeros -fo sealed
check "a long message from a file is read twice" eval "aesop open -k key sealed | cmp - zeros"
says "... from a pipe it is refused" 3 "too long a message" eval 'cat sealed | aesop open -k key'
rm -f zeros sealed

# Headers that ask for too much, before anything can be verified.
sealp -p pass:secret -fo sealed text
hostile() {
    cp sealed hostile && patch hostile "$2" "$3"
    says "$1" 1 "damaged|another version" timeout 20 "$AESOP" open -p pass:secret hostile
}
hostile "scrypt with 2^63" 10 3f
hostile "scrypt with 2^21" 10 15
hostile "scrypt with 2^9" 10 09
hostile "scrypt with r = 255" 11 ff
hostile "scrypt with r = 0" 11 00
hostile "scrypt with p = 200" 12 c8
hostile "an unknown kdf" 9 02
hostile "an unknown cipher" 8 09
hostile "an unknown format" 7 02
hostile "another version" 6 02
hostile "bytes that have to be zero" 14 01
hostile "segments of 4 GiB" 16 ffffffff
hostile "segments of no bytes" 16 00000000

# ------------------------------------------------------------------------------------------------ output
echo old >there/out
says "an existing file stays" 3 "there already" aesop seal -k key -o there/out text
equal "... as it was" old "$(cat there/out)"
check "-f overwrites it" eval 'aesop seal -k key -fo there/out text && aesop open -k key there/out | cmp - text'
echo old >there/out
says "-f and a failure" 1 "segment" aesop open -k other -fo there/out small
equal "... leave the old file" old "$(cat there/out)"
ln -s out there/link
holds_text() { aesop open -k key "$1" | cmp - text; }
check "-f follows a link" eval 'aesop seal -k key -fo there/link text && [ -L there/link ] && holds_text there/out'
only "and nothing else is there" link out
rm there/*
check "messages do not go to a file that took a closed stream's place" eval \
    'aesop seal -vk key -fo there/out text >&- 2>&- && holds_text there/out'
says "... and closed streams fail" 3 "standard output: .*Bad file descriptor" eval 'aesop seal -k key text >&-'
rm there/*
cp text there/self
check "a file may replace itself" eval 'aesop seal -k key -fo there/self there/self && holds_text there/self'
rm there/*
for mask in 022 077 002; do
    (umask $mask && aesop seal -k key -o there/out$mask text)
    equal "umask $mask" "$(printf %o $((0666 & ~0$mask)))" "$(stat -c %a there/out$mask)"
done
rm there/*
for name in /dev/stdout /proc/self/fd/1; do
    check "$name, a pipe" eval "aesop seal -k key -o $name text | aesop open -k key -o $name | cmp - text"
done
check "a pipe of the shell's" eval 'aesop seal -k key -o >(aesop open -k key >there/out) text; wait $!; cmp there/out text'
rm there/*
# What would fail only when all is done: the input has no end.
ln -s nowhere there/link
ln -s loop there/loop
says "a link that leads nowhere" 3 "link: it is there already" timeout 20 "$AESOP" seal -k key -o there/link /dev/zero
says "a link that leads to itself" 3 "loop: Too many levels" timeout 20 "$AESOP" seal -k key -fo there/loop /dev/zero
says "no name" 3 "--output : No such file" timeout 20 "$AESOP" seal -k key -o "" /dev/zero
says "a name that is too long" 3 "File name too long" \
    timeout 20 "$AESOP" seal -k key -o "there/$(printf 'x%.0s' {1..300})" /dev/zero
only "... are told at once" link loop
rm there/*
says "a folder that is not there" 3 "nowhere/out.*No such file" aesop seal -k key -o nowhere/out text
says "a folder as input" 3 "a directory" aesop seal -k key .
says "an input that is not there" 3 "nowhere.*No such file" aesop seal -k key nowhere
says "an input that fails" 3 "/proc/self/mem: reading near segment 0: Input/output error" \
    aesop seal -k key -o there/out /proc/self/mem
# Two segments of 16 MiB are asked for where there is memory for one.
for ((least = 8192; least < 1048576; least += 4096)); do
    (ulimit -v $least && aesop seal -k key text) >/dev/null 2>&1 && break
done
says "too little memory" 3 "large: out of memory; fewer --threads" eval \
    '(ulimit -v $((least + 16384)) && aesop seal -k key -s 16M -o there/out large)'
says "a full device" 3 "full.*No space left" aesop seal -k key -o /dev/full text
says "standard output on a full device" 3 "standard output.*No space left" eval 'aesop seal -k key text >/dev/full'
says "a result on a full device" 3 "standard output.*No space left" eval 'aesop verify -k key -a who small >/dev/full'
contains "sealed text is not for a terminal" 'exit status 2' "$(asked -- "$AESOP" seal -k key text)"
says "a pipe whose reader leaves" 141 '' eval \
    '(aesop open -k key threaded | head -c 10 >/dev/null; exit ${PIPESTATUS[0]})'

# ------------------------------------------------------------------------------------------------ what ends it midway
# interrupted NAME SIGNAL COMMAND...: the command reads from a pipe that gives some text and then nothing.
interrupted() {
    local name=$1 signal=$2 pid status=0
    shift 2
    rm -f pipe && mkfifo pipe
    OPENSSL_CONF=$WORK/ours.cnf env --default-signal="$signal" "$@" <pipe 2>/dev/null &
    pid=$!
    exec 5>pipe
    head -c 300000 large >&5
    # All is read: it waits for more.
    wait_for 10 python3 -c 'import fcntl, sys, termios, struct
sys.exit(struct.unpack("i", fcntl.ioctl(5, termios.FIONREAD, b"\0" * 4))[0])'
    kill -s "$signal" $pid
    exec 5>&-
    wait $pid 2>/dev/null || status=$?
    equal "$name: SIG$signal ends it" $((128 + $(kill -l "$signal"))) $status
}
for signal in INT TERM HUP; do
    interrupted "seal to a file" $signal "$AESOP" seal -k key -o there/out
    only "SIG$signal leaves nothing"
done
# Without /proc a new file has a temporary name.
if unshare -rm sh -c 'mount -t tmpfs none /proc' 2>/dev/null; then
    unproc='mount -t tmpfs none /proc && exec "$0" "$@"'
    check "with a temporary name" unshare -rm sh -c "$unproc" "$AESOP" seal -k key -o there/out text
    check "... it opens" holds_text there/out
    says "... an existing file stays" 3 "there already" \
        unshare -rm sh -c "$unproc" "$AESOP" seal -k key -o there/out text
    check "... -f" unshare -rm sh -c "$unproc" "$AESOP" seal -k key -fo there/out text
    only "... and no other file is there" out
    rm there/out
    says "... a failure" 1 segment unshare -rm sh -c "$unproc" "$AESOP" open -k other -o there/out small
    for signal in INT TERM HUP QUIT; do
        interrupted "with a temporary name" $signal unshare -rm sh -c "$unproc" "$AESOP" seal -k key -o there/out
        only "SIG$signal leaves nothing"
    done
    # Ends with the command's status, or 9 where it left something.
    full='mount -t tmpfs -o size=1m none there && eval "$1"; status=$?; [ -z "$(ls -A there)" ] || exit 9; exit $status'
    says "a full disk" 3 "out: .*No space left" unshare -rm sh -c "$full" - "$AESOP seal -k key -j 2 -o there/out large"
    says "a full disk, by a pipe" 3 "out: .*No space left" unshare -rm sh -c "$full" - \
        "cat large | $AESOP seal -k key -o there/out"
else
    skip "temporary names, full disks" "this machine gives no mount namespace"
fi
only "nothing is left"

# ------------------------------------------------------------------------------------------------ a terminal
slow_text() { head -c 3000000 large; sleep 1.2; tail -c +3000001 large; }
# shown COMMAND...: what it shows on a terminal that is not its output.
shown() { ours "$APPS/cli_terminal.py" -s -- "$@" 2>&1 >/dev/null | tr '\r' '\n'; }
contains "more than a second: progress" '[0-9.]+ MiB, [0-9.]+ [KM]iB/s' "$(slow_text | shown "$AESOP" seal -k key)"
equal "... with -q none" "exit status 0" "$(slow_text | shown "$AESOP" seal -qk key | tr -d '\n')"
equal "short work: no progress" "exit status 0" "$(shown "$AESOP" seal -k key large | tr -d '\n')"
slow_text | aesop seal -k key 2>err >/dev/null
equal "no terminal: no progress" "" "$(cat err)"
# slowly COMMAND...: the same where a reader takes the output only after more than a second.
slowly() {
    ours "$APPS/cli_terminal.py" -s -- "$@" 2>shown | { sleep 1.3; cat >/dev/null; }
    tr '\r' '\n' <shown
}
contains "a file's length is known: bar, share, rate, time left" \
    '\[#+ *\] +[0-9]{1,2}%  [0-9.]+ [KM]iB, [0-9.]+ [KM]iB/s, 0:00:[0-9]{2} left' \
    "$(slowly "$AESOP" seal -k key large)"
contains "... and the bar goes when the work is done" $'\e\\[Kexit status 0$' "$(slowly "$AESOP" seal -k key large | tr -d '\n')"
equal "... with -q none" "exit status 0" "$(slowly "$AESOP" seal -qk key large | tr -d '\n')"
equal "... no terminal: none" "" "$({ aesop seal -k key large | { sleep 1.3; cat >/dev/null; } } 2>&1)"

# ------------------------------------------------------------------------------------------------ the rest
says "-v: aesop serves" 0 "AES-256-GCM is served by the provider aesop, kernel " aesop seal -vk key -o /dev/null text
says "-v: default serves" 0 "AES-256-GCM is served by the provider default;" \
    theirs "$AESOP" seal -vk key -o /dev/null text
says "-v: ChaCha20-Poly1305 is default's" 0 "served by the provider default" \
    aesop seal -vk key -c chacha20-poly1305 -o /dev/null text
check "default opens what aesop sealed" eval 'theirs "$AESOP" open -k key threaded | cmp - large'
check "aesop opens what default sealed" eval 'theirs "$AESOP" seal -k key large | aesop open -k key | cmp - large'
says "no command" 2 "no command" aesop
says "an unknown command" 2 "encrypt is not a command" aesop encrypt
says "an unknown option" 2 "--lock is not an option" aesop seal --lock
says "an option of another command" 2 "not an option" aesop open --work-factor 12 small
says "an option without its argument" 2 "needs an argument" aesop seal -k
says "an unknown letter amid others" 2 "^aesop: -Z is not an option here" aesop seal --quiet -Zq -k key text
says "an option that takes no argument" 2 "^aesop: --message=3 is not an option here" aesop seal --message=3 -k key text
says "two files" 2 "too much" aesop seal -k key text text
for value in 0 63 17M 1G -1 x 4096x 99999999999999999999; do
    says "-s $value" 2 "a number from 64 to 16777216" aesop seal -k key -s "$value" text
done
says "-j 0" 2 "a number from 1 to 256" aesop seal -k key -j 0 text
says "--work-factor 40" 2 "a number from 10 to 20" aesop seal --work-factor 40 text
says "an unknown cipher" 2 "AES-256-GCM, AES-128-GCM or" aesop seal -k key -c AES-256-CBC text
says "... for a key" 2 "AES-256-GCM, AES-128-GCM or" aesop keygen -c AES-256-CBC
says "--raw with a passphrase" 2 "needs a key file" aesop seal --raw -p pass:x text
says "a key and a passphrase" 2 "a key file already" aesop seal -k key -p pass:x text
says "-c where the header says it" 2 "the header says that" aesop open -k key -c AES-128-GCM small
says "-s for a message" 2 "no segments" aesop seal -k key -m -s 4096 text
contains "--version" "^aesop [0-9]+\.[0-9]+\.[0-9]+, with OpenSSL" "$(aesop --version)"
contains "--help" "seal .*open .*verify .*keygen .*doctor .*conf" "$(aesop --help | tr '\n' ' ')"
for command in seal open verify keygen doctor conf; do
    contains "$command --help" "Usage: aesop $command.*--help" "$(aesop $command --help | tr '\n' ' ')"
    for option in $(aesop $command --help | grep -Eo -- '--[a-z-]+' | sort -u); do
        grep -Fq -- "${option//-/\\-}" "$ROOT/docs/aesop.1" || echo "$command $option"
    done
done >undocumented
equal "the manual page has every option" "" "$(grep -v '^ok:' undocumented)"

# completes WORD... prints what bash offers for the last word.
completes() {
    PATH=$BUILD/bin:$PATH bash -c \
        '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _aesop; printf "%s\n" "${COMPREPLY[@]}"' \
        "$ROOT/docs/completion/aesop.bash" "$@" | tr '\n' ' '
}
equal "completion: commands" "seal " "$(completes aesop s)"
equal "completion: options" "--segment-size " "$(completes aesop seal --seg)"
equal "completion: ciphers" "AES-128-GCM AES-256-GCM " "$(completes aesop seal -c A)"
contains "completion: files" "small" "$(completes aesop open sma)"
if command -v groff >/dev/null; then
    equal "the manual page formats without a warning" "" "$(groff -man -ww -z -Tutf8 "$ROOT/docs/aesop.1" 2>&1)"
fi
finish
