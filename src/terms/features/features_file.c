/* The file is an image of the arrays in memory. Reading validates that they are consistent, so that
 * no index in them leads outside. */
#include "terms/features/features_file.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "terms/features/rule_walk.h"

static const char magic[] = "kgevide1";

enum { STARTS, RULES, TALLIES, PRIORS, PART_COUNT };

/* Degree priors are stored as floats, whatever `real` is. */
static float *narrow(const real *values, size_t count) {
    float *floats = kg__alloc(count, sizeof *floats);
    for (size_t i = 0; i < count && floats != NULL; i++)
        floats[i] = (float)values[i];
    return floats;
}

kg_status kg__features_write(kg_output *output, const kg_rules *rules, const kg_degree_prior *prior,
                             kg_error *error) {
    size_t count = prior->directed_count * KG_DEGREE_PRIOR_CLASSES;
    float *floats = narrow(prior->values, count);
    if (floats == NULL)
        return kg__fail_memory(error);
    const kg_section sections[PART_COUNT] = {
        [STARTS] = {.bytes = rules->starts,
                    .size = (rules->directed_count + 1) * sizeof *rules->starts},
        [RULES] = {.bytes = rules->list, .size = rules->count * sizeof *rules->list},
        [TALLIES] = {.bytes = rules->tallies, .size = rules->tally_count * sizeof *rules->tallies},
        [PRIORS] = {.bytes = floats, .size = count * sizeof *floats},
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

/* Steps of the rules with the same prefix, or of the first ones of a query: sorted and distinct. */
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

/* Rules of each length are followed by those of the next length, in the order of their prefixes: so
 * none is reached twice, and none is longer than KG_MOST_STEPS. */
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

static kg_status read_priors(kg_degree_prior *out, const kg_section *section, const char *path,
                             kg_error *error) {
    size_t count = out->directed_count * KG_DEGREE_PRIOR_CLASSES;
    const float *floats = section->bytes;
    out->values = kg__alloc(count, sizeof *out->values);
    if (out->values == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(floats[i]))
            return kg__sections_refuse(path, "degree priors that are no numbers", error);
        out->values[i] = (real)floats[i];
    }
    return KG_OK;
}

static bool have_sizes(const kg_section *sections, size_t directed_count) {
    return sections[STARTS].size == (directed_count + 1) * sizeof(uint32_t) &&
           sections[RULES].size % sizeof(kg_rule) == 0 &&
           sections[TALLIES].size % sizeof(kg_rule_tally) == 0 &&
           sections[PRIORS].size == directed_count * KG_DEGREE_PRIOR_CLASSES * sizeof(float);
}

kg_status kg__features_read(kg_rules *rules, kg_degree_prior *prior, const kg_mapping *mapping,
                            const kg_adjacency *graph, size_t directed_count, kg_error *error) {
    kg_section sections[KG_MOST_SECTIONS];
    *rules = (kg_rules){.directed_count = directed_count};
    *prior = (kg_degree_prior){.graph = graph, .directed_count = directed_count};
    kg_status status = KG_OK;
    KG_CHECK(kg__sections_view(sections, mapping, magic, error));
    if (!have_sizes(sections, directed_count)) {
        status = kg__sections_refuse(mapping->path, "features of another size", error);
        goto done;
    }
    KG_CHECK(read_rules(rules, sections, error));
    if (!are_starts(rules) || !are_first_steps(rules) || !are_tries(rules) || !are_tallies(rules))
        status = kg__sections_refuse(mapping->path, "rules that do not fit together", error);
    if (status == KG_OK)
        status = read_priors(prior, &sections[PRIORS], mapping->path, error);
done:
    if (status != KG_OK) {
        kg__rules_free(rules);
        kg__degree_prior_close(prior);
    }
    return status;
}
