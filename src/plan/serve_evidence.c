/* serve_evidence.c - evidence of an engine's profile for a question, and the band that follows */
#include <math.h>
#include <string.h>

#include "base/normal.h"
#include "plait/serve.h"
#include "plan/model_queries.h"

const char *const plait_serve_evidence_name[] = {"measured", "new_accelerator", "new_model",
                                                 "new_architecture", NULL};

const char *plait_serve_architecture(const plait_model *model)
{
    static const char *const names[][2] = {{"dense", "moe"},
                                           {"latent_dense", "latent_moe"},
                                           {"hybrid_dense", "hybrid_moe"},
                                           {"compressed_dense", "compressed_moe"}};
    int kind = 0;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *const layer = &model->kind[k];
        const bool hybrid = layer->mixer == PLAIT_MIXER_DELTA_NET ||
                            layer->mixer == PLAIT_MIXER_MAMBA || layer->mixer == PLAIT_MIXER_CONV;
        const int found =
            layer->mixer == PLAIT_MIXER_ATTENTION && attention_is_shared_latent(&layer->attention)
                ? 3
            : hybrid                          ? 2
            : layer->mixer == PLAIT_MIXER_MLA ? 1
                                              : 0;
        kind = found > kind ? found : kind;
    }
    return names[kind][model_has_experts(model)];
}

static bool is_listed(const char *const *list, const char *name)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

plait_serve_evidence plait_engine_evidence(const plait_engine *engine, const plait_model *model,
                                           const char *accelerator)
{
    if (!is_listed(engine->architectures, plait_serve_architecture(model)))
        return PLAIT_SERVE_NEW_ARCHITECTURE;
    if (!is_listed(engine->models, model->name))
        return PLAIT_SERVE_NEW_MODEL;
    return is_listed(engine->accelerators, accelerator) ? PLAIT_SERVE_MEASURED
                                                        : PLAIT_SERVE_NEW_ACCELERATOR;
}

void plait_engine_judge(plait_engine *engine, const plait_model *model, const char *accelerator)
{
    engine->evidence = plait_engine_evidence(engine, model, accelerator);
    memcpy(engine->band, engine->bands[engine->evidence].figure, sizeof engine->band);
}

double plait_engine_quantile(const plait_engine *engine, plait_serve_figure figure,
                             double probability)
{
    const double edge = 0.9; // the band leaves a tenth of the runs on each side
    const double z = normal_quantile(probability) / normal_quantile(edge);

    return pow(engine->band[figure][z > 0.0], fabs(z));
}

void plait_engine_require(plait_engine *engine, double probability)
{
    engine->confidence = probability;
    for (int f = 0; f < PLAIT_SERVE_FIGURES; f++)
        engine->bound_factor[f] = plait_engine_quantile(engine, (plait_serve_figure)f, probability);
}
