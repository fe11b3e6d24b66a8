/* Depth-first search. Steps are found by a merge join: the links of an entity and the rules that
 * extend a path are both sorted by directed relation. */
#include "terms/features/rule_walk.h"

#include "base/lower_bound.h"

/* Links and rules both start with the relation that they are sorted by. */
static inline kg_directed relation_at(const void *sorted, size_t size, size_t i) {
    return *(const kg_directed *)((const char *)sorted + i * size);
}

/* The first of `count` items from `from` on whose relation is at least `directed`, by galloping
 * search, since it is usually near. */
static inline size_t gallop(const void *sorted, size_t size, size_t from, size_t count,
                            kg_directed directed) {
    size_t step = 1;
    size_t low = from;
    while (low + step <= count && relation_at(sorted, size, low + step - 1) < directed) {
        low += step;
        step *= 2;
    }
    size_t high = low + step - 1 < count ? low + step - 1 : count;
    return low + kg__lower_bound((const char *)sorted + low * size, high - low, size, 0, directed);
}

static bool leads_to(const kg_link *links, size_t count, kg_id entity) {
    size_t i = kg__lower_bound(links, count, sizeof *links, offsetof(kg_link, other), entity);
    return i < count && links[i].other == entity;
}

size_t kg__path_so_far_unvisited(const kg_path_so_far *path, const kg_link *links, size_t count) {
    size_t unvisited = count;
    for (size_t i = 0; i < path->count; i++)
        unvisited -= leads_to(links, count, path->links[i].other);
    return unvisited;
}

static bool has_self(const kg_path_so_far *path) {
    return path->count > 0 && path->links[0].directed == KG_SELF;
}

/* How many links `here` has, those with `self` left out; values above `most` are not exact. Scans
 * the shorter of the two lists and stops early, since hubs are adjacent to many hubs. */
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

bool kg__path_so_far_extends(const kg_path_so_far *path, const kg_adjacency *graph,
                             uint64_t *reach) {
    kg_id here = path->links[path->count - 1].other;
    bool is_in_graph = has_self(path);
    size_t most = (size_t)(KG_MOST_REACH / *reach);
    size_t links = count_links(graph, here, is_in_graph ? path->links[0].other : KG_NO_ID, most);
    *reach *= links;
    return links > 0 && (links <= most || path->count - is_in_graph == 1);
}

static void extend(const kg_walk *walk, kg_path_so_far *path, const kg_rule *rules,
                   size_t rule_count, kg_spread spread);

/* Extends the path from each entity at the end of a step. */
static void branch(const kg_walk *walk, kg_path_so_far *path, const kg_arrival *arrival,
                   uint64_t reach) {
    const kg_rule *rule = arrival->rule;
    for (size_t i = 0; i < arrival->count; i++) {
        if (kg__path_so_far_has(path, arrival->links[i].other))
            continue;
        path->links[path->count++] = arrival->links[i];
        extend(walk, path, walk->rules->list + rule->first_next, rule->next_count,
               (kg_spread){arrival->fan, reach});
        path->count--;
    }
}

static void take_step(const kg_walk *walk, kg_path_so_far *path, const kg_rule *rule,
                      const kg_link *links, size_t count, kg_spread spread) {
    size_t unvisited = kg__path_so_far_unvisited(path, links, count);
    uint64_t fan = spread.fan * unvisited;
    if (fan == 0 || fan > KG_MOST_FAN)
        return;
    size_t steps = path->count + !has_self(path);
    kg_arrival arrival = {rule, steps, fan, links, count, unvisited, path};
    walk->arrive(walk->payload, &arrival);
    if (rule->next_count > 0 && spread.reach <= KG_MOST_REACH)
        branch(walk, path, &arrival, spread.reach);
}

/* Extends the path from its last entity by one more step. */
static void extend(const kg_walk *walk, kg_path_so_far *path, const kg_rule *rules,
                   size_t rule_count, kg_spread spread) {
    if (!kg__path_so_far_extends(path, walk->graph, &spread.reach))
        return;
    kg_id here = path->links[path->count - 1].other;
    const kg_link *links = kg__adjacency_links(walk->graph, here);
    size_t link_count = kg__adjacency_degree(walk->graph, here);
    size_t i = 0;
    size_t k = 0;
    while (i < link_count && k < rule_count) {
        kg_directed at = links[i].directed;
        if (at < rules[k].step) {
            i = gallop(links, sizeof *links, i, link_count, rules[k].step);
        } else if (at > rules[k].step) {
            k = gallop(rules, sizeof *rules, k, rule_count, at);
        } else {
            size_t end = gallop(links, sizeof *links, i, link_count, at + 1);
            take_step(walk, path, &rules[k], links + i, end - i, spread);
            i = end;
            k++;
        }
    }
}

void kg__walk_from(const kg_walk *walk, kg_directed query, kg_id self, const kg_link *fact) {
    const kg_rules *rules = walk->rules;
    size_t from = rules->starts[query];
    size_t to = rules->starts[query + 1];
    size_t found = gallop(rules->list, sizeof *rules->list, from, to, fact->directed);
    if (found == to || rules->list[found].step != fact->directed || fact->other == self)
        return;
    kg_path_so_far path = {.count = 0};
    if (self != KG_NO_ID)
        path.links[path.count++] = (kg_link){KG_SELF, self};
    take_step(walk, &path, &rules->list[found], fact, 1, (kg_spread){1, 1});
}
