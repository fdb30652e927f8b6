/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libcrypto itself makes of the ciphers that a context offers: CMAC (AES-CBC, by EVP_Cipher and re-init without a
 * key), GMAC (AES-GCM without a text), what is built upon them (KBKDF, AES-SIV), and envelopes (EVP_SealInit).
 */
#include "support.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rsa.h>

#include "check.h"

enum { OURS, ORACLE, SIDES, TEXT_BYTES = 600, TAG_BYTES = 16, KINDS = 3 };

static const char *const cbc_names[KINDS] = { "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };
static const char *const gcm_names[KINDS] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM" };
static const char *const siv_names[KINDS] = { "AES-128-SIV", "AES-192-SIV", "AES-256-SIV" };

static OSSL_LIB_CTX *contexts[SIDES];
static unsigned char text[TEXT_BYTES], key[64];

static size_t key_bytes(size_t kind)
{
    return 16 + 8 * kind;
}

/* ---- MACs ---- */

/* In pieces of step bytes, twice under one key; the second time a copy of the context goes on from half the text. */
static int make_mac(OSSL_LIB_CTX *ctx, unsigned char tag[TAG_BYTES], const char *name, const char *cipher,
                    size_t key_len, const OSSL_PARAM *iv, size_t len, size_t step)
{
    EVP_MAC *mac = EVP_MAC_fetch(ctx, name, NULL);
    EVP_MAC_CTX *m = EVP_MAC_CTX_new(mac);
    const OSSL_PARAM params[] = { OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)cipher, strlen(cipher)),
                                  iv != NULL ? *iv : (OSSL_PARAM)OSSL_PARAM_END, OSSL_PARAM_END };
    size_t tag_len = 0;
    int ok = 1;

    for (int round = 0; ok && round < 2; round++) {
        ok = EVP_MAC_init(m, round == 0 ? key : NULL, round == 0 ? key_len : 0, round == 0 ? params : params + 1);
        for (size_t at = 0; ok && at < len; at += step) {
            if (round == 1 && at >= len / 2 && at < len / 2 + step) {
                EVP_MAC_CTX *copy = EVP_MAC_CTX_dup(m);

                EVP_MAC_CTX_free(m);
                m = copy;
            }
            ok = EVP_MAC_update(m, text + at, len - at < step ? len - at : step);
        }
        ok = ok && EVP_MAC_final(m, tag, &tag_len, TAG_BYTES) && tag_len == TAG_BYTES;
    }
    EVP_MAC_CTX_free(m);
    EVP_MAC_free(mac);
    return ok;
}

static void compare_macs(const char *name, const char *const ciphers[KINDS], const OSSL_PARAM *iv)
{
    static const size_t steps[] = { 1, 7, 16, 64, TEXT_BYTES };

    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t len = 0; len < TEXT_BYTES; len += len < 70 ? 1 : 13)
            for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
                unsigned char tags[SIDES][TAG_BYTES] = { { 0 } };

                for (int side = 0; side < SIDES; side++)
                    CHECK(make_mac(contexts[side], tags[side], name, ciphers[kind], key_bytes(kind), iv, len, steps[s]),
                          "%s with %s, side %d, %zu bytes", name, ciphers[kind], side, len);
                CHECK(memcmp(tags[OURS], tags[ORACLE], TAG_BYTES) == 0, "%s with %s, %zu bytes in pieces of %zu", name,
                      ciphers[kind], len, steps[s]);
            }
}

static void test_cmac(void)
{
    compare_macs("CMAC", cbc_names, NULL);
}

static void test_gmac(void)
{
    static const size_t iv_bytes[] = { 12, 1, 16, 60 };

    for (size_t i = 0; i < sizeof iv_bytes / sizeof iv_bytes[0]; i++)
        compare_macs("GMAC", gcm_names,
                     &(const OSSL_PARAM)OSSL_PARAM_octet_string(OSSL_MAC_PARAM_IV, text + 3, iv_bytes[i]));
}

/* ---- upon CMAC ---- */

static void test_kbkdf(void)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        const OSSL_PARAM params[] = { OSSL_PARAM_utf8_string(OSSL_KDF_PARAM_MAC, "CMAC", 4),
                                      OSSL_PARAM_utf8_string(OSSL_KDF_PARAM_CIPHER, (char *)cbc_names[kind], 11),
                                      OSSL_PARAM_octet_string(OSSL_KDF_PARAM_KEY, key, key_bytes(kind)),
                                      OSSL_PARAM_octet_string(OSSL_KDF_PARAM_INFO, text, 20), OSSL_PARAM_END };
        unsigned char derived[SIDES][100] = { { 0 } };

        for (int side = 0; side < SIDES; side++) {
            EVP_KDF *kdf = EVP_KDF_fetch(contexts[side], "KBKDF", NULL);
            EVP_KDF_CTX *k = EVP_KDF_CTX_new(kdf);

            CHECK(EVP_KDF_derive(k, derived[side], sizeof derived[side], params) > 0, "KBKDF with %s, side %d",
                  cbc_names[kind], side);
            EVP_KDF_CTX_free(k);
            EVP_KDF_free(kdf);
        }
        CHECK(memcmp(derived[OURS], derived[ORACLE], sizeof derived[OURS]) == 0, "KBKDF with %s", cbc_names[kind]);
    }
}

static int make_siv(OSSL_LIB_CTX *ctx, unsigned char tag[TAG_BYTES], unsigned char *out, const char *name, int len)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, name, NULL);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n, ok = EVP_EncryptInit_ex(c, cipher, NULL, key, NULL) && EVP_EncryptUpdate(c, NULL, &n, text, 40) &&
                EVP_EncryptUpdate(c, out, &n, text, len) && EVP_EncryptFinal_ex(c, out + n, &n) &&
                EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag) > 0;

    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    return ok;
}

static void test_siv(void)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        for (int len = 1; len < 200; len++) {
            unsigned char tags[SIDES][TAG_BYTES] = { { 0 } }, out[SIDES][200] = { { 0 } };

            for (int side = 0; side < SIDES; side++)
                CHECK(make_siv(contexts[side], tags[side], out[side], siv_names[kind], len), "%s, side %d, %d bytes",
                      siv_names[kind], side, len);
            CHECK(memcmp(tags[OURS], tags[ORACLE], TAG_BYTES) == 0 && memcmp(out[OURS], out[ORACLE], 200) == 0,
                  "%s, %d bytes", siv_names[kind], len);
        }
}

/* ---- envelopes: sealed by one side, opened by the other ---- */

static int envelope(EVP_CIPHER *const ciphers[SIDES], int sealer, EVP_PKEY *pkey)
{
    unsigned char wrapped[512], iv[EVP_MAX_IV_LENGTH], tag[TAG_BYTES], sealed[TEXT_BYTES + 16], back[TEXT_BYTES + 16];
    unsigned char *wrapped_keys[] = { wrapped };
    const int gcm = EVP_CIPHER_get_mode(ciphers[0]) == EVP_CIPH_GCM_MODE;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int wrapped_len, len, end, ok;

    ok = EVP_SealInit(c, ciphers[sealer], wrapped_keys, &wrapped_len, iv, &pkey, 1) == 1 &&
         EVP_SealUpdate(c, sealed, &len, text, sizeof text) && EVP_SealFinal(c, sealed + len, &end) &&
         (!gcm || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag) > 0);
    EVP_CIPHER_CTX_reset(c);
    ok = ok && EVP_OpenInit(c, ciphers[!sealer], wrapped, wrapped_len, iv, pkey) &&
         EVP_OpenUpdate(c, back, &len, sealed, len + end) &&
         (!gcm || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag) > 0) &&
         EVP_OpenFinal(c, back + len, &end) && len + end == TEXT_BYTES && memcmp(back, text, sizeof text) == 0;
    EVP_CIPHER_CTX_free(c);
    return ok;
}

static void test_envelopes(void)
{
    EVP_PKEY *pkey = EVP_PKEY_Q_keygen(contexts[ORACLE], NULL, "RSA", (size_t)2048);

    for (size_t i = 0; i < 2 * KINDS; i++) {
        const char *name = i < KINDS ? cbc_names[i] : gcm_names[i - KINDS];
        EVP_CIPHER *ciphers[SIDES] = { support_fetch(contexts[OURS], name, "aesop"),
                                       support_fetch(contexts[ORACLE], name, "default") };

        for (int sealer = 0; sealer < SIDES; sealer++)
            CHECK(envelope(ciphers, sealer, pkey), "%s, sealed by side %d", name, sealer);
        for (int side = 0; side < SIDES; side++)
            EVP_CIPHER_free(ciphers[side]);
    }
    EVP_PKEY_free(pkey);
}

/* ---- CUnit ---- */

static int suite_open(void)
{
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, text, sizeof text);
    support_random_bytes(&random, key, sizeof key);
    contexts[OURS] = support_ctx_chosen();
    contexts[ORACLE] = support_ctx_default();
    return contexts[OURS] == NULL || contexts[ORACLE] == NULL;
}

static int suite_close(void)
{
    support_ctx_free(contexts[OURS]);
    support_ctx_free(contexts[ORACLE]);
    return 0;
}

int main(int argc, char **argv)
{
    static CU_TestInfo tests[] = {
        { "CMAC", test_cmac }, { "GMAC", test_gmac },           { "KBKDF", test_kbkdf },
        { "SIV", test_siv },   { "envelopes", test_envelopes }, CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "inside", suite_open, suite_close, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return support_main(argc, argv, suites);
}
