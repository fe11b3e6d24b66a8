/* Fuzzes the WordNet reader: the eight files of the database in one input, an index and a data file
 * for nouns, verbs, adjectives and adverbs. Most of an input may be missing, which leaves the files
 * at its end empty. What a synset is called can be told by its form, as in "dog.n.01". */
#include <string.h>

#include "fuzz.h"

/* A word, which is not empty, then a dot, a type, a dot and at least two digits. */
static bool is_synset_name(kg_name name) {
    size_t digits = 0;
    while (digits < name.length && name.bytes[name.length - digits - 1] >= '0' &&
           name.bytes[name.length - digits - 1] <= '9')
        digits++;
    if (digits < 2 || name.length < digits + 4)
        return false;
    const char *end = name.bytes + name.length - digits;
    return end[-3] == '.' && end[-1] == '.' && strchr("nvasr", end[-2]) != NULL;
}

static kg_status read_files(struct fuzz_trial *trial) {
    kg_input *inputs[KG_WORDNET_FILES];
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        inputs[i] = fuzz_trial_input(trial, i, kg__wordnet_files[i]);
    kg_status status = kg__read_wordnet(&trial->reader, inputs, &trial->error);
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        kg__input_close(inputs[i]);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fuzz_trial trial;
    fuzz_trial_open(&trial, bytes, size, KG_WORDNET_FILES);
    kg_status status = read_files(&trial);
    for (size_t i = 0; i < trial.dataset.entities.count; i++)
        fuzz_require(is_synset_name(kg__names_get(&trial.dataset.entities, (kg_id)i)));
    fuzz_trial_close(&trial, status);
    return 0;
}
