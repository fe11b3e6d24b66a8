/* Unseen entities as the paper's authors publish them: a JSON object with a key for each unseen
 * entity, whose value is the list of its facts, each a list [head, relation, tail]. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "graph/reader.h"

#define FILE_MAX ((size_t)256 << 20) /* bytes; the largest of the paper has 5 MB */

/* One name of a fact, or of the entity itself. */
static kg_status take_name(kg_name *out, const char *bytes, size_t length, kg_error *error) {
    if (length == 0)
        return kg_fail(error, KG_BAD_INPUT, "expected a name, found an empty string");
    if (memchr(bytes, '\t', length) != NULL || memchr(bytes, '\n', length) != NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected a name without tab or newline, found %s",
                       kg__quote(bytes, length).text);
    if (length > UINT32_MAX)
        return kg_fail(error, KG_BAD_INPUT, "expected a name of at most %u bytes", UINT32_MAX);
    *out = kg__name_of(bytes, length);
    return KG_OK;
}

static bool same_name(kg_name a, kg_name b) {
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

static kg_status add_fact(kg_reader *reader, kg_name entity, const json_t *fact, kg_error *error) {
    if (!json_is_array(fact))
        return kg_fail(error, KG_BAD_INPUT, "expected [head, relation, tail], found %s",
                       kg__json_kind(fact));
    if (json_array_size(fact) != 3)
        return kg_fail(error, KG_BAD_INPUT, "expected [head, relation, tail], found a list of %zu",
                       json_array_size(fact));
    kg_name names[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        const json_t *item = json_array_get(fact, i);
        if (!json_is_string(item))
            return kg_fail(error, KG_BAD_INPUT, "expected three strings, found %s",
                           kg__json_kind(item));
        KG_TRY(take_name(&names[i], json_string_value(item), json_string_length(item), error));
    }
    if (!same_name(names[0], entity) && !same_name(names[2], entity))
        return kg_fail(error, KG_BAD_INPUT, "expected the entity at one end, found %s and %s",
                       kg__quote(names[0].bytes, names[0].length).text,
                       kg__quote(names[2].bytes, names[2].length).text);
    return kg__dataset_add_one(reader->dataset, names[0], names[1], names[2], error);
}

/* jansson keeps no line numbers, so a place in the file is an entity and the number of a fact. */
static kg_status at_place(kg_status status, const kg_input *input, kg_name entity, size_t fact,
                          kg_error *error) {
    if (status != KG_BAD_INPUT || error == NULL)
        return status;
    kg_error inner = *error;
    return kg_fail_at(error, kg__input_name(input), 0, 0, "entity %s, fact %zu: %s",
                      kg__quote(entity.bytes, entity.length).text, fact, inner.message);
}

static kg_status add_entity(kg_reader *reader, const kg_input *input, kg_name entity,
                            const json_t *facts, kg_error *error) {
    kg_id known = kg__names_find(&reader->dataset->entities, entity);
    const char *source = kg__input_name(input);
    if (known != KG_NO_ID && known < kg__dataset_in_sample(reader->dataset))
        return kg_fail_at(error, source, 0, 0,
                          "expected unseen entities, found %s, which is in train",
                          kg__quote(entity.bytes, entity.length).text);
    if (!json_is_array(facts) || json_array_size(facts) == 0)
        return kg_fail_at(error, source, 0, 0, "entity %s: expected a list of facts, found %s",
                          kg__quote(entity.bytes, entity.length).text,
                          json_is_array(facts) ? "an empty one" : kg__json_kind(facts));
    size_t i = 0;
    const json_t *fact = NULL;
    json_array_foreach(facts, i, fact) {
        KG_TRY(at_place(add_fact(reader, entity, fact, error), input, entity, i + 1, error));
    }
    return KG_OK;
}

static kg_status add_entities(kg_reader *reader, const kg_input *input, json_t *root,
                              kg_error *error) {
    const char *source = kg__input_name(input);
    if (!json_is_object(root) || json_object_size(root) == 0)
        return kg_fail_at(error, source, 0, 0,
                          "expected an object with a key for each unseen entity, found %s",
                          json_is_object(root) ? "an empty one" : kg__json_kind(root));
    for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at)) {
        kg_name entity = {0};
        kg_status status =
            take_name(&entity, json_object_iter_key(at), json_object_iter_key_len(at), error);
        if (status == KG_BAD_INPUT)
            kg__error_locate(error, source, 0, 0);
        KG_TRY(status);
        KG_TRY(add_entity(reader, input, entity, json_object_iter_value(at), error));
    }
    return KG_OK;
}

kg_status kg__read_unseen_json(kg_reader *reader, kg_input *input, kg_error *error) {
    KG_TRY(kg__reader_tick(reader, input, error));
    json_t *root = NULL;
    KG_TRY(kg__json_read_most(&root, input, FILE_MAX, error));
    kg_status status = add_entities(reader, input, root, error);
    json_decref(root);
    return status;
}
