/* json_case.c - published systems as JSON */
#include <math.h>

#include "io/json/json_write.h"
#include "plait/plan.h"
#include "report/report_case.h"

static void write_remarks(json_writer *json, const char *key, const case_remarks *remarks)
{
    json_write_key(json, key);
    json_begin_array(json);
    for (int i = 0; i < remarks->count; i++)
        json_write_string(json, remarks->text[i]);
    json_end_array(json);
}

static void write_head(json_writer *json, const case_study *study)
{
    json_member_string(json, "name", study->name);
    json_member_string(json, "title", study->title);
    json_member_string(json, "source", study->source);
}

plait_status json_cases(const case_study *study, size_t count, plait_arena *arena,
                        const char **text, size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_version(&json);
    json_write_key(&json, "cases");
    json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&json);
        write_head(&json, &study[i]);
        json_member_int64(&json, "rows", study[i].rows);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}

/* ---- one case ---- */

/* The plan in full, what eval filled in included. */
static void write_plan(json_writer *json, const plait_degrees *degrees)
{
    char text[96];

    json_write_key(json, "plan");
    json_begin_object(json);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_kind kind = plait_keys[k].kind;

        if (kind == PLAIT_KEY_NUMBER || kind == PLAIT_KEY_SMALL_NUMBER || kind == PLAIT_KEY_SWITCH)
            json_member_int64(json, plait_keys[k].name, plait_key_value(degrees, (plait_key_id)k));
        else
            json_member_string(json, plait_keys[k].name,
                               plait_degrees_get(degrees, (plait_key_id)k, text, sizeof text));
    }
    json_end_object(json);
}

static void write_figures(json_writer *json, const case_priced *priced)
{
    json_write_key(json, "figures");
    json_begin_array(json);
    for (int f = 0; f < CASE_FIGURES; f++) {
        const double ours = priced->ours[f], published = priced->published[f];

        if (!isfinite(ours) && !isfinite(published))
            continue;
        json_begin_object(json);
        json_member_string(json, "figure", case_figure_key[f]);
        json_member_number(json, "plait", ours);
        json_member_number(json, "published", published);
        json_member_number(json, "error", case_error((case_figure)f, ours, published));
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_row(json_writer *json, const case_study *study, int r, const case_priced *priced)
{
    static const char *const verdicts[] = {"fits", "tight", "out_of_memory", "invalid"};
    const case_row *const row = &study->row[r];

    json_begin_object(json);
    json_member_string(json, "name", row->name);
    json_member_string(json, "model", row->model);
    json_member_string(json, "cluster", row->cluster);
    json_member_string(json, "runtime", row->runtime);
    json_member_int64(json, "gpus", row->gpus);
    json_member_int64(json, "seq", row->seq);
    json_member_int64(json, "gbs", row->gbs);
    json_member_string(json, "precision", plait_precision_name[priced->problem->job.precision]);
    write_plan(json, &priced->plan->degrees);
    json_member_string(json, "verdict", verdicts[priced->plan->verdict]);
    if (priced->plan->verdict != PLAIT_FITS)
        json_member_string(json, "why", priced->plan->why);
    json_member_number(json, "step_s",
                       priced->plan->verdict == PLAIT_INVALID ? (double)NAN
                                                              : priced->plan->cost.step_s);
    if (row->against >= 0)
        json_member_string(json, "against", study->row[row->against].name);
    write_figures(json, priced);
    write_remarks(json, "notes", &row->notes);
    json_end_object(json);
}

plait_status json_case(const case_study *study, const case_priced *priced, plait_arena *arena,
                       const char **text, size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_version(&json);
    json_write_key(&json, "case");
    json_begin_object(&json);
    write_head(&json, study);
    write_remarks(&json, "assumed", &study->assumed);
    write_remarks(&json, "contradicts", &study->contradicts);
    write_remarks(&json, "notes", &study->notes);
    json_end_object(&json);
    json_write_key(&json, "rows");
    json_begin_array(&json);
    for (int r = 0; r < study->rows; r++)
        write_row(&json, study, r, &priced[r]);
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
