/* codegen/csrc.c: kernels as C text, compiled by the compiler at hand and run, against the oracle
 * of loop/eval.c. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include "../../src/dync.in.h"
#include "../../src/codegen/codegen.h"
#include "../../tools/ir/ir.h"
#include "codegen_random.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static const char *const c_types[] = {"float",   "double",  "uint16_t", "uint16_t", "int64_t",
                                      "int32_t", "int16_t", "int8_t",   "uint8_t",  "uint8_t"};

/* Writes the bytes of a buffer as an array of its type, by way of bytes: NaN and infinities
 * survive. */
static void write_data(FILE *f, int number, int buf, const unsigned char *data, size_t bytes)
{
    fprintf(f, "static _Alignas(8) unsigned char d%d_%d[] = {", number, buf);
    for (size_t i = 0; i < bytes; i++) fprintf(f, "%s%d,", i % 32 ? "" : "\n", data[i]);
    fprintf(f, "0};\n");
}

/* fma rounds twice in C source; everything else is exact. */
static bool has_fma(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_fma || k->inst.at[i].prim == DYNC__P_random) return true;
    return false;
}

enum { COUNT = 120 };
typedef struct expected {
    int n_bufs, dtype[MAX_BUFS];
    int64_t elements[MAX_BUFS];
    void *data[MAX_BUFS];
} expected;

static bool write_kernel(FILE *f, int number, random_kernel *g, expected *e)
{
    dync__str text = {0};
    char name[32];
    snprintf(name, sizeof name, "kernel%d", number);
    if (!EXPECT_OK(dync__kernel_csource(&text, g->k, name, NULL))) return false;
    fprintf(f, "%s", dync__str_get(&text));
    dync__str_free(&text);
    e->n_bufs = g->k->buf.n;
    for (int i = 0; i < e->n_bufs; i++) {
        e->dtype[i] = g->k->buf.at[i].dtype;
        e->elements[i] = g->elements[i];
        size_t bytes = (size_t)g->elements[i] * dync__dtype_info(e->dtype[i])->bytes;
        e->data[i] = malloc(bytes + 8);
        fill(e->data[i], e->dtype[i], g->elements[i], 1);
        write_data(f, number, i, e->data[i], bytes);
    }
    return EXPECT_OK(dync__kernel_eval(g->k, e->data, 0, 0));
}

static void write_main(FILE *f, const expected *all, int count)
{
    fprintf(f, "#include <stdio.h>\nint main(void)\n{\n");
    for (int k = 0; k < count; k++) {
        fprintf(f, "    kernel%d(", k);
        for (int i = 0; i < all[k].n_bufs; i++)
            fprintf(f, "%s(%s *)(void *)d%d_%d", i ? ", " : "", c_types[all[k].dtype[i]], k, i);
        fprintf(f, ");\n");
        for (int i = 0; i < all[k].n_bufs; i++)
            fprintf(f, "    fwrite(d%d_%d, 1, sizeof d%d_%d - 1, stdout);\n", k, i, k, i);
    }
    fprintf(f, "    return 0;\n}\n");
}

static void compare(FILE *results, const expected *all, int count)
{
    for (int k = 0; k < count; k++)
        for (int i = 0; i < all[k].n_bufs; i++) {
            size_t bytes = (size_t)all[k].elements[i] * dync__dtype_info(all[k].dtype[i])->bytes;
            char *got = malloc(bytes + 1);
            REQUIRE(fread(got, 1, bytes, results) == bytes);
            for (int64_t e = 0; e < all[k].elements[i]; e++)
                if (!EXPECT(same(got, all[k].data[i], all[k].dtype[i], e))) {
                    int size = dync__dtype_info(all[k].dtype[i])->bytes;
                    printf("  kernel%d buffer %d element %lld: got %.9g, expected %.9g\n", k, i,
                           (long long)e, dync__load_f64(got + e * size, all[k].dtype[i]),
                           dync__load_f64((char *)all[k].data[i] + e * size, all[k].dtype[i]));
                    break;
                }
            free(got);
        }
}

TEST(random_kernels_as_c)
{
    static expected all[COUNT];
    char source[64], program[80], command[400];
    int count = 0;
    if (system("cc --version > /dev/null 2>&1") != 0) SKIP("there is no cc");
    snprintf(source, sizeof source, "/tmp/dync_csrc_%llx.c", (unsigned long long)dync__now_ns());
    snprintf(program, sizeof program, "%s.out", source);
    FILE *f = fopen(source, "w");
    REQUIRE(f);
    fprintf(f, "#include <math.h>\n#include <stdint.h>\n");
    while (count < COUNT) {
        random_kernel g;
        random_build(&g, test_random() % 4 != 0);
        if (g.stored && !has_fma(g.k)) {
            if (!write_kernel(f, count, &g, &all[count])) return;
            count++;
        }
        dync__arena_free(&g.arena);
    }
    write_main(f, all, count);
    fclose(f);
    snprintf(
        command, sizeof command,
        "cc -std=c11 -pedantic -Wall -Wextra -Wno-type-limits -Werror -O1 -ffp-contract=off %s "
        "-o %s -lm",
        source, program);
    REQUIRE(system(command) == 0);
    FILE *results = popen(program, "r");
    REQUIRE(results);
    compare(results, all, count);
    EXPECT(pclose(results) == 0);
    remove(source);
    remove(program);
}

TEST(text_of_softmax)
{
    static const char kernel[] =
        "kernel softmax(in x f32[12] @0, out y f32[12] @1) outer o0<3 inner i0<4 {\n"
        "  phase 0 {\n    v0 = load x[4*o0 + i0]\n    v1 = reduce.max v0\n  }\n"
        "  phase 1 {\n    v2 = sub v0, v1\n    v3 = abs v2\n    v4 = reduce.sum v3\n  }\n"
        "  phase 2 {\n    v5 = div v3, v4\n    store y[4*o0 + i0], v5\n  }\n}\n";
    static const char want[] =
        "static void softmax(const float *restrict b0, float *restrict b1)\n{\n"
        "    static float k3[4];\n"
        "    for (int o0 = 0; o0 < 3; o0++) {\n"
        "        float v1 = -INFINITY;\n"
        "        for (int i0 = 0; i0 < 4; i0++) {\n"
        "            const float v0 = b0[4 * o0 + i0];\n"
        "            if ((v1 == v1 && !(v0 <= v1))) v1 = v0;\n        }\n"
        "        float v4 = 0;\n"
        "        for (int i0 = 0; i0 < 4; i0++) {\n"
        "            const float v2 = b0[4 * o0 + i0] - v1;\n            const float v3 = "
        "fabsf(v2);\n            k3[i0] = v3;\n"
        "            v4 += v3;\n        }\n"
        "        for (int i0 = 0; i0 < 4; i0++) {\n"
        "            const float v5 = k3[i0] / v4;\n            b1[4 * o0 + i0] = v5;\n        "
        "}\n    }\n}\n";
    dync__arena arena = {0};
    dync__str text = {0};
    dync__kernel *k = dync__kernel_parse(&arena, kernel);
    REQUIRE(k);
    EXPECT_OK(dync__kernel_csource(&text, k, "softmax", NULL));
    EXPECT_EQ_STR(dync__str_get(&text), want);
    dync__str_free(&text);
    dync__arena_free(&arena);
}

TEST_MAIN
