/* Refuses outputs that would overwrite an input. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"

static bool is_same(const char *one, const char *other) {
    struct stat a;
    struct stat b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

kg_status cli_check_apart(const char *option, const char *path, const char *input,
                          kg_error *error) {
    if (path == NULL || input == NULL || strcmp(path, "-") == 0)
        return KG_OK;
    const char *read = strcmp(input, "-") == 0 ? "/dev/stdin" : input;
    char *folder = kg__path_parent(path);
    if (folder == NULL)
        return kg__fail_memory(error);
    bool is_within = is_same(folder, read) && access(path, F_OK) == 0;
    kg__free(folder);
    if (!is_within && !is_same(path, read))
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "--%s: expected a file apart from what is read, found %s%s",
                   option, kg__quote(path, strlen(path)).text, is_within ? " in it" : "");
}

kg_status cli_check_plot(const char *path, const cli_context *context, kg_error *error) {
    if (path != NULL && strcmp(path, "-") == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "--plot: expected the name of a file, found '-' (standard output gets the "
                       "numbers)");
    for (size_t i = 0; i < context->argument_count; i++)
        KG_TRY(cli_check_apart("plot", path, context->arguments[i], error));
    return KG_OK;
}
