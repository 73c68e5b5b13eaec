/* lines.c - breaks lines between words at the width of the terminal */
#include "report/lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

enum {
    MOST_COLUMNS = 100000, /* largest value of COLUMNS; no screen is wider */
    HANG = 2,              /* further indentation of the second and later pieces of a line */
    COMMAND_HANG = 4,
};

static bool keep_whole;

/* Text that is collected for lines_flush(). */
static struct {
    FILE *stream; /* stream of the text; NULL: not open */
    char *text;
    size_t length;
} held;

void lines_keep_whole(bool whole)
{
    keep_whole = whole;
}

size_t lines_width(FILE *out)
{
    const int file = out == held.stream ? STDOUT_FILENO : fileno(out);
    const char *const columns = getenv("COLUMNS");
    struct winsize size;
    int width;

    if (keep_whole || file < 0)
        return 0;
    if (columns != NULL && text_parse_int(columns, 1, MOST_COLUMNS, &width))
        return (size_t)width;
    return isatty(file) && ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

FILE *lines_out(void)
{
    if (held.stream == NULL && lines_width(stdout) > 0)
        held.stream = open_memstream(&held.text, &held.length);
    return held.stream != NULL ? held.stream : stdout;
}

/* ---- where a line ends ---- */

/*
 * Returns the columns of a character: none for combining marks and joiners, two for wide characters
 * (Unicode Annex 11) and emoji, one for others.
 */
static size_t columns_of(unsigned character)
{
    static const struct {
        unsigned first, last, columns;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},   {0x1100, 0x115f, 2},
        {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},
        {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2},
        {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}

size_t lines_columns(const char *text, size_t bytes)
{
    size_t columns = 0, length;

    for (size_t at = 0; at<bytes; at += length> 0 ? length : 1) {
        length = text_utf8_length(text + at, bytes - at);
        columns += length > 0 ? columns_of(text_utf8_value(text + at, length)) : 1;
    }
    return columns;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/*
 * Quality of a line break at a blank: worst after a number ("80 %"), better before a number ("tp
 * 4"), best elsewhere.
 */
enum { AT_ANY, AT_NUMBER, AT_PHRASE, BREAKS };

static int break_at(const char *text, size_t blank, bool shell)
{
    const char before = text[blank - 1], after = text[blank + 1];

    if (shell)
        return after == '-' ? AT_PHRASE : AT_ANY; // keeps an option and its value together
    if (strchr(",;:", before) != NULL || after == '(')
        return AT_PHRASE;
    return is_digit(before) ? AT_ANY : is_digit(after) ? AT_NUMBER : AT_PHRASE;
}

/*
 * Returns the end of the word that starts at or after `at`. In a command, a quoted blank does not
 * end a word.
 */
static size_t word_end(const char *text, size_t at, bool shell)
{
    char quote = '\0';

    at += strspn(text + at, " ");
    for (; text[at] != '\0' && (quote != '\0' || text[at] != ' '); at++) {
        if (quote != '\0')
            quote = text[at] == quote ? '\0' : quote;
        else if (shell && (text[at] == '\'' || text[at] == '"'))
            quote = text[at];
    }
    return at;
}

/*
 * Returns the end of the last word that fits into the line, or an earlier and better break if the
 * text before it fills two thirds of the line.
 */
static size_t line_end(const char *text, size_t width, bool shell)
{
    size_t last = word_end(text, 0, shell), columns = lines_columns(text, last);
    size_t at[BREAKS] = {0};

    while (text[last] != '\0') {
        const size_t end = word_end(text, last, shell);

        at[break_at(text, last, shell)] = last;
        columns += lines_columns(text + last, end - last);
        if (columns > width) {
            for (int b = BREAKS - 1; b > AT_ANY; b--)
                if (3 * at[b] >= 2 * width)
                    return at[b];
            return last;
        }
        last = end;
    }
    return last;
}

size_t lines_cut(const char *text, size_t width)
{
    return line_end(text, width, false);
}

/* ---- lines ---- */

/*
 * Returns the start of the plait command in a line such as "next: plait ..."; NULL: there is none.
 */
static const char *command_in(const char *line)
{
    static const char lead[] = "next: plait ";
    const size_t indent = strspn(line, " ");

    return text_starts_with(line + indent, lead)       ? line + indent + strlen("next: ")
           : text_starts_with(line + indent, "plait ") ? line + indent
                                                       : NULL;
}

/*
 * Returns the indentation of the second and later pieces of a line: the second column in a line
 * such as "  time    matmul 50 %", otherwise two blanks more than the line has.
 */
static size_t hang_of(const char *line, size_t width)
{
    const size_t indent = strspn(line, " ");
    const char *const gap = strstr(line + indent, "  ");
    const size_t column = gap != NULL ? (size_t)(gap - line) + strspn(gap, " ") : 0;

    return column > 0 && 2 * column <= width ? column : indent + HANG;
}

/*
 * Prints a line in pieces. `first` is the number of columns that the caller has already printed on
 * it.
 */
static void print_pieces(const char *text, size_t first, size_t hang, size_t width, bool shell,
                         FILE *out)
{
    const size_t mark = shell ? 2 : 0; // length of " \"
    size_t taken = first;

    while (taken + lines_columns(text, strlen(text)) > width) {
        const size_t room = width > taken + mark ? width - taken - mark : 1;
        const size_t end = line_end(text, room, shell);

        if (text[end] == '\0')
            break;
        fprintf(out, "%.*s%s\n%*s", (int)end, text, shell ? " \\" : "", (int)hang, "");
        text += end + strspn(text + end, " ");
        taken = hang;
    }
    fprintf(out, "%s\n", text);
}

void lines_print(const char *line, size_t width, FILE *out)
{
    const size_t indent = strspn(line, " ");
    const char *const command = command_in(line);
    const size_t lead = command != NULL ? (size_t)(command - line) : indent;

    if (width == 0 || lines_columns(line, strlen(line)) <= width) {
        fprintf(out, "%s\n", line);
        return;
    }
    fprintf(out, "%.*s", (int)lead, line);
    print_pieces(line + lead, lead, command != NULL ? indent + COMMAND_HANG : hang_of(line, width),
                 width, command != NULL, out);
}

plait_status lines_flush(plait_error *err)
{
    FILE *const stream = held.stream;
    const size_t width = stream != NULL ? lines_width(stream) : 0;
    bool whole;

    if (stream == NULL)
        return PLAIT_OK;
    whole = !ferror(stream);
    whole = fclose(stream) == 0 && held.text != NULL && whole;
    if (whole) {
        char *text = held.text;
        char *end;

        for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
            *end = '\0';
            lines_print(text, width, stdout);
        }
        fputs(text, stdout);
    }
    free(held.text);
    held.stream = NULL;
    held.text = NULL;
    return whole ? PLAIT_OK : plait_fail_nomem(err);
}
