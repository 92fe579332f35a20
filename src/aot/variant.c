/* aot/variant.c: other forms of a backward, for gradients that come in another form than dense: of
 * a sum or mean outside, which repeat one number or row, and those that do not arrive. The dense
 * backward takes them as copies, written out, and as zeros. Where that has cost about what another
 * form costs to make, the graph is made again of what did arrive, and compiled: once, by the thread
 * that calls. After absent.c and code.c, before backward.c, which falls back to the dense one. */
#include "../dync.in.h"
#include "code.h"
#include "saved.h"
DYNC__WARM

/* How a tangent comes, of each in a key: dense, not at all, else the dims along which it repeats
 * itself, as bits. */
enum { DYNC__COMES_DENSE = 0, DYNC__COMES_NOT = -1 };
/* Few, as a program has few losses. FAILED: the compiler refused. */
enum { DYNC__VARIANTS = 4 };
enum { DYNC__VARIANT_MAKING, DYNC__VARIANT_READY, DYNC__VARIANT_FAILED };
typedef struct dync__aot_variant {
    int *comes, state;
    dync__graph *graph;
    dync__inner run;         /* of a code with numbers */
    dync__inner_sized sized; /* of a form */
} dync__aot_variant;
enum { DYNC__AOT_VARIANTS = DYNC__SMALLER(0, 1) };
struct dync__aot_variants {
    dync__mutex lock; /* n, lost and states */
    int n;
    int64_t lost; /* elements written out, or zeros, so far */
    dync__options options;
    const dync__inner_compiler *inner;
    dync__aot_variant at[DYNC__VARIANTS];
};

/* ---- the graph ------------------------------------------------------------------------------- */
/* The same, of one element along the dims in `repeats`. */
DYNC__RARE static dync_status dync__variant_layout(const dync__layout *of, int repeats,
                                                   dync__layout *out)
{
    int64_t shape[DYNC_MAX_DIMS];
    for (int d = 0; d < of->ndim; d++) shape[d] = repeats >> d & 1 ? 1 : of->shape[d];
    return dync__layout_contiguous(out, of->ndim, shape);
}

/* Dims from the outermost in memory to the innermost; those of a row-major layout as they are. */
DYNC__RARE static void dync__variant_order(const dync__layout *lay, int64_t *dim)
{
    for (int d = 0; d < lay->ndim; d++) dim[d] = d;
    for (int d = 1; d < lay->ndim && !dync__layout_is_contiguous(lay); d++)
        for (int k = d; k > 0 && lay->stride[dim[k - 1]] < lay->stride[dim[k]]; k--) {
            int64_t hold = dim[k];
            dim[k] = dim[k - 1];
            dim[k - 1] = hold;
        }
}

DYNC__RARE static dync__node *dync__variant_view(dync__rewrite *r, int op, dync__node *of, int n,
                                                 const int64_t *dims, const dync__info *info)
{
    dync__arg args[2] = {dync__arg_node(of), dync__arg_dims(n, dims)};
    return of ? dync__graph_call(r->to, op, 2, args, 1, info, NULL) : NULL;
}

/* What arrived, written out as the dense tangent lies, but for dims of one element: loops that read
 * it read what arrived. repeats: along which dims it is to repeat itself, as bits. */
DYNC__RARE static dync__node *dync__variant_wide(dync__rewrite *r, const dync__layout *dense,
                                                 int repeats, dync__node *arrived)
{
    int64_t dim[DYNC_MAX_DIMS], back[DYNC_MAX_DIMS];
    int ndim = dense->ndim;
    bool rows = dync__layout_is_contiguous(dense);
    dync__info across = arrived->info[0], wide, out, there;
    across.alias = 0;
    across.view = true;
    there = out = wide = across;
    dync__variant_order(dense, dim);
    for (int d = 0; d < ndim; d++) {
        int from = (int)dim[d];
        across.lay.shape[d] = arrived->info[0].lay.shape[from];
        across.lay.stride[d] = arrived->info[0].lay.stride[from];
        wide.lay.shape[d] = dense->shape[from];
        wide.lay.stride[d] = repeats >> from & 1 ? 0 : across.lay.stride[d];
        back[from] = d;
    }
    out.alias = -1;
    out.view = false;
    if (dync__layout_contiguous(&out.lay, ndim, wide.lay.shape) != DYNC_OK) return NULL;
    for (int d = 0; d < ndim; d++) {
        there.lay.shape[d] = out.lay.shape[back[d]];
        there.lay.stride[d] = out.lay.stride[back[d]];
    }
    dync__node *n = arrived;
    if (!rows) n = dync__variant_view(r, DYNC__USED(DYNC__OP_permute), n, ndim, dim, &across);
    n = dync__variant_view(r, DYNC__USED(DYNC__OP_expand), n, ndim, wide.lay.shape, &wide);
    dync__arg arg = dync__arg_node(n);
    if (n)
        n = dync__graph_call(r->to, DYNC__USED(DYNC__OP__clone_contiguous), 1, &arg, 1, &out, NULL);
    return rows ? n : dync__variant_view(r, DYNC__USED(DYNC__OP_permute), n, ndim, back, &there);
}

/* Zeros for what did not arrive, as the dense tangent lies. */
DYNC__RARE static dync__node *dync__variant_zeros(dync__rewrite *r, const dync__info *dense)
{
    int64_t dim[DYNC_MAX_DIMS], back[DYNC_MAX_DIMS];
    dync__info across = *dense, there = *dense;
    dync__variant_order(&dense->lay, dim);
    for (int d = 0; d < dense->lay.ndim; d++) {
        across.lay.shape[d] = dense->lay.shape[dim[d]];
        back[dim[d]] = d;
    }
    dync__node *n = dync__absent_zeros(r, &across);
    if (!n || dync__layout_is_contiguous(&dense->lay)) return n;
    for (int d = 0; d < dense->lay.ndim; d++) there.lay.stride[d] = n->info[0].lay.stride[back[d]];
    there.lay.offset = 0;
    there.alias = 0;
    there.view = true;
    return dync__variant_view(r, DYNC__USED(DYNC__OP_permute), n, dense->lay.ndim, back, &there);
}

/* Inputs first: what is saved, then what arrives. */
DYNC__RARE static dync_status dync__variant_inputs(dync__rewrite *r, const dync__aot_part *p,
                                                   const int *comes)
{
    for (int i = 0; i < p->n_saved + p->n_tangents; i++) {
        dync__node *old = r->from->node.at[i], *n;
        int how = i < p->n_saved ? DYNC__COMES_DENSE : comes[i - p->n_saved];
        if (how == DYNC__COMES_NOT) continue;
        if (!(n = dync__rewrite_input(r, old, old->name))) return DYNC_ERR_MEMORY;
        if (how > 0) DYNC__TRY(dync__variant_layout(&old->info[0].lay, how, &n->info[0].lay));
        r->copy[old->index] = n;
    }
    for (int i = 0; i < p->n_tangents; i++) {
        dync__node *old = r->from->node.at[p->n_saved + i], **to = &r->copy[old->index];
        if (comes[i] == DYNC__COMES_DENSE) continue;
        *to = comes[i] == DYNC__COMES_NOT ? dync__variant_zeros(r, &old->info[0])
                                          : dync__variant_wide(r, &old->info[0].lay, comes[i], *to);
        if (!*to) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__variant_graph(const dync__aot_part *p, const int *comes,
                                                  dync__graph **out)
{
    dync__rewrite r;
    bool few[DYNC__FEW], *absent = dync__room(few, DYNC__FEW, p->n_tangents + 1, sizeof *absent);
    if (!absent) return DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_tangents; i++) absent[i] = comes[i] == DYNC__COMES_NOT;
    dync__graph_renumber(p->bw);
    dync__absent x = {dync__absent_marks(p->bw, p, absent), 0};
    dync__room_end(absent, few, p->n_tangents + 1, sizeof *absent);
    dync_status status = dync__rewrite_begin(&r, p->bw, "GraphModule");
    r.user = &x;
    if (status == DYNC_OK && (!x.what || !dync__graph_takes_symbols(r.to, p->bw)))
        status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__variant_inputs(&r, p, comes);
    for (int i = p->n_saved + p->n_tangents; i < p->bw->node.n && status == DYNC_OK; i++)
        status = dync__rewrite_put(&r, p->bw->node.at[i], dync__absent_node);
    dync__free(x.what, (size_t)p->bw->node.n + 1);
    return dync__rewrite_end(&r, status, out);
}

/* ---- rooms for them ----------------------------------------------------------------------- */
/* Of a compiler that makes them; where there is no memory, there are none. */
DYNC__FN void dync__aot_variants_for(dync__aot_code *c, const dync__options *options,
                                     const dync__inner_compiler *inner)
{
    if (!DYNC__AOT_VARIANTS || !inner->variants || !dync__pass_on(DYNC__PASS_tangents)) return;
    for (int i = 0; i < c->n_parts; i++) {
        dync__aot_part *p = &c->part[i];
        p->variants = p->bw ? dync__calloc(sizeof *p->variants) : NULL;
        if (!p->variants) continue;
        p->variants->inner = inner;
        if (dync__options_copy(&p->variants->options, options)) continue;
        dync__free(p->variants, sizeof *p->variants);
        p->variants = NULL;
    }
}

DYNC__FN void dync__aot_variants_free(dync__aot_part *p)
{
    struct dync__aot_variants *v = p->variants;
    for (int i = 0; v && i < v->n; i++) {
        dync__aot_variant *x = &v->at[i];
        if (x->run.destroy) x->run.destroy(x->run.state);
        if (x->sized.state) x->sized.destroy(x->sized.state);
        dync__graph_unref(x->graph);
        dync__free(x->comes, (size_t)p->n_tangents * sizeof *x->comes);
    }
    if (!v) return;
    dync__options_free(&v->options);
    dync__free(v, sizeof *v);
    p->variants = NULL;
}

DYNC__RARE DYNC__FN void dync__aot_variants_measure(const dync__aot_part *p, dync__code_size *size)
{
    struct dync__aot_variants *v = p->variants;
    if (!v) return;
    dync__lock(&v->lock);
    for (int i = 0; i < v->n; i++)
        if (v->at[i].state == DYNC__VARIANT_READY && v->at[i].run.measure)
            v->at[i].run.measure(v->at[i].run.state, size);
    dync__unlock(&v->lock);
}

/* ---- making them -------------------------------------------------------------------------- */
/* With a table of its own for the sizes that it makes. */
DYNC__RARE static dync_status dync__variant_traced(const dync__aot_part *p, const int64_t *value,
                                                   const int *comes, dync__graph **out)
{
    if (!p->bw->syms) return dync__variant_graph(p, comes, out);
    dync__symtab *t = dync__symtab_copy(p->bw->syms, value);
    if (!t) return DYNC_ERR_MEMORY;
    dync__tls.syms = t;
    dync_status status = dync__variant_graph(p, comes, out);
    if (status == DYNC_OK && !dync__graph_settle_sizes(*out, t)) status = DYNC_ERR_MEMORY;
    dync__tls.syms = NULL;
    dync__symtab_free(t);
    return status;
}

/* Of a form (whole) its code for all sizes, where there can be one; else of these. */
DYNC__RARE static dync_status dync__variant_compile(const dync__aot_part *p, const int64_t *value,
                                                    bool whole, dync__aot_variant *x)
{
    const struct dync__aot_variants *v = p->variants;
    dync__graph *numbers = NULL;
    if (!x->graph) DYNC__TRY(dync__variant_traced(p, value, x->comes, &x->graph));
    if (!x->graph->syms)
        return dync__aot_inner_compile(v->inner, x->graph, true, &v->options, &x->run);
    if (whole) return dync__aot_inner_sized(v->inner, x->graph, &v->options, &x->sized);
    DYNC__TRY(dync__graph_concrete(x->graph, value, &numbers));
    dync_status status = dync__aot_inner_compile(v->inner, numbers, true, &v->options, &x->run);
    dync__graph_unref(numbers);
    return status;
}

/* What it does not tell of is an error of nobody's: the dense backward serves. */
DYNC__RARE static void dync__variant_make(const dync__aot_part *p, const int64_t *value, bool whole,
                                          const dync__aot_variant *of_form, dync__aot_variant *x)
{
    dync__aot_aside aside;
    dync__error_guard guard;
    dync_status status = DYNC_ERR_UNSUPPORTED;
    uint64_t errors = dync__error_count();
    dync__error_guard_begin(&guard);
    dync__aot_aside_begin(&aside, false);
    if (of_form) {
        x->graph = dync__graph_ref(of_form->graph);
        status = dync__aot_inner_at(&of_form->sized, value, &x->run);
    }
    if (status == DYNC_ERR_UNSUPPORTED) status = dync__variant_compile(p, value, whole, x);
    dync__aot_aside_end(&aside);
    (void)dync__error_guard_end(&guard);
    dync__tls.error_count = errors;
    dync__pass_log(DYNC__PASS_tangents, p->bw->name, "%s", dync__status_name(status));
    dync__log(DYNC__LOG_aot, "backward again, for gradients of another form: %s",
              dync__status_name(status));
    dync__lock(&p->variants->lock);
    x->state = status == DYNC_OK ? DYNC__VARIANT_READY : DYNC__VARIANT_FAILED;
    dync__unlock(&p->variants->lock);
}

/* That of this key; else a new one where there is room and so much was lost, to be made by the
 * caller; else NULL. */
static dync__aot_variant *dync__variant_at(const dync__aot_part *p, const int *comes,
                                           int64_t enough, bool *fresh)
{
    struct dync__aot_variants *v = p->variants;
    size_t bytes = (size_t)p->n_tangents * sizeof *comes;
    dync__aot_variant *x = NULL;
    *fresh = false;
    dync__lock(&v->lock);
    for (int i = 0; i < v->n && !x; i++)
        if (memcmp(v->at[i].comes, comes, bytes) == 0) x = &v->at[i];
    if (!x && v->n < DYNC__VARIANTS && v->lost >= enough) {
        x = &v->at[v->n];
        *fresh = (x->comes = dync__alloc(bytes)) != NULL;
        if (*fresh) memcpy(x->comes, comes, bytes);
        v->n += *fresh;
        v->lost = 0;
    }
    if (x && !*fresh && x->state != DYNC__VARIANT_READY) x = NULL;
    dync__unlock(&v->lock);
    return x;
}

/* Of a code with numbers, or of an instance of a form: what the form has for all sizes is made
 * first. lost: elements that the dense backward would write out now. NULL: it does. */
static const dync__aot_variant *dync__variant_of(const dync__aot_saved *s, const int *comes,
                                                 int64_t lost)
{
    const dync__aot_part *p = s->part,
                         *whole = s->code->form ? &s->code->form->part[p - s->code->part] : p;
    bool fresh;
    if (!p->variants || !whole->variants) return NULL;
    dync__lock(&whole->variants->lock);
    whole->variants->lost += lost;
    dync__unlock(&whole->variants->lock);
    dync__aot_variant *all =
        dync__variant_at(whole, comes, DYNC__VARIANT_LOST * (int64_t)p->bw->node.n, &fresh);
    if (all && fresh) dync__variant_make(whole, s->value, whole != p, NULL, all);
    if (!all || whole == p || all->run.run)
        return all && all->state == DYNC__VARIANT_READY ? all : NULL;
    dync__aot_variant *x = dync__variant_at(p, comes, 0, &fresh);
    if (x && fresh) dync__variant_make(p, s->value, false, all->sized.state ? all : NULL, x);
    return x && x->state == DYNC__VARIANT_READY ? x : NULL;
}

/* ---- running them ------------------------------------------------------------------------- */
/* Large enough to be worth a key of its own, and of what the dense backward is made for. */
static int dync__variant_comes(const dync__aot_saved *s, int i, const dync__tensor *grad)
{
    const dync__aot_part *p = s->part;
    const dync__info *dense = &p->bw->node.at[p->n_saved + i]->info[0];
    int repeats = 0;
    if (!grad) return DYNC__COMES_NOT;
    if (grad->dtype != dense->dtype || grad->numel < DYNC__VARIANT_LEAST ||
        !dync__device_is(grad->device, DYNC__DEV_HOST) || (s->code->form && !p->by_rows))
        return DYNC__COMES_DENSE;
    for (int d = 0; d < grad->lay.ndim; d++)
        if (grad->lay.shape[d] > 1 && grad->lay.stride[d] == 0) repeats |= 1 << d;
    return repeats;
}

/* What arrived of such a gradient: a reference. */
static dync__tensor *dync__variant_narrow(dync__tensor *grad, int repeats)
{
    dync__layout lay = grad->lay;
    for (int d = 0; d < lay.ndim; d++)
        if (repeats >> d & 1) lay.shape[d] = 1;
    dync__tensor *narrow = dync__tensor_alias(grad, grad->dtype, &lay);
    if (!narrow || dync__layout_is_contiguous(&lay)) return narrow;
    dync__tensor *dense = dync__contiguous_copy(narrow);
    dync__unref(narrow);
    return dense;
}

/* Its key, and how much the dense backward would write out or look through; false: nothing. */
static bool dync__variant_key(const dync__aot_saved *s, int n_out, dync__tensor *const *grad_out,
                              int *comes, int64_t *lost)
{
    const dync__aot_part *p = s->part;
    bool any = false;
    *lost = 0;
    for (int i = 0; i < p->n_tangents; i++) {
        const dync__tensor *grad = p->tangent[i] < n_out ? grad_out[p->tangent[i]] : NULL;
        comes[i] = dync__variant_comes(s, i, grad);
        if (comes[i] == DYNC__COMES_DENSE) continue;
        any = true;
        if (grad) *lost += grad->numel;
        for (int k = 0; k < s->n && !grad; k++) *lost += s->tensor[k]->numel;
    }
    return any;
}

/* Saved tensors, then what arrived. n: how many are owned by tangent on. */
static dync_status dync__variant_tangents(const dync__aot_saved *s, dync__tensor *const *grad_out,
                                          const int *comes, dync__tensor **tangent, int *n)
{
    const dync__aot_part *p = s->part;
    for (int i = 0; i < p->n_tangents; i++) {
        if (comes[i] == DYNC__COMES_NOT) continue;
        dync__tensor *grad = grad_out[p->tangent[i]];
        tangent[*n] = comes[i] == DYNC__COMES_DENSE ? dync__aot_tangent(s, i, grad)
                                                    : dync__variant_narrow(grad, comes[i]);
        if (!tangent[(*n)++]) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* What was saved for gradients that did not arrive may be written since: none of these runs. */
DYNC__FN bool dync__aot_variant_run(const dync__aot_saved *s, int n_out,
                                    dync__tensor *const *grad_out, dync__tensor **grad,
                                    dync_status *status)
{
    const dync__aot_part *p = s->part;
    const dync__aot_variant *x = NULL;
    int64_t lost;
    int few[DYNC__FEW], n = 0, *comes;
    if (!DYNC__AOT_VARIANTS || !p->variants) return false;
    comes = dync__room(few, DYNC__FEW, p->n_tangents + 1, sizeof *comes);
    if (!comes) return false;
    if (dync__variant_key(s, n_out, grad_out, comes, &lost) && !dync__aot_saved_written(s))
        x = dync__variant_of(s, comes, lost);
    dync__tensor *few_in[DYNC__FEW], **in = NULL;
    int room = s->n + p->n_tangents + 1;
    if (x) in = dync__room(few_in, DYNC__FEW, room, sizeof *in);
    if (in) {
        memcpy(in, s->tensor, (size_t)s->n * sizeof *in);
        *status = dync__variant_tangents(s, grad_out, comes, in + s->n, &n);
        if (*status == DYNC_OK) *status = x->run.run(x->run.state, s->n + n, in, p->n_grads, grad);
        for (int i = 0; i < n; i++) dync__unref(in[s->n + i]);
        dync__room_end(in, few_in, room, sizeof *in);
    }
    dync__room_end(comes, few, p->n_tangents + 1, sizeof *comes);
    return in != NULL;
}
