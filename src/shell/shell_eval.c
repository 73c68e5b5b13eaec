/* shell_eval.c - evaluates the tree of a script: applies the effects of commands on variables */
#include <ctype.h>
#include <string.h>

#include "shell/shell_state.h"

enum { MAX_FUNCTIONS = 1 << 10, NODE_COST = 32 };

/* Values of shell_state.left: `return` or `break` has possibly ended the round or the function. */
enum { LEFT_ROUND = 1, LEFT_FUNCTION };

static void eval_node(shell_state *in, const shell_node *node);

void shell_eval(shell_state *in, const shell_node *first)
{
    for (const shell_node *node = first; node != NULL; node = node->next)
        eval_node(in, node);
}

/* ---- certainty ---- */

typedef struct shell_reach {
    shell_certainty certainty;
    int doubt;
} shell_reach;

static shell_reach reach_of(const shell_state *in)
{
    return (shell_reach){in->certainty, in->doubt};
}

/*
 * Restores the certainty from before a block, unless the block has possibly ended the function or
 * the round.
 */
static void restore_reach(shell_state *in, shell_reach reach)
{
    const bool stays = in->left > 0 && reach.certainty < SHELL_POSSIBLE;

    in->certainty = stays ? SHELL_POSSIBLE : reach.certainty;
    in->doubt = stays ? in->doubt : reach.doubt;
}

/*
 * Returns the origin on which an unknown status depends. If there is none, returns an origin with
 * the command's text.
 */
static int cause_of(shell_state *in)
{
    if (in->status == SHELL_UNDECIDED && in->cause >= 0)
        return in->cause;
    return shell_origin_index(in->out, shell_unknown(in, in->command->text, false));
}

static void eval_possible(shell_state *in, const shell_node *first, int cause)
{
    const shell_reach outer = reach_of(in);

    in->certainty = SHELL_POSSIBLE;
    in->doubt = cause;
    shell_eval(in, first);
    restore_reach(in, outer);
}

/* ---- && and ||, if, case ---- */

/* Returns whether a status certainly skips the command after && (sign &) or || (sign |). */
static bool is_skipped(char sign, shell_status first)
{
    return sign == '&' ? first == SHELL_FALSE : first == SHELL_TRUE;
}

/* Returns the status of A && B or A || B. */
static shell_status joined_status(char sign, shell_status first, shell_status second)
{
    if (is_skipped(sign, first))
        return first;
    if (first <= SHELL_TRUE || second == (sign == '&' ? SHELL_FALSE : SHELL_TRUE))
        return second;
    return first > second ? first : second;
}

static void eval_chain(shell_state *in, const shell_node *node)
{
    const shell_reach outer = reach_of(in);

    eval_node(in, node->body);
    for (const shell_node *part = node->body->next; part != NULL; part = part->next) {
        const shell_status first = in->status;
        const bool skipped = is_skipped(part->sign, first);

        if (skipped && !in->surveying)
            continue;
        if (first >= SHELL_PROGRAM)
            in->doubt = cause_of(in);
        if (skipped || first == SHELL_UNDECIDED || (first == SHELL_PROGRAM && part->sign == '|'))
            in->certainty = SHELL_POSSIBLE;
        else if (first == SHELL_PROGRAM && in->certainty == SHELL_CERTAIN)
            in->certainty = SHELL_LIKELY;
        eval_node(in, part);
        restore_reach(in, outer);
        in->status = joined_status(part->sign, first, in->status);
    }
}

static void eval_if(shell_state *in, const shell_node *node)
{
    shell_eval(in, node->test);
    const shell_status status = in->status;
    if (status > SHELL_TRUE || in->surveying) {
        const int cause = cause_of(in);

        eval_possible(in, node->body, cause);
        eval_possible(in, node->otherwise, cause);
        in->status = SHELL_PROGRAM;
        return;
    }
    in->status = SHELL_TRUE; // the status if no branch runs, or if an empty branch runs
    shell_eval(in, status == SHELL_TRUE ? node->body : node->otherwise);
}

/*
 * Evaluates the first branch that matches. If it is unknown whether a branch matches, this branch
 * and all branches after it are possible.
 */
static void eval_case(shell_state *in, const shell_node *node)
{
    const char *const subject = shell_expand_whole(in, node->word[0], SHELL_WHOLE);
    bool open = in->surveying;
    shell_status match = SHELL_FALSE;
    int cause = -1;

    in->status = SHELL_TRUE;
    for (const shell_node *branch = node->body;
         branch != NULL && (match != SHELL_TRUE || in->surveying); branch = branch->next) {

        shell_status found = SHELL_FALSE;
        in->cause = -1;
        for (int i = 0; i < branch->words && found != SHELL_TRUE; i++) {
            const char *const pattern = shell_expand_whole(in, branch->word[i], SHELL_PATTERN);
            const char *const unknown = !shell_word_known(subject) ? subject : pattern;
            const shell_status one = strcmp(pattern, "*") == 0   ? SHELL_TRUE
                                     : shell_word_known(unknown) ? shell_match(in, pattern, subject)
                                                                 : SHELL_UNDECIDED;

            found = one != SHELL_FALSE ? one : found;
            in->cause = one == SHELL_UNDECIDED ? shell_origin_index(in->out, unknown) : in->cause;
        }
        match = branch->undecided ? SHELL_UNDECIDED : found;
        cause = match == SHELL_UNDECIDED && !open ? in->cause : cause;
        open = open || match == SHELL_UNDECIDED;
        if (open)
            eval_possible(in, branch->body, cause);
        else if (match == SHELL_TRUE)
            shell_eval(in, branch->body);
    }
    in->status = open ? SHELL_PROGRAM : in->status;
}

static void eval_condition(shell_state *in, const shell_node *node)
{
    shell_list words = {0};

    for (int i = 0; i < node->words; i++) {
        const shell_text text = node->word[i];
        const bool pattern = i > 0 && shell_compares(words.word[i - 1]);

        shell_list_add(in, &words,
                       shell_at_operator(text.at)
                           ? shell_copy(in->c, text)
                           : shell_expand_whole(in, text, pattern ? SHELL_PATTERN : SHELL_WHOLE));
    }
    in->status = shell_test(in, &words, true);
}

static void eval_arithmetic(shell_state *in, const shell_node *node)
{
    int64_t number;
    const bool known = shell_expand_arith(in, node->word[0], &number);

    in->cause = -1;
    in->status = !known ? SHELL_UNDECIDED : number != 0 ? SHELL_TRUE : SHELL_FALSE;
}

/* ---- loops ---- */

/* Evaluates one round of a loop. Returns false if the condition is false, so that no round runs. */
static bool eval_round(shell_state *in, const shell_node *node)
{
    const shell_reach outer = reach_of(in);
    const int left = in->left;

    if (node->counts)
        eval_arithmetic(in, node);
    shell_eval(in, node->test);
    const bool none = node->kind != SHELL_FOR &&
                      in->status == (node->kind == SHELL_UNTIL ? SHELL_TRUE : SHELL_FALSE);
    if (!none || in->surveying)
        shell_eval(in, node->body);
    in->left = in->left == LEFT_ROUND ? left : in->left;
    restore_reach(in, outer);
    return !none;
}

/*
 * Evaluates a loop with an unknown number of rounds. The state after its survey (shell_state) is
 * valid at the start of any round and after the loop. A loop inside the survey of another loop is
 * part of that survey.
 */
static void eval_rounds(shell_state *in, const shell_node *node, shell_text head)
{
    const shell_reach outer = reach_of(in);
    const bool argument_unknown = in->argument_unknown;

    if (in->surveying) {
        (void)eval_round(in, node);
        return;
    }
    const shell_saved before = shell_save(in);
    in->doubt = shell_origin_index(in->out, shell_unknown(in, head, false));
    in->certainty = SHELL_POSSIBLE;
    in->loops++;
    in->surveying = true;
    const bool any = eval_round(in, node);
    in->surveying = false;
    restore_reach(in, outer);
    if (!any) {
        shell_restore(in, before);
        in->argument_unknown = argument_unknown;
    }
    const shell_saved start = shell_save(in);
    (void)eval_round(in, node);
    if (any)
        shell_restore(in, start);
    in->loops--;
}

static void eval_loop(shell_state *in, const shell_node *node)
{
    shell_text head = node->text;
    const char *const semicolon = memchr(head.at, ';', head.length);

    if (semicolon != NULL && !node->counts)
        head.length = (size_t)(semicolon - head.at);
    if (node->kind == SHELL_FOR) {
        // Evaluate for NAME in WORDS, for NAME, for ((A; B; C)) or select NAME in WORDS. With one
        // word, exactly one round runs.
        const char *const name = node->words > 0 ? shell_copy(in->c, node->word[0]) : "";
        shell_list value = {0};
        for (int i = 2; i < node->words; i++)
            shell_expand_word(in, node->word[i], SHELL_SPLIT, &value);
        if (node->words <= 1 || value.count != 0 || in->surveying) {
            if (!node->counts && !node->select && value.count == 1 &&
                shell_word_known(value.word[0]) && strpbrk(value.word[0], "*?[{") == NULL) {
                shell_set(in, name, false, &value);
                (void)eval_round(in, node);
                if (in->certainty != SHELL_CERTAIN)
                    shell_set_unknown(in, name, head);
            } else {
                if (!node->counts && *name != '\0')
                    shell_set_unknown(in, name, head);
                eval_rounds(in, node, head);
            }
        }
    } else
        eval_rounds(in, node, head);
    in->status = SHELL_PROGRAM;
}

/* ---- functions and texts ---- */

static void define_function(shell_state *in, const shell_node *node)
{
    const char *const name = node->words > 0 ? shell_copy(in->c, node->word[0]) : "";
    const int before = name_index_find(&in->function_names, name, strlen(name));

    if (in->functions == MAX_FUNCTIONS)
        shell_fail(in->c, "more than 1024 functions");
    in->function = shell_grow(in->c, in->function, in->functions, &in->function_capacity,
                              sizeof *in->function);
    in->function[in->functions] = (shell_function){
        .body = node->body,
        .uncertain = in->certainty != SHELL_CERTAIN || in->subshells > 0 || in->loops > 0,
        .replaces = before >= 0 && in->function[before].body != node->body};
    if (!name_index_put(&in->function_names, in->c->arena, name, in->functions++))
        shell_fail_nomem(in->c);
    in->status = SHELL_TRUE;
}

static void call_function(shell_state *in, shell_function function, const shell_list *words)
{
    const shell_reach outer = reach_of(in);
    const shell_list argument = in->argument;
    const bool argument_unknown = in->argument_unknown;
    const int left = in->left, locals = in->locals;

    in->status = SHELL_PROGRAM;
    if (in->nesting == SHELL_MAX_NESTING)
        return;
    if (function.uncertain && function.replaces)
        shell_forget(in, shell_text_of(words->word[0]));
    if (function.uncertain && in->certainty == SHELL_CERTAIN)
        in->certainty = SHELL_LIKELY;
    in->argument = (shell_list){words->word + 1, words->count - 1, 0};
    in->argument_unknown = false;
    in->left = 0;
    in->nesting++;
    in->calls++;
    in->blocks++;
    shell_eval(in, function.body);
    in->blocks--;
    in->calls--;
    in->nesting--;
    if (in->left > 0 || function.uncertain)
        in->status = SHELL_PROGRAM;
    in->argument = argument;
    in->argument_unknown = argument_unknown;
    in->left = left;
    restore_reach(in, outer);
    for (; in->locals > locals; in->locals--)
        in->variable[in->local[in->locals - 1].variable] = in->local[in->locals - 1].old;
}

static void eval_text(shell_state *in, const char *text)
{
    const int line = in->c->line;

    shell_spend(in->c, strlen(text));
    if (in->nesting == SHELL_MAX_NESTING)
        return;
    in->nesting++;
    in->blocks++;
    shell_eval(in, shell_parse(shell_text_of(text), in->c));
    in->blocks--;
    in->nesting--;
    in->c->line = line;
}

/* Returns the index of TEXT if a command contains `bash -c TEXT $0 $1 ..`; else 0. */
static int script_index(const shell_list *words)
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

/* ---- simple commands ---- */

/*
 * After `return`, `break` or `continue`, marks the rest of the function or round as possible only.
 */
static void skip_rest(shell_state *in, int reach)
{
    in->status = SHELL_PROGRAM;
    if (reach == LEFT_FUNCTION ? in->calls == 0 : in->loops > 0)
        return; // the evaluation of a loop already covers any number of rounds
    in->left = reach > in->left ? reach : in->left;
    in->certainty = SHELL_POSSIBLE;
}

static void run_words(shell_state *in, const shell_node *node, const shell_list *words)
{
    static const char *const breaks[] = {"break", "continue", NULL};
    static const char *const prefixes[] = {"command", "builtin", NULL};
    const char *const name = words->word[0];
    const int function = name_index_find(&in->function_names, name, strlen(name));
    const int script = script_index(words);

    in->status = SHELL_PROGRAM;
    if (function >= 0) {
        call_function(in, in->function[function], words);
    } else if (strcmp(name, "return") == 0) {
        skip_rest(in, LEFT_FUNCTION);
    } else if (text_index(name, breaks) >= 0) {
        skip_rest(in, words->count > 1 ? LEFT_FUNCTION : LEFT_ROUND);
    } else if (strcmp(name, "eval") == 0) {
        shell_add_command(in, &(shell_list){words->word, 1, 0});
        in->evaluations++;
        eval_text(in, shell_joined(in, words, 1));
        in->evaluations--;
    } else if (script > 0) {
        // The script of `bash -c` runs in another process, so its variables are discarded.
        const shell_list argument = in->argument;
        const bool argument_unknown = in->argument_unknown;
        const int first = script + 2 < words->count ? script + 2 : words->count;
        const shell_saved saved = shell_save(in);
        const shell_list head = {words->word, script, 0};
        shell_add_job_command(in, &head);
        shell_begin_step(in, &head);
        in->argument = (shell_list){words->word + first, words->count - first, 0};
        in->argument_unknown = false;
        eval_text(in, words->word[script]);
        in->argument = argument;
        in->argument_unknown = argument_unknown;
        shell_restore(in, saved);
    } else {
        const int origin = shell_origin_index(in->out, words->word[0]);
        if (!shell_run_builtin(in, words)) {
            // List the files that a command writes with `echo TEXT >FILE` or from a here-document.
            if (node->target.length != 0 &&
                (node->has_here || strcmp(words->word[0], "echo") == 0)) {
                shell_add_file(in, shell_expand_whole(in, node->target, SHELL_WHOLE),
                               !node->has_here     ? shell_joined(in, words, 1)
                               : node->here_quoted ? shell_copy(in->c, node->here)
                                                   : shell_expand_text(in, node->here));
            }
            // `eval` of an unknown text can assign to any variable.
            if (in->evaluations > 0 && words->word[0][0] == SHELL_UNKNOWN &&
                !in->out->origin[origin].unset)
                shell_forget(in, shell_text_of(in->out->origin[origin].text));
            shell_add_job_command(in, words);
        }
    }
    // Commands such as `command export A=1` are not evaluated.
    if (text_index(name, prefixes) >= 0 && words->count > 1 && words->word[1][0] != '-')
        shell_forget(in, node->text);
}

/* ---- assignments ---- */

/* Expands the words of (...). Returns whether one of the words is [INDEX]=VALUE. */
static bool expand_array(shell_state *in, shell_text value, shell_list *out)
{
    const char *const end = value.at + value.length - 1, *open;
    bool indexed = false;

    for (const char *at = value.at + 1, *from; (from = shell_skip_lines(at, end)) < end;) {
        at = shell_at_operator(from) ? from + 1 : shell_skip_word(from, end, &open);
        indexed = indexed || (*from == '[' && memchr(from, '=', (size_t)(at - from)) != NULL);
        if (!shell_at_operator(from))
            shell_expand_word(in, (shell_text){from, (size_t)(at - from)}, SHELL_SPLIT, out);
    }
    return indexed;
}

/* Evaluates an unexpanded assignment NAME=VALUE, NAME+=VALUE or NAME=(VALUES). */
static void assign_variable(shell_state *in, shell_text text)
{
    const size_t length = shell_assignment_length(text);
    const char *const equals = memchr(text.at, '=', text.length);
    const shell_text value = {equals + 1, text.length - (size_t)(equals + 1 - text.at)};
    shell_assignment a = {.name = shell_copy(in->c, (shell_text){text.at, length}),
                          .more = equals[-1] == '+',
                          .array = value.length > 0 && *value.at == '(',
                          .constant = memchr(value.at, '$', value.length) == NULL &&
                                      memchr(value.at, '`', value.length) == NULL,
                          .extends = equals[-1] == '+'};
    bool element = text.at[length] == '[';

    a.extends = a.more || strstr(shell_copy(in->c, value), a.name) != NULL;
    if (a.array)
        element = expand_array(in, value, &a.value) || element;
    else
        shell_list_add(in, &a.value, shell_expand_whole(in, value, SHELL_WHOLE));
    if (element) // assignments to single elements are not supported
        shell_set_unknown(in, a.name, text);
    else
        shell_assign(in, &a);
}

static void eval_simple(shell_state *in, const shell_node *node)
{
    const int substitutions = in->substitutions;
    shell_list words = {0};

    in->command = node;
    // The words of `export NAME=VALUE` are assigned instead of expanded.
    in->vanished = false;
    for (int i = node->assignments; i < node->words; i++) {
        const shell_text text = node->word[i];
        const size_t length = shell_assignment_length(text);

        if (length > 0 && words.count > 0 && shell_is_declaration(shell_text_of(*words.word))) {
            shell_declare(in, &words, shell_copy(in->c, (shell_text){text.at, length}));
            assign_variable(in, text);
            continue;
        }
        shell_expand_word(in, text, SHELL_SPLIT, &words);
        const char *const word = words.count > 0 ? words.word[words.count - 1] : "";
        const int origin = shell_origin_index(in->out, word);
        in->vanished = in->vanished || (*text.at == '$' && origin >= 0 && shell_word_open(word) &&
                                        in->out->origin[origin].unset);
    }
    if (words.count == 0) {
        for (int i = 0; i < node->assignments; i++)
            assign_variable(in, node->word[i]);
        in->status = in->substitutions > substitutions ? SHELL_PROGRAM : SHELL_TRUE;
        return;
    }
    if (node->assignments > 0) {
        // NAME=VALUE COMMAND sets the variables for this command only.
        const size_t settings = (size_t)node->assignments;
        const int commands = in->out->commands;
        shell_variable *const old = shell_alloc(in->c, settings, sizeof *old);
        shell_variable *const set = shell_alloc(in->c, settings, sizeof *set);
        for (size_t i = 0; i < settings; i++) {
            const shell_text text = node->word[i];
            const char *const name =
                shell_copy(in->c, (shell_text){text.at, shell_assignment_length(text)});

            old[i] = *shell_variable_of(in, name);
            assign_variable(in, text);
            set[i] = *shell_variable_of(in, name);
        }
        run_words(in, node, &words);
        for (int c = commands; c < in->out->commands; c++) {
            in->out->command[c].settings = node->assignments;
            in->out->command[c].setting = set;
        }
        for (size_t i = settings; i > 0; i--)
            *shell_variable_of(in, old[i - 1].name) = old[i - 1];
    } else
        run_words(in, node, &words);
    // Only an `exit` outside all blocks certainly ends the script.
    if (in->certainty == SHELL_CERTAIN && in->blocks == 0 &&
        (strcmp(words.word[0], "exit") == 0 ||
         (strcmp(words.word[0], "exec") == 0 && words.count > 1 &&
          shell_word_known(words.word[1]))))
        in->ended = true;
}

/* ---- all ---- */

static void eval_body(shell_state *in, const shell_node *node)
{
    shell_eval(in, node->body);
}

static void (*const eval[])(shell_state *in,
                            const shell_node *node) = {[SHELL_SIMPLE] = eval_simple,
                                                       [SHELL_CONDITION] = eval_condition,
                                                       [SHELL_ARITHMETIC] = eval_arithmetic,
                                                       [SHELL_CHAIN] = eval_chain,
                                                       [SHELL_PIPE] = eval_body,
                                                       [SHELL_IF] = eval_if,
                                                       [SHELL_FOR] = eval_loop,
                                                       [SHELL_WHILE] = eval_loop,
                                                       [SHELL_UNTIL] = eval_loop,
                                                       [SHELL_CASE] = eval_case,
                                                       [SHELL_GROUP] = eval_body,
                                                       [SHELL_SUBSHELL] = eval_body,
                                                       [SHELL_FUNCTION] = define_function};

static void eval_node(shell_state *in, const shell_node *node)
{
    const bool block = node->kind != SHELL_SIMPLE, apart = node->apart;
    const shell_reach outer = reach_of(in);
    const shell_saved saved = apart ? shell_save(in) : (shell_saved){NULL, 0};
    const shell_list argument = in->argument;
    const bool argument_unknown = in->argument_unknown;
    const int left = in->left;

    shell_spend(in->c, NODE_COST);
    in->c->line = node->line;
    in->subshells += apart;
    in->blocks += block;
    eval[node->kind](in, node);
    in->blocks -= block;
    in->subshells -= apart;
    if (apart) {
        shell_restore(in, saved);
        in->argument = argument;
        in->argument_unknown = argument_unknown;
        in->left = left;
        restore_reach(in, outer);
    }
    if (node->kind != SHELL_CHAIN && node->kind != SHELL_PIPE)
        in->command = node;
    if ((node->kind == SHELL_SUBSHELL || node->kind == SHELL_PIPE) && in->status < SHELL_PROGRAM)
        in->status = SHELL_PROGRAM; // `exit` and `set -o pipefail` can change the status
    if (node->negated)
        in->status = in->status > SHELL_TRUE    ? SHELL_UNDECIDED
                     : in->status == SHELL_TRUE ? SHELL_FALSE
                                                : SHELL_TRUE;
    in->status = node->background ? SHELL_TRUE : in->status;
}
