#include "answer_text.h"

#include <stdlib.h>
#include <string.h>

static void write_bits(FILE *file, double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    fprintf(file, " %016jx", (uintmax_t)bits);
}

static void write_name(FILE *file, const kg_model *model, kg_id entity) {
    kg_text name = kg_model_entity_name(model, entity);
    fprintf(file, " %.*s", (int)name.length, name.bytes);
}

void write_answers(FILE *file, const kg_model *model, const kg_answer *answers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fprintf(file, " %u", answers[i].directed);
        write_name(file, model, answers[i].entity);
        write_bits(file, (double)answers[i].score);
        write_bits(file, (double)answers[i].probability);
    }
    fputc('\n', file);
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Shares are in the order of ids, so they are sorted by what they say. */
static void write_shares(FILE *file, const kg_model *model, const kg_explanation *why) {
    char *lines[MOST_FACTS];
    for (size_t i = 0; i < why->share_count; i++) {
        size_t length = 0;
        FILE *line = open_memstream(&lines[i], &length);
        fprintf(line, "%u", why->shares[i].link.directed);
        write_name(line, model, why->shares[i].link.other);
        write_bits(line, why->shares[i].weight);
        write_bits(line, why->shares[i].part);
        write_bits(line, why->shares[i].rank_without);
        for (size_t k = 0; k < why->term_count; k++)
            write_bits(line, why->shares[i].parts[k]);
        fclose(line);
    }
    qsort(lines, why->share_count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < why->share_count; i++) {
        fprintf(file, "%s\n", lines[i]);
        free(lines[i]);
    }
}

void write_explanation(FILE *file, const kg_model *model, kg_workspace *workspace,
                       kg_subject subject, kg_link target) {
    static _Thread_local kg_share shares[MOST_FACTS];
    static _Thread_local kg_score_term terms[4];
    static _Thread_local double parts[MOST_FACTS * 4];
    static _Thread_local kg_reason reasons[12];
    kg_error error = {0};
    kg_explanation why = KG_EXPLANATION_INIT;
    const kg_link *links = NULL;
    size_t count = 0;
    assert_ok(kg_model_links(&links, &count, model, subject.entity, &error), &error);
    if (subject.entity != KG_NO_ID && count == 0)
        return;
    why.shares = shares;
    why.share_capacity = MOST_FACTS;
    why.terms = terms;
    why.term_capacity = 4;
    why.parts = parts;
    why.part_capacity = MOST_FACTS * 4;
    why.reasons = reasons;
    why.reason_capacity = 12;
    assert_ok(kg_workspace_explain(&why, workspace, subject, target, &error), &error);
    write_bits(file, why.score);
    write_bits(file, why.rank);
    for (size_t i = 0; i < why.term_count; i++) {
        write_bits(file, terms[i].part);
        write_bits(file, terms[i].rest);
    }
    for (size_t i = 0; i < why.reason_count; i++) {
        for (size_t k = 0; k < reasons[i].steps; k++) {
            fprintf(file, " %u", reasons[i].path[k].directed);
            write_name(file, model, reasons[i].path[k].other);
        }
        write_bits(file, reasons[i].share);
    }
    fputc('\n', file);
    write_shares(file, model, &why);
}

kg_request request_for(kg_subject subject, kg_directed asked) {
    kg_request out = KG_REQUEST_INIT;
    out.subject = subject;
    out.relation = asked / 2;
    out.heads = asked % 2 == 1;
    out.tails = asked % 2 == 0;
    return out;
}

static void write_subject(FILE *file, const kg_model *model, kg_workspace *workspace,
                          kg_subject subject, size_t number, bool is_whole) {
    kg_answer answers[2 * RELATIONS * MOST];
    size_t found[2 * RELATIONS];
    kg_error error = {0};
    kg_model_info info = KG_MODEL_INFO_INIT;
    float vector[64];
    kg_request requests[2 * RELATIONS];
    assert_ok(kg_model_describe(&info, model, NULL), NULL);
    for (kg_directed d = 0; d < 2 * RELATIONS; d++) {
        requests[d] = request_for(subject, d);
        requests[d].keep_known = d == 2;
        requests[d].no_echo = d == 3;
    }
    size_t count = is_whole ? 2 * RELATIONS : 1;
    assert_ok(kg_workspace_predict(answers, found, workspace, requests, count, MOST, &error),
              &error);
    for (size_t d = 0; d < count; d++) {
        write_answers(file, model, answers + d * MOST, found[d]);
        if (is_whole && found[d] > 0 && number % 11 == d)
            write_explanation(file, model, workspace, subject,
                              (kg_link){answers[d * MOST].directed, answers[d * MOST].entity});
    }
    if (info.dim == 0 || !is_whole)
        return;
    assert_ok(kg_workspace_embed(vector, workspace, subject, 1, &error), &error);
    for (size_t i = 0; i < info.dim; i++)
        write_bits(file, (double)vector[i]);
    assert_ok(kg_workspace_neighbors(answers, found, workspace, subject, MOST, &error), &error);
    write_answers(file, model, answers, found[0]);
}

char *read_answers(const kg_model *model, kg_workspace *workspace, bool is_whole) {
    char *answered = NULL;
    size_t length = 0;
    kg_model_info info = KG_MODEL_INFO_INIT;
    kg_link links[8];
    size_t link_count = 0;
    assert_ok(kg_model_describe(&info, model, NULL), NULL);
    FILE *file = open_memstream(&answered, &length);
    fprintf(file, "%zu entities\n", info.entities);
    for (size_t i = 0; i < ALL; i++) {
        kg_id entity = kg_model_find_entity(model, name_of(i));
        if (entity == KG_NO_ID)
            continue;
        fprintf(file, "%s\n", name_of(i).bytes);
        write_subject(file, model, workspace, (kg_subject){.entity = entity}, i, is_whole);
        if (link_count < COUNT_OF(links) && i % 5 < 2)
            links[link_count++] = (kg_link){(kg_directed)(i % 3), entity};
    }
    link_count = kg_links_sort(links, link_count);
    write_subject(file, model, workspace, (kg_subject){KG_NO_ID, links, link_count}, 0, is_whole);
    fclose(file);
    return answered;
}

char *answers_of(const kg_model *model, int threads) {
    kg_workspace *workspace = open_workspace(model, threads);
    char *answered = read_answers(model, workspace, true);
    kg_workspace_close(workspace);
    return answered;
}

char *live_answers(kg_live *live, int threads) {
    kg_model *snapshot = snapshot_of(live);
    char *answered = answers_of(snapshot, threads);
    kg_model_close(snapshot);
    return answered;
}

char *stored_answers(const char *path) {
    kg_error error = {0};
    kg_model *model = NULL;
    assert_ok(kg_model_open(&model, path, &error), &error);
    char *out = answers_of(model, 1);
    kg_model_close(model);
    return out;
}

void assert_same_text(char *a, char *b) {
    assert_string_equal(a, b);
    free(a);
    free(b);
}
