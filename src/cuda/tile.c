/* cuda/tile.c: emitters for kernels written out as PTX text (tile.h says how they fit together).
 * After ptx.c, before gemm.c and calls.c. */
#include "../dync.in.h"
#include "tile.h"
DYNC__COLD

/* ---- text ------------------------------------------------------------------------------------ */

static void dync__cuda_tile_open(dync__cuda_tile *t)
{
    static const char *const specials[][2] = {{"%thr", "%tid.x"}, {"%cta", "%ctaid.x"}};
    char name[24];
    if (!t->p.index) t->p.index = "u32";
    dync__ptx_reg(&t->p, "pred", "%true");
    dync__ptx_reg(&t->p, "pred", "%false");
    dync__ptx_line(&t->p, "setp.eq.u32 %%true, 0, 0");
    dync__ptx_line(&t->p, "not.pred %%false, %%true");
    for (int i = 0; i < t->n_buffers; i++) {
        dync__format(name, sizeof name, "%%b%d", i);
        dync__ptx_reg(&t->p, "b64", name);
        dync__ptx_line(&t->p, "ld.param.b64 %s, [p%d]", name, i);
        if (!t->p.host || !t->p.host[i])
            dync__ptx_line(&t->p, "cvta.to.global.u64 %s, %s", name, name);
    }
    for (int i = 0; i < 2; i++) dync__cuda_tile_special(t, specials[i][0], specials[i][1]);
    dync__cuda_tile_set(t, "b32", "%lane", "and", "%%thr, 31");
    dync__cuda_tile_set(t, "u32", "%warp", "shr", "%%thr, 5");
}

DYNC__FN void dync__cuda_tile_begin(dync__cuda_tile *t, int n_buffers)
{
    memset(t, 0, sizeof *t);
    t->n_buffers = n_buffers;
    t->target = "sm_80";
    dync__cuda_tile_open(t);
}

DYNC__FN bool dync__cuda_tile_begin_kernel(dync__cuda_tile *t, dync__arena *arena,
                                           const dync__kernel *k, const bool *host, int64_t columns,
                                           bool scalar)
{
    memset(t, 0, sizeof *t);
    t->n_buffers = k->buf.n;
    t->target = "sm_80";
    if (!dync__ptx_piece_begin(&t->p, arena, k, host, columns, scalar))
        return dync__fail_memory(0), false;
    dync__cuda_tile_open(t);
    return true;
}

DYNC__FN void dync__cuda_tile_piece(dync__cuda_tile *t, const char *linear, int given,
                                    char value[][24])
{
    dync__ptx_piece(&t->p, linear, given, value);
}

DYNC__FN void dync__cuda_tile_next(dync__cuda_tile *t)
{
    for (int i = 0; t->p.k && i < t->p.k->inst.n; i++) t->p.where[i] = -1;
    t->p.address.n = t->p.block = 0;
    t->p.regs.n = t->p.body.n = 0;
    t->p.n_temps = t->p.n_labels = t->p.shared_bytes = t->shared = 0;
    dync__cuda_tile_open(t);
}

DYNC__FN void dync__cuda_tile_entry(dync__cuda_tile *t, const char *name, int64_t gx, int64_t gy,
                                    int64_t gz, int threads)
{
    dync__str *s = &t->out.text;
    dync__ptx_launch *l = &t->out.launch[t->out.n_launches];
    if (t->out.n_launches == 0) {
        dync__str_addf(s, "// %s\n", name);
        dync__ptx_header(s, t->target);
    }
    if (t->shared && !strstr(dync__str_get(s), ".extern"))
        dync__str_add(s, ".extern .shared .align 1024 .b8 dync_shared[];\n");
    if (t->out.n_launches++ == 0)
        dync__format(l->entry, sizeof l->entry, "dync_%s", name);
    else
        dync__format(l->entry, sizeof l->entry, "dync_%s_%d", name, t->out.n_launches);
    l->grid[0] = gx;
    l->grid[1] = gy;
    l->grid[2] = gz;
    l->block = threads;
    l->shared_bytes = t->shared;
    dync__str_addf(s, "\n.visible .entry %s(", l->entry);
    l->steps = t->steps;
    for (int i = 0; i <= t->n_buffers + (t->steps > 0); i++)
        dync__str_addf(s, "%s.param .b64 p%d", i ? ", " : "", i);
    for (int i = 0; i < t->out.n_maps; i++) dync__str_addf(s, ", .param .align 64 .b8 m%d[128]", i);
    dync__str_addf(s, ")\n.maxntid %d, 1, 1\n%s{\n", threads, t->directives ? t->directives : "");
    if (t->p.shared_bytes)
        dync__str_addf(s, "    .shared .align 16 .b8 smem[%d];\n", t->p.shared_bytes);
    if (t->shared) dync__str_add(s, "    .reg .b32 %smem;\n");
    dync__str_add(s, dync__str_get(&t->p.regs));
    if (t->shared) dync__str_add(s, "    mov.u32 %smem, dync_shared;\n");
    dync__str_add(s, dync__str_get(&t->p.body));
    dync__str_add(s, "    ret;\n}\n");
    t->p.failed |= t->p.regs.failed || t->p.body.failed || s->failed;
}

DYNC__FN bool dync__cuda_tile_end(dync__cuda_tile *t, dync__cuda_code *code, const int32_t *buf)
{
    dync__str_free(&t->p.regs);
    dync__str_free(&t->p.body);
    if (!t->p.failed) return dync__cuda_add_text(code, &t->out, t->n_buffers, buf);
    dync__str_free(&t->out.text);
    return dync__fail_memory(0), false;
}

DYNC__FN void dync__cuda_tile_scratch(dync__cuda_tile *t)
{
    dync__ptx_reg(&t->p, "b64", "%scratch");
    dync__ptx_line(&t->p, "ld.param.b64 %%scratch, [p%d]", t->n_buffers);
    dync__ptx_line(&t->p, "cvta.to.global.u64 %%scratch, %%scratch");
}

DYNC__FN int dync__cuda_tile_shared(dync__cuda_tile *t, int bytes, int align)
{
    int at = (t->shared + align - 1) / align * align;
    t->shared = at + bytes;
    return at;
}

DYNC__FN void dync__cuda_tile_regs(dync__cuda_tile *t, const char *type, const char *prefix, int n)
{
    dync__str_addf(&t->p.regs, "    .reg .%s %s<%d>;\n", type, prefix, n);
}

DYNC__FN void dync__cuda_tile_special(dync__cuda_tile *t, const char *name, const char *special)
{
    dync__ptx_reg(&t->p, "u32", name);
    dync__ptx_line(&t->p, "mov.u32 %s, %s", name, special);
}

DYNC__FN void dync__cuda_tile_set(dync__cuda_tile *t, const char *type, const char *name,
                                  const char *op, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__ptx_reg(&t->p, type, name);
    dync__str_addf(&t->p.body, "    %s.%s %s, ", op, type, name);
    dync__str_addv(&t->p.body, fmt, args);
    dync__str_add(&t->p.body, ";\n");
    va_end(args);
}

DYNC__FN void dync__cuda_tile_label(dync__cuda_tile *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__str_addv(&t->p.body, fmt, args);
    dync__str_add(&t->p.body, ":\n");
    va_end(args);
}

DYNC__FN void dync__cuda_tile_note(dync__cuda_tile *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__str_add(&t->p.body, "    // ");
    dync__str_addv(&t->p.body, fmt, args);
    dync__str_add(&t->p.body, "\n");
    va_end(args);
}

DYNC__FN void dync__cuda_tile_wide(dync__cuda_tile *t, const char *name, const char *from)
{
    dync__ptx_reg(&t->p, "b64", name);
    if (from) dync__ptx_line(&t->p, "mov.b64 %s, %s", name, from);
}

DYNC__FN void dync__cuda_tile_address(dync__cuda_tile *t, const char *at, const dync__operand *o,
                                      const int64_t *walked, int skip, const char *linear)
{
    char rest[40];
    int64_t bytes = dync__dtype_info(o->dtype)->bytes;
    dync__ptx_line(&t->p, "add.s64 %s, %s, %lld", at, at, (long long)(o->lay.offset * bytes));
    dync__format(rest, sizeof rest, "%s", linear);
    for (int d = o->lay.ndim - 1; d >= 0; d--) {
        if (d == skip) continue;
        const char *next = dync__ptx_temp(&t->p, "b64"), *here = dync__ptx_temp(&t->p, "b64");
        dync__ptx_line(&t->p, "div.u64 %s, %s, %lld", next, rest,
                       (long long)DYNC__MAX(walked[d], 1));
        dync__ptx_line(&t->p, "rem.u64 %s, %s, %lld", here, rest,
                       (long long)DYNC__MAX(walked[d], 1));
        dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", at, here,
                       (long long)(o->lay.stride[d] * bytes), at);
        dync__format(rest, sizeof rest, "%s", next);
    }
}

DYNC__FN void dync__cuda_tile_load(dync__cuda_tile *t, int dtype, const char *value, const char *at,
                                   const char *guard)
{
    const char *raw = dync__ptx_is_plain(dtype) ? value
                                                : dync__ptx_temp(&t->p, dync__ptx_raw_type(dtype));
    dync__ptx_unloaded(&t->p, guard, dync__ptx_raw_type(dtype), raw);
    dync__ptx_line(&t->p, "%sld.global.%s %s, [%s]", guard, dync__ptx_memory_type(dtype), raw, at);
    if (raw != value) dync__ptx_widen(&t->p, dtype, value, raw);
}

DYNC__FN void dync__cuda_tile_store(dync__cuda_tile *t, int dtype, const char *at,
                                    const char *value, const char *guard)
{
    const char *raw = dync__ptx_is_plain(dtype) ? value
                                                : dync__ptx_temp(&t->p, dync__ptx_raw_type(dtype));
    if (raw != value) dync__ptx_narrow(&t->p, dtype, raw, value);
    dync__ptx_line(&t->p, "%sst.global.%s [%s], %s", guard, dync__ptx_memory_type(dtype), at, raw);
}

/* ---- wgmma ----------------------------------------------------------------------------------- */

/* A shared address has the block's rank in its cluster above bit 24; a descriptor takes 18 bits. */
DYNC__FN void dync__cuda_tile_descriptor(dync__cuda_tile *t, const char *to, const char *base,
                                         int lead)
{
    uint64_t fixed = (uint64_t)1 << 62 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)(lead >> 4) << 16;
    const char *low = dync__ptx_temp(&t->p, "b32");
    dync__ptx_line(&t->p, "bfe.u32 %s, %s, 4, 14", low, base);
    dync__ptx_line(&t->p, "cvt.u64.u32 %s, %s", to, low);
    dync__ptx_line(&t->p, "or.b64 %s, %s, %llu", to, to, (unsigned long long)fixed);
}

/* ---- cp.async -------------------------------------------------------------------------------- */

DYNC__FN void dync__cuda_tile_cp(dync__cuda_tile *t, int bytes, const char *to, int to_at,
                                 const char *from, int64_t from_at, const char *size)
{
    dync__ptx_line(&t->p, "cp.async.%s.shared.global [%s+%d], [%s+%lld], %d%s%s",
                   bytes == 16 ? "cg" : "ca", to, to_at, from, (long long)from_at, bytes,
                   size ? ", " : "", size ? size : "");
}
DYNC__FN void dync__cuda_tile_commit(dync__cuda_tile *t)
{
    dync__ptx_line(&t->p, "cp.async.commit_group");
}
DYNC__FN void dync__cuda_tile_wait(dync__cuda_tile *t, int n)
{
    dync__ptx_line(&t->p, "cp.async.wait_group %d", n);
}
DYNC__FN void dync__cuda_tile_barrier(dync__cuda_tile *t) { dync__ptx_line(&t->p, "bar.sync 0"); }

/* Thread i takes chunk i % 8 of rows i / 8, i / 8 + threads / 8, ...: the same place of the swizzle
 * in each, as these are multiples of 8 apart. */
DYNC__FN void dync__cuda_tile_rows_begin(dync__cuda_tile *t, dync__cuda_tile_rows *r,
                                         const char *base, const char *rows_left)
{
    dync__ptx *p = &t->p;
    char g[40], s[40], n[40], ok[48], row[40];
    dync__format(row, sizeof row, "%s_r", r->name);
    dync__ptx_reg(p, "b32", row);
    const char *chunk = dync__ptx_temp(p, "b32"), *x = dync__ptx_temp(p, "b32");
    dync__format(g, sizeof g, "%s_g", r->name);
    dync__format(s, sizeof s, "%s_s", r->name);
    dync__format(n, sizeof n, "%s_n", r->name);
    dync__ptx_reg(p, "b64", g);
    dync__ptx_reg(p, "b32", s);
    dync__ptx_reg(p, "b32", n);
    dync__ptx_line(p, "shr.u32 %s, %%thr, 3", row);
    dync__ptx_line(p, "and.b32 %s, %%thr, 7", chunk);
    const char *wide = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, row);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", g, wide, (long long)r->row_bytes, base);
    dync__ptx_line(p, "mad.wide.u32 %s, %s, 16, %s", g, chunk, g);
    dync__ptx_line(p, "and.b32 %s, %s, 7", x, row);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", x, x, chunk);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, 128", s, row);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 16, %s", s, x, s);
    dync__ptx_line(p, "mov.u32 %s, 16", n);
    r->ragged = rows_left != NULL;
    for (int i = 0; rows_left && i < r->rows * 8 / r->threads; i++) {
        const char *at = dync__ptx_temp(p, "s32");
        dync__format(ok, sizeof ok, "%s_ok%d", r->name, i);
        dync__ptx_reg(p, "pred", ok);
        dync__ptx_line(p, "add.s32 %s, %s, %d", at, row, i * r->threads / 8);
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", ok, at, rows_left);
    }
}

DYNC__FN void dync__cuda_tile_rows_copy(dync__cuda_tile *t, const dync__cuda_tile_rows *r,
                                        const char *to, int at, const char *bytes_left)
{
    dync__ptx *p = &t->p;
    char g[40], here[24];
    dync__format(g, sizeof g, "%s_g", r->name);
    dync__format(here, sizeof here, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "add.u32 %s, %s, %s_s", here, to, r->name);
    /* max(min(bytes_left - 16 chunk, 16), 0) */
    if (bytes_left) {
        const char *chunk = dync__ptx_temp(p, "s32");
        dync__ptx_line(p, "and.b32 %s, %%thr, 7", chunk);
        dync__ptx_line(p, "mul.lo.s32 %s, %s, -16", chunk, chunk);
        dync__ptx_line(p, "add.s32 %s, %s, %s", chunk, chunk, bytes_left);
        dync__ptx_line(p, "min.s32 %s, %s, 16", chunk, chunk);
        dync__ptx_line(p, "max.s32 %s_n, %s, 0", r->name, chunk);
    }
    for (int i = 0; i < r->rows * 8 / r->threads; i++) {
        char size[40] = "";
        if (r->rows_now) {
            const char *left = dync__ptx_temp(p, "b32"), *is = dync__ptx_temp(p, "pred");
            dync__ptx_line(p, "sub.s32 %s, %s, %d", left, r->rows_now, i * r->threads / 8);
            dync__ptx_line(p, "setp.lt.s32 %s, %s_r, %s", is, r->name, left);
            dync__format(size, sizeof size, "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "selp.b32 %s, %s_n, 0, %s", size, r->name, is);
        } else if (r->ragged) {
            dync__format(size, sizeof size, "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "selp.b32 %s, %s_n, 0, %s_ok%d", size, r->name, r->name, i);
        } else if (bytes_left) {
            dync__format(size, sizeof size, "%s_n", r->name);
        }
        dync__cuda_tile_cp(t, 16, here, at + i * r->threads * 16, g,
                           i * (r->threads / 8) * r->row_bytes, size[0] ? size : NULL);
    }
}

DYNC__FN void dync__cuda_tile_rows_move(dync__cuda_tile *t, const dync__cuda_tile_rows *r,
                                        int64_t bytes)
{
    dync__ptx_line(&t->p, "add.s64 %s_g, %s_g, %lld", r->name, r->name, (long long)bytes);
}

/* ---- fragments ------------------------------------------------------------------------------- */

DYNC__FN const dync__cuda_tile_kind *dync__cuda_tile_kind_of(int kind)
{
    static const dync__cuda_tile_kind kinds[] = {{"m16n8k16", "bf16", "f32", 2, 16},
                                                 {"m16n8k16", "f16", "f32", 2, 16},
                                                 {"m16n8k8", "tf32", "f32", 4, 8},
                                                 {"m16n8k32", "s8", "s32", 1, 32},
                                                 {"m16n8k32", "u8", "s32", 1, 32}};
    return &kinds[kind];
}

/* The pair i differs from pair 0 in bits of the chunk only: an exclusive or. */
DYNC__FN void dync__cuda_tile_matrix(dync__cuda_tile *t, const char *name, int n, int order,
                                     const char *row0)
{
    dync__ptx *p = &t->p;
    const char *row = dync__ptx_temp(p, "b32"), *chunk = dync__ptx_temp(p, "b32"),
               *x = dync__ptx_temp(p, "b32");
    dync__cuda_tile_regs(t, "b32", name, n);
    if (order == 0) {
        dync__ptx_line(p, "and.b32 %s, %%lane, 15", row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", chunk);
    } else {
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", row);
        dync__ptx_line(p, "and.b32 %s, %%lane, 7", chunk);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", row, row, chunk);
        dync__ptx_line(p, "bfe.u32 %s, %%lane, 3, 1", chunk);
    }
    dync__ptx_line(p, "and.b32 %s, %s, 7", x, row);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", chunk, chunk, x);
    if (row0) dync__ptx_line(p, "add.u32 %s, %s, %s", row, row, row0);
    dync__ptx_line(p, "mul.lo.u32 %s0, %s, 128", name, row);
    dync__ptx_line(p, "mad.lo.u32 %s0, %s, 16, %s0", name, chunk, name);
    for (int i = 1; i < n; i++) dync__ptx_line(p, "xor.b32 %s%d, %s0, %d", name, i, name, i * 32);
}

DYNC__FN void dync__cuda_tile_ldmatrix(dync__cuda_tile *t, bool trans, const char *reg, int first,
                                       const char *address, int at)
{
    dync__ptx_line(&t->p,
                   "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%s%d, %s%d, %s%d, %s%d}, [%s+%d]",
                   trans ? ".trans" : "", reg, first, reg, first + 1, reg, first + 2, reg,
                   first + 3, address, at);
}

DYNC__FN void dync__cuda_tile_mma(dync__cuda_tile *t, int kind, const char *acc, int c,
                                  const char *a, int ia, const char *b, int ib)
{
    const dync__cuda_tile_kind *k = dync__cuda_tile_kind_of(kind);
    char d[120];
    dync__format(d, sizeof d, "{%s%d, %s%d, %s%d, %s%d}", acc, c, acc, c + 1, acc, c + 2, acc,
                 c + 3);
    dync__ptx_line(
        &t->p,
        "mma.sync.aligned.%s.row.col.%s.%s.%s.%s %s, {%s%d, %s%d, %s%d, %s%d}, {%s%d, %s%d}, %s",
        k->shape, k->acc, k->in, k->in, k->acc, d, a, ia, a, ia + 1, a, ia + 2, a, ia + 3, b, ib, b,
        ib + 1, d);
}
