/* minify/write_fx.c: a graph as the module that torch's minifier prints, which a repro shows its
 * reader: torch/_dynamo/debug_utils.py, NNModuleToString. Before write.c. */
#include "../dync.in.h"
#include "../graph/print_fx.h"
#include "write.h"
DYNC__COLD

enum { DYNC__WRITE_FX_ELEMENTS = 4 };

/* torch.tensor([..], dtype=..).reshape(..): a small buffer with its elements. */
static void dync__write_fx_literal(dync__fx_printer *p, const dync__tensor *t)
{
    dync__tensor *dense = dync__contiguous_copy(t);
    const char *data = dense ? dync__tensor_data(dense) : NULL;
    dync__str_add(p->s, "torch.tensor([");
    for (int64_t i = 0; data && i < t->numel; i++) {
        const char *at = data + i * dync__dtype_info(t->dtype)->bytes;
        if (i) dync__str_add(p->s, ", ");
        if (dync__dtype_info(t->dtype)->kind == 'f')
            dync__fx_double(p->s, dync__load_f64(at, t->dtype));
        else
            dync__str_addf(p->s, "%lld", (long long)dync__load_i64(at, t->dtype));
    }
    dync__str_addf(p->s, "], dtype=torch.%s).reshape(", dync__dtype_info(t->dtype)->name);
    dync__text_shape(p->s, p->g, t->lay.ndim, t->lay.shape);
    dync__str_addc(p->s, ')');
    dync__unref(dense);
}

/* A parameter as random numbers of its shape, a buffer by its elements or random too: a repro needs
 * types, not values. */
static void dync__write_fx_attr(dync__fx_printer *p, const dync__node *node, bool parameter)
{
    const dync__info *info = &node->info[0];
    const dync__dtype_row *dtype = dync__dtype_info(info->dtype);
    const char *device = dync__device_row(info->device)->name; /* as torch calls it, too */
    bool there = dync__device_is(info->device, DYNC__DEV_NUMBERED);
    dync__str path = {0};
    dync__fx_printer q = {.s = &path, .g = p->g, .flat_attrs = true};
    dync__fx_attr_path(&q, node->target);
    const char *name = dync__str_get(&path) + (path.n > 5 ? 5 : 0); /* behind "self." */
    if (parameter)
        dync__str_addf(p->s, "        self.%s = torch.nn.Parameter(torch.randn(", name);
    else
        dync__str_addf(p->s, "        self.register_buffer('%s', ", name);
    if (!parameter && node->value && node->value->storage->data &&
        node->value->numel <= DYNC__WRITE_FX_ELEMENTS) {
        dync__write_fx_literal(p, node->value);
    } else {
        if (!parameter)
            dync__str_add(p->s, dtype->kind == 'f' ? "torch.randn(" : "torch.randint(1, size=");
        dync__text_shape(p->s, p->g, info->lay.ndim, info->lay.shape);
        dync__str_addf(p->s, ", dtype=torch.%s", dtype->name);
        if (parameter && there) dync__str_addf(p->s, ", device=\"%s\"", device);
        dync__str_addc(p->s, ')');
    }
    if (!parameter && there) dync__str_addf(p->s, ".%s()", device);
    dync__str_add(p->s, ")\n");
    dync__str_free(&path);
}

DYNC__FN void dync__write_fx_module(dync__str *s, const dync__graph *g)
{
    dync__fx_printer p = {.s = s, .g = g, .flat_attrs = true};
    dync__str_add(
        s, "class Repro(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n");
    for (int pass = 0; pass < 2; pass++) /* buffers, then parameters, each once */
        for (int i = 0; i < g->node.n; i++) {
            const dync__node *node = g->node.at[i];
            bool parameter = node->requires_grad[0] ||
                             (node->value && (node->value->flags & DYNC__T_PARAMETER));
            bool known = false;
            for (int j = 0; j < i; j++)
                known = known || (g->node.at[j]->kind == DYNC__N_GET_ATTR &&
                                  strcmp(g->node.at[j]->target, node->target) == 0);
            if (node->kind == DYNC__N_GET_ATTR && node->has_info && !known &&
                parameter == (pass == 1))
                dync__write_fx_attr(&p, node, parameter);
        }
    dync__str_addc(s, '\n');
    dync__fx_forward(&p);
}

/* The text of torch.fx; what would end the comment is parted. */
DYNC__FN void dync__write_fx(dync__writer *w)
{
    dync__str fx = {0};
    dync__write_fx_module(&fx, w->graph);
    dync__str_add(&w->text, "/*\n");
    for (const char *p = dync__str_get(&fx); *p; p++) {
        dync__str_addc(&w->text, *p);
        if (p[0] == '*' && p[1] == '/') dync__str_addc(&w->text, ' ');
    }
    dync__str_add(&w->text, "*/\n");
    w->text.failed = w->text.failed || fx.failed;
    dync__str_free(&fx);
}
