/* tests/upstream/upstream.h: scenarios that PyTorch's own tests of torch.compile ask about, as C.
 * Each has a twin of the same name in tests/oracle/dynamo_*.py, which told the facts in the header
 * beside the test: a scenario must tell each of them here too, and the same. Where C differs on
 * purpose, DIFFERS says what dync does and why; it fails once that is no difference any more. */
#ifndef DYNC_TESTS_UPSTREAM_H
#define DYNC_TESTS_UPSTREAM_H
#include "../capture/counter.h"

typedef struct {
    const char *scenario, *name, *text;
    int n;
    double value[16];
} upstream_fact;

static struct {
    const upstream_fact *facts;
    int n;
    const char *scenario;
    bool told[1024];
} upstream;

static void told_begin(const upstream_fact *facts, size_t bytes, const char *scenario)
{
    memset(&upstream, 0, sizeof upstream);
    upstream.facts = facts;
    upstream.n = (int)(bytes / sizeof *facts);
    upstream.scenario = scenario;
}
static void told_end(void)
{
    int found = 0;
    for (int i = 0; i < upstream.n && i < 1024; i++) {
        if (strcmp(upstream.facts[i].scenario, upstream.scenario) != 0) continue;
        found++;
        if (!EXPECT(upstream.told[i])) printf("    not told: %s\n", upstream.facts[i].name);
    }
    EXPECT(found > 0);
    EXPECT_OK(dync_error());
}
static const upstream_fact *fact_named(const char *name, const char *file, int line)
{
    for (int i = 0; i < upstream.n && i < 1024; i++)
        if (strcmp(upstream.facts[i].scenario, upstream.scenario) == 0 &&
            strcmp(upstream.facts[i].name, name) == 0) {
            upstream.told[i] = true;
            return &upstream.facts[i];
        }
    test__fail(file, line, name);
    printf("    upstream tells nothing of that name\n");
    return NULL;
}
static bool fact_is(const upstream_fact *f, const double *got, int n)
{
    for (int i = 0; i < n; i++)
        if (!test__is_near(got[i], f->value[i], 2e-5 * (1 + fabs(f->value[i])))) return false;
    return n == f->n;
}
TEST__UNUSED static void tell_numbers(const char *name, const double *got, int n, const char *file,
                                      int line)
{
    const upstream_fact *f = fact_named(name, file, line);
    if (!f || fact_is(f, got, n) || !test__fail(file, line, name)) return;
    for (int i = 0; i < n || i < f->n; i++)
        printf("    [%d] got %.9g, upstream %.9g\n", i, i < n ? got[i] : NAN,
               i < f->n ? f->value[i] : NAN);
}
TEST__UNUSED static void tell_number(const char *name, double got, const char *file, int line)
{
    tell_numbers(name, &got, 1, file, line);
}
TEST__UNUSED static void tell_tensor(const char *name, dync_tensor *t, const char *file, int line)
{
    double got[16] = {0};
    dync_tensor *flat = t ? dync_to_dtype(dync_reshape(dync_detach(t), dync_shape(-1)), DYNC_F64)
                          : NULL;
    int n = flat ? (int)dync_numel(flat) : -1;
    if (flat && n > 0 && n <= 16) memcpy(got, dync_data(dync_contiguous(flat)), 8 * (size_t)n);
    tell_numbers(name, got, n, file, line);
}
TEST__UNUSED static void tell_text(const char *name, const char *got, const char *file, int line)
{
    const upstream_fact *f = fact_named(name, file, line);
    if (f) test__has_str(got, f->text, file, line, name);
}
TEST__UNUSED static void tell_differs(const char *name, double got, double here, const char *file,
                                      int line)
{
    const upstream_fact *f = fact_named(name, file, line);
    test__near(got, here, 0, file, line, name);
    if (f) test__expect(!fact_is(f, &here, 1), file, line, "upstream does the same by now");
}
#define TELL(name, number) tell_number(name, (double)(number), __FILE__, __LINE__)
#define TELL_TENSOR(name, t) tell_tensor(name, t, __FILE__, __LINE__)
#define TELL_TEXT(name, text) tell_text(name, text, __FILE__, __LINE__) /* contains upstream's */
#define DIFFERS(name, number, here, why) \
    tell_differs(name, (double)(number), here, __FILE__, __LINE__)
#define TELL_COUNTS(c) (TELL("frames", (c).frame_count), TELL("ops", (c).op_count))

#define SCENARIO(name)                                            \
    static void scenario_##name(void);                            \
    TEST(name)                                                    \
    {                                                             \
        told_begin(upstream_facts, sizeof upstream_facts, #name); \
        scenario_##name();                                        \
        told_end();                                               \
    }                                                             \
    static void scenario_##name(void)

/* As ramp() of tests/oracle/dynamo.py: exact in every dtype. */
TEST__UNUSED static dync_tensor *ramp_at(dync_dims shape, int start, bool grad)
{
    float v[256];
    int n = 1;
    for (int i = 0; i < shape.n; i++) n *= (int)shape.d[i];
    for (int i = 0; i < n && i < 256; i++) v[i] = (float)((i * 7 + start * 3) % 11 - 5) / 4;
    return dync_from(v, shape, .requires_grad = grad);
}
TEST__UNUSED static dync_tensor *ramp(int n, int start)
{
    return ramp_at(dync_shape(n), start, false);
}
TEST__UNUSED static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
#endif
