/* Links, copies and removal of model directories. A model's files never change once they are in
 * place, but are replaced, so that a link keeps what was there. */
#include "store/generation_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/path.h"
#include "model/model_folder.h"

#define PREFIX "generation-"
#define PIECE ((size_t)1 << 20)

char *kg__generation_path(const char *store, int64_t number) {
    char name[64];
    snprintf(name, sizeof name, PREFIX "%jd", (intmax_t)number);
    return kg__path_join(store, name);
}

static kg_status copy_bytes(kg_output *output, kg_input *input, kg_error *error) {
    char *piece = kg__resize(NULL, PIECE, 1);
    kg_status status = piece == NULL ? kg__fail_memory(error) : KG_OK;
    for (size_t got = PIECE; status == KG_OK && got == PIECE;) {
        status = kg__input_read(input, piece, PIECE, &got, error);
        if (status == KG_OK)
            status = kg__output_write(output, piece, got, error);
    }
    kg__free(piece);
    return status;
}

static kg_status copy_file(const char *from, const char *to, kg_error *error) {
    kg_input *input = NULL;
    kg_output *output = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__input_open(&input, from, KG_PLAIN, error));
    KG_CHECK(kg__output_open(&output, to, to, error));
    KG_CHECK(copy_bytes(output, input, error));
    KG_CHECK(kg__output_commit(output, error));
done:
    kg__output_close(output);
    kg__input_close(input);
    return status;
}

/* A file that the model does not have is left out. Of a symbolic link the file is taken: what it
 * says may mean nothing in another folder, and others may remove what it points to. */
static kg_status take_file(const char *from, const char *to, kg_error *error) {
    if ((unlink(to) != 0 && errno != ENOENT))
        return kg__fail_errno(error, to, "replace it");
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0 || errno == ENOENT)
        return KG_OK;
    return copy_file(from, to, error);
}

static kg_status take_files(const char *folder, const char *model, kg_error *error) {
    for (size_t i = 0; kg__model_files[i] != NULL; i++) {
        char *from = kg__path_join(model, kg__model_files[i]);
        char *to = kg__path_join(folder, kg__model_files[i]);
        kg_status status =
            from == NULL || to == NULL ? kg__fail_memory(error) : take_file(from, to, error);
        kg__free(from);
        kg__free(to);
        KG_TRY(status);
    }
    return kg__sync_folder(folder, error);
}

kg_status kg__generation_fill(const char *store, int64_t number, const char *model,
                              kg_error *error) {
    int lock = -1;
    char *folder = kg__generation_path(store, number);
    kg_status status = folder == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(kg__lock(&lock, model, error)); /* nobody replaces it meanwhile */
    KG_CHECK(kg__folder_ensure(folder, NULL, error));
    KG_CHECK(take_files(folder, model, error));
    KG_CHECK(kg__sync_folder(store, error));
done:
    kg__unlock(lock);
    kg__free(folder);
    return status;
}

/* The number of a generation by the name of its folder, 0 if it is not one. */
static int64_t number_of(const char *name) {
    char again[64];
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    int64_t number = strtoll(name + strlen(PREFIX), NULL, 10);
    snprintf(again, sizeof again, PREFIX "%jd", (intmax_t)number);
    return strcmp(again, name) == 0 ? number : 0;
}

void kg__generation_sweep(const char *store, int64_t one, int64_t other) {
    DIR *dir = opendir(store);
    if (dir == NULL)
        return;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        int64_t number = number_of(entry->d_name);
        if (number <= 0 || number == one || number == other)
            continue;
        char *path = kg__generation_path(store, number);
        if (path != NULL && kg__folder_clear(path, kg__model_files, NULL) == KG_OK)
            rmdir(path);
        kg__free(path);
    }
    closedir(dir);
}
