/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ipsec_mb.h"

#include <stdlib.h>
#include <string.h>

#include <intel-ipsec-mb.h>

#include "bench/bench.h"

struct ipsec_mb_message {
    IMB_MGR *mgr;
    uint8_t *out;
    const uint8_t *in;
    size_t size;
    uint8_t iv[16], tag[16];

    aes_gcm_enc_dec_t gcm_crypt; /* NULL: CBC decryption */
    _Alignas(64) struct gcm_key_data gcm_key;
    struct gcm_context_data gcm_context;

    _Alignas(16) uint8_t enc_keys[15][16], dec_keys[15][16];
    size_t key_bytes;
};

static void set_gcm_key(struct ipsec_mb_message *m, const uint8_t *key, int encrypting)
{
    const struct {
        aes_gcm_pre_t expand;
        aes_gcm_enc_dec_t crypt[2]; /* decryption, encryption */
    } by_size[] = {
        { m->mgr->gcm128_pre, { m->mgr->gcm128_dec, m->mgr->gcm128_enc } },
        { m->mgr->gcm192_pre, { m->mgr->gcm192_dec, m->mgr->gcm192_enc } },
        { m->mgr->gcm256_pre, { m->mgr->gcm256_dec, m->mgr->gcm256_enc } },
    };
    const size_t i = m->key_bytes / 8 - 2;

    by_size[i].expand(key, &m->gcm_key);
    m->gcm_crypt = by_size[i].crypt[encrypting];
}

static void set_cbc_key(struct ipsec_mb_message *m, const uint8_t *key)
{
    const keyexp_t expand[] = { m->mgr->keyexp_128, m->mgr->keyexp_192, m->mgr->keyexp_256 };

    expand[m->key_bytes / 8 - 2](key, m->enc_keys, m->dec_keys);
}

struct ipsec_mb_message *ipsec_mb_message_new(const char *cipher, int encrypting)
{
    static const uint8_t key[32];
    const int gcm = strstr(cipher, "GCM") != NULL;
    struct ipsec_mb_message *m;

    if (!gcm && encrypting)
        return NULL;
    m = aligned_alloc(64, (sizeof *m + 63) / 64 * 64);
    bench_check(m != NULL, "memory");
    memset(m, 0, sizeof *m);
    m->mgr = alloc_mb_mgr(0);
    bench_check(m->mgr != NULL, "libipsec-mb");
    init_mb_mgr_auto(m->mgr, NULL);
    m->key_bytes = (size_t)atoi(cipher + strlen("AES-")) / 8;
    if (gcm)
        set_gcm_key(m, key, encrypting);
    else
        set_cbc_key(m, key);
    return m;
}

void ipsec_mb_message_free(struct ipsec_mb_message *m)
{
    if (m != NULL)
        free_mb_mgr(m->mgr);
    free(m);
}

void ipsec_mb_message_set(struct ipsec_mb_message *m, uint8_t *out, const uint8_t *in, size_t size)
{
    m->out = out;
    m->in = in;
    m->size = size;
}

static void gcm_once(struct ipsec_mb_message *m)
{
    static const uint8_t aad[13];
    uint64_t number;

    /* As kernel_message.c. Without a copy: gcc would store both by SSE, which waits for upper halves of registers. */
    memcpy(&number, m->iv, sizeof number);
    number++;
    memcpy(m->iv, &number, sizeof number);
    m->gcm_crypt(&m->gcm_key, &m->gcm_context, m->out, m->in, m->size, m->iv, aad, sizeof aad, m->tag, sizeof m->tag);
}

static void cbc_decrypt_once(struct ipsec_mb_message *m)
{
    IMB_JOB *job = IMB_GET_NEXT_JOB(m->mgr);

    job->cipher_mode = IMB_CIPHER_CBC;
    job->cipher_direction = IMB_DIR_DECRYPT;
    job->chain_order = IMB_ORDER_HASH_CIPHER;
    job->hash_alg = IMB_AUTH_NULL;
    job->enc_keys = m->enc_keys;
    job->dec_keys = m->dec_keys;
    job->key_len_in_bytes = m->key_bytes;
    job->iv = m->iv;
    job->iv_len_in_bytes = sizeof m->iv;
    job->src = m->in;
    job->dst = m->out;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = m->size;
    IMB_SUBMIT_JOB_NOCHECK(m->mgr); /* decryption is not queued: done on return */
}

void ipsec_mb_message_run(void *arg, size_t count)
{
    struct ipsec_mb_message *m = arg;

    for (size_t i = 0; i < count; i++) {
        if (m->gcm_crypt != NULL)
            gcm_once(m);
        else
            cbc_decrypt_once(m);
    }
}

const char *ipsec_mb_version(void)
{
    return imb_get_version_str();
}
