/* aot/backward_node.c: the node of compiled functions: what it saves and where it is attached.
 * Before: backward_twice.c. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
#include "joint.h"
#include "partition.h"
#include "saved.h"
DYNC__WARM

/* ---- the node -------------------------------------------------------------------------------- */
/* Who captures backwards puts this in place: no other walk has fakes for gradients. */
static dync_status (*DYNC__BY_NEED dync__aot_inline_used)(
    void *, dync__tensor *const *saved, int n_out, dync__tensor *const *grad_out, int n_in,
    const bool *needed, dync__tensor **grad_in) = DYNC__AT_FIRST(dync__aot_backward_inline);
DYNC__RARE DYNC__FN void dync__aot_use_inline(void)
{
    DYNC__PUT(dync__aot_inline_used, dync__aot_backward_inline);
    dync__opnode_use_visits();
}

/* The node's rule, four ways: refuse what has no backward, interpret under a tracer, run forward
 * again for double backward, else run the compiled graph. */
static dync_status dync__aot_backward(void *state, int n_out, dync__tensor *const *grad_out,
                                      int n_in, const bool *needed, dync__tensor **grad_in,
                                      bool create_graph)
{
    dync__aot_saved *s = state;
    DYNC__TRY(dync__aot_saved_check_for(s, n_out, grad_out));
    DYNC__TRY(dync__aot_broken(&s->code->g, n_out, grad_out, n_in, needed));
    if (!s->part->bw) return DYNC_OK;
    /* a walk that is recorded has stand-ins for what is saved, though no gradient may arrive */
    if (dync__any_fake(n_out, grad_out) || dync__any_fake(s->n, s->tensor))
        return dync__aot_inline_used
                   ? dync__aot_inline_used(state, s->tensor, n_out, grad_out, n_in, needed, grad_in)
                   : dync__unlinked("compiled autograd");
    if (create_graph && s->code->double_backward)
        return dync__aot_backward_again(s, n_out, grad_out, n_in, needed, grad_in);
    DYNC__TRY(dync__aot_backward_run(s, n_out, grad_out, n_in, needed, grad_in));
    return create_graph ? dync__aot_refuse_twice(n_in, grad_in) : DYNC_OK;
}
DYNC__RARE static dync_status dync__aot_visit(void *state, dync__gvisitor *v)
{
    dync__aot_saved *s = state;
    DYNC__TRY(dync__aot_saved_check(s));
    const dync__aot_code *form = s->code->form;
    v->word(v, s->part->id);
    for (int i = 0; form && i < form->syms->symbol.n; i++) v->layout(v, 1, &s->value[i], NULL);
    for (int i = 0; i < s->n; i++) v->saved(v, &s->tensor[i], &s->version[i]);
    return DYNC_OK;
}
static const dync__gnode_class dync__aot_node = {DYNC__TEXT("CompiledFunctionBackward"),
                                                 dync__aot_backward, dync__aot_saved_release,
                                                 dync__aot_saved_destroy, dync__aot_visit};

/* Inputs for double backward; one that forward is about to overwrite as a copy. */
DYNC__RARE static dync_status dync__aot_save_inputs(dync__aot_saved *s, dync__tensor *const *actual)
{
    const dync__aot_graphs *g = &s->code->g;
    for (int i = 0; i < g->actual.n; i++) {
        if (!g->actual.at[i].passed) continue;
        bool written = false;
        for (int k = 0; k < g->mutated.n; k++) written = written || g->mutated.at[k].input == i;
        dync__arg arg = dync__arg_t(actual[i]);
        dync__tensor *t = actual[i], *copy = NULL;
        if (written) {
            bool off = dync__grad_off(true);
            dync_status status = dync__op_run(DYNC__OP_clone, 1, &arg, &copy);
            dync__grad_off(off);
            DYNC__TRY(status);
            t = copy;
        }
        dync_status status = dync__save(&s->again[s->n_again], t, false);
        dync__unref(copy);
        DYNC__TRY(status);
        s->n_again++;
    }
    return DYNC_OK;
}

/* By others than the node. */
static bool dync__aot_may_be_written(const dync__tensor *t)
{
    return t->storage->refs > 1 && dync__device_is(t->device, DYNC__DEV_HOST) &&
           !(t->flags & DYNC__T_FAKE);
}

/* Takes the saved tensors of this part out of `saved` (borrowed) and a reference on the code;
 * NULL: no memory, nothing is held. */
static dync__aot_saved *dync__aot_saved_new(dync__aot_code *c, const dync__aot_part *p,
                                            dync__tensor *const *saved)
{
    size_t n = (size_t)p->n_saved, again = c->double_backward ? (size_t)c->n_fw_in : 0,
           tensors = sizeof(dync__aot_saved) + again * sizeof(dync__saved) +
                     (size_t)p->n_again * sizeof(dync__watch);
    size_t values = c->form ? (size_t)c->form->syms->symbol.n * sizeof(int64_t) : 0;
    size_t bytes = (tensors += values) + n * (sizeof(dync__tensor *) + sizeof(uint32_t));
    dync__aot_saved *s = dync__calloc(bytes);
    if (!s) return NULL;
    char *block = (char *)s;
    s->bytes = bytes;
    s->value = (int64_t *)(void *)(block + sizeof *s);
    s->again = (dync__saved *)(void *)(block + sizeof *s + values);
    s->tensor = (dync__tensor **)(void *)(block + tensors);
    s->watch = (dync__watch *)(void *)(s->again + again);
    s->version = (uint32_t *)(void *)(block + tensors + n * sizeof(dync__tensor *));
    if (values) memcpy(s->value, c->value, values);
    s->code = c;
    s->part = p;
    DYNC__ATOMIC_INC(&c->refs);
    for (; s->n < p->n_saved; s->n++) {
        /* one that is an output too would hold the node that holds it: another on its memory */
        dync__tensor *t = saved[p->saved[s->n]];
        if (t->refs > 1)
            t = dync__tensor_alias(t, t->dtype, &t->lay);
        else
            dync__ref(t);
        if (!t) {
            dync__aot_saved_destroy(s);
            return NULL;
        }
        s->tensor[s->n] = t;
        s->version[s->n] = t->storage->version;
        if (c->g.again.at[p->saved[s->n]] && dync__aot_may_be_written(t))
            s->watch[s->n_watched++] =
                (dync__watch){.tensor = &s->tensor[s->n], .version = &s->version[s->n]};
    }
    dync__watch_begin(s->n_watched, s->watch);
    return s;
}

/* Edges go to the inputs that this part has gradients for, or an error: what stands behind the
 * others has nothing to wait for. Returns how many there are. */
static int dync__aot_part_edges(const dync__aot_code *c, const dync__aot_part *p,
                                dync__tensor *const *actual, dync__tensor **edge)
{
    int n = p->n_grads;
    for (int i = 0; i < p->n_grads; i++) edge[p->grad[i]] = actual[p->grad[i]];
    for (int i = 0; i < c->g.broken.n; i++)
        for (int k = 0; k < p->n_tangents; k++) {
            if (p->tangent[k] != c->g.broken.at[i].out) continue;
            edge[c->g.broken.at[i].input] = actual[c->g.broken.at[i].input];
            n++;
        }
    return n;
}

static dync_status dync__aot_attach_part(dync__aot_code *c, const dync__aot_part *p, int n_actual,
                                         dync__tensor *const *actual, dync__tensor *const *outputs,
                                         dync__tensor *const *saved, dync__aot_random random)
{
    int n = c->g.mutated.n + c->g.value.n, room = n_actual + n;
    dync__tensor *few[DYNC__FEW], **edge = dync__room(few, DYNC__FEW, room, sizeof *edge);
    if (!edge) return DYNC_ERR_MEMORY;
    bool *
        requires
    = (bool *)(edge + n_actual);
    memset(edge, 0, (size_t)room * sizeof *edge);
    bool all = !dync__aot_part_edges(c, p, actual, edge); /* somewhere they lead */
    for (int i = 0; i < p->n_tangents; i++) requires[p->tangent[i]] = true;
    dync__aot_saved *s = dync__aot_saved_new(c, p, saved);
    dync_status status = s ? DYNC_OK : DYNC_ERR_MEMORY;
    if (s) s->random = random;
    if (s && c->double_backward) status = dync__aot_save_inputs(s, actual);
    if (status == DYNC_OK)
        status = dync__tape_attach(&dync__aot_node, s, n_actual, all ? actual : edge, n, outputs,
                                   requires);
    else if (s)
        dync__aot_saved_destroy(s);
    dync__room_end(edge, few, room, sizeof *edge);
    return status;
}

/* Makes outputs (mutated values, then values) children of a node for each part of backward
 * (parts.c), over the actual inputs that it has gradients for: results whose gradients have no
 * tangent in common can be differentiated one without the other. saved: as forward gave them. */
static dync_status dync__aot_attach(dync__aot_code *c, int n_actual, dync__tensor *const *actual,
                                    dync__tensor *const *outputs, dync__tensor *const *saved,
                                    dync__aot_random random)
{
    for (int i = 0; i < c->n_parts; i++)
        DYNC__TRY(dync__aot_attach_part(c, &c->part[i], n_actual, actual, outputs, saved, random));
    return DYNC_OK;
}

DYNC__UNUSED static const dync__aot_gradients dync__aot_gradients_all = {
    dync__tape_start,         dync__joint_entry, dync__joint_backward, dync__partition_saved,
    dync__partition_backward, dync__aot_parts,   dync__aot_attach};
DYNC__DATA const dync__aot_gradients *dync__aot_gradients_used =
    DYNC__FOR_GRADIENTS(&dync__aot_gradients_all);
DYNC__FN void dync__aot_use_gradients(void)
{
#if defined(DYNC_SMALL) && !defined(DYNC_NO_AUTOGRAD)
    dync__aot_gradients_used = &dync__aot_gradients_all;
#endif
}
