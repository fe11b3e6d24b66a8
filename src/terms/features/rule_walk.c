/* Steps are found by a join: the links of an entity and the rules that go on are both sorted by
 * directed relation. */
#include "terms/features/rule_walk.h"

/* Links and rules both start with the relation that they are sorted by. */
static inline kg_directed relation_at(const void *sorted, size_t size, size_t i) {
    return *(const kg_directed *)((const char *)sorted + i * size);
}

/* The first of `count` items from `from` on that is not of a relation below, by doubling steps:
 * what is looked for is usually near. */
static inline size_t skip(const void *sorted, size_t size, size_t from, size_t count,
                          kg_directed directed) {
    size_t step = 1;
    size_t low = from;
    while (low + step <= count && relation_at(sorted, size, low + step - 1) < directed) {
        low += step;
        step *= 2;
    }
    size_t high = low + step - 1 < count ? low + step - 1 : count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (relation_at(sorted, size, middle) < directed)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool leads_to(const kg_link *links, size_t count, kg_id entity) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (links[middle].other < entity)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && links[low].other == entity;
}

size_t kg__path_so_far_open(const kg_path_so_far *trail, const kg_link *links, size_t count) {
    size_t open = count;
    for (size_t i = 0; i < trail->count; i++)
        open -= leads_to(links, count, trail->met[i].other);
    return open;
}

static bool has_self(const kg_path_so_far *trail) {
    return trail->count > 0 && trail->met[0].directed == KG_SELF;
}

/* How many links `here` has, those with `self` left out; all numbers above `most` are one. Looks at
 * the shorter of two lists, and no further than it has to: hubs meet many hubs. */
static size_t count_links(const kg_adjacency *graph, kg_id here, kg_id self, size_t most) {
    size_t degree = kg__adjacency_degree(graph, here);
    size_t own = self == KG_NO_ID ? 0 : kg__adjacency_degree(graph, self);
    if (degree > own && degree - own > most)
        return most + 1;
    size_t count = 0;
    if (own < degree && own <= most) {
        const kg_link *links = own == 0 ? NULL : kg__adjacency_links(graph, self);
        for (size_t i = 0; i < own; i++)
            count += links[i].other == here;
        return degree - count;
    }
    const kg_link *links = kg__adjacency_links(graph, here);
    for (size_t i = 0; i < degree && count <= most; i++)
        count += links[i].other != self;
    return count;
}

bool kg__path_so_far_goes_on(const kg_path_so_far *trail, const kg_adjacency *graph,
                             uint64_t *reach) {
    kg_id here = trail->met[trail->count - 1].other;
    bool knows_self = has_self(trail);
    size_t most = (size_t)(KG_MOST_REACH / *reach);
    size_t links = count_links(graph, here, knows_self ? trail->met[0].other : KG_NO_ID, most);
    *reach *= links;
    return links > 0 && (links <= most || trail->count - knows_self == 1);
}

static void go_on(const kg_walk *walk, kg_path_so_far *trail, const kg_rule *rules,
                  size_t rule_count, kg_spread spread);

/* Everybody at the end of a step goes on by himself. */
static void branch(const kg_walk *walk, kg_path_so_far *trail, const kg_arrival *arrival,
                   uint64_t reach) {
    const kg_rule *rule = arrival->rule;
    for (size_t i = 0; i < arrival->count; i++) {
        if (kg__path_so_far_has(trail, arrival->links[i].other))
            continue;
        trail->met[trail->count++] = arrival->links[i];
        go_on(walk, trail, walk->rules->list + rule->first_next, rule->next_count,
              (kg_spread){arrival->fan, reach});
        trail->count--;
    }
}

static void take_step(const kg_walk *walk, kg_path_so_far *trail, const kg_rule *rule,
                      const kg_link *links, size_t count, kg_spread spread) {
    size_t open = kg__path_so_far_open(trail, links, count);
    uint64_t fan = spread.fan * open;
    if (fan == 0 || fan > KG_MOST_FAN)
        return;
    size_t steps = trail->count + !has_self(trail);
    kg_arrival arrival = {rule, steps, fan, links, count, open, trail};
    walk->arrive(walk->payload, &arrival);
    if (rule->next_count > 0 && spread.reach <= KG_MOST_REACH)
        branch(walk, trail, &arrival, spread.reach);
}

/* From whoever was met last. */
static void go_on(const kg_walk *walk, kg_path_so_far *trail, const kg_rule *rules,
                  size_t rule_count, kg_spread spread) {
    if (!kg__path_so_far_goes_on(trail, walk->graph, &spread.reach))
        return;
    kg_id here = trail->met[trail->count - 1].other;
    const kg_link *links = kg__adjacency_links(walk->graph, here);
    size_t link_count = kg__adjacency_degree(walk->graph, here);
    size_t i = 0;
    size_t k = 0;
    while (i < link_count && k < rule_count) {
        kg_directed at = links[i].directed;
        if (at < rules[k].step) {
            i = skip(links, sizeof *links, i, link_count, rules[k].step);
        } else if (at > rules[k].step) {
            k = skip(rules, sizeof *rules, k, rule_count, at);
        } else {
            size_t end = skip(links, sizeof *links, i, link_count, at + 1);
            take_step(walk, trail, &rules[k], links + i, end - i, spread);
            i = end;
            k++;
        }
    }
}

void kg__walk_from(const kg_walk *walk, kg_directed asked, kg_id self, const kg_link *fact) {
    const kg_rules *rules = walk->rules;
    size_t from = rules->starts[asked];
    size_t to = rules->starts[asked + 1];
    size_t found = skip(rules->list, sizeof *rules->list, from, to, fact->directed);
    if (found == to || rules->list[found].step != fact->directed || fact->other == self)
        return;
    kg_path_so_far trail = {.count = 0};
    if (self != KG_NO_ID)
        trail.met[trail.count++] = (kg_link){KG_SELF, self};
    take_step(walk, &trail, &rules->list[found], fact, 1, (kg_spread){1, 1});
}
