/* Requests and replies; and whole tables, some rows at a time. */
#include "train/row_exchange.h"

#include <string.h>

#include "base/memory.h"

#define AT_ONCE ((size_t)1 << 22) /* numbers of a table that travel at once, about */

void kg__row_exchange_close(kg_row_exchange *e) {
    kg__arena_free(&e->arena);
}

/* ---- What a step reads ---- */

/* Touched rows by owner, without own ones. */
static kg_status make_requests(kg_row_exchange *e, const kg_param *p, kg_message *out,
                               kg_error *error) {
    size_t ranks = e->ranks->count;
    uint32_t **rows = kg__arena_take(&e->arena, ranks, sizeof *rows);
    if (rows == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < ranks; i++) {
        rows[i] = kg__arena_take(&e->arena, p->touched.count, sizeof **rows);
        if (rows[i] == NULL)
            return kg__fail_memory(error);
        out[i] = (kg_message){.bytes = rows[i]};
    }
    for (size_t i = 0; i < p->touched.count; i++) {
        uint32_t row = p->touched.rows[i];
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

static kg_status fetch(kg_row_exchange *e, kg_param *p, uint64_t step, kg_error *error) {
    size_t ranks = e->ranks->count;
    kg_message *asked = kg__arena_take(&e->arena, 4 * ranks, sizeof *asked);
    if (asked == NULL)
        return kg__fail_memory(error);
    kg_message *requests = asked + ranks;
    kg_message *replies = requests + ranks;
    kg_message *values = replies + ranks;
    KG_TRY(make_requests(e, p, asked, error));
    KG_TRY(kg__ranks_exchange(e->ranks, requests, asked, &e->arena, error));
    for (size_t i = 0; i < ranks; i++)
        KG_TRY(make_reply(e, p, &replies[i], &requests[i], step, error));
    KG_TRY(kg__ranks_exchange(e->ranks, values, replies, &e->arena, error));
    for (size_t i = 0; i < ranks; i++)
        take_reply(p, &values[i], &asked[i]);
    return KG_OK;
}

kg_status kg__row_exchange_fetch(kg_row_exchange *e, uint64_t step, kg_error *error) {
    kg__arena_reset(&e->arena);
    for (size_t i = 0; i < e->list->count; i++)
        if (kg__param_is_sharded(&e->list->items[i]))
            KG_TRY(fetch(e, &e->list->items[i], step, error));
    return KG_OK;
}

/* ---- Whole tables ---- */

/* Copies the rows `from` up to `to` that `owner` has, between the table and a message. Returns the
 * number of bytes. */
static size_t copy_owned(const kg_param *p, size_t owner, size_t from, size_t to, real *table,
                         size_t columns, char *message, bool is_sent) {
    size_t size = columns * sizeof(real);
    size_t at = 0;
    for (size_t row = from; row < to; row++) {
        if (kg__param_owner(p, row) != owner)
            continue;
        if (is_sent)
            memcpy(message + at, table + row * columns, size);
        else
            memcpy(table + row * columns, message + at, size);
        at += size;
    }
    return at;
}

/* Gives the rows `from` up to `to` of a table to all ranks, or to the first alone. */
static kg_status share_rows(kg_row_exchange *e, const kg_param *p, real *table, size_t columns,
                            size_t from, size_t to, bool to_all, kg_error *error) {
    size_t ranks = e->ranks->count;
    size_t self = e->ranks->number;
    kg__arena_reset(&e->arena);
    kg_message *out = kg__arena_take(&e->arena, 2 * ranks, sizeof *out);
    char *own = kg__arena_take(&e->arena, to - from, columns * sizeof *table);
    if (out == NULL || own == NULL)
        return kg__fail_memory(error);
    kg_message *in = out + ranks;
    size_t size = copy_owned(p, self, from, to, table, columns, own, true);
    for (size_t i = 0; i < ranks; i++)
        out[i] = (kg_message){own, i != self && (to_all || i == 0) ? size : 0};
    KG_TRY(kg__ranks_exchange(e->ranks, in, out, &e->arena, error));
    for (size_t i = 0; i < ranks; i++)
        if (in[i].size > 0)
            copy_owned(p, i, from, to, table, columns, (char *)in[i].bytes, false);
    return KG_OK;
}

static kg_status share_table(kg_row_exchange *e, const kg_param *p, real *table, size_t columns,
                             bool to_all, kg_error *error) {
    size_t step = AT_ONCE / columns + 1;
    for (size_t from = 0; from < p->rows; from += step) {
        size_t to = p->rows - from < step ? p->rows : from + step;
        KG_TRY(share_rows(e, p, table, columns, from, to, to_all, error));
    }
    return KG_OK;
}

kg_status kg__row_exchange_values(kg_row_exchange *e, kg_error *error) {
    for (size_t i = 0; i < e->list->count; i++) {
        kg_param *p = &e->list->items[i];
        if (kg__param_is_sharded(p))
            KG_TRY(share_table(e, p, p->values, p->columns, true, error));
    }
    return KG_OK;
}

kg_status kg__row_exchange_states(kg_row_exchange *e, kg_error *error) {
    for (size_t i = 0; i < e->list->count; i++) {
        kg_param *p = &e->list->items[i];
        if (!kg__param_is_sharded(p))
            continue;
        KG_TRY(share_table(e, p, p->first, p->state, false, error));
        if (p->second != NULL)
            KG_TRY(share_table(e, p, p->second, p->columns, false, error));
    }
    return KG_OK;
}
