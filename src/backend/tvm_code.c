/* backend/tvm_code.c: a part of a graph as one function of TVM's: built, lowered by its passes,
 * made machine code by its LLVM, called on views of our tensors. After tvm_rows.c, before tvm.c. */
#include "../dync.in.h"
#include "../kernel/operand.h"
#include "tvm.h"
DYNC__COLD

/* The passes in their order, as TVM's own pipeline for a CPU has them; level: from which opt_level
 * on. What 0 leaves out changes nothing but speed. */
/* clang-format off */
#define DYNC__TVM_PASSES(X)                                          \
    X("s_tir.transform.CanonicalizeLoop",                      0, 0) \
    X("s_tir.transform.LowerInitBlock",                        0, 0) \
    X("s_tir.transform.PlanAndUpdateBufferAllocationLocation", 0, 0) \
    X("s_tir.transform.ConvertBlocksToOpaque",                 0, 0) \
    X("s_tir.transform.CompactBufferAllocation",               0, 't') \
    X("s_tir.transform.LowerMatchBuffer",                      0, 0) \
    X("s_tir.transform.LowerOpaqueBlock",                      0, 0) \
    X("tirx.transform.FlattenBuffer",                          0, 0) \
    X("tirx.transform.NarrowDataType",                         0, '3') \
    X("s_tir.transform.LoopPartition",                         2, 0) \
    X("tirx.transform.VectorizeLoop",                          0, 't') \
    X("tirx.transform.StorageRewrite",                         1, 0) \
    X("tirx.transform.UnrollLoop",                             2, 0) \
    X("tirx.transform.StmtSimplify",                           0, 0) \
    X("tirx.transform.RemoveNoOp",                             1, 0) \
    X("s_tir.transform.RewriteUnsafeSelect",                   0, 0) \
    X("tirx.transform.CommonSubexprElim",                      3, 0) \
    X("tirx.transform.VerifyMemory",                           0, 0) \
    X("tirx.transform.AnnotateEntryFunc",                      0, 0) \
    X("tirx.transform.SplitHostDevice",                        0, 0) \
    X("tirx.transform.MakePackedAPI",                          0, 0) \
    X("tirx.transform.LowerTVMBuiltin",                        0, 0) \
    X("tirx.transform.LowerIntrin",                            0, 0)
/* clang-format on */
static const struct {
    const char *name;
    int level;
    char arg; /* 't': true, '3': 32 bits */
} dync__tvm_passes[] = {
#define DYNC__X(name, level, arg) {name, level, arg},
    DYNC__TVM_PASSES(DYNC__X)
#undef DYNC__X
};

/* One compiled part. attr: the graph's own tensors, which are passed as further arguments; out:
 * what the results are. */
typedef struct dync__tvm_code {
    dync__tvm_work work; /* holds the function, and what it is made of, no more */
    void *fn;
    int n_in, n_attr, n_out;
    dync__tensor **attr; /* tensors of the graph: references */
    dync__info *out;
    dync__arena arena;
} dync__tvm_code;
enum { DYNC__TVM_ALIGN = 64 }; /* code may load whole vectors */

/* ---- running --------------------------------------------------------------------------------- */

/* As TVM's code reads it: row major and aligned, or a copy that is. */
static dync__tensor *dync__tvm_plainly(dync__tensor *t)
{
    bool as_it_is = dync__device_is(t->device, DYNC__DEV_HOST) &&
                    dync__layout_is_contiguous(&t->lay) &&
                    (uintptr_t)dync__tensor_data(t) % DYNC__TVM_ALIGN == 0;
    if (!as_it_is) return dync__contiguous_copy(t);
    dync__ref(t);
    return t;
}

/* A fresh row-major tensor; its strides are those of the graph only after dync__tvm_laid. */
static dync__tensor *dync__tvm_result(const dync__info *info)
{
    dync__layout lay;
    if (dync__layout_contiguous(&lay, info->lay.ndim, info->lay.shape) != DYNC_OK) return NULL;
    return dync__tensor_empty(info->dtype, DYNC_CPU, &lay);
}

/* In the strides that the graph says. */
static dync__tensor *dync__tvm_laid(const dync__info *info, dync__tensor *taken)
{
    dync__layout lay = info->lay;
    lay.offset = 0;
    if (dync__layout_is_contiguous(&lay)) return taken;
    dync__tensor *to = dync__tensor_empty(info->dtype, DYNC_CPU, &lay);
    if (to)
        dync__copy_elements(lay.ndim, lay.shape, dync__tensor_data(to), info->dtype, lay.stride,
                            dync__tensor_data(taken), info->dtype, taken->lay.stride);
    dync__unref(taken);
    return to;
}

/* view, args: room for n. Views borrow the tensors' memory for the call. */
static dync_status dync__tvm_call_code(const dync__tvm_code *c, int n, dync__tensor *const *io,
                                       dync__dl_tensor *view, dync__tvm_any *args)
{
    dync__tvm_any result = dync__tvm_none();
    for (int i = 0; i < n; i++) {
        (void)dync__dl_show(&view[i], io[i]);
        view[i].data = dync__tensor_data(io[i]);
        args[i] = dync__tvm_none();
        args[i].type = DYNC__TVM_VIEW;
        args[i].as.p = &view[i];
    }
    if (c->work.lib->call(c->fn, args, n, &result) == 0) return DYNC_OK;
    char text[500];
    dync__tvm_error(c->work.lib, text, sizeof text);
    return dync__fail(DYNC_ERR_BACKEND, "tvm: %s", text);
}

/* Arguments are inputs, then the graph's tensors, then results to be written. One block holds all
 * that the call needs. On failure out is empty. */
static dync_status dync__tvm_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                 dync__tensor **out)
{
    const dync__tvm_code *c = state;
    int n = n_in + c->n_attr + n_out;
    size_t each = sizeof(dync__tensor *) + sizeof(dync__dl_tensor) + sizeof(dync__tvm_any),
           bytes = ((size_t)n + 1) * each;
    char *block = dync__calloc(bytes);
    if (!block) return DYNC_ERR_MEMORY;
    dync__dl_tensor *view = (dync__dl_tensor *)(void *)block;
    dync__tvm_any *args = (dync__tvm_any *)(void *)(view + n + 1);
    dync__tensor **io = (dync__tensor **)(void *)(args + n + 1);
    dync_status status = DYNC_OK;
    for (int i = 0; i < n; i++) {
        io[i] = i < n_in               ? dync__tvm_plainly(in[i])
                : i < n_in + c->n_attr ? dync__tvm_plainly(c->attr[i - n_in])
                                       : dync__tvm_result(&c->out[i - n_in - c->n_attr]);
        if (!io[i]) status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK) status = dync__tvm_call_code(c, n, io, view, args);
    for (int i = 0; i < n_in + c->n_attr; i++) dync__unref(io[i]);
    for (int i = 0; i < n_out; i++) {
        dync__tensor *t = io[n_in + c->n_attr + i];
        out[i] = status == DYNC_OK ? dync__tvm_laid(&c->out[i], t) : NULL;
        if (status != DYNC_OK) dync__unref(t);
    }
    for (int i = 0; i < n_out && status == DYNC_OK; i++)
        if (!out[i]) status = DYNC_ERR_MEMORY;
    for (int i = 0; i < n_out && status != DYNC_OK; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    dync__free(block, bytes);
    return status;
}

/* Also of one that is half built. */
static void dync__tvm_destroy(void *state)
{
    dync__tvm_code *c = state;
    for (int i = 0; i < c->n_attr; i++) dync__unref(c->attr[i]);
    dync__tvm_end(&c->work);
    dync__arena_free(&c->arena);
    dync__free(c, sizeof *c);
}

/* ---- building -------------------------------------------------------------------------------- */

/* For this machine: its name of LLVM's, the level of LLVM's own passes. */
static dync__tvm_any dync__tvm_target(dync__tvm_work *w, int level)
{
    char text[256], cpu[64] = "";
    dync__tvm_any name = dync__tvm_call(w, "target.llvm_get_system_cpu", 0, NULL);
    if (name.type == DYNC__TVM_SHORT_TEXT)
        dync__format(cpu, sizeof cpu, "%.*s", (int)DYNC__MIN(name.pad, 7), (char *)&name.as);
    if (name.type == DYNC__TVM_LONG_TEXT) {
        struct {
            const char *data;
            size_t size;
        } bytes;
        memcpy(&bytes, (char *)name.as.p + 24, sizeof bytes); /* behind the object's header */
        dync__format(cpu, sizeof cpu, "%.*s", (int)DYNC__MIN(bytes.size, 60), bytes.data);
    }
    dync__format(text, sizeof text, "{\"kind\":\"llvm\",\"opt-level\":%d%s%s%s}", level,
                 *cpu ? ",\"mcpu\":\"" : "", cpu, *cpu ? "\"" : "");
    return DYNC__TVM(w, "target.Target", dync__tvm_text(text));
}

static dync__tvm_any dync__tvm_empty_map(dync__tvm_work *w)
{
    return dync__tvm_call(w, "ffi.Map", 0, NULL);
}

/* The function through the passes, as machine code. The pass context must be left in any case once
 * it was entered, so a failure is set aside for that call. *out: the function "main" of the built
 * module. */
static void dync__tvm_lower(dync__tvm_work *w, dync__tvm_any fn, int level, dync__tvm_any *out)
{
    dync__tvm_any target = dync__tvm_target(w, level), none = dync__tvm_list(w, 0, NULL);
    dync__tvm_any entry[2] = {DYNC__TVM(w, "ir.GlobalVar", dync__tvm_text("main")), fn};
    dync__tvm_any module = DYNC__TVM(w, "ir.IRModule", dync__tvm_call(w, "ffi.Map", 2, entry),
                                     dync__tvm_empty_map(w), dync__tvm_empty_map(w));
    dync__tvm_any bound = DYNC__TVM(w, "target.WithHost", target, target);
    dync__tvm_any context = DYNC__TVM(w, "transform.PassContext", dync__tvm_int(level), none, none,
                                      none, dync__tvm_empty_map(w));
    (void)DYNC__TVM(w, "transform.EnterPassContext", context);
    bool entered = !w->failed;
    module =
        DYNC__TVM(w, "transform.RunPass", DYNC__TVM(w, "tirx.transform.BindTarget", bound), module);
    for (int i = 0; i < DYNC__COUNT_OF(dync__tvm_passes); i++) {
        if (dync__tvm_passes[i].level > level) continue;
        dync__tvm_any arg = dync__tvm_passes[i].arg == 't' ? dync__tvm_bool(true)
                                                           : dync__tvm_int(32);
        dync__tvm_any pass =
            dync__tvm_call(w, dync__tvm_passes[i].name, dync__tvm_passes[i].arg ? 1 : 0, &arg);
        module = DYNC__TVM(w, "transform.RunPass", pass, module);
    }
    dync__tvm_any code = DYNC__TVM(w, "target.build.llvm", module, target);
    bool failed = w->failed;
    w->failed = false;
    if (entered) (void)DYNC__TVM(w, "transform.ExitPassContext", context);
    w->failed = w->failed || failed;
    *out =
        DYNC__TVM(w, "ffi.ModuleGetFunction", code, dync__tvm_text("main"), dync__tvm_bool(false));
}

/* Inputs, then tensors of the graph, as placeholders. */
static dync_status dync__tvm_inputs(dync__tvm_code *c, const dync__graph *g, dync__tvm_part *p,
                                    dync__tvm_any *io)
{
    dync__tvm_work *w = p->w;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->node.n; i++) {
            const dync__node *n = g->node.at[i];
            if (n->kind != (pass ? DYNC__N_GET_ATTR : DYNC__N_PLACEHOLDER)) continue;
            if (!n->has_info)
                return dync__fail(DYNC_ERR_UNSUPPORTED, "tvm: input %s is no tensor", n->name);
            const dync__info *info = &n->info[0];
            p->value[i][0] = DYNC__TVM(
                w, "te.Placeholder", dync__tvm_shape(w, info->lay.ndim, info->lay.shape),
                DYNC__TVM(w, "ir.PrimType", dync__tvm_dtype(info->dtype)), dync__tvm_text(n->name));
            io[c->n_in + c->n_attr] = p->value[i][0];
            if (pass) dync__ref(c->attr[c->n_attr++] = n->value);
            if (!pass) c->n_in++;
        }
    return DYNC_OK;
}

/* Results; each a tensor of its own, though two outputs may be one value, or an input. */
static dync_status dync__tvm_outputs(dync__tvm_code *c, const dync__graph *g, dync__tvm_part *p,
                                     dync__tvm_any *io)
{
    const dync__arg *result = &g->node.at[g->node.n - 1]->args[0];
    int n = result->kind == DYNC__A_LIST ? result->n : 1;
    const dync__arg *list = result->kind == DYNC__A_LIST ? result->as.list : result;
    c->out = dync__arena_alloc(&c->arena, ((size_t)n + 1) * sizeof *c->out);
    if (!c->out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        if (list[i].kind != DYNC__A_NODE)
            return dync__fail(DYNC_ERR_UNSUPPORTED, "tvm: a result is no tensor");
        c->out[i] = *dync__tvm_info(&list[i]);
        io[c->n_in + c->n_attr + i] =
            DYNC__TVM(p->w, "topi.identity", dync__tvm_value(p, &list[i]));
        c->n_out++;
    }
    return DYNC_OK;
}

/* level: 0 .. 3. What is made on the way is let go at the end, but for the function. */
static dync_status dync__tvm_build(dync__tvm_code *c, dync__graph *g, int level)
{
    dync__tvm_work work = {.lib = c->work.lib}, *w = &work;
    dync__graph_renumber(g);
    size_t n = (size_t)g->node.n + (size_t)g->node.at[g->node.n - 1]->args[0].n + 2;
    dync__tvm_part p = {.w = w};
    p.value = dync__arena_alloc(&c->arena, n * sizeof *p.value);
    dync__tvm_any *io = dync__arena_alloc(&c->arena, n * sizeof *io);
    c->attr = dync__arena_alloc(&c->arena, n * sizeof *c->attr);
    if (!p.value || !io || !c->attr) return DYNC_ERR_MEMORY;
    dync_status status = dync__tvm_inputs(c, g, &p, io);
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++)
        if (g->node.at[i]->op >= 0 && g->node.at[i]->kind != DYNC__N_OUTPUT)
            dync__tvm_say(&p, g->node.at[i]);
    if (status == DYNC_OK) status = dync__tvm_outputs(c, g, &p, io);
    if (status == DYNC_OK) {
        dync__tvm_any fn = DYNC__TVM(w, "te.CreatePrimFunc",
                                     dync__tvm_list(w, c->n_in + c->n_attr + c->n_out, io),
                                     dync__tvm_none()),
                      code;
        fn = DYNC__TVM(w, "ir.BaseFuncWithAttr", fn, dync__tvm_text("global_symbol"),
                       dync__tvm_text("main"));
        dync__tvm_lower(w, fn, level, &code);
        c->fn = code.as.p;
        if (w->failed || code.type < DYNC__TVM_OBJECT)
            status = dync__fail(DYNC_ERR_BACKEND, "tvm: %s",
                                *w->message ? w->message : "no memory, or no function came back");
    }
    /* of all that was built the function stays, which was the last one */
    if (status == DYNC_OK && dync__vec_push(&c->work.owned, c->fn))
        w->owned.n--;
    else if (status == DYNC_OK)
        status = DYNC_ERR_MEMORY;
    dync__tvm_end(w);
    return status;
}

/* A maker's compile function (dync__partition_maker). */
DYNC__FN dync_status dync__tvm_compile(void *user, dync__graph *g, const dync__options *o,
                                       dync__inner *out)
{
    dync__tvm_code *c = dync__calloc(sizeof *c);
    (void)user;
    if (!c) return DYNC_ERR_MEMORY;
    c->work.lib = dync__tvm_get();
    dync_status status = c->work.lib ? dync__tvm_build(c, g, o->opt_level < 0 ? 3 : o->opt_level)
                                     : dync__fail(DYNC_ERR_BACKEND, "tvm: %s", dync__tvm_missing());
    if (status != DYNC_OK) {
        dync__tvm_destroy(c);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__tvm_run;
    out->destroy = dync__tvm_destroy;
    out->state = c;
    return DYNC_OK;
}
