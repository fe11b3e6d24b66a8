/* Epochs to JSON and back. */
#include "train/epoch_history.h"

json_t *kg__epoch_json(const kg_epoch *epoch) {
    json_t *out = json_pack("{sI sf sf}", "epoch", (json_int_t)epoch->number, "loss", epoch->loss,
                            "seconds", epoch->seconds);
    bool good = !epoch->is_validated ||
                json_object_set_new(out, "valid", kg__metrics_json(&epoch->valid)) == 0;
    return kg__json_complete(out, good);
}

void kg__epoch_read(kg_epoch *epoch, json_t *from) {
    json_int_t number = 0;
    json_int_t queries = 0;
    kg_metrics *valid = &epoch->valid;
    *epoch = (kg_epoch){.is_validated = json_object_get(from, "valid") != NULL};
    json_unpack(from, "{s?I s?F s?F s?{s?I s?F s?F s?{s?F s?F s?F}}}", "epoch", &number, "loss",
                &epoch->loss, "seconds", &epoch->seconds, "valid", "queries", &queries, "mrr",
                &valid->mrr, "mr", &valid->mr, "hits", "1", &valid->hits[0], "3", &valid->hits[1],
                "10", &valid->hits[2]);
    epoch->number = (uint64_t)number;
    valid->queries = (uint64_t)queries;
}

void kg__history_best(kg_epoch *out, const json_t *history, uint64_t number, const json_t *apart) {
    size_t i = 0;
    json_t *item = NULL;
    kg__epoch_read(out, json_array_get(history, (size_t)number - 1));
    bool has_any = false;
    json_array_foreach(apart, i, item) {
        kg_epoch epoch;
        kg__epoch_read(&epoch, item);
        if (!epoch.is_validated || (has_any && epoch.valid.mrr <= out->valid.mrr))
            continue;
        out->valid = epoch.valid;
        has_any = out->is_validated = true;
    }
}

json_t *kg__history_json(const kg_epoch *epochs, size_t count) {
    json_t *out = json_array();
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = json_array_append_new(out, kg__epoch_json(&epochs[i])) == 0;
    return kg__json_complete(out, good);
}
