/* Products and convolutions as exported C has them (program/csource_blocks.c, _convs.c), with what
 * follows them (layers.h), beside the functions themselves and beside the plain forms. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "exported.h"
#include "layers.h"

/* ---- their C --------------------------------------------------------------------------------- */

/* C files of COUNT layers, each as dync makes it now; false: one is none. */
static bool write_layers(int count)
{
    char name[32];
    bool all = true;
    for (int i = 0; i < count; i++) DYNC_SCOPE {
        dync_value x = DYNC_V(choose());
        snprintf(name, sizeof name, "layer%d", i);
        dync_program *p = dync_export_values(DYNC_FN(layer_fn), name, 1, &x);
        all = save(p, name) && all;
        dync_program_free(p);
    }
    FILE *f = open_file("main.c", "w");
    if (!EXPECT(f != NULL)) return false;
    fprintf(f, "#include <stdio.h>\n");
    for (int i = 0; i < count; i++) fprintf(f, "int layer%d_self_test(void);\n", i);
    fprintf(f, "int main(void)\n{\n    int bad = 0, n;\n");
    for (int i = 0; i < count; i++)
        fprintf(f,
                "    if ((n = layer%d_self_test()) != 0) bad = 1, printf(\"layer%d: %%d\\n\", "
                "n);\n",
                i, i);
    fprintf(f, "    return bad;\n}\n");
    fclose(f);
    return all;
}

/* Each layer with its self-test, by these flags. */
static bool run_layers(int count, const char *flags)
{
    char command[1024];
    snprintf(command, sizeof command,
             "for i in $(seq 0 %d); do $cc %s -DLAYER${i}_SELF_TEST -c layer$i.c || exit 1; done "
             "&& $cc %s main.c layer*.o -lm -o run && ./run",
             count - 1, flags, flags);
    return EXPECT(in_folder(command));
}

static void check(int count, const char *disable, const char *flags)
{
    open_folder("blocks");
    EXPECT_OK(dync_config_set("disable", disable));
    bool ok = write_layers(count) && run_layers(count, flags);
    EXPECT_OK(dync_config_set("disable", ""));
    if (ok) close_folder();
}

static const char checked[] = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all";

TEST(random_layers) { check(12, "", checked); }
TEST(random_layers_plain) { check(4, "unroll,epilogue,convs", "-std=c99 -O0"); }
/* Pictures of one row and of one column, pooled: names that nothing reads are warnings. */
static dync_tensor *w_thin;
static int thin_rows;
static dync_tensor *thin(dync_tensor *x)
{
    dync_dims pool = thin_rows ? dync_shape(1, 2) : dync_shape(2, 1);
    x = dync_conv2d(x, w_thin, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 3);
    return dync_max_pool2d(x, pool, pool, dync_shape(0, 0), dync_shape(1, 1), false);
}
TEST(pictures_of_one_row)
{
    bool ok = true;
    open_folder("thin");
    for (thin_rows = 0; thin_rows < 2; thin_rows++) {
        int high = thin_rows ? 1 : 7, wide = thin_rows ? 7 : 1;
        w_thin = dync_randn(dync_shape(6, 1, thin_rows ? 1 : 2, thin_rows ? 2 : 1));
        dync_program *p = dync_export(thin, dync_randn(dync_shape(2, 3, high, wide)));
        ok = save(p, "thin") && ok;
        dync_program_free(p);
        ok = EXPECT(in_folder("$cc -std=c99 -O0 -DTHIN_MAIN thin.c -lm -o run && ./run")) && ok;
        ok = EXPECT(in_folder(
                 "$cc -std=c99 -DDYNC_VECTOR=0 -DTHIN_MAIN thin.c -lm -o run && ./run")) &&
             ok;
    }
    if (ok) close_folder();
}

/* Pooling that is the result: in the convolution's loops, without indices that nobody reads. */
static dync_tensor *w_pooled;
static dync_tensor *pooled(dync_tensor *x)
{
    x = dync_conv2d(x, w_pooled, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1);
    return dync_max_pool2d(x, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0),
                           dync_shape(1, 1), false);
}
TEST(pooling_as_the_result)
{
    open_folder("pooled");
    w_pooled = dync_randn(dync_shape(6, 3, 3, 3));
    dync_program *p = dync_export(pooled, dync_randn(dync_shape(2, 3, 10, 10)));
    bool ok = save(p, "pooled");
    dync_program_free(p);
    ok = EXPECT(in_folder("grep -q 'define POOLED_ARENA_BYTES 0$' pooled.h && ! grep int64 pooled.c"
                          " && $cc -O1 -DPOOLED_MAIN pooled.c -lm -o run && ./run")) &&
         ok;
    if (ok) close_folder();
}

TEST_LONG(many_random_layers)
{
    check(test_share(150), "", checked);
    check(test_share(60), "", "-std=c11 -O3");
    check(test_share(40), "convs", checked);
    check(test_share(40), "epilogue", checked);
    check(test_share(40), "unroll,epilogue,convs", checked);
}
TEST_MAIN
