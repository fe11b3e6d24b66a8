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

/* A part of one, which is in memory or in messages. */
struct part {
    size_t from;
    size_t to;
    char *bytes;
};

/* Copies rows that this process owns one behind the other; returns the number of bytes. */
static size_t pack(const kg_row_table *t, const struct part *part) {
    size_t at = 0;
    for (size_t row = part->from, count = 0; row < part->to; row += count) {
        count = kg__param_run(t->param, row);
        count = part->to - row < count ? part->to - row : count;
        size_t size = count * t->columns * sizeof(real);
        if (!kg__param_owns(t->param, row))
            continue;
        memcpy(part->bytes + at, kg__row_table_at(t, row), size);
        at += size;
    }
    return at;
}

/* Copies rows of `owner` from there to where `out` has the row part->from. */
static void unpack(real *out, const kg_row_table *t, const struct part *part, size_t owner) {
    size_t at = 0;
    for (size_t row = part->from, count = 0; row < part->to; row += count) {
        count = kg__param_run(t->param, row);
        count = part->to - row < count ? part->to - row : count;
        size_t size = count * t->columns * sizeof(real);
        if (kg__param_owner(t->param, row) != owner)
            continue;
        memcpy(out + (row - part->from) * t->columns, part->bytes + at, size);
        at += size;
    }
}

/* Gives the part, whose bytes are of no account, to the ranks up to `receivers`, which have it at
 * `out` then. */
static kg_status share(kg_row_exchange *e, real *out, const kg_row_table *t, struct part part,
                       size_t receivers, kg_error *error) {
    size_t ranks = e->ranks->count;
    size_t self = e->ranks->number;
    kg_message *messages = kg__arena_take(&e->arena, 2 * ranks, sizeof *messages);
    char *own = kg__arena_take(&e->arena, part.to - part.from, t->columns * sizeof(real));
    if (messages == NULL || own == NULL)
        return kg__fail_memory(error);
    part.bytes = own;
    size_t size = pack(t, &part);
    kg_message *in = messages + ranks;
    for (size_t i = 0; i < ranks; i++)
        messages[i] = (kg_message){own, i < receivers ? size : 0};
    KG_TRY(kg__ranks_exchange(e->ranks, in, messages, &e->arena, error));
    for (size_t i = 0; i < ranks && self < receivers; i++) {
        part.bytes = (char *)in[i].bytes;
        unpack(out, t, &part, i);
    }
    return KG_OK;
}

static struct part next_part(const kg_row_table *t, size_t from) {
    size_t rows = AT_ONCE / t->columns + 1;
    size_t left = t->param->rows - from;
    return (struct part){.from = from, .to = from + (left < rows ? left : rows)};
}

kg_status kg__row_exchange_values(kg_row_exchange *e, kg_error *error) {
    for (size_t i = 0; i < e->list->count; i++) {
        const kg_param *p = &e->list->items[i];
        kg_row_table t = {p, p->values, p->columns, false};
        for (size_t from = 0; from < p->rows && kg__param_is_sharded(p);) {
            struct part part = next_part(&t, from);
            kg__arena_reset(&e->arena);
            KG_TRY(share(e, p->values + from * p->columns, &t, part, e->ranks->count, error));
            from = part.to;
        }
    }
    return KG_OK;
}

static kg_status gather_part(kg_row_exchange *e, kg_output *file, const kg_row_table *t,
                             struct part part, kg_error *error) {
    size_t size = (part.to - part.from) * t->columns * sizeof(real);
    kg__arena_reset(&e->arena);
    real *all = file == NULL ? NULL : kg__arena_take(&e->arena, 1, size);
    if (file != NULL && all == NULL)
        return kg__fail_memory(error);
    KG_TRY(share(e, all, t, part, 1, error));
    return file == NULL ? KG_OK : kg__output_write(file, all, size, error);
}

kg_status kg__row_exchange_gather(kg_row_exchange *e, kg_output *file, const kg_row_table *t,
                                  kg_error *error) {
    for (size_t from = 0; from < t->param->rows;) {
        struct part part = next_part(t, from);
        kg_status status = gather_part(e, file, t, part, error);
        KG_TRY(kg__ranks_agree(e->ranks, status, error));
        from = part.to;
    }
    return KG_OK;
}
