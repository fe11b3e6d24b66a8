/* Model folders whose files are whole but have content that cannot be: they are refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/section_file.h"
#include "damaged_model.h"

/* Values that no size in the config can have. */
static const char *const wrong_values[] = {"0",
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

static void set_wrong(json_t *config, json_t *object, const char *key) {
    json_t *truth = json_incref(json_object_get(object, key));
    assert_non_null(truth);
    for (size_t i = 0; i < COUNT_OF(wrong_values); i++) {
        json_object_set_new(object, key, json_loads(wrong_values[i], JSON_DECODE_ANY, NULL));
        write_config(config);
        if (opens())
            fail_msg("it opens with %s as \"%s\"", wrong_values[i], key);
    }
    json_object_del(object, key);
    write_config(config);
    assert_false(opens());
    json_object_set_new(object, key, truth);
    write_config(config);
    assert_true(opens());
}

static void test_config(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    json_t *list = json_object_get(config, "files");
    set_wrong(config, config, "entities");
    set_wrong(config, config, "relations");
    set_wrong(config, config, "files");
    set_wrong(config, config, "settings");
    set_wrong(config, json_object_get(config, "settings"), "dim");
    set_wrong(config, json_object_get(config, "settings"), "model");
    for (size_t i = 0; i < FILES - 1; i++)
        set_wrong(config, json_object_get(list, files[i]), "bytes");
    json_decref(config);
    close_world(&w);
}

/* The same with the right checksum of the config itself. */
static void test_sealed_config(void **state) {
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

static void test_headers(void **state) {
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

/* Offsets and sizes of sections: every one takes values at the limits. */
static void test_sections(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    static const char *const sections[] = {KG_MODEL_NAMES, KG_MODEL_KNOWN};
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        char path[64];
        size_t size = 0;
        path_of(path, sections[i]);
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
                replace(config, sections[i], (text){bytes, size});
                refused += !opens();
                memcpy(bytes + at, &truth, sizeof truth);
            }
        assert_true(refused > 6 * COUNT_OF(places));
        replace(config, sections[i], (text){bytes, size});
        assert_true(opens());
        free(bytes);
    }
    json_decref(config);
    close_world(&w);
}

/* Names without their index are read, and held against their checksum. */
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

/* What can be wrong in a calibration that has no checksum. */
static void test_calibration(void **state) {
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

static void test_propagation(void **state) {
    (void)state;
    world w;
    set_up_damage(&w);
    json_t *config = unseal();
    json_t *about = json_object_get(config, "propagation");
    set_wrong(config, about, "layers");
    set_wrong(config, about, "pooling");
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
static void test_tensors(void **state) {
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
                 "as of an older version: train it again (kgraft train DATASET MODEL)");
    json_decref(config);
    close_world(&w);
}

/* Facts are checked on opening only where propagation goes over them. */
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
        test_in_folder(test_config),
        test_in_folder(test_sealed_config),
        test_in_folder(test_headers),
        test_in_folder(test_sections),
        test_in_folder(test_names_as_text),
        test_in_folder(test_calibration),
        test_in_folder(test_propagation),
        test_in_folder(test_tensors),
        test_in_folder(test_evidence_of_older_versions),
        test_in_folder(test_facts_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
