/* Random public calls from several threads, each within its thread rule: what is `any` on objects
 * that all share, what is `not while running` on objects of the thread's own. Results are checked;
 * the thread sanitizer is the judge of the rest. SOAK=N for longer. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"
#include "tol.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 4, STEPS = 60, ROWS = 300, NAMES = 24 };
static int32_t wrong;

/* What all threads share. */
static dync_tensor *data, *leaf, *fresh, *many;
static dync_compiled *compiled, *of_module, *sized, *controlled, *trained;
static dync_module *module;
static dync_program *program, *sized_program;
static dync_graph *graph;
static dync_list *list;
static dync_tensor *left_here;

static void check_at(bool good, int line)
{
    if (good) return;
    __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    printf("  line %d\n", line);
}
#define check(good) check_at(good, __LINE__)

/* Of the thread. */
static _Thread_local uint64_t state;
static int any_int(int low, int high)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (int)((state >> 33) % (uint64_t)(high - low + 1));
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static dync_tensor *twice(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *branches(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_add(dync_tanh(x), y);
    return dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 0)) ? dync_mul(z, 2) : dync_sub(z, y);
}

static dync_tensor *wide(dync_tensor *x)
{
    return dync_softmax(dync_mul(dync_sin(x), dync_sum(x, dync_shape(0), true)), -1);
}
static dync_tensor *controls(dync_tensor *x)
{
    return dync_as_tensor(dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0), twice, dync_sin, x));
}
static dync_tensor *trains(dync_tensor *x, dync_tensor *w) { return dync_mul(dync_sin(x), w); }

/* ---- steps ----------------------------------------------------------------------------------- */
static void shared_call(void)
{
    dync_tensor *x = dync_randn(dync_shape(any_int(3, 6), 4)), *y = dync_randn(dync_shape(1, 4));
    dync_tensor *got = dync_call(compiled, x, y), *want = branches(x, y);
    check(got && want && dync_allclose(got, want, 1e-5, 1e-5));
}
static void shared_leaf(void)
{
    check(dync_backward(dync_sum(dync_mul(leaf, data), DYNC_ALL, false)) == DYNC_OK);
}
static void first_backward(void)
{
    check(dync_backward(dync_sum(dync_mul(fresh, data), DYNC_ALL, false)) == DYNC_OK);
}
static void shared_gradients(void)
{
    dync_value g = dync_gradients(DYNC_V(dync_sum(dync_mul(leaf, leaf), DYNC_ALL, false)),
                                  DYNC_V(leaf), DYNC_NONE, (dync_grad_options){0});
    check(dync_len(g) == 1 &&
          dync_allclose(dync_as_tensor(dync_at(g, 0)), dync_detach(dync_mul(leaf, 2)), 1e-5, 1e-5));
}
static void shared_module(void)
{
    dync_tensor *y = dync_forward_call(module, data);
    check(y && dync_size(y, 1) == 3 && dync_module_param(module, "weight") &&
          !dync_module_is_training(module));
    dync_tensor *z = dync_call(of_module, data);
    check(y && z && dync_allclose(y, z, 1e-4, 1e-5));
}
static void shared_program(void)
{
    dync_value arg = DYNC_V(data), r = dync_program_run(program, 1, &arg);
    check(r.kind == DYNC_KIND_TENSOR && dync_equal(dync_as_tensor(r), dync_mul(data, 2)));
}
static void shared_graph(void)
{
    dync_value arg = DYNC_V(data), r = dync_graph_run(graph, &arg, 1);
    check(r.kind == DYNC_KIND_TENSOR && dync_graph_len(graph) == 3 &&
          dync_node_name(dync_graph_node(graph, 1)) && *dync_graph_str(graph));
    dync_graph_free(dync_graph_retain(graph));
    dync_node *in[2];
    check(dync_node_inputs(dync_graph_node(graph, 1), in, 2) >= 1 && *dync_graph_readable(graph) &&
          dync_graph_dot(graph));
}
static void shared_list(void)
{
    check(dync_len(dync_v_list(list)) == 2 && dync_as_int(dync_at(dync_v_list(list), 1)) == 3);
}
static void own_compiled(void)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_compiled *f = dync_compile(twice, .backend = backends[any_int(0, 2)]);
    dync_tensor *x = dync_randn(dync_shape(any_int(1, 5)));
    check(dync_equal(dync_call(f, x), dync_mul(x, 2)));
    dync_compiled_free(f);
    dync_on_error(quiet, NULL);
    /* a freed one is an error in any thread */
    check(dync_call(f, x) == NULL && dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
}
static void own_module(void)
{
    dync_module *m = dync_sequential(dync_nn_linear(4, 2, true), dync_nn_relu());
    dync_optim *o = dync_sgd(m, .lr = 0.1);
    dync_backward(dync_sum(dync_forward_call(m, data), DYNC_ALL, false));
    check(dync_optim_step(o) == DYNC_OK);
    dync_optim_zero_grad(o);
    dync_optim_free(o);
    dync_module_free(m);
}
static void own_graph(void)
{
    dync_graph *g = dync_make_graph(twice, data);
    check(g && dync_graph_len(g) == 3);
    dync_program *p = dync_export(twice, data);
    dync_value arg = DYNC_V(data);
    check(p && dync_program_run(p, 1, &arg).kind == DYNC_KIND_TENSOR);
    dync_program_free(p);
}
static void own_cell(void)
{
    dync_cell *c = dync_cell_new("n", DYNC_V(1));
    dync_cell_set(c, DYNC_V(5));
    check(dync_as_int(dync_cell_get(c)) == 5);
    dync_cell_free(c);
}
static dync_tensor *halved(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 0.5);
}
static void own_hooks(void)
{
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true);
    int id = dync_register_hook(x, halved, NULL);
    dync_backward(dync_sum(dync_mul(x, 4), DYNC_ALL, false));
    check(id >= 0 && dync_item(dync_sum(dync_grad(x), DYNC_ALL, false)) == 6);
    dync_remove_hook(x, id);
}
static void own_captured_backward(void)
{
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true);
    DYNC_COMPILED_AUTOGRAD("eager")
    {
        check(dync_backward(dync_sum(dync_mul(x, x), DYNC_ALL, false)) == DYNC_OK);
    }
    check(dync_grad(x) && dync_item(dync_sum(dync_grad(x), DYNC_ALL, false)) == 6);
}
/* Loops of many parts, while others change how many threads there are. */
static void large_loops(void)
{
    dync_tensor *y = dync_exp(dync_mul(many, 0.5));
    check(fabs(dync_item(dync_mean(y, DYNC_ALL, false)) - exp(0.5)) < 1e-4);
}
static void settings(void)
{
    static const char *const threads[] = {"1", "2", "3", "0"}, *const budgets[] = {"0.5", "1"};
    dync_config_set("threads", threads[any_int(0, 3)]);
    dync_config_set("activation_memory_budget", budgets[any_int(0, 1)]);
    dync_config_set("repro_tolerance", any_int(0, 1) ? "0.01" : "0.001");
    dync_set_log("");
    dync_set_lint(false);
    dync_set_verify(false);
}
static void questions(void)
{
    const char *names[32];
    dync_counters c = dync_get_counters();
    dync_memory m = dync_memory_stats();
    check(c.graphs >= 0 && m.live_bytes > 0 && dync_list_backends(NULL, names, 32) > 5 &&
          dync_lookup_backend("eager"));
    dync_profile_start();
    dync_add(data, 1);
    dync_profile_stop();
    dync_profile_event_info e;
    (void)dync_profile_event(0, &e);
}
/* One program and one function of open sizes, with other sizes each time. */
static void shared_sizes(void)
{
    dync_tensor *x = dync_randn(dync_shape(any_int(2, 40), 4)), *want = dync_mul(x, 2);
    dync_value arg = DYNC_V(x), r = dync_program_run(sized_program, 1, &arg);
    check(r.kind == DYNC_KIND_TENSOR && dync_equal(dync_as_tensor(r), want));
    x = dync_randn(dync_shape(any_int(2, 9), any_int(2, 9)));
    dync_tensor *got = dync_call(sized, x), *plain = wide(x);
    check(got && plain && dync_allclose(got, plain, 1e-5, 1e-5));
}
/* Its branches are traced and compiled when they first come, in whichever thread that is. */
static void shared_control(void)
{
    dync_tensor *x = dync_randn(dync_shape(any_int(2, 4), 3)), *y = dync_call(controlled, x);
    bool more = dync_item(dync_sum(x, DYNC_ALL, false)) > 0;
    check(y && dync_allclose(y, more ? twice(x) : dync_sin(x), 1e-5, 1e-5));
}
/* Forward and backward of one function, to leaves of the thread's own and to one of all. */
static void shared_training(void)
{
    dync_tensor *x = dync_parameter(dync_randn(dync_shape(3, 4)));
    dync_tensor *y = dync_call(trained, x, leaf);
    check(y && dync_backward(dync_sum(y, DYNC_ALL, false)) == DYNC_OK);
    dync_tensor *g = dync_mul(dync_detach(leaf), dync_cos(dync_detach(x)));
    check(dync_grad(x) && dync_allclose(dync_grad(x), g, 1e-4, 1e-5));
}
static dync_value square_forward(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    (void)nargs;
    dync_save_for_backward(ctx, args[0].as.t);
    return DYNC_V(dync_mul(args[0].as.t, args[0].as.t));
}
static dync_value square_backward(dync_autograd_ctx *ctx, const dync_value *grads, int n)
{
    (void)n;
    return DYNC_V(dync_mul(dync_mul(grads[0].as.t, dync_saved(ctx, 0)), 2));
}
static const dync_autograd_function square = {
    .name = "Square", .forward = square_forward, .backward = square_backward};
static dync_tensor *squares(dync_tensor *x) { return dync_as_tensor(dync_apply(&square, x)); }
static void own_function(void)
{
    dync_tensor *x = dync_parameter(dync_randn(dync_shape(4)));
    dync_compiled *f = dync_compile(squares);
    dync_backward(dync_sum(any_int(0, 1) ? dync_call(f, x) : squares(x), DYNC_ALL, false));
    check(dync_grad(x) && dync_allclose(dync_grad(x), dync_mul(dync_detach(x), 2), 1e-5, 1e-5));
    dync_compiled_free(f);
}
/* Names that are new, and one that all threads want. */
static dync_value thrice(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(dync_mul(args[0], 3));
}
static dync_status compile_graph(dync_graph *g, const dync_value *inputs, int n,
                                 const char *options, dync_callable *out, void *user)
{
    (void)options, (void)user;
    return dync_compile_graph("eager", g, inputs, n, out);
}
static void registers(void)
{
    static int32_t last;
    char name[40];
    int n = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    if (n > NAMES) return;
    dync_on_error(quiet, NULL);
    snprintf(name, sizeof name, "stress::thrice_%d", n);
    check(dync_op_register(name, "(Tensor x) -> Tensor", thrice, NULL, NULL) == DYNC_OK);
    dync_value x = DYNC_V(data), r = dync_op_call_values(name, 1, &x);
    check(r.kind == DYNC_KIND_TENSOR && dync_equal(dync_as_tensor(r), dync_mul(data, 3)));
    snprintf(name, sizeof name, "stress_%d", n);
    check(dync_register_backend(&(dync_backend){.name = name, .compile = compile_graph}) ==
          DYNC_OK);
    dync_compiled *f = dync_compile(twice, .backend = name);
    check(dync_equal(dync_call(f, data), dync_mul(data, 2)));
    dync_compiled_free(f);
    dync_register_backend(&(dync_backend){.name = "stress", .compile = compile_graph});
    dync_clear_error();
}
/* Files of the thread's own. */
static void own_files(void)
{
    static int32_t last;
    char path[60], text[100];
    int n = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    snprintf(path, sizeof path, "/tmp/dync_stress_%d", (int)getpid());
    dync_tensors *put = dync_tensors_new(), *got;
    snprintf(text, sizeof text, "%s_%d.safetensors", path, n);
    check(dync_tensors_put(put, "w", data) == DYNC_OK && dync_tensors_save(put, text) == DYNC_OK);
    check((got = dync_tensors_load(text)) && dync_equal(dync_tensors_get(got, "w"), data));
    dync_tensors_free(put);
    dync_tensors_free(got);
    remove(text);
    snprintf(text, sizeof text, "%s_%d.dync", path, n);
    check(dync_program_save(any_int(0, 1) ? program : sized_program, text) == DYNC_OK);
    dync_program *p = dync_program_load(text);
    dync_value arg = DYNC_V(data), r = dync_program_run(p, 1, &arg);
    check(r.kind == DYNC_KIND_TENSOR && dync_equal(dync_as_tensor(r), dync_mul(data, 2)));
    dync_program_free(p);
    remove(text);
    snprintf(text, sizeof text, "%s_%d.onnx", path, n);
    check(dync_program_save_onnx(program, text) == DYNC_OK);
    check((p = dync_program_load_onnx(text)) != NULL);
    r = dync_program_run(p, 1, &arg);
    r = r.kind == DYNC_KIND_LIST ? dync_at(r, 0) : r;
    check(r.kind == DYNC_KIND_TENSOR && dync_equal(dync_as_tensor(r), dync_mul(data, 2)));
    dync_program_free(p);
    remove(text);
}
/* What one thread made another one frees. */
static void handed_on(void)
{
    dync_tensor *mine = dync_retain(dync_mul(data, 2));
    dync_tensor *other = __atomic_exchange_n(&left_here, mine, __ATOMIC_ACQ_REL);
    check(!other || dync_equal(other, dync_mul(data, 2)));
    if (other) dync_release(other);
}
/* A thread that begins and ends meanwhile, with state of its own. */
static void *brief_life(void *user)
{
    (void)user;
    DYNC_SCOPE {
        dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = true);
        dync_register_hook(x, halved, NULL);
        check(dync_backward(dync_sum(dync_call(compiled, x, x), DYNC_ALL, false)) == DYNC_OK);
    }
    return NULL;
}
static void short_lives(void)
{
    pthread_t t;
    check(pthread_create(&t, NULL, brief_life, NULL) == 0);
    pthread_join(t, NULL);
}
static void explains(void)
{
    dync_explain_output e = dync_explain(branches, data, data);
    check(e.graph_count >= 1 && *dync_explain_str(&e));
    check(dync_compiled_info(compiled).hits >= 0);
    dync_value g = dync_gradients(DYNC_V(dync_sum(dync_mul(leaf, leaf), DYNC_ALL, false)),
                                  DYNC_V(leaf), DYNC_NONE,
                                  (dync_grad_options){.create_graph = true});
    check(dync_len(g) == 1 && dync_requires_grad(dync_as_tensor(dync_at(g, 0))));
}
static void nothing(void *user) { (void)user; }
static void callbacks(void)
{
    int id = dync_on_compile_start(nothing, NULL);
    check(id >= 0);
    dync_remove_callback(id);
    dync_manual_seed((uint64_t)any_int(0, 100));
    check(dync_op_call_values("add", 2, (dync_value[]){DYNC_V(data), DYNC_V(1)}).kind ==
          DYNC_KIND_TENSOR);
}

static void (*const steps[])(void) = {shared_call,      shared_leaf,    first_backward,
                                      shared_gradients, shared_module,  shared_program,
                                      shared_graph,     shared_list,    own_compiled,
                                      own_module,       own_graph,      own_cell,
                                      own_hooks,        large_loops,    settings,
                                      questions,        callbacks,      own_captured_backward,
                                      shared_sizes,     shared_control, shared_training,
                                      own_function,     registers,      own_files,
                                      handed_on,        short_lives,    explains};
enum { KINDS = sizeof steps / sizeof steps[0] };

typedef struct worker {
    pthread_t thread;
    uint64_t seed;
    int order[STEPS * 64];
    int n;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    state = w->seed;
    for (int i = 0; i < w->n; i++) DYNC_SCOPE {
        steps[w->order[i]]();
        if (dync_error() != DYNC_OK) printf("  step %d: %s\n", w->order[i], dync_error_message());
        check(dync_error() == DYNC_OK);
        dync_clear_error();
    }
    return NULL;
}

static void begin(void)
{
    data = dync_randn(dync_shape(3, 4));
    many = dync_ones(dync_shape(ROWS, 1000));
    leaf = dync_parameter(dync_ones(dync_shape(3, 4)));
    module = dync_nn_linear(4, 3, true);
    dync_module_train(module, false);
    of_module = dync_compile(module);
    compiled = dync_compile(branches);
    program = dync_export(twice, data);
    dync_tensor *marked = dync_randn(dync_shape(5, 4));
    dync_mark_dynamic(marked, 0);
    sized_program = dync_export(twice, marked);
    sized = dync_compile(wide, .dynamic = DYNC_DYNAMIC_ON);
    controlled = dync_compile(controls);
    trained = dync_compile(trains);
    graph = dync_make_graph(twice, data);
    list = dync_tuple(data, 3).as.l;
    REQUIRE(of_module && compiled && program && graph && list);
    REQUIRE(sized_program && sized && controlled && trained);
}

TEST(random_calls_within_their_rules)
{
    static worker w[THREADS];
    begin();
    int n = test_count(STEPS);
    if (n > STEPS * 64) n = STEPS * 64;
    for (int round = 0; round < 3; round++) {
        /* nobody has walked back to it yet */
        fresh = dync_ones(dync_shape(3, 4), .requires_grad = true);
        for (int i = 0; i < THREADS; i++) {
            w[i].n = n;
            w[i].seed = test_random();
            for (int k = 0; k < n; k++) w[i].order[k] = k == 0 ? 2 : test_random_int(0, KINDS - 1);
        }
        for (int i = 0; i < THREADS; i++)
            REQUIRE(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
        for (int i = 0; i < THREADS; i++) pthread_join(w[i].thread, NULL);
    }
    EXPECT_EQ_INT(wrong, 0);
    dync_release(left_here);
    left_here = NULL;
    dync_config_set("threads", "0");
    dync_config_set("activation_memory_budget", "1");
    dync_config_set("repro_tolerance", "0.001");
}
/* Of threads that register one name at once, one succeeds, and the others are told so. */
enum { NAMES_AT_ONCE = 60 };
static int32_t arrived;
static int32_t taken[3][NAMES_AT_ONCE];
static dync_value like_x(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(dync_empty_like(args[0].as.t));
}
static void *register_all(void *arg)
{
    (void)arg;
    dync_on_error(quiet, NULL);
    for (int i = 0; i < 3 * NAMES_AT_ONCE; i++) {
        char name[40];
        int kind = i % 3;
        snprintf(name, sizeof name, "once%sname_%d_%d", kind ? "::" : "_", kind, i / 3);
        __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < THREADS * (i + 1)) sched_yield();
        dync_status s = kind == 0 ? dync_register_backend(
                                        &(dync_backend){.name = name, .compile = compile_graph})
                                  : dync_op_register(name, "(Tensor x) -> Tensor", thrice,
                                                     kind == 1 ? like_x : NULL, NULL);
        if (s == DYNC_OK) __atomic_add_fetch(&taken[kind][i / 3], 1, __ATOMIC_RELAXED);
        check(s == DYNC_OK || strstr(dync_error_message(), "duplicate name"));
        dync_clear_error();
    }
    return NULL;
}
TEST(one_thread_gets_a_name)
{
    pthread_t t[THREADS];
    memset(taken, 0, sizeof taken);
    wrong = 0;
    arrived = 0;
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&t[i], NULL, register_all, NULL) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < NAMES_AT_ONCE; i++)
            if (!EXPECT_EQ_INT(taken[kind][i], 1)) printf("  kind %d, name %d\n", kind, i);
    EXPECT_EQ_INT(wrong, 0);
}
TEST_MAIN
