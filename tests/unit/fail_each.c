#include "fail_each.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "counted_memory.h"
#include "graph/dataset_folder.h"
#include "model/model_folder.h"

bool spare_jansson;

/* And where it notices, it may still say that what it read was no JSON. */
static bool jansson_was_refused;

static void *allocate_for_jansson(size_t bytes) {
    if (!spare_jansson) {
        void *given = kg__backend_resize(NULL, bytes);
        jansson_was_refused = jansson_was_refused || given == NULL;
        return given;
    }
    void *block = malloc(bytes);
    if (block != NULL)
        atomic_fetch_add(&allocated, 1);
    return block;
}

int enter_failing_folder(void **state) {
    json_set_alloc_funcs(allocate_for_jansson, kg__backend_free);
    return enter_temporary_folder(state);
}

/* Nothing here is worth waiting for a disk. */
int fsync(int fd) {
    (void)fd;
    return 0;
}

/* ---- What the work comes to ---- */

static uint64_t outcome;

void note(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        outcome = (outcome ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3U; /* FNV-1a */
}

void note_json(const json_t *value) {
    long before[2] = {atomic_load(&allocations), atomic_load(&failing)};
    atomic_store(&failing, 0);
    char *shown = json_dumps(value, 0);
    note(shown, strlen(shown));
    kg__backend_free(shown);
    atomic_store(&allocations, before[0]);
    atomic_store(&failing, before[1]);
}

void note_file(const char *path) {
    size_t size = 0;
    char *bytes = file_exists(path) ? read_file(path, &size) : NULL;
    note(bytes, size);
    free(bytes);
}

/* ---- Its files ---- */

/* The current folder as a list of names with sizes, so that any change shows. */
static void look_around(char *out, size_t room) {
    FILE *listing =
        popen("find . -printf '%p %s %y\\n' | sed '/^\\. /d; / d$/s/ [0-9]* / /' | sort", "r");
    assert_non_null(listing);
    size_t length = fread(out, 1, room - 1, listing);
    out[length] = '\0';
    assert_int_equal(pclose(listing), 0);
    assert_true(length < room - 1);
}

static void remove_files(const char *const *names) {
    for (const char *const *name = names; *name != NULL; name++) {
        char path[64];
        snprintf(path, sizeof path, "out/%s", *name);
        unlink(path);
    }
}

void remove_out(void) {
    remove_files(kg__dataset_files);
    remove_files(kg__model_files);
    if (rmdir("out") != 0)
        unlink("out");
}

/* ---- The work ---- */

void fail_each(work *run, const void *setting, long least) {
    size_t entries = count_entries(".");
    long allocated_before = atomic_load(&allocated);
    char before[2048];
    char after[2048];
    look_around(before, sizeof before);
    uint64_t expected = 0;
    for (long n = 0;; n++) { /* none fails the first time */
        kg_error error = {0};
        outcome = 0;
        jansson_was_refused = false;
        atomic_store(&allocations, 0);
        atomic_store(&failing, n);
        kg_status status = run(setting, &error);
        atomic_store(&failing, 0);
        bool last = n > 0 && atomic_load(&allocations) < n;
        if (n == 0 || last)
            assert_status(status, KG_OK, &error);
        if (status == KG_BAD_INPUT && jansson_was_refused) {
            assert_non_null(strstr(error.message, "expected JSON"));
        } else if (status != KG_OK) {
            if (status != KG_NO_MEMORY)
                print_error("allocation %ld fails\n", n);
            assert_status(status, KG_NO_MEMORY, &error);
            assert_int_equal(error.status, KG_NO_MEMORY);
            assert_error_text(&error, "out of memory");
        }
        long left = atomic_load(&allocated) - allocated_before;
        if (left != 0)
            fail_msg("allocation %ld fails: %ld blocks are left", n, left);
        if (n == 0)
            expected = outcome;
        if (status == KG_OK && outcome != expected)
            fail_msg("allocation %ld fails, and something else comes out", n);
        if (status == KG_OK)
            remove_out();
        if (count_entries(".") != entries) {
            look_around(after, sizeof after);
            fail_msg("allocation %ld fails, status %d, and this is here:\n%s", n, (int)status,
                     after);
        }
        if (last) {
            assert_true(n > least);
            break;
        }
    }
    look_around(after, sizeof after);
    assert_string_equal(after, before);
}
