/*
 * mindspeed.h - MindSpeed-LLM as a target: Megatron-LM's arguments, and those of Ascend's kernels
 *
 * As in Ascend/MindSpeed-LLM c77308a (2026-08-21) with Ascend/MindSpeed 028de58 (2026-07-21):
 * mindspeed_llm/features_manager and mindspeed/features_manager add their arguments to the parser
 * of Megatron Core 0.12.1, which pretrain_gpt.py runs.
 */
#pragma once

#include "launch/megatron/megatron.h"

/**
 * The inverse of mindspeed_words in mindspeed.c: add Megatron-LM's flags for those that only
 * MindSpeed-LLM has.
 *
 * @param warnings  receives a line on options that change a price and that plait has no term for
 */
PLAIT_MUST_CHECK plait_status mindspeed_translate(launch_flags *flags, text_builder *warnings,
                                                  plait_error *err);
