/* Model folders that were damaged or lie are refused, or can be used without harm. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/section_file.h"
#include "model/match_ids.h"
#include "some_model.h"
#include "support.h"
#include "terms/scorer.h"

/* Uses all that a model offers. What is in its files may be anything; using it does no harm. */
static void use_names(const kg_names *names) {
    for (kg_id i = 0; i < names->count; i++) {
        kg_name name = kg__names_get(names, i);
        kg_id found = kg__names_find(names, kg__name_of(name.bytes, name.length));
        assert_true(found == KG_NO_ID || found < names->count);
    }
}

static void use_links(const kg_model *model) {
    for (kg_id i = 0; i < model->entities.count; i++) {
        const kg_link *links = NULL;
        size_t count = 0;
        if (kg__known_facts_links(&model->known, i, &links, &count, NULL) != KG_OK)
            assert_int_equal(count, 0);
        for (size_t k = 0; k < count; k++)
            assert_true(links[k].other < model->entities.count &&
                        links[k].directed < 2 * model->relations.count);
    }
}

/* Queries about every entity, as of the graph and as new. */
static void use_terms(const kg_model *model) {
    kg_scorer scorer;
    kg_score_offsets offsets = {0};
    kg_directed query = 0;
    assert_int_equal(kg__scorer_open(&scorer, kg__aggregate_usual(kg__aggregator_find("eravg")),
                                     &model->params, NULL),
                     KG_OK);
    for (kg_id v = 0; v < 2 * model->entities.count; v++) {
        kg_id from = v / 2;
        kg_id self = v % 2 == 0 ? from : KG_NO_ID;
        offsets.count = 0;
        assert_int_equal(kg__scorer_load(&scorer, self, kg__adjacency_links(&model->graph, from),
                                         kg__adjacency_degree(&model->graph, from), NULL),
                         KG_OK);
        kg__scorer_set_query(&scorer, query);
        query = (kg_directed)((query + 1) % (2 * model->relations.count));
        assert_int_equal(kg__scorer_offsets(&scorer, &offsets, KG_NOTHING, NULL), KG_OK);
        for (size_t i = 0; i < offsets.count; i++)
            assert_true(offsets.items[i].entity < model->entities.count);
    }
    kg__score_offsets_free(&offsets);
    kg__scorer_close(&scorer);
}

static real add_up(const real *values, size_t count) {
    real sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static volatile real sink;

static void use_model(const kg_model *model) {
    use_names(&model->entities);
    use_names(&model->relations);
    use_links(model);
    sink = add_up(model->params.entities, model->entities.count * model->params.dim);
    sink = add_up(model->params.relations, model->relations.count * model->params.dim);
    if (model->calibration != NULL)
        sink = add_up(model->calibration, 4 * model->relations.count);
    if (model->params.graph != NULL)
        use_terms(model);
}

/* Whether it opens; if not, there is a message with a place. */
static bool opens(void) {
    kg_error error = {0};
    kg_model model;
    kg_status status = kg__model_open(&model, MODEL, &error);
    if (status == KG_OK) {
        use_model(&model);
        kg__model_close(&model);
        return true;
    }
    assert_status(status, KG_BAD_INPUT, &error);
    assert_true(error.source[0] != '\0' && error.message[0] != '\0');
    return false;
}

static const char *const files[] = {KG_MODEL_TENSORS, KG_MODEL_ENTITIES, KG_MODEL_RELATIONS,
                                    KG_MODEL_NAMES,   KG_MODEL_KNOWN,    KG_MODEL_CALIBRATION,
                                    KG_MODEL_CONFIG};

static void path_of(char out[64], const char *file) {
    snprintf(out, 64, MODEL "/%s", file);
}

static json_t *read_config(void) {
    json_t *config = json_load_file(MODEL "/" KG_MODEL_CONFIG, 0, NULL);
    assert_non_null(config);
    return config;
}

static void write_config(const json_t *config) {
    assert_int_equal(json_dump_file(config, MODEL "/" KG_MODEL_CONFIG, JSON_INDENT(1)), 0);
}

/* Makes it a model as others write it: without checksums. */
static json_t *unseal(void) {
    json_t *config = read_config();
    const char *name = NULL;
    json_t *about = NULL;
    json_object_set_new(config, "kgraft_model", json_integer(1));
    json_object_del(config, "checksum");
    json_object_foreach(json_object_get(config, "files"), name, about) {
        json_object_del(about, "xxh3");
        json_object_del(about, "head");
    }
    write_config(config);
    return config;
}

static void set_up_damage(world *w) {
    open_world(w);
    give_propagation(&w->params, &w->propagation);
    write_model(w, w->calibration);
    assert_true(opens());
}

static void test_heads(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = read_config();
    for (size_t i = 0; i < COUNT_OF(files) - 1; i++) {
        const json_t *about = json_object_get(json_object_get(config, "files"), files[i]);
        const json_t *head = json_object_get(about, "head");
        char path[64];
        size_t size = 0;
        path_of(path, files[i]);
        char *bytes = read_file(path, &size);
        bool is_text = strstr(files[i], ".tsv") != NULL;
        size_t expected = 128; /* of a twin */
        if (strcmp(files[i], KG_MODEL_TENSORS) == 0) {
            uint64_t length = 0;
            memcpy(&length, bytes, sizeof length);
            expected = 8 + (size_t)length;
        }
        if (strcmp(files[i], KG_MODEL_CALIBRATION) == 0)
            expected = size;
        assert_int_equal(json_integer_value(json_object_get(about, "bytes")), size);
        assert_string_equal(json_string_value(json_object_get(about, "xxh3")),
                            kg__checksum_of(bytes, size).text);
        assert_int_equal(head == NULL, is_text);
        if (!is_text) {
            assert_int_equal(json_integer_value(json_object_get(head, "bytes")), expected);
            assert_string_equal(json_string_value(json_object_get(head, "xxh3")),
                                kg__checksum_of(bytes, expected).text);
        }
        free(bytes);
    }
    json_decref(config);
    close_world(&w);
}

/* All bits of the bytes up to `to`, or one of each: `accept` says whether it may open all the same.
 */
static void flip_bits(const char *file, size_t to, bool all, bool (*accept)(void)) {
    char path[64];
    path_of(path, file);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t at = 0; at < to; at++)
        for (unsigned bit = all ? 0 : (unsigned)(at % 8); bit < 8; bit += all ? 1 : 8) {
            unsigned char byte = 0;
            assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
            unsigned char flipped = (unsigned char)(byte ^ (1U << bit));
            assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
            if (opens() && !accept())
                fail_msg("%s opens with bit %u of byte %zu flipped", file, bit, at);
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        }
    close(fd);
}

static bool never(void) {
    return false;
}

static bool always(void) {
    return true;
}

static json_t *true_config;

/* White space and the spelling of a number are not what it means. */
static bool means_the_same(void) {
    json_t *config = read_config();
    bool same = json_equal(config, true_config);
    json_decref(config);
    return same;
}

static size_t head_size(const char *file) {
    const json_t *about = json_object_get(json_object_get(true_config, "files"), file);
    return (size_t)json_integer_value(json_object_get(json_object_get(about, "head"), "bytes"));
}

static void test_flipped_bits(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    true_config = read_config();
    for (size_t i = 0; i < COUNT_OF(files) - 1; i++)
        flip_bits(files[i], head_size(files[i]), true, never);
    size_t size = 0;
    free(read_file(MODEL "/" KG_MODEL_CONFIG, &size));
    flip_bits(KG_MODEL_CONFIG, size, true, means_the_same);
    assert_true(opens());
    json_decref(true_config);
    close_world(&w);
}

/* Without checksums damage may go unseen, but does no harm. */
static void test_flipped_bits_without_checksums(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_decref(unseal());
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char path[64];
        size_t size = 0;
        path_of(path, files[i]);
        free(read_file(path, &size));
        flip_bits(files[i], size, false, always);
    }
    assert_true(opens());
    close_world(&w);
}

/* Every length but the right one, with checksums and without. */
static void change_lengths(void) {
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char path[64];
        size_t size = 0;
        path_of(path, files[i]);
        char *bytes = read_file(path, &size);
        bool is_config = strcmp(files[i], KG_MODEL_CONFIG) == 0;
        size_t needed = is_config && bytes[size - 1] == '\n' ? size - 1 : size;
        for (size_t length = 0; length < needed; length++) {
            assert_int_equal(truncate(path, 0), 0);
            write_file(path, (text){bytes, length});
            if (opens())
                fail_msg("%s opens with %zu bytes of %zu", files[i], length, size);
        }
        bytes[size] = is_config ? 'x' : '\n'; /* in the place of the zero behind it */
        write_file(path, (text){bytes, size + 1});
        assert_false(opens());
        write_file(path, (text){bytes, size});
        free(bytes);
    }
    assert_true(opens());
}

static void test_other_lengths(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    change_lengths();
    json_decref(unseal());
    change_lengths();
    close_world(&w);
}

/* A file that is gone, is a folder, a pipe that nobody writes to, or a link to nowhere. */
static void test_no_files(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    alarm(60); /* who waits for the pipe waits forever */
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char path[64];
        path_of(path, files[i]);
        assert_int_equal(rename(path, "aside"), 0);
        assert_false(opens());
        assert_int_equal(mkdir(path, 0777), 0);
        assert_false(opens());
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(mkfifo(path, 0666), 0);
        assert_false(opens());
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(files[i], path), 0);
        assert_false(opens());
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename("aside", path), 0);
    }
    alarm(0);
    assert_true(opens());
    close_world(&w);
}

/* ---- Lies ---- */

/* Numbers and others that no member of a config can rightly be, if it is a size here. */
static const char *const lies[] = {"0",
                                   "-1",
                                   "1",
                                   "3",
                                   "6",
                                   "2147483648",
                                   "4294967295",
                                   "4294967296",
                                   "4611686018427387904",
                                   "9223372036854775807",
                                   "-9223372036854775808",
                                   "5.0",
                                   "1e3",
                                   "\"5\"",
                                   "true",
                                   "null",
                                   "[5]",
                                   "{}"};

static void lie(json_t *config, json_t *object, const char *key) {
    json_t *truth = json_incref(json_object_get(object, key));
    assert_non_null(truth);
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        json_object_set_new(object, key, json_loads(lies[i], JSON_DECODE_ANY, NULL));
        write_config(config);
        if (opens())
            fail_msg("it opens with %s as \"%s\"", lies[i], key);
    }
    json_object_del(object, key);
    write_config(config);
    assert_false(opens());
    json_object_set_new(object, key, truth);
    write_config(config);
    assert_true(opens());
}

static void test_config_that_lies(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    json_t *list = json_object_get(config, "files");
    lie(config, config, "entities");
    lie(config, config, "relations");
    lie(config, config, "files");
    lie(config, config, "settings");
    lie(config, json_object_get(config, "settings"), "dim");
    lie(config, json_object_get(config, "settings"), "model");
    for (size_t i = 0; i < COUNT_OF(files) - 1; i++)
        lie(config, json_object_get(list, files[i]), "bytes");
    json_decref(config);
    close_world(&w);
}

/* The same, told with a right checksum of itself. */
static void test_sealed_lies(void **state) {
    (void)state;
    kg_error error = {0};
    world w;
    set_up_damage(&w);
    json_t *config = read_config();
    json_t *list = json_object_get(config, "files");
    json_t *head = json_object_get(json_object_get(list, KG_MODEL_NAMES), "head");
    static const json_int_t sizes[] = {-1, 0, 127, 129, 1 << 30, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        json_object_set_new(head, "bytes", json_integer(sizes[i]));
        assert_ok(kg__config_seal(config, list, &error), &error);
        write_config(config);
        assert_false(opens());
    }
    json_object_set_new(head, "bytes", json_integer(128));
    json_object_set_new(list, "../" MODEL "/" KG_MODEL_CONFIG, json_pack("{si}", "bytes", 1000));
    assert_ok(kg__config_seal(config, list, &error), &error);
    write_config(config);
    assert_false(opens());
    json_object_del(list, "../" MODEL "/" KG_MODEL_CONFIG);
    assert_ok(kg__config_seal(config, list, &error), &error);
    write_config(config);
    assert_true(opens());
    json_object_del(config, "checksum");
    write_config(config);
    assert_false(opens());
    json_decref(config);
    close_world(&w);
}

/* A file of another content, of the size that it has. */
static void replace(json_t *config, const char *file, text content) {
    char path[64];
    path_of(path, file);
    write_file(path, content);
    json_object_set_new(json_object_get(json_object_get(config, "files"), file), "bytes",
                        json_integer((json_int_t)content.length));
    write_config(config);
}

/* What a header says of the entities; NULL where it is right. All but the first are refused: sizes
 * that are too large, too small, negative, beyond the end, and that overflow to what is there. */
static const struct {
    const char *dtype;
    const char *shape;
    const char *offsets;
} headers[] = {
    {NULL, NULL, NULL},
    {"\"I8\"", NULL, NULL},
    {"3", NULL, NULL},
    {NULL, "[5,4,1]", NULL},
    {NULL, "[20]", NULL},
    {NULL, "[4,5]", NULL},
    {NULL, "[5.0,4]", NULL},
    {NULL, "\"5x4\"", NULL},
    {NULL, "[-5,-4]", NULL},
    {NULL, "[0,4]", "[0,0]"},
    {NULL, "[5,0]", "[0,0]"},
    {NULL, "[0,9223372036854775807]", "[0,0]"},
    {NULL, "[4611686018427387909,4]", NULL},
    {NULL, "[6,4]", NULL},
    {NULL, NULL, "[0,8]"},
    {NULL, NULL, "[0,9999999]"},
    {NULL, NULL, "[80,0]"},
    {NULL, NULL, "[1,81]"},
    {NULL, NULL, "[-80,0]"},
    {NULL, NULL, "[-160,0]"},
    {NULL, NULL, "[640,720]"},
    {NULL, NULL, "[640,800]"},
    {NULL, NULL, "[9223372036854775727,9223372036854775807]"},
    {NULL, NULL, "[9223372036854775647,9223372036854775807]"},
    {NULL, NULL, "[0]"},
    {NULL, NULL, "null"},
};

enum { HEADER = 256, NUMBERS = 640 };

static void make_tensors(char bytes[8 + HEADER + NUMBERS], size_t which) {
    const char *right = sizeof(real) == 4 ? "\"F32\"" : "\"F64\"";
    char offsets[64];
    size_t end = ENTITIES * DIM * sizeof(real);
    snprintf(offsets, sizeof offsets, "[0,%zu]", end);
    memset(bytes, 0, 8 + HEADER + NUMBERS);
    memset(bytes + 8, ' ', HEADER);
    int used = snprintf(bytes + 8, HEADER,
                        "{\"entities\":{\"dtype\":%s,\"shape\":%s,\"data_offsets\":%s},"
                        "\"relations\":{\"dtype\":%s,\"shape\":[2,4],\"data_offsets\":[%zu,%zu]}}",
                        headers[which].dtype == NULL ? right : headers[which].dtype,
                        headers[which].shape == NULL ? "[5,4]" : headers[which].shape,
                        headers[which].offsets == NULL ? offsets : headers[which].offsets, right,
                        end, end + RELATIONS * DIM * sizeof(real));
    bytes[8 + used] = ' ';
    bytes[0] = (char)(HEADER & 0xff);
    bytes[1] = (char)(HEADER >> 8);
}

static void test_headers_that_lie(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    json_object_del(config, "propagation"); /* whose tensors they lack */
    char bytes[8 + HEADER + NUMBERS];
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        make_tensors(bytes, i);
        replace(config, KG_MODEL_TENSORS, (text){bytes, sizeof bytes});
        if (opens() != (i == 0))
            fail_msg("header %zu should %s", i, i == 0 ? "open" : "be refused");
    }
    make_tensors(bytes, 0);
    static const uint64_t lengths[] = {
        0,          HEADER / 2,    HEADER + 1, HEADER + NUMBERS + 1, (uint64_t)101 << 20,
        UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        memcpy(bytes, &lengths[i], sizeof lengths[i]);
        replace(config, KG_MODEL_TENSORS, (text){bytes, sizeof bytes});
        assert_false(opens());
    }
    json_decref(config);
    close_world(&w);
}

/* Places and sizes of sections, each of which tries all that might slip through. */
static void test_sections_that_lie(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    static const char *const twins[] = {KG_MODEL_NAMES, KG_MODEL_KNOWN};
    for (size_t i = 0; i < COUNT_OF(twins); i++) {
        char path[64];
        size_t size = 0;
        path_of(path, twins[i]);
        char *bytes = read_file(path, &size);
        const uint64_t places[] = {0,         1,         7,         8,          16,
                                   40,        48,        64,        128,        size - 8,
                                   size,      size + 64, 1UL << 32, UINT64_MAX, UINT64_MAX - 63,
                                   1UL << 63, 0 - size};
        size_t refused = 0;
        for (size_t at = 8; at < 104; at += 8)
            for (size_t k = 0; k < COUNT_OF(places); k++) {
                uint64_t truth = 0;
                memcpy(&truth, bytes + at, sizeof truth);
                memcpy(bytes + at, &places[k], sizeof places[k]);
                replace(config, twins[i], (text){bytes, size});
                refused += !opens();
                memcpy(bytes + at, &truth, sizeof truth);
            }
        assert_true(refused > 6 * COUNT_OF(places));
        replace(config, twins[i], (text){bytes, size});
        assert_true(opens());
        free(bytes);
    }
    json_decref(config);
    close_world(&w);
}

/* Names without their twin are read, and held against their checksum. */
static void test_names_as_text(void **state) {
    (void)state;
    kg_error error = {0};
    kg_model model;
    world w;
    set_up_damage(&w);
    json_t *config = read_config();
    json_t *list = json_object_get(config, "files");
    json_object_del(list, KG_MODEL_NAMES);
    assert_ok(kg__config_seal(config, list, &error), &error);
    write_config(config);
    assert_model(&w, w.calibration);
    write_file(MODEL "/" KG_MODEL_ENTITIES, TEXT("a\nb\nc\nd\nf\n"));
    assert_status(kg__model_open(&model, MODEL, &error), KG_BAD_INPUT, NULL);
    assert_non_null(strstr(error.message, "expected what has the checksum '"));
    assert_string_equal(error.source, MODEL "/entities.tsv");
    json_decref(config);
    close_world(&w);
}

/* Every way to get something wrong about a calibration without being caught by a checksum. */
static void test_calibration_that_lies(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    size_t size = 0;
    char *bytes = read_file(MODEL "/" KG_MODEL_CALIBRATION, &size);
    real infinite = (real)INFINITY;
    char *shape = strstr(bytes + 8, "[4,2]");
    assert_non_null(shape);
    memcpy(shape, "[2,4]", 5);
    replace(config, KG_MODEL_CALIBRATION, (text){bytes, size});
    assert_false(opens());
    memcpy(shape, "[4,2]", 5);
    replace(config, KG_MODEL_CALIBRATION, (text){bytes, size});
    assert_true(opens());
    memcpy(bytes + size - sizeof infinite, &infinite, sizeof infinite);
    replace(config, KG_MODEL_CALIBRATION, (text){bytes, size});
    assert_false(opens());
    free(bytes);
    json_decref(config);
    close_world(&w);
}

/* ---- Propagation ---- */

static void refuse(const char *expected) {
    kg_error error = {0};
    kg_model model;
    assert_status(kg__model_open(&model, MODEL, &error), KG_BAD_INPUT, NULL);
    assert_error_text(&error, expected);
}

static void test_propagation_that_lies(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    json_t *about = json_object_get(config, "propagation");
    lie(config, about, "layers");
    lie(config, about, "pooling");
    json_object_set_new(about, "width", json_integer(17));
    write_config(config);
    assert_false(opens());
    json_object_set_new(about, "width", json_integer(16));
    json_t *list = json_object_get(config, "files");
    json_t *known = json_incref(json_object_get(list, KG_MODEL_KNOWN));
    json_object_del(list, KG_MODEL_KNOWN);
    write_config(config);
    refuse(MODEL ": expected a model with known.bin among its files, since it has propagation, "
                 "found none");
    json_object_set_new(list, KG_MODEL_KNOWN, known);
    write_config(config);
    assert_true(opens());
    json_decref(config);
    close_world(&w);
}

/* Tensors of a term have the shapes that its options ask for, and numbers. */
static void test_tensors_that_lie(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    real *start = propagation_param(&w.propagation, "propagation_start", NULL);
    start[2 * 16] = (real)NAN;
    write_model(&w, NULL);
    refuse(MODEL ": expected finite numbers, found nan in row 2 of 'propagation_start'");
    start[2 * 16] = 0;
    write_model(&w, NULL);
    json_t *config = unseal();
    size_t size = 0;
    char *bytes = read_file(MODEL "/" KG_MODEL_TENSORS, &size);
    char *shape = strstr(bytes + 8, "[4,16]");
    assert_non_null(shape);
    memcpy(shape, "[16,4]", 6);
    replace(config, KG_MODEL_TENSORS, (text){bytes, size});
    refuse(MODEL "/model.safetensors: expected propagation_start of 4 x 16, found 16 x 4");
    free(bytes);
    json_decref(config);
    close_world(&w);
}

/* Counted features are no more: a model that has them is refused. */
static void test_evidence_of_older_versions(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    json_object_set_new(json_object_get(config, "settings"), "evidence", json_pack("[s]", "path1"));
    write_config(config);
    refuse(MODEL ": expected a model without counted features, found \"evidence\" in its settings, "
                 "as of an older version: train it again with this one");
    json_decref(config);
    close_world(&w);
}

/* Facts that nobody would have looked at, were it not for propagation. */
static void test_facts_are_checked(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    size_t size = 0;
    char *bytes = read_file(MODEL "/" KG_MODEL_KNOWN, &size);
    kg_link wrong = {1, ENTITIES};
    uint64_t place[2]; /* and size, of the links: the second section */
    memcpy(place, bytes + KG_MAGIC_SIZE + sizeof place, sizeof place);
    memcpy(bytes + place[0] + place[1] - sizeof wrong, &wrong, sizeof wrong);
    replace(config, KG_MODEL_KNOWN, (text){bytes, size});
    assert_false(opens());
    json_object_del(config, "propagation");
    write_config(config);
    assert_true(opens());
    free(bytes);
    json_decref(config);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_heads),
        test_in_folder(test_flipped_bits),
        test_in_folder(test_flipped_bits_without_checksums),
        test_in_folder(test_other_lengths),
        test_in_folder(test_no_files),
        test_in_folder(test_config_that_lies),
        test_in_folder(test_sealed_lies),
        test_in_folder(test_headers_that_lie),
        test_in_folder(test_sections_that_lie),
        test_in_folder(test_names_as_text),
        test_in_folder(test_calibration_that_lies),
        test_in_folder(test_propagation_that_lies),
        test_in_folder(test_tensors_that_lie),
        test_in_folder(test_evidence_of_older_versions),
        test_in_folder(test_facts_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
