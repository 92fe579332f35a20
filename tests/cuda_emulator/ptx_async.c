/* tests/cuda_emulator/ptx_async.c: what sm_90a does beside the threads: mbarriers, copies by tensor
 * maps, bulk groups, matrix products of warpgroups, clusters, registers handed from warp to warp.
 * Sources: PTX ISA 8.0, sections 9.7.12 to 9.7.14; CUDA driver API, 6.30.
 *
 * Everything asynchronous happens as late as it may: a load first fills its place with NaNs and is
 * done when no thread can go on, in an order drawn at random; a store and a product when they are
 * waited for. What reads too early so reads what is wrong, and is a fault besides: accesses to what
 * a copy writes, writes to what a store or product still reads, shared memory written by threads
 * and read by the other proxy without fence.proxy.async, mbarriers used before
 * fence.mbarrier_init. */
#include "ptx_run.h"
#include <stdlib.h>
#include <string.h>

void clock_join(uint32_t *to, const uint32_t *from, int n)
{
    for (int i = 0; i < n; i++)
        if (from[i] > to[i]) to[i] = from[i];
}
void clock_release(machine *m, int warp) { m->clock[warp][m->rank * AGENTS + warp]++; }
static void learn(machine *m, const uint32_t *from)
{
    uint32_t own = from[m->rank * AGENTS + m->me / 32];
    if (own > m->t[m->me].known) m->t[m->me].known = own;
    clock_join(m->clock[m->me / 32], from, m->c->n * AGENTS);
}
static void tell(machine *m, uint32_t *to)
{
    clock_join(to, m->clock[m->me / 32], m->c->n * AGENTS);
    clock_release(m, m->me / 32);
}
int64_t cuemu_products;
static bool overlap(uint32_t a, uint32_t n, uint32_t b, uint32_t k)
{
    return a < b + k && b < a + n;
}

/* ---- tensor maps ----------------------------------------------------------------------------- */
enum { MAP_MAGIC = 0x70616d74 };
/* last: size - 1 */
typedef struct {
    uint32_t magic;
    uint8_t type, rank, swizzle, fill;
    uint64_t base, stride[4];
    uint32_t last[5];
    uint16_t box[5];
} tensor_map;
static const uint8_t element_bytes[13] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

int cuemu_tensor_map_encode(void *map, int type, uint32_t rank, void *base, const uint64_t *size,
                            const uint64_t *stride, const uint32_t *box, const uint32_t *step,
                            int interleave, int swizzle, int promotion, int fill)
{
    static const uint32_t span[4] = {0, 32, 64, 128};
    tensor_map t;
    memset(&t, 0, sizeof t);
    if (!map || (uintptr_t)map % 64 || type < 0 || type > 12 || rank < 1 || rank > 5 || !base ||
        (uintptr_t)base % 16 || !size || (rank > 1 && !stride) || !box || !step)
        return CUEMU_INVALID_VALUE;
    if (interleave != 0 || swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 ||
        fill < 0 || fill > 1)
        return CUEMU_INVALID_VALUE;
    if (fill == 1 && type < 6) return CUEMU_INVALID_VALUE; /* NaNs of integers */
    for (uint32_t d = 0; d < rank; d++) {
        if (size[d] < 1 || size[d] > (uint64_t)1 << 32 || box[d] < 1 || box[d] > 256 ||
            step[d] != 1)
            return CUEMU_INVALID_VALUE;
        if (d > 0 && (stride[d - 1] % 16 || stride[d - 1] >= (uint64_t)1 << 40))
            return CUEMU_INVALID_VALUE;
        t.last[d] = (uint32_t)(size[d] - 1);
        t.box[d] = (uint16_t)box[d];
        if (d > 0) t.stride[d - 1] = stride[d - 1];
    }
    uint32_t inner = box[0] * element_bytes[type];
    if (inner % 16 || (swizzle && inner > span[swizzle])) return CUEMU_INVALID_VALUE;
    t.magic = MAP_MAGIC;
    t.type = (uint8_t)type;
    t.rank = (uint8_t)rank;
    t.swizzle = (uint8_t)swizzle;
    t.fill = (uint8_t)fill;
    t.base = (uint64_t)(uintptr_t)base;
    memset(map, 0, 128);
    memcpy(map, &t, sizeof t);
    return 0;
}
/* The map at a generic address: a parameter or global memory. */
static bool map_at(machine *m, const ptx_inst *in, uint64_t address, tensor_map *t)
{
    const char *from = NULL;
    if (address >= PTX_PARAM_ADDRESS) {
        for (int i = 0; i < m->e->n_params; i++)
            if (PTX_PARAM_ADDRESS + (uint64_t)m->e->param[i].offset == address &&
                m->e->param[i].bytes == 128 && address % 64 == 0)
                from = m->params + m->e->param[i].offset;
    } else if (address % 64 == 0) {
        const cuemu_region *r = cuemu_find(address);
        if (r && address + 128 <= r->address + r->n) from = r->host + (address - r->address);
    }
    if (from) memcpy(t, from, sizeof *t);
    if (from && t->magic == MAP_MAGIC) return true;
    fault(m, CUEMU_ILLEGAL_ADDRESS, in, "no tensor map at %llx", address, 0);
    return false;
}
/* a pattern of so many bytes; 16: none */
static uint32_t swizzled(uint32_t a, int bytes)
{
    return bytes == 128  ? a ^ (a >> 7 & 7) << 4
           : bytes == 64 ? a ^ (a >> 7 & 3) << 4
           : bytes == 32 ? a ^ (a >> 7 & 1) << 4
                         : a;
}
static uint32_t box_bytes(const tensor_map *t)
{
    uint32_t n = element_bytes[t->type];
    for (int d = 0; d < t->rank; d++) n *= t->box[d];
    return n;
}

/* Between the tensor and shared memory of o, in the name of thread m->me. */
static void move_box(machine *m, machine *o, const pending_copy *p)
{
    static const int patterns[4] = {16, 32, 64, 128};
    tensor_map t;
    memcpy(&t, p->map, sizeof t);
    uint32_t bytes = element_bytes[t.type], row = t.box[0] * bytes, rows = box_bytes(&t) / row,
             per = 16 / bytes;
    for (uint32_t r = 0; r < rows && !m->error; r++) {
        uint64_t at = t.base;
        bool in_rows = true;
        for (uint32_t d = 1, rest = r; d < t.rank; d++) {
            int64_t c = (int64_t)p->at[d] + rest % t.box[d];
            rest /= t.box[d];
            in_rows &= c >= 0 && c <= (int64_t)t.last[d];
            at += (uint64_t)c * t.stride[d - 1];
        }
        for (uint32_t chunk = 0; chunk < row / 16; chunk++) {
            char *mine = o->shared +
                         swizzled(p->shared + r * row + chunk * 16, patterns[t.swizzle]);
            if (p->load) memset(mine, 0, 16);
            for (uint32_t e = 0; e < per && in_rows; e++) {
                int64_t c = (int64_t)p->at[0] + chunk * per + e;
                uint64_t from = at + (uint64_t)c * bytes, n = bytes;
                if (c < 0 || c > (int64_t)t.last[0]) continue;
                if (e == 0 && from % 16 == 0 && c + per - 1 <= (int64_t)t.last[0]) n = 16;
                char *there = reach(m, p->in, PTX_GLOBAL, from, (int)n, !p->load, 0);
                if (!there) return;
                if (p->load)
                    memcpy(mine + e * bytes, there, n);
                else
                    memcpy(there, mine + e * bytes, n);
                if (n == 16) break;
            }
        }
    }
}

/* ---- mbarriers ------------------------------------------------------------------------------- */
static mbarrier *bar_at(machine *m, const ptx_inst *in, uint64_t address, machine **owner,
                        bool by_copy)
{
    if (!reach(m, in, PTX_SHARED, address, 8, false, ATOMIC | MBARRIER)) return NULL;
    machine *o = m->c->at[address >> 24];
    mbarrier *b = NULL;
    for (int i = 0; i < o->n_bar; i++)
        if (o->bar[i].live && o->bar[i].at == (address & 0xffffff)) b = &o->bar[i];
    if (!b)
        fault(m, CUEMU_LAUNCH_FAILURE, in, "no mbarrier at %llx", address, 0);
    else if ((by_copy || o != m) && !b->fenced)
        fault(m, CUEMU_LAUNCH_FAILURE, in,
              "the mbarrier at %llx is used without fence.mbarrier_init", address, 0);
    else if (o->live == 0)
        fault(m, CUEMU_LAUNCH_FAILURE, in, "the block of the mbarrier at %llx has ended", address,
              0);
    if (owner) *owner = o;
    return m->error ? NULL : b;
}
static void bar_check(machine *m, const ptx_inst *in, mbarrier *b)
{
    if (b->pending < 0)
        fault(m, CUEMU_LAUNCH_FAILURE, in, "more arrivals than the %llu of the mbarrier",
              (uint64_t)b->count, 0);
    if (b->tx >= 1 << 20 || b->tx <= -(1 << 20))
        fault(m, CUEMU_LAUNCH_FAILURE, in, "the count of bytes leaves its range", 0, 0);
    if (b->pending != 0 || b->tx != 0) return;
    b->phase = !b->phase;
    b->pending = b->count;
    memcpy(b->done, b->now, sizeof b->done);
}
static int bar_op(machine *m, const ptx_inst *in)
{
    if (has(in, "init")) {
        uint64_t a = address_of(m, &in->o[0]), count = get(m, &in->o[1]);
        mbarrier *b = NULL;
        if (!m->bar || count < 1 || count >= 1 << 20)
            fault(m, CUEMU_LAUNCH_FAILURE, in, "an mbarrier of %llu arrivals", count, 0);
        if (m->error || !reach(m, in, PTX_SHARED, (uint32_t)a, 8, true, MBARRIER)) return DONE;
        for (int i = 0; i < m->n_bar; i++)
            if (m->bar[i].at == (a & 0xffffff)) b = &m->bar[i];
        if (!b && m->n_bar < MBARRIERS) b = &m->bar[m->n_bar++];
        if (!b) {
            fault(m, CUEMU_LAUNCH_FAILURE, in, "more than %llu mbarriers", MBARRIERS, 0);
            return DONE;
        }
        memset(b, 0, sizeof *b);
        b->at = (uint32_t)(a & 0xffffff);
        b->live = true;
        b->count = b->pending = (int)count;
        return DONE;
    }
    bool waits = has(in, "try_wait") || has(in, "test_wait"),
         plain = (has(in, "expect_tx") || has(in, "complete_tx")) && !has(in, "arrive");
    int at = waits || (has(in, "arrive") && !plain) ? 1 : 0;
    mbarrier *b = bar_at(m, in, address_of(m, &in->o[at]), NULL, false);
    if (!b) return DONE;
    if (has(in, "inval"))
        b->live = false;
    else if (waits) {
        if (b->phase == (get(m, &in->o[2]) & 1)) return AGAIN;
        learn(m, b->done);
        set(m, &in->o[0], 1);
    } else {
        if (has(in, "expect_tx")) b->tx += (int)get(m, &in->o[at + 1]);
        if (has(in, "complete_tx")) b->tx -= (int)get(m, &in->o[at + 1]);
        if (!plain) {
            tell(m, b->now);
            b->pending -= has(in, "expect_tx") || in->n <= at + 1 ? 1 : (int)get(m, &in->o[at + 1]);
            set(m, &in->o[0], 0);
        }
        bar_check(m, in, b);
    }
    return DONE;
}

/* ---- copies ---------------------------------------------------------------------------------- */
void async_touch(machine *m, machine *o, const ptx_inst *in, uint32_t shared, int n, bool writes)
{
    for (int i = 0; i < m->c->n_copies; i++) {
        const pending_copy *p = &m->c->copy[i];
        if (p->rank == o->rank && (p->load || writes) &&
            overlap(p->shared, p->bytes, shared, (uint32_t)n))
            fault(m, CUEMU_LAUNCH_FAILURE, in,
                  p->load ? "shared address %llu: a copy to it is under way"
                          : "shared address %llu: a copy from it is under way",
                  shared, 0);
    }
    for (int i = 0; i < o->n_bar; i++)
        if (o->bar[i].live && overlap(o->bar[i].at, 8, shared, (uint32_t)n))
            fault(m, CUEMU_LAUNCH_FAILURE, in, "shared address %llu: an mbarrier is there", shared,
                  0);
    for (int w = 0; writes && o->w && w < o->n_threads / 32; w++)
        for (int i = 0; i < o->w[w].n; i++)
            for (int k = 0; k < 2; k++)
                if (overlap(o->w[w].q[i].low[k], o->w[w].q[i].high[k] - o->w[w].q[i].low[k], shared,
                            (uint32_t)n))
                    fault(m, CUEMU_LAUNCH_FAILURE, in,
                          "shared address %llu: a product of warp %llu still reads it", shared,
                          (uint64_t)w);
}
static pending_copy *new_copy(machine *m, const ptx_inst *in, const tensor_map *t,
                              const ptx_operand *coordinates, uint32_t shared)
{
    cluster *c = m->c;
    if (coordinates->n != t->rank || !has(in, t->rank == 1   ? "1d"
                                              : t->rank == 2 ? "2d"
                                              : t->rank == 3 ? "3d"
                                              : t->rank == 4 ? "4d"
                                                             : "5d"))
        fault(m, CUEMU_LAUNCH_FAILURE, in, "%llu coordinates for a map of rank %llu",
              (uint64_t)coordinates->n, t->rank);
    if (shared % 128)
        fault(m, CUEMU_MISALIGNED, in, "shared address %llu is not a multiple of 128", shared, 0);
    if (c->n_copies == PENDING)
        fault(m, CUEMU_LAUNCH_FAILURE, in, "too many copies under way", 0, 0);
    if (m->error) return NULL;
    pending_copy *p = &c->copy[c->n_copies];
    memset(p, 0, sizeof *p);
    p->in = in;
    memcpy(p->map, t, sizeof *t);
    for (int d = 0; d < t->rank; d++)
        p->at[d] = (int32_t)(coordinates->list_is_imm[d] ? coordinates->list_imm[d]
                                                         : m->t[m->me].reg[coordinates->list[d]]);
    p->shared = shared;
    p->bytes = box_bytes(t);
    p->rank = m->rank;
    p->by = m->rank;
    p->thread = m->me;
    p->group = -1;
    return p;
}
/* [shared], [map, {at}], [mbarrier] (, mask) */
static void load_box(machine *m, const ptx_inst *in)
{
    tensor_map t;
    uint32_t to = (uint32_t)address_of(m, &in->o[0]), bar = (uint32_t)address_of(m, &in->o[2]);
    uint64_t mask = has(in, "multicast::cluster") ? get(m, &in->o[3]) & 0xffff
                                                  : (uint64_t)1 << m->rank;
    if (!map_at(m, in, address_of(m, &in->o[1]), &t)) return;
    if ((int)(to >> 24) != m->rank)
        fault(m, CUEMU_LAUNCH_FAILURE, in, "a load to another block without multicast", 0, 0);
    if (!mask || mask >> m->c->n)
        fault(m, CUEMU_LAUNCH_FAILURE, in, "mask %llx for a cluster of %llu", mask,
              (uint64_t)m->c->n);
    for (int r = 0; r < m->c->n && !m->error; r++) {
        if (!(mask >> r & 1)) continue;
        machine *o = m->c->at[r];
        uint64_t window = (uint64_t)r << 24;
        if (!bar_at(m, in, window | (bar & 0xffffff), NULL, true)) return;
        async_touch(m, o, in, to & 0xffffff, (int)box_bytes(&t), true);
        pending_copy *p = m->error ? NULL : new_copy(m, in, &t, &in->o[1], to & 0xffffff);
        for (uint32_t k = 0; p && k < p->bytes && !m->error; k += 16) {
            char *at = reach(m, in, PTX_SHARED, window | (p->shared + k), 16, true, TENSOR);
            if (at) memset(at, 0xff, 16);
        }
        if (!p || m->error) return;
        p->load = true;
        p->bar = bar & 0xffffff;
        p->rank = r;
        m->c->n_copies++;
    }
}
/* [map, {at}], [shared] */
static void store_box(machine *m, const ptx_inst *in)
{
    tensor_map t;
    if (!map_at(m, in, address_of(m, &in->o[0]), &t)) return;
    uint32_t from = (uint32_t)address_of(m, &in->o[1]);
    pending_copy *p = new_copy(m, in, &t, &in->o[0], from & 0xffffff);
    for (uint32_t k = 0; p && k < p->bytes && !m->error; k += 16)
        (void)reach(m, in, PTX_SHARED, from + k, 16, false, ASYNC);
    if (!p || m->error) return;
    for (int i = 0; i < m->c->n_copies; i++)
        if (m->c->copy[i].load && m->c->copy[i].rank == m->rank &&
            overlap(m->c->copy[i].shared, m->c->copy[i].bytes, from, p->bytes))
            fault(m, CUEMU_LAUNCH_FAILURE, in, "a store of what a load still writes", 0, 0);
    m->c->n_copies++;
}
static void copy_done(machine *m, int i)
{
    cluster *c = m->c;
    pending_copy p = c->copy[i];
    machine *by = c->at[p.by], *o = c->at[p.rank];
    memmove(&c->copy[i], &c->copy[i + 1], (size_t)(c->n_copies - i - 1) * sizeof p);
    c->n_copies--;
    by->me = p.thread;
    if (o->live == 0)
        fault(by, CUEMU_LAUNCH_FAILURE, p.in,
              p.load ? "block %llu of the cluster ended before a copy to it"
                     : "block %llu ended before a copy from it",
              (uint64_t)p.rank, 0);
    else
        move_box(by, o, &p);
    if (!p.load || by->error) return;
    for (int k = 0; k < o->n_bar; k++) {
        mbarrier *b = &o->bar[k];
        if (!b->live || b->at != p.bar) continue;
        b->now[p.rank * AGENTS + WARPS + k] = ++b->copies;
        note_copied(o, p.shared, (int)p.bytes, WARPS + k, b->copies);
        b->tx -= (int)p.bytes;
        bar_check(by, p.in, b);
    }
}
bool async_progress(cluster *c)
{
    int loads = 0;
    for (int i = 0; i < c->n_copies; i++) loads += c->copy[i].load;
    if (loads == 0) return false;
    c->seed = c->seed * 1664525u + 1013904223u;
    for (int i = 0, k = (int)(c->seed >> 16) % loads; i < c->n_copies; i++)
        if (c->copy[i].load && k-- == 0) {
            copy_done(c->at[0], i);
            return true;
        }
    return false;
}
static void bulk_groups(machine *m, const ptx_inst *in)
{
    thread *t = &m->t[m->me];
    if (has(in, "commit_group")) {
        for (int i = 0; i < m->c->n_copies; i++) {
            pending_copy *p = &m->c->copy[i];
            if (!p->load && p->by == m->rank && p->thread == m->me && p->group < 0)
                p->group = t->bulk;
        }
        t->bulk++;
        return;
    }
    int left = (int)get(m, &in->o[0]), me = m->me;
    for (int i = 0; i < m->c->n_copies && !m->error;) {
        const pending_copy *p = &m->c->copy[i];
        if (!p->load && p->by == m->rank && p->thread == me && p->group >= 0 &&
            p->group < t->bulk - left)
            copy_done(m, i);
        else
            i++;
    }
    m->me = me;
}
void async_thread_ends(machine *m)
{
    m->live--;
    for (int i = 0; i < m->c->n_copies; i++)
        if (!m->c->copy[i].load && m->c->copy[i].by == m->rank && m->c->copy[i].thread == m->me)
            fault(m, CUEMU_LAUNCH_FAILURE, m->c->copy[i].in,
                  "the thread ends before shared memory has been read (cp.async.bulk.wait_group)",
                  0, 0);
    m->c->n_threads--;
    cluster *c = m->c;
    if (c->arrived && c->arrived == c->n_threads) {
        c->phase ^= 1;
        c->arrived = 0;
        memcpy(c->done, c->now, sizeof c->done);
    }
}

/* ---- wgmma ----------------------------------------------------------------------------------- */
typedef struct {
    int bytes, depth, n;
    bool integer, is_signed, f16, tf32;
} mma_shape;
static mma_shape shape_of(const ptx_inst *in)
{
    mma_shape s = {2, 16, 8, false, false, false, false};
    for (int i = 0; i < in->n_words; i++) {
        const char *w = in->word[i];
        if (strncmp(w, "m64n", 4) == 0) s.n = atoi(w + 4);
        if (strcmp(w, "tf32") == 0) s.bytes = 4, s.depth = 8, s.tf32 = true;
        if (strcmp(w, "s8") == 0 || strcmp(w, "u8") == 0)
            s.bytes = 1, s.depth = 32, s.integer = true, s.is_signed = w[0] == 's';
        if (strcmp(w, "f16") == 0) s.f16 = true;
    }
    return s;
}
/* Offset of element (row or column i, k) in shared memory by a descriptor. */
static uint32_t element_at(uint64_t d, const mma_shape *s, bool by_k, int i, int k)
{
    static const int patterns[4] = {16, 128, 64, 32};
    int w = patterns[d >> 62], e = s->bytes, per = w / e;
    uint32_t at = (uint32_t)(d & 0x3fff) << 4, lead = (uint32_t)(d >> 16 & 0x3fff) << 4,
             stride = (uint32_t)(d >> 32 & 0x3fff) << 4;
    if (by_k)
        at += (uint32_t)(i % 8 * w) + (uint32_t)(i / 8) * stride +
              (w == 16 ? (uint32_t)(k / per) * lead + (uint32_t)(k % per * e) : (uint32_t)(k * e));
    else
        at += (uint32_t)(i % per * e) + (uint32_t)(i / per) * (w == 16 ? stride : lead) +
              (uint32_t)(k % 8 * w) + (uint32_t)(k / 8) * (w == 16 ? lead : stride);
    return swizzled(at, w);
}
static double element_of(const char *p, const mma_shape *s)
{
    uint16_t h;
    uint32_t u;
    float f;
    if (s->integer)
        return s->is_signed ? (double)*(const signed char *)p : (double)*(const unsigned char *)p;
    if (s->tf32) {
        memcpy(&u, p, 4);
        u &= ~(uint32_t)0x1fff;
        memcpy(&f, &u, 4);
        return (double)f;
    }
    memcpy(&h, p, 2);
    return (double)(s->f16 ? half_value(h) : bf16_value(h));
}
/* Is the operand's k the neighbour in memory? 16-bit types may say no. */
static bool by_k(const ptx_inst *in, bool is_a)
{
    bool regs = in->o[1].kind == O_LIST;
    int at = is_a ? 6 : regs ? 6 : 7;
    return (is_a && regs) || in->n <= at || in->o[at].imm == 0;
}
static void mma_issue(machine *m, const ptx_inst *in, int first)
{
    mma_shape s = shape_of(in);
    warp_state *w = &m->w[first / 32];
    bool regs = in->o[1].kind == O_LIST;
    m->me = first;
    if (!w->fenced) fault(m, CUEMU_LAUNCH_FAILURE, in, "without wgmma.fence before", 0, 0);
    if (s.n % 8 || s.n < 8 || s.n > 256 || in->o[0].n != s.n / 2 || (regs && in->o[1].n != 4))
        fault(m, CUEMU_LAUNCH_FAILURE, in, "the wrong number of registers", 0, 0);
    if (w->n == PENDING) fault(m, CUEMU_LAUNCH_FAILURE, in, "too many products under way", 0, 0);
    if (m->error) return;
    pending_mma *p = &w->q[w->n];
    *p = (pending_mma){
        in,    regs ? 0 : get(m, &in->o[1]), get(m, &in->o[2]), get(m, &in->o[3]) != 0, -1, {0, 0},
        {0, 0}};
    for (int lane = 1; lane < 32; lane++) {
        m->me = first + lane;
        if ((!regs && get(m, &in->o[1]) != p->a) || get(m, &in->o[2]) != p->b ||
            (get(m, &in->o[3]) != 0) != p->add)
            fault(m, CUEMU_LAUNCH_FAILURE, in, "lane %llu has another descriptor", (uint64_t)lane,
                  0);
    }
    m->me = first;
    for (int which = regs ? 1 : 0; which < 2 && !m->error; which++) {
        uint64_t d = which ? p->b : p->a;
        int from = which ? 0 : first / 32 % 4 * 16, to = which ? s.n : from + 16;
        bool k_inside = by_k(in, !which);
        if (d >> 49 & 7) fault(m, CUEMU_LAUNCH_FAILURE, in, "a base offset in a descriptor", 0, 0);
        p->low[which] = UINT32_MAX;
        for (int i = from; i < to && !m->error; i += k_inside ? 1 : 16 / s.bytes)
            for (int k = 0; k < s.depth && !m->error; k += k_inside ? 16 / s.bytes : 1) {
                uint32_t at = element_at(d, &s, k_inside, i, k);
                (void)reach(m, in, PTX_SHARED, (uint64_t)m->rank << 24 | at, 16, false, ASYNC);
                if (at < p->low[which]) p->low[which] = at;
                if (at + 16 > p->high[which]) p->high[which] = at + 16;
            }
        for (int i = 0; i < m->c->n_copies && !m->error; i++)
            if (m->c->copy[i].load && m->c->copy[i].rank == m->rank &&
                overlap(m->c->copy[i].shared, m->c->copy[i].bytes, p->low[which],
                        p->high[which] - p->low[which]))
                fault(m, CUEMU_LAUNCH_FAILURE, in, "shared address %llu: a copy to it is under way",
                      p->low[which], 0);
    }
    w->n++;
    cuemu_products++;
}
/* The 16 rows of a warp. */
static void mma_run(machine *m, int first, const pending_mma *p)
{
    const ptx_inst *in = p->in;
    mma_shape s = shape_of(in);
    static double a[16][32], b[256][32];
    bool regs = in->o[1].kind == O_LIST, by_a = by_k(in, true), by_b = by_k(in, false);
    double sign = 1;
    int per = 4 / s.bytes;
    if (!s.integer) sign = (int)in->o[4].imm * (int)in->o[5].imm;
    for (int r = 0; r < 16; r++)
        for (int k = 0; k < s.depth; k++) {
            /* word (row / 8) + 2 * (half of k) of lane (row % 8, k) */
            if (regs) {
                int half = k / (s.depth / 2), in_half = k % (s.depth / 2),
                    lane = r % 8 * 4 + in_half / per;
                uint32_t word = (uint32_t)m->t[first + lane].reg[in->o[1].list[r / 8 + 2 * half]];
                a[r][k] = element_of((const char *)&word + in_half % per * s.bytes, &s);
            } else
                a[r][k] = element_of(
                    m->shared + element_at(p->a, &s, by_a, first / 32 % 4 * 16 + r, k), &s);
        }
    for (int j = 0; j < s.n; j++)
        for (int k = 0; k < s.depth; k++)
            b[j][k] = element_of(m->shared + element_at(p->b, &s, by_b, j, k), &s);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < s.n / 2; i++) {
            int r = lane / 4 + (i & 2 ? 8 : 0), j = i / 4 * 8 + lane % 4 * 2 + (i & 1);
            uint64_t *d = &m->t[first + lane].reg[in->o[0].list[i]];
            uint32_t u = (uint32_t)*d;
            float f;
            double sum = 0;
            for (int k = 0; k < s.depth; k++) sum += a[r][k] * b[j][k];
            if (s.integer)
                u = (p->add ? u : 0) + (uint32_t)(int32_t)sum;
            else {
                memcpy(&f, &u, 4);
                f = (float)((p->add ? (double)f : 0) + sign * sum);
                memcpy(&u, &f, 4);
            }
            *d = u;
        }
}
static void mma_groups(machine *m, const ptx_inst *in, int first)
{
    warp_state *w = &m->w[first / 32];
    if (has(in, "fence")) {
        w->fenced = true;
        return;
    }
    if (has(in, "commit_group")) {
        for (int i = 0; i < w->n; i++)
            if (w->q[i].group < 0) w->q[i].group = w->groups;
        w->groups++;
        return;
    }
    /* A product is the whole warpgroup's: the first warp that is past the wait knows that all have
     * read their rows. */
    m->me = first;
    int left = (int)get(m, &in->o[0]), group = first / 128 * 4;
    w->fenced = false;
    for (int i = group; i < group + 4; i++) {
        warp_state *x = &m->w[i];
        int n = 0;
        while (n < x->n && x->q[n].group >= 0 && x->q[n].group < x->groups - left)
            mma_run(m, i * 32, &x->q[n++]);
        memmove(x->q, x->q + n, (size_t)(x->n - n) * sizeof *x->q);
        x->n -= n;
        if (i != first / 32) learn(m, m->clock[i]);
    }
}
/* The four warps of a group take each step together. */
static bool group_together(machine *m, int first)
{
    warp_state *w = &m->w[first / 32];
    if (!w->counted) w->steps++;
    w->counted = true;
    for (int i = first / 128 * 4; i < first / 128 * 4 + 4; i++)
        if (m->w[i].steps < w->steps) return false;
    w->counted = false;
    return true;
}
void async_block_ends(machine *m)
{
    for (int w = 0; m->w && w < m->n_threads / 32 && !m->error; w++) {
        m->me = w * 32;
        if (m->w[w].n)
            fault(m, CUEMU_LAUNCH_FAILURE, m->w[w].q[0].in, "a product was never waited for", 0, 0);
    }
}

/* ---- one thread, one warp -------------------------------------------------------------------- */
bool async_meets(const ptx_inst *in)
{
    return in->op == OP_elect || in->op == OP_setmaxnreg || in->op == OP_wgmma;
}
bool async_decode(ptx_inst *in)
{
    switch (in->op) {
    case OP_mbarrier:
        if (has(in, "init") || has(in, "inval")) return has(in, "b64");
        if (has(in, "try_wait") || has(in, "test_wait")) return has(in, "parity") && in->n >= 3;
        return has(in, "arrive") || has(in, "expect_tx") || has(in, "complete_tx");
    case OP_barrier: return has(in, "cluster") && (has(in, "arrive") || has(in, "wait"));
    case OP_mapa: return in->cluster && has(in, "u32") && in->n == 3;
    case OP_elect: return has(in, "sync") && in->mode2;
    case OP_setmaxnreg:
        return has(in, "sync") && has(in, "aligned") && has(in, "u32") &&
               (has(in, "inc") || has(in, "dec")) && in->n == 1;
    case OP_wgmma:
        if (!has(in, "sync") || !has(in, "aligned")) return false;
        if (!has(in, "mma_async"))
            return has(in, "fence") || has(in, "commit_group") ||
                   (has(in, "wait_group") && in->n == 1);
        if (has(in, "s32")) return (has(in, "s8") != has(in, "u8")) && in->n == 4;
        return has(in, "f32") && (has(in, "tf32") ? in->n == 6
                                                  : (has(in, "f16") || has(in, "bf16")) &&
                                                        in->n == (in->o[1].kind == O_LIST ? 7 : 8));
    case OP_cp:
        if (has(in, "commit_group") || has(in, "wait_group")) return true;
        if (!has(in, "tensor") || !has(in, "global") || has(in, "im2col") ||
            has(in, "L2::cache_hint"))
            return false;
        if (has(in, "bulk_group")) return in->n == 2 && in->o[0].n > 0;
        return in->cluster && has(in, "mbarrier::complete_tx::bytes") &&
               in->n == (has(in, "multicast::cluster") ? 4 : 3) && in->o[1].n > 0;
    default: return has(in, "tensormap");
    }
}
int async_op(machine *m, const ptx_inst *in)
{
    thread *t = &m->t[m->me];
    cluster *c = m->c;
    tensor_map map;
    if (!m->w && in->op != OP_fence) {
        fault(m, CUEMU_INVALID_PTX, in, "needs .target sm_90a", 0, 0);
        return DONE;
    }
    switch (in->op) {
    case OP_mbarrier: return bar_op(m, in);
    case OP_mapa: {
        uint64_t rank = get(m, &in->o[2]);
        if (rank >= (uint64_t)c->n)
            fault(m, CUEMU_LAUNCH_FAILURE, in, "block %llu of %llu", rank, (uint64_t)c->n);
        set(m, &in->o[0], rank << 24 | (get(m, &in->o[1]) & 0xffffff));
        return DONE;
    }
    case OP_barrier:
        if (has(in, "arrive")) {
            t->cluster_phase = c->phase;
            if (has(in, "relaxed"))
                clock_release(m, m->me / 32);
            else
                tell(m, c->now);
            if (++c->arrived == c->n_threads) {
                c->phase ^= 1;
                c->arrived = 0;
                memcpy(c->done, c->now, sizeof c->done);
            }
        } else {
            if (c->phase == t->cluster_phase) return AGAIN;
            learn(m, c->done);
        }
        return DONE;
    case OP_fence:
        if (has(in, "proxy") && has(in, "async")) t->fences++;
        for (int i = 0;
             (has(in, "mbarrier_init") || (has(in, "proxy") && has(in, "async"))) && i < m->n_bar;
             i++)
            m->bar[i].fenced = true;
        return DONE;
    case OP_prefetch: (void)map_at(m, in, address_of(m, &in->o[0]), &map); return DONE;
    default:
        if (has(in, "commit_group") || has(in, "wait_group"))
            bulk_groups(m, in);
        else if (has(in, "bulk_group"))
            store_box(m, in);
        else
            load_box(m, in);
        return DONE;
    }
}
int async_meeting(machine *m, const ptx_inst *in, int first, int n)
{
    m->me = first;
    if (in->op == OP_elect) {
        for (int lane = 0; lane < n; lane++) {
            m->me = first + lane;
            set(m, &in->o[0], 0);
            set(m, &in->o[PTX_OPERANDS - 1], lane == 0);
        }
        return DONE;
    }
    if (!m->w || m->n_threads % 128) {
        fault(m, CUEMU_INVALID_PTX, in,
              "needs .target sm_90a and whole warpgroups, there are %llu threads",
              (uint64_t)m->n_threads, 0);
        return DONE;
    }
    if (in->op == OP_setmaxnreg) {
        warp_state *w = &m->w[first / 32];
        int to = (int)get(m, &in->o[0]);
        bool up = has(in, "inc");
        if (to < 24 || to > 256 || to % 8 || (up ? to < w->regs : to > w->regs))
            fault(m, CUEMU_LAUNCH_FAILURE, in, "%llu registers where there are %llu", (uint64_t)to,
                  (uint64_t)w->regs);
        if (up && m->free_regs < 32 * (to - w->regs)) return AGAIN;
        m->free_regs -= 32 * (to - w->regs);
        w->regs = to;
    } else if (!group_together(m, first))
        return AGAIN;
    else if (has(in, "mma_async"))
        mma_issue(m, in, first);
    else
        mma_groups(m, in, first);
    return DONE;
}
