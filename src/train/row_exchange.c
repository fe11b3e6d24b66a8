/* Requests and replies, by owner. */
#include "train/row_exchange.h"

#include <string.h>

#include "base/memory.h"

#define PAGE ((size_t)4096) /* which one row that was fetched takes, about */

/* Rows, all different. */
struct wanted {
    const uint32_t *rows;
    size_t count;
    uint64_t step; /* up to which they are to take steps */
};

void kg__row_exchange_close(kg_row_exchange *e) {
    kg__arena_free(&e->arena);
}

/* By owner, without own ones. */
static kg_status make_requests(kg_row_exchange *e, const kg_param *p, const struct wanted *wanted,
                               kg_message *out, kg_error *error) {
    size_t ranks = e->ranks->count;
    uint32_t **rows = kg__arena_take(&e->arena, ranks, sizeof *rows);
    if (rows == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < ranks; i++) {
        rows[i] = kg__arena_take(&e->arena, wanted->count, sizeof **rows);
        if (rows[i] == NULL)
            return kg__fail_memory(error);
        out[i] = (kg_message){.bytes = rows[i]};
    }
    for (size_t i = 0; i < wanted->count; i++) {
        uint32_t row = wanted->rows[i];
        size_t owner = kg__param_owner(p, row);
        if (owner != e->ranks->number)
            rows[owner][out[owner].size++] = row;
    }
    for (size_t i = 0; i < ranks; i++)
        out[i].size *= sizeof **rows;
    return KG_OK;
}

static kg_status make_reply(kg_row_exchange *e, kg_param *p, kg_message *out,
                            const kg_message *request, uint64_t step, kg_error *error) {
    const uint32_t *rows = request->bytes;
    size_t count = request->size / sizeof *rows;
    size_t size = p->columns * sizeof(real);
    char *values = kg__arena_take(&e->arena, count, size);
    if (values == NULL)
        return kg__fail_memory(error);
    kg__param_catch_up_rows(p, rows, count, step, e->list->threads);
    for (size_t i = 0; i < count; i++)
        memcpy(values + i * size, p->values + rows[i] * p->columns, size);
    *out = (kg_message){values, count * size};
    return KG_OK;
}

static void take_reply(kg_param *p, const kg_message *reply, const kg_message *request) {
    const uint32_t *rows = request->bytes;
    size_t size = p->columns * sizeof(real);
    for (size_t i = 0; i < request->size / sizeof *rows; i++)
        memcpy(p->values + rows[i] * p->columns, (const char *)reply->bytes + i * size, size);
}

/* Whatever was fetched before is of no use any more. */
static void make_room(kg_param *p, const kg_message *requests, size_t ranks) {
    size_t row = p->columns * sizeof *p->values;
    size_t each = (row + PAGE - 1) / PAGE * PAGE;
    size_t share = p->kept * row / KG_FETCHED_SHARE;
    size_t limit = share < KG_FETCHED ? KG_FETCHED : share;
    size_t count = 0;
    for (size_t i = 0; i < ranks; i++)
        count += requests[i].size / sizeof(uint32_t);
    if ((p->fetched + count) * each > limit)
        kg__param_forget_fetched(p);
    p->fetched += count;
}

static kg_status fetch(kg_row_exchange *e, kg_param *p, const struct wanted *wanted,
                       kg_error *error) {
    size_t ranks = e->ranks->count;
    kg_message *asked = kg__arena_take(&e->arena, 4 * ranks, sizeof *asked);
    if (asked == NULL)
        return kg__fail_memory(error);
    kg_message *requests = asked + ranks;
    kg_message *replies = requests + ranks;
    kg_message *values = replies + ranks;
    KG_TRY(make_requests(e, p, wanted, asked, error));
    make_room(p, asked, ranks);
    KG_TRY(kg__ranks_exchange(e->ranks, requests, asked, &e->arena, error));
    for (size_t i = 0; i < ranks; i++)
        KG_TRY(make_reply(e, p, &replies[i], &requests[i], wanted->step, error));
    KG_TRY(kg__ranks_exchange(e->ranks, values, replies, &e->arena, error));
    for (size_t i = 0; i < ranks; i++)
        take_reply(p, &values[i], &asked[i]);
    return KG_OK;
}

kg_status kg__row_exchange_fetch(kg_row_exchange *e, uint64_t step, kg_error *error) {
    kg__arena_reset(&e->arena);
    for (size_t i = 0; i < e->list->count; i++) {
        kg_param *p = &e->list->items[i];
        struct wanted wanted = {p->touched.rows, p->touched.count, step};
        if (kg__param_is_sharded(p))
            KG_TRY(fetch(e, p, &wanted, error));
    }
    return KG_OK;
}

kg_status kg__row_exchange_fetch_rows(kg_row_exchange *e, size_t param, const uint32_t *rows,
                                      size_t count, kg_error *error) {
    struct wanted wanted = {rows, count, 0};
    kg__arena_reset(&e->arena);
    return fetch(e, &e->list->items[param], &wanted, error);
}
