/* manual.c - the reference of the command line, as a Markdown page and as a man page
 *
 * The manual is written as Markdown with few constructs, and the man page is translated from it:
 *
 *     ## Title           .SH Title          * `--flag VALUE`: text     .TP
 *     ### name           .SS name           `word`                     bold
 *         code           .nf code .fi       a blank line               .PP
 */
#include "cli/manual.h"

#include <string.h>

#include "base/text.h"

static const char head[] =
    "# plait\n"
    "\n"
    "plait finds how a training job of a large model is best split over a cluster: the degrees of\n"
    "tensor, pipeline, context, expert and data parallelism, the schedule of the pipeline,\n"
    "recomputation and the sharding of state. It computes the step time and the memory of a plan "
    "from\n"
    "the shapes of the model and the rates of the hardware, and it proves the best plan of a "
    "search.\n"
    "It also sizes training runs and finds deployments that serve a load.\n"
    "\n"
    "This page is generated from the option tables of the program; `plait COMMAND --help` prints\n"
    "the same texts.\n"
    "\n"
    "## Operands\n"
    "\n"
    "* `MODEL`: a name that `plait models` lists, the path of a model file or of a Hugging Face\n"
    "config.json, or the id of a listed model on the Hugging Face Hub, in any letter case. An\n"
    "existing path takes precedence over a name.\n"
    "* `CLUSTER`: a name that `plait clusters` lists, a path, or a synthetic cluster\n"
    "ACCELERATOR:NODESxGPUS such as `h100-80gb-sxm:64x8`, where `,nic=400` sets the network rate\n"
    "in Gb/s per GPU. `h100` and `a100` name the usual nodes, `8xH100` and `2x8xH100` take 8 GPUs\n"
    "or two nodes of them. A cluster without a size needs `--gpus`.\n"
    "* `FILE[:RANK]`: a document that `plait search -o` wrote and the rank of a plan in it, by\n"
    "default the first. The document holds the model, the cluster and the job; options take\n"
    "precedence over it.\n"
    "* `-`: standard input in the place of any file that is read, once per command; `-:2` is the\n"
    "second plan of it.\n"
    "\n"
    "## Numbers\n"
    "\n"
    "Counts take `k`, `M`, `G` and `T`; `k` is 1024 for the tokens of a sequence and 1000\n"
    "elsewhere. Times take `ms`, `s`, `m`, `h`, `d` and `w`.\n";

static const char tail[] =
    "\n"
    "## Other commands\n"
    "\n"
    "* `plait help [COMMAND]`: the help text of the program or of a command.\n"
    "* `plait --version`: the version of the program.\n"
    "* `plait --complete [COMMAND]`: the commands, or each option and operand of a command with "
    "the\n"
    "name of its value and the values that it takes, between tabs. completions/plait.bash reads "
    "it.\n"
    "* `plait --manual markdown|man`: this page.\n"
    "\n"
    "## Exit status\n"
    "\n"
    "* `0`: done.\n"
    "* `1`: the answer is no: nothing fits, or the plan runs out of memory or cannot run. The "
    "answer\n"
    "gives the reason.\n"
    "* `2`: bad input or usage: a file, an option, a value outside its range.\n"
    "* `3`: a fault of the machine: out of memory, a full disk, a solver that gave up.\n"
    "\n"
    "Results go to standard output. Errors go to standard error, each on one line:\n"
    "\n"
    "    plait: clusters/x.json:/levels/0/gpus: expected an integer from 1 to 4194304, found -8\n"
    "\n"
    "## Environment\n"
    "\n"
    "* `COLUMNS`: the width of lines of text, on a terminal and in files and pipes. JSON has no "
    "width.\n"
    "* `PLAIT_DATA`: a folder with models, models/cases, clusters, clusters/accelerators,\n"
    "clusters/families, clusters/runtimes and clusters/engines, which is searched before the\n"
    "installed data. A program in a build folder reads the data of its source tree; an installed\n"
    "one reads ../share/plait relative to itself.\n"
    "\n"
    "## Examples\n"
    "\n"
    "The best plans of Llama 3.1 70B on 32 nodes of 8 H100, kept in a file:\n"
    "\n"
    "    plait search llama-3.1-70b dgx-h100 --gpus 256 --seq 8192 --gbs 512 -o plans.json\n"
    "\n"
    "The terms of the best plan, its comparison with another, and the cost of less tensor\n"
    "parallelism:\n"
    "\n"
    "    plait explain --plan plans.json:1 --versus plans.json:2\n"
    "    plait explain --plan plans.json:1 --why-not tp=4,pp=4\n"
    "\n"
    "The effect of twice the batch:\n"
    "\n"
    "    plait search llama-3.1-70b dgx-h100 --gpus 256 --seq 8192 --gbs 1024 -o twice.json\n"
    "    plait diff plans.json twice.json\n"
    "\n"
    "A grid of questions in two parts, put together:\n"
    "\n"
    "    echo '{\"defaults\": {\"seq\": \"8k\", \"gbs\": 256}, \"scenarios\": [{\"model\": "
    "\"llama-3.1-8b\",\n"
    "      \"cluster\": [\"dgx-h100\", \"dgx-b200\"], \"gpus\": [16, 32], \"tokens\": \"1T\", "
    "\"price\": "
    "[2, 3]}]}' >grid.json\n"
    "    plait sweep grid.json --shard 1/2 -o part1.jsonl\n"
    "    plait sweep grid.json --shard 2/2 -o part2.jsonl\n"
    "    plait merge part1.jsonl part2.jsonl\n"
    "\n"
    "A page with charts that needs no network:\n"
    "\n"
    "    plait report plans.json -o plans.html\n"
    "\n"
    "The files that start a plan, and a plan read back from a script:\n"
    "\n"
    "    plait launch plans.json:1 -o run\n"
    "    plait import --from megatron run/args.sh --cluster dgx-h100 -o mine.json\n"
    "    plait search --plan mine.json\n"
    "\n"
    "The price of one plan on a synthetic cluster:\n"
    "\n"
    "    plait eval llama-3.1-8b h100-80gb-sxm:2x8 --seq 8192 --gbs 128 --tp 2 --pp 2\n"
    "\n"
    "Benchmarks to run on a site:\n"
    "\n"
    "    plait calibrate --kit kit\n"
    "\n"
    "The number of GPUs that train Llama 3.1 8B on a trillion tokens within two weeks:\n"
    "\n"
    "    plait capacity llama-3.1-8b dgx-h100 --gpus 32..128 --tokens 1T --seq 8192 --gbs 256 "
    "--deadline 14d\n"
    "\n"
    "A deployment for 20 requests a second, half a second to the first token and 50 ms a token:\n"
    "\n"
    "    plait serve llama-3.1-70b dgx-h100 --gpus ..64 --input 2048 --output-tokens 256 --rate 20 "
    "--ttft "
    "500ms --tpot 50ms\n"
    "\n"
    "The fastest way to cut each operator of a layer over two nodes:\n"
    "\n"
    "    plait operators llama-3.1-8b dgx-h100 --mesh 2x8 --seq 16384 --gbs 2\n"
    "\n"
    "The step time of the best plan, for a script:\n"
    "\n"
    "    plait search qwen3-30b-a3b dgx-h200 --gpus 64 --seq 4096 --gbs 256 --json |\n"
    "        jq '.plans[0].step_s'\n"
    "\n"
    "## Files\n"
    "\n"
    "An installation has models and clusters under share/plait and the documents under\n"
    "share/doc/plait: docs/guide/first-plan.md begins the guide, docs/reference/json.md\n"
    "describes the JSON documents, docs/reference/files/model.md and\n"
    "docs/reference/files/cluster.md the data files, docs/model/01-counting.md the equations,\n"
    "docs/search/space.md the plan space, and docs/reference/rules.md the conditions for a\n"
    "legal plan.\n";

/* ---- the pages' text ---- */

/* "--seq TOKENS" or "-o, --output FILE" */
static void append_flag(const opt *option, text_builder *out)
{
    if (option->letter != '\0')
        text_append_printf(out, "-%c, ", option->letter);
    text_append_printf(out, "--%s%s%s", option->name, option->value != NULL ? " " : "",
                       option->value != NULL ? option->value : "");
}

static bool options_equal(const opt *a, const opt *b)
{
    return text_equal(a->name, b->name) && a->letter == b->letter &&
           (a->value == b->value ||
            (a->value != NULL && b->value != NULL && text_equal(a->value, b->value))) &&
           text_equal(a->help, b->help);
}

/* The first command that has the option with the same text. */
static int first_with(const opt *option, const opt_table *tables, int count)
{
    for (int c = 0; c < count; c++)
        for (const opt *row = tables[c].row; row->kind != OPT_LAST; row++)
            if (row->kind != OPT_GROUP && options_equal(row, option))
                return c;
    return count;
}

/* Options that an earlier command has with the same text are only named. */
static void append_options(const command *const *commands, const opt_table *tables, int at,
                           text_builder *out)
{
    const char *heading = NULL;
    char help[OPT_HELP_SIZE];

    for (const opt *option = tables[at].row; option->kind != OPT_LAST; option++) {
        if (option->kind == OPT_GROUP) {
            heading = option->name;
            continue;
        }
        if (first_with(option, tables, at) < at)
            continue;
        if (heading != NULL)
            text_append_printf(out, "\nOptions: %s\n", heading);
        if (heading != NULL || option == tables[at].row)
            text_append_char(out, '\n');
        heading = NULL;
        text_append(out, "* `");
        append_flag(option, out);
        opt_spell_words(option, help, sizeof help);
        text_append_printf(out, "`: %s\n", help);
    }
    for (int c = 0; c < at; c++) {
        int shared = 0;

        for (const opt *option = tables[at].row; option->kind != OPT_LAST; option++) {
            if (option->kind == OPT_GROUP || first_with(option, tables, at) != c)
                continue;
            if (shared++ == 0)
                text_append_printf(out, "\nAs for `plait %s`: `", commands[c]->usage.command);
            else
                text_append(out, ", `");
            text_append_printf(out, "--%s`", option->name);
        }
        if (shared > 0)
            text_append_char(out, '\n');
    }
}

static void append_command(const command *const *commands, const opt_table *tables, int at,
                           text_builder *out)
{
    const opt_usage *const usage = &commands[at]->usage;

    text_append_printf(out, "\n### %s\n\n%s\n\n    plait %s %s\n", usage->command, usage->summary,
                       usage->command, usage->synopsis);
    if (usage->about[0] != '\0')
        text_append_printf(out, "\n%s\n", usage->about);
    append_options(commands, tables, at, out);
}

/* ---- from Markdown to roff ---- */

/* One line of text: `words` become bold, and characters that roff reads are escaped. */
static void append_roff(const char *line, size_t length, text_builder *out)
{
    bool bold = false;

    for (size_t i = 0; i < length; i++) {
        const char c = line[i];

        if (c == '`')
            text_append(out, (bold = !bold) ? "\\fB" : "\\fR");
        else if (c == '\\')
            text_append(out, "\\e");
        else if (c == '-')
            text_append(out, "\\-");
        else if (i == 0 && (c == '.' || c == '\''))
            text_append_printf(out, "\\&%c", c);
        else
            text_append_char(out, c);
    }
    text_append_char(out, '\n');
}

static void append_title(const char *line, size_t length, text_builder *out)
{
    text_append(out, ".SH ");
    for (size_t i = 0; i < length; i++)
        text_append_char(out, (char)(line[i] - ('a' <= line[i] && line[i] <= 'z' ? 'a' - 'A' : 0)));
    text_append_char(out, '\n');
}

static void append_man(const char *line, text_builder *out)
{
    bool code = false, text_before = false;

    text_append(out, ".TH PLAIT 1 \"\" \"plait\" \"User Commands\"\n"
                     ".SH NAME\nplait \\- plan the parallel training and serving of large models\n"
                     ".SH DESCRIPTION\n");
    line += strcspn(line, "\n") + 2; // the title
    for (size_t length; *line != '\0'; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        if (code != text_starts_with(line, "    ")) {
            code = !code;
            text_append(out, code ? ".PP\n.RS\n.nf\n" : ".fi\n.RE\n");
        }
        if (code) {
            append_roff(line + 4, length - 4, out);
        } else if (text_starts_with(line, "## ")) {
            append_title(line + 3, length - 3, out);
        } else if (text_starts_with(line, "### ")) {
            text_append(out, ".SS ");
            append_roff(line + 4, length - 4, out);
        } else if (text_starts_with(line, "* `")) {
            const size_t term = strcspn(line + 3, "`") + 2; // with its marks

            text_append(out, ".TP\n");
            append_roff(line + 2, term, out);
            append_roff(line + term + 4, length - term - 4, out);
        } else if (length > 0) {
            if (!text_before)
                text_append(out, ".PP\n");
            append_roff(line, length, out);
        }
        text_before = !code && length > 0;
    }
}

plait_status manual_print(const command *const *commands, int count, const char *form,
                          plait_arena *arena, FILE *out, plait_error *err)
{
    opt_table *const tables = plait_arena_alloc(arena, (size_t)count, sizeof *tables);
    const bool man = form != NULL && text_equal(form, "man");
    text_builder markdown, roff;
    const char *text;

    if (!man && (form == NULL || !text_equal(form, "markdown")))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--manual", "expected markdown or man, found %s",
                          form != NULL ? form : "nothing");
    if (tables == NULL)
        return plait_fail_nomem(err);
    text_builder_init(&markdown, arena);
    text_append(&markdown, head);
    text_append(&markdown, "\n## Commands\n");
    for (int c = 0; c < count; c++)
        opt_spell_out(commands[c]->usage.options, &tables[c]);
    for (int c = 0; c < count; c++)
        append_command(commands, tables, c, &markdown);
    text_append(&markdown, tail);
    text = text_builder_finish(&markdown, NULL);
    if (text != NULL && man) {
        text_builder_init(&roff, arena);
        append_man(text, &roff);
        text = text_builder_finish(&roff, NULL);
    }
    if (text == NULL)
        return plait_fail_nomem(err);
    fputs(text, out);
    return PLAIT_OK;
}
