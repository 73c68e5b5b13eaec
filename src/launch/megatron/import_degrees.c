/* import_degrees.c - degrees, ranks, GPUs and batch out of Megatron-LM's arguments */
#include <stdio.h>
#include <string.h>

#include "launch/megatron/import_parts.h"
#include "launch/read/launcher.h"

/* Two sizes that make up cp. The price takes the most that heads and node allow for the first. */
static plait_status check_sizes(const megatron_args *args, const plan_reader *in, plait_error *err)
{
    const char *const sizes = args->hierarchical_context_parallel_sizes;
    int inner = 0, rings = 0;
    char junk;

    if (sizes != NULL && sscanf(sizes, "%6d %6d%c", &inner, &rings, &junk) == 2 && inner > 0 &&
        rings > 0 && (int64_t)inner * rings == args->context_parallel_size)
        return PLAIT_OK;
    return flags_fail(in->flags, MEGATRON_NAME(hierarchical_context_parallel_sizes), err,
                      "expected two sizes that make up a context of %d ranks, found \"%.40s\"",
                      args->context_parallel_size, sizes != NULL ? sizes : "");
}

static plait_status read_exchange(const megatron_args *args, plan_reader *in, plait_error *err)
{
    const char *const word = args->cp_comm_type;
    const int comm =
        strcmp(word, "all_gather") == 0 ? PLAIT_CP_ALLGATHER : text_index(word, plait_cp_comm_name);

    if (comm < 0)
        return flags_fail(in->flags, MEGATRON_NAME(cp_comm_type), err,
                          "expected p2p, allgather, a2a or a2a+p2p, found \"%.40s\"", word);
    in->out->degrees.cp_comm = (unsigned char)comm;
    return comm == PLAIT_CP_A2A_P2P ? check_sizes(args, in, err) : PLAIT_OK;
}

static plait_status read_ranks(const megatron_args *args, plan_reader *in, plait_error *err)
{
    static const char *const keys[] = {"tp", "sp",  "pp",    "cp", "cp_comm",
                                       "ep", "etp", "order", NULL};
    plait_degrees *const d = &in->out->degrees;

    d->tp = args->tensor_model_parallel_size;
    d->pp = args->pipeline_model_parallel_size;
    d->cp = args->context_parallel_size;
    d->ep = args->expert_model_parallel_size;
    d->etp = args->expert_tensor_parallel_size > 0 ? args->expert_tensor_parallel_size : d->tp;
    d->sp = d->tp > 1 && args->sequence_parallel;
    d->order = args->use_tp_pp_dp_mapping ? PLAIT_ORDER_TP_CP_PP_DP : PLAIT_ORDER_TP_CP_DP_PP;
    PLAIT_TRY(read_exchange(args, in, err));
    for (const char *const *key = keys; *key != NULL; key++)
        import_give(in, *key);
    return PLAIT_OK;
}

static void read_world(const megatron_args *args, plan_reader *in)
{
    const int gpus = launcher_gpus(in->flags);

    if (args->world_size > 0)
        in->out->gpus = args->world_size;
    else if (gpus > 0)
        in->out->gpus = gpus;
}

/* What follows once the GPUs are known. */
static plait_status read_replicas(const megatron_args *args, plan_reader *in, plait_error *err)
{
    const int instances = args->num_distributed_optimizer_instances;
    plait_degrees *const d = &in->out->degrees;

    d->dp = in->out->gpus > 0 ? plait_degrees_dp(in->out->gpus, d->tp, d->pp, d->cp) : 0;
    if (d->dp == 0)
        return PLAIT_OK;
    if (d->dp * d->cp % instances != 0)
        return flags_fail(in->flags, MEGATRON_NAME(num_distributed_optimizer_instances), err,
                          "expected a divisor of dp x cp = %d, found %d", d->dp * d->cp, instances);
    d->shard_group = d->dp * d->cp / instances;
    import_give(in, "shard_group");
    return PLAIT_OK;
}

static void read_batch(const megatron_args *args, plan_reader *in)
{
    plans_entry *const out = in->out;

    if (args->seq_length > 0)
        out->seq = args->seq_length;
    if (args->global_batch_size > 0)
        out->gbs = args->global_batch_size;
    if (args->micro_batch_size == 0)
        return;
    out->degrees.mbs = args->micro_batch_size;
    if (out->gbs == 0 && out->degrees.dp > 0 &&
        args->micro_batch_size <= PLAIT_MAX_GBS / out->degrees.dp)
        out->gbs = args->micro_batch_size * out->degrees.dp; // one microbatch a step
    import_give(in, "mbs");
}

plait_status megatron_read_degrees(const megatron_args *args, plan_reader *in, plait_error *err)
{
    PLAIT_TRY(read_ranks(args, in, err));
    read_world(args, in);
    PLAIT_TRY(read_replicas(args, in, err));
    read_batch(args, in);
    return PLAIT_OK;
}
