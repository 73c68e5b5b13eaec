/*
 * shell_read.c - commands of a shell script, as far as they can be known without running it
 *
 * One pass over the text cuts commands and follows assignments. What is open at the cursor (`if`,
 * `case`, `{`) stands on a stack of frames, and says whether what is read runs, is skipped, or hangs
 * on something that is not known. Nothing is executed.
 */
#include "shell_read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "grow.h"
#include "shell_parts.h"

static plait_status read_commands(shell_reader *in, plait_error *err);

/* ---- what comes out ---- */

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] == '-' && isalpha((unsigned char)word[2]);
}

static plait_status add_doubt(shell_reader *in, const char *option, plait_error *err)
{
    shell_words *const out = in->out;
    shell_doubt *const more =
        grow_by_one(in->arena, out->doubt, out->doubts, &in->doubt_capacity, sizeof *more);

    if (more == NULL)
        return plait_fail_nomem(err);
    out->doubt = more;
    more[out->doubts++] =
        (shell_doubt){option, in->doubt >= 0 ? out->origin[in->doubt].text : "a condition"};
    return PLAIT_OK;
}

/* Options in a text that was not in one piece: "--a 1 --b" has two. */
static plait_status add_doubts(shell_reader *in, const shell_list *value, plait_error *err)
{
    for (int i = 0; i < value->count; i++)
        for (const char *at = value->word[i]; (at = strstr(at, "--")) != NULL;) {
            const size_t width = strcspn(at, " \t\n=");
            const char *const option = plait_arena_printf(in->arena, "%.*s", (int)width, at);

            if (option == NULL)
                return plait_fail_nomem(err);
            if (is_option(option))
                PLAIT_TRY(add_doubt(in, option, err));
            at += width;
        }
    return PLAIT_OK;
}

static plait_status add_command(shell_reader *in, const shell_list *words, plait_error *err)
{
    shell_words *const out = in->out;
    shell_list all = {out->word, out->count, in->words_capacity};
    shell_command *const more =
        grow_by_one(in->arena, out->command, out->commands, &in->command_capacity, sizeof *more);

    if (more == NULL)
        return plait_fail_nomem(err);
    out->command = more;
    more[out->commands++] = (shell_command){out->count, words->count, in->mode == SHELL_DOUBT};
    for (int i = 0; i < words->count; i++)
        PLAIT_TRY(shell_list_add(in, &all, words->word[i], err));
    out->word = all.word;
    out->count = all.count;
    in->words_capacity = all.capacity;
    return PLAIT_OK;
}

static plait_status add_file(shell_reader *in, const char *text, plait_error *err)
{
    shell_words *const out = in->out;
    shell_file *more;

    if (in->target == NULL || in->mode == SHELL_SKIP)
        return PLAIT_OK;
    more = grow_by_one(in->arena, out->file, out->files, &in->file_capacity, sizeof *more);
    if (more == NULL)
        return plait_fail_nomem(err);
    out->file = more;
    more[out->files++] = (shell_file){in->target, text};
    return PLAIT_OK;
}

/* Words with a blank between them. */
static const char *joined(shell_reader *in, const shell_list *words, int from)
{
    text_builder out;

    text_builder_init(&out, in->arena);
    for (int i = from; i < words->count; i++)
        text_append_printf(&out, "%s%s", i > from ? " " : "", words->word[i]);
    return text_builder_finish(&out, NULL);
}

/* ---- #SBATCH ---- */

/* What SLURM tells a job of its own options. */
static plait_status set_job_variables(shell_reader *in, const char *option, const char *value,
                                      plait_error *err)
{
    static const struct {
        const char *option, *variable[3];
    } told[] = {
        {"--nodes", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", NULL}},
        {"--ntasks", {"SLURM_NTASKS", "SLURM_NPROCS", NULL}},
        {"--ntasks-per-node", {"SLURM_NTASKS_PER_NODE", NULL}},
        {"--gpus-per-node", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", NULL}},
        {"--cpus-per-task", {"SLURM_CPUS_PER_TASK", NULL}},
        {"--job-name", {"SLURM_JOB_NAME", NULL}},
    };

    for (size_t t = 0; t < sizeof told / sizeof *told; t++)
        for (const char *const *name = told[t].variable;
             strcmp(told[t].option, option) == 0 && *name != NULL; name++)
            PLAIT_TRY(shell_set(in, *name, false, &(shell_list){&value, 1, 1}, err));
    return PLAIT_OK;
}

/* -N 4, -N4, --nodes 4 and --nodes=4 are the same. */
static plait_status take_job_word(shell_reader *in, char *word, const char **pending,
                                  shell_list *words, plait_error *err)
{
    static const char *const letters[] = {"-N--nodes",    "-n--ntasks",        "-G--gpus",
                                          "-J--job-name", "-c--cpus-per-task", NULL};
    char *value = is_option(word) ? text_cut(word, '=') : NULL;
    const char *name = word;

    for (const char *const *letter = letters; *letter != NULL; letter++)
        if (strncmp(word, *letter, 2) == 0) {
            name = *letter + 2;
            value = word[2] == '=' ? word + 3 : word[2] != '\0' ? word + 2 : NULL;
        }
    if (*pending != NULL && !is_option(name)) {
        PLAIT_TRY(set_job_variables(in, *pending, word, err));
        *pending = NULL;
        return shell_list_add(in, words, word, err);
    }
    PLAIT_TRY(shell_list_add(in, words, name, err));
    *pending = value == NULL ? name : NULL;
    if (value == NULL)
        return PLAIT_OK;
    PLAIT_TRY(set_job_variables(in, name, value, err));
    return shell_list_add(in, words, value, err);
}

static plait_status read_job_line(shell_reader *in, const char *line, size_t width,
                                  plait_error *err)
{
    char *const copy = plait_arena_printf(in->arena, "%.*s", (int)width, line);
    const char *pending = NULL;
    shell_list words = {0};

    if (copy == NULL)
        return plait_fail_nomem(err);
    copy[strcspn(copy + 1, "#") + 1] = '\0'; // a remark behind the options
    for (char *at = copy, *word; *(word = at + strspn(at, " \t\r\"'")) != '\0';) {
        at = word + strcspn(word, " \t\r\"'");
        if (*at != '\0')
            *at++ = '\0';
        PLAIT_TRY(words.count == 0 ? shell_list_add(in, &words, word, err)
                                   : take_job_word(in, word, &pending, &words, err));
    }
    return add_command(in, &words, err);
}

/* ---- blanks, comments, here-documents ---- */

static plait_status read_comment(shell_reader *in, plait_error *err)
{
    const char *const line = in->at;

    while (in->at < in->end && *in->at != '\n')
        in->at++;
    const size_t width = (size_t)(in->at - line);
    if (width > 8 && strncmp(line, "#SBATCH ", 8) == 0)
        return read_job_line(in, line, width, err);
    return PLAIT_OK;
}

/* The text of one here-document, which begins at the cursor. */
static plait_status read_here(shell_reader *in, const shell_here *here, plait_error *err)
{
    text_builder text;
    const char *body, *expanded;
    size_t length;

    text_builder_init(&text, in->arena);
    while (in->at < in->end) {
        const char *const newline = memchr(in->at, '\n', (size_t)(in->end - in->at));
        const char *line = in->at, *const last = newline != NULL ? newline : in->end;

        in->at = newline != NULL ? newline + 1 : in->end;
        in->line++;
        while (here->indented && line < last && *line == '\t')
            line++;
        if ((size_t)(last - line) == strlen(here->end) &&
            memcmp(line, here->end, strlen(here->end)) == 0)
            break;
        text_append_bytes(&text, line, (size_t)(last - line));
        text_append_char(&text, '\n');
    }
    body = expanded = text_builder_finish(&text, &length);
    if (body == NULL)
        return plait_fail_nomem(err);
    if (!here->quoted && in->mode != SHELL_SKIP)
        PLAIT_TRY(shell_expand(in, body, length, &expanded, err));
    return add_file(in, expanded, err);
}

static plait_status read_newline(shell_reader *in, plait_error *err)
{
    in->at++;
    in->line++;
    for (int h = 0; h < in->heres; h++)
        PLAIT_TRY(read_here(in, &in->here[h], err));
    in->heres = 0;
    in->target = NULL;
    return PLAIT_OK;
}

/* Blanks and continuations within a command. */
static void skip_blanks(shell_reader *in)
{
    while (in->at < in->end) {
        if (in->end - in->at >= 2 && in->at[0] == '\\' && in->at[1] == '\n') {
            in->line++;
            in->at += 2;
        } else if (*in->at != '\n' && isspace((unsigned char)*in->at)) {
            in->at++;
        } else {
            break;
        }
    }
}

static plait_status skip_space(shell_reader *in, plait_error *err)
{
    for (;;) {
        skip_blanks(in);
        if (in->at == in->end || (*in->at != '#' && *in->at != '\n'))
            return PLAIT_OK;
        PLAIT_TRY(*in->at == '#' ? read_comment(in, err) : read_newline(in, err));
    }
}

/* ---- redirections ---- */

static plait_status read_here_mark(shell_reader *in, plait_error *err)
{
    shell_here here = {.indented = in->at < in->end && *in->at == '-'};
    shell_list words = {0};

    in->at += here.indented;
    skip_blanks(in);
    here.quoted = in->at < in->end && strchr("'\"\\", *in->at) != NULL;
    PLAIT_TRY(shell_read_word(in, &words, err));
    if (words.count != 1 || in->heres == SHELL_MAX_HERE)
        return PLAIT_OK;
    here.end = words.word[0];
    in->here[in->heres++] = here;
    return PLAIT_OK;
}

/* From the < or > at the cursor; where a file is written to is kept. */
static plait_status read_redirection(shell_reader *in, plait_error *err)
{
    const bool writes = *in->at == '>';
    shell_list words = {0};
    int signs = 0;

    while (in->at < in->end && (*in->at == '<' || *in->at == '>') && signs < 3) {
        in->at++;
        signs++;
    }
    if (!writes && signs == 2)
        return read_here_mark(in, err);
    if (in->at < in->end && (*in->at == '&' || *in->at == '|'))
        in->at++;
    skip_blanks(in);
    PLAIT_TRY(shell_read_word(in, &words, err));
    if (writes && words.count == 1 && signs == 1)
        in->target = words.word[0];
    return PLAIT_OK;
}

/* ---- assignments ---- */

/* Length of the NAME of a `NAME=`, `NAME+=` or `NAME[INDEX]=` at the cursor, or 0. */
static size_t assignment_at(const shell_reader *in)
{
    const char *at = in->at;

    while (at < in->end && (isalnum((unsigned char)*at) || *at == '_'))
        at++;
    const size_t length = (size_t)(at - in->at);
    if (length == 0 || isdigit((unsigned char)*in->at))
        return 0;
    if (at < in->end && *at == '[') {
        while (at < in->end && *at != ']' && *at != '\n' && *at != ' ')
            at++;
        at += at < in->end && *at == ']';
    } else if (at < in->end && *at == '+') {
        at++;
    }
    return at < in->end && *at == '=' ? length : 0;
}

static plait_status read_array(shell_reader *in, shell_list *list, plait_error *err)
{
    for (;;) {
        PLAIT_TRY(skip_space(in, err));
        if (in->at == in->end)
            return shell_fail(in, "a ( that is not closed", err);
        if (*in->at == ')') {
            in->at++;
            return PLAIT_OK;
        }
        if (strchr(";&|(<>", *in->at) != NULL)
            in->at++;
        else
            PLAIT_TRY(shell_read_word(in, list, err));
    }
}

/* An unquoted value is not cut in an assignment. */
static plait_status read_value(shell_reader *in, shell_list *list, plait_error *err)
{
    shell_list words = {0};

    if (in->at < in->end && *in->at == '(') {
        in->at++;
        return read_array(in, list, err);
    }
    PLAIT_TRY(shell_read_word(in, &words, err));
    return shell_list_add(in, list, joined(in, &words, 0), err);
}

/* Is the new value the old one with something behind it? */
static bool adds(const shell_reader *in, const char *name, bool more, const shell_list *value)
{
    const shell_variable *const old = shell_find(in, name, strlen(name));

    if (more)
        return true;
    if (old == NULL || value->count < old->value.count || old->value.count == 0)
        return false;
    for (int i = 0; i < old->value.count; i++)
        if (!text_starts_with(value->word[i], old->value.word[i]))
            return false;
    return true;
}

/* Behind an open condition what is set becomes unknown; what is added to stays as it is. */
static plait_status assign_in_doubt(shell_reader *in, const char *name, bool more,
                                    const shell_list *value, plait_error *err)
{
    const char *word;

    PLAIT_TRY(add_doubts(in, value, err));
    if (adds(in, name, more, value) || in->doubt < 0)
        return PLAIT_OK;
    word = shell_unknown_set(in, in->doubt);
    if (word == NULL)
        return plait_fail_nomem(err);
    return shell_set(in, name, false, &(shell_list){&word, 1, 1}, err);
}

/* NAME+=TEXT of a variable is one word still. */
static plait_status assign(shell_reader *in, const char *name, bool more, bool array,
                           const shell_list *value, plait_error *err)
{
    const shell_variable *const old = shell_find(in, name, strlen(name));
    const char *word;

    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    if (in->mode == SHELL_DOUBT)
        return assign_in_doubt(in, name, more, value, err);
    if (!more || array || old == NULL || old->value.count != 1 || value->count != 1)
        return shell_set(in, name, more, value, err);
    word = plait_arena_printf(in->arena, "%s%s", old->value.word[0], value->word[0]);
    return word == NULL ? plait_fail_nomem(err)
                        : shell_set(in, name, false, &(shell_list){&word, 1, 1}, err);
}

/* NAME[INDEX]=VALUE is kept as "[INDEX]=VALUE", as in NAME=([INDEX]=VALUE). */
static plait_status read_element(shell_reader *in, const char *name, plait_error *err)
{
    const char *const first = in->at;
    const char *index, *word;
    shell_list list = {0};

    shell_skip_to_close(in, '(', '=');
    PLAIT_TRY(shell_expand(in, first, (size_t)(in->at - first), &index, err));
    PLAIT_TRY(read_value(in, &list, err));
    char *const bare = plait_arena_text(in->arena, index);
    if (bare == NULL)
        return plait_fail_nomem(err);
    size_t width = 0;
    for (const char *c = index; *c != '\0'; c++)
        if (*c != '"' && *c != '\'')
            bare[width++] = *c;
    bare[width] = '\0';
    word = plait_arena_printf(in->arena, "%s%s", bare, joined(in, &list, 0));
    return word == NULL ? plait_fail_nomem(err)
                        : assign(in, name, true, true, &(shell_list){&word, 1, 1}, err);
}

static plait_status read_assignment(shell_reader *in, size_t length, plait_error *err)
{
    const char *const name = plait_arena_printf(in->arena, "%.*s", (int)length, in->at);
    shell_list list = {0};

    if (name == NULL)
        return plait_fail_nomem(err);
    in->at += length;
    if (*in->at == '[')
        return read_element(in, name, err);
    const bool more = *in->at == '+';
    in->at += more ? 2 : 1;
    const bool array = in->at < in->end && *in->at == '(';
    PLAIT_TRY(read_value(in, &list, err));
    return assign(in, name, more, array, &list, err);
}

/* ---- blocks ---- */

static plait_status push(shell_reader *in, shell_block block, plait_error *err)
{
    if (in->frames == SHELL_MAX_FRAMES)
        return shell_fail(in, "blocks in blocks, more than 64", err);
    in->frame[in->frames++] =
        (shell_frame){.block = block, .outer = in->mode, .outer_doubt = in->doubt};
    return PLAIT_OK;
}

static shell_frame *top(shell_reader *in, shell_block block)
{
    shell_frame *const frame = in->frames > 0 ? &in->frame[in->frames - 1] : NULL;

    return frame != NULL && frame->block == block ? frame : NULL;
}

static void pop(shell_reader *in, shell_block block)
{
    const shell_frame *const frame = top(in, block);

    if (frame == NULL)
        return;
    in->mode = frame->outer;
    in->doubt = frame->outer_doubt;
    in->frames--;
}

/* How the next branch is read, whose condition has an answer. */
static void enter_branch(shell_reader *in, shell_frame *frame, shell_answer answer)
{
    if (frame->outer == SHELL_SKIP || frame->taken || answer == SHELL_NO) {
        in->mode = SHELL_SKIP;
        return;
    }
    if (answer == SHELL_YES) {
        frame->taken = true;
    } else {
        frame->open = true;
        frame->cause = in->cause;
    }
    in->mode = frame->open ? SHELL_DOUBT : frame->outer;
    in->doubt = frame->open ? frame->cause : frame->outer_doubt;
}

/* Between branches conditions are read, not skipped, as long as no branch is taken. */
static void leave_branch(shell_reader *in, const shell_frame *frame)
{
    in->mode = frame->taken ? SHELL_SKIP : frame->outer;
    in->doubt = frame->outer_doubt;
}

/* ---- case ---- */

static plait_status begin_case(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    PLAIT_TRY(push(in, SHELL_CASE, err));
    skip_blanks(in);
    PLAIT_TRY(shell_read_word(in, &words, err));
    shell_frame *const frame = top(in, SHELL_CASE);
    frame->subject = joined(in, &words, 0);
    frame->pattern = true;
    PLAIT_TRY(skip_space(in, err));
    words.count = 0;
    return shell_read_word(in, &words, err); // in
}

static shell_answer case_answer(shell_reader *in, const shell_frame *frame, const shell_list *words)
{
    const int origin = shell_origin_index(in->out, frame->subject);

    for (int i = 0; i < words->count; i++)
        if (strcmp(words->word[i], "*") == 0 ||
            (origin < 0 && shell_matches(words->word[i], frame->subject)))
            return SHELL_YES;
    if (origin < 0)
        return SHELL_NO;
    in->cause = origin;
    return SHELL_OPEN;
}

/* "A | B)", or esac. */
static plait_status read_pattern(shell_reader *in, plait_error *err)
{
    shell_frame *const frame = top(in, SHELL_CASE);
    shell_list words = {0};

    if (*in->at == '(')
        in->at++;
    while (in->at < in->end && *in->at != ')' && *in->at != '\n') {
        skip_blanks(in);
        if (in->at < in->end && strchr("|;&<>(", *in->at) != NULL)
            in->at++;
        else
            PLAIT_TRY(shell_read_word(in, &words, err));
        if (words.count == 1 && strcmp(words.word[0], "esac") == 0) {
            pop(in, SHELL_CASE);
            return PLAIT_OK;
        }
        skip_blanks(in);
    }
    in->at += in->at < in->end && *in->at == ')';
    if (frame->subject == NULL)
        return plait_fail_nomem(err);
    enter_branch(in, frame, case_answer(in, frame, &words));
    frame->pattern = false;
    return PLAIT_OK;
}

/* ---- loops ---- */

/* Words up to the end of the line. */
static plait_status read_line_words(shell_reader *in, shell_list *words, plait_error *err)
{
    for (skip_blanks(in); in->at < in->end && strchr(";\n&|#)", *in->at) == NULL; skip_blanks(in)) {
        if (strchr("(<>", *in->at) != NULL)
            in->at++;
        else
            PLAIT_TRY(shell_read_word(in, words, err));
    }
    return PLAIT_OK;
}

/* for NAME in WORDS: read once. Of several words none is known; of none the loop is not entered. */
static plait_status begin_for(shell_reader *in, plait_error *err)
{
    shell_list words = {0};
    const char *unknown;

    PLAIT_TRY(push(in, SHELL_LOOP, err));
    skip_blanks(in);
    const char *const from = in->at;
    PLAIT_TRY(read_line_words(in, &words, err));
    if (words.count < 2 || in->mode == SHELL_SKIP)
        return PLAIT_OK;
    if (words.count == 2)
        in->mode = SHELL_SKIP;
    if (words.count == 3 && shell_word_known(words.word[2]))
        return shell_set(in, words.word[0], false, &(shell_list){words.word + 2, 1, 1}, err);
    unknown = shell_unknown(in, from, false);
    return unknown == NULL
               ? plait_fail_nomem(err)
               : shell_set(in, words.word[0], false, &(shell_list){&unknown, 1, 1}, err);
}

static void begin_body(shell_reader *in)
{
    if (top(in, SHELL_LOOP) != NULL && in->status == SHELL_NO)
        in->mode = SHELL_SKIP;
}

/* ---- functions ---- */

static plait_status begin_function(shell_reader *in, const char *name, plait_error *err)
{
    PLAIT_TRY(skip_space(in, err));
    if (in->at == in->end || *in->at != '{')
        return PLAIT_OK;
    in->at++;
    PLAIT_TRY(push(in, SHELL_FUNCTION, err));
    top(in, SHELL_FUNCTION)->subject = name;
    top(in, SHELL_FUNCTION)->body = in->at;
    in->mode = SHELL_SKIP;
    return PLAIT_OK;
}

static plait_status end_function(shell_reader *in, plait_error *err)
{
    const shell_frame *const frame = top(in, SHELL_FUNCTION);
    shell_function *more;

    more =
        grow_by_one(in->arena, in->function, in->functions, &in->function_capacity, sizeof *more);
    if (more == NULL)
        return plait_fail_nomem(err);
    in->function = more;
    more[in->functions++] =
        (shell_function){frame->subject, frame->body, (size_t)(in->at - frame->body) - 1};
    pop(in, SHELL_FUNCTION);
    return PLAIT_OK;
}

/* Read a text as commands, here and now. */
static plait_status read_nested(shell_reader *in, const char *text, size_t length, plait_error *err)
{
    const char *const at = in->at, *const end = in->end;
    const int line = in->line, frames = in->frames, heres = in->heres;
    const shell_mode mode = in->mode;
    shell_here here[SHELL_MAX_HERE];

    PLAIT_TRY(shell_spend(in, length, err));
    if (in->nesting == SHELL_MAX_NESTING || in->mode == SHELL_SKIP)
        return PLAIT_OK;
    memcpy(here, in->here, sizeof here);
    in->heres = 0;
    in->ran = NULL; // it stands in the other text
    in->nesting++;
    in->at = text;
    in->end = text + length;
    PLAIT_TRY(read_commands(in, err));
    in->at = at;
    in->end = end;
    in->line = line;
    in->frames = frames < in->frames ? frames : in->frames;
    in->mode = mode;
    in->nesting--;
    in->heres = heres;
    in->ran = NULL;
    memcpy(in->here, here, sizeof here);
    return PLAIT_OK;
}

static plait_status call_function(shell_reader *in, const shell_function *function,
                                  const shell_list *words, plait_error *err)
{
    const shell_list outer = in->argument;

    in->argument = (shell_list){words->word + 1, words->count - 1, words->count - 1};
    PLAIT_TRY(read_nested(in, function->body, function->length, err));
    in->argument = outer;
    return PLAIT_OK;
}

static const shell_function *function_named(const shell_reader *in, const char *name)
{
    for (int f = in->functions - 1; f >= 0; f--)
        if (strcmp(in->function[f].name, name) == 0)
            return &in->function[f];
    return NULL;
}

/* ---- simple commands ---- */

/* Where the TEXT of `bash -c TEXT` stands among the words; 0: nowhere. */
static int script_of(const shell_list *words)
{
    static const char *const shells[] = {"bash", "sh", "/bin/bash", "/bin/sh", "zsh", NULL};

    for (int i = 0; i + 2 < words->count; i++) {
        const char *const option = words->word[i + 1];

        if (text_index(words->word[i], shells) >= 0 && option[0] == '-' && option[1] != '-' &&
            text_ends_with(option, "c"))
            return i + 2;
    }
    return 0;
}

static plait_status unset(shell_reader *in, const shell_list *words)
{
    for (int i = 1; i < words->count; i++) {
        shell_variable *const found = shell_find(in, words->word[i], strlen(words->word[i]));

        if (found != NULL)
            found->name = "";
    }
    return PLAIT_OK;
}

static plait_status run(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const name = words->count > 0 ? words->word[0] : ":";
    const shell_function *const function = function_named(in, name);
    const int script = script_of(words);
    const char *text;

    in->status = SHELL_RAN;
    if (strcmp(name, "[") == 0 || strcmp(name, "test") == 0) {
        const bool closed = name[0] == 't' || strcmp(words->word[words->count - 1], "]") == 0;
        const shell_list inner = {words->word + 1, words->count - 1 - (name[0] == '[' && closed),
                                  0};

        in->status = closed ? shell_test(in, &inner, false) : SHELL_OPEN;
        return PLAIT_OK;
    }
    if (strcmp(name, "true") == 0 || strcmp(name, ":") == 0 || strcmp(name, "false") == 0) {
        in->status = name[0] == 'f' ? SHELL_NO : SHELL_YES;
        return PLAIT_OK;
    }
    if (function != NULL)
        return call_function(in, function, words, err);
    if (strcmp(name, "unset") == 0)
        return unset(in, words);
    if (strcmp(name, "eval") == 0 || script > 0) {
        text = script > 0 ? words->word[script] : joined(in, words, 1);
        if (text == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(add_command(in, &(shell_list){words->word, script > 0 ? script : 1, 0}, err));
        return read_nested(in, text, strlen(text), err);
    }
    if (strcmp(name, "echo") == 0 && in->target != NULL && in->heres == 0) {
        text = joined(in, words, 1);
        PLAIT_TRY(text != NULL ? add_file(in, text, err) : plait_fail_nomem(err));
    }
    return add_command(in, words, err);
}

/* [[ ... ]]: operators are words in it. */
static plait_status read_condition(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    for (;;) {
        PLAIT_TRY(skip_space(in, err));
        if (in->at == in->end)
            return shell_fail(in, "a [[ that is not closed", err);
        if (strchr(";&|()<>", *in->at) != NULL) {
            const bool twice =
                in->end - in->at >= 2 && in->at[1] == *in->at && strchr("&|", *in->at) != NULL;

            PLAIT_TRY(shell_list_add(
                in, &words, plait_arena_printf(in->arena, "%.*s", twice ? 2 : 1, in->at), err));
            in->at += twice ? 2 : 1;
            continue;
        }
        const int before = words.count;
        const char *const from = in->at;
        PLAIT_TRY(shell_read_word(in, &words, err));
        if (words.count == before) // what vanishes is an empty word in here
            PLAIT_TRY(shell_list_add(in, &words, "", err));
        if (in->at == from + 2 && from[0] == ']' && strcmp(words.word[words.count - 1], "]]") == 0)
            break;
    }
    words.count--;
    if (in->mode != SHELL_SKIP)
        in->status = shell_test(in, &words, true);
    return PLAIT_OK;
}

/* ((...)) */
static plait_status read_sum_command(shell_reader *in)
{
    const char *const first = in->at += 2;
    int64_t number;

    shell_skip_to_close(in, '(', ')');
    const size_t length = in->at > first ? (size_t)(in->at - first) - 1 : 0;
    in->at += in->at < in->end && *in->at == ')';
    in->cause = -1;
    if (in->mode != SHELL_SKIP)
        in->status = !shell_arithmetic(in, first, length, &number) ? SHELL_OPEN
                     : number != 0                                 ? SHELL_YES
                                                                   : SHELL_NO;
    return PLAIT_OK;
}

/* An open answer hangs on something: at worst on the condition itself. */
static plait_status find_cause(shell_reader *in, plait_error *err)
{
    const char *word;

    if (in->mode == SHELL_SKIP || in->ran == NULL || in->status < SHELL_RAN ||
        (in->status == SHELL_OPEN && in->cause >= 0))
        return PLAIT_OK;
    word = shell_unknown(in, in->ran, false);
    if (word == NULL)
        return plait_fail_nomem(err);
    in->cause = shell_origin_index(in->out, word);
    return PLAIT_OK;
}

/* ---- keywords ---- */

typedef enum shell_keyword {
    WORD_IF,
    WORD_THEN,
    WORD_ELIF,
    WORD_ELSE,
    WORD_FI,
    WORD_FOR,
    WORD_WHILE,
    WORD_UNTIL,
    WORD_SELECT,
    WORD_DO,
    WORD_DONE,
    WORD_CASE,
    WORD_ESAC,
    WORD_OPEN,
    WORD_CLOSE,
    WORD_FUNCTION,
    WORD_TIME,
    SHELL_KEYWORDS
} shell_keyword;

static const char *const keywords[] = {"if",    "then",  "elif",   "else",     "fi",   "for",
                                       "while", "until", "select", "do",       "done", "case",
                                       "esac",  "{",     "}",      "function", "time", NULL};

/* The keyword at the cursor, which is passed; -1: none stands here. */
static int keyword_at(shell_reader *in)
{
    size_t width = 0;

    while (in->at + width < in->end && !isspace((unsigned char)in->at[width]) &&
           strchr(";&|()<>", in->at[width]) == NULL)
        width++;
    for (int k = 0; k < SHELL_KEYWORDS; k++)
        if (strlen(keywords[k]) == width && memcmp(keywords[k], in->at, width) == 0) {
            in->at += width;
            return k;
        }
    return -1;
}

static plait_status read_function_head(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    skip_blanks(in);
    PLAIT_TRY(shell_read_word(in, &words, err));
    if (in->end - in->at >= 2 && memcmp(in->at, "()", 2) == 0)
        in->at += 2;
    return words.count == 1 ? begin_function(in, words.word[0], err) : PLAIT_OK;
}

static plait_status take_keyword(shell_reader *in, shell_keyword keyword, plait_error *err)
{
    shell_frame *const branch = top(in, SHELL_IF);

    switch (keyword) {
    case WORD_IF:
        return push(in, SHELL_IF, err);
    case WORD_THEN:
        if (branch == NULL)
            return PLAIT_OK;
        PLAIT_TRY(find_cause(in, err));
        enter_branch(in, branch, in->status);
        return PLAIT_OK;
    case WORD_ELIF:
        if (branch != NULL)
            leave_branch(in, branch);
        return PLAIT_OK;
    case WORD_ELSE:
        if (branch != NULL)
            enter_branch(in, branch, SHELL_YES);
        return PLAIT_OK;
    case WORD_FI:
        pop(in, SHELL_IF);
        return PLAIT_OK;
    case WORD_FOR:
    case WORD_SELECT:
        in->status = SHELL_YES;
        return begin_for(in, err);
    case WORD_WHILE:
    case WORD_UNTIL:
        return push(in, SHELL_LOOP, err);
    case WORD_DO:
        begin_body(in);
        return PLAIT_OK;
    case WORD_DONE:
        pop(in, SHELL_LOOP);
        return PLAIT_OK;
    case WORD_CASE:
        return begin_case(in, err);
    case WORD_ESAC:
        pop(in, SHELL_CASE);
        return PLAIT_OK;
    case WORD_OPEN:
        return push(in, SHELL_BRACE, err);
    case WORD_CLOSE:
        pop(in, SHELL_BRACE);
        return top(in, SHELL_FUNCTION) != NULL ? end_function(in, err) : PLAIT_OK;
    case WORD_FUNCTION:
        return read_function_head(in, err);
    default:
        return PLAIT_OK;
    }
}

/* ---- commands ---- */

static bool takes_assignments(const char *word)
{
    static const char *const words[] = {"export", "declare", "local",   "readonly",
                                        "env",    "set",     "typeset", NULL};

    return text_index(word, words) >= 0;
}

/* 2>&1: the 2 is no word. */
static bool is_descriptor(const shell_reader *in, const char *from)
{
    return in->at == from + 1 && isdigit((unsigned char)*from) && in->at < in->end &&
           (*in->at == '<' || *in->at == '>');
}

/* Assignments and words up to the end of the command. */
static plait_status read_simple(shell_reader *in, shell_list *words, plait_error *err)
{
    bool assigns = true;

    for (skip_blanks(in); in->at < in->end && strchr(";&|()\n", *in->at) == NULL; skip_blanks(in)) {
        const char *const from = in->at;
        const size_t assigned = assigns ? assignment_at(in) : 0;
        const int before = words->count;

        if (*from == '#')
            return PLAIT_OK;
        if (assigned > 0) {
            PLAIT_TRY(read_assignment(in, assigned, err));
        } else if (*from == '<' || *from == '>') {
            PLAIT_TRY(read_redirection(in, err));
        } else {
            PLAIT_TRY(shell_read_word(in, words, err));
            words->count -= is_descriptor(in, from) && words->count > before;
            assigns = words->count > 0 && takes_assignments(words->word[0]);
        }
    }
    return PLAIT_OK;
}

static plait_status read_plain_command(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    PLAIT_TRY(read_simple(in, &words, err));
    if (words.count == 1 && in->end - in->at >= 2 && in->at[0] == '(' && in->at[1] == ')') {
        in->at += 2;
        return begin_function(in, words.word[0], err);
    }
    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    in->status = SHELL_YES;
    return words.count > 0 ? run(in, &words, err) : PLAIT_OK;
}

/* One command at the cursor; `!` before it turns its answer round. */
static plait_status read_command(shell_reader *in, plait_error *err)
{
    const char *const from = in->at;
    const bool negates = in->end - in->at >= 2 && in->at[0] == '!' && in->at[1] == ' ';

    if (negates) {
        in->at++;
        skip_blanks(in);
    }
    if (in->end - in->at >= 3 && memcmp(in->at, "[[", 2) == 0 &&
        isspace((unsigned char)in->at[2])) {
        in->at += 2;
        PLAIT_TRY(read_condition(in, err));
    } else if (in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0) {
        PLAIT_TRY(read_sum_command(in));
    } else {
        PLAIT_TRY(read_plain_command(in, err));
    }
    in->ran = from;
    if (in->status == SHELL_OPEN)
        PLAIT_TRY(find_cause(in, err));
    if (negates && (in->status == SHELL_YES || in->status == SHELL_NO))
        in->status = in->status == SHELL_YES ? SHELL_NO : SHELL_YES;
    return PLAIT_OK;
}

/* A && B, A || B: how B is read after A, and what both answer. */
static plait_status read_linked(shell_reader *in, char sign, plait_error *err)
{
    const shell_answer first = in->status;
    const shell_mode mode = in->mode;
    const int doubt = in->doubt;
    const bool passes = sign == '&' ? first == SHELL_NO : first == SHELL_YES || first == SHELL_RAN;
    const int frames = in->frames;

    PLAIT_TRY(skip_space(in, err));
    if (in->at == in->end)
        return PLAIT_OK;
    if (mode != SHELL_SKIP)
        in->mode = passes ? SHELL_SKIP : first == SHELL_OPEN ? SHELL_DOUBT : mode;
    in->doubt = first == SHELL_OPEN ? in->cause : doubt;
    const int keyword = keyword_at(in);
    PLAIT_TRY(keyword >= 0 ? take_keyword(in, (shell_keyword)keyword, err) : read_command(in, err));
    if (in->frames > frames) { // what is opened here closes with the mode of before
        in->frame[frames].outer = mode;
        in->frame[frames].outer_doubt = doubt;
        return PLAIT_OK;
    }
    in->mode = mode;
    in->doubt = doubt;
    if (passes)
        in->status = first;
    else if (first == SHELL_OPEN && in->status != (sign == '&' ? SHELL_NO : SHELL_YES))
        in->status = SHELL_OPEN;
    return PLAIT_OK;
}

/* ; & | ( ) between commands. */
static plait_status read_sign(shell_reader *in, plait_error *err)
{
    const char sign = *in->at++;
    const bool twice = in->at < in->end && *in->at == sign;
    shell_frame *const frame = top(in, SHELL_CASE);

    if (sign == '(')
        return push(in, SHELL_PAREN, err);
    if (sign == ')') {
        pop(in, SHELL_PAREN);
        return PLAIT_OK;
    }
    in->at += twice && sign != '<' && sign != '>';
    if (sign == ';' && twice && frame != NULL) {
        in->mode = frame->outer;
        frame->pattern = true;
    }
    if (twice && (sign == '&' || sign == '|'))
        return read_linked(in, sign, err);
    if (sign == '<' || sign == '>') {
        in->at--;
        return read_redirection(in, err);
    }
    return PLAIT_OK;
}

static plait_status read_commands(shell_reader *in, plait_error *err)
{
    for (;;) {
        PLAIT_TRY(skip_space(in, err));
        if (in->at == in->end)
            return PLAIT_OK;
        const shell_frame *const frame = top(in, SHELL_CASE);
        const bool sums = in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0;
        if (frame != NULL && frame->pattern) {
            PLAIT_TRY(read_pattern(in, err));
        } else if (strchr(";&|()<>", *in->at) != NULL && !sums) {
            PLAIT_TRY(read_sign(in, err));
        } else {
            const int keyword = keyword_at(in);

            PLAIT_TRY(keyword >= 0 ? take_keyword(in, (shell_keyword)keyword, err)
                                   : read_command(in, err));
        }
    }
}

/* ---- the whole ---- */

static bool any_option(const char *const *word, int count)
{
    for (int i = 0; i < count; i++)
        if (is_option(word[i]))
            return true;
    return false;
}

static bool any_command_has_options(const shell_words *words)
{
    for (int c = 0; c < words->commands; c++) {
        const shell_command *const command = &words->command[c];
        const char *const *const word = words->word + command->first;

        if (strcmp(word[0], "#SBATCH") != 0 && any_option(word, command->count))
            return true;
    }
    return false;
}

static plait_status add_pieces(shell_reader *in, const char *text, shell_list *words,
                               plait_error *err)
{
    for (size_t width; *(text += strspn(text, " \t\r\n")) != '\0'; text += width) {
        width = strcspn(text, " \t\r\n");
        PLAIT_TRY(shell_list_add(in, words, plait_arena_printf(in->arena, "%.*s", (int)width, text),
                                 err));
    }
    return PLAIT_OK;
}

/* A file that only sets variables is for others to source: what they hold is what it says. */
static plait_status add_variables(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    for (int v = 0; v < in->variables; v++) {
        const shell_list value = in->variable[v].value;

        for (int i = 0; i < value.count; i++) {
            if (value.count > 1) {
                if (any_option(value.word, value.count))
                    PLAIT_TRY(shell_list_add(in, &words, value.word[i], err));
            } else if (strstr(value.word[0], "--") != NULL) {
                PLAIT_TRY(add_pieces(in, value.word[0], &words, err));
            }
        }
    }
    return words.count > 0 ? add_command(in, &words, err) : PLAIT_OK;
}

/* NAME=VALUE among the arguments stands as if the script began with it. */
static plait_status take_call(shell_reader *in, const launch_call *call, plait_error *err)
{
    for (int i = 0; call != NULL && i < call->arguments; i++) {
        const char *const text = call->argument[i];

        in->at = text;
        in->end = text + strlen(text);
        if (assignment_at(in) == 0) {
            PLAIT_TRY(shell_list_add(in, &in->argument, text, err));
            continue;
        }
        char *const name = plait_arena_text(in->arena, text);
        const char *const value = name != NULL ? text_cut(name, '=') : NULL;
        PLAIT_TRY(name == NULL ? plait_fail_nomem(err)
                               : shell_set(in, name, false,
                                           &(shell_list){(const char **)&value, 1, 1}, err));
    }
    return PLAIT_OK;
}

plait_status shell_read(const char *text, size_t length, const char *name, const launch_call *call,
                        plait_arena *arena, shell_words *out, plait_error *err)
{
    shell_reader in = {.line = 1,
                       .name = name,
                       .arena = arena,
                       .out = out,
                       .status = SHELL_YES,
                       .cause = -1,
                       .doubt = -1};

    *out = (shell_words){0};
    if (memchr(text, '\0', length) != NULL)
        return shell_fail(&in, "a zero byte", err);
    if (length > SHELL_MAX_BYTES)
        return shell_fail(&in, "more than 4 MiB of them", err);
    PLAIT_TRY(take_call(&in, call, err));
    in.at = text;
    in.end = text + length;
    PLAIT_TRY(read_commands(&in, err));
    in.mode = SHELL_RUN;
    if (!any_command_has_options(out))
        PLAIT_TRY(add_variables(&in, err));
    out->variable = in.variable;
    out->variables = in.variables;
    return PLAIT_OK;
}

bool shell_word_known(const char *word)
{
    return strchr(word, SHELL_UNKNOWN) == NULL;
}

const shell_origin *shell_word_origin(const shell_words *words, const char *word)
{
    const int index = shell_origin_index(words, word);

    return index >= 0 ? &words->origin[index] : NULL;
}

const char *shell_variable_word(const shell_words *words, const char *name)
{
    for (int v = 0; v < words->variables; v++)
        if (strcmp(words->variable[v].name, name) == 0 && words->variable[v].value.count == 1 &&
            shell_word_known(words->variable[v].value.word[0]))
            return words->variable[v].value.word[0];
    return NULL;
}
