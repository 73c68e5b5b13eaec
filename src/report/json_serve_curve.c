/* json_serve_curve.c - how a deployment bears more and more load */
#include "io/json/json_write.h"
#include "report/report_serve.h"

static void write_point(json_writer *json, const plait_serve_point *p)
{
    json_begin_object(json);
    json_member_number(json, "load", p->load);
    json_member_number(json, "rate", p->rate);
    json_member_number(json, "ttft_ms", p->ttft_s * 1e3);
    json_member_number(json, "ttft_p99_ms", p->ttft_p99_s * 1e3);
    json_member_number(json, "tpot_ms", p->tpot_s * 1e3);
    json_member_number(json, "running", p->running);
    json_member_number(json, "out_tok_s", p->output_tokens_per_s);
    json_end_object(json);
}

void json_serve_curve(json_writer *json, const plait_serve_curve *curve)
{
    json_write_key(json, "load_curve");
    json_begin_array(json);
    for (int i = 0; i < PLAIT_SERVE_CURVE; i++)
        write_point(json, &curve->point[i]);
    json_end_array(json);
}
