/* hash.h - hashing of words */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * Adds a word to a hash. The factor is the odd number nearest to 2^64 / golden ratio (TAOCP 6.4).
 */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static inline uint64_t hash_ints(uint64_t hash, const int *word, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = hash_word(hash, (uint64_t)word[i]);
    return hash;
}
