/* scratch.c - makes, hides and removes the folders of calls */
#include "mcp/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file.h"
#include "mcp/mcp.h"

plait_status scratch_make(scratch *of, int call, char path[SCRATCH_PATH_SIZE], plait_error *err)
{
    const char *const place = getenv("TMPDIR");

    if (of->root[0] == '\0') {
        char root[SCRATCH_PATH_SIZE];

        if ((size_t)snprintf(root, sizeof root - 16, "%s/plait-mcp-XXXXXX",
                             place != NULL && place[0] == '/' ? place : "/tmp") >= sizeof root - 16)
            return file_fail_write(place, ENAMETOOLONG, err);
        if (mkdtemp(root) == NULL)
            return file_fail_write(root, errno, err);
        memcpy(of->root, root, sizeof root);
    }
    if ((size_t)snprintf(path, SCRATCH_PATH_SIZE, "%s/%d", of->root, call) >= SCRATCH_PATH_SIZE)
        return file_fail_write(of->root, ENAMETOOLONG, err);
    return mkdir(path, 0700) == 0 ? PLAIT_OK : file_fail_write(path, errno, err);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

void scratch_remove(const char *path)
{
    if (path[0] != '\0')
        nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Return the length of a text's beginning "3/", a number and a slash; 0: it has none. */
static size_t call_length(const char *text, size_t length)
{
    size_t digits = 0;

    while (digits < length && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return digits > 0 && digits < length && text[digits] == '/' ? digits + 1 : 0;
}

void scratch_append_hidden(const scratch *of, text_builder *out, const char *text, size_t length)
{
    static const char answer[] = "answer.json";
    const size_t root = strlen(of->root), name = strlen(answer);
    const char *const end = length > 0 ? text + length : text;

    while (text < end) {
        const char *const at = memchr(text, '/', (size_t)(end - text));
        const size_t before = at != NULL ? (size_t)(at - text) : (size_t)(end - text);
        size_t left, call = 0;

        text_append_bytes(out, text, before);
        text += before;
        left = (size_t)(end - text);
        if (root > 0 && left > root + 1 && memcmp(text, of->root, root) == 0 && text[root] == '/')
            call = call_length(text + root + 1, left - root - 1);
        if (call == 0) {
            text_append_bytes(out, text, left > 0);
            text += left > 0;
            continue;
        }
        text += root + 1;
        if ((size_t)(end - text) >= call + name && memcmp(text + call, answer, name) == 0) {
            text_append(out, MCP_ANSWERS);
            text_append_bytes(out, text, call - 1);
            text += call + name;
        } else
            text += call;
    }
}
