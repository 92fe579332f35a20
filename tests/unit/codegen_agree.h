/* tests/unit/codegen_agree.h: one kernel as machine code, in the tile interpreter and by the oracle
 * of loop/eval.c. For test_codegen_jit.c, _takes.c and _crossed.c. */
#ifndef CODEGEN_AGREE_H
#define CODEGEN_AGREE_H
#include "../../src/dync.in.h"
#include "../../src/codegen/codemem.h"
#include "../../src/codegen/interp_tile.h"
#include "../../src/codegen/jit.h"
#include "../../tools/ir/ir.h"
#include "codegen_random.h"
#include "guarded.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static int64_t n_jitted, n_declined, n_led, n_strips;

/* Runs k by machine code for an instruction set, by the interpreter and by the oracle on equal
 * random data. exact: the interpreter's bits. */
static bool agree(const dync__kernel *k, const int64_t *elements, int wild, int isa, bool oracle)
{
    guarded own[3][MAX_BUFS];
    void *data[3][MAX_BUFS];
    bool ok = true;
    for (int i = 0; i < k->buf.n; i++) {
        size_t bytes = (size_t)elements[i] * dync__dtype_info(k->buf.at[i].dtype)->bytes;
        for (int w = 0; w < 3; w++) data[w][i] = (own[w][i] = guarded_new(bytes)).data;
        fill(data[0][i], k->buf.at[i].dtype, elements[i], wild);
        for (int w = 1; w < 3; w++) memcpy(data[w][i], data[0][i], bytes);
    }
    dync__code *code = dync__code_new_for(k, isa, true), *plain = dync__code_new_for(k, isa, false);
    ok = EXPECT(code != NULL) && EXPECT(plain != NULL);
    if (ok && code->jit) {
        n_jitted++;
        code->ns = 1e6; /* worth threads */
        /* lines that an index leads to are fetched ahead, however small the table */
        code->jit->take.far = true;
        n_led += code->jit->take.each > 0;
        n_strips += code->jit->form->strip > 0;
        ok = EXPECT_OK(dync__code_run(code, data[0], 7, 100)) &&
             EXPECT_OK(dync__code_run(plain, data[1], 7, 100)) &&
             (!oracle || EXPECT_OK(dync__kernel_eval(k, data[2], 7, 100)));
        for (int w = 1; w < (oracle ? 3 : 2) && ok; w++)
            for (int i = 0; ok && i < k->buf.n; i++)
                for (int64_t e = 0; ok && e < elements[i]; e++)
                    if (!same(data[0][i], data[w][i], k->buf.at[i].dtype, e)) {
                        int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
                        printf("  isa %d buffer %d element %lld: got %.9g, %s %.9g\n", isa, i,
                               (long long)e,
                               dync__load_f64((char *)data[0][i] + e * bytes, k->buf.at[i].dtype),
                               w == 1 ? "interpreter" : "oracle",
                               dync__load_f64((char *)data[w][i] + e * bytes, k->buf.at[i].dtype));
                        ok = false;
                    }
    } else if (ok) {
        n_declined++;
    }
    if (!ok) {
        dync__str text = {0};
        dync__kernel_print(&text, k);
        if (code) dync__code_dump(&text, code);
        printf("%s", dync__str_get(&text));
        dync__str_free(&text);
    }
    dync__code_free(code);
    dync__code_free(plain);
    for (int i = 0; i < k->buf.n; i++)
        for (int w = 0; w < 3; w++) guarded_free(own[w][i]);
    return ok;
}
#endif
