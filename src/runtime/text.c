/* runtime/text.c: steps and plans as text, for logs and faults. After plan.h, before check.c. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD

/* The steps of a builder, one after another: kernels as loop IR, calls by name; what fusion emptied
 * has neither and leaves no line. */
DYNC__FN void dync__steps_print(dync__str *text, const dync__steps *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->at[i].k)
            dync__kernel_print(text, s->at[i].k);
        else if (s->at[i].call)
            dync__str_addf(text, "call %s\n", ((const dync__kcall *)s->at[i].call)->row->name);
    }
}

/* A plan for the logs `memory` and `code`:
 *
 *   plan mlp: 2 steps, 512 bytes of arena
 *     slot 3 temp f32 x 64 at 0          elements; its place in the arena
 *     step 0 matmul with epilogue slots 0 1 3
 * Temporaries without a place are not told: fusion left nothing to read or write there. */
DYNC__FN void dync__plan_dump(dync__str *s, const dync__plan *p)
{
    static const char kinds[][6] = {"in", "out", "temp", "kept"};
    dync__str_addf(s, "plan %s: %d steps, %lld bytes of arena\n", p->name, p->n_steps,
                   (long long)p->arena_bytes);
    for (int i = 0; i < p->n_slots; i++) {
        const dync__slot *x = &p->slot[i];
        if (x->kind >= DYNC__SLOT_TEMP && x->arena_offset < 0) continue;
        dync__str_addf(s, "  slot %d %s %s", i, kinds[x->kind], dync__dtype_info(x->dtype)->fx);
        if (x->size >= 0) dync__str_addf(s, " x %lld", (long long)x->size);
        if (x->kind >= DYNC__SLOT_TEMP) dync__str_addf(s, " at %lld", (long long)x->arena_offset);
        dync__str_add(s, "\n");
    }
    for (int i = 0; i < p->n_steps; i++) {
        const dync__kcall *c = p->step[i].call;
        const char *with = !c || !p->step[i].code ? ""
                           : c->follow            ? " with epilogue in its tiles"
                                                  : " with epilogue";
        dync__str_addf(s, "  step %d %s%s%s slots", i, c ? c->row->name : "kernel", with,
                       p->step[i].beside ? " beside the next" : "");
        for (int k = 0; k < p->step[i].n; k++) dync__str_addf(s, " %d", (int)p->step[i].slot[k]);
        if (c) dync__attr_print(s, c->row->attr, &c->attr);
        dync__str_add(s, "\n");
        if (p->step[i].code) dync__code_dump(s, p->step[i].code);
        if (p->step[i].device_code) p->driver->code_dump(s, p->step[i].device_code);
    }
}
