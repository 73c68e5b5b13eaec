/* command.c - what commands share */
#include "command.h"

#include "file.h"
#include "text.h"

plait_status command_output(const char **path, bool *json, plait_error *err)
{
    if (*path == NULL)
        return PLAIT_OK;
    if (text_equal(*path, "-")) {
        *path = NULL;
        *json = true;
        return PLAIT_OK;
    }
    return file_check_writable(*path, err);
}

plait_status command_deliver(const char *text, size_t length, const char *path, bool print,
                             plait_error *err)
{
    if (path != NULL)
        PLAIT_TRY(file_write_atomically(path, text, length, err));
    if (print)
        fwrite(text, 1, length, stdout);
    return PLAIT_OK;
}
