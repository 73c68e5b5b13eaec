/* class_cache.h - cache of the classes of a pipeline's ranks */
#pragma once

#include "costmodel/table/table_private.h"

/** Returns a cache, which stores nothing before class_cache_grow; NULL when out of memory. */
class_cache *class_cache_new(plait_arena *arena);

/** Lets the cache store classes in `arena`, which must not be rewound. */
void class_cache_grow(class_cache *cache, plait_arena *arena);

/** Fills the table's classes and runs from the cache; false: not cached. */
bool class_cache_get(const class_cache *cache, const plait_degrees *degrees, plait_table *table);

/**
 * Stores the table's classes and runs if the cache has space. Layouts are not stored, since none
 * repeats.
 */
void class_cache_put(class_cache *cache, const plait_degrees *degrees, const plait_table *table);
