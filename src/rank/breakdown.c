/* Sums over groups of questions. */
#include "rank/breakdown.h"

#include "base/memory.h"

void kg__breakdown_free(kg_breakdown *report) {
    kg__free(report->by_relation);
    kg__free(report->bins);
    *report = (kg_breakdown){0};
}

bool kg__query_is_echo(const kg_queries *questions, const kg_query *question) {
    const kg_link *links = kg__adjacency_links(&questions->adjacency, question->entity);
    size_t count = kg__adjacency_degree(&questions->adjacency, question->entity);
    for (size_t i = 0; i < count; i++)
        if (links[i].other == question->asked.other && i != question->position)
            return true;
    return false;
}

static size_t most_facts(const kg_queries *questions) {
    size_t most = 0;
    for (size_t i = 0; i < questions->count; i++) {
        size_t facts = kg__query_facts(questions, &questions->list[i]);
        most = facts > most ? facts : most;
    }
    return most;
}

/* Borders of the bins: each takes whole numbers of facts until it has its share of what is left. */
static kg_status cut_bins(kg_breakdown *report, const kg_queries *questions, size_t bins,
                          kg_error *error) {
    size_t most = most_facts(questions);
    size_t *counts = kg__alloc(most + 1, sizeof *counts);
    report->bins = kg__alloc(bins, sizeof *report->bins);
    if (counts == NULL || report->bins == NULL) {
        kg__free(counts);
        return kg__fail_memory(error);
    }
    for (size_t i = 0; i < questions->count; i++)
        counts[kg__query_facts(questions, &questions->list[i])]++;
    size_t left = questions->count;
    size_t facts = 0;
    while (report->bin_count < bins && left > 0) {
        size_t share = (left - 1) / (bins - report->bin_count) + 1;
        while (counts[facts] == 0)
            facts++;
        kg_bin *bin = &report->bins[report->bin_count++];
        bin->fewest = facts;
        for (size_t taken = 0; taken < share; facts++) {
            taken += counts[facts];
            left -= counts[facts];
            bin->most = facts;
        }
    }
    kg__free(counts);
    return KG_OK;
}

static kg_bin *find_bin(kg_breakdown *report, size_t facts) {
    size_t i = 0;
    while (report->bins[i].most < facts)
        i++;
    return &report->bins[i];
}

static void add_unseen(kg_breakdown *report, const kg_queries *questions, const kg_query *question,
                       double rank) {
    kg__metrics_add(&find_bin(report, kg__query_facts(questions, question))->metrics, rank);
    kg__metrics_add(kg__query_is_echo(questions, question) ? &report->echo : &report->fresh, rank);
}

static void take_means(kg_breakdown *report) {
    kg__metrics_mean(&report->all);
    kg__metrics_mean(&report->by_side[KG_HEAD]);
    kg__metrics_mean(&report->by_side[KG_TAIL]);
    kg__metrics_mean(&report->echo);
    kg__metrics_mean(&report->fresh);
    for (size_t i = 0; i < report->bin_count; i++)
        kg__metrics_mean(&report->bins[i].metrics);
    for (size_t i = 0; i < report->relation_count; i++)
        kg__metrics_mean(&report->by_relation[i]);
}

kg_status kg__breakdown_make(kg_breakdown *out, const kg_queries *questions, const double *ranks,
                             size_t relation_count, size_t bins, kg_error *error) {
    *out = (kg_breakdown){.unseen = questions->unseen, .relation_count = relation_count};
    out->by_relation = kg__alloc(relation_count, sizeof *out->by_relation);
    kg_status status = out->by_relation == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK && questions->unseen)
        status = cut_bins(out, questions, bins, error);
    if (status != KG_OK) {
        kg__breakdown_free(out);
        return status;
    }
    for (size_t i = 0; i < questions->count; i++) {
        const kg_query *question = &questions->list[i];
        kg_end missing = kg__other_end(kg_directed_end(question->asked.directed));
        kg__metrics_add(&out->all, ranks[i]);
        kg__metrics_add(&out->by_side[missing], ranks[i]);
        kg__metrics_add(&out->by_relation[question->asked.directed / 2], ranks[i]);
        if (questions->unseen)
            add_unseen(out, questions, question, ranks[i]);
    }
    take_means(out);
    return KG_OK;
}
