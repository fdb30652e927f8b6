/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GCM (SP 800-38D) over the vocabulary of vec.h. The includer defines KERNEL(name), which gives a function its
 * instruction set's suffix.
 *
 * GHASH of a span of n blocks is X·H^n + C1·H^n + C2·H^(n-1) + ... + Cn·H: all products are independent, and only
 * their sum is reduced. Operands are byte-reversed, which makes them bit-reflected polynomials; what reflection
 * leaves, a factor of x, sits in the powers of H (see aesop_gcm_expand_aesni).
 */
#include "ciphers/vec.h"

#define GCM_BATCH VEC_GCM_BATCH
#define GCM_BATCH_BYTES (GCM_BATCH * VEC_BYTES)
#define GCM_BATCH_BLOCKS (GCM_BATCH * VEC_BLOCKS)

#define GCM_MAX_POWERS (VEC_KARATSUBA ? AESOP_GCM_MAX_FOLDS : AESOP_GCM_MAX_POWERS)

/* Of the low halves, of the high halves, and what lies between them. */
struct ghash_sum {
    vec low, middle, high;
};

/* By Karatsuba `middle` is that of the sums of the halves, less low and high in a sum, and there is no `cross`. */
struct ghash_product {
    vec low, middle, cross, high;
};

/* From a power in the table h of a key to the same in h_fold. */
#define FOLD_OFFSET \
    (offsetof(struct aesop_gcm_key, h_fold[AESOP_GCM_MAX_FOLDS]) - \
     offsetof(struct aesop_gcm_key, h[AESOP_GCM_MAX_POWERS]))

VEC_INLINE struct ghash_product ghash_mul(vec data, const uint8_t *power)
{
    const vec h = vec_load(power);

    if (VEC_KARATSUBA)
        return (struct ghash_product){
            .low = vec_clmul(data, h, 0x00),
            .middle = vec_clmul(vec_xor(data, vec_swap_halves(data)), vec_load(power + FOLD_OFFSET), 0x00),
            .high = vec_clmul(data, h, 0x11),
        };
    return (struct ghash_product){
        .low = vec_clmul(data, h, 0x00),
        .middle = vec_clmul(data, h, 0x01),
        .cross = vec_clmul(data, h, 0x10),
        .high = vec_clmul(data, h, 0x11),
    };
}

VEC_INLINE void ghash_sum_add(struct ghash_sum *sum, const struct ghash_product *p)
{
    sum->low = vec_xor(sum->low, p->low);
    sum->middle = VEC_KARATSUBA ? vec_xor(sum->middle, p->middle) : vec_xor3(sum->middle, p->middle, p->cross);
    sum->high = vec_xor(sum->high, p->high);
}

VEC_INLINE void ghash_sum_add_two(struct ghash_sum *sum, const struct ghash_product *p, const struct ghash_product *q)
{
    sum->low = vec_xor3(sum->low, p->low, q->low);
    if (VEC_KARATSUBA) {
        sum->middle = vec_xor3(sum->middle, p->middle, q->middle);
    } else {
        sum->middle = vec_xor3(sum->middle, p->middle, p->cross);
        sum->middle = vec_xor3(sum->middle, q->middle, q->cross);
    }
    sum->high = vec_xor3(sum->high, p->high, q->high);
}

/*
 * Each block's sum modulo x^128 + x^7 + x^2 + x + 1. In reflected order the modulus ends in ...0001 at the low end, so
 * two multiplies by its upper word fold the low 128 bits into the high ones; the middle product rides along.
 */
VEC_INLINE vec ghash_reduce(const struct ghash_sum *sum)
{
    const vec modulus = vec_each_block(_mm_set_epi64x(0, (long long)0xc200000000000000));
    vec middle = VEC_KARATSUBA ? vec_xor3(sum->middle, sum->low, sum->high) : sum->middle;

    middle = vec_xor3(middle, vec_swap_halves(sum->low), vec_clmul(sum->low, modulus, 0x00));
    return vec_xor3(sum->high, vec_swap_halves(middle), vec_clmul(middle, modulus, 0x00));
}

/* One product, reduced. */
VEC_INLINE vec ghash_mul_alone(vec data, const uint8_t *power)
{
    const struct ghash_product p = ghash_mul(data, power);
    const struct ghash_sum sum = { p.low, VEC_KARATSUBA ? p.middle : vec_xor(p.middle, p.cross), p.high };

    return ghash_reduce(&sum);
}

/* All of the folds that Karatsuba needs, and in any case those of the first vector, for runs of a narrower kernel. */
VEC_INLINE void gcm_powers_store(struct aesop_gcm_key *key, uint32_t highest, vec powers)
{
    uint8_t *at = key->h[AESOP_GCM_MAX_POWERS - highest];

    vec_store(at, powers);
    if (VEC_KARATSUBA || highest == VEC_BLOCKS)
        vec_store(at + FOLD_OFFSET, vec_xor(powers, vec_swap_halves(powers)));
}

/* Each power of the vector times another one. */
VEC_INLINE vec gcm_powers_mul(vec powers, __m128i power)
{
    const vec h = vec_each_block(power);
    struct ghash_sum sum = { vec_clmul(powers, h, 0x00), vec_zero(), vec_clmul(powers, h, 0x11) };

    if (VEC_KARATSUBA)
        sum.middle = vec_clmul(vec_xor(powers, vec_swap_halves(powers)), vec_xor(h, vec_swap_halves(h)), 0x00);
    else
        sum.middle = vec_xor(vec_clmul(powers, h, 0x01), vec_clmul(powers, h, 0x10));
    return ghash_reduce(&sum);
}

/* The first vector, H^VEC_BLOCKS first. In registers: a vector loads slowly from where its parts were just stored. */
VEC_INLINE vec gcm_powers_first(const struct aesop_gcm_key *key)
{
    const __m128i h = block_load(key->h[AESOP_GCM_MAX_POWERS - 1]);
    vec powers = vec_first_block(h);

    UNROLL
    for (int have = 1; have < VEC_BLOCKS; have *= 2)
        powers = vec_join_low(gcm_powers_mul(powers, vec_low_block(powers)), powers, have);
    return powers;
}

/*
 * While the upper bytes of a counter stay as they are, its lowest changes one column of what the first round of AES
 * makes of the block. Row i of the table holds that column for a counter that ends in i. In a table of 64 rows there
 * are beside it, as bytes 3, 7 and 11 of a block have columns of their own, those for i + 64, i + 128 and i + 192; in
 * one of 256 zeros. A row is one AESENC.
 */
VEC_INLINE void gcm_first_round(struct aesop_gcm_key *key)
{
    const __m128i last_word = _mm_shuffle_epi32(block_round_key(&key->aes, 0), 0xff);
    const vec key_byte = vec_each_block(_mm_slli_epi32(_mm_srli_epi32(last_word, 24), 24));
    const vec step = vec_each_block(_mm_set1_epi32(VEC_BLOCKS << 24));
    const vec columns = vec_each_block(VEC_TABLE_ROWS == 64 ? _mm_set1_epi32(-1) : _mm_set_epi32(-1, 0, 0, 0));
    const vec of_zero = vec_each_block(_mm_set1_epi8(0x63)); /* SubBytes of zero; MixColumns leaves it as it is */
    const __m128i first = _mm_sub_epi32(_mm_set_epi32(0, 192, 128, 64), _mm_set1_epi32(AESOP_GCM_TABLE_LEAD));
    vec numbers = vec_each_block(_mm_slli_epi32(first, 24));

    numbers = vec_add32(numbers, vec_shuffle_bytes(vec_block_indices(), vec_each_block(_mm_set1_epi32(0x00ffffff))));
    for (int row = 0; row < AESOP_GCM_TABLE_ROWS(VEC_TABLE_ROWS); row += VEC_BLOCKS) {
        const vec blocks = vec_and(vec_xor(numbers, key_byte), columns);

        vec_store(key->first_round[row], vec_aesenc(blocks, of_zero));
        numbers = vec_add32(numbers, step);
    }
    key->table_rows = AESOP_GCM_TABLE_ROWS(VEC_TABLE_ROWS);
}

static VEC_TARGET void KERNEL(gcm_powers)(struct aesop_gcm_key *key, uint32_t count)
{
    uint32_t have = key->powers - key->powers % VEC_BLOCKS; /* a narrower kernel may have filled a vector in part */
    vec last;

    if (have == 0) {
        have = VEC_BLOCKS;
        last = gcm_powers_first(key);
        gcm_powers_store(key, have, last);
    } else {
        last = vec_load(key->h[AESOP_GCM_MAX_POWERS - have]);
    }
    while (have < count) {
        const __m128i factor = vec_low_block(last);
        uint32_t i;

        for (i = VEC_BLOCKS; i <= have && have + i - VEC_BLOCKS < count; i += VEC_BLOCKS) {
            last = gcm_powers_mul(vec_load(key->h[AESOP_GCM_MAX_POWERS - i]), factor);
            gcm_powers_store(key, have + i, last);
        }
        have += i - VEC_BLOCKS;
    }
    key->powers = have;
    if (count > GCM_BATCH_BLOCKS && key->table_rows == 0)
        gcm_first_round(key);
}

/* Counter blocks of a run. */
struct counters {
    vec next;        /* as they go into AES, if their lowest bytes do not overflow; not kept where there is a table */
    uint32_t number; /* the low 32 bits of the next one */
    struct aesop_gcm_state *state;
    const uint8_t *rows; /* of the key's table of the first round, or NULL */
    int are_plain;       /* all of them: no step has to look */
};

/*
 * Whether those of a run are public and their lowest bytes do not overflow, as in most short ones: big-endian as they
 * are they can then be added to. Asked once, not in each of the cases of gcm_finish: by gcc 3 to 4 % of 16 and 64 bytes.
 */
VEC_INLINE int counters_are_plain(const struct aesop_gcm_state *state, size_t blocks)
{
    return !state->counter_is_secret && state->counter[AESOP_BLOCK_BYTES - 1] + blocks <= 256;
}

VEC_INLINE vec aes_enc_first_round(const struct aesop_aes_key *key, vec counter)
{
    return vec_aesenc(vec_xor(counter, vec_round_key(key, 0)), vec_round_key(key, 1));
}

/* The first round of all counters that differ from this in the lowest byte alone, less that byte's part in it. */
VEC_INLINE __m128i counters_first_round(const struct counters *c, const struct aesop_aes_key *key, __m128i counter)
{
    const __m128i zero_at_end = _mm_and_si128(counter, _mm_set_epi32(0x00ffffff, -1, -1, -1));
    const __m128i whitened = _mm_xor_si128(zero_at_end, block_round_key(key, 0));
    const __m128i round = _mm_aesenc_si128(whitened, block_round_key(key, 1));

    return _mm_xor_si128(round, block_load_word(c->rows));
}

/* How that changes when the lowest byte overflows next: ahead of time, or all rounds of a batch would wait for it. */
VEC_INLINE void counters_prepare_carry(const struct counters *c, const struct aesop_aes_key *key, __m128i counter)
{
    const uint32_t number = (c->number | 255) + 1;
    const __m128i carried = _mm_insert_epi32(counter, (int)__builtin_bswap32(number), 3);
    const __m128i first_round = counters_first_round(c, key, carried);
    struct aesop_gcm_state *state = c->state;

    BLOCK_FORGET(state); /* or the hot path shares this load, and broadcasts it in a step of its own */
    block_store(state->first_round_carry, _mm_xor_si128(first_round, block_load(state->first_round)));
}

/*
 * Counters for a run of so many blocks; the state gets the one after it. They count in 32 bits: SP 800-38D, 6.2.
 */
VEC_INLINE struct counters counters_start(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, size_t blocks,
                                          const int tabled, const int are_plain)
{
    const __m128i counter = block_load(state->counter);
    struct counters c = {
        .next = vec_add32(vec_each_block(counter), vec_block_indices_high()),
        .number = block_number(state->counter),
        .state = state,
        .rows = tabled && key->table_rows == AESOP_GCM_TABLE_ROWS(VEC_TABLE_ROWS) && !state->counter_is_secret
                    ? key->first_round[AESOP_GCM_TABLE_LEAD]
                    : NULL,
        .are_plain = are_plain,
    };

    if (c.rows != NULL) {
        block_store(state->first_round, counters_first_round(&c, &key->aes, counter)); /* or compilers would spill it */
        if ((c.number & 255) >= 256 - GCM_BATCH_BLOCKS)
            counters_prepare_carry(&c, &key->aes, counter);
    }
    block_set_number(state->counter, c.number + (uint32_t)blocks);
    return c;
}

/* As many blocks as a batch has of zeros, then as many of ones. */
static const uint64_t counters_carried[2 * GCM_BATCH_BLOCKS][2] = {
    [GCM_BATCH_BLOCKS... 2 * GCM_BATCH_BLOCKS - 1] = { UINT64_MAX, UINT64_MAX },
};

/*
 * counters_take where there is a table, for a batch at the most. Its rows go round as the lowest byte does; the blocks
 * behind a carry, which may be anywhere in a batch, lack what it changes.
 */
VEC_INLINE void counters_take_tabled(struct counters *c, const struct aesop_aes_key *key, vec s[], const int n)
{
    const uint32_t low = c->number & 255, end = low + (uint32_t)n * VEC_BLOCKS;
    const uint8_t *row = c->rows + low % VEC_TABLE_ROWS * AESOP_BLOCK_BYTES + low / VEC_TABLE_ROWS * 4;
    const vec first_round = vec_each_block(block_load(c->state->first_round));

    c->number += (uint32_t)n * VEC_BLOCKS;
    UNROLL
    for (int i = 0; i < n; i++)
        s[i] = vec_xor_column(first_round, row + i * VEC_BYTES);
    if (__builtin_expect(end < 256 - GCM_BATCH_BLOCKS, 1))
        return;
    if (end < 256) {
        counters_prepare_carry(c, key, block_load(c->state->counter));
        return;
    }

    struct aesop_gcm_state *state = c->state;
    BLOCK_FORGET(state);
    const vec carry = vec_each_block(block_load(state->first_round_carry));
    const uint64_t(*carried)[2] = counters_carried + GCM_BATCH_BLOCKS - (256 - low);
    UNROLL
    for (int i = 0; i < n; i++)
        s[i] = vec_xor(s[i], vec_and(carry, vec_load(carried + i * VEC_BLOCKS)));
    block_store(state->first_round, _mm_xor_si128(block_load(state->first_round), vec_low_block(carry)));
}

/* The next n vectors of counters, after the first round of AES. */
VEC_INLINE void counters_take(struct counters *c, const struct aesop_aes_key *key, vec s[], const int n)
{
    const uint32_t number = c->number, low = number & 255;

    if (c->rows != NULL) {
        counters_take_tabled(c, key, s, n < GCM_BATCH ? n : GCM_BATCH);
        if (n > GCM_BATCH)
            counters_take_tabled(c, key, s + GCM_BATCH, n - GCM_BATCH);
        return;
    }
    c->number += (uint32_t)n * VEC_BLOCKS;
    if (!c->are_plain && (c->state->counter_is_secret || low + (uint32_t)(n + 1) * VEC_BLOCKS > 256)) {
        const __m128i first = _mm_insert_epi32(block_reverse(block_load(c->state->counter)), (int)number, 0);
        const vec step = vec_each_block(_mm_set_epi32(0, 0, 0, VEC_BLOCKS));
        vec counter = vec_add32(vec_each_block(first), vec_block_indices());

        UNROLL
        for (int i = 0; i < n; i++) {
            s[i] = aes_enc_first_round(key, vec_reverse(counter));
            counter = vec_add32(counter, step);
        }
        c->next = vec_reverse(counter);
    } else {
        /* The lowest byte does not overflow: big-endian counters can be added to as they are. */
        const vec step = vec_each_block(_mm_set_epi32(VEC_BLOCKS << 24, 0, 0, 0));

        UNROLL
        for (int i = 0; i < n; i++) {
            s[i] = aes_enc_first_round(key, c->next);
            c->next = vec_add32(c->next, step);
        }
    }
}

VEC_INLINE void aes_enc_round(const struct aesop_aes_key *key, uint32_t round, vec s[], const int n)
{
    const vec k = vec_round_key(key, round);

    UNROLL
    for (int i = 0; i < n; i++)
        s[i] = vec_aesenc(s[i], k);
}

/* The rounds of AES-192 and AES-256 between the ninth and the last, out of the way of AES-128. */
VEC_INLINE void aes_enc_more_rounds(const struct aesop_aes_key *key, vec s[], const int n)
{
    if (__builtin_expect(key->rounds == 10, 1))
        return;
    aes_enc_round(key, 10, s, n);
    aes_enc_round(key, 11, s, n);
    if (key->rounds == 12)
        return;
    aes_enc_round(key, 12, s, n);
    aes_enc_round(key, 13, s, n);
}

/*
 * GHASH under way, in spans as long as there are powers of H: two batches or more share a reduction, and what is left
 * of a run at its end shares that of the batch before.
 */
struct ghash {
    struct ghash_sum sum;
    vec x;                /* joins the next block: the hash of what came before the span, then zero */
    const uint8_t *power; /* of the next block */
    size_t blocks;        /* that come after the span */
};

/* A span of n blocks, for which there are powers. */
VEC_INLINE void ghash_span(struct ghash *g, const struct aesop_gcm_key *key, __m128i x, size_t n)
{
    g->power = key->h[AESOP_GCM_MAX_POWERS - n];
    g->x = vec_first_block(x);
    g->sum = (struct ghash_sum){ vec_zero(), vec_zero(), vec_zero() };
}

/* The next span: whole batches, unless it is the last. */
VEC_INLINE void ghash_next_span(struct ghash *g, const struct aesop_gcm_key *key, __m128i x)
{
    const size_t n = g->blocks > key->powers ? key->powers - key->powers % GCM_BATCH_BLOCKS : g->blocks;

    g->blocks -= n;
    ghash_span(g, key, x, n);
}

/* A run of so many blocks, at least one. */
VEC_INLINE struct ghash ghash_begin(const struct aesop_gcm_key *key, __m128i x, size_t blocks)
{
    struct ghash g = { .blocks = blocks };

    ghash_next_span(&g, key, x);
    return g;
}

VEC_INLINE __m128i ghash_end_span(const struct ghash *g)
{
    return vec_sum_blocks(ghash_reduce(&g->sum));
}

/* Before the next products are made: clang would add them first, and spill a register. */
VEC_INLINE void ghash_settle(struct ghash *g)
{
    vec_settle(g->sum.low);
    vec_settle(g->sum.middle);
    vec_settle(g->sum.high);
}

VEC_INLINE void ghash_add(struct ghash *g, vec data)
{
    const struct ghash_product product = ghash_mul(vec_xor(vec_reverse(data), g->x), g->power);

    ghash_sum_add(&g->sum, &product);
    ghash_settle(g);
    g->x = vec_zero();
    g->power += VEC_BYTES;
}

/* VEC_GHASH_STEP vectors of a batch, from its vector i on. */
VEC_INLINE void ghash_batch_step(struct ghash *g, const vec data[], const int i)
{
    struct ghash_product products[VEC_GHASH_STEP];

    UNROLL
    for (int j = 0; j < VEC_GHASH_STEP; j++) {
        vec reversed = vec_reverse(data[j]);

        if (i + j == 0)
            reversed = vec_xor(reversed, g->x);
        products[j] = ghash_mul(reversed, g->power + (i + j) * VEC_BYTES);
    }
    if (VEC_GHASH_STEP == 1)
        ghash_sum_add(&g->sum, &products[0]);
    else
        ghash_sum_add_two(&g->sum, &products[0], &products[VEC_GHASH_STEP - 1]);
    ghash_settle(g);
}

/* Where a span has ended and there is more to come, the next begins. */
VEC_INLINE void ghash_go_on(struct ghash *g, const struct aesop_gcm_key *key)
{
    if (g->power == key->h[AESOP_GCM_MAX_POWERS] && g->blocks > 0)
        ghash_next_span(g, key, ghash_end_span(g));
}

/* After the steps of a batch. */
VEC_INLINE void ghash_batch_done(struct ghash *g, const struct aesop_gcm_key *key)
{
    g->x = vec_zero();
    g->power += GCM_BATCH_BYTES;
    ghash_go_on(g, key);
}

VEC_INLINE void ghash_batch(struct ghash *g, const struct aesop_gcm_key *key, const vec data[])
{
    UNROLL
    for (int i = 0; i < GCM_BATCH; i += VEC_GHASH_STEP)
        ghash_batch_step(g, data + i, i);
    ghash_batch_done(g, key);
}

/*
 * CTR of one batch, with GHASH of a batch (if `hashing`) woven between the rounds, so that the units for AES and for
 * multiplication are both kept busy: of this one, or when encrypting of the one before. `held` is that one, and becomes
 * this one; or it is NULL, and what is hashed is read from memory. nt: out is written past the caches.
 */
VEC_INLINE void gcm_batch(const struct aesop_gcm_key *key, struct counters *c, struct ghash *g, uint8_t *out,
                          const uint8_t *in, vec held[], const int enc, const int hashing, const int nt)
{
    vec s[GCM_BATCH];

    counters_take(c, &key->aes, s, GCM_BATCH);
    UNROLL
    for (int i = 0; i < 8; i++) {
        if (i < 7)
            aes_enc_round(&key->aes, (uint32_t)i + 2, s, GCM_BATCH);
        /* As late as can be: what is hashed may just have been made. */
        if (hashing && (i + 1) * GCM_BATCH % (8 * VEC_GHASH_STEP) == 0) {
            const int at = (i + 1) * GCM_BATCH / 8 - VEC_GHASH_STEP;
            vec data[VEC_GHASH_STEP];

            UNROLL
            for (int j = 0; j < VEC_GHASH_STEP; j++)
                data[j] =
                    held != NULL ? held[at + j] : vec_load((enc ? out - GCM_BATCH_BYTES : in) + (at + j) * VEC_BYTES);
            ghash_batch_step(g, data, at);
        }
    }
    UNROLL
    for (int i = 0; i < GCM_BATCH; i++)
        vec_settle(s[i]);
    if (hashing)
        ghash_batch_done(g, key);
    aes_enc_round(&key->aes, 9, s, GCM_BATCH);
    aes_enc_more_rounds(&key->aes, s, GCM_BATCH);

    const vec last_key = vec_round_key(&key->aes, key->aes.rounds);
    BLOCK_FORGET(in); /* where GHASH has read it too, it comes from there again and not by way of the stack */
    UNROLL
    for (int i = 0; i < GCM_BATCH; i++)
        s[i] = vec_aesenclast(s[i], vec_xor(last_key, vec_load(in + i * VEC_BYTES)));
    UNROLL
    for (int i = 0; i < GCM_BATCH; i++) {
        vec_store_either(out + i * VEC_BYTES, s[i], nt);
        if (held != NULL)
            held[i] = s[i];
    }
}

/*
 * n vectors in flight, the last of them of last_bytes; less than a vector if it ends a run. Four or five of ciphertext
 * are hashed between the rounds, up to a tenth faster; fewer are in the shadow of AES anyway, and more want too many
 * registers.
 */
VEC_INLINE void gcm_group(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, struct counters *c,
                          struct ghash *g, uint8_t *out, const uint8_t *in, const int n, size_t last_bytes,
                          const int enc)
{
    const int woven = !enc && (n == 4 || n == 5);
    vec s[8];

    __asm__ volatile("" ::: "memory"); /* or gcc starts AES ahead of the cases of gcm_finish, and spills it */
    counters_take(c, &key->aes, s, n);
    UNROLL
    for (int r = 2; r < 10; r++) {
        aes_enc_round(&key->aes, (uint32_t)r, s, n);
        if (woven && r < n + 1)
            ghash_add(g, vec_load(in + (r - 2) * VEC_BYTES));
    }
    aes_enc_more_rounds(&key->aes, s, n);

    const vec last_key = vec_round_key(&key->aes, key->aes.rounds);
    if (woven)
        BLOCK_FORGET(in); /* as in gcm_batch */
    UNROLL
    for (int i = 0; i < n - 1; i++) {
        const vec data = vec_load(in + i * VEC_BYTES);
        const vec result = vec_aesenclast(s[i], vec_xor(last_key, data));

        if (!woven)
            ghash_add(g, enc ? result : data);
        vec_store(out + i * VEC_BYTES, result);
    }
    const vec data = vec_load_some(in + (n - 1) * VEC_BYTES, last_bytes);
    const vec keystream = vec_aesenclast(s[n - 1], last_key);
    const vec result = vec_xor(keystream, data);

    ghash_add(g, enc ? vec_keep(result, last_bytes) : data);
    vec_store_some(out + (n - 1) * VEC_BYTES, result, last_bytes);
    if (last_bytes % 16 != 0)
        block_store(state->keystream, vec_pick_block(keystream, last_bytes / 16));
}

/* n <= 8 vectors. */
VEC_INLINE void gcm_some(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, struct counters *c,
                         struct ghash *g, uint8_t *out, const uint8_t *in, const int n, size_t last_bytes,
                         const int enc)
{
    const int first = n > (enc ? VEC_GCM_ENC_GROUP : VEC_GCM_DEC_GROUP) ? n / 2 : 0;

    if (first > 0)
        gcm_group(key, state, c, g, out, in, first, VEC_BYTES, enc);
    gcm_group(key, state, c, g, out + first * VEC_BYTES, in + first * VEC_BYTES, n - first, last_bytes, enc);
}

/* The last len bytes of a run, which are `least` to `most` <= 8 vectors, and its end. */
VEC_INLINE void gcm_finish(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, struct counters *c,
                           struct ghash *g, uint8_t *out, const uint8_t *in, size_t len, const int enc, const int least,
                           const int most)
{
    const size_t vectors = (len + VEC_BYTES - 1) / VEC_BYTES;

    if (vectors < (size_t)least || vectors > (size_t)most)
        __builtin_unreachable(); /* no code for those */
    switch (vectors) {
    case 8:
        gcm_some(key, state, c, g, out, in, 8, len - 7 * VEC_BYTES, enc);
        break;
    case 7:
        gcm_some(key, state, c, g, out, in, 7, len - 6 * VEC_BYTES, enc);
        break;
    case 6:
        gcm_some(key, state, c, g, out, in, 6, len - 5 * VEC_BYTES, enc);
        break;
    case 5:
        gcm_some(key, state, c, g, out, in, 5, len - 4 * VEC_BYTES, enc);
        break;
    case 4:
        gcm_some(key, state, c, g, out, in, 4, len - 3 * VEC_BYTES, enc);
        break;
    case 3:
        gcm_some(key, state, c, g, out, in, 3, len - 2 * VEC_BYTES, enc);
        break;
    case 2:
        gcm_some(key, state, c, g, out, in, 2, len - 1 * VEC_BYTES, enc);
        break;
    case 1:
        gcm_some(key, state, c, g, out, in, 1, len, enc);
        break;
    }
    block_store(state->ghash, ghash_end_span(g));
}

/* Asks for the input of batches to come; len bytes of the run are left. */
VEC_INLINE void gcm_prefetch(const uint8_t *in, size_t len, const int far)
{
    if (far)
        block_prefetch(in, GCM_BATCH_BYTES);
    else if (VEC_GCM_AHEAD > 0)
        block_prefetch_near(in, len, GCM_BATCH_BYTES, VEC_GCM_AHEAD);
}

/*
 * Whether len bytes are so many vectors, with a part of one, and in one span of GHASH. The CPU takes up the oldest
 * instructions first, so that one vector behind a batch waits for it, and is then alone with the latency of AES. Nine
 * are faster as four and five, by 3 to 16 %, if they are all, and when decrypting at 512 bits at the end of any run.
 */
VEC_INLINE int gcm_are_vectors(const struct ghash *g, size_t len, const size_t n)
{
    return len > (n - 1) * VEC_BYTES && len <= n * VEC_BYTES && g->blocks == 0;
}

VEC_INLINE void gcm_long(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                         const uint8_t *in, size_t len, const int enc, const int far)
{
    const int nt = far && vec_may_store_nt(out, in);
    struct counters c = counters_start(key, state, (len + 15) / 16, 1, 0);
    struct ghash g = ghash_begin(key, block_load(state->ghash), (len + 15) / 16);
    const int are_nine = gcm_are_vectors(&g, len, 9);
    vec ciphertext[GCM_BATCH];
    vec *const held = VEC_HOLDS_BATCH || far ? ciphertext : NULL; /* what went past the caches is not read again */

    if (enc && len >= GCM_BATCH_BYTES && !(GCM_BATCH > 4 && are_nine)) { /* ciphertext can be hashed one batch behind */
        gcm_batch(key, &c, &g, out, in, held, 1, 0, nt);
        for (;;) {
            in += GCM_BATCH_BYTES;
            out += GCM_BATCH_BYTES;
            len -= GCM_BATCH_BYTES;
            if (len < GCM_BATCH_BYTES || are_nine)
                break;
            gcm_prefetch(in, len, far);
            gcm_batch(key, &c, &g, out, in, held, 1, 1, nt);
        }
        UNROLL
        for (int i = 0; held == NULL && i < GCM_BATCH; i++)
            ciphertext[i] = vec_load(out - GCM_BATCH_BYTES + i * VEC_BYTES);
        ghash_batch(&g, key, ciphertext);
    }
    while (!enc && len >= GCM_BATCH_BYTES && !(GCM_BATCH > 4 ? are_nine : gcm_are_vectors(&g, len, 5))) {
        gcm_prefetch(in, len, far);
        gcm_batch(key, &c, &g, out, in, NULL, 0, 1, nt);
        in += GCM_BATCH_BYTES;
        out += GCM_BATCH_BYTES;
        len -= GCM_BATCH_BYTES;
    }
    if (GCM_BATCH > 4 && len > 4 * VEC_BYTES) {
        gcm_some(key, state, &c, &g, out, in, 4, VEC_BYTES, enc);
        in += 4 * VEC_BYTES;
        out += 4 * VEC_BYTES;
        len -= 4 * VEC_BYTES;
    }
    gcm_finish(key, state, &c, &g, out, in, len, enc, 0, 5);
}

/*
 * After longer runs: what the compiler spilled, states of AES and sums of GHASH among it, lies where this function's
 * frame lies in its turn, called from the same place. So many vectors are what frames, saved registers and the red zone
 * take with two compilers, and twice that past the caches; test_kernels finds what is left. It costs 3 to 5 ns.
 */
#define GCM_WIPE_VECTORS (VEC_BYTES == 64 ? 12 : VEC_BYTES == 32 ? 16 : 13)

VEC_INLINE int gcm_wipe(uint8_t *stack, const int vectors)
{
    BLOCK_FORGET(stack); /* a compiler that aligns it leaves a gap in front of it */
    uint8_t *const aligned = (uint8_t *)(((uintptr_t)stack + VEC_BYTES) & ~(uintptr_t)(VEC_BYTES - 1));

    vec_store(stack, vec_zero());
    UNROLL
    for (int i = 0; i < vectors - 1; i++)
        vec_store(aligned + i * VEC_BYTES, vec_zero());
    vec_store(stack + (vectors - 1) * VEC_BYTES, vec_zero());
    __asm__ volatile("" : : "r"(stack) : "memory");
    vec_zero_upper(); /* gcc would leave that to the caller */
    return 1;
}

static __attribute__((noinline)) VEC_TARGET int KERNEL(gcm_wipe_stack)(void)
{
    uint8_t stack[GCM_WIPE_VECTORS * VEC_BYTES];

    return gcm_wipe(stack, GCM_WIPE_VECTORS);
}

static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_wipe_stack_nt)(void)
{
    uint8_t stack[2 * GCM_WIPE_VECTORS * VEC_BYTES];

    gcm_wipe(stack, GCM_WIPE_VECTORS);
    gcm_wipe(stack + sizeof stack / 2, GCM_WIPE_VECTORS);
}

/* Apart from gcm_long, which needs more registers than it and would save them for nothing. */
VEC_INLINE void gcm_short(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                          const uint8_t *in, size_t len, const int enc, const int least, const int most,
                          const int are_plain)
{
    struct counters c = counters_start(key, state, (len + 15) / 16, 0, are_plain);
    struct ghash g;

    ghash_span(&g, key, block_load(state->ghash), (len + 15) / 16);
    gcm_finish(key, state, &c, &g, out, in, len, enc, least, most);
}

static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_enc_long)(const struct aesop_gcm_key *key,
                                                                      struct aesop_gcm_state *state, uint8_t *out,
                                                                      const uint8_t *in, size_t len)
{
    gcm_long(key, state, out, in, len, 1, 0);
}

static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_dec_long)(const struct aesop_gcm_key *key,
                                                                      struct aesop_gcm_state *state, uint8_t *out,
                                                                      const uint8_t *in, size_t len)
{
    gcm_long(key, state, out, in, len, 0, 0);
}

static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_enc_far)(const struct aesop_gcm_key *key,
                                                                     struct aesop_gcm_state *state, uint8_t *out,
                                                                     const uint8_t *in, size_t len)
{
    gcm_long(key, state, out, in, len, 1, 1);
    _mm_sfence();
}

static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_dec_far)(const struct aesop_gcm_key *key,
                                                                     struct aesop_gcm_state *state, uint8_t *out,
                                                                     const uint8_t *in, size_t len)
{
    gcm_long(key, state, out, in, len, 0, 1);
    _mm_sfence();
}

static VEC_TARGET void KERNEL(gcm_enc_nt)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                                          const uint8_t *in, size_t len)
{
    KERNEL(gcm_enc_far)(key, state, out, in, len);
    KERNEL(gcm_wipe_stack_nt)();
}

static VEC_TARGET void KERNEL(gcm_dec_nt)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                                          const uint8_t *in, size_t len)
{
    KERNEL(gcm_dec_far)(key, state, out, in, len);
    KERNEL(gcm_wipe_stack_nt)();
}

/* Apart for the same reason. */
static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_enc_medium)(const struct aesop_gcm_key *key,
                                                                        struct aesop_gcm_state *state, uint8_t *out,
                                                                        const uint8_t *in, size_t len)
{
    gcm_short(key, state, out, in, len, 1, 5, 8, 0);
}

static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_dec_medium)(const struct aesop_gcm_key *key,
                                                                        struct aesop_gcm_state *state, uint8_t *out,
                                                                        const uint8_t *in, size_t len)
{
    gcm_short(key, state, out, in, len, 0, 5, 8, 0);
}

/* The rare short runs: behind an IV of other than 12 bytes, or with a carry in the counter. Apart, being rare. */
static __attribute__((noinline)) VEC_TARGET int KERNEL(gcm_enc_any_counters)(const struct aesop_gcm_key *key,
                                                                             struct aesop_gcm_state *state,
                                                                             uint8_t *out, const uint8_t *in,
                                                                             size_t len)
{
    gcm_short(key, state, out, in, len, 1, 1, 4, 0);
    return 1;
}

static __attribute__((noinline)) VEC_TARGET int KERNEL(gcm_dec_any_counters)(const struct aesop_gcm_key *key,
                                                                             struct aesop_gcm_state *state,
                                                                             uint8_t *out, const uint8_t *in,
                                                                             size_t len)
{
    gcm_short(key, state, out, in, len, 0, 1, 4, 0);
    return 1;
}

/*
 * Whether a run of more than four vectors may have left secrets on the stack: at 512 bits the registers suffice, but
 * for a secret counter, and for what compilers make of a second span of GHASH.
 */
VEC_INLINE int gcm_spills(const struct aesop_gcm_key *key, const struct aesop_gcm_state *state, size_t len)
{
    return VEC_BYTES < 64 || (len + 15) / 16 > key->powers || state->counter_is_secret;
}

VEC_INLINE int gcm_is_medium(const struct aesop_gcm_key *key, size_t len)
{
    return len <= 8 * VEC_BYTES && (len + 15) / 16 <= key->powers;
}

static VEC_TARGET int KERNEL(gcm_enc)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                                      const uint8_t *in, size_t len)
{
    if (len > 4 * VEC_BYTES) {
        if (gcm_is_medium(key, len))
            KERNEL(gcm_enc_medium)(key, state, out, in, len);
        else
            KERNEL(gcm_enc_long)(key, state, out, in, len);
        return gcm_spills(key, state, len) ? KERNEL(gcm_wipe_stack)() : 1;
    }
    if (!counters_are_plain(state, (len + 15) / 16))
        return KERNEL(gcm_enc_any_counters)(key, state, out, in, len);
    gcm_short(key, state, out, in, len, 1, 1, 4, 1);
    return 1;
}

static VEC_TARGET int KERNEL(gcm_dec)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                                      const uint8_t *in, size_t len)
{
    if (len > 4 * VEC_BYTES) {
        if (gcm_is_medium(key, len))
            KERNEL(gcm_dec_medium)(key, state, out, in, len);
        else
            KERNEL(gcm_dec_long)(key, state, out, in, len);
        return gcm_spills(key, state, len) ? KERNEL(gcm_wipe_stack)() : 1;
    }
    if (!counters_are_plain(state, (len + 15) / 16))
        return KERNEL(gcm_dec_any_counters)(key, state, out, in, len);
    gcm_short(key, state, out, in, len, 0, 1, 4, 1);
    return 1;
}

/* GHASH of len bytes, at least one, zero-padded. */
VEC_INLINE __m128i gcm_hash(const struct aesop_gcm_key *key, __m128i x, const uint8_t *in, size_t len)
{
    struct ghash g;

    if (len <= AESOP_BLOCK_BYTES) { /* most associated data */
        ghash_span(&g, key, x, 1);
        ghash_add(&g, vec_first_block(block_load_some(in, len)));
        return vec_low_block(ghash_reduce(&g.sum));
    }
    g = ghash_begin(key, x, (len + 15) / 16);
    for (; len >= GCM_BATCH_BYTES; len -= GCM_BATCH_BYTES) {
        vec data[GCM_BATCH];

        UNROLL
        for (int i = 0; i < GCM_BATCH; i++)
            data[i] = vec_load(in + i * VEC_BYTES);
        ghash_batch(&g, key, data);
        in += GCM_BATCH_BYTES;
    }
    for (; len > VEC_BYTES; len -= VEC_BYTES) {
        ghash_add(&g, vec_load(in));
        in += VEC_BYTES;
    }
    if (len > 0)
        ghash_add(&g, vec_load_some(in, len));
    return ghash_end_span(&g);
}

/* The block that ends every GHASH: the lengths of associated data and text in bits. */
VEC_INLINE __m128i gcm_hash_lengths(const struct aesop_gcm_key *key, __m128i x, uint64_t aad_bytes, uint64_t text_bytes)
{
    const __m128i lengths = _mm_set_epi64x((long long)(aad_bytes * 8), (long long)(text_bytes * 8));

    return vec_low_block(ghash_mul_alone(vec_first_block(_mm_xor_si128(x, lengths)), key->h[AESOP_GCM_MAX_POWERS - 1]));
}

static __attribute__((noinline)) VEC_TARGET void
KERNEL(gcm_hash_long)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, const uint8_t *in, size_t len)
{
    block_store(state->ghash, gcm_hash(key, block_load(state->ghash), in, len));
}

static VEC_TARGET int KERNEL(gcm_hash)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state,
                                       const uint8_t *in, size_t len)
{
    if (len >= GCM_BATCH_BYTES) {
        KERNEL(gcm_hash_long)(key, state, in, len);
        return KERNEL(gcm_wipe_stack)();
    }
    block_store(state->ghash, gcm_hash(key, block_load(state->ghash), in, len));
    return 1;
}

VEC_INLINE int gcm_start_at(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, __m128i j0, __m128i next,
                            const int secret)
{
    block_store(state->ghash, _mm_setzero_si128());
    block_store(state->counter, next);
    block_store(state->tag_mask, block_encrypt(&key->aes, j0));
    state->counter_is_secret = secret;
    return 1;
}

/* Apart, since it would save registers for the other as well. */
static __attribute__((noinline)) VEC_TARGET void KERNEL(gcm_start_hashed)(const struct aesop_gcm_key *key,
                                                                          struct aesop_gcm_state *state,
                                                                          const uint8_t *iv, size_t iv_len)
{
    const __m128i x = gcm_hash(key, _mm_setzero_si128(), iv, iv_len), j0 = gcm_hash_lengths(key, x, 0, iv_len);

    gcm_start_at(key, state, block_reverse(j0), block_reverse(_mm_add_epi32(j0, _mm_cvtsi32_si128(1))), 1);
}

static VEC_TARGET int KERNEL(gcm_start)(const struct aesop_gcm_key *key, struct aesop_gcm_state *state,
                                        const uint8_t *iv, size_t iv_len)
{
    if (iv_len != 12) {
        KERNEL(gcm_start_hashed)(key, state, iv, iv_len);
        return KERNEL(gcm_wipe_stack)();
    }
    const __m128i block = block_load_iv(iv); /* SP 800-38D, 7.1, step 2 */
    return gcm_start_at(key, state, _mm_insert_epi32(block, 1 << 24, 3), _mm_insert_epi32(block, 2 << 24, 3), 0);
}

static VEC_TARGET int KERNEL(gcm_tag)(const struct aesop_gcm_key *key, const struct aesop_gcm_state *state,
                                      uint8_t tag[16], uint64_t aad_bytes, uint64_t text_bytes)
{
    const __m128i x = gcm_hash_lengths(key, block_load(state->ghash), aad_bytes, text_bytes);

    block_store(tag, _mm_xor_si128(block_reverse(x), block_load(state->tag_mask)));
    return 1;
}
