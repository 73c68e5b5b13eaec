/* target.h - the interface of a launch target: it renders plans, and some targets read configs back
 *
 * Every target ends with its descriptor; README.md in this folder says how to add one.
 */
#pragma once

#include "base/text.h"
#include "launch/import.h"

/**
 * Start of the line of run.sh that ends the loop over its arguments; the name of a file and a quote
 * follow.
 */
#define LAUNCH_READS_FROM "done <\"$here/"

/**
 * Lines that set $here to the folder of a script. With an exported CDPATH, cd could enter another
 * folder of that name and print it; cd to "-" enters the previous folder, but not cd to "-/.".
 */
#define LAUNCH_FINDS_HERE                                                                          \
    "unset CDPATH\n"                                                                               \
    "here=$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")/.\" && pwd)\n"

/** Renders the files of a plan into a folder in memory. */
typedef plait_status launch_renderer(const plait_launch *launch, plait_arena *arena,
                                     plait_launch_folder *out, plait_error *err);

/**
 * Reads a plan from a config. Keys that the file does not give stay unknown, as plans.h defines
 * them.
 *
 * @param name      name of the file in messages
 * @param call      NULL: no facts besides the file
 * @param warnings  receives sentences, one a line, on parts of the file that plait cannot price
 */
typedef plait_status launch_importer(const char *text, size_t length, const char *name,
                                     const launch_call *call, plait_arena *arena, plans_entry *out,
                                     text_builder *warnings, plait_error *err);

/**
 * Extracts the config that the software prints into its log, as a text that `import` reads.
 *
 * @param log     text of the log without colour codes and zero bytes; the function may change it
 * @param config  stays NULL if other software wrote the log
 */
typedef plait_status launch_log_reader(char *log, const char *name, plait_arena *arena,
                                       char **config, plait_error *err);

typedef struct launch_target {
    const char *name; /* value of --target */
    /**
     * Runtime profile that checks plans of runtimes with other rules; NULL: the target accepts any
     * plan.
     */
    const char *runtime;
    plait_rules rules;  /* rules of the runtimes whose own profile checks their plans */
    plait_rules also;   /* a second set of such rules; PLAIT_RULES_GENERIC: none */
    bool tunes;         /* true if the target trains, and reads, jobs of fine-tuning */
    bool stages_differ; /* true if the format can express plans whose stages differ */
    /** Returns a sentence if the format cannot express a plan that `rules` allow, else NULL. */
    const char *(*unsupported)(const plait_problem *problem, const plait_plan *plan);
    launch_renderer *render;
    launch_importer *import;     /* NULL: plait does not read configs of this target */
    launch_log_reader *read_log; /* NULL: plait does not read logs of this target */
} launch_target;

#define X(constant, word, descriptor) extern const launch_target descriptor;
PLAIT_LAUNCH_TARGET_LIST(X)
#undef X

/* Importers that are defined in files of their own. */
launch_importer megatron_import, titan_import, deepspeed_import, mindspeed_import, maxtext_import,
    companion_import, bridge_import;
launch_log_reader megatron_read_log, titan_read_log, deepspeed_read_log;

const launch_target *launch_target_at(plait_launch_target target);

/** Add a file to a folder; fails (NOMEM) if its name or text is NULL. */
PLAIT_MUST_CHECK plait_status folder_add(plait_launch_folder *folder, const char *name,
                                         const char *text, bool executable, plait_error *err);
