/* Rounds of queries. In each, a process embeds some tiles of its own queries, all count, and the
 * counts are added up where the queries are from.
 *
 *     rows -> vectors, offsets -> to all -> counts of own blocks -> back -> ranks */
#include "rank/shared_rank.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"

_Static_assert(KG_BLOCK == KG_OWNED_ROWS, "a block of candidates has one owner");

#define TILES 8 /* of a process in a round, whatever its threads are */
#define ROUND ((size_t)TILES * KG_TILE)

/* A tile of this process's queries: its offsets, and where those of each query begin. */
struct tile {
    kg_score_offsets offsets;
    size_t starts[KG_TILE + 1];
    kg_status status;
};

/* Queries of a process in a round. */
struct share {
    size_t from;
    size_t count;
};

/* What has been counted for a query. */
struct counted {
    kg_tally all;
    kg_tally left_out;
    kg_tally own;
};

/* What came from one process, or was made by it: of each query a vector, the answer's score, and
 * its offsets among the candidates of the receiver. */
struct asked {
    struct share share;
    const real *vectors;
    const real *scores; /* behind the vectors, in the same message */
    const kg_score_offset *offsets;
    size_t *starts;          /* of each query's offsets */
    struct counted *counted; /* by this process */
};

struct round {
    const kg_ranking *ranking;
    kg_ranks *ranks;
    size_t number;
    struct tile tiles[TILES];
    kg_rank_count *counters; /* of this process's queries */
    real *numbers;           /* their vectors, and behind these their answers' scores */
    struct asked *asked;     /* of each process */
    kg_row_list rows;        /* that this process's queries read */
    kg_arena arena;
};

static struct share share_of(const struct round *r, size_t rank) {
    size_t count = r->ranking->queries->count;
    size_t from = kg__ranks_begin(r->ranks, rank, count) + r->number * ROUND;
    size_t to = kg__ranks_begin(r->ranks, rank + 1, count);
    size_t left = from < to ? to - from : 0;
    return (struct share){from, left < ROUND ? left : ROUND};
}

static struct share own_share(const struct round *r) {
    return share_of(r, r->ranks->number);
}

/* ---- Rows ---- */

/* Queries about an entity's facts follow each other. */
static kg_status list_rows(struct round *r, kg_error *error) {
    const kg_queries *queries = r->ranking->queries;
    const kg_params *params = &r->ranking->blocks.params;
    struct share own = own_share(r);
    for (size_t i = own.from; i < own.from + own.count; i++) {
        const kg_query *query = &queries->list[i];
        bool is_new = i == own.from || query->entity != query[-1].entity;
        KG_TRY(kg__row_list_add(&r->rows, query->target.other, error));
        if (is_new)
            KG_TRY(kg__row_list_add_query(&r->rows, queries, query, params, error));
    }
    return KG_OK;
}

static kg_status fetch_rows(struct round *r, kg_error *error) {
    const kg_row_source *source = r->ranking->options->rows;
    if (source == NULL || r->ranking->blocks.params.dim == 0)
        return KG_OK;
    return kg__row_list_fetch(&r->rows, source, r->ranks, list_rows(r, error), error);
}

/* ---- Embedding ---- */

/* As many queries of a tile as there is room for at a time, until it is complete. */
static kg_status embed_tile(struct round *r, size_t number, kg_rank_worker *worker) {
    const kg_ranking *ranking = r->ranking;
    size_t dim = ranking->blocks.params.dim;
    struct tile *tile = &r->tiles[number];
    struct share own = own_share(r);
    size_t from = number * KG_TILE < own.count ? number * KG_TILE : own.count;
    size_t count = own.count - from < KG_TILE ? own.count - from : KG_TILE;
    tile->offsets.count = 0;
    for (size_t at = 0, done = 0; at < count; at += done) {
        KG_TRY(kg__query_embedder_vectors(&worker->embedder, r->numbers + (from + at) * dim,
                                          worker->starts, &done, ranking->queries,
                                          own.from + from + at, own.from + from + count, NULL));
        const kg_score_offsets *more = &worker->embedder.offsets;
        size_t before = tile->offsets.count;
        KG_TRY(kg__score_offsets_reserve(&tile->offsets, more->count, NULL));
        if (more->count > 0)
            memcpy(tile->offsets.items + before, more->items, more->count * sizeof *more->items);
        tile->offsets.count += more->count;
        for (size_t i = 0; i <= done; i++)
            tile->starts[at + i] = before + worker->starts[i];
    }
    kg_rank_count *counters = r->counters + from;
    for (size_t i = 0; i < count; i++) {
        kg_offset_run offsets = {kg__score_offsets_from(&tile->offsets, tile->starts[i]),
                                 tile->starts[i + 1] - tile->starts[i]};
        counters[i] =
            kg__rank_counter(ranking, own.from + from + i, r->numbers + (from + i) * dim, offsets);
    }
    kg__rank_counts_start(counters, count, &ranking->blocks);
    for (size_t i = 0; i < count; i++)
        r->numbers[own.count * dim + from + i] = counters[i].answer_score;
    return KG_OK;
}

static kg_status embed(struct round *r, kg_error *error) {
    kg_status status = KG_OK;
#pragma omp parallel for schedule(dynamic) num_threads(r->ranking->threads)
    for (size_t i = 0; i < TILES; i++)
        r->tiles[i].status = embed_tile(r, i, &r->ranking->workers[omp_get_thread_num()]);
    for (size_t i = 0; i < TILES && status == KG_OK; i++)
        status = r->tiles[i].status;
    return status == KG_NO_MEMORY ? kg__fail_memory(error) : status;
}

/* ---- Questions to all ---- */

/* Offsets of all queries among candidates of `receiver`, and behind them how many each has. */
static kg_status pack_offsets(struct round *r, kg_message *out, size_t receiver, kg_error *error) {
    size_t count = own_share(r).count;
    size_t most = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        most += r->counters[i].offsets.count;
    kg_score_offset *items =
        kg__arena_take(&r->arena, 1, most * sizeof *items + count * sizeof(uint32_t));
    uint32_t *counts = kg__arena_take(&r->arena, count, sizeof *counts);
    if (items == NULL || counts == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        kg_offset_run run = r->counters[i].offsets;
        size_t before = kept;
        for (size_t k = 0; k < run.count; k++)
            if (kg__ranks_owner(r->ranks->count, run.items[k].entity) == receiver)
                items[kept++] = run.items[k];
        counts[i] = (uint32_t)(kept - before);
    }
    if (count > 0)
        memcpy(items + kept, counts, count * sizeof *counts);
    *out = (kg_message){items, kept * sizeof *items + count * sizeof *counts};
    return KG_OK;
}

static kg_status take_question(struct round *r, struct asked *asked, const kg_message *numbers,
                               const kg_message *offsets, kg_error *error) {
    size_t count = asked->share.count;
    size_t items = (offsets->size - count * sizeof(uint32_t)) / sizeof *asked->offsets;
    asked->vectors = numbers->bytes;
    asked->scores = asked->vectors + count * r->ranking->blocks.params.dim;
    asked->offsets = offsets->bytes;
    asked->starts = kg__arena_take(&r->arena, count + 1, sizeof *asked->starts);
    asked->counted = kg__arena_take(&r->arena, count, sizeof *asked->counted);
    if (asked->starts == NULL || asked->counted == NULL)
        return kg__fail_memory(error);
    const char *counts = (const char *)(asked->offsets + items);
    asked->starts[0] = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t own = 0;
        memcpy(&own, counts + i * sizeof own, sizeof own);
        asked->starts[i + 1] = asked->starts[i] + own;
    }
    return KG_OK;
}

/* What each has embedded goes to all, and to itself. */
static kg_status ask(struct round *r, kg_error *error) {
    size_t ranks = r->ranks->count;
    size_t dim = r->ranking->blocks.params.dim;
    kg_message *messages = kg__arena_take(&r->arena, 4 * ranks, sizeof *messages);
    if (messages == NULL)
        return kg__fail_memory(error);
    kg_message *numbers = messages + ranks;
    kg_message *offsets_out = numbers + ranks;
    kg_message *offsets = offsets_out + ranks;
    for (size_t i = 0; i < ranks; i++) {
        messages[i] = (kg_message){r->numbers, own_share(r).count * (dim + 1) * sizeof *r->numbers};
        KG_TRY(pack_offsets(r, &offsets_out[i], i, error));
    }
    KG_TRY(kg__ranks_exchange(r->ranks, numbers, messages, &r->arena, error));
    KG_TRY(kg__ranks_exchange(r->ranks, offsets, offsets_out, &r->arena, error));
    for (size_t i = 0; i < ranks; i++) {
        r->asked[i].share = share_of(r, i);
        KG_TRY(take_question(r, &r->asked[i], &numbers[i], &offsets[i], error));
    }
    return KG_OK;
}

/* ---- Counting ---- */

static void count_tile(struct round *r, const struct asked *asked, size_t tile,
                       kg_rank_worker *worker) {
    const kg_ranking *ranking = r->ranking;
    size_t dim = ranking->blocks.params.dim;
    size_t from = tile * KG_TILE < asked->share.count ? tile * KG_TILE : asked->share.count;
    size_t count = asked->share.count - from < KG_TILE ? asked->share.count - from : KG_TILE;
    for (size_t i = 0; i < count; i++) {
        size_t query = from + i;
        kg_offset_run offsets = {asked->offsets + asked->starts[query],
                                 asked->starts[query + 1] - asked->starts[query]};
        worker->counters[i] = kg__rank_counter(ranking, asked->share.from + query,
                                               asked->vectors + query * dim, offsets);
        worker->counters[i].answer_score = asked->scores[query];
    }
    kg__rank_counts_add(worker->counters, count, &ranking->blocks, &worker->approx,
                        r->ranks->number, r->ranks->count);
    for (size_t i = 0; i < count; i++) {
        const kg_rank_count *counter = &worker->counters[i];
        asked->counted[from + i] = (struct counted){counter->all, counter->left_out, counter->own};
    }
}

static void count(struct round *r) {
    size_t tiles = r->ranks->count * TILES;
#pragma omp parallel for schedule(dynamic) num_threads(r->ranking->threads)
    for (size_t i = 0; i < tiles; i++)
        count_tile(r, &r->asked[i / TILES], i % TILES, &r->ranking->workers[omp_get_thread_num()]);
}

static void add_tally(kg_tally *sum, kg_tally more) {
    sum->higher += more.higher;
    sum->equal += more.equal;
    sum->nonfinite += more.nonfinite;
}

/* Counts go back to where the queries are from, which has their ranks then. */
static kg_status answer(struct round *r, kg_error *error) {
    size_t ranks = r->ranks->count;
    struct share own = own_share(r);
    kg_message *out = kg__arena_take(&r->arena, 2 * ranks, sizeof *out);
    if (out == NULL)
        return kg__fail_memory(error);
    kg_message *in = out + ranks;
    for (size_t i = 0; i < ranks; i++)
        out[i] = (kg_message){r->asked[i].counted,
                              r->asked[i].share.count * sizeof *r->asked[i].counted};
    KG_TRY(kg__ranks_exchange(r->ranks, in, out, &r->arena, error));
    for (size_t i = 0; i < ranks; i++) {
        const struct counted *counted = in[i].bytes;
        for (size_t k = 0; k < own.count; k++) {
            add_tally(&r->counters[k].all, counted[k].all);
            add_tally(&r->counters[k].left_out, counted[k].left_out);
            add_tally(&r->counters[k].own, counted[k].own);
        }
    }
    kg__rank_counts_end(r->counters, own.count, &r->ranking->blocks);
    kg__rank_take(r->ranking, r->counters, own.from, own.count);
    return KG_OK;
}

/* ---- All of it ---- */

static kg_status run_round(struct round *r, kg_error *error) {
    const kg_queries *queries = r->ranking->queries;
    size_t total = queries->count / r->ranks->count;
    size_t done = r->number * ROUND;
    kg_status status = kg__rank_report(r->ranking, done < total ? done : total, total, error);
    KG_TRY(kg__ranks_agree(r->ranks, status, error));
    kg__arena_reset(&r->arena);
    KG_TRY(fetch_rows(r, error));
    KG_TRY(kg__ranks_agree(r->ranks, embed(r, error), error));
    KG_TRY(ask(r, error));
    count(r);
    return answer(r, error);
}

/* Gives all ranks what each has found for its queries. */
static kg_status share_ranks(struct round *r, double *ranks_of_queries, kg_error *error) {
    kg_ranks *ranks = r->ranks;
    size_t count = r->ranking->queries->count;
    kg_message *out = kg__arena_take(&r->arena, 2 * ranks->count, sizeof *out);
    if (out == NULL)
        return kg__fail_memory(error);
    kg_message *in = out + ranks->count;
    size_t from = kg__ranks_begin(ranks, ranks->number, count);
    size_t to = kg__ranks_begin(ranks, ranks->number + 1, count);
    for (size_t i = 0; i < ranks->count; i++)
        out[i] = (kg_message){ranks_of_queries + from, (to - from) * sizeof *ranks_of_queries};
    KG_TRY(kg__ranks_exchange(ranks, in, out, &r->arena, error));
    for (size_t i = 0; i < ranks->count; i++)
        if (i != ranks->number && in[i].size > 0)
            memcpy(ranks_of_queries + kg__ranks_begin(ranks, i, count), in[i].bytes, in[i].size);
    return KG_OK;
}

static kg_status run_rounds(struct round *r, kg_error *error) {
    const kg_ranking *ranking = r->ranking;
    size_t each = (ranking->queries->count + r->ranks->count - 1) / r->ranks->count;
    size_t most = each < ROUND ? each : ROUND;
    r->counters = kg__resize(NULL, most, sizeof *r->counters);
    r->numbers = kg__resize(NULL, most, (ranking->blocks.params.dim + 1) * sizeof *r->numbers);
    r->asked = kg__resize(NULL, r->ranks->count, sizeof *r->asked);
    bool good = r->counters != NULL && r->numbers != NULL && r->asked != NULL;
    KG_TRY(kg__ranks_agree(r->ranks, good ? KG_OK : kg__fail_memory(error), error));
    for (; r->number * ROUND < each; r->number++)
        KG_TRY(run_round(r, error));
    kg__arena_reset(&r->arena);
    KG_TRY(share_ranks(r, ranking->ranks, error));
    return ranking->own_ranks == NULL ? KG_OK : share_ranks(r, ranking->own_ranks, error);
}

kg_status kg__shared_rank(const kg_ranking *ranking, kg_error *error) {
    struct round round = {.ranking = ranking, .ranks = ranking->options->ranks};
    kg_status status = run_rounds(&round, error);
    for (size_t i = 0; i < TILES; i++)
        kg__score_offsets_free(&round.tiles[i].offsets);
    kg__free(round.counters);
    kg__free(round.numbers);
    kg__free(round.asked);
    kg__row_list_free(&round.rows);
    kg__arena_free(&round.arena);
    return status;
}
