/* SPDX-License-Identifier: Apache-2.0 */
/* Messages through the kernels alone: the module's inside without EVP and without a cipher object. */
#ifndef AESOP_BENCH_KERNEL_MESSAGE_H
#define AESOP_BENCH_KERNEL_MESSAGE_H

#include "ciphers/chunk.h"

/* IV, 13 bytes of associated data, text, tag (AES-*-GCM), or text alone (AES-*-CBC), the key kept. */
struct kernel_message {
    const struct aesop_dispatch *dispatch;
    uint8_t *out;
    const uint8_t *in;
    size_t size; /* CBC: a multiple of 16 */

    struct aesop_gcm gcm;
    struct aesop_aes_key key; /* CBC */
    uint64_t number;          /* of the message: the IV */
    uint8_t iv[16], tag[16];
    void (*once)(struct kernel_message *m);
};

/* That kernel with the chunk size that the module has by itself. Returns 1, or 0 where this CPU lacks it. */
int kernel_dispatch(struct aesop_dispatch *dispatch, const char *kernel);

/* Makes a message of what is set of dispatch, out, in, size. The rest of *m is overwritten. */
void kernel_message_init(struct kernel_message *m, const char *cipher, int encrypting);

/* struct bench_subject's run; arg is a struct kernel_message. */
void kernel_message_run(void *arg, size_t count);

#endif
