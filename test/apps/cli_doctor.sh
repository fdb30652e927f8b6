#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# aesop doctor and conf: each fault of a configuration is found, named, and comes with what to do.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
needs openssl python3 "${CC:-cc}"
needs_module
AESOP=$BUILD/bin/aesop
[ -x "$AESOP" ] || missing "$AESOP is not built"
cd "$WORK" || exit 1
WISH="?provider=aesop"

doctor() { OPENSSL_CONF=$1 "$AESOP" doctor 2>&1; }

# finds NAME FILE PATTERN...: doctor and conf --check end with 1, and each has a line for every PATTERN: a fault, or a
# note, with what to do.
finds() {
    local name=$1 file=$2 pattern status program
    shift 2
    for program in "env OPENSSL_CONF=$file $AESOP doctor" "$AESOP conf --check $file"; do
        status=0
        $program >found 2>&1 </dev/null || status=$?
        [ $status -eq 1 ] || echo "exit status $status, 1 was expected" >>found
        for pattern; do
            grep -Eq "^(fault|note) .*$pattern.*; fix: ." found || echo "expected a line for: $pattern" >>found
        done
        label="$name: ${program##*/aesop }"
        if grep -q expected found; then fail "$label" found; else pass "$label"; fi
    done
}

# sound NAME FILE [PATTERN]: no fault, and perhaps a note.
sound() {
    local status=0
    doctor "$2" >found </dev/null || status=$?
    if [ $status -eq 0 ] && ! grep -q ^fault found && grep -Eq "${3:-^ok}" found &&
        "$AESOP" conf --check "$2" >>found; then
        pass "$1"
    else
        fail "$1" found
    fi
}

# ------------------------------------------------------------------------------------------------ sound ones
sound "as users switch it on" ours.cnf "^AES-192-CBC +aesop"
sound "... every cipher is listed" ours.cnf "^AES-256-GCM +aesop"
sound "... with the kernel" ours.cnf "^ok .*aesop.so loads; kernel (vaes512|vaes256|aesni)"
sound "... and the CPU" ours.cnf "^CPU +AES-NI"
conf reversed.cnf "default aesop" "$WISH"
sound "default first, aesop preferred" reversed.cnf
conf plain.cnf "aesop default" ""
sound "aesop first, no preference" plain.cnf "^note .*no default_properties.*; fix: "
conf kernel.cnf "aesop default" "$WISH" "kernel = aesni"
sound "a forced kernel" kernel.cnf "kernel aesni"
sed /nodejs/d ours.cnf >nonode.cnf
sound "without a word for Node.js" nonode.cnf "^note .*nodejs_conf.*; fix: "
equal "the table has default beside aesop: the system's file" 6 "$(doctor ours.cnf | grep -Ec '^AES-.* aesop +default')"
sed '/^module/d' ours.cnf >unnamed.cnf
contains "Node.js, and a module without a path" "^note .*Node.js with an OpenSSL of its own.*, not in $MODULES; fix: " \
    "$(OPENSSL_MODULES=$MODULES "$AESOP" conf --check unnamed.cnf)"
equal "no line ends in blanks" 0 "$("$AESOP" doctor | grep -c ' $')"
equal "-q: nothing where nothing is wrong" "" "$(OPENSSL_CONF=ours.cnf "$AESOP" doctor -q)"

# ------------------------------------------------------------------------------------------------ the file
finds "no file" nowhere.cnf "nowhere.cnf: No such file"
cp ours.cnf unreadable.cnf && chmod 000 unreadable.cnf
if [ "$(id -u)" -ne 0 ]; then
    finds "a file that cannot be read" unreadable.cnf "Permission denied"
else
    skip "a file that cannot be read" "root reads everything"
fi
{ cat ours.cnf; echo "[broken"; } >syntax.cnf
finds "a line that is not understood" syntax.cnf "line $(wc -l <syntax.cnf)"
sed '/^openssl_conf/d' ours.cnf >noentry.cnf
finds "no entry" noentry.cnf "no entry openssl_conf"
{ printf '[early]\n'; cat ours.cnf; } >late.cnf
finds "an entry behind a section's start" late.cnf "no entry openssl_conf"
sed 's/^openssl_conf = start/openssl_conf = stop/' ours.cnf >nostart.cnf
finds "a first section that is not there" nostart.cnf "\[stop\], which is not there"
sed '/^providers/d' ours.cnf >nolist.cnf
finds "no list of providers" nolist.cnf "no list of providers"
contains "an empty OPENSSL_CONF" "^fault .*OPENSSL_CONF is empty.*; fix: " "$(OPENSSL_CONF='' "$AESOP" doctor)"

# ------------------------------------------------------------------------------------------------ the sections
finds "default alone" theirs.cnf "aesop is not listed"
conf off.cnf "aesop- default" "$WISH"
finds "aesop not activated" off.cnf "\[aesop_section\]: aesop is not activated"
conf alone.cnf "aesop" "$WISH"
finds "aesop alone" alone.cnf "default is not listed.*digests"
conf nodefault.cnf "aesop default-" "$WISH"
finds "default not activated" nodefault.cnf "default is not activated"
sed 's/^aesop = .*/aesop = elsewhere/' ours.cnf >nosection.cnf
finds "a section that is not there" nosection.cnf "there is no \[elsewhere\]"
sed '0,/^activate = 1/s//activate = 0/' ours.cnf >zero.cnf
finds "activate = 0" zero.cnf "activate = 0"

# ------------------------------------------------------------------------------------------------ preference
conf demand.cnf "aesop default" "provider=aesop"
finds "no ? before provider=aesop" demand.cnf "has no \"\?\".*digests"
conf fips.cnf "aesop default" "?fips=yes"
finds "fips asked for" fips.cnf "does not prefer aesop"
conf second.cnf "default aesop" ""
finds "default first, no preference" second.cnf "default stands before aesop"
sed 's/^alg_section = .*/alg_section = elsewhere/' ours.cnf >noalg.cnf
finds "a section of properties that is not there" noalg.cnf "alg_section names \[elsewhere\], which is not there"

# ------------------------------------------------------------------------------------------------ the module
module() { sed "s|^module = .*|module = $1|" ours.cnf; }
module "$WORK/nowhere.so" >nomodule.cnf
finds "no module" nomodule.cnf "nowhere.so: No such file"
sed '/^module/d' ours.cnf >byname.cnf
if [ -e "$(openssl version -m | sed 's/.*"\(.*\)"/\1/')/aesop.so" ]; then
    skip "no module in OpenSSL's folder" "aesop is installed there"
else
    finds "no module in OpenSSL's folder" byname.cnf "ossl-modules/aesop.so: No such file"
fi
export OPENSSL_MODULES=$MODULES
sound "the folder named by OPENSSL_MODULES" byname.cnf "^modules .*\(OPENSSL_MODULES\)"
unset OPENSSL_MODULES
echo "no module" >text.so
module "$WORK/text.so" >text.cnf
finds "a text as module" text.cnf "not a shared object"
cp "$MODULES/aesop.so" foreign.so && printf '\xb7\0' | dd of=foreign.so bs=1 seek=18 conv=notrunc status=none
module "$WORK/foreign.so" >foreign.cnf
finds "another architecture" foreign.cnf "another architecture \(ELF machine 183"
head -c 5000 "$MODULES/aesop.so" >cut.so
module "$WORK/cut.so" >cut.cnf
finds "a truncated module" cut.cnf "cut.so: 5000 bytes of [0-9]+ are there"
# Of the right length, but zeros within.
cp "$MODULES/aesop.so" broken.so && dd if=/dev/zero of=broken.so bs=4096 seek=1 count=8 conv=notrunc status=none
module "$WORK/broken.so" >broken.cnf
finds "a module with a hole" broken.cnf "broken.so(: loading it ends a program| does not load)"
sed "s|^default = .*|&\nother = other_section|" ours.cnf >other.cnf
printf '[other_section]\nmodule = %s\nactivate = 1\n' "$WORK/cut.so" >>other.cnf
finds "another provider's module is truncated" other.cnf "other.cnf: loading it ends a program \(Bus error"
# The system's file names it: a program with a file of its own does not crash, and doctor says what others will do.
SYSTEM=$(openssl version -d | sed 's/.*"\(.*\)"/\1/')/openssl.cnf
if unshare -rm mount --bind cut.cnf "$SYSTEM" 2>/dev/null; then
    with_system() { unshare -rm sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' - "$@" 2>&1; }
    contains "the system's file names a truncated module" \
        "^fault .*$SYSTEM, the system's file: loading it ends a program \(Bus error.*; fix: " \
        "$(OPENSSL_CONF=ours.cnf with_system cut.cnf "$SYSTEM" "$AESOP" doctor)"
    contains "... and there is no other" "^fault .*cut.so: 5000 bytes of [0-9]+ are there.*; fix: " \
        "$(with_system cut.cnf "$SYSTEM" env -u OPENSSL_CONF "$AESOP" doctor)"
    contains "... of another provider" "^fault .*$SYSTEM: loading it ends a program \(Bus error.*; fix: " \
        "$(with_system other.cnf "$SYSTEM" env -u OPENSSL_CONF "$AESOP" doctor)"
else
    skip "a system's file that crashes programs" "this machine gives no mount namespace"
fi
echo 'int nothing;' | "${CC:-cc}" -shared -fPIC -x c -o noinit.so - && module "$WORK/noinit.so" >noinit.cnf
finds "a library that is no module" noinit.cnf "noinit.so does not load"
conf badkernel.cnf "aesop default" "$WISH" "kernel = turbo"
finds "a bad setting" badkernel.cnf "does not load.*kernel = turbo.*allowed"
conf badkey.cnf "aesop default" "$WISH" "kernle = auto"
finds "a key that nobody knows" badkey.cnf "does not load.*unknown key kernle"
conf strangekey.cnf "aesop default" "$WISH" "colour = red"
finds "a key like none of ours" strangekey.cnf "colour is no setting"
conf constrained.cnf "aesop default" "$WISH" "constraints = CBC"
finds "constraints" constrained.cnf "does not offer AES-128-CBC AES-192-CBC AES-256-CBC"
contains "... and default serves these" "^AES-128-CBC +default" "$(doctor constrained.cnf)"

# ------------------------------------------------------------------------------------------------ a running program
# running SIDE: an openssl command that waits for its input; sets SERVER.
mkfifo "wait" && exec 7<>"wait"
running() {
    serve server.log "$1" sh -c 'exec openssl enc -aes-128-cbc -K 00 -iv 00 -out /dev/null <wait'
    wait_for 10 grep -q libcrypto "/proc/$SERVER/maps"
    # It has read its configuration when it waits.
    wait_for 10 grep -q pipe "/proc/$SERVER/wchan" || sleep 0.5
}
running ours
contains "a process with aesop" "^ok .*process $SERVER .*openssl.* has aesop loaded: $(realpath "$MODULES")/aesop.so" \
    "$("$AESOP" doctor "$SERVER")"
stop_server
running theirs
contains "a process without" "^fault .*libcrypto.* loaded, but not aesop; OPENSSL_CONF = .*theirs.cnf; fix: " \
    "$("$AESOP" doctor "$SERVER")"
refused "... is a fault" "$AESOP" doctor "$SERVER"
stop_server
contains "a process without libcrypto" "^fault .*neither libcrypto nor aesop" "$("$AESOP" doctor $$)"
# Any file of that name will do, if the process maps it.
cp "$MODULES/aesop.so" libgnutls.so.30
serve server.log theirs python3 -c 'import mmap, time
with open("libgnutls.so.30", "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    time.sleep(60)'
wait_for 10 grep -q libgnutls "/proc/$SERVER/maps"
contains "... but another library" "^fault .*neither libcrypto nor aesop, but GnuTLS; fix: none" \
    "$("$AESOP" doctor "$SERVER")"
stop_server
refused "no such process" "$AESOP" doctor 4194305
refused "not a process" "$AESOP" doctor self
equal "... or one too large" "aesop: 99999999999999999999999: the number of a process is expected" \
    "$("$AESOP" doctor 99999999999999999999999 2>&1)"

# ------------------------------------------------------------------------------------------------ conf
"$AESOP" conf --module "$MODULES/aesop.so" --node -o made.cnf
sound "what conf prints" made.cnf
equal "... has nothing to note" 0 "$("$AESOP" conf --check made.cnf | grep -vc ^ok)"
"$AESOP" conf --module "$MODULES/aesop.so" --kernel aesni >made2.cnf
sound "... with a kernel" made2.cnf "kernel aesni"
equal "... for Node.js it names the module's whole path" "module = $MODULES/aesop.so" \
    "$(OPENSSL_MODULES=$MODULES "$AESOP" conf --node | grep ^module)"
equal "... and otherwise leaves that to libcrypto" "" "$("$AESOP" conf | grep ^module)"
equal "... and the openssl command takes it" 6 \
    "$(OPENSSL_CONF=made.cnf openssl list -cipher-algorithms 2>/dev/null | grep -c '@ aesop')"
refused "conf: a module that is not there" "$AESOP" conf --module nowhere.so
for sign in "\\" "\$" "#" "'" '"' "\`" $'\n'; do
    mkdir "a${sign}b" && cp "$MODULES/aesop.so" "a${sign}b"
    refused "conf: a path that a configuration cannot name, $(printf %q "$sign")" \
        "$AESOP" conf --module "a${sign}b/aesop.so"
done
refused "conf: a kernel that is not there" "$AESOP" conf --kernel turbo
refused "conf: never over a file" "$AESOP" conf -o made.cnf
check "conf -f" "$AESOP" conf -fo made.cnf
refused "conf: a file without --check" "$AESOP" conf made.cnf
refused "conf: --check and --kernel" "$AESOP" conf --check --kernel auto made.cnf
module "$WORK/a\\\\\`b/aesop.so" >quoted.cnf
sound "a path with a quote that is escaped" quoted.cnf
finish
