/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's multi-buffer library (Debian: libipsec-mb-dev), the reference for kernels without EVP. */
#ifndef AESOP_BENCH_IPSEC_MB_H
#define AESOP_BENCH_IPSEC_MB_H

#include <stddef.h>
#include <stdint.h>

struct ipsec_mb_message;

/*
 * The messages of kernel_message.h as this library does them. NULL where the benchmarks were built without it, and for
 * CBC encryption, which it only does well for many streams at once.
 */
struct ipsec_mb_message *ipsec_mb_message_new(const char *cipher, int encrypting);
void ipsec_mb_message_free(struct ipsec_mb_message *m);
void ipsec_mb_message_set(struct ipsec_mb_message *m, uint8_t *out, const uint8_t *in, size_t size);

/* struct bench_subject's run; arg is a struct ipsec_mb_message. */
void ipsec_mb_message_run(void *arg, size_t count);

/* Its version, or NULL where the benchmarks were built without it. */
const char *ipsec_mb_version(void);

#endif
