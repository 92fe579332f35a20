/* loop/fuse_map.c: index maps between two loop nests. Before fuse_merge.c, which moves a body
 * through one.
 *
 * A buffer ties two kernels: one reaches it by a(host loops), the other by b(guest loops), both
 * sums of stride * loop. The guest loops that make b equal a are found digit by digit: b's strides,
 * sorted, are the places of a mixed radix, and each stride of a is written in them. Where a loop of
 * the host runs over a place's end, it is split there (i -> block*i0 + i1), so that a flat loop
 * meets a nest of two. Sound because b is injective and every digit is proved to stay in its range:
 * no carries. The same as matching the index expressions of scheduler nodes in TorchInductor, done
 * on strides. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

DYNC__FN void dync__frame_start(dync__fuse_frame *f, const dync__kernel *host)
{
    f->n_maps = 0;
    f->nest.n_outer = host->n_outer;
    f->nest.n = host->n_dims;
    for (int d = 0; d < host->n_dims; d++) {
        f->nest.extent[d] = host->extent[d];
        f->nest.mul[d] = 1;
        f->nest.from[d] = (int8_t)d;
    }
}

DYNC__FN int dync__frame_add_map(dync__fuse_frame *f, const dync__kernel *guest)
{
    if (f->n_maps == DYNC__FUSE_MAPS) return -1;
    dync__index_map *m = &f->map[f->n_maps];
    memset(m, 0, sizeof *m);
    m->n = guest->n_dims;
    for (int g = 0; g < m->n; g++) {
        m->extent[g] = guest->extent[g];
        m->solved[g] = guest->extent[g] == 1;
    }
    return f->n_maps++;
}

DYNC__FN dync__access dync__nest_access(const dync__nest *nest, const dync__access *acc)
{
    dync__access out;
    memset(&out, 0, sizeof out);
    out.offset = acc->offset;
    out.rows = acc->rows;
    out.row_stride = acc->row_stride;
    for (int h = 0; h < nest->n; h++)
        out.stride[h] = dync__sz_mul(acc->stride[nest->from[h]], nest->mul[h]);
    return out;
}

DYNC__FN dync__access dync__map_access(const dync__index_map *m, int n_host,
                                       const dync__access *acc)
{
    dync__access out;
    memset(&out, 0, sizeof out);
    out.offset = acc->offset;
    out.rows = acc->rows;
    out.row_stride = acc->row_stride;
    for (int g = 0; g < m->n; g++) {
        out.offset = dync__sz_add(out.offset, dync__sz_mul(acc->stride[g], m->offset[g]));
        for (int h = 0; h < n_host; h++)
            out.stride[h] =
                dync__sz_add(out.stride[h], dync__sz_mul(acc->stride[g], m->coef[g][h]));
    }
    return out;
}

/* Loop h becomes h (blocks) and h + 1 (inside a block); row[h] is multiplied for the blocks. */
static void dync__frame_split_row(dync__size *row, int n, int h, dync__size block)
{
    memmove(&row[h + 1], &row[h], (size_t)(n - h) * sizeof row[0]);
    row[h] = dync__sz_mul(row[h], block);
}

/* Splits loop h of the nest in `block`s, in every map of the frame and in the access being solved.
 * False: too many loops. block must divide the extent. */
static bool dync__frame_split(dync__fuse_frame *f, dync__access *host, int h, dync__size block)
{
    dync__nest *nest = &f->nest;
    int n = nest->n;
    if (n == DYNC__LOOP_MAX_DIMS) return false;
    dync__frame_split_row(host->stride, n, h, block);
    for (int m = 0; m < f->n_maps; m++)
        for (int g = 0; g < f->map[m].n; g++) dync__frame_split_row(f->map[m].coef[g], n, h, block);
    dync__frame_split_row(nest->mul, n, h, block);
    dync__frame_split_row(nest->extent, n, h, 1);
    memmove(&nest->from[h + 1], &nest->from[h], (size_t)(n - h) * sizeof nest->from[0]);
    nest->extent[h] = dync__sz_div(nest->extent[h], block);
    nest->extent[h + 1] = block;
    nest->n++;
    nest->n_outer += h < nest->n_outer;
    return true;
}

/* From the first index of a loop to its last. */
DYNC__FN dync__size dync__access_reach(dync__size stride, dync__size extent)
{
    return dync__sz_mul(stride, dync__sz_sub(extent, 1));
}

/* Does a loop of stride a come before one of stride b, the smallest first? Of two that are equal by
 * chance that which has one step now comes first: the other's stride has its length as a factor. */
static bool dync__loop_before(dync__size a, dync__size extent, dync__size b)
{
    if (dync__sz_lt(a, b)) return true;
    return dync__is_token(extent) && dync__sz_hint(extent) == 1 && !dync__sz_lt(b, a);
}

/* The guest loops that acc varies along, smallest stride first; -1 where acc is no mixed radix. */
static int dync__map_places(const dync__index_map *m, const dync__access *acc, int *place)
{
    int n = 0;
    dync__size span = 0;
    for (int g = 0; g < m->n; g++) {
        if (m->extent[g] <= 1 || dync__sz_eq(acc->stride[g], 0)) continue;
        int i = n++;
        for (; i > 0 && dync__loop_before(acc->stride[g], m->extent[g], acc->stride[place[i - 1]]);
             i--)
            place[i] = place[i - 1];
        place[i] = g;
    }
    for (int i = 0; i < n; i++) {
        if (!dync__sz_lt(span, acc->stride[place[i]])) return -1;
        span = dync__sz_add(span, dync__access_reach(acc->stride[place[i]], m->extent[place[i]]));
    }
    return n;
}

/* value as digits, greatest place first; digit[] is per place. */
static bool dync__map_digits(const dync__access *acc, const int *place, int n, dync__size value,
                             dync__size *digit)
{
    bool negative = dync__sz_lt(value, 0);
    dync__size rest = negative ? dync__sz_sub(0, value) : value;
    for (int i = n - 1; i >= 0; i--) {
        dync__size stride = acc->stride[place[i]],
                   d = dync__sz_lt(rest, stride) ? 0 : dync__sz_div(rest, stride);
        rest = dync__sz_sub(rest, dync__sz_mul(d, stride));
        digit[i] = negative ? dync__sz_sub(0, d) : d;
    }
    return dync__sz_eq(rest, 0);
}

/* Writes host's offset and strides as digits into the map; false: something is left over, so guest
 * reaches no such place. Ranges are not yet checked. */
static bool dync__map_write(dync__fuse_frame *f, int map, const dync__access *host,
                            const dync__access *guest, const int *place, int n)
{
    dync__index_map *m = &f->map[map];
    dync__size digit[DYNC__LOOP_MAX_DIMS];
    if (!dync__map_digits(guest, place, n, dync__sz_sub(host->offset, guest->offset), digit))
        return false;
    for (int i = 0; i < n; i++) m->offset[place[i]] = digit[i];
    for (int h = 0; h < f->nest.n; h++) {
        if (!dync__map_digits(guest, place, n, f->nest.extent[h] > 1 ? host->stride[h] : 0, digit))
            return false;
        for (int i = 0; i < n; i++) m->coef[place[i]][h] = digit[i];
    }
    return true;
}

/* -1: below its range, 1: above it, 0: inside */
static int dync__map_range(const dync__fuse_frame *f, const dync__index_map *m, int g)
{
    dync__size low = m->offset[g], high = low;
    for (int h = 0; h < f->nest.n; h++) {
        dync__size reach = dync__access_reach(m->coef[g][h], f->nest.extent[h]);
        if (dync__sz_lt(reach, 0))
            low = dync__sz_add(low, reach);
        else
            high = dync__sz_add(high, reach);
    }
    return dync__sz_lt(low, 0) ? -1 : !dync__sz_lt(high, m->extent[g]) ? 1 : 0;
}

static bool dync__map_divides(dync__size by, dync__size size)
{
    return dync__sz_eq(dync__sz_mod(size, by), 0);
}

/* The digit of place i runs over: split a host loop where the digit is full. */
static bool dync__map_split(dync__fuse_frame *f, int map, dync__access *host,
                            const dync__access *guest, const int *place, int n, int i)
{
    if (i + 1 >= n || !dync__map_divides(guest->stride[place[i]], guest->stride[place[i + 1]]))
        return false;
    dync__size radix = dync__sz_div(guest->stride[place[i + 1]], guest->stride[place[i]]);
    for (int h = 0; h < f->nest.n; h++) {
        dync__size c = f->map[map].coef[place[i]][h], extent = f->nest.extent[h];
        if (!dync__sz_lt(0, c) || !dync__map_divides(c, radix)) continue;
        dync__size block = dync__sz_div(radix, c);
        if (dync__sz_lt(1, block) && dync__sz_lt(block, extent) && dync__map_divides(block, extent))
            return dync__frame_split(f, host, h, block);
    }
    return false;
}

/* Guest loops that walk backwards are reversed, and reversed again when they are known. */
DYNC__FN bool dync__map_solve(dync__fuse_frame *f, int map, dync__access host,
                              const dync__access *access)
{
    dync__index_map *m = &f->map[map];
    dync__access forward = *access, *guest = &forward;
    for (int g = 0; g < m->n; g++) {
        if (m->extent[g] <= 1 || !dync__sz_lt(access->stride[g], 0)) continue;
        forward.offset =
            dync__sz_add(forward.offset, dync__access_reach(access->stride[g], m->extent[g])),
        forward.stride[g] = dync__sz_sub(0, access->stride[g]);
    }
    int place[DYNC__LOOP_MAX_DIMS], n = dync__map_places(m, guest, place);
    if (n < 0) return false;
    for (;;) {
        if (!dync__map_write(f, map, &host, guest, place, n)) return false;
        int over = -1, side = 0;
        for (int i = 0; i < n && over < 0; i++)
            if ((side = dync__map_range(f, &f->map[map], place[i])) != 0) over = i;
        if (over < 0) break;
        if (side < 0 || !dync__map_split(f, map, &host, guest, place, n, over))
            return false; /* each split adds a loop: at most 16 */
    }
    for (int i = 0, g; i < n; i++) {
        m->solved[g = place[i]] = true;
        if (!dync__sz_lt(access->stride[g], 0)) continue;
        m->offset[g] = dync__sz_sub(dync__sz_sub(m->extent[g], 1), m->offset[g]);
        for (int h = 0; h < f->nest.n; h++) m->coef[g][h] = dync__sz_sub(0, m->coef[g][h]);
    }
    return true;
}

DYNC__FN bool dync__map_complete(dync__fuse_frame *f, int map)
{
    dync__index_map *m = &f->map[map];
    dync__access host, guest;
    dync__size size = 1, room = 1;
    memset(&host, 0, sizeof host);
    memset(&guest, 0, sizeof guest);
    for (int g = m->n - 1; g >= 0; g--) {
        if (m->solved[g]) continue;
        guest.stride[g] = size;
        size = dync__sz_mul(size, m->extent[g]);
    }
    if (size == 1) return true;
    for (int h = f->nest.n - 1; h >= 0; h--) {
        bool used = false;
        for (int g = 0; g < m->n; g++) used |= m->coef[g][h] != 0;
        if (used || f->nest.extent[h] == 1) continue;
        host.stride[h] = room;
        room = dync__sz_mul(room, f->nest.extent[h]);
    }
    return dync__sz_eq(size, room) && dync__map_solve(f, map, host, &guest);
}

DYNC__FN bool dync__map_covers(const dync__fuse_frame *f, int map, int g0, int g1, int h0, int h1,
                               dync__fuse_order_kind order)
{
    const dync__index_map *m = &f->map[map];
    const dync__nest *nest = &f->nest;
    dync__size linear[DYNC__LOOP_MAX_DIMS] = {0}, size = 1, offset = 0, next = 1;
    for (int g = g1 - 1; g >= g0; g--) {
        offset = dync__sz_add(offset, dync__sz_mul(m->offset[g], size));
        for (int h = 0; h < nest->n; h++)
            linear[h] = dync__sz_add(linear[h], dync__sz_mul(m->coef[g][h], size));
        size = dync__sz_mul(size, m->extent[g]);
    }
    for (int h = h0; h < h1 && order == DYNC__ORDER_ANY; h++)
        if (dync__sz_lt(linear[h], 0)) {
            offset = dync__sz_add(offset, dync__access_reach(linear[h], nest->extent[h]));
            linear[h] = dync__sz_sub(0, linear[h]);
        }
    if (!dync__sz_eq(offset, 0)) return false;
    for (int h = 0; h < nest->n; h++)
        if ((h < h0 || h >= h1) && nest->extent[h] > 1 && !dync__sz_eq(linear[h], 0)) return false;
    if (order == DYNC__ORDER_SAME) {
        for (int h = h1 - 1; h >= h0; h--) {
            if (nest->extent[h] == 1) continue;
            if (!dync__sz_eq(linear[h], next)) return false;
            next = dync__sz_mul(next, nest->extent[h]);
        }
        return dync__sz_eq(next, size);
    }
    /* each loop's step is the size of all smaller ones */
    for (int left = h1 - h0; left > 0; left--) {
        int found = -1;
        for (int h = h0; h < h1 && found < 0; h++)
            if (nest->extent[h] > 1 && dync__sz_eq(linear[h], next)) found = h;
        if (found < 0) break;
        next = dync__sz_mul(next, nest->extent[found]);
    }
    for (int h = h0; h < h1; h++)
        if (nest->extent[h] > 1 && (dync__sz_lt(linear[h], 1) || !dync__sz_lt(linear[h], next)))
            return false;
    return dync__sz_eq(next, size);
}

/* ---- accesses -------------------------------------------------------------------------------- */

DYNC__FN bool dync__access_equal(const dync__access *a, const dync__access *b, int n,
                                 const dync__size *extent)
{
    if (!dync__sz_eq(a->offset, b->offset)) return false;
    for (int d = 0; d < n; d++)
        if (extent[d] > 1 && !dync__sz_eq(a->stride[d], b->stride[d])) return false;
    return true;
}

/* Does it visit memory as a row-major tensor lies? Most do, and nothing is to be sorted then. */
static bool dync__access_is_dense(const dync__access *acc, int n, const dync__size *extent)
{
    dync__size span = 1;
    for (int d = n - 1; d >= 0; d--) {
        if (extent[d] <= 1) continue;
        if (acc->stride[d] != span) return false;
        span = dync__sz_mul(span, extent[d]);
    }
    return true;
}

DYNC__FN bool dync__access_injective(const dync__access *acc, int n, const dync__size *extent)
{
    if (dync__access_is_dense(acc, n, extent)) return true;
    dync__size span = 0;
    bool taken[DYNC__LOOP_MAX_DIMS] = {false};
    for (;;) { /* smallest stride first: each must step over all before it */
        int best = -1;
        for (int d = 0; d < n; d++) {
            if (taken[d] || extent[d] <= 1) continue;
            if (best < 0 || dync__loop_before(dync__sz_abs(acc->stride[d]), extent[d],
                                              dync__sz_abs(acc->stride[best])))
                best = d;
        }
        if (best < 0) return true;
        dync__size stride = dync__sz_abs(acc->stride[best]);
        if (!dync__sz_lt(span, stride)) return false;
        span = dync__sz_add(span, dync__access_reach(stride, extent[best]));
        taken[best] = true;
    }
}
