/* program/csource_state.c: what an exported program writes. Before csource_steps.c.
 *
 *   typedef struct f_state {          tensors of the program that it writes, and where its random
 *       float net_0_weight[16][2];    numbers stand
 *       uint64_t random[2];
 *   } f_state;
 *   extern f_state f_current;         as they were at the export
 *
 * Inputs that it writes are arguments without const. Where the plan does not compute a new value in
 * its place (inductor/lower.c), it is copied there in the end. */
#include "../dync.in.h"
#include "../nn/optim.h"
#include "csource.h"
DYNC__COLD

/* ---- what is written ------------------------------------------------------------------------- */

DYNC__FN bool dync__csource_has_state(const dync__csource *c) { return c->state.n || c->draws; }

DYNC__FN bool dync__csource_writes(const dync__csource *c, int input)
{
    bool writes = false;
    for (int i = 0; i < c->aot.mutated.n; i++)
        writes = writes || c->aot.mutated.at[i].input == input;
    return writes;
}

DYNC__FN int dync__csource_state(const dync__csource *c, int i)
{
    const dync__tensor *t = i < c->aot.actual.n ? c->aot.actual.at[i].tensor : NULL;
    for (int k = 0; t && k < c->state.n; k++)
        if (c->state.at[k] == t) return k;
    return -1;
}

/* g_net_0_weight_, as inputs of graphs are called, is net_0_weight. */
static void dync__csource_plain_name(const char *name, char *plain, size_t size)
{
    dync__format(plain, size, "%s", strncmp(name, "g_", 2) == 0 ? name + 2 : name);
    size_t n = strlen(plain);
    while (n > 1 && plain[n - 1] == '_') plain[--n] = 0;
}

/* What an optimizer keeps: lr, lr_1 of the second group; net_0_weight_momentum beside its
 * parameter. */
static void dync__csource_kept_name(const dync__csource *c, const dync__optim_place *at,
                                    char *plain, size_t size)
{
    const dync__aot_graphs *a = &c->aot;
    char of[96] = "";
    if (!at->role) return;
    for (int i = 0; at->param && i < a->actual.n; i++)
        if (a->actual.at[i].tensor && a->actual.at[i].tensor->storage == at->param->storage)
            dync__csource_plain_name(a->fw->node.at[i]->name, of, sizeof of);
    if (*of)
        dync__format(plain, size, "%s_%s", of, at->role);
    else
        dync__format(plain, size, at->group ? "%s_%d" : "%s", at->role, at->group);
}

/* The member's name of what is input i of the graph. */
static const char *dync__csource_member(dync__csource *c, int at)
{
    char plain[160];
    dync__optim_place place = dync__optim_find(c->aot.actual.at[at].tensor);
    dync__csource_plain_name(c->aot.fw->node.at[at]->name, plain, sizeof plain);
    dync__csource_kept_name(c, &place, plain, sizeof plain);
    const char *member = dync__csource_word(c, strcmp(plain, "random") == 0 ? "random_" : plain);
    for (int i = 0, k = 1; member && i < c->state_name.n; i++)
        if (strcmp(c->state_name.at[i], member) == 0) {
            member = dync__arena_printf(&c->names, "%s_%d", plain, k++);
            i = -1;
        }
    return member;
}

static dync_status dync__csource_state_add(dync__csource *c, int at)
{
    if (at < c->aot.n_inputs || dync__csource_state(c, at) >= 0) return DYNC_OK;
    const char *name = dync__csource_member(c, at);
    return name && dync__avec_push(&c->names, &c->state, c->aot.actual.at[at].tensor) &&
                   dync__avec_push(&c->names, &c->state_name, name)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

/* Learning rates are state, too, so that a schedule can set them. */
static dync_status dync__csource_state_rates(dync__csource *c)
{
    for (int i = c->aot.n_inputs; c->aot.mutated.n && i < c->aot.actual.n; i++) {
        const dync__tensor *t = c->aot.actual.at[i].tensor;
        const char *role = t ? dync__optim_find(t).role : NULL;
        if (role && strcmp(role, "lr") == 0) DYNC__TRY(dync__csource_state_add(c, i));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__csource_state_find(dync__csource *c)
{
    const dync__aot_graphs *a = &c->aot;
    for (int i = 0; i < a->mutated.n; i++) {
        int at = a->mutated.at[i].input;
        for (int k = 0; k < a->actual.n; k++)
            if (!a->actual.at[k].passed)
                return dync__fail(DYNC_ERR_UNSUPPORTED,
                                  "C source of %s: it writes %s, while several tensors "
                                  "share memory; give each its own (dync_clone)",
                                  c->program->name, a->fw->node.at[at]->name);
        if (!dync__avec_push(&a->fw->arena, &a->fw->over, at)) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__csource_state_add(c, at));
    }
    return dync__csource_state_rates(c);
}

DYNC__FN dync_status dync__csource_state_backs(dync__csource *c)
{
    dync__csource_unit *u = &c->main;
    u->back = dync__arena_alloc(&u->arena, (size_t)(c->aot.mutated.n + 1) * sizeof *u->back);
    if (!u->back) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->aot.mutated.n; i++) {
        const dync__lowered_out *o = &u->lowered.out[i];
        if (o->input < 0 && o->output < 0) continue; /* computed in its place */
        u->back[u->n_back++] = (dync__csource_back){c->aot.mutated.at[i].input, *o};
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__csource_state_check(const dync__csource *c)
{
    for (int i = 0; i < c->state.n; i++) {
        bool shared = false;
        for (int k = 0; k < c->weight.n; k++)
            shared = shared || c->weight.at[k]->storage == c->state.at[i]->storage;
        for (int k = 0; k < i; k++)
            shared = shared || c->state.at[k]->storage == c->state.at[i]->storage;
        if (shared)
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "C source of %s: it writes %s, whose memory another tensor shares; "
                              "give each its own (dync_clone)",
                              c->program->name, c->state_name.at[i]);
    }
    return DYNC_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* An array of arrays; else its elements lie as they lie here. */
static bool dync__csource_state_dense(const dync__tensor *t)
{
    return t->numel > 0 && dync__layout_is_contiguous(&t->lay);
}

DYNC__FN void dync__csource_state_type(const dync__csource *c, dync__str *s)
{
    const char *name = c->program->name;
    if (!dync__csource_has_state(c)) return;
    dync__str_add(s, "/* What a step changes: plain numbers, to be read, kept and set. */\n"
                     "typedef struct ");
    dync__str_addf(s, "%s_state {\n", name);
    for (int i = 0; i < c->state.n; i++) {
        const dync__tensor *t = c->state.at[i];
        dync__str_addf(s, "    %s %s", dync__dtype_c_type(t->dtype), c->state_name.at[i]);
        if (!dync__csource_state_dense(t) || t->lay.ndim == 0)
            dync__str_addf(s, "[%lld]", (long long)DYNC__MAX(dync__csource_span(&t->lay), 1));
        else
            for (int d = 0; d < t->lay.ndim; d++)
                dync__str_addf(s, "[%lld]", (long long)t->lay.shape[d]);
        dync__str_add(s, ";\n");
    }
    if (c->draws)
        dync__str_add(s, "    uint64_t random[2]; /* the seed; numbers drawn so far */\n");
    dync__str_addf(s,
                   "} %s_state;\nextern %s_state %s_current; /* begins as it was exported */\n\n",
                   name, name, name);
}

/* recursion: over dimensions. {{1, 2}, {3, 4}} */
static void dync__csource_braces(dync__str *s, const dync__tensor *t, const char **at, int d)
{
    int bytes = dync__dtype_info(t->dtype)->bytes;
    int64_t n = t->lay.ndim ? t->lay.shape[d] : 1;
    bool inner = d + 1 < t->lay.ndim;
    dync__str_addc(s, '{');
    for (int64_t i = 0; i < n; i++) {
        if (i) dync__str_add(s, inner || i % 8 == 0 ? ",\n    " : ", ");
        if (inner) {
            dync__csource_braces(s, t, at, d + 1);
        } else {
            dync__csource_number(s, *at, t->dtype);
            *at += bytes;
        }
    }
    dync__str_addc(s, '}');
}

DYNC__FN void dync__csource_state_array(const dync__csource *c, dync__str *s)
{
    if (!dync__csource_has_state(c)) return;
    dync__str_addf(s, "%s_state %s_current = {\n", c->program->name, c->program->name);
    for (int i = 0; i < c->state.n; i++) {
        dync__tensor flat = *c->state.at[i];
        const char *at = dync__tensor_data(c->state.at[i]);
        if (!dync__csource_state_dense(c->state.at[i])) {
            flat.lay.ndim = 1;
            flat.lay.shape[0] = dync__csource_span(&c->state.at[i]->lay);
        }
        dync__str_add(s, i ? ",\n    " : "    ");
        if (flat.numel)
            dync__csource_braces(s, &flat, &at, 0);
        else
            dync__str_add(s, "{0}");
    }
    if (c->draws)
        dync__str_addf(s, "%s    {%lluu, %lluu}", c->state.n ? ",\n" : "",
                       (unsigned long long)dync__tls.rng_seed,
                       (unsigned long long)dync__tls.rng_offset);
    dync__str_add(s, "\n};\n");
}

/* base/rng.c's numbers: Philox4x32-10 of the seed and the number's place. */
static const char dync__csource_philox[] =
    "/* Philox4x32-10 */\n"
    "static void #_philox(const uint64_t *r, uint64_t at, uint32_t kind, uint32_t x[4])\n{\n"
    "    uint32_t k0 = (uint32_t)r[0], k1 = (uint32_t)(r[0] >> 32);\n"
    "    x[0] = (uint32_t)at;\n    x[1] = (uint32_t)(at >> 32);\n"
    "    x[2] = kind;\n    x[3] = 0;\n"
    "    for (int n = 0; n < 10; n++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {\n"
    "        uint64_t p = (uint64_t)x[0] * 0xd2511f53u, q = (uint64_t)x[2] * 0xcd9e8d57u;\n"
    "        x[0] = (uint32_t)(q >> 32) ^ x[1] ^ k0;\n        x[1] = (uint32_t)q;\n"
    "        x[2] = (uint32_t)(p >> 32) ^ x[3] ^ k1;\n        x[3] = (uint32_t)p;\n    }\n}\n";

/* Adds a function that some step calls by this beginning, behind what it stands on. */
static void dync__csource_random_one(const dync__csource *c, dync__str *text, const char *call,
                                     const char *code)
{
    bool used = false;
    for (int i = 0; i < c->fn.n; i++) used = used || strstr(c->fn.at[i]->text, call);
    if (!used) return;
    if (!text->n) dync__str_add(text, dync__csource_philox);
    dync__str_add(text, code);
}

DYNC__FN void dync__csource_random(const dync__csource *c, dync__str *s)
{
    dync__str text = {0};
    dync__csource_random_one(
        c, &text, "#_word(",
        "/* 32 bits of number i behind those drawn; kind 0: its own, 3 and 2: the even and the\n"
        " * odd one's of its pair, the latter a quarter turn back for the odd one */\n"
        "static int32_t #_word(const uint64_t *r, int64_t i, int kind)\n{\n    uint32_t x[4], w;\n"
        "    uint64_t at = r[1] + (uint64_t)i;\n"
        "    unsigned own = (unsigned)(at >> 3 & 3);\n"
        "    #_philox(r, at >> 5 << 3 | (at & 7), kind ? 2 : 1, x);\n"
        "    w = kind == 0 ? x[own] : kind == 3 ? x[own & 2]\n"
        "                                       : x[own | 1] - ((uint32_t)(own & 1) << 30);\n"
        "    return (int32_t)w;\n}\n");
    dync__csource_random_one(
        c, &text, "#_uniform64(",
        "static double #_uniform64(const uint64_t *r, int64_t i, int k)\n{\n    uint32_t x[4];\n"
        "    #_philox(r, r[1] + (uint64_t)i, 0, x);\n"
        "    return (double)(((uint64_t)x[k + 1] << 32 | x[k]) >> 11) * "
        "(1.0 / 9007199254740992.0);\n}\n");
    for (const char *p = dync__str_get(&text); *p; p++)
        if (*p == '#')
            dync__str_add(s, c->program->name);
        else
            dync__str_addc(s, *p);
    s->failed = s->failed || text.failed;
    dync__str_free(&text);
}

/* ---- the example ----------------------------------------------------------------------------- */

DYNC__FN dync_status dync__csource_state_keep(const dync__csource *c, dync__tensor **kept)
{
    bool ok = true;
    for (int i = 0; i < c->state.n; i++) {
        kept[i] = ok ? dync__contiguous_copy(c->state.at[i]) : NULL;
        ok = ok && kept[i];
    }
    return ok ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN void dync__csource_state_restore(const dync__csource *c, dync__tensor **kept)
{
    for (int i = 0; i < c->state.n; i++) {
        if (kept[i])
            (void)dync__state_write((dync__tensor *)(uintptr_t)c->state.at[i],
                                    dync__tensor_data(kept[i]));
        dync__unref(kept[i]);
    }
}
