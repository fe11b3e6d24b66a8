/* Fuzzes the reader of unseen entities in JSON. A file says something about unseen entities only
 * next to facts that are known, so each trial starts with the same few of those; the first file is
 * then read as unseen-valid, and a second one, where there is one, as unseen-test. */
#include <string.h>

#include "fuzz.h"

static const char train[] = "a\tr\tb\n"
                            "b\ts\tc\n"
                            "c\tr\ta\n";

static kg_status read_train(struct fuzz_trial *trial) {
    kg_input *input = fuzz_input(train, strlen(train), "train.txt", KG_PLAIN);
    kg_status status = kg__read_tsv(&trial->reader, input, &trial->error);
    kg__input_close(input);
    return status;
}

static kg_status read_unseen(struct fuzz_trial *trial, size_t file) {
    static const kg_part parts[] = {KG_UNSEEN_VALID, KG_UNSEEN_TEST};
    static const char *const names[] = {"valid.json", "test.json"};
    KG_TRY(kg__dataset_enter(&trial->dataset, parts[file], &trial->error));
    kg_input *input = fuzz_trial_input(trial, file, names[file]);
    kg_status status = kg__read_unseen_json(&trial->reader, input, &trial->error);
    kg__input_close(input);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fuzz_trial trial;
    fuzz_trial_open(&trial, bytes, size, 2);
    kg_status status = read_train(&trial);
    for (size_t i = 0; status == KG_OK && i < trial.file_count; i++)
        status = read_unseen(&trial, i);
    fuzz_trial_close(&trial, status);
    return 0;
}
