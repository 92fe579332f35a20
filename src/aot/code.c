/* aot/code.c: the code of a graph: what its options ask for, how one side is compiled, and
 * the graph as it is where it could not be made functional. After partition.c, before
 * tail.c and backward.c. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
DYNC__WARM

DYNC__DATA dync_status (*dync__aot_inner_hook)(const dync__inner_compiler *, dync__graph *g,
                                               bool is_backward, const dync__options *options,
                                               dync__inner *out) = NULL;

/* Of activation memory, for every graph compiled from now on:
 * dync_config_set("activation_memory_budget", ...). */
/* 1 less the budget, so that zero is the default */
static struct {
    dync__mutex lock;
    double saved;
} dync__aot_budget;
DYNC__RARE DYNC__FN void dync__aot_set_budget(double budget)
{
    dync__aot_use_mincut();
    dync__lock(&dync__aot_budget.lock);
    dync__aot_budget.saved = 1 - budget;
    dync__unlock(&dync__aot_budget.lock);
}
DYNC__RARE DYNC__FN double dync__aot_budget_now(void)
{
    dync__lock(&dync__aot_budget.lock);
    double budget = 1 - dync__aot_budget.saved;
    dync__unlock(&dync__aot_budget.lock);
    return budget;
}

/* ---- options --------------------------------------------------------------------------------- */
DYNC__FN bool dync__options_copy(dync__options *o, const dync__options *from)
{
    *o = *from;
    o->text = *from->text ? dync__strdup(from->text) : "";
    return o->text != NULL;
}
DYNC__FN void dync__options_free(dync__options *o)
{
    if (o->text && *o->text) dync__strfree((char *)(uintptr_t)o->text);
    o->text = NULL;
}

/* What the options ask for, else the compiler, else the library's setting. */
DYNC__FN dync__aot_how dync__aot_how_of(const dync__options *o, const dync__inner_compiler *inner)
{
    bool save_all = o->partition >= 0 ? o->partition == 1 : inner->save_all,
         all = o->decompositions >= 0 ? o->decompositions == 1 : inner->decompose_all;
    return (dync__aot_how){.save_all = save_all,
                           .decompose = all ? DYNC__DECOMPOSE_ALL : DYNC__DECOMPOSE_NEEDED,
                           .keeps = all ? NULL : inner->keeps,
                           .budget = o->memory_budget >= 0 ? o->memory_budget
                                                           : dync__aot_budget_now()};
}

/* ---- the graph as it is: what is not functionalised ------------------------------------------ */
DYNC__RARE static void dync__arg_take_tensors(const dync__arg *a, dync__tensor **out, int *k)
{
    if (a->kind == DYNC__A_TENSOR) out[(*k)++] = a->as.t;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        dync__arg_take_tensors(&a->as.list[i], out, k);
}

DYNC__RARE DYNC__FN dync_status dync__graph_eval_writes(dync__graph *g,
                                                        const struct dync__eval_writes *writes,
                                                        const int64_t *value, int n_in,
                                                        dync__tensor *const *in, int n_out,
                                                        dync__tensor **out)
{
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(n_in + 1) * sizeof *args), result;
    if (!args) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in; i++) args[i] = dync__arg_t(in[i]);
    dync_status status = dync__graph_eval_all(g, writes, value, args, n_in, &arena, &result);
    if (status == DYNC_OK && dync__arg_count_tensors(&result) != n_out) {
        status = dync__fail(DYNC_ERR_INTERNAL, "a graph gave %d tensors, expected %d",
                            dync__arg_count_tensors(&result), n_out);
        dync__arg_release(&result);
    }
    int k = 0;
    if (status == DYNC_OK) dync__arg_take_tensors(&result, out, &k);
    dync__arena_free(&arena);
    return status;
}

DYNC__RARE DYNC__FN dync_status dync__graph_eval_flat(dync__graph *g, const int64_t *value,
                                                      int n_in, dync__tensor *const *in, int n_out,
                                                      dync__tensor **out)
{
    return dync__graph_eval_writes(g, NULL, value, n_in, in, n_out, out);
}

DYNC__DATA bool (*dync__aot_watched)(void);
static bool dync__aot_is_watched(void)
{
    bool (*watched)(void) = DYNC__ATOMIC_PEEK(&dync__aot_watched);
    return watched && watched();
}

DYNC__RARE DYNC__FN dync_status dync__aot_inner_sized(const dync__inner_compiler *inner,
                                                      dync__graph *g, const dync__options *options,
                                                      dync__inner_sized *out)
{
    memset(out, 0, sizeof *out);
    if (!inner->sized || !g->syms || dync__aot_is_watched()) return DYNC_OK;
    dync_status status = inner->sized(inner->user, g, options, out);
    return status == DYNC_ERR_UNSUPPORTED ? DYNC_OK : status;
}

DYNC__FN dync_status dync__aot_inner_at(const dync__inner_sized *sized, const int64_t *value,
                                        dync__inner *out)
{
    return sized->state && !dync__aot_is_watched() ? sized->at(sized->state, value, out)
                                                   : DYNC_ERR_UNSUPPORTED;
}

DYNC__RARE DYNC__FN dync_status dync__aot_inner_compile(const dync__inner_compiler *inner,
                                                        dync__graph *g, bool is_backward,
                                                        const dync__options *options,
                                                        dync__inner *out)
{
    dync_status (*hook)(const dync__inner_compiler *, dync__graph *, bool, const dync__options *,
                        dync__inner *) = DYNC__ATOMIC_PEEK(&dync__aot_inner_hook);
    return hook ? hook(inner, g, is_backward, options, out)
                : inner->compile(inner->user, g, is_backward, options, out);
}

DYNC__FN void dync__aot_aside_begin(dync__aot_aside *a, bool double_backward)
{
    a->stack = dync__handler_swap(NULL);
    a->bottom = dync__bottom_swap(NULL);
    a->syms = dync__tls.syms;
    a->compiling = dync__tls.compiling;
    a->twice = dync__tls.double_backward;
    dync__tls.double_backward = double_backward;
    dync__tls.compiling = false;
    dync__tls.syms = NULL;
}
DYNC__FN void dync__aot_aside_end(const dync__aot_aside *a)
{
    dync__tls.syms = a->syms;
    dync__tls.compiling = a->compiling;
    dync__tls.double_backward = a->twice;
    dync__bottom_swap(a->bottom);
    dync__handler_swap(a->stack);
}
