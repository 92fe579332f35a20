/* A backend of about 150 lines over the public graph: products go to BLAS (OpenBLAS, found at run
 * time), all other nodes to the library's operators by name. An MLP, forward and training, gives
 * what plain calls give, and each product is one call of BLAS. */
#include "dync.h"
#include <dlfcn.h>
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha,
                         const float *a, int lda, const float *b, int ldb, float beta, float *c,
                         int ldc);
static sgemm_fn sgemm;
static int products;

static bool find_blas(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", "libblas.so.3"};
    for (int i = 0; i < 3 && !sgemm; i++) {
        void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL),
             *at = lib ? dlsym(lib, "cblas_sgemm") : NULL;
        if (at) memcpy(&sgemm, &at, sizeof sgemm); /* POSIX: a function's address fits */
    }
    return sgemm != NULL;
}
#define NO_BLAS "no libopenblas.so.0 (Debian: libopenblas-dev)"

/* ---- products -------------------------------------------------------------------------------- */
/* Rows or columns lie one behind the other: false, or transposed and the leading dimension. */
static bool as_matrix(dync_tensor *t, int *transposed, int *ld)
{
    if (!t || dync_type(t) != DYNC_F32 || dync_ndim(t) != 2) return false;
    int64_t m = dync_size(t, 0), n = dync_size(t, 1), r = dync_stride(t, 0), c = dync_stride(t, 1);
    bool rows = c == 1 && r >= n, columns = r == 1 && c >= m;
    *transposed = rows ? 111 : 112;
    *ld = (int)(rows ? r : c);
    return (rows || columns) && *ld > 0;
}

/* a @ b, onto `onto` where given (a row, or a matrix of that shape); NULL: not for BLAS. */
static dync_tensor *product(dync_tensor *a, dync_tensor *b, dync_tensor *onto)
{
    int ta, tb, lda, ldb;
    if (!as_matrix(a, &ta, &lda) || !as_matrix(b, &tb, &ldb)) return NULL;
    dync_dims shape = dync_shape(dync_size(a, 0), dync_size(b, 1));
    dync_tensor *c = dync_empty(shape);
    if (onto) dync_copy_(c, dync_expand(onto, shape));
    if (!c || !dync_data(c)) return NULL;
    sgemm(101, ta, tb, (int)shape.d[0], (int)shape.d[1], (int)dync_size(a, 1), 1.0f, dync_data(a),
          lda, dync_data(b), ldb, onto ? 1.0f : 0.0f, dync_data(c), (int)shape.d[1]);
    products++;
    return c;
}

static dync_tensor *by_blas(const char *op, int n, const dync_value *v)
{
    bool two = strcmp(op, "matmul") == 0 || strcmp(op, "mm") == 0;
    if (two && n >= 2) return product(dync_as_tensor(v[0]), dync_as_tensor(v[1]), NULL);
    if (strcmp(op, "linear") == 0 && v[2].kind == DYNC_KIND_TENSOR)
        return product(dync_as_tensor(v[0]), dync_transpose(dync_as_tensor(v[1]), 0, 1),
                       dync_as_tensor(v[2]));
    if (strcmp(op, "addmm") == 0)
        return product(dync_as_tensor(v[1]), dync_as_tensor(v[2]), dync_as_tensor(v[0]));
    return NULL;
}

/* ---- a graph, node by node ------------------------------------------------------------------- */
typedef struct {
    dync_graph *g;
    dync_value *value; /* of each node */
    int n;
} machine;

static dync_value looked_up(const machine *m, dync_value v)
{
    if (v.kind == DYNC_KIND_NODE)
        for (int i = 0; i < m->n; i++)
            if (dync_graph_node(m->g, i) == v.as.n) return m->value[i];
    if (v.kind != DYNC_KIND_LIST) return v;
    dync_value items[64];
    int n = dync_len(v);
    for (int i = 0; i < n && i < 64; i++) items[i] = looked_up(m, dync_at(v, i));
    return dync_tuple_of(n, items);
}

static dync_value call(const machine *m, dync_node *node)
{
    dync_value v[16];
    int n = dync_node_nargs(node);
    for (int i = 0; i < n; i++) v[i] = looked_up(m, dync_node_arg(node, i));
    const char *op = dync_node_target(node);
    if (strcmp(op, "getitem") == 0) return dync_at(v[0], (int)dync_as_int(v[1]));
    dync_tensor *c = by_blas(op, n, v);
    return c ? dync_v_tensor(c) : dync_op_call_values(op, n, v);
}

static dync_value run(void *state, const dync_value *args, int nargs)
{
    machine *m = state;
    dync_value result = DYNC_NONE;
    for (int i = 0; i < m->n; i++) {
        dync_node *node = dync_graph_node(m->g, i);
        const char *op = dync_node_op(node);
        if (strcmp(op, "output") == 0)
            result = looked_up(m, dync_node_arg(node, 0));
        else if (i < nargs)
            m->value[i] = args[i];
        else if (strcmp(op, "get_attr") == 0)
            m->value[i] = DYNC_V(dync_node_value(node));
        else
            m->value[i] = call(m, node);
    }
    return result;
}

static void destroy(void *state)
{
    machine *m = state;
    dync_graph_free(m->g);
    free(m->value);
    free(m);
}

static dync_status compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                           dync_callable *out, void *user)
{
    machine *m = malloc(sizeof *m);
    (void)ex, (void)n, (void)options, (void)user;
    if (!m) return DYNC_ERR_MEMORY;
    *m = (machine){.g = dync_graph_retain(g), .n = dync_graph_len(g)};
    m->value = calloc((size_t)m->n, sizeof *m->value);
    if (!m->value) return destroy(m), DYNC_ERR_MEMORY;
    *out = (dync_callable){.run = run, .destroy = destroy, .state = m};
    return DYNC_OK;
}

/* ---- the tests ------------------------------------------------------------------------------- */
static dync_module *mlp(void)
{
    dync_manual_seed(5);
    return dync_sequential(dync_nn_linear(20, 32, true), dync_nn_relu(),
                           dync_nn_linear(32, 16, true), dync_nn_tanh(),
                           dync_nn_linear(16, 4, true));
}
static dync_value loss(const dync_value *v, int n, void *user)
{
    (void)n;
    return dync_v_tensor(
        dync_mse_loss(dync_forward_call(user, dync_as_tensor(v[0])), dync_as_tensor(v[1])));
}

TEST(an_mlp_runs_through_blas)
{
    if (!find_blas()) SKIP(NO_BLAS);
    dync_backend blas = {.name = "blas", .compile = compile};
    dync_module *net = mlp();
    dync_module_train(net, false);
    dync_compiled *f = dync_compile(net, .backend_object = &blas, .fullgraph = true);
    for (int rows = 1; rows < 20; rows += 6) DYNC_SCOPE
        DYNC_NO_GRAD
        {
            dync_tensor *x = dync_randn(dync_shape(rows, 20)), *want = dync_forward_call(net, x);
            products = 0;
            EXPECT(dync_allclose(dync_call(f, x), want, 1e-5, 1e-5));
            EXPECT_EQ_INT(products, 3);
        }
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
}

TEST(an_mlp_is_trained_through_blas)
{
    if (!find_blas()) SKIP(NO_BLAS);
    dync_backend blas = {.name = "blas", .compile = compile};
    dync_backend aot = dync_aot_autograd(&blas, NULL);
    dync_module *net = mlp(), *plain = mlp();
    dync_optim *sgd = dync_sgd(net, .lr = 0.05), *sgd2 = dync_sgd(plain, .lr = 0.05);
    dync_compiled *f = dync_compile(loss, .backend_object = &aot, .fullgraph = true, .user = net);
    double first = 0, last = 0;
    dync_tensor *x = dync_randn(dync_shape(8, 20)), *y = dync_slice(dync_sin(x), 1, 0, 4, 1);
    for (int step = 0; step < 30; step++) DYNC_SCOPE {
        dync_value v[2] = {DYNC_V(x), DYNC_V(y)};
        products = 0;
        dync_tensor *got = dync_call(f, x, y), *want = dync_as_tensor(loss(v, 2, plain));
        dync_optim_zero_grad(sgd), dync_optim_zero_grad(sgd2);
        EXPECT_OK(dync_backward(got));
        EXPECT_EQ_INT(products, 3 + 3 + 2); /* forward; weights; inputs but the first */
        EXPECT_OK(dync_backward(want));
        dync_optim_step(sgd), dync_optim_step(sgd2);
        EXPECT_NEAR(dync_item(got), dync_item(want), 1e-4);
        last = dync_item(got);
        if (step == 0) first = last;
    }
    EXPECT(last < first);
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
}

TEST_MAIN
