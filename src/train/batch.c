/* Facts in random order, corrupted at random (Bordes et al. 2013). */
#include "train/batch.h"

#include "base/random.h"

size_t kg__batches_count(const kg_batches *batches) {
    return (batches->facts->count - 1) / batches->size + 1;
}

size_t kg__batches_items(const kg_batches *batches) {
    size_t facts = batches->facts->count;
    return (batches->size < facts ? batches->size : facts) * (1 + batches->negatives);
}

/* A number of its own for each item of each epoch. */
static uint64_t position_of(const kg_batches *b, uint64_t epoch, uint64_t fact, uint64_t twin) {
    return (epoch * b->facts->count + fact) * (1 + b->negatives) + twin;
}

static kg_unseen choose_unseen(const kg_batches *b, uint64_t position) {
    double unit = kg__random_unit(b->seed, KG_STREAM_UNSEEN, position);
    return unit < b->psi / 2 ? KG_UNSEEN_HEAD : unit < b->psi ? KG_UNSEEN_TAIL : KG_UNSEEN_NONE;
}

/* Head or tail is replaced by any entity; the lowest bit decides which. */
static kg_triple corrupt(const kg_batches *b, kg_triple fact, uint64_t position) {
    uint64_t choice =
        kg__random_below(2 * (uint64_t)b->entity_count, b->seed, KG_STREAM_CORRUPT, position);
    if (choice % 2 == 0)
        fact.head = (kg_id)(choice / 2);
    else
        fact.tail = (kg_id)(choice / 2);
    return fact;
}

/* The fact at that place of the epoch's order. */
static kg_triple fact_at(const kg_batches *b, uint64_t epoch, uint64_t place) {
    return b->facts->items[b->shuffle ? kg__random_permute(place, b->facts->count, b->seed,
                                                           KG_STREAM_SHUFFLE, epoch)
                                      : place];
}

size_t kg__batches_make(const kg_batches *b, kg_item *items, uint64_t epoch, size_t number) {
    size_t from = number * b->size;
    size_t to = b->facts->count - from < b->size ? b->facts->count : from + b->size;
    size_t count = 0;
    for (uint64_t i = from; i < to; i++) {
        kg_triple fact = fact_at(b, epoch, i);
        for (uint64_t twin = 0; twin <= b->negatives; twin++) {
            uint64_t position = position_of(b, epoch, i, twin);
            items[count++] = (kg_item){twin == 0 ? fact : corrupt(b, fact, position),
                                       twin == 0 ? 1 : -1, (uint8_t)choose_unseen(b, position)};
        }
    }
    return count;
}

size_t kg__batches_others(const kg_batches *b, kg_triple *facts, uint64_t epoch, size_t number) {
    size_t count = 0;
    for (uint64_t i = 0; i < b->facts->count; i++)
        if (i / b->size != number)
            facts[count++] = fact_at(b, epoch, i);
    return count;
}
