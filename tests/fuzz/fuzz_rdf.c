/* Fuzzes the RDF reader: one or two files, the byte of options says in which syntax. Serd itself is
 * not instrumented, so what leads the fuzzer is how our callbacks answer, and the dictionary.
 *
 * Besides what holds for every reader, nothing gets lost at the end: a file that was taken for good
 * is one to which a further statement can be appended, and that statement is then read. (A parser
 * that gives up in the middle without an error, as serd does at a NUL, does not keep to this.) */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const char last_statement[] = "\n<fuzz:end> <fuzz:end> <fuzz:end> .\n";
static const char last_name[] = "fuzz:end";

static kg_rdf_syntax syntax_of(const struct fuzz_trial *trial) {
    return trial->options >> FUZZ_SYNTAX_SHIFT;
}

/* The bytes of a file and behind them the last statement, as a new block. */
static char *append_statement(struct fuzz_file file) {
    char *text = malloc(file.size + sizeof last_statement);
    fuzz_require(text != NULL);
    memcpy(text, file.bytes, file.size);
    memcpy(text + file.size, last_statement, sizeof last_statement);
    return text;
}

static void check_end(const struct fuzz_trial *trial, size_t file) {
    kg_dataset dataset;
    fuzz_require(kg__dataset_open(&dataset, NULL) == KG_OK);
    kg_reader reader = {.dataset = &dataset, .options = trial->reader.options};
    char *text = append_statement(trial->files[file]);
    size_t size = trial->files[file].size + strlen(last_statement);
    kg_input *input = fuzz_input(text, size, "longer.rdf", KG_PLAIN);
    fuzz_require(kg__read_rdf(&reader, input, syntax_of(trial), NULL) == KG_OK);
    kg_name name = kg__name_of(last_name, strlen(last_name));
    fuzz_require(kg__names_find(&dataset.relations, name) != KG_NO_ID);
    kg__input_close(input);
    free(text);
    kg__dataset_close(&dataset);
}

static kg_status read_file(struct fuzz_trial *trial, size_t file) {
    trial->reader.file_number = file + 1;
    kg_input *input = fuzz_trial_input(trial, file, "facts.rdf");
    kg_status status = kg__read_rdf(&trial->reader, input, syntax_of(trial), &trial->error);
    kg__input_close(input);
    if (status == KG_OK && trial->options & FUZZ_PLAIN)
        check_end(trial, file);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fuzz_trial trial;
    fuzz_trial_open(&trial, bytes, size, 2);
    kg_status status = KG_OK;
    for (size_t i = 0; status == KG_OK && i < trial.file_count; i++)
        status = read_file(&trial, i);
    fuzz_require(trial.reader.counts.literals == 0 || !(trial.options & FUZZ_LITERALS));
    fuzz_trial_close(&trial, status);
    return 0;
}
