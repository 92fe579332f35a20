/* tests/unit/test_ops.c: every operator against what PyTorch gave: values, dtypes, shapes,
 * strides, refusals; type promotion.
 *
 * tests/ops/samples.c holds a line per sample, tests/oracle/ops.py says what a line means. A row
 * of the table without a sample fails here. Each sample runs three times: the second time its
 * plan comes out of the cache, or, of a composite, is made of all its operators
 * (op/eager_whole.c), which ran one by one the first time; the third time it is found. */
#include "sample_lines.h"
#include "../ops/samples.c"
#include "every_operator.h"

/* ---- running one sample ---------------------------------------------------------------------- */

/* Sums of many products in another order, or rounded elsewhere: held to the greatest number. */
static bool sums(const char *name)
{
    return strncmp(name, "fft_", 4) == 0 || strcmp(name, "stft") == 0 ||
           strcmp(name, "upsample_bicubic2d") == 0;
}

/* Of a build with DYNC_NO_F64 (make switches): no tensor of that type can be made; an operator that
 * would give one of others is refused. */
static bool takes_f64(const char *line)
{
    const char *at = strstr(line, ":f64:");
    return DYNC__F64_NONE && at && at < strrchr(line, '|');
}
static bool gives_f64(const char *line)
{
    return DYNC__F64_NONE && strstr(strrchr(line, '|'), "f64:");
}

/* fail_at 0: compares with what is expected; else the nth allocation fails and nothing but the
 * status counts. */
static int run_sample(const char *line, int fail_at, dync_status *got)
{
    parser p = {.at = line};
    dync__arg args[DYNC__MAX_ARGS];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL};
    char name[64] = "";
    int n = 0;
    size_t length = strcspn(line, "|");
    memcpy(name, line, length);
    name[length] = 0;
    p.at += length + 1;
    p.spread = sums(name);
    int op = dync__op_find(name);
    if (op < 0) {
        test__fail(__FILE__, __LINE__, line);
        return -1;
    }
    *got = DYNC_OK;
    if (takes_f64(line)) return op;
    while (*p.at != '|') {
        args[n++] = read_arg(&p);
        take(&p, ";");
    }
    p.at++;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__mem_fail_at(fail_at);
    dync_status status = (dync__op_run)(op, n, args, out);
    dync__mem_fail_at(0);
    const dync__error_slot *error = dync__error_guard_end(&guard);
    *got = status;
    if (fail_at) {
        if (status != DYNC_OK && (status != DYNC_ERR_MEMORY || error->status != DYNC_ERR_MEMORY))
            complain(line, fail_at, error->message, status, DYNC_ERR_MEMORY);
    } else if (*p.at == '!') {
        if (status == DYNC_OK)
            complain(line, 0, "accepted what PyTorch refuses", 0, 1);
        else if (status == DYNC_ERR_INTERNAL)
            complain(line, 0, error->message, status, 0);
        else if (error->status == DYNC_OK)
            complain(line, 0, "refused without an error", status, 0);
    } else if (gives_f64(line)) {
        if (error->status != DYNC_ERR_UNSUPPORTED || status == DYNC_OK ||
            !strstr(error->message, "DYNC_NO_F64"))
            complain(line, 0, error->message, error->status, DYNC_ERR_UNSUPPORTED);
    } else if (status != DYNC_OK) {
        complain(line, 0, error->message, status, 0);
    } else {
        for (int i = 0; i < dync__op_info(op)->nout; i++) {
            if (out[i]) compare(&p, line, name, i, out[i]);
            p.at += strcspn(p.at, ";");
            take(&p, ";");
        }
    }
    for (int i = 0; i < DYNC__MAX_OUT && status == DYNC_OK; i++) dync__unref(out[i]);
    for (int i = 0; i < p.n_made; i++) dync__unref(p.made[i]);
    return op;
}

static bool sampled[DYNC__N_OPS];

TEST(samples_agree_with_pytorch)
{
    for (int i = 0; i < DYNC__COUNT_OF(ops_samples); i++) {
        for (int round = 0; round < 3; round++) {
            dync_status status;
            int op = run_sample(ops_samples[i], 0, &status);
            if (op >= 0) sampled[op] = true;
        }
    }
    /* needs a function of the user's: tests/aot/test_rows_a2.c */
    sampled[DYNC__OP_custom_gradient] = true;
    /* a hook of his, and no tensors: tests/capture/test_hooked.c, test_data.c */
    sampled[DYNC__OP__hooked] = sampled[DYNC__OP__check_range] = true;
    for (int op = 0; op < DYNC__N_OPS; op++)
        if (!sampled[op] && !(dync__op_info(op)->flags & DYNC__OP_OPAQUE))
            test__fail(__FILE__, __LINE__, dync__op_info(op)->name);
}

/* Each allocation of each operator fails once: the call says so, and nothing is left behind. What a
 * composite calls has its own turn, so that its plans are kept. */
static void memory_runs_out(int every)
{
    int last = -1;
    for (int i = 0; i < DYNC__COUNT_OF(ops_samples); i++) {
        dync_status status;
        const char *line = ops_samples[i];
        if (strchr(line, '!') || takes_f64(line) || gives_f64(line)) continue;
        int op = run_sample(ops_samples[i], 0, &status);
        if (op == last) continue;
        last = op;
        if (op % every != (int)(test__state.seed % (unsigned)every)) continue;
        dync__op_state *s = dync__tls.op_state;
        /* a cache that cannot grow is no failure */
        for (int nth = 1, good = 0; good < 3; nth += test_every()) {
            if (s && dync__op_info(op)->cls != DYNC__COMPOSITE) dync__eager_forget(s);
            int64_t live = dync__live_tensors();
            run_sample(ops_samples[i], nth, &status);
            if (!EXPECT_EQ_INT(dync__live_tensors(), live))
                test__fail(__FILE__, __LINE__, ops_samples[i]);
            good = status == DYNC_OK ? good + 1 : 0;
        }
    }
}
#ifndef TEST_EMULATED
TEST(memory_may_run_out_anywhere) { memory_runs_out(1); }
#endif

/* ---- the table itself ------------------------------------------------------------------------ */

TEST(rows_are_complete)
{
    for (int op = 0; op < DYNC__N_OPS; op++) {
        const dync__op_row *r = dync__op_info(op);
        EXPECT(r->name && r->schema && r->fx);
        EXPECT_EQ_INT(dync__op_find(r->name), op);
        EXPECT((r->nout >= 0 || dync__row_is_control(r)) && r->nout <= DYNC__MAX_OUT);
        EXPECT(r->infer || (r->flags & DYNC__OP_DATA_SHAPE));
        EXPECT(dync__op_can_lower(op) || r->decompose);
        if (r->cls == DYNC__POINTWISE) EXPECT(r->expr != NULL);
        if (r->cls == DYNC__INPLACE && r->inplace_of < 0) EXPECT(r->decompose != NULL);
    }
    EXPECT_EQ_INT(dync__op_find("no_such_operator"), -1);
    EXPECT_EQ_INT(dync__op_find(NULL), -1);
}

static int dtype_named(int i)
{
    for (int k = 0; k < PROMOTION_DTYPES; k++)
        if (strcmp(dync__dtype_info(k)->fx, promotion_names[i]) == 0) return k;
    return -1;
}

static int promoted(dync__arg a, dync__arg b)
{
    dync__arg args[2] = {a, b};
    dync__opcall call = {
        .row = dync__op_info(DYNC__OP_add), .op = DYNC__OP_add, .nargs = 2, .args = args};
    return dync__op_common_dtype(&call);
}

TEST(promotion_agrees_with_pytorch)
{
    for (int a = 0; a < 10; a++) {
        for (int whole_a = 0; whole_a < 2; whole_a++) {
            dync__tensor x = {.dtype = (uint8_t)dtype_named(a),
                              .lay = {.ndim = 1 - whole_a, .shape = {2}, .stride = {1}}};
            dync__arg numbers[3] = {dync__arg_b(true), dync__arg_i(1), dync__arg_f(1.5)};
            for (int b = 0; b < 10; b++) {
                for (int whole_b = 0; whole_b < 2; whole_b++) {
                    dync__tensor y = {.dtype = (uint8_t)dtype_named(b),
                                      .lay = {.ndim = 1 - whole_b, .shape = {2}, .stride = {1}}};
                    EXPECT_EQ_INT(promoted(dync__arg_t(&x), dync__arg_t(&y)),
                                  dtype_named(promotion_tensors[whole_a][whole_b][a][b]));
                }
            }
            for (int k = 0; k < 3; k++) {
                EXPECT_EQ_INT(promoted(dync__arg_t(&x), numbers[k]),
                              dtype_named(promotion_numbers[whole_a][a][k]));
                EXPECT_EQ_INT(promoted(numbers[k], dync__arg_t(&x)),
                              dtype_named(promotion_numbers[whole_a][a][k]));
            }
        }
    }
}

/* ---- fake and META tensors, the handler stack ------------------------------------------------ */

TEST(fake_tensors_get_what_real_ones_would)
{
    dync__layout lay;
    int64_t shape[2] = {2, 3};
    dync__tensor *out = NULL;
    EXPECT_OK(dync__layout_contiguous(&lay, 2, shape));
    for (int device = 0; device < 2; device++) {
        dync__tensor *x = dync__tensor_fake(DYNC_F32, device ? DYNC_META : DYNC_CPU, &lay);
        dync__arg args[3] = {dync__arg_t(x), dync__arg_i(2), dync__arg_none()};
        EXPECT_OK(dync__op_run(DYNC__OP_add, 2, args, &out));
        EXPECT(out && (out->flags & DYNC__T_FAKE) && out->lay.shape[1] == 3);
        dync__unref(out);
        EXPECT_OK(dync__op_run(DYNC__OP_t, 1, args, &out));
        EXPECT(out && out->storage == x->storage && out->lay.shape[0] == 3);
        dync__unref(out);
        uint32_t version = x->storage->version;
        EXPECT_OK(dync__op_run(DYNC__OP_add_, 2, args, &out));
        EXPECT(out == x && x->storage->version == version + 1);
        dync__unref(out);
        dync__arg linear[3] = {dync__arg_t(x), dync__arg_t(x), dync__arg_none()};
        EXPECT_OK(dync__op_run(DYNC__OP_linear, 3, linear, &out));
        EXPECT(out && out->lay.shape[0] == 2 && out->lay.shape[1] == 2);
        dync__unref(out);
        dync__unref(x);
    }
}

static int heard;
static dync_status listen(dync__handler *self, dync__opcall *call)
{
    heard++;
    return dync__dispatch_below(self, call);
}

TEST(handlers_are_asked_from_the_top)
{
    dync__handler a = {.call = listen}, b = {.call = listen};
    dync_tensor *x = dync_ones(dync_shape(2));
    heard = 0;
    dync__handler_push(&a);
    dync__handler_push(&b);
    EXPECT(dync_add(x, 1) != NULL);
    EXPECT_EQ_INT(heard, 2);
    dync__handler *top = dync__handler_swap(NULL);
    EXPECT(dync_add(x, 1) != NULL);
    EXPECT_EQ_INT(heard, 2);
    EXPECT(dync__handler_swap(top) == NULL);
    dync__handler_pop(&b);
    dync__handler_pop(&a);
    EXPECT(dync__tls.handler == NULL);
    dync__handler bottom = {.call = listen};
    EXPECT(dync__bottom_swap(&bottom) == NULL);
    EXPECT(dync__bottom_swap(NULL) == &bottom);
}

TEST(numbers_do_not_make_plans)
{
    dync_tensor *x = dync_ones(dync_shape(4));
    (void)dync_mul(x, 0.5);
    int64_t before = dync__mem_read_stats().mallocs;
    for (int i = 0; i < 50; i++) DYNC_SCOPE {
        EXPECT_NEAR(dync_item(dync_select(dync_mul(x, (double)i), 0, 1)), i, TOL_EXACT);
    }
    EXPECT(dync__mem_read_stats().mallocs - before < 50);
}
TEST_MAIN
