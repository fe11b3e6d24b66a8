/* Facts, answers and numbers as JSON. */
#include "report/answer_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/workspace.h"

static json_t *text_json(kg_text text) {
    return kg__json_text(text.bytes, text.length);
}

report_fact report_fact_of(const kg_model *model, kg_text name, kg_link link) {
    kg_text other = kg_model_entity_name(model, link.other);
    bool is_head = kg_directed_end(link.directed) == KG_HEAD;
    return (report_fact){{is_head ? name : other,
                          kg_model_relation_name(model, kg_directed_relation(link.directed)),
                          is_head ? other : name}};
}

json_t *report_fact_json(const report_fact *fact) {
    return json_pack("{so so so}", "head", text_json(fact->names[0]), "relation",
                     text_json(fact->names[1]), "tail", text_json(fact->names[2]));
}

json_t *report_number_json(double number) {
    return isfinite(number) ? json_real(number) : json_null();
}

/* Nine digits tell all numbers of single precision apart. */
json_t *report_float_json(float number) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.9g", (double)number);
    return report_number_json(strtod(digits, NULL));
}

json_t *report_answer_json(const kg_model *model, kg_text name, const kg_answer *answer,
                           size_t rank) {
    report_fact fact = report_fact_of(model, name, (kg_link){answer->directed, answer->entity});
    bool is_head = kg_directed_end(answer->directed) == KG_HEAD;
    return json_pack("{so so so sI ss so so so}", "head", text_json(fact.names[0]), "relation",
                     text_json(fact.names[1]), "tail", text_json(fact.names[2]), "rank",
                     (json_int_t)rank, "side", is_head ? "tail" : "head", "entity",
                     text_json(fact.names[is_head ? 2 : 0]), "score",
                     report_float_json(answer->score), "probability",
                     report_float_json(answer->probability));
}

const char *report_calibrated_for(const kg_model *model) {
    const json_t *about = json_object_get(model->config, "calibration");
    const char *name = json_string_value(json_object_get(about, "aggregate"));
    return name == NULL ? kg__model_describe(model).aggregate : name;
}

json_t *report_calibration_json(const kg_workspace *workspace) {
    const char *made = report_calibrated_for(workspace->model);
    if (workspace->model->calibration == NULL)
        return json_null();
    return json_pack("{so sb}", "aggregate", kg__json_text(made, strlen(made)), "holds",
                     kg_workspace_is_calibrated(workspace));
}
