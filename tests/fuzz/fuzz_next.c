/*
 * fuzz_next.c - any bytes as the table of steps that `plait next` reads; the answer is JSON
 *
 * The plans are those of one search, which are loaded once.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/memory_file.h"
#include "support/streams.h"

#include "cli/cmd_next.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(plait_arena *arena, next_answer *out, plait_error_parts *parts)
{
    const char *words[] = {"search", "llama-3.2-3b", "8xH100", "--gpus", "2", "--seq",
                           "1k",     "--gbs",        "4",      "--top",  "3", "--json"};
    plait_error err;
    char path[32];
    size_t length;
    bool no;

    streams_begin("", 0);
    assert(command_run(&command_search, sizeof words / sizeof *words, words, arena, &no, &err) ==
           PLAIT_OK);
    char *const found = streams_end(&length);
    const int file = memory_file(found, length, path);
    assert(load_plans(path, arena, out, &err) == PLAIT_OK && out->plans == 3);
    assert(problem_error_parts(&out->problem, arena, parts, &err) == PLAIT_OK);
    close(file);
    free(found);
}

static void check(next_answer *answer, plait_arena *arena)
{
    plait_error err;
    json_writer json;
    json_document doc;
    const char *text;
    size_t length;

    apply_measurements(answer);
    if (answer->measured == 0)
        return; // the command refuses it
    assert(rank_plans(answer, arena, &err) == PLAIT_OK);
    command_begin_json(&json, arena);
    json_next_answer(&json, answer);
    json_end_object(&json);
    assert(json_writer_finish(&json, &text, &length, &err) == PLAIT_OK);
    assert(json_document_parse(text, length, "answer", arena, &doc, &err) == PLAIT_OK);
    json_document_free(&doc);
    for (int i = 0; i < answer->plans; i++) {
        const plait_plan_posterior at = answer->plan[i].posterior;

        assert(at.low_s > 0.0 && at.low_s <= at.step_s && at.step_s <= at.high_s);
        assert(isfinite(at.high_s));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static plait_arena *kept;
    static next_answer loaded;
    static plait_error_parts parts;
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    next_plan plan[3];
    char path[32];
    const int file = memory_file(data, size, path);
    size_t length;

    if (kept == NULL)
        load(kept = plait_arena_new(), &loaded, &parts);
    next_answer answer = loaded;
    answer.plan = memcpy(plan, loaded.plan, sizeof plan);
    assert(arena != NULL && make_belief(&answer, &parts, arena, &err) == PLAIT_OK);
    streams_begin("", 0); // drops warnings
    if (take_table(path, arena, &answer, &err) == PLAIT_OK)
        check(&answer, arena);
    else
        assert(err.message[0] != '\0');
    free(streams_end(&length));
    close(file);
    plait_arena_free(arena);
    return 0;
}
