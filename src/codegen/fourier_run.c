/* codegen/fourier_run.c: runs the forms of fourier_code.h: machine code of gemm_code.c where there
 * is any, else the same in C, which may round otherwise. After gemm_run.c; kernel/fourier.c calls.
 *
 * Lanes are innermost in C; a number of them at a time is in arrays, whose size is known. */
#include "../dync.in.h"
#include "fourier_code.h"
DYNC__BESIDE_JIT

enum { DYNC__GF_LANES = 16 }; /* at most: AVX-512's */

/* Vectors of 32 bytes where a machine has longer ones, too: what the forms make of 64 bytes has run
 * nowhere yet. */
static const dync__target *dync__gf_target(void)
{
    const dync__target *t = dync__target_now(), *shorter = dync__target_at(1);
    return t && t != shorter && t == dync__target_at(2) ? shorter : t;
}

DYNC__FN int dync__gf_lanes(bool wide)
{
    const dync__target *t = dync__gf_target();
    return (t ? t->vector_bytes : 32) / (wide ? 8 : 4);
}

/* E(v): for all lanes v */
#define DYNC__GF_EVERY(v) for (int v = 0; v < V; v++)
#define DYNC__GF_FORMS(T, name)                                                                  \
    typedef struct dync__gf_##name {                                                             \
        T re[DYNC__GF_LANES], im[DYNC__GF_LANES];                                                \
    } dync__gf_##name;                                                                           \
    static void dync__gf_load_##name(dync__gf_##name *z, const void *from, int V)                \
    {                                                                                            \
        memcpy(z->re, from, (size_t)V * sizeof(T));                                              \
        memcpy(z->im, (const T *)from + V, (size_t)V * sizeof(T));                               \
    }                                                                                            \
    /* to += x times (re, im) */                                                                 \
    static void dync__gf_add_##name(dync__gf_##name *to, const dync__gf_##name *x, T re, T im,   \
                                    int V)                                                       \
    {                                                                                            \
        DYNC__GF_EVERY(v)                                                                        \
        {                                                                                        \
            to->re[v] += x->re[v] * re - x->im[v] * im;                                          \
            to->im[v] += x->re[v] * im + x->im[v] * re;                                          \
        }                                                                                        \
    }                                                                                            \
    static void dync__gf_two_##name(dync__gf_##name *x, dync__gf_##name *y, int V)               \
    {                                                                                            \
        DYNC__GF_EVERY(v)                                                                        \
        {                                                                                        \
            T re = x->re[v] - y->re[v], im = x->im[v] - y->im[v];                                \
            x->re[v] += y->re[v], x->im[v] += y->im[v];                                          \
            y->re[v] = re, y->im[v] = im;                                                        \
        }                                                                                        \
    }                                                                                            \
    static void dync__gf_four_##name(dync__gf_##name *z, int V)                                  \
    {                                                                                            \
        dync__gf_two_##name(&z[0], &z[2], V);                                                    \
        dync__gf_two_##name(&z[1], &z[3], V);                                                    \
        dync__gf_two_##name(&z[0], &z[1], V); /* results 0, 2; 1 and 3 of z[2] -+ i z[3] */      \
        DYNC__GF_EVERY(v)                                                                        \
        {                                                                                        \
            T re = z[2].re[v], im = z[2].im[v], dr = z[3].re[v], di = z[3].im[v];                \
            z[2].re[v] = z[1].re[v], z[2].im[v] = z[1].im[v];                                    \
            z[1].re[v] = re + di, z[1].im[v] = im - dr;                                          \
            z[3].re[v] = re - di, z[3].im[v] = im + dr;                                          \
        }                                                                                        \
    }                                                                                            \
    /* of any number, by its definition */                                                       \
    static void dync__gf_any_##name(dync__gf_##name *z, int r, int V)                            \
    {                                                                                            \
        dync__gf_##name x[DYNC__GF_MOST];                                                        \
        memcpy(x, z, (size_t)r * sizeof *x);                                                     \
        for (int k = 0; k < r; k++) {                                                            \
            z[k] = x[0];                                                                         \
            for (int j = 1; j < r; j++) {                                                        \
                double turn = -6.28318530717958647693 * (j * k % r) / r;                         \
                dync__gf_add_##name(&z[k], &x[j], (T)cos(turn), (T)sin(turn), V);                \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
    static void dync__gf_pass_##name(int flags, int r, int V, dync__gt_args *x)                  \
    {                                                                                            \
        dync__gf_##name z[DYNC__GF_MOST], y;                                                     \
        const T *w = x->b;                                                                       \
        const char *a = x->a;                                                                    \
        char *c = x->c;                                                                          \
        bool each = flags & DYNC__GF_EACH, row = flags & DYNC__GF_ROW;                           \
        int64_t bytes = 2 * V * (int64_t)sizeof(T);                                              \
        for (int64_t i = 0; i < x->k; i++) {                                                     \
            for (int64_t n = 0; n < x->blocks; n++, a += bytes, c += bytes) {                    \
                for (int j = 0; j < r; j++) dync__gf_load_##name(&z[j], a + j * x->a_step, V);   \
                if (r == 4)                                                                      \
                    dync__gf_four_##name(z, V);                                                  \
                else if (r == 2)                                                                 \
                    dync__gf_two_##name(&z[0], &z[1], V);                                        \
                else                                                                             \
                    dync__gf_any_##name(z, r, V);                                                \
                for (int k = 0; k < r; k++) {                                                    \
                    int from = flags & DYNC__GF_BACK && k ? r - k : k;                           \
                    T *to = (T *)(void *)(c + k * x->c_step);                                    \
                    y = z[from];                                                                 \
                    if (row && (k || r == 1)) {                                                  \
                        const T *f = w + 3 * DYNC__MAX(k - 1, 0);                                \
                        memset(&y, 0, sizeof y);                                                 \
                        dync__gf_add_##name(&y, &z[from], f[0], f[1], V);                        \
                    }                                                                            \
                    DYNC__GF_EVERY(v)                                                            \
                    {                                                                            \
                        T fr = each ? w[2 * k * V + v] : 1,                                      \
                          fi = each ? w[(2 * k + 1) * V + v] : 0;                                \
                        to[v] = each ? y.re[v] * fr - y.im[v] * fi : y.re[v];                    \
                        to[V + v] = each ? y.re[v] * fi + y.im[v] * fr : y.im[v];                \
                    }                                                                            \
                }                                                                                \
                if (each) w += 2 * r * V;                                                        \
            }                                                                                    \
            c += x->b_step;                                                                      \
            if (row) w += 3 * DYNC__MAX(r - 1, 1);                                               \
        }                                                                                        \
    }                                                                                            \
    static void dync__gf_pairs_##name(bool zip, int V, dync__gt_args *x)                         \
    {                                                                                            \
        const char *a = x->a;                                                                    \
        char *c = x->c;                                                                          \
        int64_t bytes = 2 * V * (int64_t)sizeof(T);                                              \
        for (int64_t i = 0; i < x->k; i++) {                                                     \
            const T *from = (const T *)(const void *)a;                                          \
            T *to = (T *)(void *)c;                                                              \
            for (int e = 0; e < 2 * V; e++)                                                      \
                to[zip ? e : e % 2 * V + e / 2] = from[zip ? e % 2 * V + e / 2 : e];             \
            a += zip ? bytes : x->a_step, c += zip ? x->c_step : bytes;                          \
        }                                                                                        \
    }                                                                                            \
    static void dync__gf_real_##name(bool each, int V, dync__gt_args *x)                         \
    {                                                                                            \
        const T *a = x->a, *c = x->c, *tr = x->b, *ti = x->more[0], s = *(const T *)x->d;        \
        T *up, *down;                                                                            \
        memcpy(&up, each ? &x->more[1] : &x->a, sizeof up);                                      \
        memcpy(&down, each ? &x->lanes : (const void **)&x->c, sizeof down);                     \
        for (int64_t i = 0; i < x->k; i++) {                                                     \
            DYNC__GF_EVERY(v)                                                                    \
            {                                                                                    \
                int64_t p = each ? 2 * v : v, q = each ? 2 * (V - 1 - v) : v, im = each ? 1 : V, \
                        f = each ? i * V + v : i;                                                \
                T ar = a[p], ai = a[p + im], cr = c[q], ci = c[q + im];                          \
                T pr = s * (ar + cr), pi = s * (ai - ci), dr = ar - cr, di = ai + ci;            \
                T or_ = dr * tr[f] - di * ti[f], oi = di * tr[f] + dr * ti[f];                   \
                up[p] = pr + or_, up[p + im] = pi + oi;                                          \
                down[q] = pr - or_, down[q + im] = oi - pi;                                      \
            }                                                                                    \
            a += 2 * V, up += 2 * V, c -= 2 * V, down -= 2 * V;                                  \
        }                                                                                        \
    }                                                                                            \
    static void dync__gf_in_c_##name(int form, int flags, int r, int V, dync__gt_args *x)        \
    {                                                                                            \
        if (form == DYNC__GF_PASS)                                                               \
            dync__gf_pass_##name(flags, r, V, x);                                                \
        else if (form == DYNC__GF_REAL)                                                          \
            dync__gf_real_##name(flags & DYNC__GF_EACH, V, x);                                   \
        else                                                                                     \
            dync__gf_pairs_##name(form == DYNC__GF_ZIP, V, x);                                   \
    }
DYNC__GF_FORMS(float, f32)
#if !defined(DYNC_NO_F64)
DYNC__GF_FORMS(double, f64)
#endif

DYNC__FN dync__gt_fn dync__gf_find(int form, bool wide, int flags, int radix, int lanes)
{
    const dync__target *t = dync__gf_target();
    return !t || t->vector_bytes != lanes * (wide ? 8 : 4)
               ? NULL
               : dync__gt_code(t, DYNC__GT_FOURIER, wide ? DYNC__GT_F64 : DYNC__GT_F32, flags,
                               radix, form);
}

DYNC__FN void dync__gf_do(dync__gt_fn fn, int form, bool wide, int flags, int radix, int lanes,
                          dync__gt_args *x)
{
    char room[DYNC__GF_ROOM];
    (void)wide; /* without f64 */
    if (form == DYNC__GF_PASS) x->d = room;
    if (fn) fn(x);
#if !defined(DYNC_NO_F64)
    else if (wide)
        dync__gf_in_c_f64(form, flags, radix, lanes, x);
#endif
    else
        dync__gf_in_c_f32(form, flags, radix, lanes, x);
}
