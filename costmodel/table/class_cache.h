/* class_cache.h - how the ranks of a pipeline were sorted into classes before */
#pragma once

#include "costmodel/table/table_private.h"

/** NULL: out of memory. It remembers nothing until it may grow. */
class_memo *class_memo_new(plait_arena *arena);

/** From now on what it remembers lives in `arena`, which is not to be rewound. */
void class_memo_grow(class_memo *memo, plait_arena *arena);

/** Fills the table's classes and runs as they were; false: it does not know them. */
bool class_memo_take(const class_memo *memo, const plait_degrees *degrees, plait_table *table);

/** Keeps them, where there is room. Layouts are not kept: none comes twice. */
void class_memo_keep(class_memo *memo, const plait_degrees *degrees, const plait_table *table);
