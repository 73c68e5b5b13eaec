/*
 * megatron_check.h - would Megatron-LM start these arguments?
 *
 * A second opinion: nothing here comes from src/launch or src/plan, only the text of args.sh, the
 * number of GPUs and their generation count. The rules are those that Megatron-LM applies while it
 * starts, in its order, under these numbers:
 *
 *     flags      the parser        V  validate_args           B  microbatches
 *     G  process groups            C  configuration of the model
 *     L  layers of the stages      S  schedule                F  first forward pass; F6, F8 and
 *                                                                to F10 are of its kernels
 *
 * Left out: rules of what a launch never asks for (weight shards, torch's FSDP 2, optimizers other
 * than Adam, inference), and versions of libraries.
 */
#pragma once

#include <stdbool.h>

#include "support/megatron_flags.h"

typedef struct megatron_finding {
    const char *rule; /* "flags", "V1", ...; NULL: nothing is wrong */
    char sentence[MEGATRON_SENTENCE_SIZE];
} megatron_finding;

/**
 * The first rule that a launch breaks.
 *
 * @param text   args.sh
 * @param world  GPUs
 * @param arch   major number of the compute capability: 8 Ampere, 9 Hopper, 10 Blackwell
 * @return       true when nothing is wrong
 */
bool megatron_check(const char *text, int world, int arch, megatron_finding *found);
