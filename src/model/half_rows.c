/* A state for each group of rows: the thread that changes it widens them, others wait. */
#include "model/half_rows.h"

#include <sched.h>

#include "base/memory.h"
#include "math/half.h"

#define GROUP 16 /* rows */

enum { NARROW, BEING_WIDENED, WIDE };

kg_status kg__half_rows_open(kg_half_rows *out, const uint16_t *halves, size_t count, size_t dim,
                             kg_error *error) {
    *out = (kg_half_rows){.halves = halves, .count = count, .dim = dim};
    KG_TRY(kg__mapping_reserve(&out->space, count * dim * sizeof(real), error));
    out->rows = (real *)(void *)out->space.bytes;
    out->states = kg__alloc((count + GROUP - 1) / GROUP, sizeof *out->states);
    return out->states == NULL ? kg__fail_memory(error) : KG_OK;
}

void kg__half_rows_close(kg_half_rows *half) {
    kg__mapping_close(&half->space);
    kg__free((void *)half->states);
    *half = (kg_half_rows){0};
}

static void widen(const kg_half_rows *half, size_t group) {
    size_t first = group * GROUP;
    size_t count = half->count - first < GROUP ? half->count - first : GROUP;
    unsigned char expected = NARROW;
    if (atomic_compare_exchange_strong(&half->states[group], &expected, BEING_WIDENED)) {
        kg__halves_widen(half->rows + first * half->dim, half->halves + first * half->dim,
                         count * half->dim);
        atomic_store_explicit(&half->states[group], WIDE, memory_order_release);
    }
    while (atomic_load_explicit(&half->states[group], memory_order_acquire) != WIDE)
        sched_yield();
}

void kg__half_rows_need(const kg_half_rows *half, size_t first, size_t count) {
    for (size_t group = first / GROUP; group <= (first + count - 1) / GROUP; group++)
        if (atomic_load_explicit(&half->states[group], memory_order_acquire) != WIDE)
            widen(half, group);
}
