/* The paths of an explanation, with names of entities and relations, as an SVG drawing. */
#include "cli/explanation_plot.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/output.h"
#include "report/path_drawing.h"

/* Two for each step, and three for the query. */
#define MOST_NAMES (2 * REPORT_MOST_STEPS * REPORT_MOST_PATHS + 4)

struct drawing {
    const cli_contributions *contributions;
    report_paths paths;
    char *names[MOST_NAMES];
    size_t name_count;
    bool is_broken; /* out of memory */
};

/* Keeps a name until everything is drawn. */
static const char *keep(struct drawing *d, char *name) {
    d->is_broken = d->is_broken || name == NULL;
    d->names[d->name_count++] = name;
    return name == NULL ? "" : name;
}

static const char *keep_entity(struct drawing *d, kg_id entity) {
    const cli_inference *inference = d->contributions->inference;
    return keep(d,
                cli_inference_show(inference, kg_model_entity_name(inference->model, entity), ""));
}

static void add_path(struct drawing *d, const kg_reason *reason) {
    const cli_inference *inference = d->contributions->inference;
    report_path *path = &d->paths.paths[d->paths.count++];
    *path = (report_path){.share = reason->share, .count = reason->steps};
    for (size_t i = 0; i < reason->steps; i++) {
        kg_directed directed = reason->path[i].directed;
        kg_text relation = kg_model_relation_name(inference->model, kg_directed_relation(directed));
        path->steps[i] =
            (report_step){.label = keep(d, cli_inference_show(inference, relation, "")),
                          .is_backwards = kg_directed_end(directed) == KG_TAIL,
                          .to = keep_entity(d, reason->path[i].other)};
    }
}

/* As in the first line of the text. */
static const char *keep_title(struct drawing *d, const char *start, const char *end) {
    const cli_contributions *contributions = d->contributions;
    char *arrow = cli_inference_arrow(contributions->inference, contributions->asked.directed);
    size_t size = arrow == NULL ? 0 : strlen(start) + strlen(arrow) + strlen(end) + sizeof "  ";
    char *title = arrow == NULL ? NULL : kg__resize(NULL, size, 1);
    if (title != NULL)
        snprintf(title, size, "%s %s %s", start, arrow, end);
    kg__free(arrow);
    return keep(d, title);
}

static kg_status draw(struct drawing *d, size_t term, const char *path, kg_error *error) {
    const cli_contributions *contributions = d->contributions;
    const kg_explanation *explanation = contributions->explanation;
    char *svg = NULL;
    size_t size = 0;
    d->paths.start =
        keep(d, cli_inference_show(contributions->inference, contributions->subject->name, ""));
    d->paths.end = keep_entity(d, contributions->asked.other);
    d->paths.title = keep_title(d, d->paths.start, d->paths.end);
    for (size_t i = 0; i < explanation->reason_count && d->paths.count < REPORT_MOST_PATHS; i++)
        if (explanation->reasons[i].term == term)
            add_path(d, &explanation->reasons[i]);
    if (d->is_broken)
        return kg__fail_memory(error);
    KG_TRY(report_draw_paths(&svg, &size, &d->paths, error));
    kg_status status = kg__output_save(path, svg, size, error);
    free(svg); /* which open_memstream allocated */
    return status;
}

kg_status cli_contributions_draw(const cli_contributions *contributions, const char *path,
                                 kg_error *error) {
    const kg_explanation *explanation = contributions->explanation;
    struct drawing d = {.contributions = contributions};
    size_t term = 0;
    while (term < explanation->term_count && !report_term_has_paths(&explanation->terms[term]))
        term++;
    if (term == explanation->term_count)
        return kg_fail(error, KG_BAD_INPUT,
                       "--plot: expected a model with the term propagation, whose paths are drawn, "
                       "found none");
    kg_status status = draw(&d, term, path, error);
    for (size_t i = 0; i < d.name_count; i++)
        kg__free(d.names[i]);
    return status;
}
