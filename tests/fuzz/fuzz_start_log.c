/* fuzz_start_log.c - any bytes as the log of a server's start; its figures are amounts */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "io/csv/start_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    start_log log;

    assert(arena != NULL);
    if (start_log_parse((const char *)data, size, "server.log", arena, &log, &err) == PLAIT_OK) {
        const double figures[] = {log.memory_fraction, log.chunk_tokens, log.max_sequences,
                                  log.request_tokens,  log.weight_bytes, log.activation_bytes,
                                  log.cache_bytes,     log.cache_tokens, log.concurrency,
                                  log.free_bytes};

        for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
            assert(figures[f] >= 0.0 && isfinite(figures[f]));
        assert(log.tp >= 0 && log.pp >= 0 && log.dp >= 0 && log.ep >= 0);
    } else {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    plait_arena_free(arena);
    return 0;
}
