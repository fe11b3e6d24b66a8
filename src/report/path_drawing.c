/* Nodes are placed in columns, ordered so that arrows cross little, and joined by curves as thick
 * as the shares of the paths that they belong to. A path that is shorter than others passes the
 * columns that it has no nodes in through bends, which take the place of nodes there. */
#include "report/path_drawing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/html_escape.h"

#define NODE_WIDTH 168
#define NODE_HEIGHT 34
#define GAP 212 /* between columns, for arrows and their labels */
#define ROW 66  /* from one node of a column to the next */
#define MARGIN 24
#define HEADER 56
#define FOOTER 44
#define HEAD 9 /* of an arrow */
#define LABEL_HEIGHT 27

/* Widths of texts, in characters of about the mean width. */
#define NODE_CHARACTERS 20
#define LABEL_CHARACTERS 23
#define TITLE_CHARACTERS 90

/* Colours that people with colour blindness can distinguish. */
#define FACT_COLOR "#2f6db5"
#define STEP_COLOR "#7a828c"
#define TEXT_COLOR "#1d2329"

/* An entity at a step, or where an arrow passes a column. */
struct node {
    const char *name; /* NULL: a bend */
    size_t column;
    double y;
    double order; /* while columns are sorted */
};

struct arrow {
    size_t from; /* nodes */
    size_t to;
    size_t bends[REPORT_MOST_STEPS]; /* between them */
    size_t bend_count;
    const char *label;
    bool is_backwards;
    double share;
    double shift;   /* of those that join the same nodes */
    double label_x; /* of the label's middle: in [0, 1] of the gap between columns, */
    double label_y; /* and in the drawing */
};

struct drawing {
    const report_paths *paths;
    size_t last;   /* column */
    size_t height; /* of all rows */
    struct node nodes[REPORT_MOST_PATHS * (REPORT_MOST_STEPS + 1) + 2];
    size_t node_count;
    struct arrow arrows[REPORT_MOST_PATHS * REPORT_MOST_STEPS];
    size_t arrow_count;
};

/* ---- Text ---- */

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_forbidden(const char *bytes, size_t length) {
    return length == 3 && memcmp(bytes, "\xef\xbf", 2) == 0 && (unsigned char)bytes[2] >= 0xbe;
}

/* Characters of three bytes and more are mostly wide. */
static size_t width_of(size_t length) {
    return length >= 3 ? 2 : 1;
}

/* At most so many characters of a text, escaped; what is longer ends with an ellipsis. */
static void put_text(FILE *out, const char *text, size_t most) {
    size_t left = strlen(text);
    for (size_t width = 0; left > 0;) {
        size_t length = kg__utf8_length(text, left);
        bool is_valid = length > 0 && !is_forbidden(text, length);
        char character[5] = "";
        length = length == 0 ? 1 : length;
        width += width_of(length);
        if (width > most || (width == most && left > length)) {
            fputs("\xe2\x80\xa6", out);
            return;
        }
        memcpy(character, text, length);
        if (is_valid)
            report_html_text(out, character);
        else
            fputs("\xef\xbf\xbd", out);
        text += length;
        left -= length;
    }
}

static void put_whole(FILE *out, const char *text) {
    put_text(out, text, SIZE_MAX);
}

/* ---- Nodes and arrows ---- */

static size_t find_node(struct drawing *d, const char *name, size_t column) {
    for (size_t i = 0; i < d->node_count; i++)
        if (d->nodes[i].column == column && d->nodes[i].name != NULL &&
            strcmp(d->nodes[i].name, name) == 0)
            return i;
    d->nodes[d->node_count] = (struct node){.name = name, .column = column};
    return d->node_count++;
}

static void add_arrow(struct drawing *d, size_t from, size_t to, const report_step *step,
                      double share) {
    for (size_t i = 0; i < d->arrow_count; i++) {
        struct arrow *a = &d->arrows[i];
        if (a->from == from && a->to == to && a->is_backwards == step->is_backwards &&
            strcmp(a->label, step->label) == 0) {
            a->share += share;
            return;
        }
    }
    struct arrow *arrow = &d->arrows[d->arrow_count++];
    *arrow = (struct arrow){.from = from,
                            .to = to,
                            .label = step->label,
                            .is_backwards = step->is_backwards,
                            .share = share};
    for (size_t column = d->nodes[from].column + 1; column < d->nodes[to].column; column++) {
        arrow->bends[arrow->bend_count++] = d->node_count;
        d->nodes[d->node_count++] = (struct node){.column = column};
    }
}

static void add_paths(struct drawing *d) {
    const report_paths *paths = d->paths;
    size_t end = 0;
    for (size_t i = 0; i < paths->count; i++)
        d->last = paths->paths[i].count > d->last ? paths->paths[i].count : d->last;
    d->nodes[d->node_count++] = (struct node){.name = paths->start, .column = 0};
    end = d->node_count;
    d->nodes[d->node_count++] = (struct node){.name = paths->end, .column = d->last};
    for (size_t i = 0; i < paths->count; i++) {
        const report_path *path = &paths->paths[i];
        size_t here = 0;
        for (size_t k = 0; k < path->count; k++) {
            const report_step *step = &path->steps[k];
            size_t next = k + 1 == path->count ? end : find_node(d, step->to, k + 1);
            add_arrow(d, here, next, step, path->share);
            here = next;
        }
    }
}

/* ---- Places ---- */

/* The nodes of an arrow, bends included. */
static size_t list_nodes(const struct arrow *a, size_t *out) {
    size_t count = 0;
    out[count++] = a->from;
    for (size_t i = 0; i < a->bend_count; i++)
        out[count++] = a->bends[i];
    out[count++] = a->to;
    return count;
}

/* Sets the order of a column's nodes to the mean place of those before, or behind. */
static void set_orders(struct drawing *d, size_t column, bool is_before) {
    for (size_t i = 0; i < d->node_count; i++) {
        double sum = 0;
        double count = 0;
        if (d->nodes[i].column != column)
            continue;
        for (size_t k = 0; k < d->arrow_count; k++) {
            size_t nodes[REPORT_MOST_STEPS + 2];
            size_t length = list_nodes(&d->arrows[k], nodes);
            for (size_t j = 0; j + 1 < length; j++) {
                size_t own = is_before ? nodes[j + 1] : nodes[j];
                size_t other = is_before ? nodes[j] : nodes[j + 1];
                sum += own == i ? d->nodes[other].y : 0;
                count += own == i;
            }
        }
        d->nodes[i].order = count > 0 ? sum / count : d->nodes[i].y;
    }
}

/* Places a column's nodes below each other in their order, around the middle. */
static void place_column(struct drawing *d, size_t column) {
    size_t sorted[sizeof d->nodes / sizeof *d->nodes];
    size_t count = 0;
    for (size_t i = 0; i < d->node_count; i++) {
        size_t place = count;
        if (d->nodes[i].column != column)
            continue;
        for (; place > 0 && d->nodes[sorted[place - 1]].order > d->nodes[i].order; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = i;
        count++;
    }
    for (size_t i = 0; i < count; i++)
        d->nodes[sorted[i]].y = ROW * ((double)i - (double)(count - 1) / 2);
    d->height = count * ROW > d->height ? count * ROW : d->height;
}

#define SWEEPS 4

static void place_nodes(struct drawing *d) {
    for (size_t i = 0; i < d->node_count; i++)
        d->nodes[i].order = (double)i;
    for (size_t column = 0; column <= d->last; column++)
        place_column(d, column);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t i = 1; i < d->last; i++) {
            size_t column = sweep % 2 == 0 ? i : d->last - i;
            set_orders(d, column, sweep % 2 == 0);
            place_column(d, column);
        }
}

/* Arrows that join the same nodes are drawn beside each other. */
static void shift_arrows(struct drawing *d) {
    for (size_t i = 0; i < d->arrow_count; i++) {
        double before = 0;
        double all = 0;
        for (size_t k = 0; k < d->arrow_count; k++)
            if (d->arrows[k].from == d->arrows[i].from && d->arrows[k].to == d->arrows[i].to &&
                d->arrows[k].bend_count == 0) {
                before += k < i;
                all++;
            }
        d->arrows[i].shift = d->arrows[i].bend_count == 0 ? before - (all - 1) / 2 : 0;
    }
}

/* How many arrows begin at a node, or end there. */
static double count_at(const struct drawing *d, size_t node, bool is_end) {
    double count = 0;
    for (size_t i = 0; i < d->arrow_count; i++)
        count += node == (is_end ? d->arrows[i].to : d->arrows[i].from);
    return count;
}

/* Beside the curve's middle, but nearer to the end that fewer arrows have. */
static void start_label(const struct drawing *d, struct arrow *a) {
    size_t next = a->bend_count > 0 ? a->bends[0] : a->to;
    double begin = count_at(d, a->from, false);
    double end = a->bend_count > 0 ? 1 : count_at(d, a->to, true);
    double at = 0.3 + 0.4 * begin / (begin + end);
    double bent = at * at * (3 - 2 * at); /* about how far the curve has come there */
    a->label_x = at;
    a->label_y = d->nodes[a->from].y + bent * (d->nodes[next].y - d->nodes[a->from].y) +
                 a->shift * LABEL_HEIGHT;
}

/* Labels between two columns are moved apart, downwards from the highest. */
static void place_labels(struct drawing *d) {
    for (size_t column = 0; column < d->last; column++) {
        size_t sorted[sizeof d->arrows / sizeof *d->arrows];
        size_t count = 0;
        for (size_t i = 0; i < d->arrow_count; i++) {
            struct arrow *a = &d->arrows[i];
            size_t place = count;
            if (d->nodes[a->from].column != column)
                continue;
            start_label(d, a);
            for (; place > 0 && d->arrows[sorted[place - 1]].label_y > a->label_y; place--)
                sorted[place] = sorted[place - 1];
            sorted[place] = i;
            count++;
        }
        for (size_t i = 1; i < count; i++)
            d->arrows[sorted[i]].label_y =
                fmax(d->arrows[sorted[i]].label_y, d->arrows[sorted[i - 1]].label_y + LABEL_HEIGHT);
        double lowest = count == 0 ? 0 : d->arrows[sorted[count - 1]].label_y + LABEL_HEIGHT;
        d->height = 2 * lowest > (double)d->height ? (size_t)(2 * lowest) : d->height;
    }
}

/* ---- SVG ---- */

static double left_of(const struct node *node) {
    return MARGIN + (double)node->column * (NODE_WIDTH + GAP);
}

static double y_of(const struct drawing *d, const struct node *node) {
    return HEADER + (double)d->height / 2 + node->y;
}

/* A curve that begins and ends horizontally. */
static void put_curve(FILE *out, double x, double y, double to_x, double to_y) {
    double middle = (x + to_x) / 2;
    fprintf(out, " C%.1f %.1f %.1f %.1f %.1f %.1f", middle, y, middle, to_y, to_x, to_y);
}

static void put_head(FILE *out, double x, double y, double side, double thickness,
                     const char *color) {
    double half = 3.5 + thickness / 2;
    fprintf(out, "<path d=\"M%.1f %.1f L%.1f %.1f L%.1f %.1f Z\" fill=\"%s\"/>\n", x, y,
            x - side * HEAD, y - half, x - side * HEAD, y + half, color);
}

static void put_arrow(FILE *out, const struct drawing *d, const struct arrow *a) {
    const char *color = a->from == 0 ? FACT_COLOR : STEP_COLOR;
    double thickness = 1.2 + 9 * fmin(1, a->share);
    const struct node *from = &d->nodes[a->from];
    const struct node *to = &d->nodes[a->to];
    double shift = a->shift * 7;
    double x = left_of(from) + NODE_WIDTH + (a->is_backwards ? HEAD : 0);
    double y = y_of(d, from) + shift;
    double end_x = left_of(to) - (a->is_backwards ? 0 : HEAD);
    double end_y = y_of(d, to) + shift;
    fprintf(out, "<g><title>");
    put_whole(out, a->label);
    fprintf(out,
            ": %.1f%%</title>\n<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" d=\"M%.1f "
            "%.1f",
            100 * a->share, color, thickness, x, y);
    for (size_t i = 0; i < a->bend_count; i++) {
        const struct node *bend = &d->nodes[a->bends[i]];
        put_curve(out, x, y, left_of(bend), y_of(d, bend));
        x = left_of(bend) + NODE_WIDTH;
        y = y_of(d, bend);
        fprintf(out, " L%.1f %.1f", x, y);
    }
    put_curve(out, x, y, end_x, end_y);
    fputs("\"/>\n", out);
    if (a->is_backwards)
        put_head(out, left_of(from) + NODE_WIDTH, y_of(d, from) + shift, -1, thickness, color);
    else
        put_head(out, left_of(to), end_y, 1, thickness, color);
    fputs("</g>\n", out);
}

/* A text with a white outline, so that it can be read above curves: SVG 1.1 paints outlines above
 * texts, hence twice. */
static void put_label(FILE *out, double x, double y, const char *style, const char *text,
                      size_t most) {
    for (int i = 0; i < 2; i++) {
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" %s%s>", x, y, style,
                i == 0 ? " stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\"" : "");
        put_text(out, text, most);
        fputs("</text>\n", out);
    }
}

static void put_arrow_label(FILE *out, const struct drawing *d, const struct arrow *a) {
    char share[32];
    double x = left_of(&d->nodes[a->from]) + NODE_WIDTH + GAP * a->label_x;
    double y = HEADER + (double)d->height / 2 + a->label_y;
    snprintf(share, sizeof share, a->share < 0.1 ? "%.2g%%" : "%.0f%%", 100 * a->share);
    fputs("<g><title>", out);
    put_whole(out, a->label);
    fputs("</title>\n", out);
    put_label(out, x, y - 3, "font-size=\"12\"", a->label, LABEL_CHARACTERS);
    put_label(out, x, y + 10, "font-size=\"11\" font-weight=\"bold\"", share, SIZE_MAX);
    fputs("</g>\n", out);
}

static void put_node(FILE *out, const struct drawing *d, size_t i) {
    static const char *const fills[] = {"#dce9f8", "#fbe3d3", "#f4f5f7"};
    static const char *const strokes[] = {FACT_COLOR, "#c2571b", "#a4abb3"};
    const struct node *node = &d->nodes[i];
    size_t style = i < 2 ? i : 2;
    double x = left_of(node);
    double y = y_of(d, node);
    fputs("<g><title>", out);
    put_whole(out, node->name);
    fprintf(out,
            "</title>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"7\" fill=\"%s\" "
            "stroke=\"%s\" stroke-width=\"%s\"/>\n<text x=\"%.1f\" y=\"%.1f\" "
            "text-anchor=\"middle\" font-size=\"13\"%s>",
            x, y - NODE_HEIGHT / 2.0, NODE_WIDTH, NODE_HEIGHT, fills[style], strokes[style],
            i < 2 ? "2" : "1", x + NODE_WIDTH / 2.0, y + 4.5, i < 2 ? " font-weight=\"bold\"" : "");
    put_text(out, node->name, NODE_CHARACTERS);
    fputs("</text></g>\n", out);
}

/* What is drawn, and how much of all that is. */
static void put_footer(FILE *out, const struct drawing *d, double height) {
    double sum = 0;
    for (size_t i = 0; i < d->paths->count; i++)
        sum += d->paths->paths[i].share;
    fprintf(out,
            "<path d=\"M%d %.1f h28\" stroke=\"%s\" stroke-width=\"4\"/>\n<text x=\"%d\" "
            "y=\"%.1f\" font-size=\"12\">a fact of the entity</text>\n",
            MARGIN, height - 20, FACT_COLOR, MARGIN + 36, height - 16);
    fprintf(out,
            "<text x=\"%d\" y=\"%.1f\" font-size=\"12\">%zu %s: %.0f%% of what reaches the "
            "answer</text>\n",
            MARGIN + NODE_WIDTH, height - 16, d->paths->count,
            d->paths->count == 1 ? "path" : "paths", 100 * sum);
}

static void put_svg(FILE *out, const struct drawing *d) {
    double width = 2 * MARGIN + (double)(d->last + 1) * NODE_WIDTH + (double)d->last * GAP;
    double height = HEADER + (double)d->height + FOOTER;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
            "xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" fill=\"%s\">\n"
            "<title>",
            width, height, width, height, TEXT_COLOR);
    put_whole(out, d->paths->title);
    fprintf(out,
            "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<text x=\"%d\" "
            "y=\"32\" font-size=\"15\" font-weight=\"bold\">",
            MARGIN);
    put_text(out, d->paths->title,
             d->last < 3 ? TITLE_CHARACTERS * d->last / 3 + 20 : TITLE_CHARACTERS);
    fputs("</text>\n", out);
    for (size_t i = 0; i < d->arrow_count; i++)
        put_arrow(out, d, &d->arrows[i]);
    for (size_t i = 0; i < d->node_count; i++)
        if (d->nodes[i].name != NULL)
            put_node(out, d, i);
    for (size_t i = 0; i < d->arrow_count; i++)
        put_arrow_label(out, d, &d->arrows[i]);
    if (d->paths->count > 0)
        put_footer(out, d, height);
    else
        put_label(out, width / 2, HEADER + (double)d->height / 2 + 4, "font-size=\"13\"", "no path",
                  SIZE_MAX);
    fputs("</svg>\n", out);
}

kg_status report_draw_paths(char **out, size_t *size, const report_paths *paths, kg_error *error) {
    struct drawing d = {.paths = paths, .last = 1};
    add_paths(&d);
    place_nodes(&d);
    shift_arrows(&d);
    place_labels(&d);
    FILE *text = open_memstream(out, size);
    if (text == NULL)
        return kg__fail_memory(error);
    put_svg(text, &d);
    bool good = ferror(text) == 0;
    if (fclose(text) == 0 && good)
        return KG_OK;
    free(*out);
    *out = NULL;
    return kg__fail_memory(error);
}
