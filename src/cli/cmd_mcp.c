/* cmd_mcp.c - plait mcp: a server of the Model Context Protocol */
#include "base/text.h"
#include "cli/command.h"
#include "cli/mcp_tools.h"
#include "plait/version.h"

typedef struct mcp_values {
    const char *tools;
} mcp_values;

static const opt options[] = {
    OPT_OF_LIST(mcp_values, tools, "tools", "NAME,...", "tools to offer (default: all)"),
    OPT_END,
};

static const char instructions[] =
    "plait plans the training and serving of large models: it predicts time, memory and cost of a "
    "plan and finds the best one for a model, a cluster and a batch. Collect the model, the "
    "cluster, tokens of a sequence (seq) and sequences of a step (gbs) first; runtime is the "
    "software that will run the plan. search finds plans, eval prices one, explain names what "
    "binds "
    "it or why another is not chosen, launch returns the files that start it; serve, capacity and "
    "rl plan servers, whole runs and reinforcement learning; import and doctor read an existing "
    "launch config. Report the band step_low_s to step_high_s, not only step_s. An answer has an "
    "address, plait://answers/N, which plan, plans and versus accept; :2 after it selects plan 2. "
    "An error names what to change.";

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const mcp_values *const flags = values;
    mcp_host host = {.name = "plait", .version = plait_version(), .instructions = instructions};
    char **only = NULL;

    (void)operands;
    (void)no;
    if (flags->tools != NULL) {
        only = text_split(arena, flags->tools, ',', NULL);
        PLAIT_TRY(plait_check_allocated(only != NULL, err));
    }
    PLAIT_TRY(mcp_tools_init((const char *const *)only, arena, &host, err));
    return mcp_serve(&host, err);
}

const command command_mcp = {
    .usage = {.command = "mcp",
              .synopsis = "[--tools NAME,...]",
              .summary = "Serve the commands as tools of the Model Context Protocol.",
              .about = "Reads JSON-RPC messages from standard input and writes answers to standard "
                       "output, one a\nline, for an agent that starts this program. Each call runs "
                       "in a separate process,\nfour at once.",
              .max_operands = 0,
              .options = options},
    .values_size = sizeof(mcp_values),
    .run = run,
};
