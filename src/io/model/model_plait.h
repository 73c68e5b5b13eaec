/* model_plait.h - the parts of a kind of layer, each out of an object of its own */
#pragma once

#include "io/model/model_private.h"

plait_status model_read_attention(const json_cursor *at, int hidden, plait_attention *out,
                                  plait_error *err) PLAIT_MUST_CHECK;
plait_status model_read_mla(const json_cursor *at, plait_mla *out,
                            plait_error *err) PLAIT_MUST_CHECK;
plait_status model_read_delta_net(const json_cursor *at, plait_delta_net *out,
                                  plait_error *err) PLAIT_MUST_CHECK;
plait_status model_read_mamba(const json_cursor *at, int hidden, plait_mamba *out,
                              plait_error *err) PLAIT_MUST_CHECK;
plait_status model_read_mlp(const json_cursor *at, plait_mlp *out,
                            plait_error *err) PLAIT_MUST_CHECK;
plait_status model_read_moe(const json_cursor *at, plait_moe *out,
                            plait_error *err) PLAIT_MUST_CHECK;
plait_status model_read_opaque(const json_cursor *at, plait_opaque *out,
                               plait_error *err) PLAIT_MUST_CHECK;
