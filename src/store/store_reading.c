/* Reading a store: the state, the changes, the log. What is read is as hostile as any file, since
 * others can write to the database: rows that this program could not have made are refused. */
#include "base/lines.h"
#include "base/text.h"
#include "store/store_handle.h"

/* ---- The state ---- */

static kg_status find_generation(int64_t *out, bool *found, kg_store *store, kg_statement statement,
                                 const char *state, kg_error *error) {
    kg_value value = kg__string(kg__text(state));
    return kg__database_number(store->database, out, found, statement, &value, 1, error);
}

kg_status kg__store_load_state(kg_store *store, kg_store_state *out, kg_error *error) {
    kg_database *database = store->database;
    bool found = false;
    *out = (kg_store_state){0};
    KG_TRY(find_generation(&out->next, &found, store, KG_FIND_GENERATION, "next", error));
    KG_TRY(find_generation(&out->frozen, &found, store, KG_FIND_FREEZE, "next", error));
    KG_TRY(kg__database_number(database, &out->last, &found, KG_LAST_LOG, NULL, 0, error));
    KG_TRY(find_generation(&out->generation, &found, store, KG_FIND_GENERATION, "current", error));
    if (!found)
        return kg_fail_at(error, store->file, 0, 0, "expected a current generation, found none");
    if (out->generation < 1 || out->generation >= INT64_MAX / 2 || out->last < 0 ||
        (out->next != 0 && out->next != out->generation + 1))
        return kg_fail_at(error, store->file, 0, 0,
                          "expected generations from 1 on and the next one after the current one, "
                          "found %jd and %jd",
                          (intmax_t)out->generation, (intmax_t)out->next);
    return KG_OK;
}

/* ---- One view of the database ---- */

/* Statements between these see the same state, which no writer waits for. */
static kg_status start_view(kg_store *store, kg_error *error) {
    kg__store_hold(store);
    kg_status status = kg__database_begin(store->database, false, error);
    if (status != KG_OK)
        kg__store_release(store);
    return status;
}

static void end_view(kg_store *store) {
    kg__database_rollback(store->database);
    kg__store_release(store);
}

kg_status kg__store_read_state(kg_store *store, kg_store_state *out, kg_error *error) {
    KG_TRY(start_view(store, error));
    kg_status status = kg__store_load_state(store, out, error);
    end_view(store);
    return status;
}

kg_status kg__store_has_changes(kg_store *store, bool *out, kg_error *error) {
    kg_store_state state = {0};
    int64_t one = 0;
    KG_TRY(start_view(store, error));
    kg_status status = kg__store_load_state(store, &state, error);
    kg_value generation = kg__integer(state.generation);
    if (status == KG_OK)
        status = kg__database_number(store->database, &one, out, KG_FIND_ANY_CHANGE, &generation, 1,
                                     error);
    end_view(store);
    return status;
}

kg_status kg__store_has_added(kg_store *store, bool *out, kg_text entity, kg_error *error) {
    kg_store_state state = {0};
    int64_t one = 0;
    KG_TRY(start_view(store, error));
    kg_status status = kg__store_load_state(store, &state, error);
    kg_value values[] = {kg__integer(state.generation), kg__string(entity)};
    if (status == KG_OK)
        status = kg__database_number(store->database, &one, out, KG_FIND_ADDED, values, 2, error);
    end_view(store);
    return status;
}

/* ---- Rows ---- */

struct visit {
    kg_store *store;
    kg_on_change on_change;
    kg_on_log_entry on_entry;
    kg_on_source on_source;
    void *payload;
};

static kg_status read_name(kg_text *out, const kg_store *store, const kg_row *row, int column,
                           kg_error *error) {
    *out = kg__row_text(row, column);
    kg_status status = kg__check_name(*out, error);
    if (status != KG_OK)
        kg__error_locate(error, store->file, 0, 0);
    return status;
}

kg_status kg__store_row_change(const kg_store *store, const kg_row *row, int column,
                               kg_operation *operation, kg_text fact[3], kg_error *error) {
    kg_text letter = kg__row_text(row, column);
    if (letter.bytes == NULL || letter.length != 1 ||
        (letter.bytes[0] != KG_ADD && letter.bytes[0] != KG_REMOVE))
        return kg_fail_at(error, store->file, 0, 0, "expected A or D as operation, found %s",
                          kg__quote(letter.bytes == NULL ? "" : letter.bytes, letter.length).text);
    *operation = letter.bytes[0] == KG_ADD ? KG_ADD : KG_REMOVE;
    for (int i = 0; i < 3; i++)
        KG_TRY(read_name(&fact[i], store, row, column + 1 + i, error));
    return KG_OK;
}

static kg_status visit_change(void *payload, const kg_row *row, kg_error *error) {
    const struct visit *visit = payload;
    kg_operation operation = KG_ADD;
    kg_text fact[3];
    KG_TRY(kg__store_row_change(visit->store, row, 0, &operation, fact, error));
    return visit->on_change(visit->payload, operation, fact, error);
}

static kg_status visit_entry(void *payload, const kg_row *row, kg_error *error) {
    const struct visit *visit = payload;
    kg_log_entry entry = {.number = kg__row_integer(row, 0),
                          .time = kg__row_integer(row, 1),
                          .source = kg__row_text(row, 6),
                          .offset = kg__row_integer(row, 7)};
    KG_TRY(kg__store_row_change(visit->store, row, 2, &entry.operation, entry.fact, error));
    return visit->on_entry(visit->payload, &entry, error);
}

/* ---- Lists ---- */

static kg_status list_changes(kg_store *store, kg_store_state *state, bool is_next,
                              struct visit *visit, kg_error *error) {
    KG_TRY(kg__store_load_state(store, state, error));
    kg_value generation = kg__integer(is_next ? state->next : state->generation);
    return kg__database_run(store->database, KG_LIST_CHANGES, &generation, 1, visit_change, visit,
                            error);
}

static kg_status read_changes(kg_store *store, kg_store_state *state, bool is_next,
                              struct visit visit, kg_error *error) {
    kg_store_state own;
    KG_TRY(start_view(store, error));
    kg_status status = list_changes(store, state == NULL ? &own : state, is_next, &visit, error);
    end_view(store);
    return status;
}

kg_status kg__store_read_changes(kg_store *store, kg_store_state *state, kg_on_change on_change,
                                 void *payload, kg_error *error) {
    struct visit visit = {.store = store, .on_change = on_change, .payload = payload};
    return read_changes(store, state, false, visit, error);
}

kg_status kg__store_read_next(kg_store *store, kg_store_state *state, kg_on_change on_change,
                              void *payload, kg_error *error) {
    struct visit visit = {.store = store, .on_change = on_change, .payload = payload};
    return read_changes(store, state, true, visit, error);
}

kg_status kg__store_read_added(kg_store *store, int64_t generation, kg_text entity,
                               kg_on_change on_change, void *payload, kg_error *error) {
    struct visit visit = {.store = store, .on_change = on_change, .payload = payload};
    kg_value values[] = {kg__integer(generation), kg__string(entity)};
    kg_store_state state = {0};
    KG_TRY(start_view(store, error));
    kg_status status = kg__store_load_state(store, &state, error);
    if (status == KG_OK && state.generation != generation)
        status = kg_fail(error, KG_SYSTEM, "expected generation %jd, found that %jd took its place",
                         (intmax_t)generation, (intmax_t)state.generation);
    if (status == KG_OK)
        status = kg__database_run(store->database, KG_LIST_ADDED, values, 2, visit_change, &visit,
                                  error);
    end_view(store);
    return status;
}

kg_status kg__store_read_frozen(kg_store *store, kg_on_change on_change, void *payload,
                                kg_error *error) {
    struct visit visit = {.store = store, .on_change = on_change, .payload = payload};
    kg_store_state state = {0};
    KG_TRY(start_view(store, error));
    kg_status status = kg__store_load_state(store, &state, error);
    kg_value generations[] = {kg__integer(state.generation), kg__integer(state.next)};
    if (status == KG_OK && state.next == 0)
        status = kg_fail_at(error, store->path, 0, 0,
                            "expected a generation that is being trained, found none");
    if (status == KG_OK)
        status = kg__database_run(store->database, KG_LIST_FROZEN, generations, 2, visit_change,
                                  &visit, error);
    end_view(store);
    return status;
}

kg_status kg__store_list_log(kg_store *store, int64_t since, const char *source,
                             kg_on_log_entry on_entry, void *payload, kg_error *error) {
    struct visit visit = {.store = store, .on_entry = on_entry, .payload = payload};
    kg_value values[] = {kg__integer(since), kg__string(kg__text(source))};
    return kg__database_run(store->database, KG_LIST_LOG, values, 2, visit_entry, &visit, error);
}

kg_status kg__store_read_log(kg_store *store, int64_t since, const char *source,
                             kg_on_log_entry on_entry, void *payload, kg_error *error) {
    kg__store_hold(store);
    kg_status status = kg__store_list_log(store, since, source, on_entry, payload, error);
    kg__store_release(store);
    return status;
}

kg_status kg__store_read_offset(kg_store *store, int64_t *out, bool *found, const char *source,
                                kg_error *error) {
    kg_value value = kg__string(kg__text(source));
    kg__store_hold(store);
    kg_status status =
        kg__database_number(store->database, out, found, KG_FIND_OFFSET, &value, 1, error);
    kg__store_release(store);
    return status;
}

static kg_status visit_source(void *payload, const kg_row *row, kg_error *error) {
    const struct visit *visit = payload;
    kg_text name = kg__row_text(row, 0);
    if (name.bytes == NULL)
        return kg_fail_at(error, visit->store->file, 0, 0,
                          "expected the name of a source, found NULL");
    return visit->on_source(visit->payload, name, kg__row_integer(row, 1), error);
}

kg_status kg__store_read_sources(kg_store *store, kg_on_source on_source, void *payload,
                                 kg_error *error) {
    struct visit visit = {.store = store, .on_source = on_source, .payload = payload};
    kg__store_hold(store);
    kg_status status =
        kg__database_run(store->database, KG_LIST_SOURCES, NULL, 0, visit_source, &visit, error);
    kg__store_release(store);
    return status;
}
