#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tink's AES-GCM-HKDF streaming, written apart from libaesop to check it in both directions.

usage: tink_stream.py encrypt|decrypt HASH KEY_BYTES SEGMENT_BYTES KEY AAD [HEADER] < input > output

KEY and AAD are hexadecimal ("-" for none), KEY_BYTES the length of the derived key. HEADER fixes salt and prefix.
"""
import os
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

TAG = 16
PREFIX = 7
HASHES = {"SHA256": hashes.SHA256, "SHA512": hashes.SHA512}


class Stream:
    def __init__(self, hash_name, key_bytes, segment_bytes, key, aad):
        self.hash = HASHES[hash_name]
        self.key_bytes = key_bytes
        self.segment_bytes = segment_bytes
        self.key = key
        self.aad = aad
        self.header_bytes = 1 + key_bytes + PREFIX

    def gcm(self, salt):
        return AESGCM(HKDF(self.hash(), self.key_bytes, salt, self.aad).derive(self.key))

    @staticmethod
    def nonce(prefix, number, last):
        return prefix + number.to_bytes(4, "big") + (b"\1" if last else b"\0")

    def pieces(self, data, first, size):
        """Cuts data into a first piece and others; an empty one only if there is no data."""
        cuts = [0] + list(range(first, len(data), size)) + [len(data)]
        return list(zip(cuts, cuts[1:]))

    def encrypt(self, text, drawn=None):
        drawn = drawn or os.urandom(self.key_bytes + PREFIX)
        salt, prefix = drawn[: self.key_bytes], drawn[self.key_bytes :]
        gcm = self.gcm(salt)
        room = self.segment_bytes - TAG
        pieces = self.pieces(text, room - self.header_bytes, room)
        out = [bytes([self.header_bytes]), drawn]
        for number, (begin, end) in enumerate(pieces):
            out.append(gcm.encrypt(self.nonce(prefix, number, end == len(text)), text[begin:end], b""))
        return b"".join(out)

    def decrypt(self, stream):
        if len(stream) < self.header_bytes or stream[0] != self.header_bytes:
            raise ValueError("header")
        salt = stream[1 : 1 + self.key_bytes]
        prefix = stream[1 + self.key_bytes : self.header_bytes]
        gcm = self.gcm(salt)
        body = stream[self.header_bytes :]
        pieces = self.pieces(body, self.segment_bytes - self.header_bytes, self.segment_bytes)
        return b"".join(
            gcm.decrypt(self.nonce(prefix, number, end == len(body)), body[begin:end], b"")
            for number, (begin, end) in enumerate(pieces)
        )


def unhex(text):
    return b"" if text == "-" else bytes.fromhex(text)


def main(args):
    stream = Stream(args[2], int(args[3]), int(args[4]), unhex(args[5]), unhex(args[6]))
    data = sys.stdin.buffer.read()
    if args[1] == "encrypt":
        data = stream.encrypt(data, unhex(args[7]) if len(args) > 7 else None)
    else:
        data = stream.decrypt(data)
    sys.stdout.buffer.write(data)


main(sys.argv)
