/* Fuzzes the OpenKE reader: entity2id, relation2id, train2id, and perhaps valid2id and test2id in
 * one input. The counts that these files open with are claims, which must not decide how much
 * memory is taken. Every name in the data set comes from the two lists. */
#include "fuzz.h"

static kg_status open_names(struct fuzz_trial *trial, kg_openke **openke) {
    kg_input *entities = fuzz_trial_input(trial, 0, "entity2id.txt");
    kg_input *relations = fuzz_trial_input(trial, 1, "relation2id.txt");
    kg_status status = kg__openke_open(openke, entities, relations, &trial->error);
    kg__input_close(entities);
    kg__input_close(relations);
    return status;
}

static kg_status read_facts(struct fuzz_trial *trial, const kg_openke *openke, kg_part part) {
    static const char *const names[] = {"train2id.txt", "valid2id.txt", "test2id.txt"};
    KG_TRY(kg__dataset_enter(&trial->dataset, part, &trial->error));
    kg_input *input = fuzz_trial_input(trial, 2 + part, names[part]);
    kg_status status = kg__openke_read(openke, &trial->reader, input, &trial->error);
    kg__input_close(input);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fuzz_trial trial;
    fuzz_trial_open(&trial, bytes, size, 5);
    kg_openke *openke = NULL;
    kg_status status = open_names(&trial, &openke);
    for (kg_part part = KG_TRAIN; status == KG_OK && part <= KG_TEST; part++)
        if (part == KG_TRAIN || trial.file_count > 2 + (size_t)part)
            status = read_facts(&trial, openke, part);
    if (status == KG_OK)
        fuzz_require(trial.dataset.entities.count + trial.dataset.relations.count <=
                     kg__openke_names(openke));
    kg__openke_close(openke);
    fuzz_trial_close(&trial, status);
    return 0;
}
