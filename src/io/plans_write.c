/* plans_write.c - a plan and its question as JSON, as far as they are known */
#include "plans_write.h"

#include "cluster_write.h"
#include "model_write.h"
#include "plait/runtime.h"

plans_entry plans_entry_of(const plait_problem *problem, const plait_degrees *degrees)
{
    return (plans_entry){
        .rank = 1,
        .model = problem->model,
        .cluster = problem->cluster,
        .runtime = problem->runtime->name,
        .seq = problem->job.seq,
        .gbs = problem->job.gbs,
        .gpus = problem->job.gpus,
        .precision = (int)problem->job.precision,
        .attention = (int)problem->job.attention,
        .degrees = *degrees,
        .given = ~0UL,
    };
}

/* ---- members that may be unknown ---- */

static bool given(const plans_entry *entry, const char *key)
{
    return (entry->given & plans_key_bit(key)) != 0;
}

static void member_of_degrees(json_writer *json, const char *key, const plans_entry *entry)
{
    char text[96];

    json_member_string(
        json, key,
        given(entry, key) ? plait_degrees_get(&entry->degrees, key, text, sizeof text) : NULL);
}

static void member_of_count(json_writer *json, const char *key, int count)
{
    if (count > 0)
        json_member_int64(json, key, count);
    else
        json_member_null(json, key);
}

static void member_of_int(json_writer *json, const char *key, int value, const plans_entry *entry)
{
    if (given(entry, key))
        json_member_int64(json, key, value);
    else
        json_member_null(json, key);
}

static void member_of_word(json_writer *json, const char *key, const char *const *words, int index)
{
    json_member_string(json, key, index >= 0 ? words[index] : NULL);
}

static void write_order(json_writer *json, const plans_entry *entry)
{
    const plait_axis *axes = plait_order_axes((plait_order)entry->degrees.order);

    json_write_key(json, "order");
    if (!given(entry, "order")) {
        json_write_null(json);
        return;
    }
    json_begin_row(json);
    for (int i = 0; i < PLAIT_AXES; i++)
        json_write_string(json, plait_axis_name[axes[i]]);
    json_end_array(json);
}

void plans_write_degrees(json_writer *json, const plans_entry *entry)
{
    const plait_degrees *const d = &entry->degrees;
    const bool batch = given(entry, "dp") && given(entry, "mbs") && entry->gbs > 0;

    member_of_int(json, "tp", d->tp, entry);
    member_of_int(json, "sp", d->sp, entry);
    member_of_int(json, "pp", d->pp, entry);
    member_of_int(json, "vpp", d->vpp, entry);
    member_of_int(json, "cp", d->cp, entry);
    member_of_degrees(json, "cp_comm", entry);
    member_of_int(json, "ep", d->ep, entry);
    member_of_int(json, "etp", d->etp, entry);
    member_of_count(json, "dp", given(entry, "dp") ? d->dp : 0);
    member_of_int(json, "zero", d->zero, entry);
    member_of_count(json, "shard_group", given(entry, "shard_group") ? d->shard_group : 0);
    member_of_int(json, "mbs", d->mbs, entry);
    member_of_count(json, "gbs", entry->gbs);
    member_of_count(json, "microbatches", batch ? plait_degrees_microbatches(d, entry->gbs) : 0);
    member_of_degrees(json, "recompute", entry);
    member_of_degrees(json, "schedule", entry);
    member_of_degrees(json, "grad_sync", entry);
    json_member_string(json, "fusion", "none");
    member_of_word(json, "precision", plait_precision_name, entry->precision);
    member_of_word(json, "attention", plait_attention_kernel_name, entry->attention);
    json_member_string(json, "runtime", entry->runtime);
    member_of_degrees(json, "split", entry);
    write_order(json, entry);
}

void plans_write_job(json_writer *json, const plans_entry *entry)
{
    json_begin_object(json);
    member_of_count(json, "seq", entry->seq);
    member_of_count(json, "gbs", entry->gbs);
    member_of_count(json, "gpus", entry->gpus);
    member_of_word(json, "precision", plait_precision_name, entry->precision);
    json_member_string(json, "runtime", entry->runtime);
    member_of_word(json, "attention", plait_attention_kernel_name, entry->attention);
    json_end_object(json);
}

plait_status plans_write(const plans_entry *entry, plait_arena *arena, const char **text,
                         size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_string(&json, "plait", PLAIT_VERSION);
    json_write_key(&json, "model");
    if (entry->model != NULL)
        model_write(&json, entry->model);
    else
        json_write_null(&json);
    json_write_key(&json, "cluster");
    if (entry->cluster != NULL)
        cluster_write(&json, entry->cluster);
    else
        json_write_null(&json);
    json_write_key(&json, "job");
    plans_write_job(&json, entry);
    json_write_key(&json, "plans");
    json_begin_array(&json);
    json_begin_object(&json);
    json_member_int64(&json, "rank", 1);
    plans_write_degrees(&json, entry);
    json_end_object(&json);
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
