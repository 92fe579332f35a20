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
TEST_LONG(many_random_layers)
{
    check(test_share(150), "", checked);
    check(test_share(60), "", "-std=c11 -O3");
    check(test_share(40), "convs", checked);
    check(test_share(40), "epilogue", checked);
    check(test_share(40), "unroll,epilogue,convs", checked);
}
TEST_MAIN
