/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record, RFC 5246, 6.2.3.2 (MAC, then encrypt):
 *
 *   | explicit IV, 16 | payload | MAC, mac_len | padding, each byte = pad_len | pad_len |
 *     not in SSL 3.0    *payload_len             pad_len bytes, 0..255          1 byte
 *     and TLS 1.0
 *
 * With encrypt-then-MAC (RFC 7366, 3) the MAC is outside, was verified before we are called, and mac_len is 0 here.
 * SSL 3.0 (RFC 6101, 5.2.3.2): padding bytes have any value and pad_len is below the block size.
 *
 * An attacker who learns whether it was the padding or the MAC that was wrong, by an error or by the time either
 * takes, can decrypt (Vaudenay; Lucky Thirteen). So neither a branch nor an address below depends on pad_len: all
 * bytes that could be padding are always looked at, and the MAC is moved out of the whole window where it could be.
 * len, mac_len and the version are public.
 */
#include "provider/tls_cbc.h"

#include <string.h>

#include <openssl/prov_ssl.h>

#include "ciphers/ct.h"

#define MAX_PADDING_BYTES 256 /* with the length byte */

static const struct tls_version {
    unsigned version;
    size_t explicit_iv_bytes;
    int free_padding; /* SSL 3.0 */
} tls_versions[] = {
    { TLS1_2_VERSION, AESOP_BLOCK_BYTES, 0 },
    { DTLS1_2_VERSION, AESOP_BLOCK_BYTES, 0 },
    { TLS1_1_VERSION, AESOP_BLOCK_BYTES, 0 },
    { DTLS1_VERSION, AESOP_BLOCK_BYTES, 0 },
    { DTLS1_BAD_VER, AESOP_BLOCK_BYTES, 0 },
    { TLS1_VERSION, 0, 0 },
    { SSL3_VERSION, 0, 1 },
};

static const struct tls_version *find_version(unsigned version)
{
    for (size_t i = 0; i < sizeof tls_versions / sizeof *tls_versions; i++)
        if (tls_versions[i].version == version)
            return &tls_versions[i];
    return NULL;
}

int aesop_tls_random_mac_init(struct aesop_tls_random_mac *random, const struct aesop_core *core,
                              const struct aesop_kernels *kernels)
{
    uint8_t key[AESOP_BLOCK_BYTES];
    int ok = aesop_random(core, key, sizeof key);

    if (!ok)
        goto done;
    kernels->aes_expand_enc(&random->key, key, sizeof key);
    memset(random->counter, 0, sizeof random->counter);
done:
    aesop_wipe(key, sizeof key);
    return ok;
}

/* len bytes, rounded up to a block, of a keystream that never repeats: a system call per record would cost more. */
static void random_mac_next(struct aesop_tls_random_mac *random, const struct aesop_kernels *kernels, uint8_t *mac,
                            size_t len)
{
    for (size_t i = 0; i < len; i += AESOP_BLOCK_BYTES) {
        uint64_t count;

        memcpy(&count, random->counter, sizeof count);
        count++;
        memcpy(random->counter, &count, sizeof count);
        kernels->aes_enc_block(&random->key, mac + i, random->counter);
    }
}

size_t aesop_tls_cbc_pad(uint8_t *record, size_t len, unsigned version)
{
    size_t padding = AESOP_BLOCK_BYTES - len % AESOP_BLOCK_BYTES;
    uint8_t pad_len = (uint8_t)(padding - 1);

    memset(record + len, version == SSL3_VERSION ? 0 : pad_len, padding);
    record[len + pad_len] = pad_len;
    return len + padding;
}

/*
 * The end of a record, zeros before it where the record is shorter. Everything that pad_len decides happens here, in
 * loops of constant length:
 *
 *   | where a MAC before the most padding starts, 64 | padding, or MAC and padding, 256 |
 */
struct window {
    uint8_t bytes[AESOP_TLS_MAX_MAC_BYTES + MAX_PADDING_BYTES];
    uint8_t slack[sizeof(size_t)]; /* extract_mac reads whole words */
};

static void window_fill(struct window *window, const uint8_t *record, size_t len)
{
    size_t tail = len < sizeof window->bytes ? len : sizeof window->bytes;

    memset(window, 0, sizeof *window);
    memcpy(window->bytes + sizeof window->bytes - tail, record + len - tail, tail);
}

/* The mask of "the last pad_len + 1 bytes all have the value pad_len". */
static size_t padding_is_uniform(const struct window *window, uint8_t pad_len)
{
    const uint8_t *bytes = window->bytes + AESOP_TLS_MAX_MAC_BYTES;
    uint8_t wrong = 0;

    for (unsigned i = 0; i < MAX_PADDING_BYTES; i++) {
        /* Padding is where i >= 255 - pad_len: there the sum carries into its high byte. */
        uint8_t in_padding = (uint8_t)(0 - ((i + pad_len + 1) >> 8));

        wrong |= in_padding & (bytes[i] ^ pad_len);
    }
    return aesop_ct_eq(wrong, 0);
}

/*
 * Moves the MAC, which ends `padding` (1..256, secret) bytes before the end of the window, to `mac`: the window is
 * shifted down by 128, 64, ... 1 bytes, or not, as the bits of the distance say.
 */
static void extract_mac(uint8_t *mac, size_t mac_len, struct window *window, size_t padding)
{
    uint8_t *bytes = window->bytes + AESOP_TLS_MAX_MAC_BYTES - mac_len;
    size_t distance = MAX_PADDING_BYTES - padding;

    for (size_t shift = MAX_PADDING_BYTES / 2; shift > 0; shift /= 2) {
        size_t mask = ~aesop_ct_eq(distance & shift, 0), word, shifted;

        /* What the smaller shifts can still reach. Words overlap; both are read before one is written. */
        for (size_t i = 0; i < mac_len + shift - 1; i += sizeof word) {
            memcpy(&word, bytes + i, sizeof word);
            memcpy(&shifted, bytes + i + shift, sizeof shifted);
            word = aesop_ct_select(mask, shifted, word);
            memcpy(bytes + i, &word, sizeof word);
        }
    }
    memcpy(mac, bytes, mac_len);
}

int aesop_tls_cbc_unpad(struct aesop_tls_random_mac *random, const struct aesop_kernels *kernels,
                        uint8_t mac[AESOP_TLS_MAX_MAC_BYTES], size_t mac_len, size_t *payload_len,
                        const uint8_t *record, size_t len, unsigned version)
{
    const struct tls_version *v = find_version(version);
    uint8_t random_mac[AESOP_TLS_MAX_MAC_BYTES], pad_len;
    struct window window;
    size_t good, padding;
    int ok = 1;

    if (v == NULL || mac_len > AESOP_TLS_MAX_MAC_BYTES || len < v->explicit_iv_bytes + mac_len + 1)
        return 0;
    record += v->explicit_iv_bytes;
    len -= v->explicit_iv_bytes;

    window_fill(&window, record, len);
    pad_len = record[len - 1];
    good = ~aesop_ct_lt(len, mac_len + 1 + pad_len);
    if (v->free_padding)
        good &= aesop_ct_lt(pad_len, AESOP_BLOCK_BYTES);
    else
        good &= padding_is_uniform(&window, pad_len);
    padding = good & ((size_t)pad_len + 1);

    *payload_len = len - padding - mac_len;
    if (mac_len == 0) {
        ok = good & 1;
        goto done;
    }
    random_mac_next(random, kernels, random_mac, mac_len);
    extract_mac(mac, mac_len, &window, padding);
    for (size_t i = 0; i < mac_len; i++)
        mac[i] = (uint8_t)aesop_ct_select(good, mac[i], random_mac[i]);
    aesop_wipe(random_mac, sizeof random_mac);
done:
    aesop_wipe(&window, sizeof window);
    return ok;
}
