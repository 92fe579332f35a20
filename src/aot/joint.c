/* aot/joint.c: the user's graph runs once over fakes, through the tape and the functional recorder; for training the tape is then walked
 * backward in the same recorder: one joint graph. After functionalize.c, before partition.c. */
#include "../dync.in.h"
#include "aot.h"

typedef struct dync__joint {
    dync__functional f;
    dync__aot_graphs *into;
    dync__arena arena;
    dync__tensor **input;                /* fakes, borrowed */
    int n_inputs;
    dync__arg result;                    /* output tree of the user's graph: fakes, owned */
    dync__tensor **out;                  /* flat outputs, borrowed; NULL for values that are no tensors */
    int n_out;
    dync__tensor **value;                /* those that the forward graph computes */
    int n_values;
} dync__joint;

DYNC__FN void dync__aot_graphs_free(dync__aot_graphs *a)
{
    dync_graph_free(a->fw);
    dync_graph_free(a->bw);
    for (int i = 0; i < a->lifted.n; i++) dync__unref(a->lifted.at[i]);
    dync__vec_free(&a->lifted);
    dync__vec_free(&a->lifted_node);
    dync__vec_free(&a->mutated);
    dync__vec_free(&a->out);
    dync__vec_free(&a->tangent_value);
    dync__vec_free(&a->grad_of);
    memset(a, 0, sizeof *a);
}

DYNC__FN int dync__arg_count_tensors(const dync__arg *a)
{
    int n = a->kind == DYNC__A_TENSOR || a->kind == DYNC__A_NODE;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++) n += dync__arg_count_tensors(&a->as.list[i]);
    return n;
}

/* ---- forward ----------------------------------------------------------------------------------------------------------------- */
static dync_status dync__joint_inputs(dync__joint *j, const dync_graph *g, bool training, dync__arg *args)
{
    int k = 0;
    for (int i = 0; i < g->node.n; i++) {
        const dync_node *n = g->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER) continue;
        if (!n->has_info) return dync__functional_refuse(&j->f, "an input that is no tensor");
        dync__info info = n->info[0];
        j->input[k] = dync__functional_input(&j->f, n->name, &info, training && n->requires_grad[0], k);
        if (!j->input[k]) return DYNC_ERR_MEMORY;
        args[k] = dync__arg_t(j->input[k]);
        k++;
    }
    return DYNC_OK;
}

static dync_status dync__joint_flatten(dync__joint *j, const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) j->out[j->n_out++] = a->as.t;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++) DYNC__TRY(dync__joint_flatten(j, &a->as.list[i]));
    return DYNC_OK;
}
static dync_status dync__joint_results(dync__joint *j)
{
    int n = dync__arg_count_tensors(&j->result);
    j->out = dync__arena_alloc(&j->arena, (size_t)(n + 1) * sizeof *j->out);
    j->value = dync__arena_alloc(&j->arena, (size_t)(n + 1) * sizeof *j->value);
    return j->out && j->value ? dync__joint_flatten(j, &j->result) : DYNC_ERR_MEMORY;
}

/* What each output is: an input, a view of one, or a value of the forward graph. */
static dync_status dync__joint_outputs(dync__joint *j, bool training)
{
    for (int i = 0; i < j->n_out; i++) {
        dync__tensor *t = j->out[i];
        dync__aot_out o = {.kind = DYNC__AOT_VALUE, .requires_grad = (t->flags & DYNC__T_REQUIRES_GRAD) != 0};
        int input = (t->flags & DYNC__T_FAKE) ? dync__functional_base_input(&j->f, t) : -1;
        if (!(t->flags & DYNC__T_FAKE) && !dync__functional_node(&j->f, t)) return DYNC_ERR_MEMORY;
        if (input >= 0) {
            o.kind = t == j->input[input] ? DYNC__AOT_INPUT : DYNC__AOT_INPUT_VIEW;
            o.index = input;
            o.lay = t->lay;
            o.lay.offset -= j->input[input]->lay.offset;
            /* A detached view of an input that requires grad cannot be rebuilt as a plain view: its value leaves instead. */
            if (training && (t->flags & DYNC__T_REQUIRES_GRAD) != (j->input[input]->flags & DYNC__T_REQUIRES_GRAD))
                return dync__functional_refuse(&j->f, "an output that is a detached view of an input");
        } else {
            o.index = j->n_values;
            for (int k = 0; k < j->n_values; k++)
                if (j->value[k] == t) o.index = k;
            if (o.index == j->n_values) j->value[j->n_values++] = t;
        }
        if (!dync__vec_push(&j->into->out, o)) return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < j->n_inputs; i++) {
        if (!dync__functional_mutated(j->input[i])) continue;
        if (j->input[i]->flags & DYNC__T_REQUIRES_GRAD)
            return dync__functional_refuse(&j->f, "an input that requires grad is written in place");
        if (!dync__vec_push(&j->into->mutated, i)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* ---- backward ---------------------------------------------------------------------------------------------------------------------- */
typedef struct dync__joint_grads {
    dync__tensor **out, **tangent, **wrt, **grad;
    dync_node **tangent_node, **grad_node;
    int n_out, n_wrt, n_grads;
} dync__joint_grads;

static dync_status dync__joint_tangents(dync__joint *j, dync__joint_grads *b)
{
    for (int i = 0; i < j->n_values; i++) {
        dync__tensor *t = j->value[i];
        if (!dync__tensor_requires_grad(t)) continue;
        char name[32];
        dync__format(name, sizeof name, "tangents_%d", b->n_out + 1);
        dync__info info = {.dtype = t->dtype, .device = t->device, .alias = -1};
        DYNC__TRY(dync__layout_contiguous(&info.lay, t->lay.ndim, t->lay.shape));
        dync__tensor *tangent = dync__functional_input(&j->f, name, &info, false, -1);
        if (!tangent || !dync__vec_push(&j->into->tangent_value, i)) return DYNC_ERR_MEMORY;
        b->out[b->n_out] = t;
        b->tangent_node[b->n_out] = tangent->node;
        b->tangent[b->n_out++] = tangent;
    }
    return DYNC_OK;
}

static dync_status dync__joint_backward(dync__joint *j, dync__joint_grads *b)
{
    size_t n = (size_t)(j->n_values + j->n_inputs + 1);
    b->out = dync__arena_alloc(&j->arena, n * sizeof *b->out);
    b->tangent = dync__arena_alloc(&j->arena, n * sizeof *b->tangent);
    b->wrt = dync__arena_alloc(&j->arena, n * sizeof *b->wrt);
    b->grad = dync__arena_alloc(&j->arena, n * sizeof *b->grad);
    b->tangent_node = dync__arena_alloc(&j->arena, n * sizeof *b->tangent_node);
    b->grad_node = dync__arena_alloc(&j->arena, n * sizeof *b->grad_node);
    if (!b->out || !b->tangent || !b->wrt || !b->grad || !b->tangent_node || !b->grad_node) return DYNC_ERR_MEMORY;
    int *wrt_input = dync__arena_alloc(&j->arena, n * sizeof *wrt_input);
    if (!wrt_input) return DYNC_ERR_MEMORY;
    for (int i = 0; i < j->n_inputs; i++)
        if (j->input[i]->flags & DYNC__T_REQUIRES_GRAD) {
            wrt_input[b->n_wrt] = i;
            b->wrt[b->n_wrt++] = j->input[i];
        }
    DYNC__TRY(dync__joint_tangents(j, b));
    if (!b->n_out || !b->n_wrt) return DYNC_OK;
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = true;
    dync_status status = dync__tape_gradients(b->n_out, b->out, b->tangent, b->n_wrt, b->wrt, b->grad, false, false, true);
    dync__tls.grad_enabled_off = grad_off;
    for (int i = 0; i < b->n_wrt; i++) {
        if (!b->grad[i]) continue;
        if (status == DYNC_OK) {
            b->grad_node[b->n_grads] = dync__functional_node(&j->f, b->grad[i]);
            if (!b->grad_node[b->n_grads] || !dync__vec_push(&j->into->grad_of, wrt_input[i])) status = DYNC_ERR_MEMORY;
            b->n_grads++;
        }
        dync__unref(b->grad[i]);
    }
    return status;
}

/* ---- both ------------------------------------------------------------------------------------------------------------------------------ */
static dync_status dync__joint_run(dync__joint *j, dync_graph *g, bool training)
{
    dync__arg *args = dync__arena_alloc(&j->arena, (size_t)(j->n_inputs + 1) * sizeof *args);
    j->input = dync__arena_alloc(&j->arena, (size_t)(j->n_inputs + 1) * sizeof *j->input);
    if (!args || !j->input) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__joint_inputs(j, g, training, args));
    DYNC__TRY(dync__graph_eval(g, args, j->n_inputs, &j->arena, &j->result));
    DYNC__TRY(dync__joint_results(j));
    DYNC__TRY(dync__joint_outputs(j, training));
    dync__joint_grads b;
    memset(&b, 0, sizeof b);
    if (training) DYNC__TRY(dync__joint_backward(j, &b));
    j->into->n_inputs = j->n_inputs;
    j->into->n_lifted = j->into->lifted.n;
    j->into->n_values = j->n_values;
    int n_fw = j->into->mutated.n + j->n_values;
    dync_node **fw_out = dync__arena_alloc(&j->arena, (size_t)(n_fw + 1) * sizeof *fw_out);
    if (!fw_out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_fw; i++) {
        bool mutated = i < j->into->mutated.n;
        dync__tensor *t = mutated ? j->input[j->into->mutated.at[i]] : j->value[i - j->into->mutated.n];
        if (!(fw_out[i] = dync__functional_node(&j->f, t))) return DYNC_ERR_MEMORY;
    }
    j->into->n_tangents = b.n_out;
    return dync__aot_partition(j->f.graph, n_fw, fw_out, b.n_grads ? b.n_out : 0, b.tangent_node, b.n_grads, b.grad_node, j->into);
}

/* The stack is empty and the recorder is at the bottom: the tape sits on it. */
static dync_status dync__joint_traced(dync__joint *j, dync_graph *g, bool training)
{
    dync__handler *stack = dync__handler_swap(NULL), *bottom = dync__bottom_swap(&j->f.handler);
    bool grad_off = dync__tls.grad_enabled_off, compiling = dync__tls.compiling;
    if (!training) dync__tls.grad_enabled_off = true;     /* else the mode that the graph begins in */
    dync__tls.compiling = false;
    dync_status status = dync__joint_run(j, g, training);
    dync__arg_release(&j->result);
    dync__tls.grad_enabled_off = grad_off;
    dync__tls.compiling = compiling;
    dync__bottom_swap(bottom);
    dync__handler_swap(stack);
    return status;
}

DYNC__FN dync_status dync__aot_trace(dync_graph *g, bool training, dync__aot_graphs *out, const char **why)
{
    dync__joint j;
    dync__error_guard guard;
    memset(&j, 0, sizeof j);
    memset(out, 0, sizeof *out);
    *why = NULL;
    j.into = out;
    j.n_inputs = g->n_inputs;
    dync_graph *joint = dync__graph_new("Joint");
    if (!joint) return DYNC_ERR_MEMORY;
    dync__functional_begin(&j.f, joint, out);
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__joint_traced(&j, g, training);
    dync_scope_end(&scope);
    dync__error_slot inner = dync__error_guard_end(&guard);
    if (j.f.status == DYNC_ERR_UNSUPPORTED) {
        status = DYNC_ERR_UNSUPPORTED;
        *why = j.f.why;
    } else if (status != DYNC_OK && inner.status != DYNC_OK) {
        dync__error_raise(&inner);
        status = inner.status;
    } else if (status != DYNC_OK && status != DYNC_ERR_MEMORY) {
        status = dync__fail(status, "the joint trace of a graph failed");
    }
    if (status == DYNC_OK && dync__log_on(DYNC__LOG_joint)) {
        dync__str s = {0};
        dync__graph_print_c(&s, joint);
        dync__log_text(DYNC__LOG_joint, "joint", dync__str_get(&s));
        dync__str_free(&s);
    }
    dync__functional_end(&j.f);
    dync__arena_free(&j.arena);
    dync_graph_free(joint);
    if (status != DYNC_OK) dync__aot_graphs_free(out);
    return status;
}
