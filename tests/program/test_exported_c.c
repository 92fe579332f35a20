/* Programs as C source (dync_program_save_c), compiled by the compiler at hand and run: symbolic
 * sizes, every one of them from one function; control flow; random programs; the interface. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "sized.h"
#include "../random/control.h"
#include "exported.h"

/* ---- symbolic sizes -------------------------------------------------------------------------- */

static dync_tensor *fused(dync_tensor *x)
{
    dync_tensor *q = dync_reshape(x, dync_shape(1, 1, dync_dim(x, 0), 8));
    return dync_scaled_dot_product_attention(q, q, q, NULL, 0.0, true, NULL);
}
static dync_tensor *tail(dync_tensor *x) { return dync_slice(x, 0, 1, DYNC_END, 1); }
static dync_tensor *convolved(dync_tensor *x)
{
    dync_tensor *y = dync_reshape(x, dync_shape(1, 1, dync_dim(x, 0), 8));
    y = dync_conv2d(y, kernel, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
    return dync_max_pool2d(dync_relu(y), dync_shape(2, 2), dync_shape(1, 1), dync_shape(0, 0),
                           dync_shape(1, 1), false);
}
static dync_tensor *summed(dync_tensor *x)
{
    return dync_add(dync_sum(x, dync_shape(0), false),
                    dync_to_dtype(dync_argmax(dync_t(x), 1, false), DYNC_F32));
}
static dync_tensor *positions(dync_tensor *x)
{
    dync_tensor *at = dync_arange(0, dync_as_real(dync_size_sym(x, 0)), 1);
    return dync_mul(x, dync_reshape(at, dync_shape(-1, 1)));
}
static dync_tensor *twice(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *less(dync_tensor *x) { return dync_sub(x, 1); }
static dync_tensor *chosen(dync_tensor *x)
{
    return dync_as_tensor(
        dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0), twice, less, dync_tuple(x)));
}
static dync_value one_step(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *h = dync_tanh(dync_add(dync_mul(a[0], 0.5), a[1]));
    return dync_tuple(h, dync_mul(h, 2));
}
static dync_tensor *recurrent(dync_tensor *x)
{
    dync_value r = dync_scan(one_step, dync_zeros(dync_shape(8)), x);
    return dync_add(dync_as_tensor(dync_at(r, 1)), dync_as_tensor(dync_at(r, 0)));
}

typedef dync_tensor *(*row_fn)(dync_tensor *);
#define R(x) {#x, x}
static const struct {
    const char *name;
    row_fn fn;
} rows[] = {R(mlp),       R(norm),   R(attend),    R(fused),  R(moved),    R(tail),
            R(convolved), R(summed), R(positions), R(chosen), R(recurrent)};
enum { ROWS = sizeof rows / sizeof rows[0], LEAST = 3, MOST = 20, OUT = 4096 };

static dync_tensor *input(int n)
{
    float x[MOST * 8];
    for (int i = 0; i < n * 8; i++) x[i] = (float)((i * 7 + n) % 11 - 5) / 4;
    return dync_from(x, dync_shape(n, 8));
}

/* A main that prints what each function gives for each size, and what it answers to others. */
static void write_sizes_main(void)
{
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include <stdio.h>\n#include <stdint.h>\n");
    for (int r = 0; r < ROWS; r++) fprintf(f, "#include \"%s.h\"\n", rows[r].name);
    fprintf(f, "static float x[%d][8], out[%d];\nint main(void)\n{\n", MOST, OUT);
    fprintf(f, "    for (int n = %d; n <= %d; n++) {\n", LEAST, MOST);
    fprintf(f, "        for (int i = 0; i < n * 8; i++) x[i / 8][i %% 8] = (float)((i * 7 + n) %% "
               "11 - 5) / 4;\n");
    for (int r = 0; r < ROWS; r++)
        fprintf(
            f,
            "        for (int i = 0; i < %d; i++) out[i] = 77;\n"
            "        if (%s_run(n, (const float (*)[8])x, (void *)out)) printf(\"refused\\n\");\n"
            "        for (int i = 0; i < %d; i++) printf(\"%%a \", (double)out[i]);\n"
            "        printf(\"\\n\");\n",
            OUT, rows[r].name, OUT);
    fprintf(f, "    }\n");
    for (int r = 0; r < ROWS; r++)
        fprintf(f,
                "    if (!%s_run(%d, (const float (*)[8])x, (void *)out) || !%s_run(%d, (const "
                "float (*)[8])x, (void *)out)) return 2;\n",
                rows[r].name, LEAST - 1, rows[r].name, MOST + 1);
    fprintf(f, "    return 0;\n}\n");
    fclose(f);
}

static bool check_sizes(void)
{
    bool all = true;
    char path[256];
    snprintf(path, sizeof path, "%s/out.txt", folder);
    FILE *f = fopen(path, "r");
    if (!EXPECT(f != NULL)) return false;
    for (int n = LEAST; n <= MOST; n++)
        for (int r = 0; r < ROWS; r++) DYNC_SCOPE {
            dync_tensor *want = rows[r].fn(input(n));
            int64_t numel = dync_numel(want);
            const float *at = dync_data(dync_contiguous(want));
            int bad = 0;
            for (int i = 0; i < OUT; i++) {
                float got = -1;
                bad += fscanf(f, "%f", &got) != 1;
                float off = got - (i < numel ? at[i] : 77), size = i < numel ? at[i] : 0;
                bad += !(off * off <=
                         (float)(TOL_F32_CHAIN * TOL_F32_CHAIN) * (1 + size * size) * 100);
            }
            if (bad) printf("    %s of %d rows: %d values\n", rows[r].name, n, bad);
            all = EXPECT_EQ_INT(bad, 0) && all;
        }
    fclose(f);
    return all;
}

static void check_all_sizes(int n_flags)
{
    static const char checked[] = "-std=c99 -O1 -fsanitize=address,undefined "
                                  "-fno-sanitize-recover=all";
    static const char *const flags[] = {checked, "-std=c99 -O0", "-std=c11 -O3"};
    bool ok = true;
    weights();
    open_folder("exported");
    for (int r = 0; r < ROWS; r++) {
        dync_tensor *x = input(7);
        dync_mark_dynamic_range(x, 0, LEAST, MOST);
        dync_value arg = DYNC_V(x);
        dync_program *p = dync_export_values(DYNC_FN(rows[r].fn), rows[r].name, 1, &arg);
        REQUIRE(p != NULL);
        if (!save(p, rows[r].name)) printf("    %s\n", rows[r].name), ok = false;
        dync_program_free(p);
    }
    if (ok) write_sizes_main();
    for (int i = 0; i < n_flags && ok; i++) {
        ok = EXPECT(compile_and_run(flags[i], "out.txt"));
        if (ok) ok = check_sizes();
    }
    if (ok) close_folder();
}

TEST(one_function_for_all_sizes) { check_all_sizes(1); }
TEST_LONG(one_function_for_all_sizes_optimised) { check_all_sizes(3); }

/* ---- random programs of control flow --------------------------------------------------------- */

TEST(random_control_flow)
{
    enum { COUNT = 5 };
    char name[32];
    open_folder("exported");
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include <stdio.h>\n");
    int n = 0;
    for (int i = 0; i < COUNT; i++) {
        random_seed = test__state.seed * 1000 + (uint64_t)i;
        dync_value in = random_inputs(0), args[8];
        for (int k = 0; k < dync_len(in); k++) args[k] = dync_at(in, k);
        snprintf(name, sizeof name, "random%d", i);
        dync_program *p = dync_export_values(DYNC_FN(random_fn), name, dync_len(in), args);
        REQUIRE(p != NULL);
        if (save(p, name)) fprintf(f, "#include \"%s.h\"\n", name), n++;
        dync_program_free(p);
    }
    fprintf(f, "int main(void)\n{\n    int bad = 0;\n");
    for (int i = 0; i < n; i++) fprintf(f, "    bad += random%d_self_test();\n", i);
    fprintf(f, "    return bad != 0;\n}\n");
    fclose(f);
    char defines[1024] = "-std=c99 -O1";
    for (int i = 0; i < n; i++)
        snprintf(defines + strlen(defines), sizeof defines - strlen(defines),
                 " -DRANDOM%d_SELF_TEST", i);
    if (EXPECT(compile_and_run(defines, "out.txt"))) close_folder();
}

/* ---- the interface --------------------------------------------------------------------------- */

static dync_tensor *named(dync_tensor *x, dync_tensor *unused, dync_tensor *b)
{
    (void)unused;
    return dync_add(dync_matmul(x, w1), b);
}

/* Arrays as a person writes them, in the order and by the names of the arguments, in C and C++; two
 * arenas at once. */
TEST(interface)
{
    w1 = dync_ones(dync_shape(3, 2));
    open_folder("exported");
    dync_program *p = dync_export(dync_args(named, "int, unused, Bias"),
                                  dync_ones(dync_shape(2, 3)), dync_ones(dync_shape(4)),
                                  dync_ones(dync_shape(2)));
    REQUIRE(p && save(p, "named"));
    dync_program_free(p);
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f,
            "#include \"named.h\"\n#include \"named.h\"\n"
            "static const float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, u[4] = {0}, b[2] = {10, 20};\n"
            "int main(void)\n{\n    float y[2][2], z[2][2];\n    static named_arena one, two;\n"
            "    named_run(x, u, b, y);\n    named_run_in(&one, x, u, b, z);\n"
            "    named_run_in(&two, x, u, b, z);\n"
            "    return !(y[0][0] == 16 && y[1][1] == 35 && z[1][0] == 25 && NAMED_INT__SIZE == 6 "
            "&& NAMED_BIAS_SIZE == 2 && NAMED_WEIGHT_BYTES == 24) || named_self_test();\n}\n");
    fclose(f);
    bool ran = EXPECT(compile_and_run("-std=c99 -O1 -DNAMED_SELF_TEST", "out.txt"));
    bool cxx = system("c++ --version > /dev/null 2>&1") == 0;
    if (cxx) ran = ran && EXPECT(compile_and_run("-x c++ -O1 -DNAMED_SELF_TEST", "out.txt"));
    if (!cxx) printf("    no C++ compiler here: not compiled as C++\n");
    if (ran) close_folder();
}

static dync_tensor *clash(dync_tensor *x, dync_tensor *y) { return dync_add(x, y); }
static dync_tensor *clash2(dync_tensor *x, dync_tensor *y) { return dync_sub(x, y); }
static dync_tensor *clash3(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    return dync_mul(dync_add(x, y), z);
}
/* Arguments named as sizes would be, as results, as each other in capitals, as macros. */
TEST(names_that_clash)
{
    dync_tensor *x = dync_ones(dync_shape(4, 3)), *y = dync_ones(dync_shape(3));
    dync_mark_dynamic_range(x, 0, 2, 9);
    open_folder("exported");
    dync_program *p = dync_export_values(dync_args(clash, "x, x_dim0"), "", 2,
                                         (dync_value[]){DYNC_V(x), DYNC_V(y)}),
                 *q = dync_export_values(dync_args(clash2, "out, OUT"), "", 2,
                                         (dync_value[]){DYNC_V(x), DYNC_V(y)}),
                 *r = dync_export_values(dync_args(clash3, "linux, NULL, HUGE_VAL"), "", 3,
                                         (dync_value[]){DYNC_V(y), DYNC_V(y), DYNC_V(y)});
    REQUIRE(p && q && r && save(p, "clash") && save(q, "clash2") && save(r, "clash3"));
    dync_program_free(p);
    dync_program_free(q);
    dync_program_free(r);
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f,
            "#include \"clash.h\"\n#include \"clash2.h\"\n#include \"clash3.h\"\nint main(void)\n"
            "{\n    return clash_self_test() || clash2_self_test() || clash3_self_test();\n}\n");
    fclose(f);
    if (EXPECT(compile_and_run("-std=gnu99 -O1 -DCLASH_SELF_TEST -DCLASH2_SELF_TEST "
                               "-DCLASH3_SELF_TEST",
                               "out.txt")) &&
        EXPECT(in_folder("$cc -DCLASH3_MAIN -DCLASH3_SELF_TEST clash3.c -lm -o alone && ./alone")))
        close_folder();
}

/* Arguments named as types of the headers that the file includes: g++ and clang++ call that
 * shadowed. Names of one's own that end alike stay. */
TEST(names_of_types)
{
    dync_tensor *y = dync_ones(dync_shape(8));
    open_folder("types");
    dync_program *p = dync_export_values(dync_args(clash3, "uint8_t, float_t, FILE"), "", 3,
                                         (dync_value[]){DYNC_V(y), DYNC_V(y), DYNC_V(y)}),
                 *q = dync_export_values(dync_args(clash3, "x_t, size_t, int_fast8_t"), "", 3,
                                         (dync_value[]){DYNC_V(y), DYNC_V(y), DYNC_V(y)});
    REQUIRE(p && q && save(p, "types") && save(q, "types2"));
    dync_program_free(p);
    dync_program_free(q);
    bool ok = EXPECT(in_folder("grep -q 'x_t\\[8\\], const float size_t_\\[8\\]' types2.h"));
    static const char *const compilers[] = {"g++ -x c++ -std=c++17", "clang++ -x c++ -std=c++17",
                                            "clang -std=c11", "gcc -std=c11"};
    for (int i = 0; i < 4; i++) {
        char command[300];
        snprintf(command, sizeof command,
                 "by='%s'; ${by%%%% *} --version > /dev/null 2>&1 || { echo \"    no ${by%%%% *} "
                 "here\"; exit 0; }; for f in types types2; do $by -fsyntax-only -pedantic -Wall "
                 "-Wextra -Wshadow -Wconversion -Werror $f.c || exit 1; done",
                 compilers[i]);
        ok = EXPECT(in_folder(command)) && ok;
    }
    if (ok) close_folder();
}

static dync_tensor *divides(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_floor_divide(x, y), dync_remainder(x, y));
}
/* The values of the self test are ones that the program takes: no divisor is 0. */
TEST(integers_are_divided)
{
    dync_tensor *x = dync_full(dync_shape(3), 7, .dtype = DYNC_I32);
    dync_tensor *y = dync_full(dync_shape(3), 2, .dtype = DYNC_I32);
    open_folder("exported");
    dync_program *p = dync_export(dync_args(divides, "x, y"), x, y);
    REQUIRE(p != NULL && save(p, "divides"));
    dync_program_free(p);
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include \"divides.h\"\nint main(void)\n{\n"
               "    const int32_t x[3] = {7, -7, 8}, y[3] = {2, 2, 3};\n    int32_t z[3];\n"
               "    divides_run(x, y, z);\n"
               "    return z[0] != 4 || z[1] != -3 || z[2] != 4 || divides_self_test();\n}\n");
    fclose(f);
    if (EXPECT(compile_and_run("-std=c99 -O1 -DDIVIDES_SELF_TEST", "out.txt"))) close_folder();
}

static dync_tensor *endless(dync_tensor *x)
{
    dync_tensor *never = dync_mul(dync_add(dync_square(x), 1), 0), *most = dync_div(1, never);
    return dync_stack(dync_tuple(most, dync_neg(most), dync_log(never), dync_sub(most, most)), 0);
}
/* Infinities of one sign are equal to the self test, NaNs too; of the other sign they are not. */
TEST(infinities_are_equal)
{
    open_folder("endless");
    dync_program *p = dync_export(dync_args(endless, "x"), dync_randn(dync_shape(3)));
    REQUIRE(p != NULL && save(p, "endless"));
    dync_program_free(p);
    bool ok = EXPECT(in_folder("$cc -DENDLESS_MAIN endless.c -lm -o endless && ./endless"));
    ok = ok && EXPECT(in_folder("sed '/float expected1/,/}/s/-INFINITY/INFINITY/g' endless.c "
                                ">other.c && $cc -DENDLESS_MAIN other.c -lm -o other && "
                                "./other | grep 'endless: 6 values are wrong'"));
    if (ok) close_folder();
}

static dync_tensor *itself(dync_tensor *x) { return x; }
static dync_tensor *of_nothing(dync_tensor *x)
{
    (void)x;
    return dync_arange(0, 3, 1);
}
TEST(functions_without_operators)
{
    dync_tensor *x = dync_randn(dync_shape(2, 3));
    dync_program *p = dync_export(dync_args(itself, "x"), x), *q = dync_export(of_nothing, x);
    open_folder("itself");
    bool ok = save(p, "itself") && save(q, "of_nothing");
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include \"itself.h\"\n#include \"of_nothing.h\"\nint main(void)\n{\n"
               "    return itself_self_test() + of_nothing_self_test();\n}\n");
    fclose(f);
    ok = ok && EXPECT(compile_and_run("-std=c99 -O1 -DITSELF_SELF_TEST -DOF_NOTHING_SELF_TEST",
                                      "out.txt"));
    dync_program_free(p);
    dync_program_free(q);
    if (ok) close_folder();
}

static dync_tensor *learns(dync_tensor *x)
{
    dync_tensor *w = dync_requires_grad_(dync_ones(dync_shape(3)), true),
                *loss = dync_sum(dync_mul(x, w), DYNC_ALL, false);
    return dync_backward(loss) == DYNC_OK ? dync_grad(w) : NULL;
}
TEST(a_step_is_no_program)
{
    dync_on_error(NULL, NULL);
    EXPECT(dync_export(learns, dync_ones(dync_shape(2, 3))) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
    EXPECT_HAS_STR(dync_error_message(), "dync_export_step");
    dync_clear_error();
}

static dync_tensor *any_size(dync_tensor *x) { return dync_tanh(x); }
TEST(no_maximum)
{
    dync_tensor *x = dync_ones(dync_shape(4, 3));
    dync_mark_dynamic(x, 0);
    dync_program *p = dync_export(dync_args(any_size, "x"), x);
    REQUIRE(p != NULL);
    dync_on_error(NULL, NULL);
    EXPECT_STATUS(dync_program_save_c(p, "/tmp/dync_no_maximum.c"), DYNC_ERR_UNSUPPORTED);
    EXPECT_HAS_STR(dync_error_message(), "dimension 0 of x has no maximum");
    EXPECT_HAS_STR(dync_error_message(), "dync_mark_dynamic_range(x, 0, min, max)");
    dync_clear_error();
    dync_program_free(p);
}
TEST_MAIN
