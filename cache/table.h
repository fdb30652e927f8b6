/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded map from short keys to 64-bit values that any number of threads read without a lock.
 *
 * Nothing is freed and nothing moves while a table lives: it is one arena of slots, made once. A writer (one at a
 * time, by a mutex) overwrites a slot in place between an odd and an even sequence number; a reader takes what it
 * reads only if it saw the same even number before and after. So a reader never waits, never retries (what it cannot
 * read is a miss) and writes nothing, apart from one flag per slot and sweep of the clock that finds what to evict.
 *
 * Every entry bears the stamp that it was put with; for a reader with another stamp it is not there. That is how all is
 * forgotten at once.
 */
#ifndef AESOP_CACHE_TABLE_H
#define AESOP_CACHE_TABLE_H

#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* With sequence, stamp, value and flag a slot is two cache lines. */
#define AESOP_KEY_WORDS 12

/* ---- keys ---- */

/* Words that hold texts and numbers one after the other. Lengths of texts are in word[0]. */
struct aesop_key {
    uint64_t hash;
    size_t words;
    uint64_t word[AESOP_KEY_WORDS];
};

/*
 * Everything here is inlined into the functions that look something up, where most of it becomes constants and
 * registers. Words are multiplied apart from each other, each by an odd number of its own, so that the CPU overlaps
 * them.
 */
#define AESOP_INLINE static inline __attribute__((always_inline))

AESOP_INLINE uint64_t aesop_hash_word(uint64_t word, size_t place)
{
    return word * ((2 * place + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/*
 * `kind` keeps keys of different make apart: below 2^56 where all keys of a table have one text, 1 to 255 where some
 * have two.
 */
AESOP_INLINE void aesop_key_start(struct aesop_key *k, uint64_t kind)
{
    k->word[0] = kind;
    k->words = 1;
    k->hash = 0;
}

/* Numbers come before texts; there is always room for them. */
AESOP_INLINE void aesop_key_add_number(struct aesop_key *k, uint64_t number)
{
    k->hash += aesop_hash_word(number, k->words);
    k->word[k->words++] = number;
}

AESOP_INLINE uint64_t aesop_load64(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

AESOP_INLINE uint64_t aesop_load32(const char *p)
{
    uint32_t word;

    memcpy(&word, p, sizeof word);
    return le32toh(word);
}

/* 0 < n < 8 bytes */
AESOP_INLINE uint64_t aesop_load_few(const char *p, size_t n)
{
    const unsigned char *byte = (const unsigned char *)p;

    if (n >= 4)
        return aesop_load32(p) | aesop_load32(p + n - 4) << 8 * (n - 4);
    return byte[0] | (uint64_t)byte[n / 2] << 8 * (n / 2) | (uint64_t)byte[n - 1] << 8 * (n - 1);
}

/*
 * ASCII upper case to lower case, in all eight bytes at once: bit 7 of a byte's sum says that the byte is above a
 * bound.
 */
AESOP_INLINE uint64_t aesop_fold_case(uint64_t word)
{
    const uint64_t each = UINT64_C(0x0101010101010101), low = word & 0x7f * each;
    const uint64_t from_a = low + (0x80 - 'A') * each, above_z = low + (0x7f - 'Z') * each;

    return word | ((from_a & ~above_z & ~word & 0x80 * each) >> 2);
}

/* The same for texts in which signs are all alike: it makes others of @[\]^_ and of bytes above ASCII. */
AESOP_INLINE uint64_t aesop_fold_case_of_words(uint64_t word)
{
    return word | (word & UINT64_C(0x4040404040404040)) >> 1;
}

enum aesop_fold { AESOP_FOLD_NOTHING, AESOP_FOLD_CASE, AESOP_FOLD_CASE_OF_WORDS };

AESOP_INLINE uint64_t aesop_fold(uint64_t word, enum aesop_fold fold)
{
    return fold == AESOP_FOLD_CASE            ? aesop_fold_case(word)
           : fold == AESOP_FOLD_CASE_OF_WORDS ? aesop_fold_case_of_words(word)
                                              : word;
}

/* Adds a text, at most two per key. Returns 0 where it does not fit. */
AESOP_INLINE int aesop_key_add_text(struct aesop_key *k, const char *text, size_t len, enum aesop_fold fold)
{
    size_t n = k->words, i = 0;
    uint64_t hash = k->hash, word;

    if ((len + 7) / 8 > AESOP_KEY_WORDS - n)
        return 0;
    k->word[0] = k->word[0] << 8 | len;
    for (; i + 8 < len; i += 8) {
        word = aesop_fold(aesop_load64(text + i), fold);
        hash += aesop_hash_word(word, n);
        k->word[n++] = word;
    }
    if (len > 0) {
        /* The last eight bytes, where there are as many: they may lie upon the ones before. */
        word = aesop_fold(len >= 8 ? aesop_load64(text + len - 8) : aesop_load_few(text, len), fold);
        hash += aesop_hash_word(word, n);
        k->word[n++] = word;
    }
    k->words = n;
    k->hash = hash;
    return 1;
}

AESOP_INLINE void aesop_key_finish(struct aesop_key *k)
{
    uint64_t hash = k->hash + aesop_hash_word(k->word[0], 0);

    /* A product's low bits know only low bits: the upper half comes down twice. */
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    k->hash = hash ^ hash >> 32;
}

/* ---- the table ---- */

struct aesop_slot {
    _Alignas(64) _Atomic uint64_t sequence; /* odd while the slot is being written */
    _Atomic uint64_t stamp, value;
    _Atomic uint64_t word[AESOP_KEY_WORDS];
    _Atomic uint64_t recent; /* read since the clock's hand passed */
};

struct aesop_table {
    size_t mask; /* of the index, which has a power of two of places, at least twice the capacity */
    _Atomic uint64_t
        *index; /* 0, or upper half of the hash | number of the slot + 1; collisions go to the next place */
    struct aesop_slot *slots;

    /* What follows is the writer's, away from what others read. */
    _Alignas(64) pthread_mutex_t lock;
    void *memory;     /* that the slots lie in: as calloc gives it, untouched until it is used */
    uint64_t *hashes; /* of the keys in the slots */
    size_t capacity, used, hand;
    uint64_t stamp, evictions; /* the stamp that was put last */
    size_t live;               /* entries that bear it */
};

/* Bytes that a table of that capacity takes. */
size_t aesop_table_bytes(size_t capacity);
/* capacity >= 1. Returns NULL where there is no memory. */
struct aesop_table *aesop_table_new(size_t capacity);
void aesop_table_free(struct aesop_table *t);

/* Adds or replaces; evicts where the table is full, entries of other stamps first. */
void aesop_table_put(struct aesop_table *t, const struct aesop_key *key, uint64_t stamp, uint64_t value);
/* How many entries have that stamp, the latest; and how many of the latest stamp have been evicted so far. */
size_t aesop_table_count(struct aesop_table *t, uint64_t stamp);
uint64_t aesop_table_evictions(struct aesop_table *t);

/*
 * Whether the slot holds that key and stamp, and its value. Loads are acquire so that none sinks below the second
 * look at the sequence number; on x86 that costs nothing. (A fence would do as well, but ThreadSanitizer knows none.)
 */
AESOP_INLINE int aesop_slot_read(uint64_t *value, struct aesop_slot *slot, const struct aesop_key *key, uint64_t stamp)
{
    const uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
    uint64_t difference = atomic_load_explicit(&slot->stamp, memory_order_acquire) ^ stamp;

    /* word[0] has the lengths: where it agrees, so does the number of words. */
    for (size_t i = 0; i < key->words; i++)
        difference |= atomic_load_explicit(&slot->word[i], memory_order_acquire) ^ key->word[i];
    *value = atomic_load_explicit(&slot->value, memory_order_acquire);
    return difference == 0 && sequence % 2 == 0 &&
           atomic_load_explicit(&slot->sequence, memory_order_relaxed) == sequence;
}

/* Returns 1 and the value, or 0: not there (or being written at this moment). */
AESOP_INLINE int aesop_table_get(uint64_t *value, struct aesop_table *t, const struct aesop_key *key, uint64_t stamp)
{
    const size_t mask = t->mask;

    for (size_t i = key->hash, n = 0; n <= mask; i++, n++) {
        const uint64_t place = atomic_load_explicit(&t->index[i & mask], memory_order_relaxed);
        struct aesop_slot *slot = &t->slots[(uint32_t)place - 1];

        if (place == 0)
            return 0;
        if (place >> 32 == key->hash >> 32 && aesop_slot_read(value, slot, key, stamp)) {
            if (!atomic_load_explicit(&slot->recent, memory_order_relaxed))
                atomic_store_explicit(&slot->recent, 1, memory_order_relaxed);
            return 1;
        }
    }
    return 0;
}

#endif
