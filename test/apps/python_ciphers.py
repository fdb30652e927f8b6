# SPDX-License-Identifier: Apache-2.0
"""AES through python's cryptography, and hashlib. Prints what has to be equal whichever provider serves."""
import hashlib
import os

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes, padding, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SIZES = (0, 1, 15, 16, 17, 255, 256, 1350, 4096, 16384, 100003, 2000003)


def octets(count, seed):
    return hashlib.shake_128(str(seed).encode()).digest(count)


def short(data):
    return hashlib.sha256(data).hexdigest()[:16]


def raised(call, *args):
    """The type and text of what a call raises."""
    try:
        call(*args)
    except Exception as error:  # any kind: the kind is what is printed
        return f"{type(error).__module__}.{type(error).__name__}({error})"
    return "nothing"


def gcm_one_shot():
    for bits in (128, 192, 256):
        aead = AESGCM(octets(bits // 8, bits))
        for size in SIZES:
            nonce, aad, text = octets(12, size), octets(size % 41, "aad"), octets(size, "text")
            sealed = aead.encrypt(nonce, text, aad)
            assert aead.decrypt(nonce, sealed, aad) == text
            print("AESGCM", bits, size, short(sealed))
            for what, wrong in (
                ("tag", sealed[:-1] + bytes([sealed[-1] ^ 1])),
                ("first byte", bytes([sealed[0] ^ 128]) + sealed[1:]),
                ("cut", sealed[:-1]),
            ):
                got = raised(aead.decrypt, nonce, wrong, aad)
                assert got.startswith(InvalidTag.__module__ + ".InvalidTag"), got
                print("  wrong", what, got)
            print("  wrong aad", raised(aead.decrypt, nonce, sealed, aad + b"x"))
        for nonce_bytes in (8, 12, 13, 16, 64, 128):
            print("AESGCM nonce", bits, nonce_bytes, short(aead.encrypt(octets(nonce_bytes, 1), b"text", b"aad")))


def run(context, data, pieces):
    """update() over data cut at varying places, then finalize()."""
    out, at, step = b"", 0, 1
    while at < len(data):
        out += context.update(data[at : at + step])
        at += step
        step = step * pieces % 8191 + 1
    return out + context.finalize()


def gcm_streaming():
    for bits in (128, 192, 256):
        key = octets(bits // 8, "stream")
        for size in SIZES:
            text, iv = octets(size, "stream"), octets(12, size)
            encryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).encryptor()
            encryptor.authenticate_additional_data(b"one, ")
            encryptor.authenticate_additional_data(b"two")
            sealed = run(encryptor, text, 7)
            tag = encryptor.tag
            print("GCM", bits, size, short(sealed), tag.hex())
            # the tag at the start, or only at the end; and shorter ones
            for tag_bytes in (16, 12, 4):
                mode = modes.GCM(iv, tag[:tag_bytes], min_tag_length=4)
                decryptor = Cipher(algorithms.AES(key), mode).decryptor()
                decryptor.authenticate_additional_data(b"one, two")
                assert run(decryptor, sealed, 3) == text
            decryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).decryptor()
            decryptor.authenticate_additional_data(b"one, two")
            assert decryptor.update(sealed) + decryptor.finalize_with_tag(tag) == text
            decryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).decryptor()
            decryptor.authenticate_additional_data(b"one, tw0")
            decryptor.update(sealed)
            print("  wrong aad", raised(decryptor.finalize_with_tag, tag))
            decryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).decryptor()
            decryptor.update(sealed)
            print("  no tag", raised(decryptor.finalize))
        into = bytearray(4096 + 15)
        encryptor = Cipher(algorithms.AES(key), modes.GCM(octets(12, 5))).encryptor()
        count = encryptor.update_into(octets(4096, "into"), into)
        encryptor.finalize()
        print("GCM update_into", bits, count, short(bytes(into[:count])))


def cbc():
    for bits in (128, 192, 256):
        for size in SIZES:
            cipher = Cipher(algorithms.AES(octets(bits // 8, "cbc")), modes.CBC(octets(16, size)))
            padder = padding.PKCS7(128).padder()
            padded = padder.update(octets(size, "cbc")) + padder.finalize()
            sealed = run(cipher.encryptor(), padded, 5)
            assert run(cipher.decryptor(), sealed, 11) == padded
            print("CBC", bits, size, short(sealed))
            print("  not whole blocks", raised(run, cipher.encryptor(), padded[:-1], 5))
            print("  not whole blocks", raised(run, cipher.decryptor(), sealed[:-1], 5))


def fernet():
    """AES-128-CBC with HMAC."""
    box = Fernet(Fernet.generate_key())
    token = box.encrypt(b"message")
    assert box.decrypt(token) == b"message"
    got = raised(box.decrypt, token[:-2] + (b"AA" if token[-2:] != b"AA" else b"BB"))
    assert InvalidToken.__name__ in got
    print("Fernet", got)


def keys():
    """Encrypted PEM, which libcrypto does by itself through the same ciphers."""
    key = ec.generate_private_key(ec.SECP256R1())
    plain = key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for form in (serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL):
        pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.BestAvailableEncryption(b"correct"))
        back = serialization.load_pem_private_key(pem, b"correct")
        assert plain == back.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        # Whether a wrong key meets valid padding is chance, so the kind of error is not compared.
        assert raised(serialization.load_pem_private_key, pem, b"wrong").startswith("builtins.ValueError(")
        print("PEM", form)


def digests():
    for name in ("md5", "sha1", "sha256", "sha384", "sha512", "sha3_256", "blake2b"):
        print(name, hashlib.new(name, b"text").hexdigest())
    print("pbkdf2", hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000).hex())
    print("scrypt", hashlib.scrypt(b"password", salt=b"salt", n=16, r=8, p=1).hex())
    digest = hashes.Hash(hashes.SHA256())
    digest.update(b"text")
    print("hashes", digest.finalize().hex())
    assert len(os.urandom(16)) == 16


gcm_one_shot()
gcm_streaming()
cbc()
fernet()
keys()
digests()
print("done")
