/* Ranks to metrics. */
#include "rank/metrics.h"

double kg__rank_of(uint64_t higher, uint64_t equal, kg_ties ties) {
    switch (ties) {
    case KG_OPTIMISTIC:
        return (double)(higher + 1);
    case KG_PESSIMISTIC:
        return (double)(higher + equal + 1);
    case KG_REFERENCE: {
        uint64_t rounded_down = equal / 2;
        return (double)(higher + rounded_down + 1);
    }
    case KG_REALISTIC:
        break;
    }
    return (double)higher + (double)equal / 2 + 1;
}

void kg__metrics_add(kg_metrics *metrics, double rank) {
    static const double limits[3] = {1, 3, 10};
    metrics->queries++;
    metrics->mrr += 1 / rank;
    metrics->mr += rank;
    for (int k = 0; k < 3; k++)
        metrics->hits[k] += rank <= limits[k];
}

void kg__metrics_mean(kg_metrics *metrics) {
    if (metrics->queries == 0)
        return;
    double count = (double)metrics->queries;
    metrics->mrr /= count;
    metrics->mr /= count;
    for (int k = 0; k < 3; k++)
        metrics->hits[k] /= count;
}

json_t *kg__metrics_json(const kg_metrics *m) {
    return json_pack("{sf s{sf sf sf} sf sI}", "mrr", m->mrr, "hits", "1", m->hits[0], "3",
                     m->hits[1], "10", m->hits[2], "mr", m->mr, "queries", (json_int_t)m->queries);
}
