/* Renders results of a JSON file, so that reports can be tested without the experiments.
 * usage: render_report RESULTS.json FOLDER: writes the report
 *        render_report RESULTS.json:        prints the tables of all experiments */
#include <stdio.h>

#include "base/input.h"
#include "report/report.h"

static kg_status read_results(json_t **out, const char *path, kg_error *error) {
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_PLAIN, error));
    kg_status status = kg__json_read(out, input, error);
    kg__input_close(input);
    return status;
}

static kg_status print_all(const json_t *results, kg_error *error) {
    const json_t *experiment = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(results, "experiments"), i, experiment) {
        KG_TRY(report_print(experiment, stdout, error));
    }
    return KG_OK;
}

int main(int count, char **words) {
    kg_error error = {0};
    json_t *results = NULL;
    if (count < 2)
        return 64;
    kg_status status = read_results(&results, words[1], &error);
    if (status == KG_OK)
        status = count > 2 ? report_write(words[2], results, &error) : print_all(results, &error);
    json_decref(results);
    if (status == KG_OK)
        return 0;
    char text[KG_ERROR_TEXT_MAX];
    fprintf(stderr, "%s\n", kg_error_text(text, sizeof text, &error));
    return status == KG_BAD_INPUT ? 2 : 1;
}
