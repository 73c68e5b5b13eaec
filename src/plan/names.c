/* names.c - words of the plan's enumerations, as the command line and JSON spell them */
#include <stddef.h>

#include "plait/plan.h"

const char *const plait_axis_name[PLAIT_GROUPS + 1] = {
    "tp", "cp", "dp", "pp", "ep", "etp", "edp", NULL,
};

const char *const plait_cp_comm_name[PLAIT_CP_COMMS + 1] = {"p2p", "allgather", "a2a", NULL};

const char *const plait_schedule_name[PLAIT_SCHEDULES + 1] = {
    "naive", "gpipe",  "1f1b",  "interleaved", "zb-h1",      "zb-h2",
    "zb-v",  "v-half", "v-min", "dualpipe",    "dualpipe-v", NULL,
};

const char *const plait_grad_sync_name[PLAIT_GRAD_SYNCS + 1] = {
    "bulk",
    "bucketed",
    "shifted",
    NULL,
};

const char *const plait_split_name[PLAIT_SPLITS + 1] = {
    "even", "embedding", "loss", "both", "first-last", "spread", "cost", NULL,
};

const char *const plait_order_name[PLAIT_ORDERS + 1] = {"tp-cp-dp-pp", "tp-cp-pp-dp", NULL};

#define X(name, what) #name,
const char *const plait_recompute_module_name[PLAIT_MODULES + 1] = {PLAIT_RECOMPUTE_MODULE_LIST(X)
                                                                        NULL};
#undef X
