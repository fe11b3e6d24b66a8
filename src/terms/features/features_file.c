/* What is written is what there is in memory; what is read must be something that can have been
 * counted. */
#include "terms/features/features_file.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "terms/features/rule_walk.h"

static const char magic[] = "kgevide1";

enum { STARTS, RULES, TALLIES, VACANCIES, PART_COUNT };

/* Vacancies are floats in a file, whatever `real` is. */
static float *narrow(const real *values, size_t count) {
    float *floats = kg__alloc(count, sizeof *floats);
    for (size_t i = 0; i < count && floats != NULL; i++)
        floats[i] = (float)values[i];
    return floats;
}

kg_status kg__features_write(kg_output *output, const kg_rules *rules,
                             const kg_degree_prior *vacancy, kg_error *error) {
    size_t vacancies = vacancy->directed_count * KG_DEGREE_PRIOR_CLASSES;
    float *floats = narrow(vacancy->values, vacancies);
    if (floats == NULL)
        return kg__fail_memory(error);
    const kg_section sections[PART_COUNT] = {
        [STARTS] = {rules->starts, (rules->directed_count + 1) * sizeof *rules->starts},
        [RULES] = {rules->list, rules->count * sizeof *rules->list},
        [TALLIES] = {rules->tallies, rules->tally_count * sizeof *rules->tallies},
        [VACANCIES] = {floats, vacancies * sizeof *floats},
    };
    kg_status status = kg__sections_write(output, magic, sections, PART_COUNT, error);
    kg__free(floats);
    return status;
}

/* ---- Checks ---- */

static bool are_starts(const kg_rules *rules) {
    if (rules->starts[0] != 0 || rules->starts[rules->directed_count] > rules->count)
        return false;
    for (size_t i = 0; i < rules->directed_count; i++)
        if (rules->starts[i] > rules->starts[i + 1])
            return false;
    return true;
}

/* Steps of rules that go on from the same one, or of a question's first ones. */
static bool are_steps(const kg_rules *rules, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (rules->list[i].step >= rules->directed_count ||
            (i > from && rules->list[i].step <= rules->list[i - 1].step))
            return false;
    return true;
}

static bool are_first_steps(const kg_rules *rules) {
    for (size_t i = 0; i < rules->directed_count; i++)
        if (!are_steps(rules, rules->starts[i], rules->starts[i + 1]))
            return false;
    return true;
}

/* Rules of each length are followed by those of the next, in the same order; so none is reached
 * twice, and none is longer than it may be. */
static bool are_tries(const kg_rules *rules) {
    size_t from = 0;
    size_t to = rules->starts[rules->directed_count];
    for (size_t length = 1; length <= KG_MOST_STEPS && from < to; length++) {
        size_t next = to;
        for (size_t i = from; i < to; i++) {
            const kg_rule *rule = &rules->list[i];
            if (rule->first_next != next || rule->next_count > rules->count - next ||
                !are_steps(rules, next, next + rule->next_count))
                return false;
            next += rule->next_count;
        }
        from = to;
        to = next;
    }
    return from == to && to == rules->count;
}

static bool is_tally(const kg_rule_tally *tally) {
    return tally->width <= kg__width(KG_MOST_FAN) && tally->hits >= 0 &&
           isfinite(tally->predictions) && tally->predictions >= tally->hits &&
           tally->confidence >= 0 && tally->confidence <= 1;
}

static bool are_tallies(const kg_rules *rules) {
    for (size_t i = 0; i < rules->count; i++) {
        const kg_rule *rule = &rules->list[i];
        if (rule->first_tally > rules->tally_count ||
            rule->tally_count > rules->tally_count - rule->first_tally)
            return false;
    }
    for (size_t i = 0; i < rules->tally_count; i++)
        if (!is_tally(&rules->tallies[i]))
            return false;
    return true;
}

/* ---- Reading ---- */

static void *copy(const kg_section *section) {
    void *block = kg__resize(NULL, section->size, 1);
    if (block != NULL)
        memcpy(block, section->bytes, section->size);
    return block;
}

static kg_status read_rules(kg_rules *out, const kg_section *sections, kg_error *error) {
    out->count = sections[RULES].size / sizeof *out->list;
    out->tally_count = sections[TALLIES].size / sizeof *out->tallies;
    out->starts = copy(&sections[STARTS]);
    out->list = copy(&sections[RULES]);
    out->tallies = copy(&sections[TALLIES]);
    return out->starts == NULL || out->list == NULL || out->tallies == NULL ? kg__fail_memory(error)
                                                                            : KG_OK;
}

static kg_status read_vacancies(kg_degree_prior *out, const kg_section *section, const char *path,
                                kg_error *error) {
    size_t count = out->directed_count * KG_DEGREE_PRIOR_CLASSES;
    const float *floats = section->bytes;
    out->values = kg__alloc(count, sizeof *out->values);
    if (out->values == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(floats[i]))
            return kg__sections_refuse(path, "vacancies that are no numbers", error);
        out->values[i] = (real)floats[i];
    }
    return KG_OK;
}

static bool are_whole(const kg_section *sections, size_t directed_count) {
    return sections[STARTS].size == (directed_count + 1) * sizeof(uint32_t) &&
           sections[RULES].size % sizeof(kg_rule) == 0 &&
           sections[TALLIES].size % sizeof(kg_rule_tally) == 0 &&
           sections[VACANCIES].size == directed_count * KG_DEGREE_PRIOR_CLASSES * sizeof(float);
}

kg_status kg__features_read(kg_rules *rules, kg_degree_prior *vacancy, const kg_mapping *mapping,
                            const kg_adjacency *graph, size_t directed_count, kg_error *error) {
    kg_section sections[KG_MOST_SECTIONS];
    *rules = (kg_rules){.directed_count = directed_count};
    *vacancy = (kg_degree_prior){.graph = graph, .directed_count = directed_count};
    kg_status status = KG_OK;
    KG_CHECK(kg__sections_view(sections, mapping, magic, error));
    if (!are_whole(sections, directed_count)) {
        status = kg__sections_refuse(mapping->path, "evidence of another size", error);
        goto done;
    }
    KG_CHECK(read_rules(rules, sections, error));
    if (!are_starts(rules) || !are_first_steps(rules) || !are_tries(rules) || !are_tallies(rules))
        status = kg__sections_refuse(mapping->path, "rules that do not fit together", error);
    if (status == KG_OK)
        status = read_vacancies(vacancy, &sections[VACANCIES], mapping->path, error);
done:
    if (status != KG_OK) {
        kg__rules_free(rules);
        kg__degree_prior_close(vacancy);
    }
    return status;
}
