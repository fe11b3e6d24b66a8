/* Facts without structure: both ends and the relation are drawn by Zipf's law, and again where the
 * fact is there already. */
#include "graph/generate.h"

#include <assert.h>
#include <stdio.h>

#include "graph/triples.h"
#include "graph/zipf.h"

#define PATIENCE 32        /* tries to find a new fact by the law before it is drawn uniformly */
#define SCATTER 2654435761 /* a prime: spreads frequent ranks over all entities */
#define TICK_FACTS ((size_t)1 << 18)

struct generator {
    const kg_generate_options *options;
    kg_zipf entities;
    kg_zipf relations;
};

static kg_id scatter(const struct generator *generator, uint64_t rank) {
    return (kg_id)(rank * SCATTER % generator->options->entities);
}

static uint64_t draw(const kg_zipf *zipf, uint64_t seed, kg_stream stream, uint64_t index,
                     bool uniform) {
    return uniform ? kg__random_below(zipf->count, seed, stream, index)
                   : kg__zipf_draw(zipf, seed, stream, index);
}

/* The first facts have each entity as head once, and each relation once, so they all differ and
 * everything occurs. After that facts are drawn by the law, and uniformly where the law only gives
 * repeated ones. */
static kg_triple draw_fact(const struct generator *generator, uint64_t i, uint64_t attempt) {
    const kg_generate_options *o = generator->options;
    const kg_zipf *entities = &generator->entities;
    uint64_t index = i * 2 * PATIENCE + attempt;
    bool uniform = attempt >= PATIENCE;
    uint64_t head = i;
    uint64_t relation = i;
    if (i >= o->entities)
        head = draw(entities, o->seed, KG_STREAM_GENERATE_HEAD, index, uniform);
    if (i >= o->relations)
        relation =
            draw(&generator->relations, o->seed, KG_STREAM_GENERATE_RELATION, index, uniform);
    uint64_t tail = draw(entities, o->seed, KG_STREAM_GENERATE_TAIL, index, uniform);
    return (kg_triple){scatter(generator, head), (kg_id)relation, scatter(generator, tail)};
}

kg_status kg__generate_tick(const kg_progress *progress, const char *stage, size_t done,
                            size_t total, kg_error *error) {
    if (done % TICK_FACTS != 0)
        return KG_OK;
    kg_progress_report report = {.stage = stage, .unit = "facts", .done = done, .total = total};
    return kg__progress_tick(progress, &report, error);
}

static kg_status draw_facts(kg_triples *facts, kg_triple_set *set,
                            const kg_generate_options *options, const kg_progress *progress,
                            kg_error *error) {
    assert(options->entities > 0 && options->relations > 0);
    struct generator generator = {options, kg__zipf_make(options->entities, options->exponent),
                                  kg__zipf_make(options->relations, options->exponent)};
    KG_TRY(kg__triples_reserve(facts, options->facts, error));
    for (uint64_t i = 0; i < options->facts; i++) {
        KG_TRY(kg__generate_tick(progress, "drawing facts", i, options->facts, error));
        uint64_t attempt = 0;
        do
            facts->items[i] = draw_fact(&generator, i, attempt++);
        while (!kg__triple_set_add(set, facts->items, i));
        facts->count++;
    }
    return KG_OK;
}

kg_status kg__generate_write(kg_output *output, kg_triple fact, kg_error *error) {
    char line[64];
    int length =
        snprintf(line, sizeof line, "e%u\tr%u\te%u\n", fact.head, fact.relation, fact.tail);
    return kg__output_write(output, line, (size_t)length, error);
}

static kg_status write_facts(const kg_triples *facts, kg_output *output,
                             const kg_progress *progress, kg_error *error) {
    for (size_t i = 0; i < facts->count; i++) {
        KG_TRY(kg__generate_tick(progress, "writing facts", i, facts->count, error));
        KG_TRY(kg__generate_write(output, facts->items[i], error));
    }
    return KG_OK;
}

kg_status kg__generate_check_exponent(const kg_generate_options *o, kg_error *error) {
    if (!(o->exponent >= 0 && o->exponent <= 4))
        return kg_fail(error, KG_BAD_INPUT, "expected an exponent from 0 to 4, found %g",
                       o->exponent);
    return KG_OK;
}

static kg_status check_options(const kg_generate_options *o, kg_error *error) {
    if (o->entities < 1 || o->entities > INT32_MAX || o->relations < 1 || o->relations > INT32_MAX)
        return kg_fail(error, KG_BAD_INPUT, "expected 1 to %d entities and relations", INT32_MAX);
    if (o->facts < o->entities || o->facts < o->relations || o->facts > INT32_MAX)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at least as many facts as entities and as relations, so that each "
                       "can occur, and at most %d; found %ju",
                       INT32_MAX, (uintmax_t)o->facts);
    double possible = (double)o->entities * (double)o->entities * (double)o->relations;
    if ((double)o->facts > possible / 2 && o->facts > o->entities && o->facts > o->relations)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at most half of the %g facts that are possible, found %ju",
                       possible, (uintmax_t)o->facts);
    return kg__generate_check_exponent(o, error);
}

kg_status kg__generate(kg_output *output, const kg_generate_options *options,
                       const kg_progress *progress, kg_error *error) {
    KG_TRY(check_options(options, error));
    kg_triples facts = {0};
    kg_triple_set set = {0};
    kg_status status = KG_OK;
    KG_CHECK(kg__triple_set_open(&set, options->facts, error));
    KG_CHECK(draw_facts(&facts, &set, options, progress, error));
    KG_CHECK(write_facts(&facts, output, progress, error));
done:
    kg__triple_set_close(&set);
    kg__triples_free(&facts);
    return status;
}
