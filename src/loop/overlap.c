/* loop/overlap.c: may two accesses meet at an element? After fuse_map.c, before fuse_traits.c. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

/* ---- ranges ---------------------------------------------------------------------------------- */

typedef struct dync__access_span {
    dync__size low, high; /* the lowest and highest element */
    dync__size all; /* the gcd of a number that divides each stride, whatever the symbols are */
    bool sized;     /* a stride or an extent is symbolic */
} dync__access_span;

static dync__size dync__access_gcd(dync__size a, dync__size b)
{
    for (dync__size t; b != 0; b = t) {
        t = a % b;
        a = b;
    }
    return a;
}

static void dync__access_span_of(const dync__access *acc, int n, const dync__size *extent,
                                 dync__access_span *s)
{
    s->low = s->high = acc->offset;
    for (int d = 0; d < n; d++) {
        if (extent[d] <= 1) continue;
        dync__size stride = acc->stride[d], reach = dync__access_reach(stride, extent[d]),
                   *end = dync__sz_lt(reach, 0) ? &s->low : &s->high;
        *end = dync__sz_add(*end, reach);
        s->sized |= dync__is_token(stride) || dync__is_token(extent[d]);
        s->all = dync__access_gcd(s->all, dync__sz_factor(stride));
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A step of so many elements, taken from low to high times. */
typedef struct dync__access_step {
    int64_t stride, low, high;
} dync__access_step;
/* Steps by falling stride. left: how many more places may be tried. */
typedef struct dync__access_steps {
    dync__access_step at[2 * DYNC__LOOP_MAX_DIMS];
    int n, left;
    bool known; /* numbers, and none so large that their sums might overflow */
} dync__access_steps;

/* The loops of an access, forwards or, sign -1, subtracted; of equal strides one. */
static void dync__access_steps_of(const dync__access *acc, int n, const dync__size *extent,
                                  int sign, dync__access_steps *s)
{
    const int64_t most = (int64_t)1 << 56;
    for (int d = 0; d < n; d++) {
        if (extent[d] <= 1 || acc->stride[d] == 0) continue;
        bool number = !dync__is_token(extent[d]) && !dync__is_token(acc->stride[d]);
        int64_t last = extent[d] - 1, stride = number ? llabs(acc->stride[d]) : 0;
        s->known &= number && last < INT32_MAX && stride < INT32_MAX && last * stride < most;
        if (!s->known) return;
        bool back = (acc->stride[d] < 0) != (sign < 0);
        int at = 0;
        while (at < s->n && s->at[at].stride > stride) at++;
        if (at == s->n || s->at[at].stride != stride) {
            memmove(&s->at[at + 1], &s->at[at], (size_t)(s->n++ - at) * sizeof s->at[0]);
            s->at[at] = (dync__access_step){stride, 0, 0};
        }
        *(back ? &s->at[at].low : &s->at[at].high) += back ? -last : last;
    }
}

static int64_t dync__access_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Do steps from number `from` on make up `apart`? Of the largest as many are tried as leave what
 * the smaller ones may reach. */
static bool dync__access_made_up(dync__access_steps *s, int from, int64_t apart)
{
    int64_t low = 0, high = 0;
    if (from == s->n) return apart == 0;
    if (s->left-- <= 0) return true;
    for (int i = from + 1; i < s->n; i++) {
        low += s->at[i].stride * s->at[i].low;
        high += s->at[i].stride * s->at[i].high;
    }
    const dync__access_step *step = &s->at[from];
    int64_t first = DYNC__MAX(-dync__access_floor(high - apart, step->stride), step->low),
            last = DYNC__MIN(dync__access_floor(apart - low, step->stride), step->high);
    for (int64_t i = first; i <= last; i++)
        if (dync__access_made_up(s, from + 1, apart - i * step->stride)) return true;
    return false;
}

/* Do numbers tell that no index of one is an element of the other? */
static bool dync__access_misses(const dync__access *a, int n, const dync__size *extent,
                                const dync__access *b, int n2, const dync__size *extent2)
{
    dync__access_steps s = {.left = 64,
                            .known = !dync__is_token(a->offset) && !dync__is_token(b->offset) &&
                                     llabs(a->offset) < (int64_t)1 << 56 &&
                                     llabs(b->offset) < (int64_t)1 << 56};
    if (s.known) dync__access_steps_of(a, n, extent, 1, &s);
    if (s.known) dync__access_steps_of(b, n2, extent2, -1, &s);
    return s.known && !dync__access_made_up(&s, 0, b->offset - a->offset);
}

/* May the two meet? By their ranges, by the gcd of all strides (the GCD test of dependence
 * analysis), and by trying the steps, largest first: true where it is not known. Where some sizes
 * would tell more, the table in force notes it. */
DYNC__FN bool dync__access_overlap(const dync__access *a, int n, const dync__size *extent,
                                   const dync__access *b, int n2, const dync__size *extent2)
{
    dync__access_span s = {0}, s2;
    if (a->offset == b->offset) return true;
    dync__access_span_of(a, n, extent, &s);
    s2 = s;
    dync__access_span_of(b, n2, extent2, &s2);
    if (dync__sz_lt(s.high, s2.low) || dync__sz_lt(s2.high, s.low)) return false;
    dync__size apart = dync__sz_sub(a->offset, b->offset);
    if (s2.all != 0 && !dync__is_token(apart) && apart % s2.all != 0) return false;
    /* small programs go by ranges and the gcd alone */
    if (DYNC__SMALLER(false, true) && dync__access_misses(a, n, extent, b, n2, extent2))
        return false;
    if ((s2.sized || dync__is_token(apart)) && dync__tls.syms)
        DYNC__ATOMIC_STORE(&dync__tls.syms->cautious, true);
    return true;
}
