/* cuda/recurrent_call.c: the call of a recurrent layer on a GPU: its weights packed, its shape
 * chosen. After recurrent_text.c, before calls.c. */
#include "../dync.in.h"
#include "tile.h"
#include "recurrent.h"
DYNC__COLD

/* ---- the call -------------------------------------------------------------------------------- */

/* A temporary = an operand [N, H], or zeros. */
static bool dync__ru_copy(dync__ru *u, dync__cuda_code *code, int role, int to)
{
    const dync__operand *o = u->at[role];
    int64_t extent[2] = {u->N, u->H}, dense[2] = {u->H, 1};
    dync__kernel *k = dync__kernel_new(&code->arena, "rnn_state", 0, 2, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "rnn_layer"};
    int v = o ? dync__lb_load(&b,
                              dync__kernel_buf(k, (int)(o - u->call->operand), o->dtype,
                                               DYNC__BUF_IN, -1, NULL),
                              dync__kernel_access(k, o->lay.offset, o->lay.stride))
              : dync__lb_f(&b, u->type, 0);
    dync__lb_store(&b, dync__kernel_buf(k, to, u->type, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), dync__lb_cast(&b, v, u->type));
    return dync__cuda_add_loop(code, k);
}

/* The weights as [k][unit][gate]: forward k is a state, backward a unit whose gates' gradients go
 * to the state `unit`. */
static bool dync__ru_weights(dync__ru *u, dync__cuda_code *code, int to)
{
    const dync__operand *w = u->at[DYNC__RNN_W];
    int64_t extent[3] = {u->H, u->H, u->gates}, dense[3] = {u->H * u->pack, u->pack, 1};
    int64_t from[3] = {w->lay.stride[!u->grad], w->lay.stride[u->grad], w->lay.stride[0] * u->H};
    dync__kernel *k = dync__kernel_new(&code->arena, "rnn_weights", 0, 3, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "rnn_layer"};
    int v = dync__lb_load(
        &b, dync__kernel_buf(k, (int)(w - u->call->operand), w->dtype, DYNC__BUF_IN, -1, NULL),
        dync__kernel_access(k, w->lay.offset, from));
    dync__lb_store(&b, dync__kernel_buf(k, to, u->type, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), dync__lb_cast(&b, v, u->type));
    return dync__cuda_add_loop(code, k);
}

/* Blocks: few enough rows each that every multiprocessor has one, if there are that many rows;
 * false: not even one row fits. */
static bool dync__ru_shape(dync__ru *u, int multiprocessors)
{
    enum { THREADS = 256, SHARED = 96 * 1024 };
    int64_t weights = u->H * u->H * u->pack * u->bytes, slices = 1, most;
    u->step = u->H > THREADS || weights > 256 * 1024;
    u->units = 8;
    while (u->units < (u->step ? 32 : u->H)) u->units *= 2;
    if (u->step) slices = (u->H + u->units - 1) / u->units;
    u->row = (int)((u->H * (u->grad ? u->pack : 1) + 3) / 4 * 4);
    most = SHARED / ((int64_t)u->row * u->bytes * (u->step ? 1 : 2));
    for (u->groups = 1; u->groups < THREADS / u->units && u->groups < u->N &&
                        (u->units * u->groups < 32 || slices * u->N > multiprocessors * u->groups);)
        u->groups *= 2;
    for (u->rb = 1; u->rb < 4 && slices * u->N > 2 * multiprocessors * u->groups * u->rb;)
        u->rb *= 2;
    while (u->groups * u->rb > most && u->rb > 1) u->rb /= 2;
    while (u->groups * u->rb > most && u->groups > 1) u->groups /= 2;
    while (u->units * u->groups < 32) u->units *= 2;
    u->near = !u->step && weights + 2 * (int64_t)u->groups * u->rb * u->row * u->bytes <= SHARED;
    return most >= 1;
}

DYNC__FN dync_status dync__cuda_call_recurrent(dync__cuda_code *code, const dync__kcall *call,
                                               bool *done)
{
    dync__ru u;
    int32_t buf[DYNC__KCALL_OPERANDS + 4];
    memset(&u, 0, sizeof u);
    u.grad = dync__kcall_is(call, DYNC__K_rnn_layer_grad);
    *done = false;
    if (!u.grad && !dync__kcall_is(call, DYNC__K_rnn_layer)) return DYNC_OK;
    u.call = call;
    const dync__attr_rnn *a = &call->attr.rnn;
    for (int i = 0; i < DYNC__RNN_ROLES; i++)
        u.at[i] = a->role[i] >= 0 ? &call->operand[a->role[i]] : NULL;
    const dync__layout *out = &u.at[DYNC__RNN_OUT]->lay;
    u.gates = (int)a->gates;
    u.pack = u.gates == 3 ? 4 : u.gates;
    u.reverse = a->reverse;
    u.type = dync__dtype_info(call->operand[0].dtype)->compute;
    u.bytes = dync__dtype_info(u.type)->bytes;
    u.ty = dync__ptx_type(u.type);
    u.L = out->shape[0];
    u.N = out->shape[1];
    u.H = out->shape[2];
    if (u.N > INT32_MAX / 2 || !dync__ru_shape(&u, dync__cuda_unit_of(code->device >> 8)->units))
        return DYNC_OK;
    *done = true;
    int64_t states = u.N * u.H * u.bytes,
            size[4] = {u.H * u.H * u.pack * u.bytes, states * 2 * (u.grad ? u.pack : 1), states,
                       states};
    int n = call->n, n_temps = u.step ? 4 : 1;
    for (int i = 0; i < n; i++) buf[i] = i;
    for (int i = 0; i < 4; i++) {
        u.temp[i] = n + DYNC__MIN(i, n_temps - 1);
        if (i < n_temps && (buf[n + i] = dync__cuda_add_temp(code, size[i])) < 0)
            return DYNC_ERR_MEMORY;
    }
    bool ok = dync__ru_weights(&u, code, buf[n]);
    if (u.step && !u.grad) ok = ok && dync__ru_copy(&u, code, DYNC__RNN_H0, buf[n + 1]);
    if (u.step && u.gates == 4)
        ok = ok && dync__ru_copy(&u, code, u.grad ? DYNC__RNN_GC : DYNC__RNN_C0, buf[n + 3]);
    if (!ok) return DYNC_ERR_MEMORY;
    dync__cuda_tile_begin(&u.t, n + n_temps);
    if (u.step)
        dync__ru_step_text(&u);
    else
        dync__ru_block_text(&u);
    return dync__cuda_tile_end(&u.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}
