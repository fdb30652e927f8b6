#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# OpenSSH over loopback with keys of its own: ssh and sshd, each with aesop (ours) and without (theirs). sshd uses the
# ciphers before authentication too, inside its system call filter, and re-executes itself for every connection.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
PATH=$PATH:/usr/sbin:/sbin
needs ssh sshd ssh-keygen openssl "${CC:-cc}"
needs_module
SSHD=$(command -v sshd) # it wants to be called by its whole path
[[ $(ldd "$SSHD") == *libcrypto* ]] || missing "sshd is not built on OpenSSL"
USER=$(id -un 2>/dev/null) || missing "this user has no name, without which ssh does nothing"
if [ "$(id -u)" -eq 0 ]; then
    # the empty folder that sshd of root locks itself into; Debian makes it when the service starts
    [ -d /run/sshd ] || mkdir -m 755 /run/sshd || missing "sshd has no /run/sshd"
    ! grep -q '^root:!' /etc/shadow || missing "root's account is locked, so sshd lets nobody in"
fi
build_probe
serves_check ours aesop

cd "$WORK" || exit 1
ssh-keygen -q -t ed25519 -N '' -f host_key
ssh-keygen -q -t ed25519 -N '' -f user_key
cp user_key.pub authorized_keys
chmod 600 authorized_keys
random_file big 6000011
BIG=$(digest <big)

CIPHERS="aes128-gcm@openssh.com aes256-gcm@openssh.com aes128-cbc aes192-cbc aes256-cbc"
cat >sshd_config <<CONF
ListenAddress 127.0.0.1
HostKey $WORK/host_key
PidFile none
AuthorizedKeysFile $WORK/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
Ciphers $(tr ' ' , <<<"$CIPHERS")
AcceptEnv none
KexAlgorithms curve25519-sha256
CONF
cat >ssh_config <<CONF
IdentityFile $WORK/user_key
IdentitiesOnly yes
BatchMode yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
GlobalKnownHostsFile /dev/null
CONF

# remote CLIENT CIPHER COMMAND...
remote() {
    local client=$1 cipher=$2
    shift 2
    $client timeout 60 ssh -F ssh_config -p "$PORT" -v -c "$cipher" "$USER@127.0.0.1" "$@" 2>ssh.log
}

for server in $SIDES; do
    serve_port sshd.log $server "$SSHD" -D -e -p PORT -f "$WORK/sshd_config" || {
        fail "sshd starts: $server" sshd.log.err
        continue
    }
    pass "sshd starts: $server"
    case $server in ours) expected=1 ;; *) expected=0 ;; esac
    # The parent of the remote command's shell is the process that encrypts.
    equal "sshd of a connection with the module: $server" $expected \
        "$(remote theirs aes128-gcm@openssh.com "grep -c -m 1 'aesop\.so' /proc/\$PPID/maps")"
    for client in $SIDES; do
        [ "$server$client" != theirstheirs ] || continue
        case $client in ours) expected=1 ;; *) expected=0 ;; esac
        # A local command is a child of ssh.
        remote $client aes128-gcm@openssh.com -o PermitLocalCommand=yes \
            -o LocalCommand="grep -c -m 1 'aesop\.so' /proc/\$PPID/maps >$WORK/mapped" true
        equal "sshd $server, ssh $client: ssh with the module" $expected "$(cat mapped)"
        for cipher in $CIPHERS; do
            name="sshd $server, ssh $client, $cipher"
            equal "$name: download" "$BIG" "$(remote $client "$cipher" "tee $WORK/received" <big | digest)"
            equal "$name: upload" "$BIG" "$(digest <received)"
            contains "$name is what was used" "cipher: $cipher" "$(cat ssh.log)"
        done
        # Re-keying in the middle: new contexts, old ones freed.
        for cipher in aes128-gcm@openssh.com aes256-cbc; do
            equal "sshd $server, ssh $client, $cipher: a new key every 2 MB" "$BIG" \
                "$(remote $client $cipher -o RekeyLimit=2M tee /dev/null <big | digest)"
            check "... and there were new keys" [ "$(grep -c 'SSH2_MSG_NEWKEYS sent' ssh.log)" -ge 3 ]
        done
    done
    stop_server
done

# A private key under a password is AES-CBC (PEM) inside libcrypto, AES-CTR or -CBC (OpenSSH's own form) through it.
for writer in $SIDES; do
    for reader in $SIDES; do
        for form in PEM PKCS8 OPENSSH; do
            rm -f locked*
            options=(-m "$form")
            [ $form != OPENSSH ] || options=(-Z aes256-gcm@openssh.com)
            $writer ssh-keygen -q -t ecdsa "${options[@]}" -N correct -f locked
            equal "ssh-keygen, $form key of $writer read by $reader" "$(cut -d' ' -f2 locked.pub)" \
                "$($reader ssh-keygen -y -P correct -f locked | cut -d' ' -f2)"
            refused "ssh-keygen, $form key of $writer, wrong password, $reader" $reader ssh-keygen -y -P wrong -f locked
        done
    done
done
finish
