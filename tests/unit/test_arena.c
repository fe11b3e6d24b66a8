/* Arenas: pieces are aligned, do not overlap and never move; a round allocates nothing once there
 * was one as large; and what is too large is refused without harm. */
#include "base/arena.h"

#include <string.h>

#include "support.h"
#include "too_large.h"

#define LINE 64
#define PIECES 400

typedef struct piece {
    unsigned char *bytes;
    size_t count;
    size_t size;
} piece;

static unsigned char mark(size_t number, size_t i) {
    return (unsigned char)(number * 37 + i * 11 + 1);
}

static void fill(const piece *p, size_t number) {
    for (size_t i = 0; i < p->count * p->size; i++)
        p->bytes[i] = mark(number, i);
}

static void check(const piece *p, size_t number) {
    for (size_t i = 0; i < p->count * p->size; i++)
        assert_int_equal(p->bytes[i], mark(number, i));
}

/* Small pieces, some of nothing, and now and then one that is larger than all before it. */
static void take(kg_arena *arena, piece *p, size_t number) {
    static const size_t counts[] = {1, 63, 64, 65, 0, 7, 1000};
    static const size_t sizes[] = {1, 4, 8, 24, 1};
    p->count = number % 100 == 99 ? 1000 * number : counts[number % COUNT_OF(counts)];
    p->size = sizes[number % COUNT_OF(sizes)];
    p->bytes = kg__arena_take(arena, p->count, p->size);
    assert_non_null(p->bytes);
    assert_int_equal((uintptr_t)p->bytes % LINE, 0);
}

/* If pieces overlapped, a later one would have written over an earlier one; if they moved, too. */
static void run_round(kg_arena *arena) {
    static piece pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        take(arena, &pieces[i], i);
        fill(&pieces[i], i);
    }
    for (size_t i = 0; i < PIECES; i++)
        check(&pieces[i], i);
    for (size_t i = 0; i < PIECES; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(pieces[i].bytes + pieces[i].count * pieces[i].size <= pieces[k].bytes ||
                        pieces[k].bytes + pieces[k].count * pieces[k].size <= pieces[i].bytes);
}

static void test_pieces(void **state) {
    (void)state;
    kg_arena arena = {0};
    run_round(&arena);
    assert_true(arena.size > 0);
    kg__arena_free(&arena);
    assert_null(arena.slabs);
    assert_int_equal(arena.size, 0);
    run_round(&arena); /* it can be used again */
    kg__arena_free(&arena);
    kg__arena_free(&arena);
}

/* The first round takes several slabs; what it took, the second has in one, and the third the same.
 */
static void test_reset_keeps_memory(void **state) {
    (void)state;
    kg_arena arena = {0};
    kg__arena_reset(&arena);
    run_round(&arena);
    size_t taken = arena.taken;
    kg__arena_reset(&arena);
    size_t size = arena.size;
    assert_in_range(size, taken, taken + taken / 8);
    const struct kg_slab *slab = arena.slabs;
    const char *first = arena.next;
    for (int round = 0; round < 3; round++) {
        assert_ptr_equal(arena.next, first);
        run_round(&arena);
        assert_ptr_equal(arena.slabs, slab);
        assert_int_equal(arena.size, size);
        kg__arena_reset(&arena);
    }
    kg__arena_free(&arena);
}

static void test_overflow(void **state) {
    (void)state;
    kg_arena arena = {0};
    for (int round = 0; round < 2; round++) { /* of an empty one, and then of one with a piece */
        for (size_t i = 0; i < COUNT_OF(too_large); i++) {
            assert_null(kg__arena_take(&arena, too_large[i].count, too_large[i].size));
            assert_null(kg__arena_take_zeroed(&arena, too_large[i].count, too_large[i].size));
        }
        piece before = {kg__arena_take(&arena, 100, 3), 100, 3};
        assert_non_null(before.bytes);
        fill(&before, 1);
        for (size_t i = 0; i < COUNT_OF(too_large); i++)
            assert_null(kg__arena_take(&arena, too_large[i].count, too_large[i].size));
        check(&before, 1);
    }
    run_round(&arena);
    kg__arena_free(&arena);
}

static void test_zeroed(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 63, 64, 65, 4096, 100000};
    kg_arena arena = {0};
    for (int round = 0; round < 3; round++) { /* memory is new at first, then dirty */
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            unsigned char *bytes = kg__arena_take_zeroed(&arena, sizes[i], 3);
            assert_non_null(bytes);
            assert_int_equal((uintptr_t)bytes % LINE, 0);
            for (size_t k = 0; k < 3 * sizes[i]; k++)
                assert_int_equal(bytes[k], 0);
            memset(bytes, 0x5a, 3 * sizes[i]);
        }
        kg__arena_reset(&arena);
    }
    kg__arena_free(&arena);
}

/* NULL says that memory is short, which it is not. */
static void test_pieces_of_nothing(void **state) {
    (void)state;
    kg_arena arena = {0};
    assert_non_null(kg__arena_take(&arena, 0, 8));
    assert_non_null(kg__arena_take(&arena, 8, 0));
    assert_non_null(kg__arena_take_zeroed(&arena, 0, SIZE_MAX));
    kg__arena_reset(&arena);
    assert_non_null(kg__arena_take(&arena, SIZE_MAX, 0));
    kg__arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_reset_keeps_memory),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_zeroed),
        cmocka_unit_test(test_pieces_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
