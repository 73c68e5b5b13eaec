/* fuzz_rates.c - any bytes as the table of `plait capacity --serve --rates`; the answer is JSON */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "io/json/json.h"
#include "report/lines.h"
#include "support/memory_file.h"
#include "support/streams.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    char path[32];
    const int file = memory_file(data, size, path);
    const char *words[] = {"capacity", "llama-3.2-3b", "8xH100", "--serve", "--tp",
                           "1",        "--input",      "512",    "--osl",   "64",
                           "--ttft",   "100ms",        "--json", "--rates", path};
    json_document answer;
    size_t length;
    bool no;

    assert(arena != NULL);
    streams_begin("", 0);
    const plait_status status =
        command_run(&command_capacity, sizeof words / sizeof *words, words, arena, &no, &err);
    assert(lines_flush(NULL) == PLAIT_OK);
    char *const text = streams_end(&length);
    if (status == PLAIT_OK) {
        assert(json_document_parse(text, length, "answer", arena, &answer, &err) == PLAIT_OK);
        json_document_free(&answer);
    } else {
        assert(err.message[0] != '\0' && length == 0);
    }
    free(text);
    close(file);
    plait_arena_free(arena);
    return 0;
}
