/* capture/explain_html.c: what dync_explain collected as one page without files beside it: graphs
 * drawn by graph/draw.c, breaks with the source lines around them, guards, recompiles. After
 * explain.c. The graphs are read back from their text, so an output is plain data. */
#include "../dync.in.h"
#include "capture.h"
DYNC__COLD

enum { DYNC__HTML_AROUND = 2 }; /* source lines shown before and after a break's own */

static const char dync__html_style[] =
    "body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}"
    "pre,.graph{background:#f6f6f6;padding:.8em 1em;overflow:auto;font:13px/1.45 monospace}"
    ".graph{text-align:center}.here{background:#fee2e2;display:block}"
    "td{padding:.1em 1em .1em 0}summary{cursor:pointer;color:#555}";

static void dync__html_pre(dync__str *s, const char *text)
{
    dync__str_add(s, "<pre>");
    dync__html_text(s, text);
    dync__str_add(s, "</pre>\n");
}

/* ---- source lines ---------------------------------------------------------------------------- */
/* Lines line - 2 to line + 2 of a file's text, the middle one marked. */
static void dync__html_lines(dync__str *s, const char *text, int line)
{
    dync__str_add(s, "<pre>");
    for (int i = 1; *text && i <= line + DYNC__HTML_AROUND; i++) {
        size_t n = strcspn(text, "\n");
        if (i >= line - DYNC__HTML_AROUND) {
            dync__str one = {0};
            dync__str_addn(&one, text, n);
            dync__str_addf(s, i == line ? "<span class=\"here\">%5d  " : "%5d  ", i);
            dync__html_text(s, dync__str_get(&one));
            dync__str_add(s, i == line ? "</span>" : "\n");
            dync__str_free(&one);
        }
        text += n + (text[n] == '\n');
    }
    dync__str_add(s, "</pre>\n");
}

/* One line of a stack, "file:line in fn": the lines around it where the file can be read. */
static void dync__html_place(dync__str *s, const char *place, size_t n)
{
    dync__str one = {0};
    dync__str_addn(&one, place, n);
    dync__str_add(s, "<p><code>");
    dync__html_text(s, dync__str_get(&one));
    dync__str_add(s, "</code></p>\n");
    const char *end, *in, *at = one.at ? dync__stack_line_parts(one.at, one.n, &in) : NULL;
    char *colon = at ? one.at + (at - one.at) : NULL;
    double line;
    if (colon && dync__text_double(colon + 1, &end, &line)) {
        char *text = NULL;
        size_t bytes = 0;
        dync__error_guard guard;
        *colon = 0;
        dync__error_guard_begin(&guard);
        bool read = dync__file_read(one.at, &text, &bytes) == DYNC_OK;
        dync__error_guard_end(&guard);
        if (read) dync__html_lines(s, text, (int)line);
        if (read) dync__free(text, bytes + 1);
    }
    dync__str_free(&one);
}

static void dync__html_breaks(dync__str *s, const dync_explain_output *o)
{
    if (o->nbreaks) dync__str_add(s, "<h2>Breaks</h2>\n");
    for (int i = 0; i < o->nbreaks && o->breaks; i++) {
        dync__str_addf(s, "<h3>Break %d</h3>\n", i + 1);
        dync__html_pre(s, o->breaks[i].reason);
        for (const char *p = o->breaks[i].stack; *p;) {
            size_t n = strcspn(p, "\n");
            dync__html_place(s, p, n);
            p += n + (p[n] == '\n');
        }
    }
}

/* ---- graphs and lists ------------------------------------------------------------------------ */
/* recursion: a picture of the graph, then one of each function inside its operators */
static void dync__html_picture(dync__str *s, const dync__graph *g, const char *title)
{
    dync__str_add(s, "<div class=\"graph\">\n");
    if (title) dync__str_addf(s, "<h4>%s</h4>\n", title);
    dync__graph_draw_svg(s, g);
    dync__str_add(s, "</div>\n");
    for (int i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->nargs; k++) {
            const dync__arg *a = &g->node.at[i]->args[k];
            if (a->kind == DYNC__A_GRAPH) dync__html_picture(s, a->as.graph, a->as.graph->name);
        }
}

static void dync__html_graph(dync__str *s, int i, const char *text)
{
    dync__error_guard guard;
    dync__str_addf(s, "<h3>Graph %d</h3>\n", i + 1);
    dync__error_guard_begin(&guard);
    dync__graph *g = dync__graph_parse(text);
    dync__error_guard_end(&guard);
    if (g) dync__html_picture(s, g, NULL);
    dync__graph_unref(g);
    dync__str_add(s, "<details><summary>as C</summary>\n");
    dync__html_pre(s, text);
    dync__str_add(s, "</details>\n");
}

static void dync__html_list(dync__str *s, const char *title, const char *each, int n,
                            const char *const *texts)
{
    if (n && texts) dync__str_addf(s, "<h2>%s</h2>\n", title);
    for (int i = 0; i < n && texts; i++) {
        dync__str_addf(s, "<h3>%s %d</h3>\n", each, i + 1);
        dync__html_pre(s, texts[i]);
    }
}

DYNC_API dync_status dync_explain_html(const dync_explain_output *o, const char *path)
{
    if (!o || !path)
        return dync__fail(DYNC_ERR_VALUE, "dync_explain_html: %s is NULL",
                          o ? "the path" : "the output");
    DYNC__WRITES(path);
    dync__str s = {0};
    dync__str_addf(&s,
                   "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                   "<title>dync explain</title>\n<style>%s</style>\n<h1>dync explain</h1>\n",
                   dync__html_style);
    dync__str_addf(&s,
                   "<table>\n<tr><td>Graphs<td>%d\n<tr><td>Graph breaks<td>%d\n"
                   "<tr><td>Operators<td>%d\n",
                   o->graph_count, o->graph_break_count, o->op_count);
    if (o->compile_ms > 0)
        dync__str_addf(&s, "<tr><td>Compile time<td>%.3f ms\n", dync__float_shown(o->compile_ms));
    dync__str_add(&s, "</table>\n");
    dync__html_breaks(&s, o);
    if (o->graph_count > 0 && o->graphs) dync__str_add(&s, "<h2>Graphs</h2>\n");
    for (int i = 0; i < o->graph_count && o->graphs; i++) dync__html_graph(&s, i, o->graphs[i]);
    dync__html_list(&s, "Guards", "Entry", o->nguards, o->guards);
    dync__html_list(&s, "Recompile history", "Entry", o->nrecompiles, o->recompiles);
    dync__str_add(&s, "</html>\n");
    dync_status status = s.failed ? dync__fail_memory(s.n) : dync__file_write(path, s.at, s.n);
    dync__str_free(&s);
    return status;
}
