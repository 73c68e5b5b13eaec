/* target.h - the interface of a launch target: it renders plans, and some targets read configs back
 *
 * Every target ends with its descriptor; README.md in this folder says how to add one.
 */
#pragma once

#include "base/text.h"
#include "launch/import.h"

/** Begins the line of run.sh that ends the loop over its arguments; file and quote follow. */
#define LAUNCH_READS_FROM "done <\"$here/"

/** Renders the files of a plan into a folder in memory. */
typedef plait_status launch_renderer(const plait_launch *launch, plait_arena *arena,
                                     plait_launch_folder *out, plait_error *err);

/**
 * Reads a config back. Keys that the file does not give stay as plans.h has them.
 *
 * @param name      stands for the file in messages
 * @param call      NULL: nothing is known beside the file
 * @param warnings  receives sentences, one a line, on parts of the file that plait cannot price
 */
typedef plait_status launch_importer(const char *text, size_t length, const char *name,
                                     const launch_call *call, plait_arena *arena, plans_entry *out,
                                     text_builder *warnings, plait_error *err);

/**
 * Turns the config that the software prints into its log into a text that `import` reads.
 *
 * @param log     lines without colours and zero bytes, which may be changed
 * @param config  stays NULL if the log is of other software
 */
typedef plait_status launch_log_reader(char *log, const char *name, plait_arena *arena,
                                       char **config, plait_error *err);

typedef struct launch_target {
    const char *name; /* its word for --target */
    /** Profile that judges plans of other runtimes' rules; NULL: the target takes any plan. */
    const char *runtime;
    plait_rules rules;  /* plans of runtimes with these rules are taken as they are */
    bool stages_differ; /* the format has words for plans whose stages differ */
    /** Returns a sentence when the format has no words for a plan that `rules` allow; else NULL. */
    const char *(*unsupported)(const plait_problem *problem, const plait_plan *plan);
    launch_renderer *render;
    launch_importer *import;     /* NULL: configs of this target are not read */
    launch_log_reader *read_log; /* NULL: logs of this target are not read */
} launch_target;

#define X(constant, word, descriptor) extern const launch_target descriptor;
PLAIT_LAUNCH_TARGET_LIST(X)
#undef X

/* Importers that stand in a file of their own. */
launch_importer megatron_import, titan_import, deepspeed_import, mindspeed_import, maxtext_import,
    companion_import;
launch_log_reader megatron_read_log, titan_read_log, deepspeed_read_log;

const launch_target *launch_target_at(plait_launch_target target);

/** Add a file to a folder; fails (NOMEM) if its name or text is NULL. */
PLAIT_MUST_CHECK plait_status folder_add(plait_launch_folder *folder, const char *name,
                                         const char *text, bool executable, plait_error *err);
