/* C files of programs in which data decide sizes: written, compiled without warnings as C99, C11
 * and C++, run under sanitizers on many inputs; each value and count is the plain function's. */
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "exported.h"
#include "data_cases.h"

enum { CALLS = 8 };

enum { ROWS_MOST = 12 };
/* A program of the folder: its name, also in capitals, the type of its results, and how many counts
 * a call is told. */
typedef struct exported {
    char name[32], upper[32];
    function fn;
    unsigned seed;
    bool changing, fails; /* fails: a call says whether it went well */
    const char *type;
    int n_told;
} exported;

static void put_input(FILE *f, const exported *e, int call, dync_tensor *x)
{
    dync_tensor *flat = dync_reshape(x, dync_shape(-1));
    fprintf(f, "static const float %s_%d[] = {", e->name, call);
    for (int64_t i = 0; i < dync_numel(flat); i++)
        fprintf(f, "%s(float)%.9g", i ? ", " : "",
                (double)((const float *)dync_data(flat))[i] + 0.0);
    fprintf(f, "};\n");
}
static void put_call(FILE *f, const exported *e, int call, int rows, int64_t numel)
{
    fprintf(f, "    {\n        static %s out[%s_OUT_SIZE + (%s_OUT_SIZE == 0)];\n", e->type,
            e->upper, e->upper);
    fprintf(f, "        int told[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, rc = 0;\n        %s%s_run(",
            e->fails ? "rc = " : "", e->name);
    if (e->changing) fprintf(f, "%d, ", rows);
    fprintf(f, "(const float (*)[3])%s_%d, (void *)out", e->name, call);
    for (int i = 0; i < e->n_told; i++) fprintf(f, ", &told[%d]", i);
    fprintf(f, ");\n        printf(\"%%d %%d\\n\", rc, told[0]);\n");
    fprintf(f,
            "        for (int i = 0; i < %d; i++) printf(\"%%.9g\\n\", (double)out[i]);\n    }\n",
            (int)numel);
}
static int count_told(exported *e)
{
    char file[48], line[4096], head[48];
    int n = 0;
    snprintf(file, sizeof file, "%s.h", e->name);
    snprintf(head, sizeof head, "int %s_run(", e->name);
    FILE *f = open_file(file, "r");
    while (f && fgets(line, sizeof line, f)) {
        e->fails = e->fails || strncmp(line, head, strlen(head)) == 0;
        for (char *at = strstr(line, head); at && (at = strstr(at + 4, "int *")) != NULL;) n++;
    }
    if (f) fclose(f);
    return n;
}

/* 1: written; 0: refused, which is said */
static int write_program(exported *e)
{
    random_seed = e->seed;
    dync_tensor *x = dync_randn(dync_shape(5, 3));
    if (e->changing) dync_mark_dynamic_range(x, 0, 2, ROWS_MOST);
    dync_value arg = DYNC_V(x);
    dync_program *p = dync_export_values(DYNC_FN(e->fn), e->name, 1, &arg);
    char path[512];
    snprintf(path, sizeof path, "%s/%s.c", folder, e->name);
    bool ok = EXPECT(p != NULL) && dync_program_save_c(p, path) == DYNC_OK;
    dync_program_free(p);
    for (int i = 0; e->name[i] || i == 0; i++) {
        char c = e->name[i];
        e->upper[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        e->upper[i + 1] = 0;
    }
    if (ok) e->n_told = count_told(e);
    return ok;
}

static dync_tensor *call_input(const exported *e, int k)
{
    return input(k, e->changing ? 2 + k % (ROWS_MOST - 1) : 5);
}

static void write_driver(const exported *e, int n, dync_tensor *const *x)
{
    FILE *f = open_file("main.c", "w");
    fprintf(f, "#include <stdio.h>\n#include <stdint.h>\n");
    for (int i = 0; i < n; i++) fprintf(f, "#include \"%s.h\"\n", e[i].name);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < CALLS; k++) put_input(f, &e[i], k, x[i * CALLS + k]);
    fprintf(f, "int main(void)\n{\n");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < CALLS; k++) {
            random_seed = e[i].seed;
            dync_tensor *want = e[i].fn(x[i * CALLS + k]);
            put_call(f, &e[i], k, (int)dync_size(x[i * CALLS + k], 0), dync_numel(want));
        }
    fprintf(f, "    return 0;\n}\n");
    fclose(f);
}

/* The values that the driver printed; NaN as NaN. */
static void compare_call(const exported *e, int call, dync_tensor *x, FILE *f)
{
    random_seed = e->seed;
    dync_tensor *want = dync_to_dtype(dync_contiguous(e->fn(x)), DYNC_F64);
    const double *w = dync_data(want);
    int rc = -1, told = -2;
    bool same = fscanf(f, "%d %d", &rc, &told) == 2 && rc == 0;
    for (int64_t i = 0; i < dync_numel(want); i++) {
        double got = 0;
        bool read = fscanf(f, "%lf", &got) == 1;
        double off = got > w[i] ? got - w[i] : w[i] - got, size = w[i] < 0 ? -w[i] : w[i];
        same = same && read && ((got != got && w[i] != w[i]) || off <= 1e-5 + 1e-4 * size);
    }
    /* a result of one dimension, which is a count */
    if (e->n_told == 1 && strcmp(e->name, "places") == 0)
        same = same && told == (int)dync_size(want, 0);
    if (!EXPECT(same)) printf("    %s, seed %u, call %d: rc %d\n", e->name, e->seed, call, rc);
}

static void judge(exported *e, int n)
{
    dync_tensor **x = calloc((size_t)(n * CALLS), sizeof *x);
    for (int i = 0; i < n * CALLS; i++) x[i] = call_input(&e[i / CALLS], i % CALLS);
    write_driver(e, n, x);
    const char *flags[] = {"-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all",
                           "-std=c11 -O2"};
    for (int way = 0; way < 2; way++) {
        if (!EXPECT(compile_and_run(flags[way], "out.txt"))) continue;
        FILE *f = open_file("out.txt", "r");
        for (int i = 0; i < n * CALLS; i++) compare_call(&e[i / CALLS], i % CALLS, x[i], f);
        fclose(f);
    }
    EXPECT(in_folder(
        "for f in [!m]*.c; do c++ -x c++ -Wall -Wextra -Werror -c $f -o x.o || exit 1; done"));
    free(x);
}

static void all_cases(bool changing)
{
    exported e[N_CASES];
    int n = 0;
    open_folder("data_cases");
    for (int i = 0; i < N_CASES; i++) {
        e[n] = (exported){.fn = cases[i].fn, .changing = changing, .type = "float"};
        snprintf(e[n].name, sizeof e[n].name, "%s", cases[i].name);
        if (cases[i].fn == places) e[n].type = "int64_t";
        if (EXPECT(write_program(&e[n]))) n++;
        EXPECT_OK(dync_error());
        dync_clear_error();
    }
    judge(e, n);
    close_folder();
}
TEST(cases_of_one_size) { all_cases(false); }
TEST(cases_of_all_sizes) { all_cases(true); }

/* ---- what a call gives ----------------------------------------------------------------------- */

static void write_one(function fn, const char *name, bool step)
{
    dync_tensor *x = dync_mul(dync_ones(dync_shape(5, 3)), -1.0);
    dync_fill_(dync_select(dync_select(x, 0, 0), 0, 0), 1.0);
    if (!step) dync_mark_dynamic_range(x, 0, 2, ROWS_MOST);
    dync_value arg = DYNC_V(x);
    dync_program *p = step ? dync_export_step_values(DYNC_FN(fn), name, 1, &arg)
                           : dync_export_values(DYNC_FN(fn), name, 1, &arg);
    save(p, name);
    dync_program_free(p);
}

static dync_tensor *at_most_four(dync_tensor *x)
{
    dync_value n = dync_item_sym(count(x));
    dync_check(n, 0, 4);
    return dync_add(x, dync_full(dync_shape(1), n));
}
static dync_tensor *greatest(dync_tensor *x)
{
    return dync_max(dync_masked_select(x, positive(x)));
}
static dync_tensor *both(dync_tensor *x)
{
    dync_tensor *a = dync_masked_select(x, positive(x)),
                *b = dync_masked_select(x, dync_lt(x, -1.0));
    return dync_max(dync_cat(dync_tuple(a, b), 0));
}
static dync_tensor *sizes_divided(dync_tensor *x)
{
    dync_tensor *v = dync_unique(x);
    return dync_div(total(v), dync_size_sym(v, 0));
}

/* A check that fails has a code of its own; what is not computed of nothing, 2. */
TEST(codes)
{
    open_folder("data_codes");
    write_one(at_most_four, "few", false);
    write_one(greatest, "greatest", false);
    write_one(both, "both", false);
    write_one(sizes_divided, "sizes_divided", false);
    FILE *f = open_file("main.c", "w");
    fprintf(f, "#include \"few.h\"\n#include \"greatest.h\"\n#include \"both.h\"\n"
               "int few_self_test(void);\n"
               "int main(void)\n{\n    float v[2][3] = {{1, 1, -1}, {1, 1, -1}}, out[36], y[1];\n"
               "    const float (*x)[3] = (const float (*)[3])v;\n"
               "    if (few_run(2, x, (void *)out) != 0 || out[0] != 5) return 1;\n"
               "    if (few_run(1, x, (void *)out) != 1) return 2;\n"
               "    if (greatest_run(2, x, y) != 0 || y[0] != 1) return 3;\n"
               "    if (both_run(2, x, y) != 0 || y[0] != 1) return 4;\n"
               "    for (int i = 0; i < 2; i++) v[i][2] = 1;\n"
               "    if (few_run(2, x, (void *)out) != 3) return 5;\n"
               "    for (int i = 0; i < 6; i++) v[i / 3][i %% 3] = -1;\n"
               "    if (greatest_run(2, x, y) != 2) return 6;\n"
               "    if (both_run(2, x, y) != 2) return 7;\n"
               "    for (int i = 0; i < 6; i++) v[i / 3][i %% 3] = -3;\n"
               "    if (both_run(2, x, y) != 0 || y[0] != -3) return 8;\n"
               "    return few_self_test();\n}\n");
    fclose(f);
    EXPECT(compile_and_run("-std=c99 -O1 -DFEW_SELF_TEST -fsanitize=address,undefined", "out.txt"));
    EXPECT(in_folder("grep -q '3: dync_check at test_data_exported.c:[0-9]*: from 0 to 4' few.h"));
    close_folder();
}

/* A step that learns of the rows that its data select. */
static dync_tensor *learned;
static dync_tensor *step_of_rows(dync_tensor *x)
{
    dync_tensor *at = places_where(dync_lt(dync_select(x, 1, 0), 0.5));
    dync_tensor *loss =
        dync_mean(dync_square(dync_matmul(dync_index_select(x, 0, at), learned)), DYNC_ALL, false);
    dync_backward(loss);
    DYNC_NO_GRAD {
        dync_sub_(learned, dync_mul(dync_grad(learned), 0.1));
    }
    dync_set_grad(learned, NULL);
    return dync_detach(loss);
}
TEST(steps)
{
    open_folder("data_steps");
    learned = dync_requires_grad_(dync_randn(dync_shape(3, 2)), true);
    write_one(step_of_rows, "rows", true);
    EXPECT(in_folder("$cc -DROWS_MAIN -std=c99 -O1 -fsanitize=address,undefined rows.c -lm -o run "
                     "&& ./run"));
    close_folder();
}

/* A float that is read has no history: the step's gradients are those of plain steps. */
static dync_tensor *step_by_a_mean(dync_tensor *x)
{
    dync_value m = dync_item_sym(dync_mean(dync_mul(learned, learned), DYNC_ALL, false));
    dync_tensor *loss = total(dync_mul(dync_tanh(dync_matmul(x, learned)), m));
    dync_backward(loss);
    DYNC_NO_GRAD {
        dync_sub_(learned, dync_mul(dync_grad(learned), 0.1));
    }
    dync_set_grad(learned, NULL);
    return dync_detach(loss);
}
TEST(a_step_that_reads_a_float)
{
    open_folder("data_step_float");
    learned = dync_requires_grad_(dync_randn(dync_shape(3, 2)), true);
    write_one(step_by_a_mean, "by_mean", true);
    FILE *f = open_file("main.c", "w");
    fprintf(f, "#include \"by_mean.h\"\n#include <math.h>\nint main(void)\n{\n    float x[5][3] = "
               "{{0}}, loss[1];\n    x[0][0] = 2;\n    x[3][1] = -1;\n");
    dync_tensor *x = dync_zeros(dync_shape(5, 3));
    dync_fill_(dync_select(dync_select(x, 0, 0), 0, 0), 2.0);
    dync_fill_(dync_select(dync_select(x, 0, 3), 0, 1), -1.0);
    for (int i = 0; i < 3; i++)
        fprintf(f,
                "    by_mean_step((const float (*)[3])x, loss);\n"
                "    if (!(fabs(loss[0] - %.9g) < 1e-5)) return %d;\n",
                dync_item(step_by_a_mean(x)), i + 1);
    fprintf(f, "    return 0;\n}\n");
    fclose(f);
    EXPECT(in_folder("$cc -std=c99 -O1 -fsanitize=address,undefined *.c -lm -o run && ./run"));
    close_folder();
}

/* Once refused no call but in C: of none, unique gives none, whatever else is none. */
TEST(a_random_program_of_before)
{
    exported e = {.fn = random_program,
                  .name = "before",
                  .changing = true,
                  .type = "float",
                  .seed = 4272019476u};
    open_folder("data_before");
    if (EXPECT(write_program(&e))) judge(&e, 1);
    close_folder();
}

TEST(random_programs)
{
    enum { PROGRAMS = 8 };
    exported e[PROGRAMS];
    int n = 0;
    dync_on_error(NULL, NULL);
    open_folder("data_random");
    for (int i = 0; i < PROGRAMS; i++) {
        e[n] = (exported){.fn = random_program,
                          .changing = i % 2,
                          .type = "float",
                          .seed = (unsigned)test_random()};
        snprintf(e[n].name, sizeof e[n].name, "random%d", i);
        if (write_program(&e[n]))
            n++;
        else
            printf("    seed %u: %s\n", e[n].seed, dync_error_message());
        dync_clear_error();
    }
    EXPECT(n > PROGRAMS / 2);
    judge(e, n);
    close_folder();
}
TEST_MAIN
