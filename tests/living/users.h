/* tests/living/users.h: for programs as users write them, with weights and data from sines. Each is
 * run plainly and compiled; after a first epoch, in which it meets all its sizes, modes and ways,
 * nothing is missed any more. */
#ifndef DYNC_TESTS_USERS_H
#define DYNC_TESTS_USERS_H
#include "living.h"

typedef dync_tensor *T;
#define S(...) dync_shape(__VA_ARGS__)
#define det(shape, phase, scale) sines(shape, phase, scale, false)
#define P(shape, phase, scale) dync_retain(sines(shape, phase, scale, true))

static living *user;
/* sin(0.7 i + phase) * scale */
TEST__UNUSED static T sines(dync_dims s, double phase, double scale, bool grad)
{
    int64_t n = 1;
    for (int i = 0; i < s.n; i++) n *= s.d[i];
    float *x = malloc(sizeof(float) * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) x[i] = (float)(sin(0.7 * (double)i + phase) * scale);
    T t = dync_from(x, s);
    free(x);
    return grad ? dync_requires_grad_(t, true) : t;
}
/* (mul i + add) % mod */
TEST__UNUSED static T ids(dync_dims s, int64_t mul, int64_t add, int64_t mod)
{
    int64_t n = 1;
    for (int i = 0; i < s.n; i++) n *= s.d[i];
    int64_t *x = malloc(sizeof(int64_t) * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) x[i] = (i * mul + add) % mod;
    T t = dync_from(x, s, .dtype = DYNC_I64);
    free(x);
    return t;
}
TEST__UNUSED static void set_weights(dync_module *m, double k)
{
    T p[64];
    int n = dync_module_parameters(m, p, 64);
    DYNC_NO_GRAD for (int i = 0; i < n; i++) {
        dync_dims s = {dync_ndim(p[i]), {0}};
        for (int d = 0; d < s.n; d++) s.d[d] = dync_size(p[i], d);
        dync_copy_(p[i], det(s, k + i, .4));
    }
}
TEST__UNUSED static void say(T t) { note_tensor(user, t); }
TEST__UNUSED static void say_gradients(int n, const T *w)
{
    for (int i = 0; i < n; i++) say(dync_grad(w[i]));
}
TEST__UNUSED static void clear_gradients(int n, const T *w)
{
    for (int i = 0; i < n; i++) dync_set_grad(w[i], NULL);
}
/* One step down. */
TEST__UNUSED static void descend(int n, const T *w, double rate)
{
    DYNC_NO_GRAD for (int i = 0; i < n; i++)
        dync_sub_(w[i], dync_mul(dync_grad(w[i]), rate));
}

TEST__UNUSED static void lives_for_two_epochs(living *p, void (*make)(void), void (*epoch)(void))
{
    user = p;
    if (!p->compiled) dync_set_stance("force_eager");
    DYNC_SCOPE {
        make();
        epoch();
        settled(p);
        epoch();
    }
    dync_set_stance("default");
}
#endif
