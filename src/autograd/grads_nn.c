/* autograd/grads_nn.c: gradient rules of convolution, pooling, normalisation, attention, recurrent
 * layers, embedding. After grads.c; see there.
 *
 * Most have a backward operator of their own, with a kernel of its own; rules pass gy, what was
 * kept, and the arguments of the call on. Second gradients (the walk is recorded) are rules of
 * those operators, or the decomposition differentiated (dync__g_plain). */
#include "../dync.in.h"
#include "grads.h"
DYNC__LEAN

/* ---- convolution: [N, C, H, W] --------------------------------------------------------------- */

/* convolution_backward of these three; mask: which of its results are wanted. stride, padding,
 * dilation, groups stand in g's call from place `from` on. */
static dync_value dync__g_conv_backward(dync__grad *g, int from, dync_tensor *gy, dync_tensor *x,
                                        dync_tensor *w, const bool *mask)
{
    dync__arg args[10];
    args[0] = dync__arg_h(gy);
    args[1] = dync__arg_h(x);
    args[2] = dync__arg_h(w);
    for (int i = 0; i < 4; i++) args[3 + i] = g->call->args[from + i];
    for (int i = 0; i < 3; i++) args[7 + i] = dync__arg_b(mask[i]);
    return dync__op_call_list(DYNC__OP_convolution_backward, 10, args, dync__tls.at);
}

/* Result i of an operator with several; NULL: it failed, or this one was not asked for. */
static dync_tensor *dync__g_item(dync_value list, int i)
{
    return list.kind == DYNC_KIND_LIST && i < dync_len(list) ? dync_as_tensor((dync_at)(list, i))
                                                             : NULL;
}

/* x, w and bias in one call, which shares what it computes. */
DYNC__FN dync_status dync__g_convolution(dync__grad *g)
{
    bool mask[3];
    for (int i = 0; i < 3; i++) mask[i] = dync__ga_needed(g, i);
    dync_value all = dync__g_conv_backward(g, 3, dync__grads_gy(g), dync__ga_tensor(g, 0),
                                           dync__ga_tensor(g, 1), mask);
    for (int i = 0; i < 3; i++)
        if (mask[i]) DYNC__TRY(dync__ga_set(g, i, dync__g_item(all, i)));
    return DYNC_OK;
}

/* The convolution without bias, with the sizes of g's call (of convolution_backward). */
static dync_tensor *dync__g_conv(dync__grad *g, dync_tensor *x, dync_tensor *w)
{
    dync__arg args[7];
    args[0] = dync__arg_h(x);
    args[1] = dync__arg_h(w);
    args[2] = dync__arg_none();
    for (int i = 0; i < 4; i++) args[3 + i] = g->call->args[3 + i];
    return dync__g_call(DYNC__USED(DYNC__OP_convolution), 7, args);
}

/* A sum whose first term may be missing. */
static dync_tensor *dync__g_plus(dync_tensor *a_or_null, dync_tensor *b)
{
    return a_or_null ? dync_add(a_or_null, b) : b;
}

/* Of convolution_backward(gy, x, w): its results are linear in each of the three. */
DYNC__FN dync_status dync__g_convolution_backward(dync__grad *g)
{
    static const bool for_x[3] = {true, false, false}, for_w[3] = {false, true, false};
    dync_tensor *part[3], *h = NULL;
    /* what was not asked for is empty */
    for (int i = 0; i < 3; i++) part[i] = g->call->args[7 + i].as.i ? g->grad_out[i] : NULL;
    dync_tensor *gx = part[0], *gw = part[1], *gb = part[2];
    if (dync__ga_needed(g, 0)) {
        if (gx) h = dync__g_conv(g, gx, dync__ga_tensor(g, 2));
        if (gw) h = dync__g_plus(h, dync__g_conv(g, dync__ga_tensor(g, 1), gw));
        if (gb)
            h = dync__g_plus(
                h, dync_expand(dync_reshape(gb, dync_shape(1, -1, 1, 1)), dync__ga_shape(g, 0)));
        if (gx || gw || gb) DYNC__TRY(dync__ga_set(g, 0, h));
    }
    if (dync__ga_needed(g, 1) && gw)
        DYNC__TRY(dync__ga_set(g, 1,
                               dync__g_item(dync__g_conv_backward(g, 3, dync__ga_tensor(g, 0),
                                                                  dync__ga_tensor(g, 1), gw, for_x),
                                            0)));
    if (dync__ga_needed(g, 2) && gx)
        DYNC__TRY(dync__ga_set(g, 2,
                               dync__g_item(dync__g_conv_backward(g, 3, dync__ga_tensor(g, 0), gx,
                                                                  dync__ga_tensor(g, 2), for_w),
                                            1)));
    return DYNC_OK;
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* Each gy / (size of the window) to all of the window. */
DYNC__FN dync_status dync__g_avg_pool2d(dync__grad *g)
{
    dync__arg args[7];
    args[0] = dync__arg_h(dync__grads_gy(g));
    args[1] = dync__arg_h(dync__grads_x(g));
    for (int i = 1; i < 6; i++) args[i + 1] = g->call->args[i];
    return dync__grads_set(g, dync__g_call(DYNC__USED(DYNC__OP_avg_pool2d_backward), 7, args));
}

/* It is linear in gy, and its transpose is the pooling again. */
DYNC__FN dync_status dync__g_avg_pool2d_backward(dync__grad *g)
{
    dync__arg args[6];
    args[0] = dync__arg_h(dync__grads_gy(g));
    for (int i = 2; i < 7; i++) args[i - 1] = g->call->args[i];
    return dync__ga_needed(g, 0)
               ? dync__grads_set(g, dync__g_call(DYNC__USED(DYNC__OP_avg_pool2d), 6, args))
               : DYNC_OK;
}

/* Output 1 names the element of each window that was the largest. */
DYNC__FN dync_status dync__g_max_pool2d(dync__grad *g)
{
    dync__arg args[3];
    if (!dync__grads_gy(g)) return DYNC_OK;
    args[0] = dync__arg_h(dync__grads_gy(g));
    args[1] = dync__arg_h(dync__grads_x(g));
    args[2] = dync__arg_h(dync__grad_output(g, 1));
    return dync__grads_set(
        g, dync__g_call(DYNC__USED(DYNC__OP_max_pool2d_with_indices_backward), 3, args));
}

/* The places count within a plane of [..., H, W]. */
DYNC__FN dync_status dync__g_max_pool2d_backward(dync__grad *g)
{
    if (!dync__ga_needed(g, 0)) return DYNC_OK;
    dync_tensor *index = dync_flatten(dync__ga_tensor(g, 2), -2, -1),
                *flat = dync_gather(dync_flatten(dync__grads_gy(g), -2, -1), -1, index);
    return dync__grads_set(g, dync_reshape(flat, dync__ga_shape(g, 2)));
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* With create_graph the statistics of the batch are computed again, so that they have a history. */
static void dync__g_batch_statistics(dync__grad *g, dync_tensor *x, dync_tensor **mean,
                                     dync_tensor **invstd)
{
    dync_dims dims = {0}, shape = dync__ga_shape(g, 0);
    for (int d = 0; d < shape.n; d++)
        if (d != 1) dims.d[dims.n++] = d;
    *mean = dync_mean(x, dims, false);
    *invstd = dync_rsqrt(dync_add(dync_var(x, dims, 0, false), dync__ga_float(g, 7)));
}

/* In training the statistics depend on x, else they are constants (the running ones). Sums over a
 * channel are left to the operator. */
DYNC__FN dync_status dync__g_native_batch_norm(dync__grad *g)
{
    dync__arg args[9];
    bool training = dync__ga_int(g, 5) != 0;
    dync_tensor *x = dync__ga_tensor(g, 0), *w = dync__ga_tensor(g, 1), *mean, *invstd;
    if (training && !dync__grad_is_off()) {
        dync__g_batch_statistics(g, x, &mean, &invstd);
    } else {
        mean = dync__grad_output(g, 1);
        invstd = dync__grad_output(g, 2);
    }
    args[0] = dync__arg_h(dync__grads_gy(g));
    args[1] = dync__arg_h(x);
    args[2] = w ? dync__arg_h(w) : dync__arg_none();
    for (int i = 0; i < 2; i++) { /* what training writes meanwhile is not asked for */
        dync_tensor *running = training ? NULL : dync__ga_tensor(g, 3 + i);
        args[3 + i] = running ? dync__arg_h(running) : dync__arg_none();
    }
    args[5] = dync__arg_h(mean);
    args[6] = dync__arg_h(invstd);
    args[7] = dync__arg_b(training);
    args[8] = dync__arg_f(dync__ga_float(g, 7));
    dync_value all = dync__op_call_list(DYNC__OP_native_batch_norm_backward, 9, args, dync__tls.at);
    for (int i = 0; i < 3; i++)
        if (dync__ga_needed(g, i)) DYNC__TRY(dync__ga_set(g, i, dync__g_item(all, i)));
    return DYNC_OK;
}

/* y = n w + b, n = (x - mean) rstd over the trailing dims. With h = gy w:
 *   gx = rstd (h - mean(h) - n mean(h n))
 * and what the outputs mean and rstd are asked for: gmean / N - grstd rstd^2 n / N. Each of the
 * three outputs may be without a gradient. */
DYNC__FN dync_status dync__g_native_layer_norm(dync__grad *g)
{
    dync_tensor *x = dync__ga_tensor(g, 0), *w = dync__ga_tensor(g, 2), *gy = g->grad_out[0],
                *gx = NULL;
    dync_tensor *mean = dync__grad_output(g, 1), *rstd = dync__grad_output(g, 2),
                *n = dync_mul(dync_sub(x, mean), rstd);
    dync_dims shape = dync__ga_dims(g, 1), dims = {0};
    double count = dync__g_count(DYNC_ALL, shape);
    dims.n = shape.n;
    for (int i = 0; i < shape.n; i++) dims.d[i] = i - shape.n;
    if (gy && dync__ga_needed(g, 2)) DYNC__TRY(dync__ga_set(g, 2, dync_mul(gy, n)));
    if (gy) DYNC__TRY(dync__ga_set(g, 3, gy));
    if (!dync__ga_needed(g, 0)) return DYNC_OK;
    if (gy) {
        dync_tensor *h = w ? dync_mul(gy, w) : gy;
        dync_tensor *along = dync_mul(n, dync_mean(dync_mul(h, n), dims, true));
        gx = dync_mul(dync_sub(dync_sub(h, dync_mean(h, dims, true)), along), rstd);
    }
    if (g->grad_out[1])
        gx = dync__g_plus(gx, dync_expand(dync_div(g->grad_out[1], count), dync__ga_shape(g, 0)));
    if (g->grad_out[2])
        gx = dync__g_plus(
            gx, dync_mul(n, dync_mul(dync_div(g->grad_out[2], dync__sf(DYNC__SF_MUL, count, -1)),
                                     dync_mul(rstd, rstd))));
    return dync__ga_set(g, 0, gx);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* With create_graph, or where forward kept nothing: the gradients of the row's decomposition, whose
 * first n arguments are tensors. */
static dync_status dync__g_plain(dync__grad *g, int n_tensors)
{
    dync_value in[5], given[DYNC__MAX_OUT], out[DYNC__MAX_OUT];
    dync__arg args[DYNC__MAX_ARGS];
    int place[5], n = 0, n_out = 0;
    for (int i = 0; i < g->call->nargs; i++) {
        args[i] = g->call->args[i];
        if (i >= n_tensors) continue;
        dync_tensor *t = dync__ga_tensor(g, i);
        bool wanted = t && dync__ga_needed(g, i);
        /* each of its own: arguments may be one tensor, or come from another */
        if (wanted && (dync__grad_is_off() || !dync_requires_grad(t))) {
            if (!(t = dync_detach(t))) return dync_error();
            dync__tensor_set_requires_grad(dync__open(t), true);
        } else if (wanted) {
            dync__arg whole = dync__arg_h(t);
            if (!(t = dync__op_call(DYNC__OP_alias, 1, &whole, dync__tls.at))) return dync_error();
        }
        args[i] = dync__arg_t(t ? dync__open(t) : NULL);
        if (!wanted) continue;
        place[n] = i;
        in[n++] = dync_v_tensor(t);
    }
    DYNC__TRY(dync_error()); /* one was written since, say */
    dync__opcall plain = {.row = g->call->row,
                          .op = g->call->op,
                          .nargs = g->call->nargs,
                          .args = args,
                          .at = dync__tls.at};
    bool graph = dync_grad_mode_push(true);
    dync_status status = plain.row->decompose(&plain);
    dync_grad_mode_pop(graph);
    DYNC__TRY(status);
    for (int i = 0; i < plain.nout; i++) {
        dync_tensor *y = dync__give(plain.out[i]);
        if (!g->grad_out[i] || !dync_requires_grad(y))
            continue; /* an empty one is cut from an arg */
        given[n_out] = dync_v_tensor(g->grad_out[i]);
        out[n_out++] = dync_v_tensor(y);
    }
    if (!n_out) return DYNC_OK;
    dync_grad_options options = {.create_graph = graph, .allow_unused = true};
    dync_value grads = (dync_gradients)(dync_tuple_of(n_out, out), dync_tuple_of(n, in),
                                        dync_tuple_of(n_out, given), options);
    for (int i = 0; i < n; i++) {
        dync_tensor *t = dync__g_item(grads, i);
        if (t) DYNC__TRY(dync__ga_set(g, place[i], t));
    }
    return grads.kind == DYNC_KIND_LIST ? DYNC_OK : dync_error();
}

/* The kernel has no gradient of a mask. */
DYNC__FN dync_status dync__g_flash_attention(dync__grad *g)
{
    dync__arg args[9];
    if (!g->grad_out[0]) return DYNC_OK;
    if (!dync__grad_is_off() || dync__ga_needed(g, 3)) return dync__g_plain(g, 4);
    dync_tensor *from[7] = {g->grad_out[0],        dync__ga_tensor(g, 0),   dync__ga_tensor(g, 1),
                            dync__ga_tensor(g, 2), dync__grad_output(g, 0), dync__grad_output(g, 1),
                            dync__ga_tensor(g, 3)};
    for (int i = 0; i < 7; i++) args[i] = from[i] ? dync__arg_h(from[i]) : dync__arg_none();
    args[7] = g->call->args[4];
    args[8] = g->call->args[5];
    dync_value all = dync__op_call_list(
        DYNC__OP__scaled_dot_product_flash_attention_for_cpu_backward, 9, args, dync__tls.at);
    for (int i = 0; i < 3; i++)
        if (dync__ga_needed(g, i)) DYNC__TRY(dync__ga_set(g, i, dync__g_item(all, i)));
    return DYNC_OK;
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */

/* Of half a spectrum: 1 for the bins that are their own mirror image, for others, which stand for
 * two, `other`; [bins, 1]. */
static dync_tensor *dync__g_bins(const dync__grad *g, int64_t n, double other)
{
    dync_tensor *gy = dync__grads_gy(g);
    dync__arg args[5] = {dync__arg_i(0), dync__arg_i(n / 2 + 1), dync__arg_i(1),
                         dync__arg_dtype(DYNC_I64), dync__arg_device(dync__grad_device(g, 0))};
    dync_tensor *bin = dync__op_call(DYNC__OP_arange, 5, args, dync__tls.at),
                *own = dync_eq(dync_remainder(bin, n % 2 ? n : DYNC__MAX(n / 2, 1)), 0);
    own = dync_to_dtype(dync_unsqueeze(own, -1), dync_type(gy));
    return dync_add(dync_mul(own, 1 - other), other);
}

/* The sums are the other way round, with conjugate factors. */
DYNC__FN dync_status dync__g_fourier(dync__grad *g)
{
    const dync__arg *call = g->call->args;
    int64_t n = call[1].as.i;
    bool pairs = call[2].as.i != 0, back = call[3].as.i != 0, half = call[4].as.i != 0;
    if (!dync__ga_needed(g, 0)) return DYNC_OK;
    dync_tensor *gy = dync__grads_gy(g);
    if (half && !back) gy = dync_mul(gy, dync__g_bins(g, n, 0.5));
    bool from_real = half && back;
    dync__arg args[6] = {dync__arg_h(gy),    call[1], dync__arg_b(!from_real),
                         dync__arg_b(!back), call[4], call[5]};
    dync_tensor *gx = dync__op_call(DYNC__OP__fourier, 6, args, dync__tls.at);
    if (from_real) gx = dync_mul(gx, dync__g_bins(g, n, 2));
    if (!pairs && !half) gx = dync_select(gx, -1, 0);
    return dync__grads_set(g, gx);
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* The steps give the gradient of what each took from the input; that of the weights comes from all
 * of them in one product. */
DYNC__FN dync_status dync__g_rnn_layer(dync__grad *g)
{
    dync__arg args[10], *call = g->call->args;
    bool reverse = call[6].as.i != 0;
    if (!g->grad_out[0] && !g->grad_out[1]) return DYNC_OK;
    if (!dync__grad_is_off() || !call[7].as.i) return dync__g_plain(g, 5);
    dync_tensor *h0 = dync__ga_tensor(g, 3), *c0 = dync__ga_tensor(g, 4),
                *y = dync__grad_output(g, 0), *gate = dync__grad_output(g, 3);
    dync_tensor *from[8] = {g->grad_out[0],
                            g->grad_out[1],
                            dync__ga_tensor(g, 1),
                            h0,
                            c0,
                            y,
                            dync__grad_output(g, 2),
                            gate};
    for (int i = 0; i < 8; i++) args[i] = from[i] ? dync__arg_h(from[i]) : dync__arg_none();
    args[8] = call[5], args[9] = call[6];
    dync_value all = dync__op_call_list(DYNC__OP__rnn_layer_backward, 10, args, dync__tls.at);
    dync_tensor *gx = dync__g_item(all, 0), *share = gx;
    if (!gx) return dync_error();
    DYNC__TRY(dync__ga_set(g, 0, gx));
    if (dync__ga_needed(g, 3)) DYNC__TRY(dync__ga_set(g, 3, dync__g_item(all, 1)));
    if (c0 && dync__ga_needed(g, 4)) DYNC__TRY(dync__ga_set(g, 4, dync__g_item(all, 2)));
    /* the reset gate stands between the state's share of n and n */
    if (call[5].as.i == 3) {
        int64_t size = dync__ga_shape(g, 1).d[1];
        dync_value parts[2] = {dync_v_tensor(dync_slice(gx, -1, 0, 2 * size, 1)),
                               dync_v_tensor(dync_mul(dync_slice(gx, -1, 2 * size, 3 * size, 1),
                                                      dync_slice(gate, -1, 0, size, 1)))};
        share = dync_cat(dync_tuple_of(2, parts), -1);
    }
    if (dync__ga_needed(g, 2))
        DYNC__TRY(dync__ga_set(g, 2, dync_sum(share, dync_shape(0, 1), false)));
    if (!dync__ga_needed(g, 1)) return DYNC_OK;
    dync_value states[2] = {
        dync_v_tensor(dync_unsqueeze(h0, 0)),
        dync_v_tensor(dync_slice(y, 0, reverse ? 1 : 0, reverse ? INT64_MAX : -1, 1))};
    if (reverse) {
        dync_value first = states[0];
        states[0] = states[1];
        states[1] = first;
    }
    dync_tensor *before = dync_flatten(dync_cat(dync_tuple_of(2, states), 0), 0, 1);
    return dync__ga_set(g, 1, dync_mm(dync_transpose(dync_flatten(share, 0, 1), 0, 1), before));
}

/* ---- embedding ------------------------------------------------------------------------------- */

/* Rows of gy are added up at the rows of the table that they were read from; args[2]: how many rows
 * there are. */
DYNC__FN dync_status dync__g_embedding(dync__grad *g)
{
    dync__arg args[3];
    args[0] = dync__arg_h(dync__grads_gy(g));
    args[1] = dync__arg_h(dync__ga_tensor(g, 1));
    args[2] = dync__arg_i(dync__ga_shape(g, 0).d[0]);
    return dync__grads_set(g, dync__g_call(DYNC__USED(DYNC__OP_embedding_dense_backward), 3, args));
}

/* Windows as columns: columns added up. */
DYNC__FN dync_status dync__g_im2col(dync__grad *g)
{
    dync_dims in = dync__ga_shape(g, 0), image = {2, {in.d[in.n - 2], in.d[in.n - 1]}};
    return dync__grads_set(g, dync_col2im(dync__grads_gy(g), image, dync__ga_dims(g, 1),
                                          dync__ga_dims(g, 2), dync__ga_dims(g, 3),
                                          dync__ga_dims(g, 4)));
}
