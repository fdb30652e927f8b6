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

/* Who holds secrets in the course of it. */
struct hmac {
    const struct aesop_hash *hash;
    union state inner, outer;
    uint8_t ipad[SHA512_CBLOCK], opad[SHA512_CBLOCK], digest[SHA512_DIGEST_LENGTH];
};

/* RFC 2104 over the pieces in turn. out may be one of them. */
static void hmac(struct hmac *h, uint8_t *out, const uint8_t *key, size_t key_len, const struct piece *pieces,
                 size_t count)
{
    const struct aesop_hash *hash = h->hash;

    memset(h->ipad, 0x36, sizeof h->ipad);
    memset(h->opad, 0x5c, sizeof h->opad);
    if (key_len > hash->block_bytes) {
        hash->init(&h->inner);
        hash->update(&h->inner, key, key_len);
        hash->final(&h->inner, h->digest);
        key = h->digest;
        key_len = hash->bytes;
    }
    for (size_t i = 0; i < key_len; i++) {
        h->ipad[i] ^= key[i];
        h->opad[i] ^= key[i];
    }
    /* Side by side: a processor works on both, as neither waits for the other. */
    hash->init(&h->inner);
    hash->init(&h->outer);
    hash->update(&h->inner, h->ipad, hash->block_bytes);
    hash->update(&h->outer, h->opad, hash->block_bytes);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].len > 0)
            hash->update(&h->inner, pieces[i].data, pieces[i].len);
    hash->final(&h->inner, h->digest);
    hash->update(&h->outer, h->digest, hash->bytes);
    hash->final(&h->outer, out);
}

void aesop_hkdf(const struct aesop_hash *hash, uint8_t *out, size_t out_len, const uint8_t *key, size_t key_len,
                const uint8_t *salt, size_t salt_len, const uint8_t *info, size_t info_len)
{
    struct {
        struct hmac hmac;
        uint8_t prk[SHA512_DIGEST_LENGTH], t[SHA512_DIGEST_LENGTH];
    } secret;

    secret.hmac.hash = hash;
    /* RFC 5869, 2.2 and 2.3 */
    hmac(&secret.hmac, secret.prk, salt, salt_len, &(const struct piece){ key, key_len }, 1);
    for (uint8_t i = 1; out_len > 0; i++) {
        const struct piece pieces[] = { { secret.t, i > 1 ? hash->bytes : 0 }, { info, info_len }, { &i, 1 } };
        const size_t n = out_len < hash->bytes ? out_len : hash->bytes;

        hmac(&secret.hmac, secret.t, secret.prk, hash->bytes, pieces, 3);
        memcpy(out, secret.t, n);
        out += n;
        out_len -= n;
    }
    OPENSSL_cleanse(&secret, sizeof secret);
}
