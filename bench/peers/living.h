/* bench/peers/living.h: rows that are whole programs: sizes, modes and state change from call to
 * call of the functions that they compile. Included by rows.c, behind its modules.
 *
 * A program calls part, the function of its kind, compiled with what the library does by itself
 * about sizes. */
static dync_compiled *part;
static dync_tensor *kept[MOST_INPUTS]; /* what a program takes along */

static dync_tensor *first_rows(dync_tensor *x, int64_t n) { return dync_slice(x, 0, 0, n, 1); }
static void keep(int i, dync_tensor *t)
{
    if (t) dync_retain(t);
    if (kept[i]) dync_release(kept[i]);
    kept[i] = t;
}

/* ---- a GPT with a cache: p as gpt_forward's; the caches are [layers, rows, features] --------- */
static dync_tensor *cached_heads(dync_tensor *x)
{
    return dync_transpose(dync_reshape(x, dync_shape(dync_dim(x, 0), p[1], p[0] / p[1])), 0, 1);
}
static dync_tensor *cached_block(dync_module *m, dync_tensor *x, dync_tensor *qkv, dync_tensor *k,
                                 dync_tensor *v, dync_tensor *mask)
{
    dync_tensor *y = dync_scaled_dot_product_attention(cached_heads(dync_slice(qkv, 1, 0, p[0], 1)),
                                                       cached_heads(k), cached_heads(v), mask, 0,
                                                       false, DYNC_NONE);
    x = dync_add(x, child(m, "out", dync_reshape(dync_transpose(y, 0, 1), dync_shape(1, p[0]))));
    return dync_add(x, child(m, "down", dync_gelu(child(m, "up", child(m, "norm2", x)))));
}
static dync_module *block_at(int i)
{
    char name[16];
    snprintf(name, sizeof name, "block%d", i);
    return dync_module_child(net, name);
}
static dync_tensor *place_of(dync_tensor *at)
{
    return dync_index_select(dync_module_param(net, "places"), 0, at);
}
/* (token [1], place [1], keys, values) -> (next [1], keys, values), one row longer */
static dync_value fn_gpt_grow(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_add(child(net, "words", tensor(a[0])), place_of(tensor(a[1])));
    dync_value keys[16], values[16];
    (void)n, (void)user;
    for (int i = 0; i < (int)p[3]; i++) {
        dync_module *m = block_at(i);
        dync_tensor *qkv = child(m, "qkv", child(m, "norm1", x));
        dync_tensor *k = dync_cat(dync_tuple(dync_select(tensor(a[2]), 0, i),
                                             dync_slice(qkv, 1, p[0], 2 * p[0], 1)),
                                  0),
                    *v = dync_cat(dync_tuple(dync_select(tensor(a[3]), 0, i),
                                             dync_slice(qkv, 1, 2 * p[0], 3 * p[0], 1)),
                                  0);
        keys[i] = DYNC_V(k);
        values[i] = DYNC_V(v);
        x = cached_block(m, x, qkv, k, v, NULL);
    }
    dync_tensor *logits = child(net, "head", child(net, "norm", x));
    return dync_tuple(dync_argmax(logits, 1, false), dync_stack(dync_tuple_of((int)p[3], keys), 0),
                      dync_stack(dync_tuple_of((int)p[3], values), 0));
}
/* The same with caches of all places, of which one row is written and the rest masked. */
static dync_value fn_gpt_fixed(const dync_value *a, int n, void *user)
{
    dync_tensor *at = tensor(a[1]),
                *row = dync_expand(dync_reshape(at, dync_shape(1, 1)), dync_shape(1, p[0]));
    dync_tensor *x = dync_add(child(net, "words", tensor(a[0])), place_of(at));
    dync_tensor *mask =
        dync_reshape(dync_le(dync_arange(0, (double)p[5], 1), at), dync_shape(1, 1, p[5]));
    (void)n, (void)user;
    for (int i = 0; i < (int)p[3]; i++) {
        dync_module *m = block_at(i);
        dync_tensor *qkv = child(m, "qkv", child(m, "norm1", x)),
                    *k = dync_select(tensor(a[2]), 0, i), *v = dync_select(tensor(a[3]), 0, i);
        dync_scatter_(k, 0, row, dync_slice(qkv, 1, p[0], 2 * p[0], 1));
        dync_scatter_(v, 0, row, dync_slice(qkv, 1, 2 * p[0], 3 * p[0], 1));
        x = cached_block(m, x, qkv, k, v, mask);
    }
    return DYNC_V(dync_argmax(child(net, "head", child(net, "norm", x)), 1, false));
}
/* p[6] tokens, from p[7] rows on: inputs are keys, values [layers, p[7], features], and the places
 * [p[5], 1]. Gives the last token. */
static dync_value sample_grow(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    keep(0, tensor(v[0]));
    keep(1, tensor(v[1]));
    keep(2, dync_select(tensor(v[2]), 0, 0));
    for (int64_t t = 0; t < p[6]; t++) DYNC_SCOPE {
        dync_value r = dync_call_value(part, kept[2], dync_select(tensor(v[2]), 0, p[7] + t),
                                       kept[0], kept[1]);
        keep(2, tensor(dync_at(r, 0)));
        keep(0, tensor(dync_at(r, 1)));
        keep(1, tensor(dync_at(r, 2)));
    }
    return DYNC_V(kept[2]);
}
/* keys, values: [layers, places, features] */
static dync_value sample_fixed(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    keep(2, dync_select(tensor(v[2]), 0, 0));
    for (int64_t t = 0; t < p[6]; t++) DYNC_SCOPE {
        keep(2, tensor(dync_call_value(part, kept[2], dync_select(tensor(v[2]), 0, p[7] + t), v[0],
                                       v[1])));
    }
    return DYNC_V(kept[2]);
}

/* ---- one attention with a cache that grows: inputs x [tokens, d], keys and values [rows, d] -- */
static dync_value fn_attend(const dync_value *a, int n, void *user)
{
    dync_tensor *k = dync_cat(dync_tuple(a[1], a[0]), 0), *v = dync_cat(dync_tuple(a[2], a[0]), 0);
    dync_tensor *w = dync_softmax(dync_matmul(tensor(a[0]), dync_transpose(k, 0, 1)), 1);
    (void)n, (void)user;
    return dync_tuple(dync_matmul(w, v), k, v);
}
static dync_value grow_cache(const dync_value *v, int n, void *user)
{
    int64_t tokens = dync_size(tensor(v[0]), 0);
    (void)n, (void)user;
    keep(0, tensor(v[1]));
    keep(1, tensor(v[2]));
    for (int64_t t = 0; t < tokens; t++) DYNC_SCOPE {
        dync_value r =
            dync_call_value(part, dync_slice(tensor(v[0]), 0, t, t + 1, 1), kept[0], kept[1]);
        keep(2, tensor(dync_at(r, 0)));
        keep(0, tensor(dync_at(r, 1)));
        keep(1, tensor(dync_at(r, 2)));
    }
    return DYNC_V(kept[2]);
}

/* ---- lengths in turn: inputs x [150, in], y; p[3] lengths, in an order that jumps ------------ */
static int64_t length_at(int64_t i) { return 2 + i * 37 % 149; }
static dync_value lengths_forward(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    for (int64_t i = 0; i < p[3]; i++) DYNC_SCOPE {
        keep(0, tensor(dync_call_value(part, first_rows(tensor(v[0]), length_at(i)))));
    }
    return DYNC_V(kept[0]);
}
static dync_value lengths_training(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    for (int64_t i = 0; i < p[3]; i++) DYNC_SCOPE {
        int64_t rows = length_at(i);
        keep(0, dync_detach(tensor(dync_call_value(part, first_rows(tensor(v[0]), rows),
                                                   first_rows(tensor(v[1]), rows)))));
    }
    return DYNC_V(kept[0]);
}

/* ---- an epoch: p[3] steps and a validation --------------------------------------------------- */
static dync_value fn_mode(const dync_value *v, int n, void *user)
{
    if (dync_module_is_training(net)) return fn_step_class(v, n, user);
    return DYNC_V(
        dync_detach(class_error(tensor(dync_module_call_values(net, 1, v)), tensor(v[1]))));
}
static dync_value epoch(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    dync_module_train(net, true);
    for (int64_t i = 0; i < p[3]; i++) DYNC_SCOPE {
        dync_call_value(part, v[0], v[1]);
    }
    dync_module_train(net, false);
    DYNC_NO_GRAD DYNC_SCOPE {
        keep(0, tensor(dync_call_value(part, v[0], v[1])));
    }
    return DYNC_V(kept[0]);
}

/* ---- a loop to convergence ------------------------------------------------------------------- */
static dync_value not_there(const dync_value *v, int n, void *user)
{
    dync_tensor *x = tensor(v[0]), *a = user,
                *miss = dync_sub(dync_div(dync_mul(dync_mul(x, x), x), a), 1);
    return (void)n, DYNC_V(dync_gt(dync_amax(dync_abs(miss), DYNC_ALL, false), 1e-5));
}
static dync_value nearer(const dync_value *v, int n, void *user)
{
    dync_tensor *x = tensor(v[0]), *a = user;
    return (void)n, DYNC_V(dync_div(dync_add(dync_mul(x, 2), dync_div(a, dync_mul(x, x))), 3));
}
static dync_value fn_roots(const dync_value *v, int n, void *user)
{
    dync_tensor *a = tensor(v[0]);
    (void)n, (void)user;
    return dync_while_loop(dync_bind(not_there, a, "x"), dync_bind(nearer, a, "x"),
                           dync_ones_like(a));
}

/* ---- a row into each layer of a cache: cache [layers, rows, d], row [1, d], at [1, d] -------- */
static dync_value fn_rows_in(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    for (int i = 0; i < (int)p[0]; i++)
        dync_scatter_(dync_select(tensor(v[0]), 0, i), 0, tensor(v[2]), tensor(v[1]));
    return DYNC_V(dync_add(v[1], 1));
}
/* A program of one call. */
static dync_value call_part(const dync_value *v, int n, void *user)
{
    return (void)user, dync_call_values(part, n, v);
}
