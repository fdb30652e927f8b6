/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of ipsec_mb.c where there is no libipsec-mb. */
#include "bench/ipsec_mb.h"

struct ipsec_mb_message *ipsec_mb_message_new(const char *cipher, int encrypting)
{
    (void)cipher;
    (void)encrypting;
    return NULL;
}

void ipsec_mb_message_free(struct ipsec_mb_message *m)
{
    (void)m;
}

void ipsec_mb_message_set(struct ipsec_mb_message *m, uint8_t *out, const uint8_t *in, size_t size)
{
    (void)m;
    (void)out;
    (void)in;
    (void)size;
}

void ipsec_mb_message_run(void *arg, size_t count)
{
    (void)arg;
    (void)count;
}

const char *ipsec_mb_version(void)
{
    return NULL;
}
