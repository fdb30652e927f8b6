#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks the OpenSSL of newer Debian releases, with the C library it wants, under build/openssl/<release>/; nothing
# is installed. Then
#   build/openssl/<release>/openssl ARGS        is that release's openssl command
#   build/openssl/<release>/run PROGRAM ARGS    runs any program with that release's libraries
# Usage: openssl-versions.sh [RELEASE...]   (3.5 3.6 4.0). Exit status 77: one cannot be had here; a line says why.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
top=$root/build/openssl
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# For whoever asks later (on-openssl.sh), the reason stays in a file.
unavailable() {
    echo "left out: OpenSSL $1: $2" | tee "$top/$1.unavailable"
    rm -rf "${top:?}/$1.new"
    exit 77
}

# Each name is followed by the Debian suites that have it, the first for the packages that the others lack.
suites_of() {
    case $1 in
    3.5) echo trixie ;;
    3.6) echo sid ;;
    4.0) echo sid experimental ;;
    *) echo "unknown release '$1': 3.5, 3.6 or 4.0" >&2; exit 2 ;;
    esac
}

# The mirror that this machine's own apt uses.
mirror() {
    apt-get --print-uris update 2>/dev/null |
        sed -n "s#^'\(.*\)/dists/[^/]*/InRelease'.*#\1#p" | grep -v -e -security -m 1
}

# unpack RELEASE FOLDER
unpack() {
    local release=$1 dest=$2 site suite deb libssl
    local apt=$dest/apt
    local -a get=(apt-get -q -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
        -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::Etc::preferencesparts=/dev/null -o Acquire::Languages=none -o Acquire::Retries=2)

    command -v apt-get >/dev/null || unavailable "$release" "this machine has no apt"
    [[ -r $keyring ]] || unavailable "$release" "this machine lacks Debian's archive keys ($keyring)"
    site=$(mirror) || unavailable "$release" "apt here knows no mirror"

    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,debs} "$dest/root"
    : >"$apt/status"
    for suite in $(suites_of "$release"); do
        echo "deb [signed-by=$keyring] $site $suite main"
    done >"$apt/sources.list"
    # apt-get succeeds with a list that it could not fetch
    "${get[@]}" update >"$apt/log" 2>&1 || true
    ! grep -q -e '^E:' -e '^W: Failed' "$apt/log" ||
        unavailable "$release" "no package lists of $(suites_of "$release"): $(grep -m 1 '^[EW]:' "$apt/log")"

    case $release in 4.*) libssl=libssl4 ;; *) libssl=libssl3t64 ;; esac
    (
        cd "$apt/debs"
        # suite is the last one of the list: there the OpenSSL packages are of this release
        "${get[@]}" download "openssl/$suite" "$libssl/$suite" "libssl-dev/$suite" \
            "openssl-provider-legacy/$suite" libc6 libgcc-s1 libzstd1 zlib1g
    ) >"$apt/log" 2>&1 || unavailable "$release" "download failed: $(grep -m 1 '^E:' "$apt/log")"
    for deb in "$apt"/debs/*.deb; do
        dpkg-deb -x "$deb" "$dest/root"
    done
    rm -rf "$apt"
}

# wrappers FOLDER: both find their place by themselves, so that the folder may move.
wrappers() {
    cat >"$1/run" <<'WRAPPER'
#!/bin/bash
# Runs a program with the libraries of this folder.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/root
libraries=$(echo "$root"/usr/lib/*-linux-gnu*)
loader=$(echo "$libraries"/ld-linux*.so.*)
export OPENSSL_CONF=${OPENSSL_CONF-$root/etc/ssl/openssl.cnf} OPENSSL_MODULES=${OPENSSL_MODULES-$libraries/ossl-modules}
exec "$loader" --library-path "$libraries" "$(command -v "$1")" "${@:2}"
WRAPPER
    cat >"$1/openssl" <<'WRAPPER'
#!/bin/bash
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$here/run" "$here/root/usr/bin/openssl" "$@"
WRAPPER
    chmod +x "$1/run" "$1/openssl"
}

mkdir -p "$top"
[[ $# -gt 0 ]] || set -- 3.5 3.6 4.0
status=0
for release; do
    if [[ ! -x $top/$release/openssl ]]; then
        # In a shell of its own, which `unavailable` or a failure ends; "if ! (" would switch off its -e.
        set +e
        (
            set -e
            rm -rf "${top:?}/$release.new"
            unpack "$release" "$top/$release.new"
            wrappers "$top/$release.new"
            mv "$top/$release.new" "$top/$release"
            rm -f "$top/$release.unavailable"
        )
        result=$?
        set -e
        case $result in
        0) ;;
        77) status=77; continue ;;
        *) exit "$result" ;;
        esac
    fi
    echo "$release: $("$top/$release/openssl" version)"
done
exit $status
