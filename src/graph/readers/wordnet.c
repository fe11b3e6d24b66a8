/* The WordNet 3.0 database, in the format of wndb(5WN).
 *
 * A line of a data file is a synset: its words, and its pointers to other synsets. The files
 * identify a synset by part of speech and byte offset; entities are named, as is usual, by its
 * first word and the number of the sense of that word, as in "dog.n.01". The senses of a word are
 * in the index file, so each index is read before its data. A pointer may lead to a synset that is
 * read much later, so pointers are collected first and become facts at the end. */
#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "graph/reader.h"

#define OFFSET_DIGITS 8
#define NUMBER_DIGITS 8 /* as many hexadecimal digits as uint32_t holds */
#define WORD_MAX 255    /* bytes; the longest in WordNet 3.0 has 71 */
#define KEY_MAX (1 + OFFSET_DIGITS + WORD_MAX)
#define NAME_ROOM (WORD_MAX + sizeof ".n.4294967295")
#define LINES_PER_TICK 4096

const char *const kg__wordnet_files[] = {
    "index.noun", "data.noun", "index.verb", "data.verb", "index.adj",
    "data.adj",   "index.adv", "data.adv",   NULL,
};

/* One index and one data file. */
struct category {
    const char *types; /* of its synsets; the first one also denotes the whole category */
    const char *expected_type;
    const char *expected_symbol;
};

static const struct category categories[] = {
    {.types = "n",
     .expected_type = "synset type n",
     .expected_symbol = "a pointer symbol of nouns"},
    {.types = "v",
     .expected_type = "synset type v",
     .expected_symbol = "a pointer symbol of verbs"},
    {.types = "as",
     .expected_type = "synset type a or s",
     .expected_symbol = "a pointer symbol of adjectives"},
    {.types = "r",
     .expected_type = "synset type r",
     .expected_symbol = "a pointer symbol of adverbs"},
};
#define CATEGORY_COUNT (sizeof categories / sizeof categories[0])
_Static_assert(2 * CATEGORY_COUNT == KG_WORDNET_FILES, "an index and a data file each");

/* What a pointer symbol means in the data files of some categories. Of two inverse relations only
 * one is kept by default: the one that WN18RR has. */
struct relation {
    const char *symbol;
    const char *categories;
    const char *name;
    bool is_kept;
};

static const struct relation relations[] = {
    {.symbol = "!", .categories = "nvar", .name = "antonym", .is_kept = true},
    {.symbol = "@", .categories = "nv", .name = "hypernym", .is_kept = true},
    {.symbol = "@i", .categories = "n", .name = "instance_hypernym", .is_kept = true},
    {.symbol = "~", .categories = "nv", .name = "hyponym"},
    {.symbol = "~i", .categories = "n", .name = "instance_hyponym"},
    {.symbol = "#m", .categories = "n", .name = "member_holonym"},
    {.symbol = "#s", .categories = "n", .name = "substance_holonym"},
    {.symbol = "#p", .categories = "n", .name = "part_holonym"},
    {.symbol = "%m", .categories = "n", .name = "member_meronym", .is_kept = true},
    {.symbol = "%s", .categories = "n", .name = "substance_meronym", .is_kept = true},
    {.symbol = "%p", .categories = "n", .name = "part_meronym", .is_kept = true},
    {.symbol = "=", .categories = "na", .name = "attribute", .is_kept = true},
    {.symbol = "+", .categories = "nvar", .name = "derivationally_related_form", .is_kept = true},
    {.symbol = ";c", .categories = "nvar", .name = "synset_domain_topic_of", .is_kept = true},
    {.symbol = "-c", .categories = "n", .name = "member_of_domain_topic"},
    {.symbol = ";r", .categories = "nvar", .name = "synset_domain_region_of"},
    {.symbol = "-r", .categories = "n", .name = "member_of_domain_region", .is_kept = true},
    {.symbol = ";u", .categories = "nvar", .name = "synset_domain_usage_of"},
    {.symbol = "-u", .categories = "n", .name = "member_of_domain_usage", .is_kept = true},
    {.symbol = "*", .categories = "v", .name = "entailment", .is_kept = true},
    {.symbol = ">", .categories = "v", .name = "cause", .is_kept = true},
    {.symbol = "^", .categories = "va", .name = "also_see", .is_kept = true},
    {.symbol = "$", .categories = "v", .name = "verb_group", .is_kept = true},
    {.symbol = "&", .categories = "a", .name = "similar_to", .is_kept = true},
    {.symbol = "<", .categories = "a", .name = "participle_of_verb", .is_kept = true},
    {.symbol = "\\", .categories = "a", .name = "pertainym", .is_kept = true},
    {.symbol = "\\", .categories = "r", .name = "derived_from_adjective", .is_kept = true},
};
#define RELATION_COUNT (sizeof relations / sizeof relations[0])

struct pointer {
    const struct relation *relation;
    const char *source; /* the file that it is in */
    uint64_t line;
    kg_id head; /* in `synsets`, like the tail */
    kg_id tail;
};

struct wordnet {
    kg_input *const *inputs;

    kg_names senses;   /* "n02084071dog": a synset listed for a word */
    uint32_t *numbers; /* of the senses */
    size_t numbers_capacity;

    kg_names synsets; /* "n02084071": read, or only pointed to so far */
    kg_id *name_ids;  /* of the synsets, in `names`; KG_NO_ID until the synset is read */
    size_t name_ids_capacity;
    kg_names names; /* "dog.n.01" */

    struct pointer *pointers;
    size_t pointer_count;
    size_t pointers_capacity;
};

static void free_wordnet(struct wordnet *wordnet) {
    kg__names_free(&wordnet->senses);
    kg__free(wordnet->numbers);
    kg__names_free(&wordnet->synsets);
    kg__free(wordnet->name_ids);
    kg__names_free(&wordnet->names);
    kg__free(wordnet->pointers);
}

/* A line that is being split at single spaces. */
struct fields {
    const char *source;
    const struct category *category;
    kg_line line;
    size_t offset; /* of the next field */
};

struct field {
    const char *text;
    size_t length;
};

struct word {
    char text[WORD_MAX];
    size_t length;
};

/* How a line of a data file begins. */
struct synset {
    struct field offset;
    char type;
    struct word lemma; /* its first word */
};

/* The next field; empty at the end of the line. */
static struct field next_field(struct fields *fields) {
    const char *text = fields->line.text + fields->offset;
    size_t left = fields->line.length - fields->offset;
    const char *space = memchr(text, ' ', left);
    size_t length = space == NULL ? left : (size_t)(space - text);
    fields->offset += space == NULL ? left : length + 1;
    return (struct field){text, length};
}

static kg_status wrong_field(const struct fields *fields, struct field field, const char *expected,
                             kg_error *error) {
    size_t start = (size_t)(field.text - fields->line.text);
    if (start == fields->line.length)
        return kg_fail_at(error, fields->source, fields->line.number, 0,
                          "expected %s, found the end of the line", expected);
    return kg_fail_at(error, fields->source, fields->line.number, start + 1,
                      "expected %s, found %s", expected, kg__quote(field.text, field.length).text);
}

/* A single character, one of `marks`. */
static bool is_mark_of(struct field field, const char *marks) {
    return field.length == 1 && field.text[0] != '\0' && strchr(marks, field.text[0]) != NULL;
}

static kg_status read_mark(struct fields *fields, char mark, const char *expected,
                           kg_error *error) {
    struct field field = next_field(fields);
    bool is_mark = field.length == 1 && field.text[0] == mark;
    return is_mark ? KG_OK : wrong_field(fields, field, expected, error);
}

/* The value of a hexadecimal digit, 16 for what is none. */
static uint32_t digit_value(char c) {
    return c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
           : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                  : 16;
}

static kg_status read_number(struct fields *fields, uint32_t *out, uint32_t base,
                             const char *expected, kg_error *error) {
    struct field field = next_field(fields);
    if (field.length == 0 || field.length > NUMBER_DIGITS)
        return wrong_field(fields, field, expected, error);
    uint32_t value = 0;
    for (size_t i = 0; i < field.length; i++) {
        uint32_t digit = digit_value(field.text[i]);
        if (digit >= base)
            return wrong_field(fields, field, expected, error);
        value = value * base + digit;
    }
    *out = value;
    return KG_OK;
}

/* A number whose value is not used: checked so that fields are not mistaken for each other. */
static kg_status skip_number(struct fields *fields, uint32_t base, const char *expected,
                             kg_error *error) {
    uint32_t ignored = 0;
    return read_number(fields, &ignored, base, expected, error);
}

/* An offset is used as text, so its length is checked. */
static kg_status read_offset(struct fields *fields, struct field *out, kg_error *error) {
    *out = next_field(fields);
    bool is_offset = out->length == OFFSET_DIGITS;
    for (size_t i = 0; is_offset && i < OFFSET_DIGITS; i++)
        is_offset = digit_value(out->text[i]) < 10;
    return is_offset ? KG_OK : wrong_field(fields, *out, "a synset offset of 8 digits", error);
}

static kg_status read_word(struct fields *fields, struct word *out, kg_error *error) {
    struct field field = next_field(fields);
    if (field.length == 0 || field.length > WORD_MAX)
        return wrong_field(fields, field, "a word of 1 to 255 bytes", error);
    for (size_t i = 0; i < field.length; i++) {
        unsigned char c = (unsigned char)field.text[i];
        if (c < 0x20 || c == 0x7f)
            return wrong_field(fields, field, "a word without control characters", error);
        out->text[i] = field.text[i];
    }
    out->length = field.length;
    return KG_OK;
}

/* A word as in the index: without the marker of an adjective, as in "galore(ip)", and in lower
 * case. */
static void make_lemma(struct word *word) {
    const char *marker = memchr(word->text, '(', word->length);
    if (marker != NULL && marker != word->text && word->text[word->length - 1] == ')')
        word->length = (size_t)(marker - word->text);
    for (size_t i = 0; i < word->length; i++)
        if (word->text[i] >= 'A' && word->text[i] <= 'Z')
            word->text[i] = (char)(word->text[i] - 'A' + 'a');
}

/* The key of a synset or, with a word, of a sense. */
static kg_name make_key(char key[KEY_MAX], const struct category *category, struct field offset,
                        const struct word *word) {
    key[0] = category->types[0];
    memcpy(key + 1, offset.text, OFFSET_DIGITS);
    size_t length = 1 + OFFSET_DIGITS;
    if (word != NULL) {
        memcpy(key + length, word->text, word->length);
        length += word->length;
    }
    return kg__name_of(key, length);
}

/* If a word lists a synset twice, the first one counts. */
static kg_status add_sense(struct wordnet *wordnet, kg_name key, uint32_t number, kg_error *error) {
    kg_id id = KG_NO_ID;
    size_t known = wordnet->senses.count;
    KG_TRY(kg__names_intern(&wordnet->senses, &id, key, error));
    if (id < known)
        return KG_OK;
    uint32_t *numbers =
        kg__grow(wordnet->numbers, &wordnet->numbers_capacity, known + 1, sizeof *numbers);
    if (numbers == NULL)
        return kg__fail_memory(error);
    wordnet->numbers = numbers;
    numbers[id] = number;
    return KG_OK;
}

static kg_status skip_index_symbols(struct fields *fields, kg_error *error) {
    uint32_t count = 0;
    KG_TRY(read_number(fields, &count, 10, "the number of pointer symbols", error));
    for (uint32_t i = 0; i < count; i++) {
        struct field symbol = next_field(fields);
        if (symbol.length == 0)
            return wrong_field(fields, symbol, "a pointer symbol", error);
    }
    return KG_OK;
}

/* lemma pos synset_cnt p_cnt [symbol...] sense_cnt tagsense_cnt offset... */
static kg_status read_index_line(struct wordnet *wordnet, struct fields *fields, kg_error *error) {
    struct word lemma = {0};
    uint32_t count = 0;
    KG_TRY(read_word(fields, &lemma, error));
    KG_TRY(read_mark(fields, fields->category->types[0], "the part of speech of the file", error));
    KG_TRY(read_number(fields, &count, 10, "the number of synsets", error));
    KG_TRY(skip_index_symbols(fields, error));
    KG_TRY(skip_number(fields, 10, "the number of senses", error));
    KG_TRY(skip_number(fields, 10, "the number of tagged senses", error));
    for (uint32_t i = 0; i < count; i++) {
        struct field offset;
        char key[KEY_MAX];
        KG_TRY(read_offset(fields, &offset, error));
        kg_name name = make_key(key, fields->category, offset, &lemma);
        KG_TRY(add_sense(wordnet, name, i + 1, error));
    }
    struct field rest = next_field(fields);
    return rest.length == 0 ? KG_OK : wrong_field(fields, rest, "the end of the line", error);
}

/* The number of a synset that is read or pointed to. */
static kg_status find_synset(struct wordnet *wordnet, kg_id *out, const struct category *category,
                             struct field offset, kg_error *error) {
    char key[KEY_MAX];
    size_t known = wordnet->synsets.count;
    KG_TRY(kg__names_intern(&wordnet->synsets, out, make_key(key, category, offset, NULL), error));
    if (*out < known)
        return KG_OK;
    kg_id *name_ids =
        kg__grow(wordnet->name_ids, &wordnet->name_ids_capacity, known + 1, sizeof *name_ids);
    if (name_ids == NULL)
        return kg__fail_memory(error);
    wordnet->name_ids = name_ids;
    name_ids[*out] = KG_NO_ID;
    return KG_OK;
}

/* Which sense of its first word a synset is. */
static kg_status find_sense(const struct wordnet *wordnet, uint32_t *number,
                            const struct fields *fields, const struct synset *synset,
                            kg_error *error) {
    char key[KEY_MAX];
    kg_name name = make_key(key, fields->category, synset->offset, &synset->lemma);
    kg_id sense = kg__names_find(&wordnet->senses, name);
    if (sense == KG_NO_ID) {
        const kg_input *index = wordnet->inputs[2 * (fields->category - categories)];
        return kg_fail_at(error, fields->source, fields->line.number, 0,
                          "expected that %s lists synset %.8s for %s, found that it does not",
                          kg__input_name(index), synset->offset.text,
                          kg__quote(synset->lemma.text, synset->lemma.length).text);
    }
    *number = wordnet->numbers[sense];
    return KG_OK;
}

static kg_status name_synset(struct wordnet *wordnet, kg_id *name_id, const struct fields *fields,
                             const struct synset *synset, kg_error *error) {
    uint32_t number = 0;
    KG_TRY(find_sense(wordnet, &number, fields, synset, error));
    char name[NAME_ROOM];
    size_t length = (size_t)snprintf(name, sizeof name, "%.*s.%c.%02u", (int)synset->lemma.length,
                                     synset->lemma.text, synset->type, number);
    size_t known = wordnet->names.count;
    KG_TRY(kg__names_intern(&wordnet->names, name_id, kg__name_of(name, length), error));
    if (*name_id < known)
        return kg_fail_at(error, fields->source, fields->line.number, 0,
                          "expected a sense of its own, found a second synset that is %s "
                          "(is the word in the index twice?)",
                          kg__quote(name, length).text);
    return KG_OK;
}

/* w_cnt word lex_id [word lex_id...] */
static kg_status read_words(struct fields *fields, struct word *first, kg_error *error) {
    uint32_t count = 0;
    KG_TRY(read_number(fields, &count, 16, "the number of words in hexadecimal", error));
    if (count == 0)
        return kg_fail_at(error, fields->source, fields->line.number, 0,
                          "expected at least one word, found none");
    for (uint32_t i = 0; i < count; i++) {
        struct word other;
        KG_TRY(read_word(fields, i == 0 ? first : &other, error));
        KG_TRY(skip_number(fields, 16, "a lex_id in hexadecimal", error));
    }
    return KG_OK;
}

/* offset lex_filenum ss_type words */
static kg_status read_synset(struct wordnet *wordnet, struct fields *fields, kg_id *id,
                             kg_error *error) {
    struct synset synset;
    KG_TRY(read_offset(fields, &synset.offset, error));
    KG_TRY(skip_number(fields, 10, "the number of a lexicographer file", error));
    struct field type = next_field(fields);
    if (!is_mark_of(type, fields->category->types))
        return wrong_field(fields, type, fields->category->expected_type, error);
    synset.type = type.text[0];
    KG_TRY(read_words(fields, &synset.lemma, error));
    make_lemma(&synset.lemma);
    KG_TRY(find_synset(wordnet, id, fields->category, synset.offset, error));
    if (wordnet->name_ids[*id] != KG_NO_ID)
        return kg_fail_at(error, fields->source, fields->line.number, 0,
                          "expected each synset once, found %.8s again", synset.offset.text);
    return name_synset(wordnet, &wordnet->name_ids[*id], fields, &synset, error);
}

static const struct category *find_category(struct field type) {
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        if (is_mark_of(type, categories[i].types))
            return &categories[i];
    return NULL;
}

static const struct relation *find_relation(struct field symbol, const struct category *category) {
    for (size_t i = 0; i < RELATION_COUNT; i++)
        if (strlen(relations[i].symbol) == symbol.length &&
            memcmp(relations[i].symbol, symbol.text, symbol.length) == 0 &&
            strchr(relations[i].categories, category->types[0]) != NULL)
            return &relations[i];
    return NULL;
}

static kg_status add_pointer(struct wordnet *wordnet, struct pointer pointer, kg_error *error) {
    struct pointer *pointers = kg__grow(wordnet->pointers, &wordnet->pointers_capacity,
                                        wordnet->pointer_count + 1, sizeof *pointers);
    if (pointers == NULL)
        return kg__fail_memory(error);
    wordnet->pointers = pointers;
    pointers[wordnet->pointer_count++] = pointer;
    return KG_OK;
}

/* symbol offset pos source/target. Pointers between words count as between their synsets. */
static kg_status read_pointer(struct wordnet *wordnet, struct fields *fields, kg_id head,
                              kg_error *error) {
    struct field symbol = next_field(fields);
    const struct relation *relation = find_relation(symbol, fields->category);
    if (relation == NULL)
        return wrong_field(fields, symbol, fields->category->expected_symbol, error);
    struct field offset;
    KG_TRY(read_offset(fields, &offset, error));
    struct field type = next_field(fields);
    const struct category *category = find_category(type);
    if (category == NULL)
        return wrong_field(fields, type, "a part of speech (n, v, a, s or r)", error);
    KG_TRY(skip_number(fields, 16, "source and target words in hexadecimal", error));
    kg_id tail = KG_NO_ID;
    KG_TRY(find_synset(wordnet, &tail, category, offset, error));
    struct pointer pointer = {relation, fields->source, fields->line.number, head, tail};
    return add_pointer(wordnet, pointer, error);
}

/* [f_cnt + f_num w_num [+ f_num w_num...]] | gloss. Not used, but checked, since a wrong count
 * before it shows here. */
static kg_status skip_frames_and_gloss(struct fields *fields, kg_error *error) {
    struct fields ahead = *fields;
    bool has_frames = fields->category->types[0] == 'v' && !is_mark_of(next_field(&ahead), "|");
    uint32_t count = 0;
    if (has_frames)
        KG_TRY(read_number(fields, &count, 10, "the number of sentence frames or a gloss", error));
    for (uint32_t i = 0; i < count; i++) {
        KG_TRY(read_mark(fields, '+', "a sentence frame with '+'", error));
        KG_TRY(skip_number(fields, 10, "the number of a sentence frame", error));
        KG_TRY(skip_number(fields, 16, "the number of a word in hexadecimal", error));
    }
    return read_mark(fields, '|', "a gloss with '|'", error);
}

/* synset p_cnt [pointer...] [frames] gloss */
static kg_status read_data_line(struct wordnet *wordnet, struct fields *fields, kg_error *error) {
    kg_id synset = KG_NO_ID;
    uint32_t pointer_count = 0;
    KG_TRY(read_synset(wordnet, fields, &synset, error));
    KG_TRY(read_number(fields, &pointer_count, 10, "the number of pointers", error));
    for (uint32_t i = 0; i < pointer_count; i++)
        KG_TRY(read_pointer(wordnet, fields, synset, error));
    return skip_frames_and_gloss(fields, error);
}

typedef kg_status line_reader(struct wordnet *wordnet, struct fields *fields, kg_error *error);

static bool is_licence(kg_line line) {
    return line.length >= 2 && memcmp(line.text, "  ", 2) == 0;
}

static kg_status read_lines(struct wordnet *wordnet, const kg_reader *reader, kg_lines *lines,
                            const struct category *category, line_reader *read_line,
                            kg_error *error) {
    const char *source = kg__input_name(lines->input);
    for (;;) {
        kg_line line;
        bool more = false;
        KG_TRY(kg__lines_next(lines, &line, &more, error));
        if (!more)
            return KG_OK;
        if (line.number % LINES_PER_TICK == 1)
            KG_TRY(kg__reader_tick(reader, lines->input, error));
        if (is_licence(line))
            continue;
        struct fields fields = {source, category, line, 0};
        kg_status status = read_line(wordnet, &fields, error);
        if (status == KG_BAD_INPUT)
            kg__error_locate(error, source, line.number, 0);
        KG_TRY(status);
    }
}

static kg_status read_file(struct wordnet *wordnet, const kg_reader *reader, kg_input *input,
                           const struct category *category, line_reader *read_line,
                           kg_error *error) {
    kg_lines lines;
    kg__lines_open(&lines, input);
    kg_status status = read_lines(wordnet, reader, &lines, category, read_line, error);
    kg__lines_close(&lines);
    return status;
}

static kg_status read_files(struct wordnet *wordnet, const kg_reader *reader, kg_error *error) {
    for (size_t i = 0; i < CATEGORY_COUNT; i++) {
        kg_input *index = wordnet->inputs[2 * i];
        kg_input *data = wordnet->inputs[2 * i + 1];
        KG_TRY(read_file(wordnet, reader, index, &categories[i], read_index_line, error));
        KG_TRY(read_file(wordnet, reader, data, &categories[i], read_data_line, error));
    }
    if (wordnet->names.count == 0)
        return kg_fail_at(error, kg__input_name(wordnet->inputs[1]), 0, 0,
                          "expected synsets, found none (nor in the other data files)");
    return KG_OK;
}

static kg_name synset_name(const struct wordnet *wordnet, kg_id synset) {
    return kg__names_hashed(&wordnet->names, wordnet->name_ids[synset]);
}

static kg_status add_fact(const struct wordnet *wordnet, kg_reader *reader, struct pointer pointer,
                          kg_error *error) {
    if (wordnet->name_ids[pointer.tail] == KG_NO_ID) {
        kg_name key = kg__names_get(&wordnet->synsets, pointer.tail);
        return kg_fail_at(error, pointer.source, pointer.line, 0,
                          "expected pointers to synsets that exist, found one to %.8s %c",
                          key.bytes + 1, key.bytes[0]);
    }
    const struct relation *relation = pointer.relation;
    if (!relation->is_kept && !reader->options.keep_inverses) {
        reader->counts.inverses++;
        return KG_OK;
    }
    kg_status status = kg__dataset_add_one(reader->dataset, synset_name(wordnet, pointer.head),
                                           kg__name_of(relation->name, strlen(relation->name)),
                                           synset_name(wordnet, pointer.tail), error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, pointer.source, pointer.line, 0);
    return status;
}

kg_status kg__read_wordnet(kg_reader *reader, kg_input *const inputs[KG_WORDNET_FILES],
                           kg_error *error) {
    struct wordnet wordnet = {.inputs = inputs};
    kg_status status = read_files(&wordnet, reader, error);
    for (size_t i = 0; status == KG_OK && i < wordnet.pointer_count; i++)
        status = add_fact(&wordnet, reader, wordnet.pointers[i], error);
    free_wordnet(&wordnet);
    return status;
}
