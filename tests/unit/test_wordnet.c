/* The WordNet reader: the real database where it is installed, and small ones made by hand for
 * what the real one does not have, above all mistakes. The numbers were counted by a program that
 * shares nothing with the reader. */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORDNET "/usr/share/wordnet"

enum { INDEX_NOUN, DATA_NOUN, INDEX_VERB, DATA_VERB, INDEX_ADJ, DATA_ADJ, INDEX_ADV, DATA_ADV };

/* What reading came to. */
struct result {
    kg_dataset dataset;
    kg_reader reader;
    kg_status status;
    kg_error error;
};

static void read_inputs(struct result *result, kg_input *inputs[KG_WORDNET_FILES],
                        bool keep_inverses, const kg_progress *progress) {
    assert_int_equal(kg__dataset_open(&result->dataset, NULL), KG_OK);
    result->error = (kg_error){0};
    result->reader = (kg_reader){
        .dataset = &result->dataset, .options.keep_inverses = keep_inverses, .progress = progress};
    result->status = kg__read_wordnet(&result->reader, inputs, &result->error);
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        kg__input_close(inputs[i]);
}

static void read_files(struct result *result, const text files[KG_WORDNET_FILES],
                       bool keep_inverses, const kg_progress *progress) {
    kg_input *inputs[KG_WORDNET_FILES];
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        inputs[i] = open_text(files[i], kg__wordnet_files[i]);
    read_inputs(result, inputs, keep_inverses, progress);
}

/* False where WordNet is not installed. */
static bool read_real(struct result *result, bool keep_inverses) {
    kg_input *inputs[KG_WORDNET_FILES];
    for (size_t i = 0; i < KG_WORDNET_FILES; i++) {
        char path[256];
        snprintf(path, sizeof path, WORDNET "/%s", kg__wordnet_files[i]);
        if (i == 0 && access(path, R_OK) != 0)
            return false;
        assert_int_equal(kg__input_open(&inputs[i], path, KG_ANY_CODING, NULL), KG_OK);
    }
    read_inputs(result, inputs, keep_inverses, NULL);
    assert_int_equal(result->status, KG_OK);
    assert_int_equal(kg__dataset_finish(&result->dataset, NULL), KG_OK);
    return true;
}

static size_t count_facts(const kg_dataset *dataset, const char *head, const char *relation,
                          const char *tail) {
    const kg_triples *facts = &dataset->parts[KG_TRAIN];
    kg_id head_id = find_name(&dataset->entities, head);
    kg_id relation_id = find_name(&dataset->relations, relation);
    kg_id tail_id = find_name(&dataset->entities, tail);
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++)
        count += facts->items[i].head == head_id && facts->items[i].relation == relation_id &&
                 facts->items[i].tail == tail_id;
    return count;
}

static size_t count_relation(const kg_dataset *dataset, const char *relation) {
    const kg_triples *facts = &dataset->parts[KG_TRAIN];
    kg_id id = find_name(&dataset->relations, relation);
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++)
        count += facts->items[i].relation == id;
    return count;
}

/* Facts without duplicates; what is kept only on request is half of an inverse pair. */
static const struct {
    const char *relation;
    size_t count;
    bool on_request;
} real_counts[] = {
    {"antonym", 7604, false},
    {"hypernym", 89089, false},
    {"instance_hypernym", 8577, false},
    {"hyponym", 89089, true},
    {"instance_hyponym", 8577, true},
    {"member_holonym", 12293, true},
    {"substance_holonym", 797, true},
    {"part_holonym", 9097, true},
    {"member_meronym", 12293, false},
    {"substance_meronym", 797, false},
    {"part_meronym", 9097, false},
    {"attribute", 1278, false},
    {"derivationally_related_form", 63658, false},
    {"synset_domain_topic_of", 6653, false},
    {"member_of_domain_topic", 6653, true},
    {"synset_domain_region_of", 1357, true},
    {"member_of_domain_region", 1357, false},
    {"synset_domain_usage_of", 1287, true},
    {"member_of_domain_usage", 1287, false},
    {"entailment", 408, false},
    {"cause", 220, false},
    {"also_see", 3220, false},
    {"verb_group", 1750, false},
    {"similar_to", 21386, false},
    {"participle_of_verb", 61, false},
    {"pertainym", 3785, false},
    {"derived_from_adjective", 2882, false},
};
#define REAL_RELATIONS COUNT_OF(real_counts)

static void test_real_counts(void **state) {
    (void)state;
    struct result result;
    if (!read_real(&result, false))
        skip();
    const kg_dataset *dataset = &result.dataset;
    assert_int_equal(dataset->entities.count, 116650); /* 1,009 of 117,659 have no pointers */
    assert_int_equal(dataset->relations.count, 19);
    assert_int_equal(dataset->parts[KG_TRAIN].count, 235402);
    assert_int_equal(dataset->duplicates[KG_TRAIN], 248349 - 235402);
    assert_int_equal(result.reader.counts.inverses, 129243);
    for (size_t i = 0; i < REAL_RELATIONS; i++)
        assert_int_equal(count_relation(dataset, real_counts[i].relation),
                         real_counts[i].on_request ? 0 : real_counts[i].count);
    kg__dataset_close(&result.dataset);
}

static void test_real_counts_with_inverses(void **state) {
    (void)state;
    struct result result;
    if (!read_real(&result, true))
        skip();
    const kg_dataset *dataset = &result.dataset;
    assert_int_equal(dataset->entities.count, 116650); /* so no synset is lost without them */
    assert_int_equal(dataset->relations.count, REAL_RELATIONS);
    assert_int_equal(dataset->parts[KG_TRAIN].count, 364552);
    assert_int_equal(result.reader.counts.inverses, 0);
    for (size_t i = 0; i < REAL_RELATIONS; i++)
        assert_int_equal(count_relation(dataset, real_counts[i].relation), real_counts[i].count);
    assert_int_equal(count_facts(dataset, "canine.n.02", "hyponym", "dog.n.01"), 1);
    assert_int_equal(count_facts(dataset, "dog.n.01", "member_holonym", "pack.n.06"), 1);
    kg__dataset_close(&result.dataset);
}

static void test_real_facts(void **state) {
    (void)state;
    static const char *const facts[][3] = {
        {"dog.n.01", "hypernym", "canine.n.02"},
        {"dog.n.01", "hypernym", "domestic_animal.n.01"},
        {"dog.n.01", "part_meronym", "flag.n.07"},
        {"pack.n.06", "member_meronym", "dog.n.01"},
        {"einstein.n.01", "instance_hypernym", "physicist.n.01"},
        {"breathe.v.01", "entailment", "inhale.v.02"},
        {"kill.v.01", "cause", "die.v.01"},
        {"able.a.01", "antonym", "unable.a.01"},
        {"galore.s.01", "similar_to", "many.a.01"}, /* "galore(ip)" in the file */
        {"quickly.r.01", "derived_from_adjective", "quick.s.01"},
    };
    struct result result;
    if (!read_real(&result, false))
        skip();
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        assert_int_equal(count_facts(&result.dataset, facts[i][0], facts[i][1], facts[i][2]), 1);
    assert_name(&result.dataset.entities, 0, "physical_entity.n.01"); /* file order */
    assert_name(&result.dataset.entities, 1, "entity.n.01");
    kg__dataset_close(&result.dataset);
}

/* Everything that the reader has to cope with, in a few lines. */
static const text small[KG_WORDNET_FILES] = {
    [INDEX_NOUN] = TEXT_FIELD("  1 This software and database\n"
                              "  2 is being provided\n"
                              "canine n 2 1 ~ 2 0 00000009 00000001  \n"
                              "dog n 1 2 @ + 1 1 00000002  \n"
                              "hot_dog n 1 0 1 0 00000003\n"),
    [DATA_NOUN] = TEXT_FIELD("  1 This software and database\n"
                             "00000001 05 n 01 canine 0 001 ~ 00000002 n 0000 | tooth | and jaw  \n"
                             "00000002 05 n 02 Dog 0 hound a 003 @ 00000001 n 0000 "
                             "+ 00000001 v 0101 + 00000001 v 0201 | barks\n"
                             "00000003 13 n 01 Hot_Dog 0 000 | with mustard\n"),
    [INDEX_VERB] = TEXT_FIELD("dog v 1 1 + 1 0 00000001\n"
                              "tail v 1 1 $ 1 0 00000002\n"),
    [DATA_VERB] =
        TEXT_FIELD("00000001 38 v 01 dog 0 001 + 00000002 n 0101 02 + 08 00 + 11 01 | go\n"
                   "00000002 38 v 01 tail 0 001 $ 00000001 v 0000 | without frames\n"),
    [INDEX_ADJ] = TEXT_FIELD("cute a 2 1 \\ 2 0 00000002 00000001\n"),
    [DATA_ADJ] = TEXT_FIELD("00000001 00 a 01 cute(a) 0 001 \\ 00000002 n 0000 | one\r\n"
                            "00000002 00 s 01 cute(ip) 0 001 & 00000001 s 0000 | other\r\n"),
    [INDEX_ADV] = TEXT_FIELD("cutely r 1 1 \\ 1 0 00000001\n"),
    [DATA_ADV] = TEXT_FIELD("00000001 02 r 01 cutely 0 001 \\ 00000002 a 0101 | so"),
};

static void test_small(void **state) {
    (void)state;
    static const char *const facts[][3] = {
        {"dog.n.01", "hypernym", "canine.n.02"},
        {"dog.n.01", "derivationally_related_form", "dog.v.01"},
        {"dog.n.01", "derivationally_related_form", "dog.v.01"},
        {"dog.v.01", "derivationally_related_form", "dog.n.01"},
        {"tail.v.01", "verb_group", "dog.v.01"},
        {"cute.a.02", "pertainym", "dog.n.01"},
        {"cute.s.01", "similar_to", "cute.a.02"},
        {"cutely.r.01", "derived_from_adjective", "cute.s.01"},
    };
    struct result result;
    read_files(&result, small, false, NULL);
    assert_int_equal(result.status, KG_OK);
    assert_int_equal(result.reader.counts.inverses, 1);
    const kg_dataset *dataset = &result.dataset;
    const kg_triples *found = &dataset->parts[KG_TRAIN];
    assert_int_equal(found->count, COUNT_OF(facts));
    for (size_t i = 0; i < found->count; i++) {
        assert_name(&dataset->entities, found->items[i].head, facts[i][0]);
        assert_int_equal(found->items[i].relation, find_name(&dataset->relations, facts[i][1]));
        assert_name(&dataset->entities, found->items[i].tail, facts[i][2]);
    }
    kg__dataset_close(&result.dataset);
}

static void test_small_with_inverses(void **state) {
    (void)state;
    struct result result;
    read_files(&result, small, true, NULL);
    assert_int_equal(result.status, KG_OK);
    assert_int_equal(result.reader.counts.inverses, 0);
    assert_int_equal(result.dataset.parts[KG_TRAIN].count, 9);
    assert_int_equal(count_facts(&result.dataset, "canine.n.02", "hyponym", "dog.n.01"), 1);
    kg__dataset_close(&result.dataset);
}

static void test_many_senses(void **state) {
    (void)state;
    char index[2048] = "run n 101 0 101 0";
    size_t length = strlen(index);
    for (int i = 1; i <= 101; i++)
        length +=
            (size_t)snprintf(index + length, sizeof index - length, " %08d", i % 101); /* 0 last */
    text files[KG_WORDNET_FILES] = {
        [INDEX_NOUN] = {index, length},
        [DATA_NOUN] = TEXT_FIELD("00000009 05 n 01 run 0 001 ! 00000000 n 0000 | ninth\n"
                                 "00000000 05 n 01 run 0 000 | last\n"),
    };
    struct result result;
    read_files(&result, files, false, NULL);
    assert_int_equal(result.status, KG_OK);
    assert_int_equal(count_facts(&result.dataset, "run.n.09", "antonym", "run.n.101"), 1);
    kg__dataset_close(&result.dataset);
}

static void test_synset_listed_twice(void **state) {
    (void)state;
    text files[KG_WORDNET_FILES] = {
        [INDEX_NOUN] = TEXT_FIELD("dog n 3 0 3 0 00000002 00000001 00000001\n"),
        [DATA_NOUN] = TEXT_FIELD("00000001 05 n 01 dog 0 001 + 00000001 n 0101 | x\n"),
    };
    struct result result;
    read_files(&result, files, false, NULL);
    assert_int_equal(result.status, KG_OK);
    assert_name(&result.dataset.entities, 0, "dog.n.02");
    kg__dataset_close(&result.dataset);
}

/* The small database with one file replaced, and the one line that people get to see. */
static void assert_mistake(size_t number, text file, const char *expected) {
    text files[KG_WORDNET_FILES];
    memcpy(files, small, sizeof files);
    files[number] = file;
    struct result result;
    read_files(&result, files, false, NULL);
    assert_error_text(&result.error, expected);
    assert_int_equal(result.status, KG_BAD_INPUT);
    kg__dataset_close(&result.dataset);
}
#define MISTAKE(number, content, expected) assert_mistake(number, TEXT(content), expected)

static void test_malformed_index(void **state) {
    (void)state;
    MISTAKE(INDEX_NOUN, "\n",
            "index.noun:1: expected a word of 1 to 255 bytes, found the end of "
            "the line");
    MISTAKE(INDEX_NOUN, "  1\ndog",
            "index.noun:2: expected the part of speech of the file, found "
            "the end of the line");
    MISTAKE(INDEX_NOUN, "dog v 1 0 1 1 00000002",
            "index.noun:1:5: expected the part of speech of the file, found 'v'");
    MISTAKE(INDEX_NOUN, "dog n x 0 1 1 00000002",
            "index.noun:1:7: expected the number of synsets, found 'x'");
    MISTAKE(INDEX_NOUN, "dog n 1 99999999 @ ~",
            "index.noun:1: expected a pointer symbol, found the end of the line");
    MISTAKE(INDEX_NOUN, "dog n 1 123456789 @ 1 1 00000002",
            "index.noun:1:9: expected the number of pointer symbols, found '123456789'");
    MISTAKE(INDEX_NOUN, "dog n 1 0 -1 1 00000002",
            "index.noun:1:11: expected the number of senses, found '-1'");
    MISTAKE(INDEX_NOUN, "dog n 1 0 1  00000002",
            "index.noun:1:13: expected the number of tagged senses, found ''");
    MISTAKE(INDEX_NOUN, "dog n 2 0 2 1 00000002  ",
            "index.noun:1:24: expected a synset offset of 8 digits, found ''");
    MISTAKE(INDEX_NOUN, "dog n 2 0 2 1 00000002",
            "index.noun:1: expected a synset offset of 8 digits, found the end of the line");
    MISTAKE(INDEX_NOUN, "dog n 1 0 1 1 2",
            "index.noun:1:15: expected a synset offset of 8 digits, found '2'");
    MISTAKE(INDEX_NOUN, "dog n 1 0 1 1 0000000a",
            "index.noun:1:15: expected a synset offset of 8 digits, found '0000000a'");
    MISTAKE(INDEX_NOUN, "dog n 1 0 1 1 00000002 00000003",
            "index.noun:1:24: expected the end of the line, found '00000003'");
}

static void test_malformed_synset(void **state) {
    (void)state;
    MISTAKE(DATA_NOUN, "  1\n\n",
            "data.noun:2: expected a synset offset of 8 digits, found the end of the line");
    MISTAKE(DATA_NOUN, "000000001 05 n 01 canine 0 000 | x",
            "data.noun:1:1: expected a synset offset of 8 digits, found '000000001'");
    MISTAKE(DATA_NOUN, "00000001 5x n 01 canine 0 000 | x",
            "data.noun:1:10: expected the number of a lexicographer file, found '5x'");
    MISTAKE(DATA_NOUN, "00000001 05 v 01 canine 0 000 | x",
            "data.noun:1:13: expected synset type n, found 'v'");
    MISTAKE(DATA_ADJ, "00000001 05 as 01 cute 0 000 | x",
            "data.adj:1:13: expected synset type a or s, found 'as'");
    MISTAKE(DATA_ADV, "00000001 05 \0 01 cute 0 000 | x",
            "data.adv:1:13: expected synset type r, found '\\x00'");
    MISTAKE(DATA_NOUN, "00000001 05 n 0g canine 0 000 | x",
            "data.noun:1:15: expected the number of words in hexadecimal, found '0g'");
    MISTAKE(DATA_NOUN, "00000001 05 n 00 000 | x",
            "data.noun:1: expected at least one word, found none");
    MISTAKE(DATA_NOUN, "00000001 05 n ffffffff canine 0",
            "data.noun:1: expected a word of 1 to 255 bytes, found the end of the line");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine",
            "data.noun:1: expected a lex_id in hexadecimal, found the end of the line");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 can\tine 0 000 | x",
            "data.noun:1:18: expected a word without control characters, found 'can\\x09ine'");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 can\0ine 0 000 | x",
            "data.noun:1:18: expected a word without control characters, found 'can\\x00ine'");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 one | x",
            "data.noun:1:27: expected the number of pointers, found 'one'");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 000 & x",
            "data.noun:1:31: expected a gloss with '|', found '&'");
    MISTAKE(DATA_VERB, "00000001 38 v 01 dog 0 000 x",
            "data.verb:1:28: expected the number of sentence frames or a gloss, found 'x'");
    MISTAKE(DATA_VERB, "00000001 38 v 01 dog 0 000 02 + 08 00 | x",
            "data.verb:1:39: expected a sentence frame with '+', found '|'");
    MISTAKE(DATA_VERB, "00000001 38 v 01 dog 0 000 01 + 08",
            "data.verb:1: expected the number of a word in hexadecimal, found the end of the line");
}

static void test_long_word(void **state) {
    (void)state;
    char index[400];
    char data[400];
    text files[KG_WORDNET_FILES] = {[INDEX_NOUN].bytes = index, [DATA_NOUN].bytes = data};
    for (int length = 255; length <= 256; length++) {
        files[INDEX_NOUN].length =
            (size_t)snprintf(index, sizeof index, "%0*d n 1 0 1 0 00000001", length, 0);
        files[DATA_NOUN].length = (size_t)snprintf(
            data, sizeof data, "00000001 05 n 01 %0*d 0 001 + 00000001 n 0000 | zeroes", length, 0);
        struct result result;
        read_files(&result, files, false, NULL);
        assert_int_equal(result.status, length == 255 ? KG_OK : KG_BAD_INPUT);
        kg__dataset_close(&result.dataset);
    }
}

static void test_malformed_pointer(void **state) {
    (void)state;
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 001 | x",
            "data.noun:1:31: expected a pointer symbol of nouns, found '|'");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 001 @@ 00000001 n 0000 | x",
            "data.noun:1:31: expected a pointer symbol of nouns, found '@@'");
    MISTAKE(DATA_VERB, "00000001 38 v 01 dog 0 001 @i 00000001 n 0000 | x",
            "data.verb:1:28: expected a pointer symbol of verbs, found '@i'");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 001 @ 1 n 0000 | x",
            "data.noun:1:33: expected a synset offset of 8 digits, found '1'");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 001 @ 00000001 x 0000 | x",
            "data.noun:1:42: expected a part of speech (n, v, a, s or r), found 'x'");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 001 @ 00000001 n",
            "data.noun:1: expected source and target words in hexadecimal, found the end of the "
            "line");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 canine 0 001 @ 00000001 n 0000 @ 00000001 n 0000 | x",
            "data.noun:1:49: expected a gloss with '|', found '@'");
}

static void test_inconsistent(void **state) {
    (void)state;
    MISTAKE(DATA_ADV, "00000001 02 r 01 cutely 0 001 \\ 00000007 s 0101 | so",
            "data.adv:1: expected pointers to synsets that exist, found one to 00000007 a");
    MISTAKE(DATA_NOUN,
            "00000001 05 n 01 canine 0 001 ~ 00000009 n 0000 | left out, but wrong\n"
            "00000002 05 n 01 dog 0 000 | x",
            "data.noun:1: expected pointers to synsets that exist, found one to 00000009 n");
    MISTAKE(DATA_NOUN, "00000001 05 n 01 dog 0 000 | x",
            "data.noun:1: expected that index.noun lists synset 00000001 for 'dog', found that it "
            "does not");
    MISTAKE(DATA_NOUN,
            "00000001 05 n 01 canine 0 000 | x\n"
            "00000001 05 n 01 canine 0 000 | x",
            "data.noun:2: expected each synset once, found 00000001 again");
    MISTAKE(INDEX_ADJ,
            "cute a 1 0 1 0 00000001\n"
            "Cute a 1 0 1 0 00000002",
            "data.adj:2: expected that index.adj lists synset 00000002 for 'cute', found that it "
            "does not");
}

static void test_word_in_index_twice(void **state) {
    (void)state;
    text files[KG_WORDNET_FILES] = {
        [INDEX_NOUN] = TEXT_FIELD("dog n 1 0 1 0 00000001\ndog n 1 0 1 0 00000002\n"),
        [DATA_NOUN] =
            TEXT_FIELD("00000001 05 n 01 dog 0 000 | x\n00000002 05 n 01 dog 0 000 | y\n"),
    };
    struct result result;
    read_files(&result, files, false, NULL);
    assert_error_text(&result.error,
                      "data.noun:2: expected a sense of its own, found a second synset that is "
                      "'dog.n.01' (is the word in the index twice?)");
    kg__dataset_close(&result.dataset);
}

static void test_nothing(void **state) {
    (void)state;
    text files[KG_WORDNET_FILES] = {[DATA_NOUN] = TEXT_FIELD("  1 only the licence\n")};
    struct result result;
    read_files(&result, files, false, NULL);
    assert_error_text(&result.error,
                      "data.noun: expected synsets, found none (nor in the other data files)");
    assert_int_equal(result.status, KG_BAD_INPUT);
    kg__dataset_close(&result.dataset);
}

static bool stop_at_verbs(void *payload, const kg_progress_report *report) {
    (void)payload;
    return strcmp(report->stage, "reading data.verb") != 0;
}

static void test_cancelled(void **state) {
    (void)state;
    kg_progress progress = {stop_at_verbs, NULL};
    struct result result;
    read_files(&result, small, false, &progress);
    assert_int_equal(result.status, KG_CANCELLED);
    assert_int_equal(result.dataset.parts[KG_TRAIN].count, 0);
    kg__dataset_close(&result.dataset);
}

/* The reader does not know that a fact of an unseen part needs a known end; the place it does. */
static void test_refused_by_dataset(void **state) {
    (void)state;
    kg_input *inputs[KG_WORDNET_FILES];
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        inputs[i] = open_text(small[i], kg__wordnet_files[i]);
    kg_dataset dataset;
    kg_error error = {0};
    assert_int_equal(kg__dataset_open(&dataset, NULL), KG_OK);
    assert_int_equal(kg__dataset_enter(&dataset, KG_UNSEEN_TEST, NULL), KG_OK);
    kg_reader reader = {.dataset = &dataset};
    assert_int_equal(kg__read_wordnet(&reader, inputs, &error), KG_BAD_INPUT);
    assert_string_equal(error.source, "data.noun");
    assert_int_equal(error.line, 3);
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        kg__input_close(inputs[i]);
    kg__dataset_close(&dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_counts),
        cmocka_unit_test(test_real_counts_with_inverses),
        cmocka_unit_test(test_real_facts),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_small_with_inverses),
        cmocka_unit_test(test_many_senses),
        cmocka_unit_test(test_synset_listed_twice),
        cmocka_unit_test(test_malformed_index),
        cmocka_unit_test(test_malformed_synset),
        cmocka_unit_test(test_malformed_pointer),
        cmocka_unit_test(test_long_word),
        cmocka_unit_test(test_inconsistent),
        cmocka_unit_test(test_word_in_index_twice),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_refused_by_dataset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
