/* Twins of names and facts: what is written is what is seen, and no damage is ever followed outside
 * of the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/mapped_index.h"

#define ENTITIES 300
#define RELATIONS 7
#define FACTS 900

static char names_path[] = "names";
static char known_path[] = "known";

struct world {
    kg_names entities;
    kg_names relations;
    kg_triples facts;
};

static void intern(kg_names *names, const char *prefix, size_t i) {
    char name[64];
    kg_id id = 0;
    int length = snprintf(name, sizeof name, "%s%zu\r", prefix, i * i);
    assert_int_equal(kg__names_intern(names, &id, kg__name_of(name, (size_t)length), NULL), KG_OK);
    assert_int_equal(id, i);
}

static void make_world(struct world *world) {
    *world = (struct world){0};
    for (size_t i = 0; i < ENTITIES + 20; i++)
        intern(&world->entities, "e", i);
    for (size_t i = 0; i < RELATIONS; i++)
        intern(&world->relations, "", i);
    assert_int_equal(kg__triples_reserve(&world->facts, FACTS, NULL), KG_OK);
    for (uint64_t i = 0; i < FACTS; i++)
        world->facts.items[world->facts.count++] =
            (kg_triple){(kg_id)kg__random_below(ENTITIES, 1, KG_STREAM_GENERATE_TAIL, 3 * i),
                        (kg_id)kg__random_below(RELATIONS, 1, KG_STREAM_GENERATE_TAIL, 3 * i + 1),
                        (kg_id)kg__random_below(ENTITIES, 1, KG_STREAM_GENERATE_TAIL, 3 * i + 2)};
    size_t dropped = 0;
    assert_int_equal(kg__triples_unique(&world->facts, &dropped, NULL), KG_OK);
}

static void free_world(struct world *world) {
    kg__names_free(&world->entities);
    kg__names_free(&world->relations);
    kg__triples_free(&world->facts);
}

/* Both files, written and read back as plain memory of their exact size, where a sanitizer sees
 * every step outside. */
struct files {
    char *names;
    size_t names_size;
    char *known;
    size_t known_size;
};

static char *read_back(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = aligned_alloc(64, (*size + 63) / 64 * 64);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    unlink(path);
    return bytes;
}

static void write_files(struct files *files, const struct world *world) {
    char path[] = "/tmp/kgraft-twins-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (int which = 0; which < 2; which++) {
        kg_output *output = NULL;
        assert_int_equal(kg__output_open(&output, path, path, NULL), KG_OK);
        if (which == 0)
            assert_int_equal(kg__names_index_write(output, &world->entities, ENTITIES,
                                                   &world->relations, RELATIONS, NULL),
                             KG_OK);
        else
            assert_int_equal(kg__known_facts_write(output, &world->facts, ENTITIES, NULL), KG_OK);
        assert_int_equal(kg__output_commit(output, NULL), KG_OK);
        kg__output_close(output);
        if (which == 0)
            files->names = read_back(path, &files->names_size);
        else
            files->known = read_back(path, &files->known_size);
    }
}

static void assert_known(const kg_known_facts *known, kg_id entity, kg_link link) {
    const kg_link *links = NULL;
    size_t count = 0;
    assert_int_equal(kg__known_facts_links(known, entity, &links, &count, NULL), KG_OK);
    assert_true(kg__links_find(links, count, link) < count);
}

static void test_round_trip(void **state) {
    (void)state;
    struct world world;
    struct files files;
    make_world(&world);
    write_files(&files, &world);
    kg_names entities;
    kg_names relations;
    kg_mapping mapping = {files.names, files.names_size, names_path};
    assert_int_equal(kg__names_index_view(&entities, &relations, &mapping, NULL), KG_OK);
    assert_int_equal(entities.count, ENTITIES);
    assert_int_equal(relations.count, RELATIONS);
    for (kg_id i = 0; i < ENTITIES + 20; i++) {
        kg_name name = kg__names_get(&world.entities, i);
        kg_id found = kg__names_find(&entities, kg__name_of(name.bytes, name.length));
        assert_int_equal(found, i < ENTITIES ? i : KG_NO_ID);
        if (i >= ENTITIES)
            continue;
        kg_name twin = kg__names_get(&entities, i);
        assert_int_equal(twin.length, name.length);
        assert_memory_equal(twin.bytes, name.bytes, name.length);
    }
    kg_known_facts known;
    mapping = (kg_mapping){files.known, files.known_size, known_path};
    assert_int_equal(kg__known_facts_view(&known, &mapping, ENTITIES, RELATIONS, NULL), KG_OK);
    assert_int_equal(known.link_count, 2 * world.facts.count);
    for (size_t i = 0; i < world.facts.count; i++) {
        kg_triple fact = world.facts.items[i];
        assert_known(&known, fact.head, (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail});
        assert_known(&known, fact.tail, (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head});
    }
    free(files.names);
    free(files.known);
    free_world(&world);
}

/* Lists that are made some at a time are those that are made at once. */
static void test_some_at_a_time(void **state) {
    (void)state;
    struct world world;
    kg_adjacency all;
    kg_adjacency counted;
    make_world(&world);
    assert_int_equal(kg__adjacency_make(&all, &world.facts, ENTITIES, KG_WITH_REFLEXIVE, NULL),
                     KG_OK);
    assert_int_equal(kg__adjacency_count(&counted, &world.facts, ENTITIES, KG_WITH_REFLEXIVE, NULL),
                     KG_OK);
    assert_memory_equal(counted.starts, all.starts, (ENTITIES + 1) * sizeof *all.starts);
    size_t size = (size_t)all.starts[ENTITIES];
    kg_link *links = malloc(size * sizeof *links);
    assert_non_null(links);
    for (size_t each = 1; each <= ENTITIES; each += 13)
        for (size_t from = 0, to = 0; from < ENTITIES; from = to) {
            to = from + each < ENTITIES ? from + each : ENTITIES;
            size_t count = (size_t)(all.starts[to] - all.starts[from]);
            assert_int_equal(kg__adjacency_list(&counted, links, from, to, &world.facts,
                                                KG_WITH_REFLEXIVE, NULL),
                             KG_OK);
            assert_memory_equal(links, all.links + all.starts[from], count * sizeof *links);
        }
    free(links);
    kg__adjacency_free(&all);
    kg__adjacency_free(&counted);
    free_world(&world);
}

/* Uses everything that a view offers. */
static void use_names(const kg_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        kg_name name = kg__names_get(names, (kg_id)i);
        char *copy = malloc(name.length + 1);
        assert_non_null(copy);
        memcpy(copy, name.bytes, name.length);
        (void)kg__names_find(names, kg__name_of(copy, name.length));
        free(copy);
    }
}

/* What is handed out is as promised; what is not, is refused. */
static size_t use_known(const kg_known_facts *known) {
    size_t refused = 0;
    for (kg_id v = 0; v < known->entity_count; v++) {
        const kg_link *links = NULL;
        size_t count = 0;
        if (kg__known_facts_links(known, v, &links, &count, NULL) != KG_OK) {
            assert_int_equal(count, 0);
            refused++;
        }
        for (size_t i = 0; i < count; i++) {
            assert_true(links[i].other < ENTITIES && links[i].directed < 2 * RELATIONS);
            assert_int_equal(kg__links_find(links, count, links[i]), i);
        }
    }
    return refused;
}

/* A file with a damage is refused, or can be used without harm. */
static bool survive_names(char *bytes, size_t size) {
    kg_names entities;
    kg_names relations;
    kg_mapping mapping = {bytes, size, names_path};
    if (kg__names_index_view(&entities, &relations, &mapping, NULL) != KG_OK)
        return false;
    use_names(&entities);
    use_names(&relations);
    return true;
}

static bool survive_known(char *bytes, size_t size) {
    kg_known_facts known;
    kg_mapping mapping = {bytes, size, known_path};
    return kg__known_facts_view(&known, &mapping, ENTITIES, RELATIONS, NULL) == KG_OK &&
           use_known(&known) == 0;
}

static void damage(char *bytes, size_t size, bool (*survive)(char *, size_t)) {
    assert_true(survive(bytes, size));
    for (uint64_t i = 0; i < 3000; i++) {
        /* Every byte of the header, and some of the rest. */
        size_t at =
            i < 128 ? (size_t)i : (size_t)kg__random_below(size, 2, KG_STREAM_GENERATE_TAIL, 2 * i);
        char old = bytes[at];
        bytes[at] = (char)(old ^ (1 << kg__random_below(8, 2, KG_STREAM_GENERATE_TAIL, 2 * i + 1)));
        bool used = survive(bytes, size);
        /* The magic word, and the places of sections that are in use, cannot be wrong unseen. */
        assert_true(i >= 8 || !used);
        bytes[at] = old;
    }
    for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 97) {
        char *shorter = aligned_alloc(64, (cut + 127) / 64 * 64);
        assert_non_null(shorter);
        memcpy(shorter, bytes, cut);
        assert_false(size - cut >= 64 && survive(shorter, cut));
        free(shorter);
    }
}

static void test_damage(void **state) {
    (void)state;
    struct world world;
    struct files files;
    make_world(&world);
    write_files(&files, &world);
    damage(files.names, files.names_size, survive_names);
    damage(files.known, files.known_size, survive_known);
    free(files.names);
    free(files.known);
    free_world(&world);
}

/* A table in which every slot is taken, by names that are not looked for or by none at all: a
 * search ends, and finds nothing. */
static void test_full_table(void **state) {
    (void)state;
    struct world world;
    struct files files;
    make_world(&world);
    write_files(&files, &world);
    kg_names entities;
    kg_names relations;
    kg_mapping mapping = {files.names, files.names_size, names_path};
    assert_int_equal(kg__names_index_view(&entities, &relations, &mapping, NULL), KG_OK);
    kg_name looked_for = kg__name_of("e0", 2);
    for (size_t i = 0; i < entities.slot_count; i++)
        entities.slots[i] =
            (kg_names_slot){i % 2 == 0 ? looked_for.hash : 0, i % 4 < 2 ? 7 : KG_NO_ID - 1};
    assert_int_equal(kg__names_find(&entities, looked_for), KG_NO_ID);
    free(files.names);
    free(files.known);
    free_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_some_at_a_time),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_full_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
