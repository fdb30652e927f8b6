/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kernel_message.h"

#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "ciphers/cpu.h"
#include "ciphers/dispatch.h"

/* What the module has unless it is configured otherwise: openssl.cnf.example. */
#define CHUNK_BYTES 1048576

static void failed(void *arg, const struct aesop_kernels *kernels)
{
    (void)arg;
    fprintf(stderr, "%s: wrong answers in the self-test\n", kernels->name);
}

int kernel_dispatch(struct aesop_dispatch *dispatch, const char *kernel)
{
    dispatch->chunk = CHUNK_BYTES;
    dispatch->nt_bytes = AESOP_NT_BYTES;
    return aesop_dispatch_choose(dispatch, aesop_kernel_choices, aesop_cpu_features(),
                                 strcmp(kernel, "auto") == 0 ? NULL : kernel, failed, NULL);
}

static void gcm_begin(struct kernel_message *m)
{
    static const uint8_t aad[13];

    m->number++; /* not a byte of the IV: loads of words behind it would wait for the store buffer */
    memcpy(m->iv, &m->number, sizeof m->number);
    aesop_gcm_start(m->dispatch, &m->gcm, m->iv, 12);
    aesop_gcm_aad(m->dispatch, &m->gcm, aad, sizeof aad);
}

static void gcm_encrypt_once(struct kernel_message *m)
{
    gcm_begin(m);
    aesop_gcm_encrypt(m->dispatch, &m->gcm, m->out, m->in, m->size);
    aesop_gcm_tag(m->dispatch, &m->gcm, m->tag);
}

static void gcm_decrypt_once(struct kernel_message *m)
{
    gcm_begin(m);
    aesop_gcm_decrypt(m->dispatch, &m->gcm, m->out, m->in, m->size);
    aesop_gcm_tag(m->dispatch, &m->gcm, m->tag);
}

static void cbc_encrypt_once(struct kernel_message *m)
{
    aesop_cbc_encrypt(m->dispatch, &m->key, m->out, m->in, m->size, m->iv);
}

static void cbc_decrypt_once(struct kernel_message *m)
{
    aesop_cbc_decrypt(m->dispatch, &m->key, m->out, m->in, m->size, m->iv);
}

void kernel_message_init(struct kernel_message *m, const char *cipher, int encrypting)
{
    static const uint8_t key[AESOP_MAX_KEY_BYTES];
    const struct aesop_kernels *kernels = m->dispatch->kernels;
    const size_t key_bytes = (size_t)atoi(cipher + strlen("AES-")) / 8;

    if (strstr(cipher, "GCM") != NULL) {
        aesop_gcm_set_key(m->dispatch, &m->gcm, key, key_bytes);
        m->once = encrypting ? gcm_encrypt_once : gcm_decrypt_once;
    } else if (encrypting) {
        kernels->aes_expand_enc(&m->key, key, key_bytes);
        m->once = cbc_encrypt_once;
    } else {
        kernels->aes_expand_dec(&m->key, key, key_bytes);
        m->once = cbc_decrypt_once;
    }
}

void kernel_message_run(void *arg, size_t count)
{
    struct kernel_message *m = arg;

    for (size_t i = 0; i < count; i++)
        m->once(m);
}
