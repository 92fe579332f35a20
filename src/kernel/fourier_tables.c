/* kernel/fourier_tables.c: the lengths and factors of a Fourier transform, made when a plan is.
 * After fourier_core.c, before fourier.c.
 *
 * A length whose primes are at most DYNC__GF_MOST is done by passes (Stockham: Cochran et al. 1967,
 * "What is the fast Fourier transform?"); another one by a convolution with a chirp, of a length
 * that is (Bluestein 1970). One row is a matrix whose columns are transformed, multiplied and then
 * its lines ("four steps", Bailey 1990). Angles are of whole numbers, in f64. */
#include "../dync.in.h"
#include "fourier.h"
DYNC__LEAN

/* exp(sign 2 pi i k / n) for k < n: a quarter of a wave is computed */
typedef struct dync__fft_wave {
    int64_t n;
    double sign, *sine; /* sin(2 pi k / n): of a quarter where n is divisible by 4, else all */
} dync__fft_wave;
static bool dync__fft_wave_new(dync__fft_wave *w, dync__arena *arena, int64_t n, double sign)
{
    int64_t most = n % 4 ? n : n / 4 + 1;
    *w = (dync__fft_wave){n, sign, dync__arena_alloc(arena, (size_t)most * sizeof(double) * 2)};
    for (int64_t k = 0; w->sine && k < most; k++) {
        double turn = 6.28318530717958647693 * (double)k / (double)n;
        w->sine[k] = sin(turn);
        if (n % 4) w->sine[most + k] = cos(turn);
    }
    return w->sine != NULL;
}
static double dync__fft_sine(const dync__fft_wave *w, int64_t k)
{
    int64_t quarter = w->n / 4;
    if (w->n % 4) return w->sine[k];
    k %= w->n;
    return k <= quarter       ? w->sine[k]
           : k <= 2 * quarter ? w->sine[2 * quarter - k]
           : k <= 3 * quarter ? -w->sine[k - 2 * quarter]
                              : -w->sine[w->n - k];
}
/* k < n */
static void dync__fft_root(const dync__fft_wave *w, int64_t k, double out[2])
{
    out[0] = w->n % 4 ? w->sine[w->n + k] : dync__fft_sine(w, k + w->n / 4);
    out[1] = w->sign * dync__fft_sine(w, k);
}

static void dync__fft_put(const dync__fft_plan *p, char *table, int64_t i, double x)
{
    dync__store_f64(table + i * p->bytes, p->wide ? DYNC_F64 : DYNC_F32, x);
}
static char *dync__fft_table_new(dync__fft_plan *p, int64_t numbers)
{
    return dync__arena_alloc(&p->arena, (size_t)(numbers * p->bytes));
}
/* A factor for every lane: real part, imaginary part, and that negated. */
static void dync__fft_put_row(const dync__fft_plan *p, char *table, int64_t i, const double z[2])
{
    for (int part = 0; part < 3; part++)
        dync__fft_put(p, table, 3 * i + part, part == 0 ? z[0] : part == 1 ? z[1] : -z[1]);
}

/* The largest radix that divides n; four where eight would leave a two. 0: n has a large prime. */
static int dync__fft_radix(int64_t n)
{
    static const int8_t radix[] = {11, 7, 5, 3};
    for (int i = 0; i < DYNC__COUNT_OF(radix); i++)
        if (n % radix[i] == 0) return radix[i];
    return n % 8 == 0 && n != 16 ? 8 : n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 0;
}
static int dync__fft_passes(int64_t n)
{
    int passes = 0;
    for (int r; n > 1; n /= r, passes++)
        if (!(r = dync__fft_radix(n))) return 0;
    return passes;
}

/* Of passes of radix r over n numbers that are left, results k of number l are multiplied by
 * w(n)^(k l). */
static bool dync__fft_core_new(dync__fft_plan *p, dync__fft_core *c, int64_t n, double sign)
{
    dync__fft_wave w;
    dync__arena arena = {0};
    bool ok = dync__fft_wave_new(&w, &arena, n, sign);
    c->n = n;
    c->back = sign > 0;
    c->passes = 0;
    for (int64_t left = n; ok && left > 1; c->passes++) {
        int r = c->radix[c->passes] = (int8_t)dync__fft_radix(left);
        int64_t rows = left / r;
        char *table = dync__fft_table_new(p, 3 * (r - 1) * rows);
        ok = table != NULL;
        c->row[c->passes] = table;
        for (int64_t l = 0; ok && l < rows; l++)
            for (int k = 1; k < r; k++) {
                double z[2];
                dync__fft_root(&w, l * k * (n / left), z);
                dync__fft_put_row(p, table, l * (r - 1) + k - 1, z);
            }
        left = rows;
    }
    dync__arena_free(&arena);
    return ok;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Lanes that passes over n numbers of `beside` columns work on. */
static int64_t dync__fft_work(int64_t n, int64_t beside, int V)
{
    return n * ((beside + V - 1) / V) * (dync__fft_passes(n) + 1);
}
/* w(m)^(b c) for every V columns b (the last ones moved back), as the last pass over c meets them:
 * of block s the results of each k, c = k (n / r) + s. */
static bool dync__fft_turns(dync__fft_plan *p, double sign)
{
    dync__fft_core *c = &p->column;
    dync__fft_wave w;
    dync__arena arena = {0};
    int64_t n = c->n, columns = p->line.n, parts = (columns + p->V - 1) / p->V, at = 0;
    int r = c->radix[c->passes - 1];
    bool ok = dync__fft_wave_new(&w, &arena, p->m, sign);
    p->turn = ok ? dync__fft_table_new(p, 2 * p->V * n * parts) : NULL;
    for (int64_t part = 0; p->turn && part < parts; part++)
        for (int64_t s = 0; s < n / r; s++)
            for (int k = 0; k < r; k++, at += 2 * p->V)
                for (int v = 0; v < p->V; v++) {
                    int64_t b = DYNC__MIN(part * p->V, columns - p->V) + v;
                    double z[2], scale = p->halved ? 1 : p->attr.scale;
                    dync__fft_root(&w, b * (k * (n / r) + s), z);
                    dync__fft_put(p, p->turn, at + v, z[0] * scale);
                    dync__fft_put(p, p->turn, at + p->V + v, z[1] * scale);
                }
    dync__arena_free(&arena);
    return p->turn != NULL;
}
static bool dync__fft_by_row(dync__fft_plan *p, double sign)
{
    int64_t best = 0, work = INT64_MAX;
    for (int64_t n = p->V; n <= p->m / p->V; n++) {
        int64_t other = p->m / n,
                cost = p->m % n ? INT64_MAX
                                : dync__fft_work(n, other, p->V) + dync__fft_work(other, n, p->V);
        if (cost < work) best = n, work = cost;
    }
    return !best ||
           (dync__fft_core_new(p, &p->column, best, sign) &&
            dync__fft_core_new(p, &p->line, p->m / best, sign) && dync__fft_turns(p, sign));
}

/* ---- a large prime --------------------------------------------------------------------------- */

/* The least length from n on of which primes are small. */
static int64_t dync__fft_padded(int64_t n)
{
    int64_t best = INT64_MAX;
    for (int64_t odd = 1; odd <= 15; odd += 2) {
        int64_t length = odd;
        if (odd == 11 || odd == 13) continue;
        while (length < n) length *= 2;
        best = DYNC__MIN(best, length);
    }
    return best;
}

/* x[j] c[j], convolved with conj c, times c: c[j] = w(2 n)^(j j). The spectrum of conj c is made by
 * the passes themselves, of V rows of which the first one counts. */
static bool dync__fft_chirps(dync__fft_plan *p, double sign)
{
    int64_t n = p->m, M = p->whole.n, block = 2 * p->V;
    dync__fft_wave w;
    dync__arena arena = {0};
    dync__fft_code code;
    dync__fft_code_find(p, &code);
    bool ok = dync__fft_wave_new(&w, &arena, 2 * n, sign);
    size_t bytes = (size_t)(M * block * p->bytes);
    char *room = ok ? dync__arena_alloc(&arena, 2 * bytes) : NULL;
    p->chirp = dync__fft_table_new(p, 3 * n);
    p->filter = dync__fft_table_new(p, 3 * M);
    ok = room && p->chirp && p->filter;
    if (ok) memset(room, 0, 2 * bytes);
    for (int64_t j = 0, square = 0; ok && j < n; square = (square + 2 * j + 1) % (2 * n), j++) {
        double z[2];
        dync__fft_root(&w, square, z);
        dync__fft_put_row(p, p->chirp, j, z);
        for (int i = 0; i < 1 + (j > 0); i++) {
            int64_t at = i ? M - j : j; /* M >= 2 n - 1: not the same */
            dync__fft_put(p, room, at * block, z[0]);
            dync__fft_put(p, room, at * block + p->V, -z[1]);
        }
    }
    if (ok) {
        const char *spectrum =
            dync__fft_core_run(p, &p->whole, code.whole, room, room + bytes, NULL);
        double scale = (p->halved ? 1 : p->attr.scale) / (double)M;
        for (int64_t k = 0; k < M; k++) {
            double z[2];
            for (int i = 0; i < 2; i++)
                z[i] = scale * dync__load_f64(spectrum + (k * block + i * p->V) * p->bytes,
                                              p->wide ? DYNC_F64 : DYNC_F32);
            dync__fft_put_row(p, p->filter, k, z);
        }
    }
    dync__arena_free(&arena);
    return ok;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Forwards t = -i w / 2 and s = 1 / 2, back t = i w and s = 1, w to the number's power; both times
 * the scale. */
static bool dync__fft_reals(dync__fft_plan *p, double sign)
{
    int64_t n = p->m / 2 + 2 * p->V;
    dync__fft_wave w;
    dync__arena arena = {0};
    double s = p->attr.scale * (sign < 0 ? 0.5 : 1);
    bool ok = dync__fft_wave_new(&w, &arena, 2 * p->m, sign);
    for (int i = 0; ok && i < 2; i++) ok = (p->real[i] = dync__fft_table_new(p, n)) != NULL;
    for (int64_t k = 1; ok && k <= n; k++) {
        double z[2];
        dync__fft_root(&w, k % (2 * p->m), z);
        dync__fft_put(p, p->real[0], k - 1, -sign * z[1] * s);
        dync__fft_put(p, p->real[1], k - 1, sign * z[0] * s);
    }
    dync__arena_free(&arena);
    return ok;
}

DYNC__FN void dync__fft_plan_free(void *plan)
{
    dync__fft_plan *p = plan;
    if (!p) return;
    dync__arena_free(&p->arena);
    dync__free(p, sizeof *p);
}

DYNC__FN dync__fft_plan *dync__fft_plan_new(const dync__attr_fourier *attr, bool wide)
{
    dync__fft_plan *p = dync__calloc(sizeof *p);
    double sign = attr->back ? 1 : -1;
    int64_t n = attr->n, bins = 2 * (n / 2 + 1);
    if (!p) return NULL;
    p->attr = *attr;
    p->wide = wide;
    p->bytes = wide ? 8 : 4;
    p->V = dync__gf_lanes(wide);
    p->halved = attr->half && n % 2 == 0;
    p->m = p->halved ? n / 2 : n;
    p->in = !attr->pairs ? n : attr->half ? bins : 2 * n;
    p->out = !attr->half ? 2 * n : attr->back ? n : bins;
    bool smooth = p->m == 1 || dync__fft_passes(p->m) > 0, ok;
    ok = smooth ? dync__fft_core_new(p, &p->whole, p->m, sign)
                : dync__fft_core_new(p, &p->whole, dync__fft_padded(2 * p->m - 1), -1) &&
                      dync__fft_core_new(p, &p->back, p->whole.n, 1) && dync__fft_chirps(p, sign);
    if (ok && smooth && (p->halved || (attr->pairs && !attr->half))) ok = dync__fft_by_row(p, sign);
    if (ok && p->halved) ok = dync__fft_reals(p, sign);
    ok = ok && (p->scale = dync__fft_table_new(p, 3)) != NULL;
    if (ok) dync__fft_put_row(p, p->scale, 0, (const double[2]){attr->scale, 0});
    if (ok) return p;
    dync__fft_plan_free(p);
    return NULL;
}
