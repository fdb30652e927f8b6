/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract between the cipher objects and the code that touches bytes.
 *
 * A kernel set is one struct of function pointers, compiled for one instruction set. Cipher objects call
 * chunk.h, which calls a set; nothing above this line of the stack tests a CPU feature, nothing below it
 * has heard of OSSL_PARAM.
 */
#ifndef AESOP_CIPHERS_KERNELS_H
#define AESOP_CIPHERS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define AESOP_BLOCK_BYTES 16
#define AESOP_MAX_KEY_BYTES 32
#define AESOP_MAX_ROUND_KEYS 15

/* Powers of H that a key can hold: blocks that share one reduction of GHASH. */
#define AESOP_GCM_MAX_POWERS 128
/* The lowest of them have a second form, for kernels that multiply by Karatsuba. */
#define AESOP_GCM_MAX_FOLDS 64
/* A vector of powers that starts at H^1 reads this many blocks on; they meet data that is zero. */
#define AESOP_GCM_POWERS_SLACK 3

/*
 * Rows of a table of n rows of the first round of AES: two in front, so that a vector is aligned that starts with row
 * 2, as do most texts; as many behind as a batch of 16 blocks may run on; and what fills the last vector.
 */
#define AESOP_GCM_TABLE_LEAD 2
#define AESOP_GCM_TABLE_ROWS(n) (AESOP_GCM_TABLE_LEAD + (n) + 16 + 2)
#define AESOP_GCM_MAX_TABLE_ROWS AESOP_GCM_TABLE_ROWS(256)

/* An expanded AES key for one direction: FIPS 197 (encryption) or its equivalent inverse cipher. */
struct aesop_aes_key {
    _Alignas(16) uint8_t round_keys[AESOP_MAX_ROUND_KEYS][AESOP_BLOCK_BYTES];
    uint32_t rounds; /* 10, 12 or 14 */
};

/*
 * A GCM key. Powers of H are built as messages need them: `powers` says how many are there.
 * Table entry [AESOP_GCM_MAX_POWERS - i] holds H^i, so that the powers of a run of n blocks, highest first,
 * are contiguous; h_fold[AESOP_GCM_MAX_FOLDS - i] holds in both halves the xor of the halves of H^i (Karatsuba), by
 * kernels that have no use for it only as far as short runs of others go.
 */
struct aesop_gcm_key {
    _Alignas(64) uint8_t h[AESOP_GCM_MAX_POWERS + AESOP_GCM_POWERS_SLACK][AESOP_BLOCK_BYTES];
    _Alignas(64) uint8_t h_fold[AESOP_GCM_MAX_FOLDS + AESOP_GCM_POWERS_SLACK][AESOP_BLOCK_BYTES];
    struct aesop_aes_key aes;
    uint32_t powers;
    uint32_t table_rows; /* of first_round, which one set of kernels has made for itself; 0: none yet */
    /*
     * What counters that differ in their lowest byte alone need of the first round of AES: see gcm_template.h. At the
     * end, since a set's table_rows are all that need be there.
     */
    _Alignas(64) uint8_t first_round[AESOP_GCM_MAX_TABLE_ROWS][AESOP_BLOCK_BYTES];
};

/*
 * The moving part of a GCM message. A partial block is authenticated at once as if zeros followed it: GHASH is
 * linear, so bytes that come later are added as a correction and nothing is held back.
 */
struct aesop_gcm_state {
    uint8_t counter[AESOP_BLOCK_BYTES];   /* the next counter block, as SP 800-38D writes it (big-endian) */
    uint8_t ghash[AESOP_BLOCK_BYTES];     /* byte-reflected */
    uint8_t keystream[AESOP_BLOCK_BYTES]; /* of the last block, where that is partial */
    uint8_t tag_mask[AESOP_BLOCK_BYTES];  /* E(K, J0) */
    /* A kernel's own: the first round of a counter that ends in a zero byte, less that byte's part in it. */
    uint8_t first_round[AESOP_BLOCK_BYTES];
    uint8_t first_round_carry[AESOP_BLOCK_BYTES]; /* how it changes when that byte overflows next */
    uint32_t counter_is_secret;                   /* by GHASH of a longer IV, H is known from a few counters */
};

struct aesop_kernels {
    const char *name;
    uint32_t batch_blocks; /* blocks of one step of the GCM loop: the powers of H that a long run needs */
    uint32_t max_powers;   /* that it makes and uses */
    uint32_t table_rows;   /* of first_round in a key: likewise */

    /* key_bytes is 16, 24 or 32. */
    void (*aes_expand_enc)(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes);
    void (*aes_expand_dec)(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes);
    void (*aes_enc_block)(const struct aesop_aes_key *key, uint8_t out[16], const uint8_t in[16]);

    /*
     * len is a multiple of 16, 0 included; iv is replaced by the last ciphertext block. out equals in or does not
     * overlap it.
     */
    void (*cbc_enc)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16]);
    void (*cbc_dec)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16]);

    /*
     * The same for payloads that no cache holds: memory is asked ahead, and where out is aligned to 64 bytes and apart
     * from in it is written past the caches (non-temporal).
     */
    void (*cbc_dec_nt)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16]);

    /* Expands the key and computes H^1. */
    void (*gcm_expand)(struct aesop_gcm_key *key, const uint8_t *user_key, size_t key_bytes);
    /* Makes at least `count` (1..max_powers) powers of H available; above a batch, other tables too. */
    void (*gcm_powers)(struct aesop_gcm_key *key, uint32_t count);

    /*
     * What each message calls returns 1: a caller whose own answer that is ends in a jump.
     *
     * Starts a message: J0 from the iv (iv_len >= 1; one of other than 12 bytes needs min(blocks, batch_blocks)
     * powers), the counter after it, GHASH of nothing.
     */
    int (*gcm_start)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, const uint8_t *iv, size_t iv_len);
    /* Adds len > 0 bytes to GHASH, zero-padded to a block. Needs min(blocks, batch_blocks) powers, uses more. */
    int (*gcm_hash)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, const uint8_t *in, size_t len);
    /*
     * Encrypt or decrypt a run of len > 0 bytes, and authenticate its ciphertext, the last block zero-padded. Needs
     * min(blocks, batch_blocks) powers, and uses more where there are. The counter counts in its low 32 bits and may
     * wrap anywhere: vectors add 32-bit lanes. Leaves the keystream of the last block in the state when that block is
     * partial. out equals in or does not overlap it.
     */
    int (*gcm_enc)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out, const uint8_t *in,
                   size_t len);
    int (*gcm_dec)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out, const uint8_t *in,
                   size_t len);
    /* The same for payloads that no cache holds. */
    void (*gcm_enc_nt)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out, const uint8_t *in,
                       size_t len);
    void (*gcm_dec_nt)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out, const uint8_t *in,
                       size_t len);
    /* The full tag of a message of so many bytes of associated data and text. */
    int (*gcm_tag)(const struct aesop_gcm_key *key, const struct aesop_gcm_state *state, uint8_t tag[16],
                   uint64_t aad_bytes, uint64_t text_bytes);
};

#endif
