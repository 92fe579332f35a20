/* kernel/fourier.c: Fourier transforms of the rows of a matrix. After fourier_tables.c; before:
 * op/fourier_products.c, whose products are the plain form.
 *
 * Rows are transformed V at a time where their blocks fit the caches, else one by one. Threads
 * share groups of rows. */
#include "../dync.in.h"
#include "fourier.h"
DYNC__HOT

/* x [rows, n], [rows, n, 2] or [rows, n / 2 + 1, 2], y: as attr says; f32 or f64 */
DYNC__FN dync_status dync__k_fourier_prepare(dync__kcall *c)
{
    bool wide = c->operand[0].dtype == DYNC_F64;
    DYNC__TRY(dync__kcall_expect(c, c->n == 2, "x and y"));
    DYNC__TRY(dync__kcall_expect(c, wide || c->operand[0].dtype == DYNC_F32, "f32 or f64"));
    c->state = dync__fft_plan_new(&c->attr.fourier, wide);
    c->drop = dync__fft_plan_free;
    return c->state ? DYNC_OK : dync__fail_memory(0);
}

/* The first `groups` units are V rows each (the last one maybe less), the others a row each. */
typedef struct dync__fft_job {
    const dync__fft_plan *plan;
    dync__fft_code code;
    const char *x;
    char *y, *room;
    int64_t rows, x_step, y_step, groups, units;
    size_t room_bytes;
} dync__fft_job;

static size_t dync__fft_room_bytes(const dync__fft_plan *p)
{
    int64_t pairs = 4 * (p->m + 1), one = pairs + 4 * p->V * DYNC__MAX(p->column.n, p->line.n),
            lanes = 2 * dync__fft_room(p);
    return ((size_t)(DYNC__MAX(one, lanes) * p->bytes) + 63) & ~(size_t)63;
}
static void dync__fft_part(void *user, int part, int n_parts)
{
    const dync__fft_job *j = user;
    const dync__fft_plan *p = j->plan;
    char *room = j->room + (size_t)part * j->room_bytes;
    for (int64_t i = j->units * part / n_parts; i < j->units * (part + 1) / n_parts; i++) {
        bool one = i >= j->groups;
        int64_t row = one ? j->groups * p->V + i - j->groups : i * p->V;
        const char *x = j->x + row * j->x_step;
        char *y = j->y + row * j->y_step;
        if (one)
            dync__fft_one(p, &j->code, x, y, room);
        else
            dync__fft_lanes(p, &j->code, x, j->x_step, y, j->y_step, DYNC__MIN(j->rows - row, p->V),
                            room);
    }
}

/* Bytes of blocks up to which V rows at a time are faster than each alone. */
static int64_t dync__fft_lanes_most(void)
{
    int64_t l2 = dync__cpu_l2_bytes();
    return l2 < DYNC__FOURIER_L2 ? DYNC__FOURIER_LANES : l2 * DYNC__FOURIER_LANES_L2;
}

/* How rows are shared between the two ways. */
static void dync__fft_share(dync__fft_job *j)
{
    const dync__fft_plan *p = j->plan;
    int64_t V = p->V, rest = j->rows % V, blocks = 2 * dync__fft_room(p) * p->bytes;
    j->groups = j->rows / V;
    if (!p->column.n)
        j->groups += rest > 0, rest = 0;
    else if (blocks > dync__fft_lanes_most())
        j->groups = 0, rest = j->rows;
    else if (2 * rest > V)
        j->groups++, rest = 0;
    j->units = j->groups + rest;
}

DYNC__FN dync_status dync__k_fourier(const dync__kcall *c, void *const *data, void *scratch)
{
    dync__fft_job j;
    const dync__fft_plan *p = j.plan = c->state;
    dync__dense d[2];
    (void)scratch;
    dync_status status = dync__dense_all(c, 2, 1, data, d);
    int64_t numel = dync__operand_numel(&c->operand[1]);
    if (status == DYNC_OK && numel) {
        j.x = d[0].data, j.y = d[1].data;
        j.rows = numel / p->out;
        j.x_step = p->in * p->bytes, j.y_step = p->out * p->bytes;
        dync__fft_share(&j);
        dync__fft_code_find(p, &j.code);
        int threads = dync__pool_worth((double)numel * DYNC__FOURIER_NS);
        int parts = (int)DYNC__MIN(threads, j.units);
        j.room_bytes = dync__fft_room_bytes(p);
        char *room = dync__alloc_data((size_t)parts * j.room_bytes);
        j.room = room;
        if (!room)
            status = dync__fail_memory((size_t)parts * j.room_bytes);
        else if (parts > 1)
            dync__pool_run(dync__fft_part, &j, parts);
        else
            dync__fft_part(&j, 0, 1);
        if (room) dync__free_data(room, (size_t)parts * j.room_bytes);
    }
    return dync__dense_end(c, 2, 1, data, d, status);
}
