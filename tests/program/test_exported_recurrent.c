/* Recurrent layers as exported C has them, a loop over the steps (program/csource_recurrent.c),
 * beside the plain form, an operator for each part of each step: the same bits. And beside what
 * this library computes (self-tests). Random cells, sizes, directions, layers, states, results. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "exported.h"

typedef struct net {
    int cell, layers, directions, steps, batch, in, hidden, state, result, batch_first;
    dync_dtype dtype;
} net;
static net now;
static dync_module *module;
static dync_tensor *more;

static int below(int n) { return (int)(test_random() % (uint64_t)n); }

/* ---- random layers --------------------------------------------------------------------------- */

static dync_value net_fn(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]), *y;
    (void)n, (void)user;
    if (now.batch_first) x = dync_transpose(x, 0, 1);
    dync_value h = now.state ? args[1] : DYNC_NONE, both;
    if (now.state && now.cell == 2) h = dync_tuple(args[1], args[2]);
    both = now.state ? dync_module_call(module, x, h) : dync_module_call(module, x);
    y = dync_as_tensor(dync_at(both, 0));
    dync_value last = dync_at(both, 1);
    dync_tensor *hn = dync_as_tensor(now.cell == 2 ? dync_at(last, 0) : last);
    switch (now.result) {
    case 0: return DYNC_V(hn);
    case 1: return DYNC_V(now.batch_first ? dync_transpose(y, 0, 1) : y);
    case 2: return both;
    case 3: return DYNC_V(dync_select(y, 0, -1));
    case 4: return DYNC_V(dync_matmul(dync_select(y, 0, -1), more));
    case 5: return DYNC_V(dync_relu(dync_select(y, 0, 0)));
    default: return DYNC_V(dync_add(dync_sum(y, dync_shape(0), false), dync_select(hn, 0, 0)));
    }
}

static void choose(void)
{
    now.cell = below(3);
    now.layers = 1 + (below(3) == 0);
    now.directions = 1 + (below(3) == 0);
    now.steps = 1 + below(7);
    now.batch = below(2) ? 1 : 1 + below(3);
    now.in = 1 + below(9);
    now.hidden = 1 + below(9);
    now.state = below(3) == 0;
    now.result = below(now.directions == 1 ? 7 : 4);
    now.batch_first = below(2);
    module = (now.cell == 0   ? dync_nn_rnn
              : now.cell == 1 ? dync_nn_gru
                              : dync_nn_lstm)(now.in, now.hidden, now.layers, now.directions == 2);
    EXPECT_OK(dync_module_to_dtype(module, now.dtype));
    more = dync_to_dtype(dync_randn(dync_shape(now.hidden, 3)), now.dtype);
}

static dync_value random_of(dync_dims shape)
{
    return DYNC_V(dync_to_dtype(dync_randn(shape), now.dtype));
}

/* ---- their C --------------------------------------------------------------------------------- */

/* What main does with net i: both forms, with the same numbers. */
static void write_main(FILE *f, int i, int n_in, const dync_value *in)
{
    const char *type = now.dtype == DYNC_F64 ? "double" : "float";
    dync_value out = net_fn(in, n_in, NULL);
    int outs = out.kind == DYNC_KIND_TENSOR ? 1 : now.cell == 2 ? 3 : 2;
    for (int form = 0; form < 2; form++) {
        fprintf(f, "void net%d%c_run(", i, "ab"[form]);
        for (int k = 0; k < n_in + outs; k++)
            fprintf(f, "%s%s *", k ? ", " : "", k < n_in ? "const void" : "void");
        fprintf(f, ");\nint net%d%c_self_test(void);\n", i, "ab"[form]);
    }
    fprintf(f, "static void check%d(void)\n{\n", i);
    for (int k = 0; k < n_in; k++)
        fprintf(f, "    static %s i%d[%d]; fill(i%d, %d, sizeof *i%d == 8);\n", type, k,
                (int)dync_numel(dync_as_tensor(in[k])), k, (int)dync_numel(dync_as_tensor(in[k])),
                k);
    for (int k = 0; k < outs; k++) {
        dync_value o = outs == 1 ? out : k == 0 ? dync_at(out, 0) : dync_at(out, 1);
        if (outs == 3 && k) o = dync_at(o, k - 1);
        fprintf(f, "    static %s a%d[%d], b%d[%d];\n", type, k, (int)dync_numel(dync_as_tensor(o)),
                k, (int)dync_numel(dync_as_tensor(o)));
    }
    for (int form = 0; form < 2; form++) {
        fprintf(f, "    net%d%c_run(", i, "ab"[form]);
        for (int k = 0; k < n_in; k++) fprintf(f, "%si%d", k ? ", " : "", k);
        for (int k = 0; k < outs; k++) fprintf(f, ", %c%d", "ab"[form], k);
        fprintf(f, ");\n    bad |= told(%d, net%d%c_self_test());\n", i, i, "ab"[form]);
    }
    for (int k = 0; k < outs; k++)
        fprintf(f, "    bad |= told(%d, memcmp(a%d, b%d, sizeof a%d) != 0);\n", i, k, k, k);
    fprintf(f, "}\n");
}

static bool write_net(FILE *f, int i)
{
    char name[32];
    dync_value in[3];
    int n_in = 0;
    bool ok = true;
    choose();
    in[n_in++] = random_of(now.batch_first ? dync_shape(now.batch, now.steps, now.in)
                                           : dync_shape(now.steps, now.batch, now.in));
    while (now.state && n_in < 2 + (now.cell == 2))
        in[n_in++] = random_of(dync_shape(now.layers * now.directions, now.batch, now.hidden));
    for (int form = 0; form < 2; form++) {
        EXPECT_OK(dync_config_set("disable", form ? "rolled" : ""));
        snprintf(name, sizeof name, "net%d%c", i, "ab"[form]);
        dync_program *p = dync_export_values(DYNC_FN(net_fn), name, n_in, in);
        ok = save(p, name) && ok;
        dync_program_free(p);
    }
    EXPECT_OK(dync_config_set("disable", ""));
    write_main(f, i, n_in, in);
    dync_module_free(module);
    return ok;
}

static bool write_nets(int count)
{
    bool all = true;
    FILE *f = open_file("main.c", "w");
    if (!EXPECT(f != NULL)) return false;
    fprintf(f, "#include <stdio.h>\n#include <string.h>\nstatic int bad;\n"
               "static int told(int i, int n)\n{\n"
               "    if (n) printf(\"net%%d: %%d\\n\", i, n);\n    return n != 0;\n}\n"
               "static void fill(void *to, int n, int wide)\n{\n    static unsigned seed = 1;\n"
               "    for (int i = 0; i < n; i++) {\n        seed = seed * 1664525u + 1013904223u;\n"
               "        double x = (double)(seed >> 8) / 4194304 - 2;\n"
               "        if (wide) ((double *)to)[i] = x; else ((float *)to)[i] = (float)x;\n    }\n"
               "}\n");
    for (int i = 0; i < count; i++) DYNC_SCOPE {
        all = write_net(f, i) && all;
    }
    fprintf(f, "int main(void)\n{\n");
    for (int i = 0; i < count; i++) fprintf(f, "    check%d();\n", i);
    fprintf(f, "    return bad;\n}\n");
    fclose(f);
    return all;
}

static bool run_nets(int count, const char *flags)
{
    char command[1024];
    snprintf(command, sizeof command,
             "for i in $(seq 0 %d); do grep -q 'for (int t' net${i}a.c && ! grep -q 'for (int t' "
             "net${i}b.c || exit 1; for x in a b; do $cc %s -DNET$i$(echo $x | tr ab "
             "AB)_SELF_TEST -c net$i$x.c || exit 1; done; done && $cc %s main.c net*.o -lm -o run "
             "&& ./run",
             count - 1, flags, flags);
    return EXPECT(in_folder(command));
}

static void check(int count, dync_dtype dtype, const char *flags)
{
    now.dtype = dtype;
    open_folder("recurrent");
    if (write_nets(count) && run_nets(count, flags)) close_folder();
}

static const char checked[] = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all";

TEST(random_nets) { check(4, DYNC_F32, checked); }
TEST(random_nets_of_doubles) { check(2, DYNC_F64, "-std=c99 -O0"); }
TEST_LONG(many_random_nets)
{
    check(test_share(40), DYNC_F32, checked);
    check(test_share(20), DYNC_F64, checked);
    check(test_share(20), DYNC_F32, "-std=c11 -O3");
}
TEST_MAIN
