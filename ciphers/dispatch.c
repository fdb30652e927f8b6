/* SPDX-License-Identifier: Apache-2.0 */
#include "ciphers/dispatch.h"

#include <string.h>

#include "ciphers/chunk.h"
#include "ciphers/cpu.h"

const struct aesop_kernel_choice aesop_kernel_choices[] = {
#if defined(__x86_64__)
    { &aesop_kernels_vaes512, AESOP_CPU_AESNI | AESOP_CPU_AVX2 | AESOP_CPU_VAES | AESOP_CPU_AVX512 },
    { &aesop_kernels_vaes256_schoolbook, AESOP_CPU_AESNI | AESOP_CPU_AVX2 | AESOP_CPU_VAES | AESOP_CPU_FAST_CLMUL },
    { &aesop_kernels_vaes256, AESOP_CPU_AESNI | AESOP_CPU_AVX2 | AESOP_CPU_VAES },
    { &aesop_kernels_aesni, AESOP_CPU_AESNI },
#endif
    { NULL, 0 },
};

#define NARROW_KERNELS "aesni"

/*
 * Known answers, made with another implementation. Every input is a pattern: byte i is i * step + i / 256, with the
 * steps below. The lengths go through several spans of GHASH, every kind of tail and both ways to J0.
 */
enum { KEY_STEP = 7, IV_STEP = 11, AAD_STEP = 13, TEXT_STEP = 3, AAD_BYTES = 45, MAX_TEXT_BYTES = 4331 };

static const struct known_answer {
    size_t key_bytes, text_bytes, iv_bytes;
    uint8_t gcm_tag[16];
    uint8_t cbc_last[16]; /* the last ciphertext block of the text's whole blocks */
} known_answers[] = {
    { 16,
      4331,
      12,
      { 0x78, 0x43, 0x83, 0x1b, 0x73, 0x66, 0x0f, 0x48, 0x4f, 0x85, 0x7a, 0xe1, 0x80, 0xc4, 0x8d, 0x34 },
      { 0xc2, 0x59, 0xb8, 0x28, 0xf3, 0x06, 0x20, 0xd6, 0xb6, 0x9b, 0xb6, 0x15, 0x54, 0xaf, 0x3c, 0xc2 } },
    { 16,
      77,
      12,
      { 0xef, 0x49, 0x8e, 0xae, 0xad, 0xb6, 0xfe, 0x99, 0xf1, 0x81, 0x42, 0x35, 0xb8, 0x7b, 0x5c, 0x2a },
      { 0x85, 0x45, 0x85, 0xf0, 0x7d, 0xd2, 0xcf, 0xbe, 0x7b, 0xd1, 0x38, 0xdc, 0x79, 0xbf, 0x29, 0xce } },
    { 16,
      409,
      19,
      { 0x83, 0x37, 0x3c, 0xf1, 0x64, 0x56, 0x37, 0x70, 0x57, 0x52, 0x3f, 0x83, 0x20, 0xca, 0x20, 0xb3 },
      { 0x0d, 0xd3, 0xf8, 0x78, 0xc5, 0xc0, 0x5e, 0xd1, 0xf7, 0x04, 0x3b, 0x9a, 0x72, 0x34, 0x44, 0xbf } },
    { 24,
      4331,
      12,
      { 0x76, 0xd0, 0xd4, 0x7a, 0xbe, 0x40, 0x16, 0x23, 0x92, 0xce, 0xd1, 0x2f, 0x6a, 0xbd, 0x9c, 0x3c },
      { 0xd8, 0x4d, 0xdb, 0x97, 0x04, 0x89, 0x20, 0xd1, 0x21, 0x07, 0xac, 0xf4, 0x79, 0x3d, 0xa9, 0xa2 } },
    { 24,
      77,
      12,
      { 0xdc, 0xf0, 0x46, 0xeb, 0x92, 0x3f, 0x93, 0x9c, 0x0a, 0x77, 0x41, 0x58, 0x6a, 0xe9, 0x4d, 0xd4 },
      { 0x84, 0x94, 0x84, 0xcd, 0x51, 0x84, 0x5b, 0xea, 0xff, 0x7e, 0xd7, 0x8b, 0x17, 0x60, 0x23, 0x1a } },
    { 24,
      409,
      19,
      { 0xca, 0x7c, 0x0f, 0x91, 0x57, 0x5c, 0x73, 0x44, 0x20, 0xc0, 0xf6, 0x45, 0xb9, 0x23, 0x4d, 0xe4 },
      { 0x69, 0x1f, 0x89, 0xed, 0x6b, 0x25, 0x29, 0x92, 0x2d, 0xc9, 0x9f, 0x46, 0x98, 0x90, 0x4b, 0x5c } },
    { 32,
      4331,
      12,
      { 0xf3, 0x8b, 0x4c, 0x0a, 0x22, 0x07, 0xd1, 0x33, 0xa5, 0xc4, 0xce, 0xc2, 0xdc, 0x07, 0x73, 0x6d },
      { 0x2a, 0xa6, 0xfc, 0x24, 0xc4, 0xa5, 0x47, 0x24, 0xec, 0x1f, 0x62, 0xde, 0xff, 0x61, 0x80, 0xc7 } },
    { 32,
      77,
      12,
      { 0x29, 0x07, 0xd6, 0xb7, 0x35, 0x68, 0x77, 0xb3, 0xbd, 0xd8, 0xed, 0xbd, 0xcd, 0x0e, 0x14, 0xfc },
      { 0xb2, 0x65, 0x44, 0x0a, 0xa8, 0xef, 0xa1, 0x03, 0x13, 0x7d, 0x3a, 0xba, 0x35, 0xce, 0xdc, 0xa1 } },
    { 32,
      409,
      19,
      { 0xe2, 0xba, 0xdf, 0x6d, 0x66, 0x6f, 0x27, 0xf3, 0x4e, 0x5f, 0x09, 0xcd, 0x90, 0xc4, 0xbd, 0x98 },
      { 0x48, 0x26, 0xcf, 0x2e, 0x1f, 0x30, 0x98, 0xdb, 0xd5, 0x40, 0x3d, 0x86, 0x86, 0xbf, 0xf0, 0x67 } },
};

static void fill(uint8_t *out, size_t len, unsigned step)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(i * step + i / 256);
}

/* all_powers: as if the key had served for long. */
static int gcm_answers(const struct aesop_dispatch *d, const struct known_answer *a, const uint8_t *text,
                       int all_powers)
{
    struct aesop_gcm gcm;
    uint8_t key[32], iv[32], aad[AAD_BYTES], tag[16];
    _Alignas(64) uint8_t out[MAX_TEXT_BYTES], again[MAX_TEXT_BYTES];
    int ok;

    fill(key, a->key_bytes, KEY_STEP);
    fill(iv, a->iv_bytes, IV_STEP);
    fill(aad, sizeof aad, AAD_STEP);
    aesop_gcm_set_key(d, &gcm, key, a->key_bytes);
    if (all_powers)
        d->kernels->gcm_powers(&gcm.key, d->kernels->max_powers);

    aesop_gcm_start(d, &gcm, iv, a->iv_bytes);
    ok = aesop_gcm_aad(d, &gcm, aad, sizeof aad) && aesop_gcm_encrypt(d, &gcm, out, text, a->text_bytes);
    aesop_gcm_tag(d, &gcm, tag);
    ok = ok && memcmp(tag, a->gcm_tag, sizeof tag) == 0;

    aesop_gcm_start(d, &gcm, iv, a->iv_bytes);
    ok = ok && aesop_gcm_aad(d, &gcm, aad, sizeof aad) && aesop_gcm_decrypt(d, &gcm, again, out, a->text_bytes);
    aesop_gcm_tag(d, &gcm, tag);
    return ok && memcmp(tag, a->gcm_tag, sizeof tag) == 0 && memcmp(again, text, a->text_bytes) == 0;
}

static int cbc_answers(const struct aesop_dispatch *d, const struct known_answer *a, const uint8_t *text)
{
    struct aesop_aes_key aes;
    uint8_t key[32], iv[16], first[16];
    _Alignas(64) uint8_t out[MAX_TEXT_BYTES], again[MAX_TEXT_BYTES];
    const size_t len = a->text_bytes / 16 * 16;

    fill(key, a->key_bytes, KEY_STEP);
    fill(iv, sizeof iv, IV_STEP);
    d->kernels->aes_expand_enc(&aes, key, a->key_bytes);
    aesop_cbc_encrypt(d, &aes, out, text, len, iv);
    if (memcmp(iv, a->cbc_last, sizeof iv) != 0 || memcmp(out + len - 16, iv, sizeof iv) != 0)
        return 0;

    /* The first block of CBC, made by hand. */
    fill(iv, sizeof iv, IV_STEP);
    for (size_t i = 0; i < sizeof first; i++)
        first[i] = iv[i] ^ text[i];
    d->kernels->aes_enc_block(&aes, first, first);
    if (memcmp(first, out, sizeof first) != 0)
        return 0;

    d->kernels->aes_expand_dec(&aes, key, a->key_bytes);
    aesop_cbc_decrypt(d, &aes, again, out, len, iv);
    return memcmp(iv, a->cbc_last, sizeof iv) == 0 && memcmp(again, text, len) == 0;
}

int aesop_kernels_self_test(const struct aesop_kernels *kernels)
{
    const struct aesop_dispatch through_caches = {
        .kernels = kernels, .narrow = kernels, .chunk = SIZE_MAX, .nt_bytes = SIZE_MAX
    };
    const struct aesop_dispatch past_caches = { .kernels = kernels, .narrow = kernels, .chunk = SIZE_MAX };
    uint8_t text[MAX_TEXT_BYTES];

    fill(text, sizeof text, TEXT_STEP);
    for (size_t i = 0; i < sizeof known_answers / sizeof known_answers[0]; i++) {
        const struct known_answer *a = &known_answers[i];

        if (!gcm_answers(&through_caches, a, text, 0) || !cbc_answers(&through_caches, a, text) ||
            !gcm_answers(&past_caches, a, text, 1) || !cbc_answers(&past_caches, a, text))
            return 0;
    }
    return 1;
}

const struct aesop_kernels *aesop_kernels_choose(const struct aesop_kernel_choice *choices, uint32_t features,
                                                 const char *name, aesop_kernels_failed_fn *failed, void *arg)
{
    for (; choices->kernels != NULL; choices++) {
        if ((features & choices->needs) != choices->needs ||
            (name != NULL && strcmp(name, choices->kernels->name) != 0))
            continue;
        if (aesop_kernels_self_test(choices->kernels))
            return choices->kernels;
        failed(arg, choices->kernels);
    }
    return NULL;
}

int aesop_dispatch_choose(struct aesop_dispatch *d, const struct aesop_kernel_choice *choices, uint32_t features,
                          const char *name, aesop_kernels_failed_fn *failed, void *arg)
{
    d->kernels = aesop_kernels_choose(choices, features, name, failed, arg);
    d->narrow = d->kernels == NULL ? NULL : aesop_kernels_choose(choices, features, NARROW_KERNELS, failed, arg);
    if (d->narrow == NULL)
        d->narrow = d->kernels;
    return d->kernels != NULL;
}
