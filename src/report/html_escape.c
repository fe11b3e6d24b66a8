/* Escaping, and SVG within HTML. */
#include "report/html_escape.h"

#include <string.h>

#include "report/plot.h"

static const char *escape(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return (unsigned char)c < ' ' || c == '\x7f' ? " " : NULL;
    }
}

void report_html_text(FILE *page, const char *text) {
    for (; *text != '\0'; text++) {
        const char *escaped = escape(*text);
        if (escaped != NULL)
            fputs(escaped, page);
        else
            putc(*text, page);
    }
}

/* If `text` defines an id or refers to one, the length of what is before it, else 0. */
static size_t find_id(const char *text) {
    static const char *const before[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(text, before[i], strlen(before[i])) == 0)
            return strlen(before[i]);
    return 0;
}

/* Copies elements, prefixing each id within a tag with the name. */
static void copy_with_ids(FILE *page, const char *svg, const char *name) {
    bool in_tag = false;
    while (*svg != '\0') {
        size_t length = in_tag ? find_id(svg) : 0;
        if (length > 0) {
            fprintf(page, "%.*s%s-", (int)length, svg, name);
            svg += length;
            continue;
        }
        in_tag = *svg == '<' || (in_tag && *svg != '>');
        putc(*svg++, page);
    }
}

void report_html_svg(FILE *page, const char *svg, const char *name, const char *label) {
    fprintf(page, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", REPORT_PLOT_WIDTH,
            REPORT_PLOT_HEIGHT);
    report_html_text(page, label);
    fputs("\" xmlns=\"http://www.w3.org/2000/svg\" "
          "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n",
          page);
    /* Its prologue, root and title, which browsers show as a tooltip, are left out. */
    const char *body = strstr(svg, "<g ");
    copy_with_ids(page, body == NULL ? "</svg>" : body, name);
}
