# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by run.sh and test.sh: brings what is missing through apt, as root or through sudo; elsewhere names it, and
# goes on as long as it is only a test that will be left out.
# A requirement is WHAT=PACKAGE, where WHAT is a command, a file, or a module of pkg-config (NAME.pc).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) # the project's folder
export PATH=$PATH:/usr/sbin:/sbin # nginx, sshd
export DEBIAN_FRONTEND=noninteractive

build_needs=(gcc=gcc make=make cmake=cmake pkg-config=pkg-config openssl=openssl
    /usr/include/stdlib.h=libc6-dev libcrypto.pc=libssl-dev)

# python3-cryptography and Node.js: programs under test; python3-cryptography-vectors: NIST's vectors.
test_needs=(cunit.pc=libcunit1-dev jansson.pc=libjansson-dev clang=clang valgrind=valgrind
    /usr/bin/python3=python3 /usr/lib/python3/dist-packages/cryptography=python3-cryptography
    /usr/lib/python3/dist-packages/cryptography_vectors=python3-cryptography-vectors
    nginx=nginx-light curl=curl sshd=openssh-server ssh=openssh-client npm=npm pgrep=procps
    qemu-x86_64=qemu-user aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu
    /usr/aarch64-linux-gnu/include/stdlib.h=libc6-dev-arm64-cross
    unshare=util-linux "/usr/share/keyrings/debian-archive-keyring.gpg=debian-archive-keyring")

setup_has() {
    case $1 in
    /*) [[ -e $1 ]] ;;
    *.pc) pkg-config --exists "${1%.pc}" 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# setup_missing REQUIREMENT... prints the packages that are still to be installed.
setup_missing() {
    local requirement
    for requirement; do
        setup_has "${requirement%=*}" || echo "${requirement##*=}"
    done
}

# setup_install REQUIREMENT...
setup_install() {
    local -a packages as_root=()
    mapfile -t packages < <(setup_missing "$@")
    [[ ${#packages[@]} -gt 0 ]] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "This machine has no apt; missing here (as Debian calls it): ${packages[*]}"
        return 0
    fi
    if [[ $EUID -ne 0 ]]; then
        command -v sudo >/dev/null || { echo "Missing, and no sudo to install it: ${packages[*]}"; return 0; }
        as_root=(sudo "DEBIAN_FRONTEND=$DEBIAN_FRONTEND")
    fi
    echo "Installing: ${packages[*]}"
    mkdir -p "$root/build"
    {
        "${as_root[@]}" apt-get -q update &&
            "${as_root[@]}" apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 install "${packages[@]}"
    } >"$root/build/apt.log" 2>&1 ||
        { tail -n 5 "$root/build/apt.log"; echo "Still missing: $(setup_missing "$@" | tr '\n' ' ')"; }
}

# setup_demand REQUIREMENT... ends the script where one is missing after all.
setup_demand() {
    local missing
    missing=$(setup_missing "$@" | tr '\n' ' ')
    [[ -z $missing ]] || { echo "Cannot go on without: $missing" >&2; exit 1; }
}

# build_release CMAKE-OPTION...
build_release() {
    cmake -S "$root" -B "$root/build" -DCMAKE_BUILD_TYPE=Release "$@" >/dev/null
    cmake --build "$root/build" -j "$(nproc)"
}
