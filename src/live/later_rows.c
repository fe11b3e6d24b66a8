/* What rows are made of first, then rows level by level. Rows of a level do not depend on each
 * other: where there are many, as when a store is opened, threads share them. By which facts an
 * entity asks is found once for all rows that are made of what it asks: with many that hang on one
 * hub, the facts of the hub are read once. */
#include "live/later_rows.h"

#include <omp.h>
#include <string.h>

#include "base/radix_sort.h"
#include "base/thread_count.h"
#include "live/later_asking.h"
#include "live/later_levels.h"
#include "math/vector.h"

/* Rows that are not worth a second thread. */
#define FEW 256

/* A row to be made, and the facts that it is made of. */
struct row {
    kg_id entity;
    uint8_t level;
    const kg_link *links;
    const uint32_t *asking; /* of each of them: who asks; NULL where entities ask by rows */
    size_t count;
};

/* Who asks a question, which has a number among those of all rows. */
struct question {
    kg_id entity;
    size_t number;
};

/* An entity that asks, and by which facts. */
struct asking {
    kg_id entity;
    uint32_t count;
    kg_link links[KG_MOST_ASKING];
};

/* What a thread makes rows with. */
struct fitter {
    kg_row_fit *fit; /* the generation's, or that of another thread */
    kg_embedder *embedder;
    kg_row_fit own_fit;
    kg_embedder own_embedder;
    size_t read; /* facts of entities that ask */
    kg_status status;
    kg_error error;
};

/* The rows of a commit. */
struct rows {
    kg_live_commit *commit;
    struct row *rows;
    size_t count;
    size_t questions;      /* facts of all rows */
    struct asking *asking; /* by id */
    size_t asking_count;
    struct fitter *fitters;
    size_t fitter_count;
};

/* ---- What rows are made of ---- */

/* Of the facts with entities of lower levels at most KG_MOST_FITTED, at equal distances. */
static kg_status choose_links(struct rows *rows, struct row *row, kg_error *error) {
    const kg_overlay *overlay = &rows->commit->after->overlay;
    const kg_entity_facts *facts = kg__overlay_find(overlay, row->entity);
    size_t used = 0;
    row->level = facts->level;
    for (size_t i = 0; i < facts->link_count && row->level > 0; i++)
        used += kg__later_is_made_of(overlay, row->level, facts->links[i]);
    size_t step = (used + KG_MOST_FITTED - 1) / KG_MOST_FITTED;
    kg_link *links = kg__arena_take(&rows->commit->memory,
                                    used < KG_MOST_FITTED ? used : KG_MOST_FITTED, sizeof *links);
    if (links == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0, place = 0; i < facts->link_count && used > 0; i++)
        if (kg__later_is_made_of(overlay, row->level, facts->links[i]) && place++ % step == 0)
            links[row->count++] = facts->links[i];
    row->links = links;
    rows->questions += row->count;
    return KG_OK;
}

static kg_status list_rows(struct rows *rows, kg_error *error) {
    kg_id *entities = NULL;
    KG_TRY(kg__later_levels_change(&entities, &rows->count, rows->commit, error));
    rows->rows = kg__arena_take_zeroed(&rows->commit->memory, rows->count, sizeof *rows->rows);
    if (rows->rows == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rows->count; i++) {
        rows->rows[i].entity = entities[i];
        KG_TRY(choose_links(rows, &rows->rows[i], error));
    }
    return KG_OK;
}

static kg_status list_questions(struct question **out, struct rows *rows, kg_error *error) {
    kg_arena *memory = &rows->commit->memory;
    struct question *spare = kg__arena_take(memory, rows->questions, sizeof *spare);
    struct question *questions = kg__arena_take(memory, rows->questions, sizeof *questions);
    size_t count = 0;
    if (spare == NULL || questions == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = 0; k < rows->rows[i].count; k++, count++)
            questions[count] = (struct question){rows->rows[i].links[k].other, count};
    kg__radix_sort(questions, spare, count, sizeof *spare, offsetof(struct question, entity));
    *out = questions;
    return KG_OK;
}

/* Who asks, each once, and for each fact of a row who it is. */
static kg_status list_asking(struct rows *rows, kg_error *error) {
    kg_arena *memory = &rows->commit->memory;
    struct question *questions = NULL;
    KG_TRY(list_questions(&questions, rows, error));
    uint32_t *numbers = kg__arena_take(memory, rows->questions, sizeof *numbers);
    if (numbers == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rows->questions; i++) {
        rows->asking_count += i == 0 || questions[i].entity != questions[i - 1].entity;
        numbers[questions[i].number] = (uint32_t)(rows->asking_count - 1);
    }
    rows->asking = kg__arena_take(memory, rows->asking_count, sizeof *rows->asking);
    if (rows->asking == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rows->questions; i++)
        rows->asking[numbers[questions[i].number]].entity = questions[i].entity;
    for (size_t i = 0; i < rows->count; numbers += rows->rows[i++].count)
        rows->rows[i].asking = numbers;
    return KG_OK;
}

static kg_status first_failure(const struct rows *rows, kg_error *error) {
    for (size_t i = 0; i < rows->fitter_count; i++) {
        if (rows->fitters[i].status != KG_OK && error != NULL)
            *error = rows->fitters[i].error;
        KG_TRY(rows->fitters[i].status);
    }
    return KG_OK;
}

static kg_status choose_asking(struct asking *asking, const struct rows *rows,
                               struct fitter *fitter) {
    size_t count = 0;
    KG_TRY(kg__later_asking(asking->links, &count, rows->commit->after, asking->entity,
                            &fitter->read, &fitter->error));
    asking->count = (uint32_t)count;
    return KG_OK;
}

/* Facts are anywhere in large tables. */
static void fetch_ahead(const struct rows *rows, size_t i) {
    const kg_known_facts *known = &rows->commit->generation->base->known;
    size_t ahead = i + 16;
    if (known->starts != NULL && ahead < rows->asking_count &&
        rows->asking[ahead].entity < known->entity_count)
        __builtin_prefetch(&known->starts[rows->asking[ahead].entity]);
}

/* Where entities ask by rows, there is nothing to find. */
static kg_status find_asking(struct rows *rows, kg_error *error) {
    const kg_row_fit *fit = &rows->commit->generation->row_fit;
    if (!fit->is_by_facts || fit->ridge == 0)
        return KG_OK;
    KG_TRY(list_asking(rows, error));
#pragma omp parallel num_threads((int)rows->fitter_count) if (rows->fitter_count > 1)
    {
        struct fitter *fitter = &rows->fitters[omp_get_thread_num()];
#pragma omp for schedule(dynamic, KG_PAGE)
        for (size_t i = 0; i < rows->asking_count; i++) {
            fetch_ahead(rows, i);
            if (fitter->status == KG_OK)
                fitter->status = choose_asking(&rows->asking[i], rows, fitter);
        }
    }
    for (size_t i = 0; i < rows->fitter_count; i++)
        rows->commit->generation->asking_read += rows->fitters[i].read;
    return first_failure(rows, error);
}

/* ---- Rows ---- */

/* Who asks and rows are anywhere in large tables, too: those of all questions are fetched at once.
 */
static void fetch_questions(const struct rows *rows, const struct row *row,
                            const kg_params *params) {
    for (size_t i = 0; i < row->count; i++)
        __builtin_prefetch(&rows->asking[row->asking[i]]);
    for (size_t i = 0; i < row->count; i++) {
        const struct asking *asking = &rows->asking[row->asking[i]];
        for (size_t k = 0; k < asking->count; k++)
            kg__fetch(kg__entity_row(params, asking->links[k].other), params->dim);
    }
}

static kg_status add_questions(const struct rows *rows, struct fitter *fitter,
                               const struct row *row, kg_error *error) {
    const struct asking by_row = {0};
    if (row->asking != NULL)
        fetch_questions(rows, row, &fitter->embedder->params);
    for (size_t i = 0; i < row->count; i++) {
        const struct asking *asking = row->asking == NULL ? &by_row : &rows->asking[row->asking[i]];
        KG_TRY(kg__row_fit_add(fitter->fit, fitter->embedder, row->links[i], fitter->fit->target,
                               asking->links, asking->count, error));
    }
    return KG_OK;
}

static kg_status make_row(const struct rows *rows, struct fitter *fitter, const struct row *row,
                          kg_error *error) {
    const kg_live_version *after = rows->commit->after;
    size_t dim = fitter->embedder->params.dim;
    size_t i = row->entity - after->names.first;
    real *out = (real *)after->rows.rows.pages[i / KG_PAGE] + i % KG_PAGE * dim;
    memset(out, 0, dim * sizeof *out);
    if (row->level == 0)
        return KG_OK;
    kg__row_fit_start(fitter->fit, kg__names_hashed(&after->model.entities, row->entity), dim);
    if (fitter->fit->ridge > 0)
        KG_TRY(add_questions(rows, fitter, row, error));
    return kg__row_fit_finish(fitter->fit, out, dim, error);
}

/* Which thread makes which row does not matter. */
static kg_status make_level(const struct rows *rows, uint8_t level, kg_error *error) {
#pragma omp parallel num_threads((int)rows->fitter_count) if (rows->fitter_count > 1)
    {
        struct fitter *fitter = &rows->fitters[omp_get_thread_num()];
#pragma omp for schedule(dynamic, KG_PAGE)
        for (size_t i = 0; i < rows->count; i++)
            if (fitter->status == KG_OK && rows->rows[i].level == level)
                fitter->status = make_row(rows, fitter, &rows->rows[i], &fitter->error);
    }
    return first_failure(rows, error);
}

static kg_status make_rows(struct rows *rows, kg_error *error) {
    kg_live_version *after = rows->commit->after;
    size_t row = after->model.params.dim * sizeof(real);
    for (size_t i = 0; i < rows->count; i++)
        if (kg__pages_edit(&after->rows.rows, &rows->commit->generation->versions,
                           rows->rows[i].entity - after->names.first, row) == NULL)
            return kg__fail_memory(error);
    for (uint8_t level = 0; level <= KG_MOST_LEVELS && row > 0; level++)
        KG_TRY(make_level(rows, level, error));
    return KG_OK;
}

/* ---- Threads ---- */

/* Only the first one is the generation's. */
static kg_status open_fitter(struct fitter *fitter, struct rows *rows, kg_error *error) {
    kg_generation *generation = rows->commit->generation;
    bool is_first = fitter == rows->fitters;
    fitter->fit = is_first ? &generation->row_fit : &fitter->own_fit;
    fitter->embedder = is_first ? &generation->embedder : &fitter->own_embedder;
    if (!is_first)
        kg__embedder_open(fitter->embedder, generation->embedder.options, generation->base->params);
    fitter->embedder->params = rows->commit->after->model.params;
    fitter->embedder->params.gram = generation->gram;
    return is_first ? KG_OK
                    : kg__row_fit_fork(fitter->fit, &generation->row_fit,
                                       fitter->embedder->params.dim, error);
}

static kg_status open_fitters(struct rows *rows, kg_error *error) {
    rows->fitter_count = rows->count > FEW ? (size_t)kg__threads(0) : 1;
    rows->fitters =
        kg__arena_take_zeroed(&rows->commit->memory, rows->fitter_count, sizeof *rows->fitters);
    if (rows->fitters == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rows->fitter_count; i++)
        KG_TRY(open_fitter(&rows->fitters[i], rows, error));
    return KG_OK;
}

static void close_fitters(struct rows *rows) {
    for (size_t i = 1; rows->fitters != NULL && i < rows->fitter_count; i++) {
        kg__embedder_close(&rows->fitters[i].own_embedder);
        kg__row_fit_close(&rows->fitters[i].own_fit);
    }
}

kg_status kg__later_rows_change(kg_live_commit *commit, kg_error *error) {
    struct rows rows = {.commit = commit};
    KG_TRY(list_rows(&rows, error));
    kg_status status = open_fitters(&rows, error);
    if (status == KG_OK)
        status = find_asking(&rows, error);
    if (status == KG_OK)
        status = make_rows(&rows, error);
    close_fitters(&rows);
    return status;
}
