/* Functions of the matrix exported (as they are, and after a file) and captured as graphs of each
 * kind, run on those inputs and on others: the numbers of the plain call. Structure is not asked:
 * a program has no history, and its results are its own. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "matrix/matrix.h"
#include "matrix/inputs.h"
#include "matrix/compare.h"

static matrix_record want, got;
static dync_program *program;
static dync_graph *graph;
static int64_t compared, refused;

static const matrix_reason without[] = {
    {"gradients_with_graph", "gradients of an argument are not part of a program", false},
    {"gradients_inside", "gradients of an argument are not part of a program", false},
    {"backward_then_grad_taken", "the gradient of an argument is not part of a program", false},
    {"step_inside", "the gradient of an argument is not part of a program", false},
    {"input_made_leaf", "whether an argument requires grad is not part of a program", false},
    {"input_grad_on", "whether an argument requires grad is not part of a program", false},
    {"input_grad_off", "whether an argument requires grad is not part of a program", false},
    {"mode_and_leaf_asked", "whether an argument is a leaf is not part of a program", false},
};
/* Compared where nothing requires grad: names that contain this. */
static const matrix_reason forward_only[] = {
    {"hook", "hooks are not part of a program", false},
    {"own_", "a backward of one's own is not part of a program", false},
    {"without_grad", "no_grad is not part of a program", false},
    {"mode_pushed", "no_grad is not part of a program", false},
    {"leaf_inside", "leaves made inside are not part of a program", false},
};
enum { FORWARD_ONLY = sizeof forward_only / sizeof *forward_only };
static bool only_forward(const char *name)
{
    for (int i = 0; i < FORWARD_ONLY; i++)
        if (strstr(name, forward_only[i].function)) return true;
    return false;
}

static dync_value run_program(const dync_value *a, int n, void *user)
{
    (void)user;
    return dync_program_run(program, n, a);
}
static dync_value run_graph(const dync_value *a, int n, void *user)
{
    (void)user;
    return dync_graph_run(graph, a, n);
}
static void through_file(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/dync_test_matrix_%d.dync", (int)getpid());
    dync_status status = dync_program_save(program, path);
    dync_program_free(program);
    program = status == DYNC_OK ? dync_program_load(path) : NULL;
    remove(path);
}

typedef enum { EXPORTED, FROM_FILE, REAL, FAKE, SYMBOLIC, WAYS } way;
static const char *const way_names[] = {"exported", "from a file", "graph, real", "graph, fake",
                                        "graph, symbolic"};

static void make(const matrix_function *f, const matrix_kind *kind, way w)
{
    dync_scope scope = dync_scope_begin();
    matrix_inputs in;
    matrix_make(&in, kind, 1);
    dync_value a[3] = {DYNC_V(in.arg[0]), DYNC_V(in.arg[1]), DYNC_V(in.arg[2])};
    program = NULL;
    graph = NULL;
    if (w <= FROM_FILE) {
        program = dync_export_values(dync_fnv(f->call), f->name, 3, a);
        if (program && w == FROM_FILE) through_file();
    } else {
        dync_make_graph_mode((dync_trace_mode)(w - REAL));
        graph = dync_make_graph_values(dync_fnv(f->call), f->name, 3, a);
        if (graph) dync_graph_retain(graph);
    }
    dync_set_grad_enabled(true);
    dync_scope_end(&scope);
}
static void cell(const matrix_function *f, const matrix_kind *kind, way w)
{
    matrix_call(&want, f, kind, 1, NULL);
    if (want.failed) return;
    if ((only_forward(f->name) || kind->no_grad) && strstr(want.text, " grad")) return;
    make(f, kind, w);
    if (!program && !graph) {
        EXPECT(dync_error() != DYNC_OK);
        refused++;
        dync_clear_error();
        return;
    }
    EXPECT_OK(dync_error());
    matrix_function through = *f;
    through.call = program ? run_program : run_graph;
    for (int seed = 1; seed < 4; seed += 2) {
        matrix_call(&want, f, kind, seed, NULL);
        matrix_call(&got, &through, kind, seed, NULL);
        compared++;
        if (strstr(got.error, "is part of a larger tensor") && ++refused) break;
        if (want.failed == got.failed && (want.failed || close_numbers(&want, &got))) continue;
        if (test__fail(__FILE__, __LINE__, f->name))
            matrix_tell("differs", f->name, kind->name, way_names[w], &want, &got);
        break;
    }
    dync_program_free(program);
    dync_graph_free(graph);
}
static const char *why_not(const char *name)
{
    const matrix_reason *r =
        matrix_reason_of(without, (int)(sizeof without / sizeof *without), name);
    if (!r) r = matrix_reason_of(matrix_refused, MATRIX_REFUSED, name);
    return r ? r->reason : NULL;
}
static void finished(void)
{
    printf("  %lld runs compared, %lld refused with an error\n", (long long)compared,
           (long long)refused);
    for (int i = 0; i < matrix.n; i++) {
        const char *reason = why_not(matrix_at(i)->name);
        if (reason) printf("  left out: %s: %s\n", matrix_at(i)->name, reason);
    }
    for (int i = 0; i < FORWARD_ONLY; i++)
        printf("  without gradients: *%s*: %s\n", forward_only[i].function, forward_only[i].reason);
}
static void each(int kinds)
{
    dync_on_error(quiet, NULL);
    for (int i = 0; i < matrix.n; i++) {
        const matrix_function *f = matrix_at(i);
        for (int k = 0; k < kinds && !why_not(f->name); k++) {
            const matrix_kind *kind =
                &matrix_kinds[kinds < MATRIX_KINDS ? test_random_int(0, MATRIX_KINDS - 1) : k];
            if (kinds < MATRIX_KINDS)
                cell(f, kind, (way)test_random_int(0, WAYS - 1));
            else
                for (int w = 0; w < WAYS; w++) cell(f, kind, (way)w);
        }
        if (i % 8 == 7) dync_reset();
    }
    finished();
}
TEST(drawn) { each(2); }
TEST_LONG(whole) { each(MATRIX_KINDS); }
TEST_MAIN
