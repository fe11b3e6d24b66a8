/* Gathering, and keeping what was gathered. */
#include "train/clues.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

static_assert(KG_MOST_CANDIDATES <= UINT8_MAX, "a byte counts the hints of a question");

kg_status kg__clues_open(kg_clues *clues, const kg_features *evidence, size_t portion_count,
                         size_t room, kg_error *error) {
    const kg_adjacency *graph = evidence->graph;
    clues->evidence = evidence;
    clues->portion_count = portion_count;
    atomic_init(&clues->room, room);
    clues->kept = kg__alloc(portion_count, sizeof *clues->kept);
    clues->counts = kg__alloc((size_t)graph->starts[graph->entity_count], sizeof *clues->counts);
    if (clues->kept != NULL && clues->counts != NULL)
        return KG_OK;
    kg__clues_close(clues);
    return kg__fail_memory(error);
}

void kg__clues_close(kg_clues *clues) {
    for (size_t i = 0; i < clues->portion_count && clues->kept != NULL; i++)
        kg__free(clues->kept[i].list);
    kg__free(clues->kept);
    kg__free(clues->counts);
    clues->kept = NULL;
    clues->counts = NULL;
}

kg_status kg__clue_reader_open(kg_clue_reader *reader, const kg_clues *clues, kg_error *error) {
    kg__extractor_open(&reader->witness, clues->evidence);
    reader->hints =
        kg__resize(NULL, (size_t)KG_MOST_ASKED * KG_MOST_CANDIDATES, sizeof(kg_candidate_features));
    reader->counts = kg__alloc(KG_MOST_ASKED, sizeof *reader->counts);
    if (reader->hints != NULL && reader->counts != NULL)
        return KG_OK;
    kg__clue_reader_close(reader);
    return kg__fail_memory(error);
}

void kg__clue_reader_close(kg_clue_reader *reader) {
    kg__extractor_close(&reader->witness);
    kg__free(reader->hints);
    kg__free(reader->counts);
    *reader = (kg_clue_reader){0};
}

/* Each fact is asked for by the others. */
static kg_status gather(kg_clue_reader *reader, const kg_adjacency *graph,
                        const kg_portion *portion, size_t *total, kg_error *error) {
    const kg_link *links = kg__adjacency_links(graph, portion->entity);
    kg_extractor *witness = &reader->witness;
    *total = 0;
    KG_TRY(kg__extractor_load(witness, portion->entity, links,
                              kg__adjacency_degree(graph, portion->entity), error));
    for (size_t i = portion->from; i < portion->to; i++) {
        size_t found = 0;
        if (i == portion->from || links[i].directed != links[i - 1].directed)
            kg__extractor_ask(witness, links[i].directed);
        KG_TRY(kg__extractor_answer(witness, reader->hints + *total, KG_MOST_CANDIDATES, &found, i,
                                    error));
        reader->counts[i - portion->from] = (uint8_t)found;
        *total += found;
    }
    return KG_OK;
}

static bool take_room(kg_clues *clues, size_t needed) {
    size_t room = atomic_load(&clues->room);
    while (room >= needed)
        if (atomic_compare_exchange_weak(&clues->room, &room, room - needed))
            return true;
    return false;
}

/* Where memory is short they are found again each time. */
static void keep(kg_clues *clues, const kg_clue_reader *reader, const kg_portion *portion,
                 uint8_t *counts, size_t total) {
    if (!take_room(clues, total))
        return;
    kg_candidate_features *hints = kg__resize(NULL, total, sizeof *hints);
    if (hints == NULL) {
        atomic_fetch_add(&clues->room, total);
        return;
    }
    memcpy(hints, reader->hints, total * sizeof *hints);
    memcpy(counts, reader->counts, portion->to - portion->from);
    clues->kept[portion->number].list = hints;
}

kg_status kg__clues_read(kg_clues *clues, kg_clue_reader *reader, const kg_portion *portion,
                         const kg_candidate_features **hints, const uint8_t **counts,
                         kg_error *error) {
    const kg_adjacency *graph = clues->evidence->graph;
    uint8_t *own = clues->counts + graph->starts[portion->entity] + portion->from;
    if (clues->kept[portion->number].list != NULL) {
        *hints = clues->kept[portion->number].list;
        *counts = own;
        return KG_OK;
    }
    size_t total = 0;
    KG_TRY(gather(reader, graph, portion, &total, error));
    *hints = reader->hints;
    *counts = reader->counts;
    keep(clues, reader, portion, own, total);
    return KG_OK;
}
