/* Sums over groups of queries. */
#include "rank/breakdown.h"

#include "base/memory.h"

void kg__breakdown_free(kg_breakdown *breakdown) {
    kg__free(breakdown->by_relation);
    kg__free(breakdown->bins);
    *breakdown = (kg_breakdown){0};
}

bool kg__query_is_echo(const kg_queries *queries, const kg_query *query) {
    kg_query_links facts = kg__query_links(queries, query);
    return kg__links_echo(facts.links, facts.count, query->target);
}

static size_t most_facts(const kg_queries *queries) {
    size_t most = 0;
    for (size_t i = 0; i < queries->count; i++) {
        size_t facts = kg__query_facts(queries, &queries->list[i]);
        most = facts > most ? facts : most;
    }
    return most;
}

/* Bounds of the bins: each takes further numbers of facts until it has its share of the rest. */
static kg_status cut_bins(kg_breakdown *breakdown, const kg_queries *queries, size_t bins,
                          kg_error *error) {
    size_t most = most_facts(queries);
    size_t *counts = kg__alloc(most + 1, sizeof *counts);
    breakdown->bins = kg__alloc(bins, sizeof *breakdown->bins);
    if (counts == NULL || breakdown->bins == NULL) {
        kg__free(counts);
        return kg__fail_memory(error);
    }
    for (size_t i = 0; i < queries->count; i++)
        counts[kg__query_facts(queries, &queries->list[i])]++;
    size_t left = queries->count;
    size_t facts = 0;
    while (breakdown->bin_count < bins && left > 0) {
        size_t share = (left - 1) / (bins - breakdown->bin_count) + 1;
        while (counts[facts] == 0)
            facts++;
        kg_bin *bin = &breakdown->bins[breakdown->bin_count++];
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

static kg_bin *find_bin(kg_breakdown *breakdown, size_t facts) {
    size_t i = 0;
    while (breakdown->bins[i].most < facts)
        i++;
    return &breakdown->bins[i];
}

static void add_unseen(kg_breakdown *breakdown, const kg_queries *queries, const kg_query *query,
                       double rank) {
    kg__metrics_add(&find_bin(breakdown, kg__query_facts(queries, query))->metrics, rank);
    kg__metrics_add(kg__query_is_echo(queries, query) ? &breakdown->echo : &breakdown->fresh, rank);
}

static void take_means(kg_breakdown *breakdown) {
    kg__metrics_mean(&breakdown->all);
    kg__metrics_mean(&breakdown->by_side[KG_HEAD]);
    kg__metrics_mean(&breakdown->by_side[KG_TAIL]);
    kg__metrics_mean(&breakdown->echo);
    kg__metrics_mean(&breakdown->fresh);
    for (size_t i = 0; i < breakdown->bin_count; i++)
        kg__metrics_mean(&breakdown->bins[i].metrics);
    for (size_t i = 0; i < breakdown->relation_count; i++)
        kg__metrics_mean(&breakdown->by_relation[i]);
}

kg_status kg__breakdown_make(kg_breakdown *out, const kg_queries *queries, const double *ranks,
                             size_t relation_count, size_t bins, kg_error *error) {
    *out = (kg_breakdown){.unseen = queries->unseen, .relation_count = relation_count};
    out->by_relation = kg__alloc(relation_count, sizeof *out->by_relation);
    kg_status status = out->by_relation == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK && queries->unseen)
        status = cut_bins(out, queries, bins, error);
    if (status != KG_OK) {
        kg__breakdown_free(out);
        return status;
    }
    for (size_t i = 0; i < queries->count; i++) {
        const kg_query *query = &queries->list[i];
        kg_end missing = kg__other_end(kg_directed_end(query->target.directed));
        kg__metrics_add(&out->all, ranks[i]);
        kg__metrics_add(&out->by_side[missing], ranks[i]);
        kg__metrics_add(&out->by_relation[query->target.directed / 2], ranks[i]);
        if (queries->unseen)
            add_unseen(out, queries, query, ranks[i]);
    }
    take_means(out);
    return KG_OK;
}
