/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/table.h"

#include <stdlib.h>

#define NOT_THERE SIZE_MAX

static size_t index_places(size_t capacity)
{
    size_t places = 2;

    while (places < 2 * capacity)
        places *= 2;
    return places;
}

size_t aesop_table_bytes(size_t capacity)
{
    return sizeof(struct aesop_table) + capacity * (sizeof(struct aesop_slot) + sizeof(uint64_t)) +
           _Alignof(struct aesop_slot) + index_places(capacity) * sizeof(uint64_t);
}

struct aesop_table *aesop_table_new(size_t capacity)
{
    const size_t alignment = _Alignof(struct aesop_slot);
    struct aesop_table *t;

    if (capacity == 0 || capacity >= UINT32_MAX || (t = aligned_alloc(_Alignof(struct aesop_table), sizeof *t)) == NULL)
        return NULL;
    memset(t, 0, sizeof *t);
    t->capacity = capacity;
    t->mask = index_places(capacity) - 1;
    t->index = calloc(t->mask + 1, sizeof *t->index);
    t->hashes = calloc(capacity, sizeof *t->hashes);
    t->memory = calloc(1, alignment + capacity * sizeof *t->slots);
    if (t->index == NULL || t->hashes == NULL || t->memory == NULL || pthread_mutex_init(&t->lock, NULL) != 0) {
        free(t->index);
        free(t->hashes);
        free(t->memory);
        free(t);
        return NULL;
    }
    t->slots = (struct aesop_slot *)(((uintptr_t)t->memory + alignment) & ~(alignment - 1));
    return t;
}

void aesop_table_free(struct aesop_table *t)
{
    if (t == NULL)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t->index);
    free(t->hashes);
    free(t->memory);
    free(t);
}

/* ---- the index; its writer alone changes it, so it reads without order ---- */

static uint64_t place_get(const struct aesop_table *t, size_t i)
{
    return atomic_load_explicit(&t->index[i & t->mask], memory_order_relaxed);
}

static void place_set(struct aesop_table *t, size_t i, uint64_t place)
{
    atomic_store_explicit(&t->index[i & t->mask], place, memory_order_relaxed);
}

static size_t place_slot(uint64_t place)
{
    return (size_t)(uint32_t)place - 1;
}

static void index_add(struct aesop_table *t, size_t slot)
{
    const uint64_t hash = t->hashes[slot];
    size_t i = hash;

    while (place_get(t, i) != 0)
        i++;
    place_set(t, i, (hash & ~(uint64_t)UINT32_MAX) | (slot + 1));
}

/*
 * Takes the slot's place out and moves up those behind that would else no longer be found. A reader may miss one
 * meanwhile.
 */
static void index_remove(struct aesop_table *t, size_t slot)
{
    size_t hole = t->hashes[slot];

    while (place_slot(place_get(t, hole)) != slot)
        hole++;
    for (size_t i = hole + 1; place_get(t, i) != 0; i++) {
        const size_t home = t->hashes[place_slot(place_get(t, i))];

        if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
            place_set(t, hole, place_get(t, i));
            hole = i;
        }
    }
    place_set(t, hole, 0);
}

/* ---- the slots ---- */

/* Data are stored with release: who sees one of them sees the odd sequence number as well. */
static void slot_write(struct aesop_slot *slot, const struct aesop_key *key, uint64_t stamp, uint64_t value)
{
    const uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);

    atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_relaxed);
    atomic_store_explicit(&slot->stamp, stamp, memory_order_release);
    atomic_store_explicit(&slot->value, value, memory_order_release);
    for (size_t i = 0; i < key->words; i++)
        atomic_store_explicit(&slot->word[i], key->word[i], memory_order_release);
    atomic_store_explicit(&slot->recent, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, sequence + 2, memory_order_release);
}

static size_t find(const struct aesop_table *t, const struct aesop_key *key)
{
    for (size_t i = key->hash; place_get(t, i) != 0; i++) {
        const size_t slot = place_slot(place_get(t, i));
        size_t same = 0;

        if (t->hashes[slot] != key->hash)
            continue;
        while (same < key->words &&
               atomic_load_explicit(&t->slots[slot].word[same], memory_order_relaxed) == key->word[same])
            same++;
        if (same == key->words)
            return slot;
    }
    return NOT_THERE;
}

static int is_live(const struct aesop_table *t, size_t slot)
{
    return atomic_load_explicit(&t->slots[slot].stamp, memory_order_relaxed) == t->stamp;
}

/* The clock: the hand passes over what was read since it last came by, once. */
static size_t evict(struct aesop_table *t)
{
    for (;;) {
        const size_t slot = t->hand;
        const int live = is_live(t, slot);

        t->hand = (t->hand + 1) % t->capacity;
        /* Readers may set flags as fast as the hand clears them, which only makes it go round once more. */
        if (!live || !atomic_exchange_explicit(&t->slots[slot].recent, 0, memory_order_relaxed)) {
            t->evictions += (unsigned)live;
            t->live -= (unsigned)live;
            index_remove(t, slot);
            return slot;
        }
    }
}

void aesop_table_put(struct aesop_table *t, const struct aesop_key *key, uint64_t stamp, uint64_t value)
{
    size_t slot;

    pthread_mutex_lock(&t->lock);
    if (stamp < t->stamp)
        goto done; /* true once, not any more */
    if (stamp > t->stamp) {
        t->stamp = stamp;
        t->live = 0;
    }
    slot = find(t, key);
    if (slot != NOT_THERE) {
        t->live += !is_live(t, slot);
        slot_write(&t->slots[slot], key, stamp, value);
    } else {
        slot = t->used < t->capacity ? t->used++ : evict(t);
        slot_write(&t->slots[slot], key, stamp, value);
        t->hashes[slot] = key->hash;
        index_add(t, slot);
        t->live++;
    }
done:
    pthread_mutex_unlock(&t->lock);
}

size_t aesop_table_count(struct aesop_table *t, uint64_t stamp)
{
    size_t count;

    pthread_mutex_lock(&t->lock);
    count = stamp == t->stamp ? t->live : 0;
    pthread_mutex_unlock(&t->lock);
    return count;
}

uint64_t aesop_table_evictions(struct aesop_table *t)
{
    uint64_t evictions;

    pthread_mutex_lock(&t->lock);
    evictions = t->evictions;
    pthread_mutex_unlock(&t->lock);
    return evictions;
}
