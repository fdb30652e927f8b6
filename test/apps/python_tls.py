# SPDX-License-Identifier: Apache-2.0
"""ssl: client and server of one process, joined by MemoryBIOs. Prints what has to be equal whichever provider serves.

Usage: python_tls.py FOLDER   (with cert.pem and key.pem)
"""
import hashlib
import ssl
import sys

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SUITES = (
    (TLS12, "ECDHE-RSA-AES128-GCM-SHA256"),
    (TLS12, "ECDHE-RSA-AES256-GCM-SHA384"),
    (TLS12, "ECDHE-RSA-AES256-SHA384"),
    (TLS12, "ECDHE-RSA-AES128-SHA"),
    (TLS13, None),
)


class End:
    """One end of a connection, with what it sends and receives in memory."""

    def __init__(self, context, **options):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, **options)

    def attempt(self, call, *args):
        """The call's result, or None where it wants more data."""
        try:
            return call(*args)
        except ssl.SSLWantReadError:
            return None


def carry(source, target, spoil=False):
    data = bytearray(source.outgoing.read())
    if spoil:
        data[-1] ^= 1
    target.incoming.write(bytes(data))


def contexts(folder, version, suite):
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=f"{folder}/cert.pem")
    server.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    for context in (server, client):
        context.minimum_version = context.maximum_version = version
        if suite is not None:
            context.set_ciphers(suite)
    return server, client


def handshake(folder, version, suite):
    server_context, client_context = contexts(folder, version, suite)
    server = End(server_context, server_side=True)
    client = End(client_context, server_hostname="localhost")
    for _ in range(4):
        client.attempt(client.tls.do_handshake)
        carry(client, server)
        server.attempt(server.tls.do_handshake)
        carry(server, client)
    assert client.tls.version() == server.tls.version() and client.tls.cipher() == server.tls.cipher()
    return server, client


def transfer(sender, receiver, data):
    sender.tls.write(data)
    carry(sender, receiver)
    received = b""
    while len(received) < len(data):
        received += receiver.tls.read(65536)
    assert received == data


def main(folder):
    for version, suite in SUITES:
        server, client = handshake(folder, version, suite)
        print(*client.tls.cipher())
        for size in (1, 100, 16383, 16384, 16385, 1000003):
            data = hashlib.shake_128(str(size).encode()).digest(size)
            transfer(client, server, data)
            transfer(server, client, data)
        client.tls.write(b"a record that is changed on its way")
        carry(client, server, spoil=True)
        try:
            server.tls.read(100)
            raise AssertionError("a changed record was accepted")
        except ssl.SSLError as error:
            print(" ", error.reason, error.strerror.split(" (_ssl")[0])
    print("done")


main(sys.argv[1])
