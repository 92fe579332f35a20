/* graph/draw.c: pictures of a graph: Graphviz DOT text, and SVG made here: boxes in layers, each
 * below the values it reads, arrows between. After text.c; capture/explain_html.c shows the SVG.
 *
 * Layers by longest path (Sugiyama, Tagawa, Toda 1981); inside a layer boxes stand in the order of
 * the mean place of what they read. An input stands one layer above its first reader. A value that
 * is read further down passes the layers between in bends, which take room as boxes do: arrows
 * never run behind boxes. */
#include "../dync.in.h"
#include "graph.h"
#include "text.h"
DYNC__COLD

/* What stands in the box: where an input comes from, or the operator's name. */
static void dync__draw_label(dync__str *s, const dync__node *n)
{
    if (n->kind == DYNC__N_OUTPUT)
        dync__str_add(s, "output");
    else if (n->kind == DYNC__N_PLACEHOLDER)
        dync__str_add(s, n->source ? n->source : n->name);
    else
        dync__str_add(s, n->target);
}

static void dync__draw_type(dync__str *s, const dync__node *n)
{
    if (!n->has_info || n->nout != 1 || n->kind == DYNC__N_OUTPUT) return;
    dync__str_add(s, dync__dtype_info(n->info[0].dtype)->fx);
    dync__text_shape(s, n->graph, n->info[0].lay.ndim, n->info[0].lay.shape);
}

/* ---- DOT ------------------------------------------------------------------------------------- */
static void dync__dot_quote(dync__str *s, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') dync__str_addc(s, '\\');
        if (*text == '\n')
            dync__str_add(s, "\\n");
        else
            dync__str_addc(s, *text);
    }
}

/* path: in front of the nodes' names, "" of the graph itself: they are n0, n1, ...; those of a
 * function inside n3, as argument 1, are n3_1_n0, ... */
typedef struct dync__dot {
    dync__str *s;
    const char *path;
    int depth;
} dync__dot;

static void dync__dot_edge(void *user, dync__arg *a)
{
    const dync__dot *d = user;
    dync__str_addf(d->s, "%sn%d; ", d->path, a->as.node->index);
}

static void dync__dot_node(const dync__dot *d, dync__node *n)
{
    static const char *const look[] = {
        [DYNC__N_PLACEHOLDER] = ", style=filled, fillcolor=\"#dbeafe\"",
        [DYNC__N_GET_ATTR] = ", style=filled, fillcolor=\"#fef3c7\"",
        [DYNC__N_CALL_FUNCTION] = "",
        [DYNC__N_CALL_METHOD] = "",
        [DYNC__N_CALL_MODULE] = "",
        [DYNC__N_OUTPUT] = ", style=filled, fillcolor=\"#dcfce7\"",
    };
    dync__str *s = d->s, label = {0}, reads = {0};
    dync__dot in = {&reads, d->path, d->depth};
    dync__draw_label(&label, n);
    dync__str_addf(s, "%*s%sn%d [label=\"", 4 * d->depth, "", d->path, n->index);
    dync__dot_quote(s, dync__str_get(&label));
    dync__str_free(&label);
    dync__draw_type(&label, n);
    if (label.n) dync__str_add(s, "\\n");
    dync__dot_quote(s, dync__str_get(&label));
    dync__str_addf(s, "\"%s];\n", look[n->kind]);
    dync__node_each_input(n, dync__dot_edge, &in);
    if (reads.n)
        dync__str_addf(s, "%*s{ %s} -> %sn%d;\n", 4 * d->depth, "", dync__str_get(&reads), d->path,
                       n->index);
    s->failed = s->failed || label.failed || reads.failed;
    dync__str_free(&label);
    dync__str_free(&reads);
}

/* recursion: a function inside an operator is a cluster, whose output leads to the operator */
static void dync__dot_nodes(const dync__dot *d, const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        dync__dot_node(d, n);
        for (int k = 0; k < n->nargs; k++) {
            dync__str path = {0};
            const dync__graph *inside = n->args[k].as.graph;
            if (n->args[k].kind != DYNC__A_GRAPH) continue;
            dync__str_addf(&path, "%sn%d_%d_", d->path, i, k);
            dync__dot in = {d->s, dync__str_get(&path), d->depth + 1};
            dync__str_addf(d->s, "%*ssubgraph \"cluster_%s\" {\n%*slabel=\"", 4 * d->depth, "",
                           in.path, 4 * in.depth, "");
            dync__text_function(d->s, n, k);
            dync__str_add(d->s, "\";\n");
            dync__dot_nodes(&in, inside);
            dync__str_addf(d->s, "%*s}\n%*s%sn%d -> %sn%d [style=dashed];\n", 4 * d->depth, "",
                           4 * d->depth, "", in.path, inside->node.n - 1, d->path, i);
            d->s->failed = d->s->failed || path.failed;
            dync__str_free(&path);
        }
    }
}

DYNC__FN void dync__graph_draw_dot(dync__str *s, const dync__graph *g)
{
    dync__dot d = {s, "", 1};
    if (!dync__graph_prints(s)) return;
    dync__str_add(s, "digraph \"");
    dync__dot_quote(s, g->name ? g->name : "");
    dync__str_add(s, "\" {\n    node [shape=box, fontname=\"monospace\", fontsize=11];\n");
    dync__dot_nodes(&d, g);
    dync__str_add(s, "}\n");
}

DYNC_API char *dync_graph_dot(const dync_graph *graph)
{
    const dync__graph *g = dync__graph_open(graph, "dync_graph_dot");
    DYNC__NEEDS(DYNC_NO_PRINT_GRAPH, "dync_graph_dot", NULL);
    if (!g) return NULL;
    dync__str s = {0};
    dync__graph_draw_dot(&s, g);
    char *text = s.failed ? NULL : dync__scope_alloc(s.n + 1);
    if (text) memcpy(text, dync__str_get(&s), s.n);
    dync__str_free(&s);
    return text;
}

/* ---- SVG: layout ----------------------------------------------------------------------------- */
enum { DYNC__DRAW_H = 36, DYNC__DRAW_GAP_X = 16, DYNC__DRAW_GAP_Y = 34, DYNC__DRAW_CHAR = 7 };
/* A node's box, or the place where an arrow passes a layer (a bend). All lengths are in pixels. */
typedef struct dync__box {
    dync__node *node;    /* NULL: a bend */
    int layer, width, x; /* x: of the middle */
    int64_t sum;         /* of the middles of what it reads */
    int n_in;
    int first_reader, last_reader; /* layers */
    int bends;                     /* the first of its bends, one for each layer it passes */
    int above;                     /* a bend: the box or bend it continues */
} dync__box;
typedef struct dync__picture {
    dync__box *box; /* one per node, then the bends */
    int *order;     /* of the boxes of one layer */
    int n, n_nodes, n_layers, width;
    dync__box *at; /* the one being looked at */
    dync__str *s;
} dync__picture;

static void dync__picture_below(void *user, dync__arg *a)
{
    dync__picture *p = user;
    p->at->layer = DYNC__MAX(p->at->layer, p->box[a->as.node->index].layer + 1);
}
static void dync__picture_reader(void *user, dync__arg *a)
{
    dync__picture *p = user;
    dync__box *from = &p->box[a->as.node->index];
    from->first_reader = DYNC__MIN(from->first_reader, p->at->layer);
    from->last_reader = DYNC__MAX(from->last_reader, p->at->layer);
}

/* Where the arrow from a node into a layer begins: at its box, or at its last bend before. */
static const dync__box *dync__picture_from(const dync__picture *p, const dync__node *n, int layer)
{
    const dync__box *b = &p->box[n->index];
    return layer == b->layer + 1 ? b : &p->box[b->bends + layer - b->layer - 2];
}
static void dync__picture_mean(void *user, dync__arg *a)
{
    dync__picture *p = user;
    p->at->sum += dync__picture_from(p, a->as.node, p->at->layer)->x;
    p->at->n_in++;
}

static int dync__picture_text_width(const dync__node *n)
{
    dync__str label = {0}, type = {0};
    dync__draw_label(&label, n);
    dync__draw_type(&type, n);
    int longest = (int)DYNC__MIN(DYNC__MAX(label.n, type.n), 200);
    dync__str_free(&label);
    dync__str_free(&type);
    return 16 + DYNC__DRAW_CHAR * longest;
}

/* Walks in execution order: what a node reads has its layer before the node asks. */
static void dync__picture_layers(dync__picture *p, const dync__graph *g)
{
    for (int i = 0; i < p->n_nodes; i++) {
        p->at = &p->box[i];
        p->at->node = g->node.at[i];
        p->at->width = dync__picture_text_width(p->at->node);
        p->at->first_reader = p->n_nodes;
        dync__node_each_input(p->at->node, dync__picture_below, p);
        dync__node_each_input(p->at->node, dync__picture_reader, p);
    }
    for (int i = 0; i < p->n_nodes; i++) {
        dync__box *b = &p->box[i];
        if (b->layer == 0 && b->first_reader < p->n_nodes) b->layer = b->first_reader - 1;
        p->n_layers = DYNC__MAX(p->n_layers, b->layer + 1);
    }
}

/* Adds the bends: values that pass a layer. False: no memory. */
static bool dync__picture_bends(dync__picture *p, dync__arena *arena)
{
    int n = p->n_nodes;
    for (int i = 0; i < p->n_nodes; i++)
        n += DYNC__MAX(0, p->box[i].last_reader - p->box[i].layer - 1);
    dync__box *box = dync__arena_alloc(arena, (size_t)(n + 1) * sizeof *box);
    p->order = dync__arena_alloc(arena, (size_t)(n + 1) * sizeof *p->order);
    if (!box || !p->order) return false;
    memcpy(box, p->box, (size_t)p->n_nodes * sizeof *box);
    p->box = box;
    for (int i = 0, k = p->n = p->n_nodes; i < k; i++) {
        box[i].bends = p->n;
        for (int layer = box[i].layer + 1; layer < box[i].last_reader; layer++) {
            int above = layer == box[i].layer + 1 ? i : p->n - 1;
            box[p->n++] = (dync__box){.layer = layer, .above = above};
        }
    }
    return true;
}

/* Boxes of a layer, ordered by the mean place of what they read. */
static int dync__picture_layer(dync__picture *p, int layer)
{
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        dync__box *b = &p->box[i];
        if (b->layer != layer) continue;
        p->at = b;
        b->n_in = !b->node;
        b->sum = b->node ? 0 : p->box[b->above].x;
        if (b->node) dync__node_each_input(b->node, dync__picture_mean, p);
        int64_t mean = b->n_in ? b->sum / b->n_in : 0;
        int k = n++;
        for (; k > 0 && b->n_in; k--) {
            const dync__box *left = &p->box[p->order[k - 1]];
            if (!left->n_in || left->sum / left->n_in <= mean) break;
            p->order[k] = p->order[k - 1];
        }
        p->order[k] = i;
    }
    return n;
}

/* Layers from above: a box needs the places of what it reads. x is from the middle at first, then
 * from the left edge. */
static void dync__picture_places(dync__picture *p)
{
    for (int layer = 0; layer < p->n_layers; layer++) {
        int n = dync__picture_layer(p, layer), width = 0;
        for (int k = 0; k < n; k++) width += p->box[p->order[k]].width + DYNC__DRAW_GAP_X;
        if (width > p->width) p->width = width;
        int x = -width / 2;
        for (int k = 0; k < n; k++) {
            dync__box *b = &p->box[p->order[k]];
            b->x = x + (b->width + DYNC__DRAW_GAP_X) / 2;
            x += b->width + DYNC__DRAW_GAP_X;
        }
    }
    for (int i = 0; i < p->n; i++) p->box[i].x += p->width / 2;
}

/* ---- SVG: text ------------------------------------------------------------------------------- */
DYNC__FN void dync__html_text(dync__str *s, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': dync__str_add(s, "&lt;"); break;
        case '>': dync__str_add(s, "&gt;"); break;
        case '&': dync__str_add(s, "&amp;"); break;
        case '"': dync__str_add(s, "&quot;"); break;
        default: dync__str_addc(s, *text);
        }
    }
}

static int dync__box_top(const dync__box *b)
{
    return 8 + b->layer * (DYNC__DRAW_H + DYNC__DRAW_GAP_Y);
}

/* A curve from the lower edge of one box to the upper edge of the other. */
static void dync__picture_line(dync__str *s, const dync__box *from, const dync__box *to)
{
    int x1 = from->x, y1 = dync__box_top(from) + DYNC__DRAW_H, x2 = to->x, y2 = dync__box_top(to);
    int bend = (y2 - y1) / 2;
    dync__str_addf(s, "<path class=\"e\" d=\"M%d %dC%d %d %d %d %d %d", x1, y1, x1, y1 + bend, x2,
                   y2 - bend, x2, y2);
    if (to->node)
        dync__str_addf(s, "\"/><path class=\"h\" d=\"M%d %dl-4 -7h8z\"/>\n", x2, y2);
    else
        dync__str_addf(s, "v%d\"/>\n", DYNC__DRAW_H);
}
static void dync__picture_arrow(void *user, dync__arg *a)
{
    dync__picture *p = user;
    dync__picture_line(p->s, dync__picture_from(p, a->as.node, p->at->layer), p->at);
}

static void dync__picture_box(dync__str *s, const dync__box *b)
{
    static const char *const look[] = {
        [DYNC__N_PLACEHOLDER] = "in", [DYNC__N_GET_ATTR] = "attr",  [DYNC__N_CALL_FUNCTION] = "op",
        [DYNC__N_CALL_METHOD] = "op", [DYNC__N_CALL_MODULE] = "op", [DYNC__N_OUTPUT] = "out",
    };
    dync__str label = {0}, type = {0};
    int top = dync__box_top(b);
    dync__draw_label(&label, b->node);
    dync__draw_type(&type, b->node);
    dync__str_addf(s, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>",
                   look[b->node->kind], b->x - b->width / 2, top, b->width, DYNC__DRAW_H);
    dync__str_addf(s, "<text x=\"%d\" y=\"%d\">", b->x, top + (type.n ? 15 : 22));
    dync__html_text(s, dync__str_get(&label));
    dync__str_add(s, "</text>");
    if (type.n) {
        dync__str_addf(s, "<text class=\"t\" x=\"%d\" y=\"%d\">", b->x, top + 29);
        dync__html_text(s, dync__str_get(&type));
        dync__str_add(s, "</text>");
    }
    dync__str_addc(s, '\n');
    s->failed = s->failed || label.failed || type.failed;
    dync__str_free(&label);
    dync__str_free(&type);
}

/* Appends to s; text that runs out of memory fails s. */
DYNC__FN void dync__graph_draw_svg(dync__str *s, const dync__graph *g)
{
    dync__arena arena = {0};
    dync__picture p = {.n_nodes = g->node.n, .s = s};
    if (DYNC__LEFT_OUT(DYNC_NO_PRINT_GRAPH)) return;
    p.box = dync__arena_alloc(&arena, (size_t)(p.n_nodes + 1) * sizeof *p.box);
    if (p.box) dync__picture_layers(&p, g);
    if (!p.box || !dync__picture_bends(&p, &arena)) {
        s->failed = true;
        dync__arena_free(&arena);
        return;
    }
    dync__picture_places(&p);
    int height = 16 + p.n_layers * (DYNC__DRAW_H + DYNC__DRAW_GAP_Y) - DYNC__DRAW_GAP_Y;
    dync__str_addf(s,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n",
                   p.width, height, p.width, height);
    dync__str_add(s, "<style>text{font:12px monospace;text-anchor:middle}"
                     ".t{fill:#666;font-size:10px}rect{fill:#fff;stroke:#555}"
                     ".in{fill:#dbeafe}.attr{fill:#fef3c7}"
                     ".out{fill:#dcfce7}.e{fill:none;stroke:#888}.h{fill:#888}</style>\n");
    for (int i = 0; i < p.n; i++) {
        p.at = &p.box[i];
        if (p.at->node)
            dync__node_each_input(p.at->node, dync__picture_arrow, &p);
        else
            dync__picture_line(s, &p.box[p.at->above], p.at);
    }
    for (int i = 0; i < p.n_nodes; i++) dync__picture_box(s, &p.box[i]);
    dync__str_add(s, "</svg>\n");
    dync__arena_free(&arena);
}
