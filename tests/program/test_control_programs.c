/* Programs with functions inside operators: exported, run, saved, loaded, against plain calls. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "../random/control.h"

static bool near(dync_value a, dync_value b)
{
    if (a.kind == DYNC_KIND_TENSOR && b.kind == DYNC_KIND_TENSOR)
        return dync_allclose(a.as.t, b.as.t, TOL_F32_SUM, TOL_F32_CHAIN);
    bool same = a.kind == b.kind && dync_len(a) == dync_len(b);
    for (int i = 0; same && i < dync_len(a); i++) same = near(dync_at(a, i), dync_at(b, i));
    return same;
}

static dync_program *through_file(dync_program *p)
{
    char path[128];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/dync_control_%d.dync", dir ? dir : "/tmp",
             (int)(test_random() % 100000000));
    EXPECT_OK(dync_program_save(p, path));
    dync_program_free(p);
    p = dync_program_load(path);
    remove(path);
    return p;
}

/* Plain, exported, loaded: the same; three calls of other data each. */
static bool check_program(dync_function fn, const char *name, dync_value (*make)(int call))
{
    bool ok = true;
    dync_manual_seed(test__state.seed);
    dync_value in = make(0), args[8];
    int n = dync_len(in);
    for (int i = 0; i < n; i++) args[i] = dync_at(in, i);
    dync_program *p = dync_export_values(DYNC_FN(fn), name, n, args);
    for (int call = 0; call < 6 && ok; call++) DYNC_SCOPE {
        in = make(call);
        for (int i = 0; i < n; i++) args[i] = dync_at(in, i);
        dync_value want = fn(args, n, NULL);
        if (call == 3) p = through_file(p);
        ok = EXPECT(p != NULL) && EXPECT(near(want, dync_program_run(p, n, args))) &&
             EXPECT_OK(dync_error());
        if (!ok) printf("    %s, call %d, %s\n", name, call, call < 3 ? "exported" : "loaded");
    }
    dync_program_free(p);
    return ok;
}

TEST(random_programs_are_saved)
{
    for (int i = 0; i < test_count(40); i++) {
        random_seed = test__state.seed * 1000 + (uint64_t)i;
        if (!check_program(random_fn, "random", random_inputs)) {
            printf("    program %d\n", i);
            break;
        }
    }
}
TEST_MAIN
