/* Fuzzes model folders: an input is a folder. Behind the byte of options come files, each a byte
 * that says which one (the order is that of `names`), its size in two bytes, low one first, and its
 * bytes. They are written to a folder and opened as a model.
 *
 *  - A failure is KG_BAD_INPUT with a message and a place.
 *  - Of a model that opens everything can be used: names, links, rows, terms, and the
 *    calibration, which is finite.
 *  - It can be given a calibration, and then opens with that.
 *
 * Most folders would end at a size or a checksum. Those with FUZZ_FIX are told theirs first. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "fuzz.h"
#include "model/model.h"
#include "model/model_folder.h"
#include "terms/scorer.h"

enum { FUZZ_FIX = 1, FUZZ_CALIBRATE = 2 };

static const char *const names[] = {KG_MODEL_CONFIG,     KG_MODEL_TENSORS, KG_MODEL_ENTITIES,
                                    KG_MODEL_RELATIONS,  KG_MODEL_NAMES,   KG_MODEL_KNOWN,
                                    KG_MODEL_CALIBRATION};
enum { NAMES = sizeof names / sizeof names[0] };

/* Nothing here is worth waiting for a disk. */
int fsync(int fd) {
    (void)fd;
    return 0;
}

/* ---- The folder ---- */

static char folder[64];

static void path_of(char out[128], size_t which) {
    snprintf(out, 128, "%s/%s", folder, names[which]);
}

static void remove_files(void) {
    char path[128];
    for (size_t i = 0; i < NAMES; i++) {
        path_of(path, i);
        unlink(path);
    }
}

static void remove_folder(void) {
    remove_files();
    rmdir(folder);
}

/* In memory, where there is such a place. */
static void make_folder(void) {
    snprintf(folder, sizeof folder, "%s/kgraft-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    fuzz_require(mkdtemp(folder) != NULL);
    atexit(remove_folder);
}

struct archive {
    struct fuzz_file files[NAMES]; /* without bytes where there is none */
};

static struct archive unpack(const uint8_t *input, size_t size) {
    struct archive out = {0};
    for (size_t at = 1; at + 3 <= size;) {
        size_t length = input[at + 1] + 256U * input[at + 2];
        size_t rest = size - at - 3;
        struct fuzz_file file = {input + at + 3, length < rest ? length : rest};
        out.files[input[at] % NAMES] = file;
        at += 3 + file.size;
    }
    return out;
}

static void write_file(size_t which, const void *bytes, size_t size) {
    char path[128];
    path_of(path, which);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    fuzz_require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

/* ---- A config that tells what is there ---- */

static void fix_file(json_t *about, struct fuzz_file file) {
    json_t *head = json_object_get(about, "head");
    json_int_t wanted = json_integer_value(json_object_get(head, "bytes"));
    size_t size = wanted < 0 || (size_t)wanted > file.size ? file.size : (size_t)wanted;
    json_object_set_new(about, "bytes", json_integer((json_int_t)file.size));
    json_object_set_new(about, "xxh3", json_string(kg__checksum_of(file.bytes, file.size).text));
    json_object_set_new(head, "bytes", json_integer((json_int_t)size));
    json_object_set_new(head, "xxh3", json_string(kg__checksum_of(file.bytes, size).text));
}

static void write_fixed(const struct archive *archive) {
    struct fuzz_file text = archive->files[0];
    json_t *config = json_loadb((const char *)text.bytes, text.size, 0, NULL);
    json_t *files = json_object_get(config, "files");
    if (!json_is_object(files)) {
        json_decref(config);
        return;
    }
    for (size_t i = 1; i < NAMES; i++)
        if (archive->files[i].bytes != NULL)
            fix_file(json_object_get(files, names[i]), archive->files[i]);
    fuzz_require(kg__config_seal(config, files, NULL) == KG_OK);
    char *sealed = json_dumps(config, JSON_COMPACT | JSON_REAL_PRECISION(15));
    fuzz_require(sealed != NULL);
    write_file(0, sealed, strlen(sealed));
    kg__json_free_text(sealed);
    json_decref(config);
}

/* ---- What must hold ---- */

static void use_names(const kg_names *list) {
    for (kg_id i = 0; i < list->count; i++) {
        kg_name name = kg__names_get(list, i);
        kg_id found = kg__names_find(list, kg__name_of(name.bytes, name.length));
        fuzz_require(found == KG_NO_ID || found < list->count);
    }
    fuzz_require(kg__names_find(list, kg__name_of("a name that is not there", 24)) == KG_NO_ID);
}

static void use_links(const kg_model *model) {
    for (kg_id i = 0; i < model->entities.count; i++) {
        const kg_link *links = NULL;
        size_t count = 0;
        kg_error error = {0};
        kg_status status = kg__known_facts_links(&model->known, i, &links, &count, &error);
        if (status != KG_OK)
            fuzz_check_error(status, &error);
        for (size_t k = 0; k < count; k++)
            fuzz_require(links[k].other < model->entities.count &&
                         links[k].directed / 2 < model->relations.count &&
                         kg__links_find(links, count, links[k]) == k);
    }
}

static void use_rows(const real *rows, size_t count) {
    static volatile real sum;
    for (size_t i = 0; i < count; i++)
        sum = rows[i];
    (void)sum;
}

static void use_tensors(const kg_model *model) {
    use_rows(kg__entity_rows(&model->params, 0, model->entities.count),
             model->entities.count * model->params.dim);
    use_rows(model->params.relations, model->relations.count * model->params.dim);
    for (size_t i = 0; i < KG_ENCODER_TENSORS && model->params.encoder != NULL; i++) {
        kg_tensor tensor = kg__encoder_describe(&model->encoder.shape, (kg_encoder_tensor)i);
        if (model->encoder.tensors[i] != NULL)
            use_rows(model->encoder.tensors[i], tensor.rows * tensor.columns);
    }
    for (size_t i = 0; i < 4 * model->relations.count && model->calibration != NULL; i++)
        fuzz_require(isfinite(model->calibration[i]));
}

/* Entities of the model and new ones with their facts are asked everything. */
static void use_terms(const kg_model *model) {
    kg_scorer scorer;
    kg_score_offsets offsets = {0};
    fuzz_require(kg__scorer_open(&scorer, kg__aggregate_defaults(kg__aggregator_find("eravg")),
                                 &model->params, NULL) == KG_OK);
    for (kg_id v = 0; v < 2 * model->entities.count; v++) {
        kg_id from = v / 2;
        fuzz_require(kg__scorer_load(&scorer, v % 2 == 0 ? from : KG_NO_ID,
                                     kg__adjacency_links(&model->graph, from),
                                     kg__adjacency_degree(&model->graph, from), NULL) == KG_OK);
        for (kg_directed query = 0; query < 2 * model->relations.count; query++) {
            offsets.count = 0;
            kg__scorer_set_query(&scorer, query);
            fuzz_require(kg__scorer_offsets(&scorer, &offsets, KG_NOTHING, NULL) == KG_OK);
            for (size_t i = 0; i < offsets.count; i++)
                fuzz_require(offsets.items[i].entity < model->entities.count);
        }
    }
    kg__score_offsets_free(&offsets);
    kg__scorer_close(&scorer);
}

static void calibrate(size_t relation_count) {
    kg_error error = {0};
    kg_model model;
    real *values = calloc(4 * relation_count, sizeof *values);
    fuzz_require(values != NULL);
    values[0] = 3;
    fuzz_require(kg__model_write_calibration(folder, values, relation_count, NULL, &error) ==
                 KG_OK);
    fuzz_require(kg__model_open(&model, folder, &error) == KG_OK);
    fuzz_require(memcmp(model.calibration, values, 4 * relation_count * sizeof *values) == 0);
    kg__model_close(&model);
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (folder[0] == '\0')
        make_folder();
    unsigned options = size > 0 ? input[0] : 0;
    struct archive archive = unpack(input, size);
    for (size_t i = 0; i < NAMES; i++)
        if (archive.files[i].bytes != NULL)
            write_file(i, archive.files[i].bytes, archive.files[i].size);
    if (options & FUZZ_FIX && archive.files[0].bytes != NULL)
        write_fixed(&archive);
    kg_error error = {0};
    kg_model model;
    kg_status status = kg__model_open(&model, folder, &error);
    if (status == KG_OK) {
        size_t relation_count = model.relations.count;
        use_names(&model.entities);
        use_names(&model.relations);
        use_links(&model);
        use_tensors(&model);
        if (model.params.graph != NULL)
            use_terms(&model);
        kg__model_close(&model);
        if (options & FUZZ_CALIBRATE)
            calibrate(relation_count);
    } else {
        fuzz_check_error(status, &error);
    }
    remove_files();
    return 0;
}
