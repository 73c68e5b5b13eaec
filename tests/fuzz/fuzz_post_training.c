/* fuzz_post_training.c - any bytes as measured runs of fine-tuning and reinforcement learning */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "plait/validate.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_LINES = 3 }; /* a row of reinforcement learning is a search */

static void check_price(const plait_post_price *price)
{
    assert(price->note != NULL);
    assert(isnan(price->step_s) ? price->note[0] != '\0' || strcmp(price->run->job, "sync") == 0
                                : isfinite(price->step_s) && price->step_s > 0.0);
    assert(isnan(price->train_s) || (isfinite(price->train_s) && price->train_s > 0.0));
    assert(isnan(price->sync_s) || (isfinite(price->sync_s) && price->sync_s >= 0.0));
    assert(price->fewest_gpus >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_error err = {PLAIT_OK, "", ""};
    plait_post_validation post;
    char path[32];
    int lines = 0;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r';
    if (lines > MOST_LINES)
        return 0;
    plait_arena *const arena = plait_arena_new();
    const int file = memory_file(data, size, path);
    assert(arena != NULL);
    if (plait_post_validate(path, arena, &post, &err) == PLAIT_OK)
        for (size_t i = 0; i < post.count; i++)
            check_price(&post.price[i]);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    close(file);
    plait_arena_free(arena);
    return 0;
}
