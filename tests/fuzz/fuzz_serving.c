/* fuzz_serving.c - any bytes as what serving reads: an engine, measured runs, an answer, a command line */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "plait/serve.h"
#include "io/plans/serve_answer.h"
#include "launch/serving_import.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENGINE, RUNS, ANSWER, VLLM, SGLANG, READERS };

static plait_status read_engine(const char *path, plait_arena *arena, plait_error *err)
{
    plait_engine engine;

    PLAIT_TRY(plait_engine_load(path, arena, &engine, err));
    assert(engine.kind < PLAIT_ENGINES && engine.chunk_tokens > 0.0);
    assert(engine.memory_fraction > 0.0 && engine.memory_fraction <= 1.0);
    assert(isfinite(engine.linear) && engine.linear > 0.0);
    return PLAIT_OK;
}

static plait_status read_runs(const char *path, plait_arena *arena, plait_error *err)
{
    plait_serve_runs runs;

    return plait_serve_runs_load(path, arena, &runs, err);
}

/* What is read answers for itself: it can be priced, or is refused in words. */
static plait_status read_answer(const char *path, plait_arena *arena, plait_error *err)
{
    serve_answer answer;

    bool is;

    PLAIT_TRY(serve_answer_is(path, arena, &is, err));
    PLAIT_TRY(serve_answer_load(path, arena, &answer, err));
    assert(answer.load.input >= 1.0 && answer.load.output >= 1.0);
    assert(plait_worker_gpus(answer.plan.worker[0]) >= 1);
    return PLAIT_OK;
}

static plait_status read_command(plait_engine_kind kind, const uint8_t *data, size_t size,
                                 plait_arena *arena, plait_error *err)
{
    const launch_call call = {0};
    const char *warning;
    serving_import import;

    PLAIT_TRY(serving_import_read(kind, (const char *)data, size, "fuzz", &call, arena, &import,
                                  &warning, err));
    assert(warning != NULL && import.replicas >= 1 && plait_worker_gpus(import.worker) >= 1);
    return PLAIT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    plait_status status = PLAIT_OK;
    char path[32];

    assert(arena != NULL);
    const int reader = data[0] % READERS;
    const int file = memory_file(data + 1, size - 1, path);
    switch (reader) {
    case ENGINE:
        status = read_engine(path, arena, &err);
        break;
    case RUNS:
        status = read_runs(path, arena, &err);
        break;
    case ANSWER:
        status = read_answer(path, arena, &err);
        break;
    default:
        status = read_command(reader == VLLM ? PLAIT_ENGINE_VLLM : PLAIT_ENGINE_SGLANG, data + 1,
                              size - 1, arena, &err);
    }
    assert(status == PLAIT_OK || err.message[0] != '\0');
    close(file);
    plait_arena_free(arena);
    return 0;
}
