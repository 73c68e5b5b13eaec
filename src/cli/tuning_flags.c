/* tuning_flags.c - reads the options of what a job trains */
#include "cli/tuning_flags.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/problem.h"
#include "io/plans/request_trace.h"
#include "plan/documents.h"
#include "plait/data.h"
#include "plait/serve.h"

/* Reads a list of words as bits; the word `all` means the bits of `every`. */
static plait_status read_list(const char *where, const char *text, const char *const *words,
                              unsigned every, unsigned *out, plait_arena *arena, plait_error *err)
{
    size_t count = 0;
    char **const part = text_split(arena, text, ',', &count);
    int word;

    PLAIT_TRY(plait_check_allocated(part, err));
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        if (every != 0 && text_equal(part[i], "all")) {
            *out |= every;
            continue;
        }
        PLAIT_TRY(problem_word(where, part[i], words, &word, err));
        *out |= 1u << word;
    }
    return PLAIT_OK;
}

static plait_status read_adapters(const tuning_flags *flags, plait_arena *arena, plait_tuning *out,
                                  plait_error *err)
{
    int format = out->kind == PLAIT_JOB_QLORA ? PLAIT_FROZEN_NF4 : PLAIT_FROZEN_BF16;

    out->rank = flags->rank > 0 ? flags->rank : PLAIT_LORA_USUAL_RANK;
    out->targets = PLAIT_LORA_USUAL_TARGETS;
    if (flags->targets)
        PLAIT_TRY(read_list("--lora-targets", flags->targets, plait_lora_target_name,
                            PLAIT_LORA_USUAL_TARGETS | 1u << PLAIT_LORA_EXPERTS, &out->targets,
                            arena, err));
    if (flags->format)
        PLAIT_TRY(
            problem_word("--frozen-format", flags->format, plait_frozen_format_name, &format, err));
    out->format = (plait_frozen_format)format;
    return PLAIT_OK;
}

static plait_status read_reference(const tuning_flags *flags, plait_tuning *out, plait_error *err)
{
    int word = out->rank > 0 ? PLAIT_REFERENCE_ADAPTERS : PLAIT_REFERENCE_RESIDENT;

    if (flags->reference)
        PLAIT_TRY(problem_word("--reference", flags->reference, plait_reference_name, &word, err));
    if (word == PLAIT_REFERENCE_APART)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--reference",
                          "expected resident, offloaded, cached or adapters, found apart, which is "
                          "for teachers (--teacher-gpus)");
    if (word == PLAIT_REFERENCE_ADAPTERS && out->rank == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--reference",
                          "expected resident, offloaded or cached without adapters, found "
                          "adapters");
    out->reference = (plait_reference)word;
    return PLAIT_OK;
}

/* C.415: the teacher's weights and forward time, by its parameters. */
static plait_status read_teacher(const tuning_flags *flags, const plait_model *model,
                                 plait_arena *arena, plait_tuning *out, plait_error *err)
{
    plait_model *const teacher = plait_arena_alloc(arena, 1, sizeof *teacher);

    PLAIT_TRY(plait_check_allocated(teacher, err));
    if (!flags->teacher)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--teacher",
                          "expected the teacher of distill, found nothing");
    PLAIT_TRY(problem_find_model(flags->teacher, false, false, arena, teacher, err));
    const plait_params student = plait_model_params(model), other = plait_model_params(teacher);
    out->reference = flags->teacher_gpus > 0 ? PLAIT_REFERENCE_APART : PLAIT_REFERENCE_RESIDENT;
    out->reference_gpus = flags->teacher_gpus;
    out->reference_time = other.active / student.active;
    out->reference_weights = other.total / student.total;
    return PLAIT_OK;
}

/* Sets the documents of a job, from MEAN, from MEAN,P50,P90,MAX or from a file. (C.416, C.441) */
static plait_status read_lengths(const char *text, plait_arena *arena, plait_job *job,
                                 plait_error *err)
{
    size_t count = 0;
    char **const part = text_split(arena, text, ',', &count);
    double number[4] = {0.0};
    request_trace found = {0};

    PLAIT_TRY(plait_check_allocated(part, err));
    if (text[strspn(text, "0123456789.,+-e ")] != '\0') {
        PLAIT_TRY(document_lengths_read(text, arena, &found, err));
    } else {
        bool valid = count == 1 || count == 4;
        for (size_t i = 0; valid && i < count; i++)
            valid = text_parse_number(part[i], &number[i]) && number[i] >= 1.0;
        if (!valid || number[0] > job->seq || number[3] > job->seq)
            return plait_fail(err, PLAIT_ERROR_RANGE, "--lengths",
                              "expected a file, or MEAN or MEAN,P50,P90,MAX of at most the %d "
                              "tokens of a sequence, found '%.40s'",
                              job->seq, text);
        const plait_length_shape shape = {
            .mean = number[0], .p50 = number[1], .p90 = number[2], .max = number[3]};
        PLAIT_TRY(plait_lengths_sample(shape, (plait_length_shape){.mean = 1.0}, arena,
                                       &found.request, &found.count, err));
    }
    double *const length = plait_arena_alloc(arena, (size_t)found.count, sizeof *length);
    PLAIT_TRY(plait_check_allocated(length, err));
    for (int i = 0; i < found.count; i++)
        length[i] = found.request[i].input;
    return job_set_documents(job, length, found.count, arena, err);
}

static plait_status read_data(const tuning_flags *flags, plait_arena *arena, plait_job *job,
                              plait_error *err)
{
    if (flags->lengths)
        PLAIT_TRY(read_lengths(flags->lengths, arena, job, err));
    if ((flags->padding || flags->balance) && job->documents.lengths == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, flags->padding ? "--padding" : "--balance",
                          "expected --lengths in the same command, found nothing");
    job->documents.padded = job->documents.padded || flags->padding;
    job->documents.balanced = job->documents.balanced || flags->balance;
    if (job->documents.padded && job->documents.balanced)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--balance",
                          "expected packed documents, found --padding");
    return PLAIT_OK;
}

static plait_status check_unused(const tuning_flags *flags, const plait_tuning *tuning,
                                 plait_error *err)
{
    const bool adapters = tuning->kind == PLAIT_JOB_LORA || tuning->kind == PLAIT_JOB_QLORA ||
                          (tuning->kind == PLAIT_JOB_DPO && flags->rank > 0);
    const struct {
        const char *name, *needs;
        bool wrong;
    } unused[] = {
        {"--lora-rank", "lora, qlora or dpo",
         flags->rank > 0 && !adapters && tuning->kind != PLAIT_JOB_DPO},
        {"--lora-targets", "lora or qlora", flags->targets && !adapters},
        {"--frozen-format", "lora or qlora", flags->format && !adapters},
        {"--reference", "dpo", flags->reference && tuning->kind != PLAIT_JOB_DPO},
        {"--teacher", "distill", flags->teacher && tuning->kind != PLAIT_JOB_DISTILL},
        {"--teacher-gpus", "distill", flags->teacher_gpus > 0 && tuning->kind != PLAIT_JOB_DISTILL},
        {"--freeze", "a job without adapters", flags->freeze && adapters},
    };

    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (unused[i].wrong)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, unused[i].name,
                              "expected --job %s, found %s", unused[i].needs,
                              plait_job_name[tuning->kind]);
    return PLAIT_OK;
}

plait_status tuning_flags_resolve(const tuning_flags *flags, const plait_model *model,
                                  plait_arena *arena, plait_job *out, plait_error *err)
{
    plait_tuning *const tuning = &out->tuning;
    int kind = (int)tuning->kind;

    if (flags->job)
        PLAIT_TRY(problem_word("--job", flags->job, plait_job_name, &kind, err));
    if (flags->job)
        *tuning = (plait_tuning){.kind = (plait_job_kind)kind};
    PLAIT_TRY(check_unused(flags, tuning, err));
    if (tuning->kind == PLAIT_JOB_RL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--job",
                          "expected a job of one kind of step, found rl, which `plait rl` plans");
    if (flags->freeze)
        PLAIT_TRY(read_list("--freeze", flags->freeze, plait_freeze_name, 0, &tuning->frozen, arena,
                            err));
    const bool lora = tuning->kind == PLAIT_JOB_LORA || tuning->kind == PLAIT_JOB_QLORA ||
                      (tuning->kind == PLAIT_JOB_DPO && flags->rank > 0);
    if (lora && (flags->job || flags->rank > 0 || flags->targets || flags->format))
        PLAIT_TRY(read_adapters(flags, arena, tuning, err));
    if (tuning->kind == PLAIT_JOB_DPO && (flags->job || flags->reference))
        PLAIT_TRY(read_reference(flags, tuning, err));
    if (tuning->kind == PLAIT_JOB_DISTILL &&
        (flags->job || flags->teacher || flags->teacher_gpus > 0))
        PLAIT_TRY(read_teacher(flags, model, arena, tuning, err));
    return read_data(flags, arena, out, err);
}
