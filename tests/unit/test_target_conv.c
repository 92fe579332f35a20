/* codegen/gen_conv.c, gen_wino.c and gen_planes.c over targets that are no machine (text_target.h,
 * text_checker.h): whole convolutions, their gradients and pooling, laid out by
 * kernel/conv_plan.c for such a target, against plain loops. Elements are small integers, so that
 * sums are exact in any order; Winograd's transforms round. */
#include "../../src/dync.in.h"
#include "../../src/kernel/conv_tiles.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"
#include "../tol.h"
#if DYNC__JIT
#include "text_checker.h"

static int some(int least, int most)
{
    return least + (int)(test_random() % (uint64_t)(most - least + 1));
}
static float *filled(int64_t n, int most)
{
    float *x = calloc((size_t)n + 1, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)some(-most, most);
    return x;
}

/* ---- by plain loops -------------------------------------------------------------------------- */

typedef struct arrays {
    const float *x, *w, *bias, *gy;
    float *y, *gx, *gw;
    int64_t *where;
} arrays;

/* All that one element of the result sees: fn(i) for each product's places in x, w and y. */
static void each(const dync__cj_shape *s, void (*fn)(const arrays *, int64_t, int64_t, int64_t),
                 const arrays *a)
{
    int64_t gc = s->c / s->groups, go = s->o / s->groups;
    for (int64_t b = 0; b < s->n; b++)
        for (int64_t o = 0; o < s->o; o++)
            for (int64_t oy = 0; oy < s->oh; oy++)
                for (int64_t ox = 0; ox < s->ow; ox++)
                    for (int64_t c = 0; c < gc; c++)
                        for (int64_t k = 0; k < s->kh * s->kw; k++) {
                            int64_t iy = oy * s->sy - s->py + k / s->kw * s->dy,
                                    ix = ox * s->sx - s->px + k % s->kw * s->dx;
                            if (iy < 0 || ix < 0 || iy >= s->h || ix >= s->w) continue;
                            fn(a, ((b * s->c + o / go * gc + c) * s->h + iy) * s->w + ix,
                               (o * gc + c) * s->kh * s->kw + k,
                               ((b * s->o + o) * s->oh + oy) * s->ow + ox);
                        }
}
static void into_y(const arrays *a, int64_t x, int64_t w, int64_t y)
{
    a->y[y] += a->x[x] * a->w[w];
}
static void into_gx(const arrays *a, int64_t x, int64_t w, int64_t y)
{
    a->gx[x] += a->w[w] * a->gy[y];
}
static void into_gw(const arrays *a, int64_t x, int64_t w, int64_t y)
{
    a->gw[w] += a->x[x] * a->gy[y];
}
static void sum(const arrays *a, int64_t x, int64_t w, int64_t y)
{
    (void)w;
    a->y[y] += a->x[x];
}
/* The greatest, the first of equal ones; of NaNs the last one, as PyTorch has it. */
static void greatest(const arrays *a, int64_t x, int64_t w, int64_t y)
{
    (void)w;
    if (a->where[y] < 0 || a->x[x] > a->y[y] || a->x[x] != a->x[x]) {
        a->y[y] = a->x[x];
        a->where[y] = x;
    }
}

/* ---- one of them ----------------------------------------------------------------------------- */

static int n_run, n_declined;

/* tolerance: of the greatest element, as Winograd's transforms round what other places add. */
static bool equal(const float *got, const float *wanted, int64_t n, double tolerance)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)wanted[i]));
    for (int64_t i = 0; i < n; i++) {
        double apart = fabs((double)got[i] - (double)wanted[i]);
        bool nan = got[i] != got[i] && wanted[i] != wanted[i];
        if (nan || got[i] == wanted[i] || apart <= tolerance * most) continue;
        printf("  element %d of %d: %.9g, not %.9g\n", (int)i, (int)n, (double)got[i],
               (double)wanted[i]);
        return false;
    }
    return true;
}

static bool same_places(const int64_t *got, const int64_t *wanted, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (wanted[i] >= 0 && got[i] != wanted[i]) return false;
    return true;
}

/* relu(sum * scale[channel]) + other[channel] */
static void follow(dync__cj_after *after)
{
    static const dync__after_op op[] = {
        {DYNC__P_load, DYNC_F32, {-1, -1, -1}, -1, 0, 0, {0}},
        {DYNC__P_load, DYNC_F32, {-1, -1, -1}, 0, 0, 0, {0}},
        {DYNC__P_mul, DYNC_F32, {0, 1, -1}, -1, 0, 0, {0}},
        {DYNC__P_const_, DYNC_F32, {-1, -1, -1}, -1, 0, 0, {0}},
        {DYNC__P_max, DYNC_F32, {2, 3, -1}, -1, 0, 0, {0}},
        {DYNC__P_load, DYNC_F32, {-1, -1, -1}, 1, 0, 0, {0}},
        {DYNC__P_add, DYNC_F32, {4, 5, -1}, -1, 0, 0, {0}},
    };
    memset(after, 0, sizeof *after);
    after->list.n = (int32_t)DYNC__COUNT_OF(op);
    after->list.n_sources = 2;
    memcpy(after->list.op, op, sizeof op);
    after->step[0] = after->step[1] = 1;
}

/* What is wanted, by loops, into where the arrays of `to` lie. */
static void plainly(const dync__cj_shape *s, int what, const arrays *to, const float *const *after)
{
    int64_t area = s->oh * s->ow;
    for (int64_t i = 0; what == DYNC__CJ_FORWARD && i < s->n * s->o * area; i++)
        to->y[i] = to->bias ? to->bias[i / area % s->o] : 0;
    for (int64_t i = 0; what >= DYNC__CJ_MAX && i < s->n * s->o * area; i++) {
        to->where[i] = -1; /* sees nothing but padding */
        if (what != DYNC__CJ_AVERAGE) to->y[i] = -INFINITY;
    }
    each(s,
         what == DYNC__CJ_FORWARD   ? into_y
         : what == DYNC__CJ_INPUT   ? into_gx
         : what == DYNC__CJ_WEIGHT  ? into_gw
         : what == DYNC__CJ_AVERAGE ? sum
                                    : greatest,
         to);
    for (int64_t i = 0; after && i < s->n * s->o * area; i++) {
        int64_t o = i / area % s->o;
        float y = to->y[i] * after[0][o];
        to->y[i] = (y < 0 ? 0 : y) + after[1][o];
    }
    for (int64_t i = 0; what == DYNC__CJ_AVERAGE && i < s->n * s->o * area; i++)
        to->y[i] /= (float)(s->kh * s->kw);
    for (int64_t i = 0; what == DYNC__CJ_WHERE && i < s->n * s->o * area; i++)
        to->where[i] %= s->h * s->w;
}

static bool agree(const dync__cj_shape *s, int what, bool listed)
{
    int64_t x = s->n * s->c * s->h * s->w, w = s->o * (s->c / s->groups) * s->kh * s->kw,
            y = s->n * s->o * s->oh * s->ow;
    bool pools = what >= DYNC__CJ_MAX;
    float *in = filled(x, 4), *weight = filled(w, 3), *gy = filled(y, 3), *bias = filled(s->o, 5),
          *scale = filled(s->o, 2), size = (float)(s->kh * s->kw);
    for (int i = 0; what >= DYNC__CJ_MAX && what != DYNC__CJ_AVERAGE && i < 3; i++)
        in[some(0, (int)x - 1)] = NAN;
    int64_t n = what == DYNC__CJ_INPUT ? x : what == DYNC__CJ_WEIGHT ? w : y;
    float *got = filled(n, 9), *wanted = calloc((size_t)n, sizeof *wanted);
    int64_t *index = calloc((size_t)y, sizeof *index), *where = calloc((size_t)y, sizeof *where);
    dync__cj_after after;
    follow(&after);
    dync__cj_form form = {false, false, listed ? &after : NULL};
    dync__cj *v = dync__cj_new(s, what, &form);
    bool ok = true;
    n_declined += !v;
    if (v) {
        const float *const more[] = {scale, bias};
        dync__cj_data d = {.in = what == DYNC__CJ_INPUT ? gy : in,
                           .weight = what == DYNC__CJ_WEIGHT ? gy
                                     : pools                 ? NULL
                                                             : weight,
                           .bias = what == DYNC__CJ_AVERAGE   ? &size
                                   : what == DYNC__CJ_FORWARD ? bias
                                                              : NULL,
                           .after = {scale, bias},
                           .out = got,
                           .index = what == DYNC__CJ_WHERE ? index : NULL};
        arrays to = {in, weight, bias, gy, wanted, wanted, wanted, where};
        plainly(s, what, &to, listed ? more : NULL);
        ok = EXPECT_OK(dync__cj_run(v, &d)) &&
             EXPECT(equal(got, wanted, n, s->winograd ? TOL_F32_SUM : TOL_EXACT)) &&
             EXPECT(what != DYNC__CJ_WHERE || same_places(index, where, y)) &&
             EXPECT(text_complaints == 0);
        n_run++;
        dync__cj_free(v);
    }
    free(in), free(weight), free(gy), free(bias), free(scale);
    free(got), free(wanted), free(index), free(where);
    return ok;
}

/* ---- at random ------------------------------------------------------------------------------- */

static dync__cj_shape random_shape(int what)
{
    dync__cj_shape s = {.n = some(1, 2), .h = some(1, 9), .w = some(1, 11), .groups = 1};
    if (some(0, 3) == 0) s.h = some(1, 3), s.w = some(17, 40); /* more than is written out */
    s.winograd = what <= DYNC__CJ_INPUT && some(0, 3) == 0 ? 2 * some(1, 2) : 0;
    s.kh = s.winograd ? 3 : some(1, 3);
    s.kw = s.winograd ? 3 : some(1, 4);
    s.sy = s.winograd ? 1 : some(1, 2);
    s.sx = s.winograd ? 1 : some(1, 2);
    s.dy = s.winograd ? 1 : some(1, 2);
    s.dx = s.winograd ? 1 : some(1, 2);
    s.py = some(0, (int)s.kh / 2);
    s.px = some(0, (int)s.kw / 2);
    s.c = s.o = some(1, 20);
    if (what >= DYNC__CJ_MAX || some(0, 3) == 0)
        s.groups = s.c; /* depthwise */
    else if (some(0, 2) == 0)
        s.groups = some(1, 2), s.c = s.groups * some(1, 9), s.o = s.groups * some(1, 9);
    else
        s.c = some(1, 20), s.o = some(1, 40);
    if (s.winograd) s.groups = 1, s.c = 16, s.o = some(16, 32);
    s.oh = (s.h + 2 * s.py - s.dy * (s.kh - 1) - 1) / s.sy + 1;
    s.ow = (s.w + 2 * s.px - s.dx * (s.kw - 1) - 1) / s.sx + 1;
    return s;
}

static void all(const dync__target *t)
{
    int n = test_count(25), sums[DYNC__CJ_WHERE + 1] = {0}, winograd = 0;
    dync_shutdown(); /* code made for another target is not used again */
    dync__target_pretend(t);
    dync__pool_set_threads(1);
    text_complaints = 0;
    memset(text_executed, 0, sizeof text_executed);
    n_run = n_declined = 0;
    for (int i = 0; i < n; i++)
        for (int what = DYNC__CJ_FORWARD; what <= DYNC__CJ_WHERE; what++) {
            dync__cj_shape s = random_shape(what);
            bool fits = s.h + 2 * s.py > s.dy * (s.kh - 1) && s.w + 2 * s.px > s.dx * (s.kw - 1),
                 listed = what == DYNC__CJ_FORWARD && i % 2;
            if (!fits) continue;
            int before = n_run;
            if (!EXPECT(agree(&s, what, listed))) {
                printf("  %s: what %d n %d c %d o %d in %dx%d kernel %dx%d stride %d,%d padding "
                       "%d,%d dilation %d,%d groups %d winograd %d listed %d\n",
                       t->name, what, (int)s.n, (int)s.c, (int)s.o, (int)s.h, (int)s.w, (int)s.kh,
                       (int)s.kw, (int)s.sy, (int)s.sx, (int)s.py, (int)s.px, (int)s.dy, (int)s.dx,
                       (int)s.groups, (int)s.winograd, listed);
                i = 2 * n;
                break;
            }
            sums[what] += n_run - before;
            winograd += s.winograd && n_run > before;
        }
    if (test__state.verbose)
        printf("  %s: %d run (%d by Winograd), %d declined\n", t->name, n_run, winograd,
               n_declined);
    for (int what = 0; n >= 25 && what <= DYNC__CJ_WHERE; what++) EXPECT(sums[what] >= 5);
    EXPECT(n < 25 || winograd >= 2);
    EXPECT(text_executed[DYNC__A_MERGE] > 0 && text_executed[DYNC__A_ZIP] > 0);
    EXPECT_EQ_INT(text_complaints, 0);
    dync__target_pretend(NULL);
    dync_shutdown();
    text_free();
}

/* ---- pictures of many widths ----------------------------------------------------------------- */
enum { FORMS = 512 };
typedef struct forms {
    dync__ccode at[FORMS];
    int n;
} forms;
static void note(forms *f, dync__ccode code)
{
    int i = 0;
    while (i < f->n && f->at[i] != code) i++;
    if (code && i == f->n && f->n < FORMS) f->at[f->n++] = code;
}

static void note_all(forms *f, const dync__cj *v)
{
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < v->n_phases; i++)
            for (int r = 0; r < 2 && v->what != DYNC__CJ_WEIGHT; r++)
                if (v->phase[i].run[r].count) note(f, v->phase[i].run[r].code[k]);
        for (int l = 0; l < v->n_lists; l++) note(f, v->list[l].code[k]);
    }
}

/* Tiles of one row at a time have no width in them: pictures of 60 widths take as many as there are
 * numbers of places and blocks; lists of a weight gradient always the same. */
TEST(pictures_of_many_widths)
{
    static const struct {
        int what, c, o, groups;
    } of[] = {{DYNC__CJ_FORWARD, 3, 40, 1},   {DYNC__CJ_FORWARD, 16, 48, 1},
              {DYNC__CJ_INPUT, 16, 16, 1},    {DYNC__CJ_WEIGHT, 32, 48, 1},
              {DYNC__CJ_FORWARD, 20, 20, 20}, {DYNC__CJ_MAX, 5, 5, 5},
              {DYNC__CJ_WHERE, 5, 5, 5},      {DYNC__CJ_AVERAGE, 16, 16, 16}};
    if (!dync__target_now()) SKIP("no machine code here");
    dync__pool_set_threads(1);
    for (int i = 0; i < DYNC__COUNT_OF(of); i++) {
        enum { LEAST = 30, MOST = 90 };
        forms all_widths = {.n = 0};
        dync__cj *held[MOST - LEAST]; /* code that nobody holds may go and come back elsewhere */
        bool weight = of[i].what == DYNC__CJ_WEIGHT;
        int64_t lists = 0;
        for (int w = LEAST; w < MOST; w++) {
            dync__cj_shape s = {1, of[i].c, 2, w, of[i].o,      2, w, 3,       3, 1, 1,
                                1, 1,       1, 1, of[i].groups, 0, 0, DYNC_F32};
            dync__cj_form form = {false, false, NULL};
            if (!EXPECT(agree(&s, of[i].what, false)))
                printf("  what %d, width %d\n", of[i].what, w);
            dync__cj *v = held[w - LEAST] = dync__cj_new(&s, of[i].what, &form);
            REQUIRE(v != NULL);
            note_all(&all_widths, v);
            lists = v->n_lists * (v->B[1] ? 2 : 1);
        }
        for (int w = LEAST; w < MOST; w++) dync__cj_free(held[w - LEAST]);
        if (!EXPECT(all_widths.n <= (weight ? lists : DYNC__CT_PLACES)))
            printf("  what %d: %d forms of code\n", of[i].what, all_widths.n);
    }
}

TEST(convolutions_16_bytes) { all(&text128); }
TEST(convolutions_64_bytes) { all(&text512); }
#else
TEST(no_jit_here) { EXPECT(true); }
#endif
TEST_MAIN
