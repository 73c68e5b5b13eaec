/* fuzz_lengths.c - any bytes as a file of `--lengths`: documents of a job, and requests of a load */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "io/plans/request_trace.h"
#include "plait/problem.h"
#include "plan/documents.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEQ = 4096, GBS = 8 };

static void check_lengths(const request_trace *trace)
{
    assert(trace->count > 0);
    assert(isfinite(trace->rate) && trace->rate >= 0.0);
    for (int i = 0; i < trace->count; i++) {
        const plait_request_lengths *const one = &trace->request[i];

        assert(one->input > 0.0 && one->input <= 2.0 * PLAIT_MAX_SEQ);
        assert(one->output >= 0.0 && one->output <= PLAIT_MAX_SEQ);
        assert(one->cached >= 0.0 && one->cached < one->input);
    }
}

static void check_documents(const request_trace *trace, plait_arena *arena)
{
    plait_problem problem;
    plait_error err;
    double *const length = plait_arena_alloc(arena, (size_t)trace->count, sizeof *length);

    assert(length != NULL);
    for (int i = 0; i < trace->count; i++)
        length[i] = trace->request[i].input;
    plait_problem_init(&problem);
    plait_job *const job = &problem.job;
    job->seq = SEQ;
    job->gbs = GBS;
    assert(job_set_documents(job, length, trace->count, arena, &err) == PLAIT_OK);
    assert(job_check_documents(job, &err) == PLAIT_OK);
    const document_load load = document_load_of(job, 2);
    assert(isfinite(load.tokens) && load.tokens > 0.0);
    assert(isfinite(load.work_most) && isfinite(load.work_deviation));
}

static void check_requests(const request_trace *trace)
{
    const plait_lengths lengths = plait_lengths_of(trace->request, trace->count);

    assert(lengths.input.mean >= 1.0 && lengths.input.mean <= PLAIT_MAX_SEQ);
    assert(lengths.output.mean >= 1.0 && lengths.output.mean <= PLAIT_MAX_SEQ);
    assert(isfinite(lengths.output_cv) && isfinite(lengths.cached));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    request_trace trace;
    char path[32];
    const int file = memory_file(data, size, path);

    assert(arena != NULL);
    if (document_lengths_read(path, arena, &trace, &err) == PLAIT_OK) {
        check_lengths(&trace);
        check_documents(&trace, arena);
    } else {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    if (request_trace_read(path, arena, &trace, &err) == PLAIT_OK) {
        check_lengths(&trace);
        check_requests(&trace);
    } else {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    close(file);
    plait_arena_free(arena);
    return 0;
}
