/* SPDX-License-Identifier: Apache-2.0 */
/* Deprecated, not removed: 3.0 to 4.0 export them. EVP's own path to them allocates. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "streams/hkdf.h"

#include <string.h>
#include <strings.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

union state {
    SHA_CTX sha1;
    SHA256_CTX sha256;
    SHA512_CTX sha512;
};

struct aesop_hash {
    const char *names[3];
    size_t bytes, block_bytes;
    void (*init)(union state *s);
    void (*update)(union state *s, const void *data, size_t len);
    void (*final)(union state *s, uint8_t *out);
};

static void sha1_init(union state *s)
{
    SHA1_Init(&s->sha1);
}

static void sha1_update(union state *s, const void *data, size_t len)
{
    SHA1_Update(&s->sha1, data, len);
}

static void sha1_final(union state *s, uint8_t *out)
{
    SHA1_Final(out, &s->sha1);
}

static void sha256_init(union state *s)
{
    SHA256_Init(&s->sha256);
}

static void sha256_update(union state *s, const void *data, size_t len)
{
    SHA256_Update(&s->sha256, data, len);
}

static void sha256_final(union state *s, uint8_t *out)
{
    SHA256_Final(out, &s->sha256);
}

static void sha512_init(union state *s)
{
    SHA512_Init(&s->sha512);
}

static void sha512_update(union state *s, const void *data, size_t len)
{
    SHA512_Update(&s->sha512, data, len);
}

static void sha512_final(union state *s, uint8_t *out)
{
    SHA512_Final(out, &s->sha512);
}

static const struct aesop_hash hashes[] = {
    { { "SHA1", "SHA-1", "SHA1" }, SHA_DIGEST_LENGTH, SHA_CBLOCK, sha1_init, sha1_update, sha1_final },
    { { "SHA256", "SHA2-256", "SHA-256" },
      SHA256_DIGEST_LENGTH,
      SHA256_CBLOCK,
      sha256_init,
      sha256_update,
      sha256_final },
    { { "SHA512", "SHA2-512", "SHA-512" },
      SHA512_DIGEST_LENGTH,
      SHA512_CBLOCK,
      sha512_init,
      sha512_update,
      sha512_final },
};

const struct aesop_hash *aesop_hash_find(const char *name)
{
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++)
        for (size_t j = 0; j < 3; j++)
            if (strcasecmp(name, hashes[i].names[j]) == 0)
                return &hashes[i];
    return NULL;
}

struct piece {
    const uint8_t *data;
    size_t len;
};

/* RFC 2104 over the pieces in turn. out may be one of them. */
static void hmac(const struct aesop_hash *hash, uint8_t *out, const uint8_t *key, size_t key_len,
                 const struct piece *pieces, size_t count)
{
    uint8_t block[SHA512_CBLOCK] = { 0 }, inner[SHA512_DIGEST_LENGTH];
    union state s;

    if (key_len > hash->block_bytes) {
        hash->init(&s);
        hash->update(&s, key, key_len);
        hash->final(&s, block);
    } else if (key_len > 0) {
        memcpy(block, key, key_len);
    }
    for (size_t i = 0; i < hash->block_bytes; i++)
        block[i] ^= 0x36;
    hash->init(&s);
    hash->update(&s, block, hash->block_bytes);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].len > 0)
            hash->update(&s, pieces[i].data, pieces[i].len);
    hash->final(&s, inner);
    for (size_t i = 0; i < hash->block_bytes; i++)
        block[i] ^= 0x36 ^ 0x5c;
    hash->init(&s);
    hash->update(&s, block, hash->block_bytes);
    hash->update(&s, inner, hash->bytes);
    hash->final(&s, out);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(&s, sizeof s);
}

void aesop_hkdf(const struct aesop_hash *hash, uint8_t *out, size_t out_len, const uint8_t *key, size_t key_len,
                const uint8_t *salt, size_t salt_len, const uint8_t *info, size_t info_len)
{
    uint8_t prk[SHA512_DIGEST_LENGTH], t[SHA512_DIGEST_LENGTH];

    /* RFC 5869, 2.2 and 2.3 */
    hmac(hash, prk, salt, salt_len, &(const struct piece){ key, key_len }, 1);
    for (uint8_t i = 1; out_len > 0; i++) {
        const struct piece pieces[] = { { t, i > 1 ? hash->bytes : 0 }, { info, info_len }, { &i, 1 } };
        const size_t n = out_len < hash->bytes ? out_len : hash->bytes;

        hmac(hash, t, prk, hash->bytes, pieces, 3);
        memcpy(out, t, n);
        out += n;
        out_len -= n;
    }
    OPENSSL_cleanse(prk, sizeof prk);
    OPENSSL_cleanse(t, sizeof t);
}
