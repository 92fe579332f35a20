/* Decoders: a cache that grows by one row, a ring, prompts of random length, beams that are sorted
 * and take one another's places. */
#include "living.h"

enum { D = 16, HEADS = 2, VOCAB = 24, RING = 12 };
static dync_module *embed, *qkv, *head;

static void make_model(void)
{
    embed = dync_nn_embedding(VOCAB, D);
    qkv = dync_nn_linear(D, 3 * D, true);
    head = dync_nn_linear(D, VOCAB, true);
}
static void free_model(void)
{
    dync_module_free(embed), dync_module_free(qkv), dync_module_free(head);
}

static dync_tensor *part(dync_tensor *x, int i)
{
    return dync_slice(x, -1, (int64_t)i * D, (int64_t)(i + 1) * D, 1);
}
/* [rows, D] -> [HEADS, rows, D / HEADS] */
static dync_tensor *split(dync_tensor *x)
{
    return dync_transpose(dync_reshape(x, dync_shape(dync_dim(x, 0), HEADS, D / HEADS)), 0, 1);
}
static dync_tensor *attend(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *mask)
{
    dync_tensor *w = dync_matmul(split(q), dync_transpose(split(k), 1, 2));
    w = dync_mul(w, 0.35);
    if (mask) w = dync_masked_fill(w, mask, -1e9);
    dync_tensor *y = dync_transpose(dync_matmul(dync_softmax(w, -1), split(v)), 0, 1);
    return dync_reshape(y, dync_shape(dync_dim(q, 0), D));
}
static dync_tensor *logits(dync_tensor *x, dync_tensor *y)
{
    return dync_forward_call(head, dync_add(x, y));
}

/* ---- a cache that grows ---------------------------------------------------------------------- */
static dync_value grow(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_forward_call(embed, dync_as_tensor(a[0])), *h = dync_forward_call(qkv, x);
    dync_tensor *k = dync_cat(dync_tuple(a[1], part(h, 1)), 0),
                *v = dync_cat(dync_tuple(a[2], part(h, 2)), 0);
    (void)n, (void)user;
    return dync_tuple(logits(x, attend(part(h, 0), k, v, NULL)), k, v);
}

/* rows of cache to begin with; tokens made */
static void decode(living *p, int rows, int tokens, bool marked)
{
    make_model();
    dync_compiled *f = dync_compile((dync_function)grow, .fullgraph = true);
    dync_tensor *k = dync_retain(dync_randn(dync_shape(rows, D))),
                *v = dync_retain(dync_randn(dync_shape(rows, D)));
    double token = 3;
    DYNC_NO_GRAD for (int t = 0; t < tokens; t++) DYNC_SCOPE {
        dync_tensor *id = dync_to_dtype(dync_full(dync_shape(1), token), DYNC_I64);
        if (marked) dync_mark_dynamic(k, 0), dync_mark_dynamic(v, 0);
        dync_value args[3] = {DYNC_V(id), DYNC_V(k), DYNC_V(v)};
        dync_value r = p->compiled ? dync_call_values(f, 3, args) : grow(args, 3, NULL);
        dync_tensor *out = dync_as_tensor(dync_at(r, 0));
        note_tensor(p, out);
        token = dync_item(dync_argmax(dync_select(out, 0, 0), 0, false));
        note(p, token);
        dync_release(k), dync_release(v);
        k = dync_retain(dync_as_tensor(dync_at(r, 1)));
        v = dync_retain(dync_as_tensor(dync_at(r, 2)));
        if (t == 2) settled(p);
    }
    note_tensor(p, k);
    dync_release(k), dync_release(v);
    dync_compiled_free(f);
    free_model();
}
static void grows(living *p) { decode(p, 5, 60, false); }
static void grows_from_one(living *p) { decode(p, 1, 40, false); }
static void grows_marked(living *p) { decode(p, 4, 60, true); }
TEST(a_cache_that_grows) { lives(grows, 2, 2, 1e-5); }
TEST(a_cache_that_grows_from_one_row) { lives(grows_from_one, 2, 2, 1e-5); }
TEST(a_marked_cache_that_grows) { lives(grows_marked, 1, 1, 1e-5); }

/* ---- a ring ---------------------------------------------------------------------------------- */
/* The place is a tensor: one graph for all places. What was not written yet is masked. */
static dync_value ring_step(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_forward_call(embed, dync_as_tensor(a[0])), *h = dync_forward_call(qkv, x),
                *k = dync_as_tensor(a[1]), *v = dync_as_tensor(a[2]), *t = dync_as_tensor(a[3]);
    dync_tensor *at = dync_expand(dync_remainder(t, RING), dync_shape(1, D));
    dync_scatter_(k, 0, at, part(h, 1));
    dync_scatter_(v, 0, at, part(h, 2));
    dync_tensor *unwritten = dync_gt(dync_arange(0, RING, 1), t);
    (void)n, (void)user;
    return dync_v_tensor(logits(x, attend(part(h, 0), k, v, unwritten)));
}
static void ring(living *p)
{
    make_model();
    dync_compiled *f = dync_compile((dync_function)ring_step, .fullgraph = true);
    dync_tensor *k = dync_zeros(dync_shape(RING, D)), *v = dync_zeros(dync_shape(RING, D));
    DYNC_NO_GRAD for (int i = 0; i < 3 * RING; i++) DYNC_SCOPE {
        dync_tensor *id = dync_to_dtype(dync_full(dync_shape(1), (i * 7) % VOCAB), DYNC_I64),
                    *t = dync_to_dtype(dync_full(dync_shape(1), i), DYNC_I64);
        dync_value args[4] = {DYNC_V(id), DYNC_V(k), DYNC_V(v), DYNC_V(t)};
        dync_value r = p->compiled ? dync_call_values(f, 4, args) : ring_step(args, 4, NULL);
        note_tensor(p, dync_as_tensor(r));
        note_tensor(p, k);
        if (i == 0) settled(p);
    }
    dync_compiled_free(f);
    free_model();
}
TEST(a_ring_of_keys_and_values) { lives(ring, 1, 1, 1e-5); }

/* ---- chat ------------------------------------------------------------------------------------ */
/* A prompt of any length, then one token at a time, with one function. */
static dync_value turn(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_forward_call(embed, dync_as_tensor(a[0])), *h = dync_forward_call(qkv, x);
    dync_tensor *k = dync_cat(dync_tuple(a[1], part(h, 1)), 0),
                *v = dync_cat(dync_tuple(a[2], part(h, 2)), 0);
    (void)n, (void)user;
    dync_tensor *y = logits(x, attend(part(h, 0), k, v, NULL));
    return dync_tuple(dync_slice(y, 0, -1, DYNC_END, 1), k, v);
}
static void chat(living *p)
{
    make_model();
    dync_compiled *f = dync_compile((dync_function)turn, .fullgraph = true);
    dync_tensor *k = dync_retain(dync_randn(dync_shape(2, D))),
                *v = dync_retain(dync_randn(dync_shape(2, D)));
    unsigned state = 12345;
    double token = 1;
    DYNC_NO_GRAD for (int t = 0; t < 60; t++) DYNC_SCOPE {
        state = state * 1103515245u + 12345u;
        int length = t % 6 == 0 ? 2 + (int)(state >> 16) % 9 : 1; /* a prompt, or a token */
        dync_tensor *id = dync_to_dtype(dync_full(dync_shape(length), token), DYNC_I64);
        dync_value args[3] = {DYNC_V(id), DYNC_V(k), DYNC_V(v)};
        dync_value r = p->compiled ? dync_call_values(f, 3, args) : turn(args, 3, NULL);
        dync_tensor *out = dync_as_tensor(dync_at(r, 0));
        note_tensor(p, out);
        token = dync_item(dync_argmax(dync_select(out, 0, 0), 0, false));
        dync_release(k), dync_release(v);
        k = dync_retain(dync_as_tensor(dync_at(r, 1)));
        v = dync_retain(dync_as_tensor(dync_at(r, 2)));
        if (t == 12) settled(p);
    }
    dync_release(k), dync_release(v);
    dync_compiled_free(f);
    free_model();
}
/* prompts, tokens; each with the first length and with any */
TEST(prompts_of_random_length) { lives(chat, 3, 3, 1e-5); }

/* ---- beams ----------------------------------------------------------------------------------- */
enum { BEAMS = 4 };
/* Scores of all that may follow, sorted; the best take the places of the others, with their
 * caches [BEAMS, rows, D]. */
static dync_value beam_step(const dync_value *a, int n, void *user)
{
    dync_tensor *ids = dync_as_tensor(a[0]), *score = dync_as_tensor(a[1]),
                *cache = dync_as_tensor(a[2]);
    (void)n, (void)user;
    dync_tensor *x = dync_forward_call(embed, ids), *h = dync_forward_call(qkv, x),
                *q = dync_unsqueeze(part(h, 0), 1),
                *all = dync_cat(dync_tuple(cache, dync_unsqueeze(part(h, 1), 1)), 1);
    dync_tensor *w = dync_softmax(dync_matmul(q, dync_transpose(all, 1, 2)), -1),
                *y = dync_squeeze(dync_matmul(w, all), 1);
    dync_tensor *next = dync_add(dync_log_softmax(logits(x, y), -1), dync_unsqueeze(score, 1));
    dync_value sorted = dync_sort(dync_reshape(next, dync_shape(BEAMS * VOCAB)), 0, true);
    dync_tensor *best = dync_slice(dync_as_tensor(dync_at(sorted, 0)), 0, 0, BEAMS, 1),
                *at = dync_slice(dync_as_tensor(dync_at(sorted, 1)), 0, 0, BEAMS, 1);
    return dync_tuple(dync_remainder(at, VOCAB), best,
                      dync_index_select(all, 0, dync_floor_divide(at, VOCAB)));
}
static void beams(living *p)
{
    make_model();
    dync_compiled *f = dync_compile((dync_function)beam_step, .fullgraph = true);
    dync_value state[3];
    dync_tensor *keep[3] = {dync_to_dtype(dync_arange(0, BEAMS, 1), DYNC_I64),
                            dync_mul(dync_to_dtype(dync_arange(0, BEAMS, 1), DYNC_F32), -0.5),
                            dync_randn(dync_shape(BEAMS, 3, D))};
    for (int i = 0; i < 3; i++) dync_retain(keep[i]);
    DYNC_NO_GRAD for (int t = 0; t < 30; t++) DYNC_SCOPE {
        for (int i = 0; i < 3; i++) state[i] = DYNC_V(keep[i]);
        dync_value r = p->compiled ? dync_call_values(f, 3, state) : beam_step(state, 3, NULL);
        for (int i = 0; i < 3; i++) {
            dync_release(keep[i]);
            keep[i] = dync_retain(dync_as_tensor(dync_at(r, i)));
            note_tensor(p, keep[i]);
        }
        if (t == 1) settled(p);
    }
    for (int i = 0; i < 3; i++) dync_release(keep[i]);
    dync_compiled_free(f);
    free_model();
}
TEST(beams_that_are_sorted) { lives(beams, 2, 2, 1e-4); }

TEST_MAIN
