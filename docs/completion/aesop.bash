# SPDX-License-Identifier: Apache-2.0
# Completion of aesop for bash. What there is to choose comes from the command's own --help.

_aesop() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} choice=
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        choice=$(aesop --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
    else
        case $previous in
        -c | --cipher) choice="AES-128-GCM AES-256-GCM ChaCha20-Poly1305" ;;
        -p | --pass) choice="pass: env: file: fd: stdin" ;;
        --kernel) choice="auto vaes512 vaes256 aesni" ;;
        -a | --aad | -s | --segment-size | -j | --threads | --work-factor) return ;;
        *) [[ $word != -* ]] || choice=$(aesop "$command" --help 2>/dev/null | grep -Eo -- '--[a-z-]+' | sort -u) ;;
        esac
    fi
    if [[ -n $choice ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$choice" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _aesop aesop
