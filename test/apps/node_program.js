// SPDX-License-Identifier: Apache-2.0
// AES and TLS as programs for Node.js use them. Prints what has to be equal whichever provider serves.
// Usage: node_program.js FOLDER   (with cert.pem and key.pem)
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const { pipeline } = require('stream/promises');
const { Readable } = require('stream');
const tls = require('tls');

const folder = process.argv[2];
const SIZES = [0, 1, 15, 16, 17, 256, 1350, 16384, 100003, 3000017];

const octets = (count, seed) => crypto.createHash('shake128', { outputLength: Math.max(count, 1) })
    .update(String(seed)).digest().subarray(0, count);
const short = (data) => crypto.createHash('sha256').update(data).digest('hex').slice(0, 16);

// What a call throws. The text in front of "::" of an error of OpenSSL names the provider, so it is left out.
function thrown(call) {
    try {
        call();
    } catch (error) {
        return `${error.name} ${error.code} ${error.reason ?? error.message}`;
    }
    return 'nothing';
}

function sealGcm(bits, size, tagBytes) {
    const cipher = crypto.createCipheriv(`aes-${bits}-gcm`, octets(bits / 8, 'key'), octets(12, size),
        { authTagLength: tagBytes });
    cipher.setAAD(octets(13, 'aad'));
    const text = octets(size, 'text');
    const sealed = Buffer.concat([cipher.update(text.subarray(0, size >> 1)), cipher.update(text.subarray(size >> 1)),
        cipher.final()]);
    return { sealed, tag: cipher.getAuthTag() };
}

function openGcm(bits, size, sealed, tag, aad = octets(13, 'aad')) {
    const decipher = crypto.createDecipheriv(`aes-${bits}-gcm`, octets(bits / 8, 'key'), octets(12, size),
        { authTagLength: tag.length });
    decipher.setAAD(aad);
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed), decipher.final()]);
}

function gcm() {
    for (const bits of [128, 192, 256]) {
        for (const size of SIZES) {
            const { sealed, tag } = sealGcm(bits, size, 16);
            assert.deepStrictEqual(openGcm(bits, size, sealed, tag), octets(size, 'text'));
            console.log('gcm', bits, size, short(sealed), tag.toString('hex'));
            const wrong = Buffer.from(tag);
            wrong[15] ^= 1;
            console.log('  wrong tag:', thrown(() => openGcm(bits, size, sealed, wrong)));
            console.log('  wrong aad:', thrown(() => openGcm(bits, size, sealed, tag, Buffer.from('x'))));
        }
        for (const tagBytes of [4, 8, 12, 13, 14, 15]) {
            const { sealed, tag } = sealGcm(bits, 100, tagBytes);
            assert.deepStrictEqual(openGcm(bits, 100, sealed, tag), octets(100, 'text'));
            console.log('gcm tag', bits, tag.toString('hex'));
        }
        console.log('tag of 17:', thrown(() => sealGcm(bits, 1, 17)));
        for (const ivBytes of [1, 8, 16, 60]) {
            const cipher = crypto.createCipheriv(`aes-${bits}-gcm`, octets(bits / 8, 'key'), octets(ivBytes, 'iv'));
            console.log('gcm iv', ivBytes, cipher.update('text', 'utf8', 'hex') + cipher.final('hex'),
                cipher.getAuthTag().toString('hex'));
        }
        const untagged = crypto.createDecipheriv(`aes-${bits}-gcm`, octets(bits / 8, 'key'), octets(12, 0));
        untagged.update('text');
        console.log('no tag:', thrown(() => untagged.final()));
    }
}

function cbc() {
    for (const bits of [128, 192, 256]) {
        const make = (create, padding = true) =>
            crypto[create](`aes-${bits}-cbc`, octets(bits / 8, 'key'), octets(16, 'iv')).setAutoPadding(padding);
        const all = (cipher, data) => Buffer.concat([cipher.update(data), cipher.final()]);
        for (const size of SIZES) {
            const sealed = all(make('createCipheriv'), octets(size, 'text'));
            assert.deepStrictEqual(all(make('createDecipheriv'), sealed), octets(size, 'text'));
            console.log('cbc', bits, size, short(sealed));
            console.log('  cut:', thrown(() => all(make('createDecipheriv'), sealed.subarray(1))));
        }
        const unpadded = all(make('createCipheriv', false), octets(4096, 'text'));
        assert.deepStrictEqual(all(make('createDecipheriv', false), unpadded), octets(4096, 'text'));
        console.log('bad padding:', thrown(() => all(make('createDecipheriv'), unpadded)));
        console.log('not whole blocks:', thrown(() => all(make('createCipheriv', false), octets(17, 'text'))));
    }
}

async function streams() {
    const key = octets(32, 'key');
    const iv = octets(12, 'stream');
    const pieces = Array.from({ length: 40 }, (_, i) => octets(i * 997 % 65536, i));
    const cipher = crypto.createCipheriv('aes-256-gcm', key, iv);
    const decipher = crypto.createDecipheriv('aes-256-gcm', key, iv);
    const sealed = [];
    await pipeline(Readable.from(pieces), cipher, async (source) => {
        for await (const piece of source) sealed.push(piece);
    });
    decipher.setAuthTag(cipher.getAuthTag());
    const opened = [];
    await pipeline(Readable.from(sealed), decipher, async (source) => {
        for await (const piece of source) opened.push(piece);
    });
    assert.deepStrictEqual(Buffer.concat(opened), Buffer.concat(pieces));
    console.log('stream', short(Buffer.concat(sealed)));
}

// WebCrypto runs on the thread pool.
async function webCrypto() {
    for (const name of ['AES-GCM', 'AES-CBC']) {
        const key = await crypto.subtle.importKey('raw', octets(32, 'key'), name, false, ['encrypt', 'decrypt']);
        const parameters = { name, iv: octets(name === 'AES-GCM' ? 12 : 16, 'iv') };
        const texts = SIZES.map((size) => octets(size, 'web'));
        const sealed = await Promise.all(texts.map((text) => crypto.subtle.encrypt(parameters, key, text)));
        const opened = await Promise.all(sealed.map((data) => crypto.subtle.decrypt(parameters, key, data)));
        opened.forEach((data, i) => assert.deepStrictEqual(Buffer.from(data), Buffer.from(texts[i])));
        console.log(name, ...sealed.map((data) => short(Buffer.from(data))));
        const cut = sealed[3].slice(0, -1);
        await crypto.subtle.decrypt(parameters, key, cut).then(
            () => assert.fail('a cut message was accepted'),
            (error) => console.log('  cut:', error.name, error.message));
    }
}

function keys() {
    const { privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
    for (const cipher of ['aes-128-cbc', 'aes-256-cbc']) {
        const pem = privateKey.export({ type: 'pkcs8', format: 'pem', cipher, passphrase: 'correct' });
        assert(crypto.createPrivateKey({ key: pem, passphrase: 'correct' }).equals(privateKey));
        console.log('pkcs8', cipher);
    }
}

function transfer(version, ciphers) {
    const data = octets(3000017, version);
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => fs.readFileSync(path.join(folder, name)));
    const options = { minVersion: version, maxVersion: version, ciphers };
    return new Promise((resolve, reject) => {
        const server = tls.createServer({ key, cert, ...options }, (socket) => socket.pipe(socket));
        server.on('tlsClientError', reject);
        server.listen(0, '127.0.0.1', () => {
            const address = { port: server.address().port, host: '127.0.0.1', servername: 'localhost' };
            const client = tls.connect({ ...options, ...address, ca: cert }, () => client.end(data));
            const received = [];
            client.on('error', reject);
            client.on('data', (piece) => received.push(piece));
            client.on('end', () => {
                assert.deepStrictEqual(Buffer.concat(received), data);
                console.log(version, client.getCipher().standardName);
                server.close(resolve);
            });
        });
    });
}

async function main() {
    console.log(process.version, process.versions.openssl);
    console.log(crypto.getCiphers().join(' '));
    for (const name of ['aes-128-gcm', 'id-aes256-GCM', 'aes192', 'aes-256-cbc']) {
        console.log(JSON.stringify(crypto.getCipherInfo(name)));
    }
    console.log(short(octets(1000, 'digest')), crypto.createHmac('sha512', 'key').update('text').digest('hex'));
    gcm();
    cbc();
    await streams();
    await webCrypto();
    keys();
    await transfer('TLSv1.2', 'ECDHE-RSA-AES128-GCM-SHA256');
    await transfer('TLSv1.2', 'ECDHE-RSA-AES256-GCM-SHA384');
    await transfer('TLSv1.2', 'ECDHE-RSA-AES256-SHA384');
    await transfer('TLSv1.3', 'TLS_AES_128_GCM_SHA256');
    await transfer('TLSv1.3', 'TLS_AES_256_GCM_SHA384');
    console.log('done');
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
