/* Random numbers: against Philox4x32-10 written here from its paper, which itself must give the
 * answers that Random123 publishes; and the numbers made from it: in range, even, and different
 * from stream to stream. */
#include "support.h"

#include <math.h>

#include "base/random.h"

static const kg_stream streams[] = {KG_STREAM_SPLIT_UNSEEN, KG_STREAM_SPLIT_VALID,
                                    KG_STREAM_GENERATE_HEAD, KG_STREAM_GENERATE_RELATION,
                                    KG_STREAM_GENERATE_TAIL};

/* Salmon et al. 2011, section 4.3: ten rounds of two multiplications, and a key that is raised by
 * two constants from round to round. */
static void philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53 * c[0];
        uint64_t b = (uint64_t)0xcd9e8d57 * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k[0] += 0x9e3779b9;
        k[1] += 0xbb67ae85;
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

/* The seed is the key; the position and the stream are the counter; the lower half of what comes
 * out is the number. */
static uint64_t twin(uint64_t seed, kg_stream stream, uint64_t position) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)stream, 0};
    uint32_t out[4];
    philox(out, counter, key);
    return (uint64_t)out[1] << 32 | out[0];
}

/* Random123's file of known answers, philox4x32 with 10 rounds. */
static void test_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {UINT32_MAX, UINT32_MAX},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t found[4];
        philox(found, cases[i].counter, cases[i].key);
        assert_memory_equal(found, cases[i].expected, sizeof found);
    }
    assert_true(kg__random(0, (kg_stream)0, 0) == 0xe169c58d6627e8d5);
}

static void test_like_twin(void **state) {
    (void)state;
    static const uint64_t edges[] = {0, 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        for (size_t j = 0; j < COUNT_OF(edges); j++)
            for (size_t k = 0; k < COUNT_OF(streams); k++)
                assert_true(kg__random(edges[i], streams[k], edges[j]) ==
                            twin(edges[i], streams[k], edges[j]));
    uint64_t random = 3;
    for (int i = 0; i < 10000; i++) {
        uint64_t seed = next_random(&random);
        uint64_t position = next_random(&random);
        kg_stream stream = streams[next_below(&random, COUNT_OF(streams))];
        assert_true(kg__random(seed, stream, position) == twin(seed, stream, position));
    }
}

/* The streams' numbers are part of what a seed means: whoever changes one changes every split. */
static void test_streams_keep_their_numbers(void **state) {
    (void)state;
    assert_int_equal(KG_STREAM_SPLIT_UNSEEN, 1);
    assert_int_equal(KG_STREAM_SPLIT_VALID, 2);
    assert_int_equal(KG_STREAM_GENERATE_HEAD, 3);
    assert_int_equal(KG_STREAM_GENERATE_RELATION, 4);
    assert_int_equal(KG_STREAM_GENERATE_TAIL, 5);
}

/* Of 64 bits, two unrelated numbers share 32; over 10,000 positions the sum has a standard
 * deviation of 400. */
static void test_streams_and_seeds_are_unrelated(void **state) {
    (void)state;
    enum { POSITIONS = 10000 };
    for (size_t one = 0; one < COUNT_OF(streams); one++)
        for (size_t other = one; other < COUNT_OF(streams); other++)
            for (uint64_t seed = one == other ? 1 : 0; seed < 3; seed++) {
                int shared = 0;
                for (uint64_t i = 0; i < POSITIONS; i++)
                    shared += 64 - __builtin_popcountll(kg__random(0, streams[one], i) ^
                                                        kg__random(seed, streams[other], i));
                assert_in_range(shared, 32 * POSITIONS - 5 * 400, 32 * POSITIONS + 5 * 400);
            }
}

static void test_unit(void **state) {
    (void)state;
    double sum = 0;
    double squares = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double unit = kg__random_unit(9, KG_STREAM_SPLIT_UNSEEN, i);
        assert_true(unit >= 0 && unit < 1);
        /* 53 bits: scaled up, a whole number, and the upper bits of the one it is made of. */
        uint64_t bits = twin(9, KG_STREAM_SPLIT_UNSEEN, i);
        assert_true(unit * 0x1p53 == (double)(bits >> 11));
        sum += unit;
        squares += unit * unit;
    }
    assert_true(fabs(sum / 100000 - 0.5) < 5 * 0.2887 / sqrt(100000));
    assert_true(fabs(squares / 100000 - 1.0 / 3) < 5 * 0.2981 / sqrt(100000));
}

/* The upper half of a product of 128 bits, by the multiplication that children learn. */
static uint64_t upper_half(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a;
    uint64_t a1 = a >> 32;
    uint64_t b0 = (uint32_t)b;
    uint64_t b1 = b >> 32;
    uint64_t middle = (a0 * b0 >> 32) + (uint32_t)(a0 * b1) + (uint32_t)(a1 * b0);
    return a1 * b1 + (a0 * b1 >> 32) + (a1 * b0 >> 32) + (middle >> 32);
}

static void test_below(void **state) {
    (void)state;
    static const uint64_t bounds[] = {
        1, 2, 3, 10, 1000, (uint64_t)1 << 32, ((uint64_t)1 << 63) + 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(bounds); i++)
        for (uint64_t position = 0; position < 5000; position++) {
            uint64_t found = kg__random_below(bounds[i], 11, KG_STREAM_GENERATE_TAIL, position);
            assert_true(found < bounds[i]);
            assert_true(found ==
                        upper_half(twin(11, KG_STREAM_GENERATE_TAIL, position), bounds[i]));
        }
}

/* Chi-square over the values below a bound: its mean is bound - 1, its variance twice that. */
static void test_below_is_even(void **state) {
    (void)state;
    static const uint64_t bounds[] = {2, 7, 100, 1000};
    enum { DRAWS = 200000 };
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        uint64_t counts[1000] = {0};
        for (uint64_t position = 0; position < DRAWS; position++)
            counts[kg__random_below(bounds[i], 5, KG_STREAM_GENERATE_HEAD, position)]++;
        double expected = (double)DRAWS / (double)bounds[i];
        double chi_square = 0;
        for (uint64_t value = 0; value < bounds[i]; value++) {
            double difference = (double)counts[value] - expected;
            chi_square += difference * difference / expected;
        }
        double freedom = (double)bounds[i] - 1;
        assert_true(fabs(chi_square - freedom) < 5 * sqrt(2 * freedom) + 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_like_twin),
        cmocka_unit_test(test_streams_keep_their_numbers),
        cmocka_unit_test(test_streams_and_seeds_are_unrelated),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_below_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
