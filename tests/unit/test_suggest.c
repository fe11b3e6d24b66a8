/* Names that may have been meant: what people mistype, and the order of what is found against a
 * slow twin that costs every name by the whole matrix of edit distances and sorts them all. */
#include "support.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "infer/name_suggestions.h"

static void intern(kg_names *names, const char *name) {
    kg_id id = 0;
    assert_ok(kg__names_intern(names, &id, kg__name_of(name, strlen(name)), NULL), NULL);
}

/* The suggestion for a word among names that are separated by spaces. */
static kg_suggestion suggest(const char *all, const char *word) {
    kg_names names = {0};
    char copy[512];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", all);
    for (char *name = strtok_r(copy, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
        intern(&names, name);
    kg_suggestion found = kg__suggest(&names, (kg_text){word, strlen(word)});
    kg__names_free(&names);
    return found;
}

static void test_examples(void **state) {
    (void)state;
    static const char synsets[] = "cat.n.01 dog.n.01 dog.n.02 dogma.n.01 Dog_Days.n.01 hot_dog";
    static const char relations[] = "_hypernym _hyponym _verb_group /people/person/nationality";
    static const char letters[] = "a b c ab";
    static const struct {
        const char *names, *word, *expected;
    } cases[] = {
        {synsets, "dog", ", did you mean 'dog.n.01', 'dog.n.02' or 'Dog_Days.n.01'?"},
        {synsets, "DOG.N.01", ", did you mean 'dog.n.01' or 'dog.n.02'?"},
        {synsets, "dog.n.1", ", did you mean 'dog.n.01' or 'dog.n.02'?"},
        {synsets, "dgo.n.02", ", did you mean 'dog.n.02' or 'dog.n.01'?"},
        {"doge.n.01 dong.n.01 dog.n.01", "dogg.n.01",
         ", did you mean 'doge.n.01', 'dog.n.01' or 'dong.n.01'?"},
        {synsets, "dog.n.01.extra", ", did you mean 'dog.n.01'?"},
        {synsets, "days.n.01", ", did you mean 'Dog_Days.n.01'?"},
        {synsets, "elephant.n.01", ""},
        {synsets, "", ""},
        {relations, "hypernym", ", did you mean '_hypernym'?"},
        {relations, "nationality", ", did you mean '/people/person/nationality'?"},
        {relations, "_hypernyms", ", did you mean '_hypernym'?"},
        {relations, "_ver", ", did you mean '_verb_group'?"},
        {letters, "ac", ", did you mean 'ab', 'a' or 'c'?"},
        {letters, "xyz", ""},
        {"", "dog", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(suggest(cases[i].names, cases[i].word).text, cases[i].expected);
}

/* Whatever the names are, the text is one printable line that is not cut. */
static void test_hostile_names(void **state) {
    (void)state;
    kg_names names = {0};
    char name[300];
    for (int i = 0; i < 3; i++) {
        memset(name, '\x1b', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        name[i] = '\xff';
        intern(&names, name);
    }
    name[2] = '\x1b';
    kg_suggestion found = kg__suggest(&names, (kg_text){name, 250});
    kg__names_free(&names);
    assert_non_null(strstr(found.text, "'\\xff\\x1b\\x1b"));
    assert_int_equal(found.text[strlen(found.text) - 1], '?');
    for (const char *c = found.text; *c != '\0'; c++)
        assert_in_range(*c, 0x20, 0x7e);
    intern(&names, "\x1b[31mred");
    found = kg__suggest(&names, (kg_text){"red", 3});
    assert_string_equal(found.text, ", did you mean '\\x1b[31mred'?");
    kg__names_free(&names);
}

static void test_longest_text(void **state) {
    (void)state;
    kg_names names = {0};
    char name[201] = {0};
    memset(name, 'x', 200);
    for (int i = 0; i < 3; i++) {
        name[199] = (char)('a' + i);
        intern(&names, name);
    }
    kg_suggestion found = kg__suggest(&names, (kg_text){name, 200});
    assert_true(strlen(found.text) > 3 * 90 && strlen(found.text) < sizeof found.text - 1);
    assert_int_equal(found.text[strlen(found.text) - 1], '?');
    kg__names_free(&names);
}

/* ---- The twin ---- */

struct costed {
    size_t cost, shared, difference, id;
};

static int compare(const void *a, const void *b) {
    const struct costed *one = a;
    const struct costed *other = b;
    if (one->cost != other->cost)
        return one->cost < other->cost ? -1 : 1;
    if (one->shared != other->shared)
        return one->shared > other->shared ? -1 : 1;
    if (one->difference != other->difference)
        return one->difference < other->difference ? -1 : 1;
    return one->id < other->id ? -1 : 1;
}

static void lower(char *out, const char *in) {
    do
        *out++ = (char)tolower(*in);
    while (*in++ != '\0');
}

/* 1: part of it, 2: and separated from the rest. */
static int affix(const char *shorter, const char *longer) {
    size_t n = strlen(shorter);
    size_t rest = strlen(longer) - n;
    bool in_front = strncmp(shorter, longer, n) == 0;
    bool at_end = strcmp(shorter, longer + rest) == 0;
    if (n < 3 || (!in_front && !at_end))
        return 0;
    return (in_front && !isalnum(longer[n])) || (at_end && !isalnum(longer[rest - 1])) ? 2 : 1;
}

static size_t cost_of(const char *word, const char *name) {
    char a[64];
    char b[64];
    lower(a, word);
    lower(b, name);
    size_t slips = kg__edit_distance(a, b);
    size_t allowed = strlen(a) < 4 ? 1 : strlen(a) < 8 ? 2 : 3;
    int is_affix = strlen(a) == strlen(b) ? 0 : strlen(a) < strlen(b) ? affix(a, b) : affix(b, a);
    if (slips == 0)
        return 0;
    if (is_affix == 2)
        return 1;
    if (slips <= allowed)
        return 2 * slips;
    return is_affix == 1 ? 2 * allowed + 2 : SIZE_MAX;
}

static void make_name(char out[16], uint64_t *random) {
    static const char letters[] = "abAB.";
    size_t length = 1 + next_below(random, 11);
    for (size_t i = 0; i < length; i++)
        out[i] = letters[next_below(random, 5)];
    out[length] = '\0';
}

static void test_like_twin(void **state) {
    (void)state;
    uint64_t random = 3;
    size_t found_any = 0;
    for (int round = 0; round < 3000; round++) {
        enum { MOST = 40 };
        kg_names names = {0};
        char word[16];
        struct costed costed[MOST];
        size_t near = 0;
        make_name(word, &random);
        for (size_t i = 0; i < MOST; i++) {
            char name[16];
            size_t before = names.count;
            make_name(name, &random);
            intern(&names, name);
            size_t cost = cost_of(word, name);
            size_t difference = (size_t)labs((long)strlen(name) - (long)strlen(word));
            size_t shared = 0;
            while (name[shared] != '\0' && tolower(name[shared]) == tolower(word[shared]))
                shared++;
            if (names.count > before && cost != SIZE_MAX)
                costed[near++] = (struct costed){cost, shared, difference, names.count - 1};
        }
        qsort(costed, near, sizeof *costed, compare);
        while (near > 0 && costed[near - 1].cost > costed[0].cost + 2)
            near--;
        kg_suggestions found = kg__suggestions_find(&names, (kg_text){word, strlen(word)});
        assert_int_equal(found.count, near < KG_MOST_SUGGESTIONS ? near : KG_MOST_SUGGESTIONS);
        for (size_t i = 0; i < found.count; i++)
            assert_int_equal(found.ids[i], costed[i].id);
        found_any += found.count > 0;
        kg__names_free(&names);
    }
    assert_in_range(found_any, 1000, 2999);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_longest_text),
        cmocka_unit_test(test_like_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
