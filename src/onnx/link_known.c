/* onnx/link_known.c: which operators a model wants: versions by domain, functions of its own, and
 * the message that names all those that are missing. After rows.c, before link.c. */
#include "../dync.in.h"
#include "link.h"
DYNC__COLD

DYNC__FN bool dync__onnx_default_domain(const char *domain)
{
    return !*domain || strcmp(domain, "ai.onnx") == 0;
}

/* "" and "ai.onnx" are one domain. -1: not imported; absurd numbers are held in 0 .. 10000. */
static int dync__onnx_version_in(const dync__onnx_opset *const *at, int n, const char *domain)
{
    for (int i = 0; i < n; i++)
        if (strcmp(at[i]->domain, domain) == 0 ||
            (dync__onnx_default_domain(domain) && dync__onnx_default_domain(at[i]->domain)))
            return (int)DYNC__MAX(DYNC__MIN(at[i]->version, 10000), 0);
    return -1;
}

/* of a node's domain, as its function or else the model imports it; 1 where nobody says */
DYNC__FN int dync__onnx_version(const dync__onnx_linker *k, const dync__onnx_function *f,
                                const char *domain)
{
    int v = f ? dync__onnx_version_in((const dync__onnx_opset *const *)f->opset_import.at,
                                      f->opset_import.n, domain)
              : -1;
    if (v < 0)
        v = dync__onnx_version_in((const dync__onnx_opset *const *)k->model->opset_import.at,
                                  k->model->opset_import.n, domain);
    return v < 0 ? 1 : v;
}

/* Which of the model's functions the node calls, -1 none. They come before rows: a model may define
 * an operator that dync has, too. */
DYNC__FN int dync__onnx_function_of(const dync__onnx_model *m, const dync__onnx_node *n)
{
    for (int i = 0; i < m->functions.n; i++) {
        const dync__onnx_function *f = m->functions.at[i];
        if (strcmp(f->name, n->op_type) == 0 && strcmp(f->domain, n->domain) == 0 &&
            strcmp(f->overload, n->overload) == 0)
            return i;
    }
    return -1;
}

enum { DYNC__ONNX_MISSING = 64 }; /* named in a message */
/* Operators that are not there, each once with the first node and how many there are. */
typedef struct dync__onnx_missing {
    const dync__onnx_node *node;
    int version, count;
} dync__onnx_missing;
typedef struct dync__onnx_missing_list {
    DYNC__VEC(dync__onnx_missing) at;
    int more; /* nodes of others, which are not named */
    bool failed;
} dync__onnx_missing_list;

/* recursion: graphs inside nodes; the reader bounds their depth */
static void dync__onnx_missing_nodes(const dync__onnx_linker *k, dync__onnx_missing_list *list,
                                     const dync__onnx_function *f, dync__onnx_node *const *node,
                                     int n)
{
    for (int i = 0; i < n; i++) {
        const char *domain = dync__onnx_default_domain(node[i]->domain) ? "" : node[i]->domain;
        for (int a = 0; a < node[i]->attribute.n; a++)
            if (node[i]->attribute.at[a]->g)
                dync__onnx_missing_nodes(k, list, f, node[i]->attribute.at[a]->g->node.at,
                                         node[i]->attribute.at[a]->g->node.n);
        if (dync__onnx_function_of(k->model, node[i]) >= 0 ||
            dync__onnx_row_find(domain, node[i]->op_type))
            continue;
        int at = 0;
        while (at < list->at.n && (strcmp(list->at.at[at].node->op_type, node[i]->op_type) ||
                                   strcmp(list->at.at[at].node->domain, node[i]->domain)))
            at++;
        dync__onnx_missing one = {node[i], dync__onnx_version(k, f, node[i]->domain), 1};
        if (at < list->at.n)
            list->at.at[at].count++;
        else if (list->at.n == DYNC__ONNX_MISSING)
            list->more++;
        else if (!dync__vec_push(&list->at, one))
            list->failed = true;
    }
}

/* DYNC_ERR_UNSUPPORTED with a list of every operator that has neither a row nor a function. */
DYNC__FN dync_status dync__onnx_all_known(const dync__onnx_linker *k)
{
    dync__onnx_missing_list list = {.failed = false};
    dync__onnx_missing_nodes(k, &list, NULL, k->model->graph->node.at, k->model->graph->node.n);
    for (int i = 0; i < k->model->functions.n; i++)
        dync__onnx_missing_nodes(k, &list, k->model->functions.at[i],
                                 k->model->functions.at[i]->node.at,
                                 k->model->functions.at[i]->node.n);
    dync_status status = list.failed ? DYNC_ERR_MEMORY : DYNC_OK;
    if (list.at.n && status == DYNC_OK) {
        dync__str s = {0};
        for (int i = 0; i < list.at.n; i++) {
            const dync__onnx_missing *m = &list.at.at[i];
            const char *domain = *m->node->domain ? m->node->domain : "ai.onnx";
            const char *name = *m->node->name      ? m->node->name
                               : m->node->output.n ? m->node->output.at[0]
                                                   : "";
            dync__str_addf(&s, "%s%s.%s version %d (node %s", i ? ", " : "", domain,
                           m->node->op_type, m->version, name);
            if (m->count > 1) dync__str_addf(&s, " and %d more", m->count - 1);
            dync__str_add(&s, ")");
        }
        if (list.more) dync__str_addf(&s, ", and %d nodes of others", list.more);
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX operators that dync has not: %s",
                            dync__str_get(&s));
        dync__str_free(&s);
    }
    dync__vec_free(&list.at);
    return status;
}
