/* driver.c - runs a fuzz target on the files it is given, where there is no fuzzer engine
 *
 *     fuzz_json tests/fuzz/corpus/fuzz_json some/other/file
 *
 * A folder stands for the files in it. A corpus that is missing or empty is a failure: it would
 * test nothing.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is a block of exactly its size, so that the address sanitizer sees a read beyond it. */
static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    struct stat info;
    int runs = 0;

    if (file == NULL || fstat(fileno(file), &info) != 0)
        goto done;
    data = malloc(info.st_size > 0 ? (size_t)info.st_size : 1);
    if (data == NULL || fread(data, 1, (size_t)info.st_size, file) != (size_t)info.st_size)
        goto done;
    LLVMFuzzerTestOneInput(data, (size_t)info.st_size);
    runs = 1;
done:
    if (runs == 0)
        perror(path);
    free(data);
    if (file != NULL)
        fclose(file);
    return runs;
}

static int run_folder(const char *path, DIR *folder)
{
    int runs = 0;

    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char file[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        runs += run_file(file);
    }
    return runs;
}

int main(int argc, char **argv)
{
    int runs = 0;

    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);

        runs += folder != NULL ? run_folder(argv[i], folder) : run_file(argv[i]);
        if (folder != NULL)
            closedir(folder);
    }
    printf("%d inputs\n", runs);
    return runs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
