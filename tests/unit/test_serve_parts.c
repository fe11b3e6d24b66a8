/* Parts of the server that need no socket: targets of requests, JSON of bodies, tokens, metrics. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "serve/etag_list.h"
#include "serve/limits.h"
#include "serve/prometheus.h"
#include "serve/request_json.h"
#include "serve/tokens.h"
#include "serve/uri.h"

/* ---- Headers ---- */

static void test_tags(void **state) {
    (void)state;
    static const struct {
        const char *list;
        serve_tags strong, weak, gone;
    } cases[] = {
        {"*", SERVE_TAGS_WITH, SERVE_TAGS_WITH, SERVE_TAGS_WITHOUT},
        {" *\t", SERVE_TAGS_WITH, SERVE_TAGS_WITH, SERVE_TAGS_WITHOUT},
        {"\"a\"", SERVE_TAGS_WITH, SERVE_TAGS_WITH, SERVE_TAGS_WITHOUT},
        {"W/\"a\"", SERVE_TAGS_WITHOUT, SERVE_TAGS_WITH, SERVE_TAGS_WITHOUT},
        {"\"b\" ,W/\"c\", ,\"a\",", SERVE_TAGS_WITH, SERVE_TAGS_WITH, SERVE_TAGS_WITHOUT},
        {",\"\"", SERVE_TAGS_WITHOUT, SERVE_TAGS_WITHOUT, SERVE_TAGS_WITHOUT},
        {"\"aa\", \"b,\\\"", SERVE_TAGS_WITHOUT, SERVE_TAGS_WITHOUT, SERVE_TAGS_WITHOUT},
        {"", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {" , ", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"a", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"\"a", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"W/", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"w/\"a\"", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"\"a\" \"b\"", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"\"a b\"", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"*x", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"\"a\", *", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
        {"*, \"a\"", SERVE_TAGS_BAD, SERVE_TAGS_BAD, SERVE_TAGS_BAD},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(serve_tags_find(cases[i].list, "\"a\"", false), cases[i].strong);
        assert_int_equal(serve_tags_find(cases[i].list, "\"a\"", true), cases[i].weak);
        assert_int_equal(serve_tags_find(cases[i].list, NULL, true), cases[i].gone);
    }
}

/* ---- Targets ---- */

static void test_decode(void **state) {
    (void)state;
    static const struct {
        const char *string, *path, *query; /* NULL: refused */
    } cases[] = {
        {"", "", ""},
        {"a%20b+c", "a b+c", "a b c"},
        {"%C3%a4", "\xc3\xa4", "\xc3\xa4"},
        {"%2F%25", "/%", "/%"},
        {"%", NULL, NULL},
        {"%4", NULL, NULL},
        {"%g0", NULL, NULL},
        {"a%00", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int is_query = 0; is_query < 2; is_query++) {
            char string[32];
            snprintf(string, sizeof string, "%s", cases[i].string);
            const char *expected = is_query ? cases[i].query : cases[i].path;
            size_t length = serve_uri_decode(string, is_query);
            assert_int_equal(length == SIZE_MAX, expected == NULL);
            if (expected != NULL) {
                assert_string_equal(string, expected);
                assert_int_equal(length, strlen(expected));
            }
        }
}

static void test_query(void **state) {
    (void)state;
    char string[] = "/path?a=1&&b=x%26y&c&=d";
    static const char *const expected[][2] = {{"a", "1"}, {"b", "x&y"}, {"c", ""}, {"", "d"}};
    serve_target target = serve_target_split(string);
    char *name = NULL;
    char *value = NULL;
    bool more = true;
    assert_string_equal(target.path, "/path");
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(serve_query_next(&name, &value, &more, &target.query, NULL), KG_OK);
        assert_true(more);
        assert_string_equal(name, expected[i][0]);
        assert_string_equal(value, expected[i][1]);
    }
    assert_int_equal(serve_query_next(&name, &value, &more, &target.query, NULL), KG_OK);
    assert_false(more);
}

static void test_templates(void **state) {
    (void)state;
    static const struct {
        const char *path, *template, *parameter; /* NULL: no match */
    } cases[] = {
        {"/v1/entities/a%2Fb", "/v1/entities/{name}", "a%2Fb"},
        {"/v1/entities/", "/v1/entities/{name}", NULL},
        {"/v1/entities", "/v1/entities/{name}", NULL},
        {"/v1/entities/a/b", "/v1/entities/{name}", NULL},
        {"/web/vendor/a.js", "/web/{+file}", "vendor/a.js"},
        {"/v2/entities/a", "/v1/entities/{name}", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *parameter = NULL;
        bool matches = serve_path_matches(cases[i].path, cases[i].template, &parameter);
        assert_int_equal(matches, cases[i].parameter != NULL);
        if (matches)
            assert_string_equal(parameter, cases[i].parameter);
    }
}

/* ---- JSON ---- */

struct members {
    const char *text;
    uint64_t count;
    double number;
    bool flag;
    serve_side side;
    const json_t *facts;
};

#define AT(name) offsetof(struct members, name)
static const serve_field fields[] = {
    {"text", SERVE_TEXT, AT(text), 0, 0},
    {"count", SERVE_COUNT, AT(count), 2, 9},
    {"number", SERVE_NUMBER, AT(number), 0, 1},
    {"flag", SERVE_FLAG, AT(flag), 0, 0},
    {"side", SERVE_SIDE, AT(side), 0, 0},
    {"facts", SERVE_FACTS, AT(facts), 0, 2},
    {0},
};

static kg_status read_members(struct members *out, json_t **json, const char *string,
                              kg_error *error) {
    KG_TRY(serve_json_parse(json, string, strlen(string), error));
    return serve_fields_read(out, fields, *json, "", error);
}

static void test_members(void **state) {
    (void)state;
    struct members found = {0};
    json_t *json = NULL;
    kg_error error = {0};
    const char *string = "{\"text\": \"a\", \"count\": 9, \"number\": 0.5, \"flag\": true, "
                         "\"side\": \"both\", \"facts\": [[\"h\", \"r\", \"t\"]]}";
    kg_text names[3];
    assert_int_equal(read_members(&found, &json, string, &error), KG_OK);
    assert_string_equal(found.text, "a");
    assert_int_equal(found.count, 9);
    assert_true(found.number == 0.5 && found.flag && found.side == SERVE_BOTH);
    serve_fact_names(names, json_array_get(found.facts, 0));
    assert_memory_equal(names[2].bytes, "t", 1);
    json_decref(json);
}

static void test_wrong_members(void **state) {
    (void)state;
    static const struct {
        const char *string, *message;
    } cases[] = {
        {"[]", "`body`: expected an object"},
        {"{\"cuont\": 3}", "expected a member text, count"},
        {"{\"count\": 1}", "`count`: expected 2 to 9, found 1"},
        {"{\"count\": 10}", "`count`: expected 2 to 9, found 10"},
        {"{\"count\": -3}", "`count`: expected 2 to 9, found -3"},
        {"{\"number\": 1.01}", "`number`: expected 0 to 1"},
        {"{\"flag\": null}", "`flag`: expected true or false"},
        {"{\"side\": \"up\"}", "`side`: expected head, tail or both, found 'up'"},
        {"{\"text\": \"\"}", "`text`: expected 1 to 4096 bytes, found 0"},
        {"{\"facts\": [[\"a\", \"b\"]]}", "`facts[0]`: expected head, relation and tail, found 2"},
        {"{\"facts\": [[\"a\", \"b\", 3]]}", "`facts[0].tail`: expected a string"},
        {"{\"facts\": [[\"a\",\"b\",\"c\"],[\"a\",\"b\",\"c\"],[\"a\",\"b\",\"c\"]]}",
         "`facts`: expected at most 2 facts, found 3"},
        {"{\"text\": \"a\", \"text\": \"b\"}", "expected JSON, found that 'duplicate"},
        {"{", "expected JSON, found that"},
        {"\"\\u0000\"", "expected JSON, found that"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct members found = {0};
        json_t *json = NULL;
        kg_error error = {0};
        assert_int_equal(read_members(&found, &json, cases[i].string, &error), KG_BAD_INPUT);
        if (strstr(error.message, cases[i].message) == NULL)
            fail_msg("%s: %s", cases[i].string, error.message);
        json_decref(json);
    }
}

static void test_depth(void **state) {
    (void)state;
    char string[2 * (SERVE_MOST_DEPTH + 1) + 1];
    for (size_t depth = SERVE_MOST_DEPTH; depth <= SERVE_MOST_DEPTH + 1; depth++) {
        json_t *json = NULL;
        kg_error error = {0};
        memset(string, '[', depth);
        memset(string + depth, ']', depth);
        kg_status status = serve_json_parse(&json, string, 2 * depth, &error);
        assert_int_equal(status, depth > SERVE_MOST_DEPTH ? KG_BAD_INPUT : KG_OK);
        json_decref(json);
    }
}

/* ---- Tokens ---- */

static void test_tokens(void **state) {
    (void)state;
    static const char string[] = "# a comment\n\nread 0123456789abcdef\nwrite fedcba9876543210\n";
    static const struct {
        const char *header;
        serve_right right;
    } cases[] = {
        {NULL, SERVE_NOTHING},
        {"", SERVE_NOTHING},
        {"Bearer", SERVE_NOTHING},
        {"Bearer ", SERVE_NOTHING},
        {"Bearer 0123456789abcdef", SERVE_READ},
        {"bearer fedcba9876543210", SERVE_WRITE},
        {"Bearer 0123456789abcdeF", SERVE_NOTHING},
        {"Bearer 0123456789abcdef0", SERVE_NOTHING},
        {"Bearer 0123456789abcde", SERVE_NOTHING},
        {"Basic 0123456789abcdef", SERVE_NOTHING},
    };
    char path[] = "tokens-XXXXXX";
    int fd = mkstemp(path);
    serve_tokens *tokens = NULL;
    kg_error error = {0};
    assert_int_equal(write(fd, string, strlen(string)), strlen(string));
    close(fd);
    assert_int_equal(serve_tokens_open(&tokens, path, &error), KG_OK);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(serve_tokens_right(tokens, cases[i].header), cases[i].right);
    serve_tokens_close(tokens);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(serve_tokens_open(&tokens, path, &error), KG_BAD_INPUT);
    unlink(path);
}

/* ---- Metrics ---- */

static void test_metrics(void **state) {
    (void)state;
    static const char *const routes[] = {"ask", "other", NULL};
    const serve_gauge gauges[] = {{"facts", "gauge", "Facts.", 7}, {0}};
    serve_metrics *metrics = kg__alloc(1, sizeof *metrics);
    size_t size = 0;
    serve_metrics_count(metrics, 0, 200);
    serve_metrics_count(metrics, 0, 404);
    serve_metrics_observe(metrics, SERVE_REQUEST_TIME, 0, 0.002);
    serve_metrics_observe(metrics, SERVE_REQUEST_TIME, 0, 100);
    serve_metrics_observe(metrics, SERVE_BATCH_SIZE, 0, 2);
    char *string = serve_metrics_text(metrics, routes, gauges, &size);
    static const char *const lines[] = {
        "kgraft_http_requests_total{operation=\"ask\",status=\"2xx\"} 1\n",
        "kgraft_http_requests_total{operation=\"ask\",status=\"4xx\"} 1\n",
        "kgraft_http_request_duration_seconds_bucket{operation=\"ask\",le=\"0.001\"} 0\n",
        "kgraft_http_request_duration_seconds_bucket{operation=\"ask\",le=\"0.0025\"} 1\n",
        "kgraft_http_request_duration_seconds_bucket{operation=\"ask\",le=\"30\"} 1\n",
        "kgraft_http_request_duration_seconds_bucket{operation=\"ask\",le=\"+Inf\"} 2\n",
        "kgraft_http_request_duration_seconds_sum{operation=\"ask\"} 100.002000\n",
        "kgraft_prediction_batch_size_bucket{le=\"1\"} 0\n",
        "kgraft_prediction_batch_size_bucket{le=\"2\"} 1\n",
        "kgraft_facts 7\n",
    };
    assert_int_equal(size, strlen(string));
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_non_null(strstr(string, lines[i]));
    assert_null(strstr(string, "\"other\""));
    kg__free(string);
    kg__free(metrics);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags),    cmocka_unit_test(test_decode),
        cmocka_unit_test(test_query),   cmocka_unit_test(test_templates),
        cmocka_unit_test(test_members), cmocka_unit_test(test_wrong_members),
        cmocka_unit_test(test_depth),   cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_metrics),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
