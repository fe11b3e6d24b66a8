/* Some blocks of rows at a time, from their owners to the first rank. */
#include "train/gathered_rows.h"

#include <string.h>

#include "base/memory.h"

#define AT_ONCE ((size_t)1 << 22) /* numbers of a table that travel at once, about */

struct gathering {
    kg_ranks *ranks;
    const kg_row_table *table;
    kg_output *file; /* the first rank's */
    kg_arena arena;
};

/* The rows `from` up to `to` are whole blocks: those that this process owns, one behind the other.
 */
static kg_status pack(struct gathering *g, kg_message *out, size_t from, size_t to,
                      kg_error *error) {
    const kg_row_table *t = g->table;
    char *bytes = kg__arena_take(&g->arena, to - from, t->columns * sizeof(real));
    size_t at = 0;
    if (bytes == NULL)
        return kg__fail_memory(error);
    for (size_t row = from, count = 0; row < to; row += count) {
        count = kg__param_run(t->param, row);
        size_t size = count * t->columns * sizeof(real);
        if (!kg__param_owns(t->param, row))
            continue;
        memcpy(bytes + at, kg__row_table_at(t, row), size);
        at += size;
    }
    *out = (kg_message){bytes, at};
    return KG_OK;
}

/* Puts together what came from all. */
static kg_status write(const struct gathering *g, kg_message *in, size_t from, size_t to,
                       kg_error *error) {
    const kg_row_table *t = g->table;
    for (size_t row = from, count = 0; row < to; row += count) {
        count = kg__param_run(t->param, row);
        size_t size = count * t->columns * sizeof(real);
        kg_message *left = &in[kg__param_owner(t->param, row)];
        KG_TRY(kg__output_write(g->file, left->bytes, size, error));
        left->bytes = (const char *)left->bytes + size;
    }
    return KG_OK;
}

static kg_status gather_some(struct gathering *g, size_t from, size_t to, kg_error *error) {
    size_t ranks = g->ranks->count;
    kg__arena_reset(&g->arena);
    kg_message *out = kg__arena_take_zeroed(&g->arena, 2 * ranks, sizeof *out);
    if (out == NULL)
        return kg__fail_memory(error);
    KG_TRY(pack(g, &out[0], from, to, error));
    KG_TRY(kg__ranks_exchange(g->ranks, out + ranks, out, &g->arena, error));
    return g->file == NULL ? KG_OK : write(g, out + ranks, from, to, error);
}

static kg_status gather(struct gathering *g, kg_error *error) {
    const kg_row_table *t = g->table;
    size_t rows = (AT_ONCE / t->columns / KG_OWNED_ROWS + 1) * KG_OWNED_ROWS;
    for (size_t from = 0; from < t->param->rows; from += rows) {
        size_t left = t->param->rows - from;
        kg_status status = gather_some(g, from, from + (left < rows ? left : rows), error);
        KG_TRY(kg__ranks_agree(g->ranks, status, error));
    }
    return KG_OK;
}

kg_status kg__gathered_rows_make(kg_gathered_rows *out, kg_ranks *ranks, const kg_row_table *tables,
                                 size_t count, const char *beside, kg_error *error) {
    bool is_first = kg__ranks_first(ranks);
    *out = (kg_gathered_rows){0};
    kg_status status = is_first ? kg__output_open(&out->file, beside, beside, error) : KG_OK;
    KG_TRY(kg__ranks_agree(ranks, status, error));
    struct gathering g = {.ranks = ranks, .file = out->file};
    for (size_t i = 0; i < count && status == KG_OK; i++) {
        g.table = &tables[i];
        if (kg__param_is_sharded(tables[i].param))
            status = gather(&g, error);
    }
    kg__arena_free(&g.arena);
    KG_TRY(status);
    status = is_first ? kg__output_map(out->file, &out->mapping, error) : KG_OK;
    return kg__ranks_agree(ranks, status, error);
}

void kg__gathered_rows_close(kg_gathered_rows *gathered) {
    kg__mapping_close(&gathered->mapping);
    kg__output_close(gathered->file);
    *gathered = (kg_gathered_rows){0};
}
