# SPDX-License-Identifier: Apache-2.0
"""Asks the one libcrypto of this process who serves AES, before and after cryptography and ssl were loaded.

Usage: python_serves.py PROVIDER
"""
import ctypes
import re
import sys

CIPHERS = [f"AES-{bits}-{mode}" for bits in (128, 192, 256) for mode in ("GCM", "CBC")]


def library(path):
    lib = ctypes.CDLL(path)
    lib.EVP_CIPHER_fetch.restype = ctypes.c_void_p
    lib.EVP_CIPHER_fetch.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    lib.EVP_CIPHER_get0_provider.restype = ctypes.c_void_p
    lib.EVP_CIPHER_get0_provider.argtypes = [ctypes.c_void_p]
    lib.EVP_CIPHER_free.argtypes = [ctypes.c_void_p]
    lib.OSSL_PROVIDER_get0_name.restype = ctypes.c_char_p
    lib.OSSL_PROVIDER_get0_name.argtypes = [ctypes.c_void_p]
    lib.OSSL_PROVIDER_available.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    return lib


def serving(lib, name):
    cipher = lib.EVP_CIPHER_fetch(None, name.encode(), None)
    if not cipher:
        return "none"
    provider = lib.OSSL_PROVIDER_get0_name(lib.EVP_CIPHER_get0_provider(cipher)).decode()
    lib.EVP_CIPHER_free(cipher)
    return provider


def libcryptos():
    """The libcrypto files that are mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return {line.split()[-1] for line in maps if re.search(r"/libcrypto[^/]*\.so", line)}


def main():
    expected = sys.argv[1]
    import hashlib, ssl  # noqa: E401  what loads libcrypto first in most programs
    from cryptography.hazmat.backends.openssl import backend
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    AESGCM(bytes(16)).encrypt(bytes(12), b"", b"")
    hashlib.sha256()
    ssl.create_default_context()
    paths = libcryptos()
    assert len(paths) == 1, f"more than one libcrypto: {paths}"
    lib = library(paths.pop())
    assert backend.openssl_version_text() == ssl.OPENSSL_VERSION
    for name in CIPHERS:
        got = serving(lib, name)
        print(name, got)
        assert got == expected, f"{name} is served by {got}, not by {expected}"
    assert serving(lib, "AES-128-CTR") == "default"
    assert lib.OSSL_PROVIDER_available(None, b"aesop") == (expected == "aesop")
    assert lib.OSSL_PROVIDER_available(None, b"default") == 1


main()
