/* megatron_layers.h - the three small languages of Megatron-LM's arguments, and layers per stage */
#pragma once

#include <stdbool.h>

enum { MEGATRON_MAX_LAYERS = 1024, MEGATRON_MAX_CHUNKS = 1024 };

/**
 * "([0]*3+[1]*58)": a number a layer. "4" means every fourth layer.
 *
 * @param entry  receives the numbers of a list [MEGATRON_MAX_LAYERS]; may be NULL
 * @return       how many; 1 for a plain number (then entry[0] is it), 0 when it is neither
 */
int megatron_pattern(const char *text, int *entry);

bool megatron_pattern_is_list(const char *text);

/** What one stage of a layout holds, between two '|'. */
typedef struct megatron_chunk {
    int embeddings, layers, predictions, losses;
} megatron_chunk;

/**
 * "Et*3|(tt|)*4mL": stages in order.
 *
 * @return  how many; 0 when it is not a layout, or its letters stand in another order than E t m L
 */
int megatron_layout(const char *text, megatron_chunk chunk[MEGATRON_MAX_CHUNKS]);

/** The pattern of a hybrid, one letter a layer. */
typedef struct megatron_hybrid {
    int layers;       /* letters before the first '/', of all segments */
    int segments;     /* between '|' */
    int modules;      /* modules of further predictions: each '/' begins one */
    int letters[128]; /* layers of each letter, with those of modules */
} megatron_hybrid;

/**
 * "MEM*E|MEM*-/ME": letters of layers, in segments, and modules.
 *
 * @return  false when a letter is unknown, two kinds of attention are mixed, or modules
 *          differ
 */
bool megatron_hybrid_read(const char *text, megatron_hybrid *out);
