/* cuda/recurrent_text.c: the two kernels of recurrent layers: all steps in one launch of blocks
 * that hold their rows, or a launch a step. After recurrent.c, before recurrent_call.c. */
#include "../dync.in.h"
#include "tile.h"
#include "recurrent.h"
DYNC__COLD

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Registers, rows, unit; where the thread's states and weights are. */
static void dync__ru_begin(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    static const char *const names[][2] = {
        {"s64", "%time"},   {"s32", "%index"}, {"s32", "%left"}, {"pred", "%more"},
        {"pred", "%first"}, {"pred", "%skip"}, {"b32", "%hp"},   {"b32", "%iteration"},
        {"b32", "%share"},  {"pred", "%mine"}};
    int threads = u->units * u->groups;
    char name[24];
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(p, names[i][0], names[i][1]);
    dync__cuda_tile_regs(&u->t, u->ty, "%acc", u->gates * u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%w", 4 * u->pack);
    dync__cuda_tile_regs(&u->t, u->ty, "%s", 4 * u->pack * u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%h", u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%c", u->rb);
    dync__cuda_tile_set(&u->t, "b32", "%tu", "and", "%%thr, %d", u->units - 1);
    dync__cuda_tile_set(&u->t, "u32", "%group", "div", "%%thr, %d", u->units);
    if (u->step) {
        dync__cuda_tile_special(&u->t, "%slice", "%ctaid.y");
        dync__ptx_line(p, "mad.lo.s32 %%tu, %%slice, %d, %%tu", u->units);
    }
    dync__ptx_line(p, "setp.lt.s32 %%mine, %%tu, %lld", (long long)u->H);
    dync__cuda_tile_wide(&u->t, "%unit", NULL);
    dync__ptx_line(p, "cvt.s64.s32 %%unit, %%tu");
    for (int r = 0; r < u->rb; r++) {
        dync__format(name, sizeof name, "%%row%d", r);
        dync__cuda_tile_wide(&u->t, name, NULL);
        const char *n = dync__ptx_temp(p, "s32");
        dync__ptx_line(p, "mad.lo.s32 %s, %%cta, %d, %d", n, u->groups * u->rb, r);
        dync__ptx_line(p, "mad.lo.s32 %s, %%group, %d, %s", n, u->rb, n);
        dync__ptx_line(p, "cvt.s64.s32 %s, %s", name, n);
        dync__format(name, sizeof name, "%%ok%d", r);
        dync__ptx_reg(p, "pred", name);
        dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %lld, %%mine", name, n, (long long)u->N);
    }
    int copy = u->groups * u->rb * u->row * u->bytes;
    u->state = dync__cuda_tile_shared(&u->t, u->step ? copy : 2 * copy, 16);
    if (u->near)
        u->weights = dync__cuda_tile_shared(&u->t, (int)(u->H * u->H * u->pack * u->bytes), 16);
    dync__cuda_tile_set(&u->t, "s32", "%hfirst", "mad.lo", "%%group, %d, %%smem",
                        u->rb * u->row * u->bytes);
    dync__ptx_line(p, "add.s32 %%hfirst, %%hfirst, %d", u->state);
    dync__cuda_tile_set(&u->t, "s32", "%own", "mad.lo", "%%tu, %d, %%hfirst",
                        (u->grad ? u->pack : 1) * u->bytes);
    /* behind: in the copy that is not being read */
    dync__ptx_line(p, "add.s32 %%own, %%own, %d", u->step ? 0 : copy);
    dync__ptx_line(p, "mov.b32 %%iteration, 0");
    const char *clamped = dync__ptx_temp(p, "s32");
    dync__ptx_line(p, "min.s32 %s, %%tu, %lld", clamped, (long long)(u->H - 1));
    if (u->near) {
        dync__ptx_reg(p, "b32", "%wp");
        dync__cuda_tile_set(&u->t, "s32", "%wfirst", "mad.lo", "%s, %d, %%smem", clamped,
                            u->pack * u->bytes);
        dync__ptx_line(p, "add.s32 %%wfirst, %%wfirst, %d", u->weights);
    } else {
        dync__cuda_tile_wide(&u->t, "%wp", NULL);
        dync__cuda_tile_wide(&u->t, "%wfirst", NULL);
        dync__ptx_line(p, "mad.wide.s32 %%wfirst, %s, %d, %%b%d", clamped, u->pack * u->bytes,
                       u->temp[0]);
    }
    for (int role = 0; role < DYNC__RNN_ROLES; role++) {
        const dync__operand *o = u->at[role];
        if (!o || o->lay.ndim == 1) continue;
        dync__ru_base(role, name);
        dync__cuda_tile_set(&u->t, "s64", name, "add", "%%b%d, %lld", (int)(o - u->call->operand),
                            (long long)(o->lay.offset * dync__dtype_info(o->dtype)->bytes));
    }
    if (u->at[DYNC__RNN_BIAS]) {
        const dync__operand *o = u->at[DYNC__RNN_BIAS];
        int64_t bytes = dync__dtype_info(o->dtype)->bytes;
        dync__cuda_tile_regs(&u->t, u->ty, "%bias", u->gates);
        for (int g = 0; g < u->gates; g++) {
            char value[16];
            dync__format(value, sizeof value, "%%bias%d", g);
            const char *at = dync__ptx_temp(p, "s64");
            dync__ptx_line(p, "mad.lo.s64 %s, %%unit, %lld, %%b%d", at,
                           (long long)(o->lay.stride[0] * bytes), (int)(o - u->call->operand));
            dync__ptx_line(p, "add.s64 %s, %s, %lld", at, at,
                           (long long)((o->lay.offset + g * u->H * o->lay.stride[0]) * bytes));
            dync__ptx_line(p, "mov.%s %s, %s", u->ty, value,
                           u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
            dync__cuda_tile_load(&u->t, o->dtype, value, at, "@%mine ");
        }
    }
    if (!u->near) return;
    int64_t bytes = u->H * u->H * u->pack * u->bytes;
    int each = bytes % 16 == 0 ? 16 : 4;
    dync__cuda_tile_note(&u->t, "weights");
    dync__ptx_line(p, "mov.b32 %%left, %%thr");
    dync__cuda_tile_set(&u->t, "s32", "%to", "mad.lo", "%%thr, %d, %%smem", each);
    dync__cuda_tile_wide(&u->t, "%from", NULL);
    dync__ptx_line(p, "mad.wide.s32 %%from, %%thr, %d, %%b%d", each, u->temp[0]);
    dync__cuda_tile_label(&u->t, "WEIGHTS");
    dync__ptx_line(p, "setp.lt.s32 %%more, %%left, %lld", (long long)(bytes / each));
    dync__ptx_line(p, "@%%more cp.async.ca.shared.global [%%to+%d], [%%from], %d", u->weights,
                   each);
    dync__ptx_line(p, "add.s32 %%left, %%left, %d", threads);
    dync__ptx_line(p, "add.s32 %%to, %%to, %d", threads * each);
    dync__ptx_line(p, "add.s64 %%from, %%from, %d", threads * each);
    dync__ptx_line(p, "@%%more bra WEIGHTS");
    dync__cuda_tile_commit(&u->t);
    dync__cuda_tile_wait(&u->t, 0);
}

/* %at<role> of the operands with a step, for step %index. */
static void dync__ru_at_step(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    char name[16];
    if (u->reverse) dync__ptx_line(p, "sub.s32 %%left, %lld, %%index", (long long)(u->L - 1));
    dync__ptx_line(p, "cvt.s64.s32 %%time, %s", u->reverse ? "%left" : "%index");
    dync__ptx_line(p, "setp.eq.s32 %%first, %%index, 0");
    for (int role = 0; role < DYNC__RNN_ROLES; role++) {
        const dync__operand *o = u->at[role];
        int64_t bytes = o ? dync__dtype_info(o->dtype)->bytes : 0;
        if (!o || o->lay.ndim != 3) continue;
        dync__ru_base(role, name);
        dync__ptx_line(p, "mad.lo.s64 %s, %%time, %lld, %%b%d", name,
                       (long long)(o->lay.stride[0] * bytes), (int)(o - u->call->operand));
        dync__ptx_line(p, "add.s64 %s, %s, %lld", name, name, (long long)(o->lay.offset * bytes));
    }
}

/* A state of row r from an operand [N, H], 0 where there is none; those of all rows to one. */
static void dync__ru_take(dync__ru *u, char what, int r, int role)
{
    dync__ru_set_state(
        u, what, r, role >= 0 && u->at[role] ? dync__ru_get(u, role, r, 0) : dync__ru_number(u, 0));
}
static void dync__ru_leave(dync__ru *u, char what, int role)
{
    for (int r = 0; r < u->rb; r++) dync__ru_put(u, role, r, 0, dync__ru_state(u, what, r));
}

DYNC__FN void dync__ru_block_text(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    int copy = u->groups * u->rb * u->row * u->bytes;
    dync__ru_begin(u);
    for (int r = 0; r < u->rb; r++) {
        dync__ru_take(u, 'h', r, u->grad ? -1 : DYNC__RNN_H0);
        dync__ru_take(u, 'c', r, u->grad ? DYNC__RNN_GC : DYNC__RNN_C0);
        if (!u->grad)
            dync__ptx_line(p, "@%%mine st.shared.%s [%%own+%d], %%h%d", u->ty,
                           r * u->row * u->bytes - copy, r);
    }
    dync__cuda_tile_barrier(&u->t);
    dync__ptx_line(p, "mov.b32 %%index, %lld", (long long)(u->grad ? u->L - 1 : 0));
    dync__cuda_tile_label(&u->t, "STEP");
    dync__ru_at_step(u);
    if (u->grad) {
        dync__ptx_line(p, "setp.eq.s32 %%skip, %%index, %lld", (long long)(u->L - 1));
        dync__ptx_line(p, "@%%skip bra NONE");
    }
    dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) dync__cuda_tile_label(&u->t, "NONE");
    dync__ptx_line(p, "sub.s32 %%share, %%own, %%iteration");
    for (int r = 0; r < u->rb; r++) {
        if (u->grad)
            dync__ru_cell_grad(u, r);
        else
            dync__ru_cell(u, r);
        if (!u->grad)
            dync__ptx_line(p, "@%%mine st.shared.%s [%%share+%d], %%h%d", u->ty,
                           r * u->row * u->bytes, r);
    }
    dync__ptx_line(p, "sub.s32 %%iteration, %d, %%iteration", copy);
    dync__cuda_tile_barrier(&u->t);
    dync__ptx_line(p, "add.s32 %%index, %%index, %d", u->grad ? -1 : 1);
    if (u->grad)
        dync__ptx_line(p, "setp.ge.s32 %%more, %%index, 0");
    else
        dync__ptx_line(p, "setp.lt.s32 %%more, %%index, %lld", (long long)u->L);
    dync__ptx_line(p, "@%%more bra STEP");
    if (u->grad) dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) dync__ru_leave(u, 'h', DYNC__RNN_GH0);
    dync__ru_leave(u, 'c', u->grad ? DYNC__RNN_GC0 : DYNC__RNN_CN);
    dync__cuda_tile_entry(&u->t, u->call->row->name,
                          (u->N + u->groups * u->rb - 1) / (u->groups * u->rb), 1, 1,
                          u->units * u->groups);
}

/* A state of the thread's rows between launches, [N, H] at the register `base`. */
static void dync__ru_keep(dync__ru *u, char what, const char *base, bool store)
{
    for (int r = 0; r < u->rb; r++) {
        const char *at = dync__ptx_temp(&u->t.p, "s64");
        dync__ptx_line(&u->t.p, "mad.lo.s64 %s, %%row%d, %lld, %%unit", at, r, (long long)u->H);
        dync__ptx_line(&u->t.p, "mad.lo.s64 %s, %s, %d, %s", at, at, u->bytes, base);
        if (store) {
            dync__ptx_line(&u->t.p, "@%%ok%d st.global.%s [%s], %%%c%d", r, u->ty, at, what, r);
        } else {
            dync__ptx_line(&u->t.p, "mov.b%d %%%c%d, 0", 8 * u->bytes, what, r);
            dync__ptx_line(&u->t.p, "@%%ok%d ld.global.%s %%%c%d, [%s]", r, u->ty, what, r, at);
        }
    }
}

/* What the step before left, [N, width] at %read, into shared memory. */
static void dync__ru_stage(dync__ru *u, int64_t width)
{
    dync__ptx *p = &u->t.p;
    int rows = u->groups * u->rb;
    static const char *const names[][2] = {
        {"u32", "%line"}, {"u32", "%place"}, {"s64", "%wide"}, {"s64", "%far"}};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(p, names[i][0], names[i][1]);
    dync__ptx_reg(p, u->ty, "%value");
    dync__ptx_line(p, "mov.b32 %%left, %%thr");
    dync__cuda_tile_label(&u->t, "STATES");
    dync__ptx_line(p, "div.u32 %%line, %%left, %lld", (long long)width);
    dync__ptx_line(p, "rem.u32 %%place, %%left, %lld", (long long)width);
    dync__ptx_line(p, "mad.lo.s32 %%hp, %%line, %d, %%smem", u->row * u->bytes);
    dync__ptx_line(p, "mad.lo.s32 %%hp, %%place, %d, %%hp", u->bytes);
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%place");
    dync__ptx_line(p, "mad.lo.s32 %%line, %%cta, %d, %%line", rows);
    dync__ptx_line(p, "cvt.s64.s32 %%far, %%line");
    dync__ptx_line(p, "mad.lo.s64 %%far, %%far, %lld, %%wide", (long long)width);
    dync__ptx_line(p, "mad.lo.s64 %%far, %%far, %d, %%read", u->bytes);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%left, %lld", (long long)(rows * width));
    dync__ptx_line(p, "setp.lt.and.s32 %%skip, %%line, %lld, %%more", (long long)u->N);
    dync__ptx_line(p, "mov.%s %%value, %s", u->ty,
                   u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
    dync__ptx_line(p, "@%%skip ld.global.%s %%value, [%%far]", u->ty);
    dync__ptx_line(p, "@%%more st.shared.%s [%%hp+%d], %%value", u->ty, u->state);
    dync__ptx_line(p, "add.s32 %%left, %%left, %d", u->units * u->groups);
    dync__ptx_line(p, "@%%more bra STATES");
    dync__cuda_tile_barrier(&u->t);
}

DYNC__FN void dync__ru_step_text(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    int64_t width = u->grad ? u->H * u->pack : u->H;
    char name[24];
    dync__ru_begin(u);
    dync__cuda_tile_wide(&u->t, "%launch", NULL);
    dync__ptx_line(p, "ld.param.b64 %%launch, [p%d]", u->t.n_buffers + 1);
    dync__cuda_tile_wide(&u->t, "%odd", NULL);
    dync__ptx_line(p, "and.b64 %%odd, %%launch, 1");
    dync__cuda_tile_set(&u->t, "s64", "%read", "mad.lo", "%%odd, %lld, %%b%d",
                        (long long)(u->N * width * u->bytes), u->temp[1]);
    dync__ptx_line(p, "xor.b64 %%odd, %%odd, 1");
    dync__cuda_tile_set(&u->t, "s64", "%write", "mad.lo", "%%odd, %lld, %%b%d",
                        (long long)(u->N * width * u->bytes), u->temp[1]);
    dync__ptx_line(p, "cvt.s32.s64 %%index, %%launch");
    dync__cuda_tile_wide(&u->t, "%kept", NULL);
    dync__cuda_tile_wide(&u->t, "%cells", NULL);
    dync__ptx_line(p, "mov.b64 %%kept, %%b%d", u->temp[2]);
    dync__ptx_line(p, "mov.b64 %%cells, %%b%d", u->temp[3]);
    for (int r = 0; r < u->rb; r++) {
        dync__format(name, sizeof name, "%%share%d", r);
        dync__cuda_tile_wide(&u->t, name, NULL);
        dync__ptx_line(p, "mad.lo.s64 %s, %%row%d, %lld, %%unit", name, r, (long long)u->H);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %%write", name, name,
                       (u->grad ? u->pack : 1) * u->bytes);
        dync__ru_take(u, 'h', r, -1);
        dync__ru_take(u, 'c', r, -1);
    }
    if (u->gates == 4) dync__ru_keep(u, 'c', "%cells", false);
    if (u->grad) {
        dync__ptx_line(p, "setp.eq.s32 %%first, %%index, 0");
        dync__ptx_line(p, "sub.s32 %%index, %lld, %%index", (long long)(u->L - 1));
        dync__ptx_line(p, "@%%first bra NONE");
    }
    dync__ru_stage(u, width);
    if (u->gates == 3) dync__ru_keep(u, 'h', u->grad ? "%kept" : "%read", false);
    dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) {
        dync__cuda_tile_label(&u->t, "NONE");
        dync__ptx_line(p, "setp.lt.s32 %%skip, %%index, 0");
        dync__ptx_line(p, "@%%skip bra LAST");
    }
    dync__ru_at_step(u);
    for (int r = 0; r < u->rb; r++) {
        if (u->grad)
            dync__ru_cell_grad(u, r);
        else
            dync__ru_cell(u, r);
    }
    if (!u->grad)
        dync__ru_keep(u, 'h', "%write", true);
    else if (u->gates == 3)
        dync__ru_keep(u, 'h', "%kept", true);
    if (u->gates == 4) dync__ru_keep(u, 'c', "%cells", true);
    if (!u->grad) dync__ptx_line(p, "setp.ne.s32 %%skip, %%index, %lld", (long long)(u->L - 1));
    dync__ptx_line(p, u->grad ? "bra END" : "@%%skip bra END");
    dync__cuda_tile_label(&u->t, "LAST");
    if (u->grad) dync__ru_leave(u, 'h', DYNC__RNN_GH0);
    dync__ru_leave(u, 'c', u->grad ? DYNC__RNN_GC0 : DYNC__RNN_CN);
    dync__cuda_tile_label(&u->t, "END");
    u->t.steps = u->grad ? u->L + 1 : u->L;
    dync__cuda_tile_entry(&u->t, u->call->row->name,
                          (u->N + u->groups * u->rb - 1) / (u->groups * u->rb),
                          (u->H + u->units - 1) / u->units, 1, u->units * u->groups);
}
