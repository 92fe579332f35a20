/* program/csource_print.c: the text of an exported C file. After csource.c has planned it.
 *
 * In order: sizes as macros, weights, the arena, one static function a step, the program's
 * function, the self-test. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- numbers --------------------------------------------------------------------------------- */

static void dync__csource_number(dync__str *s, const char *at, int dtype)
{
    char text[48];
    bool is_float = dtype == DYNC_F32 || dtype == DYNC_F64;
    double x = is_float ? dync__load_f64(at, dtype) : 0;
    if (!is_float) {
        int64_t i = dync__dtype_info(dtype)->kind == 'f' ? *(const uint16_t *)(const void *)at
                                                         : dync__load_i64(at, dtype);
        if (i == INT64_MIN)
            dync__str_add(s, "INT64_MIN");
        else
            dync__str_addf(s, "%lld", (long long)i);
    } else if (x - x != 0) {
        dync__str_add(s, x != x ? "NAN" : x > 0 ? "INFINITY" : "-INFINITY");
    } else {
        if (dtype == DYNC_F32)
            dync__float_text((float)x, text, sizeof text);
        else
            dync__double_text(x, text, sizeof text);
        dync__str_add(s, text);
        if (!strpbrk(text, ".e")) dync__str_add(s, ".0");
        if (dtype == DYNC_F32) dync__str_addc(s, 'f');
    }
}

/* const float NAME[n] = {...}; of all elements that the layout reaches, from the first on. */
static void dync__csource_array(dync__str *s, const char *name, const char *data, int dtype,
                                int64_t n)
{
    int bytes = dync__dtype_info(dtype)->bytes;
    dync__str_addf(s, "static const %s %s[%lld] = {", dync__csource_type(dtype), name,
                   (long long)DYNC__MAX(n, 1));
    for (int64_t i = 0; i < n; i++) {
        dync__str_add(s, i % 8 ? " " : "\n    ");
        dync__csource_number(s, data + i * bytes, dtype);
        if (i + 1 < n) dync__str_addc(s, ',');
    }
    dync__str_add(s, n ? "\n};\n" : "0};\n");
}

static int64_t dync__csource_span(const dync__layout *lay)
{
    int64_t span = 1;
    for (int d = 0; d < lay->ndim; d++) {
        if (lay->shape[d] == 0) return 0;
        span += (lay->shape[d] - 1) * lay->stride[d];
    }
    return span;
}

static int64_t dync__csource_numel(const dync__layout *lay)
{
    int64_t n = 1;
    for (int d = 0; d < lay->ndim; d++) n *= lay->shape[d];
    return n;
}

/* ---- where a slot is ------------------------------------------------------------------------- */

static void dync__csource_place_of(const dync__csource *c, dync__str *s, int slot)
{
    const dync__slot *p = &c->pb.slot.at[slot];
    const dync__csource_slot *t = &c->slot[slot];
    int bytes = dync__dtype_info(p->dtype)->bytes;
    if (t->in_arena) {
        dync__str_addf(s, "%s_arena.%s", c->program->name, dync__dtype_info(p->dtype)->fx);
        if (t->offset) dync__str_addf(s, " + %lld", (long long)(t->offset / bytes));
    } else if (t->output >= 0) {
        dync__str_addf(s, "out%d", t->output);
    } else if (p->index < c->aot.n_inputs) {
        dync__str_addf(s, "in%d", (int)p->index);
    } else {
        dync__str_addf(s, "%s_w%d", c->program->name, (int)p->index - c->aot.n_inputs);
    }
}

/* ---- parts of the file ----------------------------------------------------------------------- */

static const dync__info *dync__csource_input(const dync__csource *c, int i)
{
    return &c->aot.fw->node.at[i]->info[0];
}

static void dync__csource_signature(const dync__csource *c, dync__str *s)
{
    dync__str_addf(s, "void %s(", c->program->name);
    for (int i = 0; i < c->aot.n_inputs; i++)
        dync__str_addf(s, "%sconst %s *in%d", i ? ", " : "",
                       dync__csource_type(dync__csource_input(c, i)->dtype), i);
    for (int i = 0; i < c->n_out; i++)
        dync__str_addf(s, "%s%s *out%d", i || c->aot.n_inputs ? ", " : "",
                       dync__csource_type(c->out[i].dtype), i);
    dync__str_addc(s, ')');
}

static int64_t dync__csource_weights(const dync__csource *c, dync__str *s)
{
    int64_t bytes = 0;
    char name[160];
    for (int i = 0; i < c->pb.slot.n; i++) {
        const dync__slot *p = &c->pb.slot.at[i];
        if (c->slot[i].first < 0) continue;
        if (p->kind != DYNC__SLOT_INPUT || p->index < c->aot.n_inputs) continue;
        const dync__tensor *t = c->aot.actual.at[p->index].tensor;
        int64_t n = dync__csource_span(&t->lay);
        dync__format(name, sizeof name, "%s_w%d", c->program->name,
                     (int)p->index - c->aot.n_inputs);
        if (s) dync__csource_array(s, name, dync__tensor_data(t), t->dtype, n);
        bytes += n * dync__dtype_info(t->dtype)->bytes;
    }
    return bytes;
}

static void dync__csource_sizes(const dync__csource *c, dync__str *s)
{
    dync__str shape = {0};
    for (int i = 0; i < c->aot.n_inputs; i++) {
        const dync__info *info = dync__csource_input(c, i);
        shape.n = 0;
        dync__shape_text(&shape, info->lay.ndim, info->lay.shape);
        dync__str_addf(s, "#define %s_IN%d_SIZE %lld   /* %s%s, row major */\n", c->upper, i,
                       (long long)dync__csource_numel(&info->lay),
                       dync__dtype_info(info->dtype)->fx, dync__str_get(&shape));
    }
    for (int i = 0; i < c->n_out; i++) {
        const dync__lowered_out *o = &c->out[i];
        shape.n = 0;
        dync__shape_text(&shape, o->lay.ndim, o->lay.shape);
        dync__str_addf(s, "#define %s_OUT%d_SIZE %lld   /* %s%s, row major */\n", c->upper, i,
                       (long long)dync__csource_numel(&o->lay), dync__dtype_info(o->dtype)->fx,
                       dync__str_get(&shape));
    }
    dync__str_addf(s, "#define %s_WEIGHT_BYTES %lld\n#define %s_ARENA_BYTES %lld\n\n", c->upper,
                   (long long)dync__csource_weights(c, NULL), c->upper, (long long)c->arena_bytes);
    s->failed = s->failed || shape.failed;
    dync__str_free(&shape);
}

/* One member per dtype that lives there. */
static void dync__csource_arena(const dync__csource *c, dync__str *s)
{
    if (c->arena_bytes == 0) return;
    dync__str_add(s, "static union {\n");
    for (int dtype = 0; dync__dtype_valid(dtype); dtype++) {
        bool used = dtype == DYNC_F64; /* for its alignment */
        for (int i = 0; i < c->pb.slot.n; i++)
            used = used || (c->slot[i].in_arena && c->slot[i].first >= 0 &&
                            c->pb.slot.at[i].dtype == dtype);
        if (used)
            dync__str_addf(s, "    %s %s[%s_ARENA_BYTES / sizeof(%s)];\n",
                           dync__csource_type(dtype), dync__dtype_info(dtype)->fx, c->upper,
                           dync__csource_type(dtype));
    }
    dync__str_addf(s, "} %s_arena;\n\n", c->program->name);
}

static dync_status dync__csource_functions(const dync__csource *c, dync__str *s)
{
    char name[160];
    for (int i = 0; i < c->n_steps; i++) {
        dync__format(name, sizeof name, "%s_step%d", c->program->name, i);
        if (c->steps[i].k)
            DYNC__TRY(dync__kernel_csource(s, c->steps[i].k, name));
        else
            DYNC__TRY(dync__kcall_csource(s, c->steps[i].call, name));
        dync__str_addc(s, '\n');
    }
    return DYNC_OK;
}

static void dync__csource_calls(const dync__csource *c, dync__str *s)
{
    for (int i = 0; i < c->n_steps; i++) {
        const dync__fuse_step *step = &c->steps[i];
        const dync__kcall *call = step->call;
        int n = step->k ? step->k->buf.n : call->n;
        dync__str_addf(s, "    %s_step%d(", c->program->name, i);
        for (int k = 0; k < n; k++) {
            if (k) dync__str_add(s, ", ");
            dync__csource_place_of(c, s, step->k ? step->k->buf.at[k].id : call->operand[k].slot);
        }
        dync__str_add(s, ");\n");
    }
}

/* Outputs that are no storage of their own: element by element. */
static void dync__csource_copies(const dync__csource *c, dync__str *s)
{
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
    for (int i = 0; i < c->n_out; i++) {
        const dync__lowered_out *o = &c->out[i];
        int slot = -1;
        for (int k = 0; k < c->pb.slot.n; k++) {
            const dync__slot *p = &c->pb.slot.at[k];
            if (o->input >= 0 ? p->kind == DYNC__SLOT_INPUT && p->index == o->input
                              : p->kind == DYNC__SLOT_OUTPUT && p->index == o->output)
                slot = k;
        }
        if (slot < 0 || c->slot[slot].output == i || dync__csource_numel(&o->lay) == 0) continue;
        dync__layout dense;
        const char *var[DYNC_MAX_DIMS];
        dync__layout_contiguous(&dense, o->lay.ndim, o->lay.shape);
        for (int d = 0; d < o->lay.ndim; d++) {
            var[d] = o->lay.shape[d] > 1 ? names[d] : NULL;
            if (var[d])
                dync__str_addf(s, "    for (int %s = 0; %s < %lld; %s++)\n    ", var[d], var[d],
                               (long long)o->lay.shape[d], var[d]);
        }
        dync__str_addf(s, "    out%d[", i);
        dync__csource_index(s, o->lay.ndim, dense.stride, var, 0);
        dync__str_add(s, "] = (");
        dync__csource_place_of(c, s, slot);
        dync__str_add(s, ")[");
        dync__csource_index(s, o->lay.ndim, o->lay.stride, var, o->lay.offset);
        dync__str_add(s, "];\n");
    }
}

static void dync__csource_body(const dync__csource *c, dync__str *s)
{
    dync__csource_signature(c, s);
    dync__str_add(s, ";\n");
    dync__csource_signature(c, s);
    dync__str_add(s, "\n{\n");
    dync__str calls = {0};
    dync__csource_calls(c, &calls);
    dync__csource_copies(c, &calls);
    for (int i = 0; i < c->aot.n_inputs + c->n_out; i++) { /* empty ones are not named */
        char name[16];
        bool used = false, in = i < c->aot.n_inputs;
        size_t n = (size_t)dync__format(name, sizeof name, "%s%d", in ? "in" : "out",
                                        in ? i : i - c->aot.n_inputs);
        for (const char *at = strstr(dync__str_get(&calls), name); at; at = strstr(at + 1, name))
            used = used || (at[n] < '0' || at[n] > '9');
        if (!used) dync__str_addf(s, "    (void)%s;\n", name);
    }
    dync__str_add(s, dync__str_get(&calls));
    s->failed = s->failed || calls.failed;
    dync__str_free(&calls);
    dync__str_add(s, "}\n");
}

/* ---- the self-test --------------------------------------------------------------------------- */

/* Inputs between -1 and 1, integers 0, from a fixed stream. */
static dync__tensor *dync__csource_example(const dync__csource *c, int i, uint64_t *at)
{
    const dync__info *info = dync__csource_input(c, i);
    dync__layout lay;
    if (dync__layout_contiguous(&lay, info->lay.ndim, info->lay.shape) != DYNC_OK) return NULL;
    dync__tensor *t = dync__tensor_empty(info->dtype, DYNC_CPU, &lay);
    char *data = t ? dync__tensor_data(t) : NULL;
    bool is_float = dync__dtype_info(info->dtype)->kind == 'f';
    for (int64_t k = 0; data && k < t->numel; k++)
        dync__store_f64(data + k * dync__dtype_info(t->dtype)->bytes, t->dtype,
                        is_float ? 2 * (double)dync__rng_uniform_f32(1, (*at)++) - 1 : 0);
    return t;
}

static dync_status dync__csource_expected(const dync__csource *c, dync__arg *inputs,
                                          dync__arena *arena, dync__arg *out)
{
    dync__handler *stack = dync__handler_swap(NULL);
    bool grad = dync_grad_mode_push(false);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__graph_eval(c->flat, inputs, c->aot.n_inputs, arena, out);
    dync_scope_end(&scope);
    dync_grad_mode_pop(grad);
    (void)dync__handler_swap(stack);
    return status;
}

static void dync__csource_main_text(const dync__csource *c, dync__str *s)
{
    dync__str_addf(s, "\nint main(void)\n{\n    int bad = 0;\n    %s(", c->program->name);
    for (int i = 0; i < c->aot.n_inputs; i++) dync__str_addf(s, "%sexample_in%d", i ? ", " : "", i);
    for (int i = 0; i < c->n_out; i++)
        dync__str_addf(s, "%sexample_out%d", i || c->aot.n_inputs ? ", " : "", i);
    dync__str_add(s, ");\n");
    for (int i = 0; i < c->n_out; i++) {
        dync__str_addf(
            s,
            "    for (int i = 0; i < %s_OUT%d_SIZE; i++) {\n        double got = "
            "(double)example_out%d[i], want = (double)expected_out%d[i];\n"
            "        double off = got - want, limit = 1e-5 + 1e-4 * (want < 0 ? -want : want);\n"
            "        if (!(off <= limit && -off <= limit) && !(got != got && want != want) && got "
            "- want != 0) bad++;\n    }\n",
            c->upper, i, i, i);
    }
    dync__str_addf(
        s, "    printf(\"%s: %%d values are wrong\\n\", bad);\n    return bad != 0;\n}\n#endif\n",
        c->program->name);
}

static dync_status dync__csource_main(const dync__csource *c, dync__str *s)
{
    dync__arena arena = {0};
    dync__arg inputs[DYNC__MAX_LEAVES] = {{0}}, out = {0};
    uint64_t at = 0;
    char name[32];
    dync_status status = DYNC_OK;
    for (int i = 0; i < c->aot.n_inputs && status == DYNC_OK; i++) {
        inputs[i] = dync__arg_t(dync__csource_example(c, i, &at));
        if (inputs[i].kind != DYNC__A_TENSOR) status = DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK) status = dync__csource_expected(c, inputs, &arena, &out);
    if (status == DYNC_OK)
        dync__str_addf(
            s, "\n#ifdef %s_MAIN   /* cc -D%s_MAIN this.c && ./a.out */\n#include <stdio.h>\n",
            c->upper, c->upper);
    for (int i = 0; i < c->aot.n_inputs && status == DYNC_OK; i++) {
        dync__format(name, sizeof name, "example_in%d", i);
        dync__csource_array(s, name, dync__tensor_data(inputs[i].as.t), inputs[i].as.t->dtype,
                            inputs[i].as.t->numel);
    }
    for (int i = 0; out.kind == DYNC__A_LIST && i < out.n && status == DYNC_OK; i++) {
        dync__tensor *dense = dync__contiguous_copy(out.as.list[i].as.t);
        if (!dense) status = DYNC_ERR_MEMORY;
        if (!dense) break;
        dync__format(name, sizeof name, "expected_out%d", i);
        dync__csource_array(s, name, dync__tensor_data(dense), dense->dtype, dense->numel);
        dync__str_addf(s, "static %s example_out%d[%s_OUT%d_SIZE + (%s_OUT%d_SIZE == 0)];\n",
                       dync__csource_type(dense->dtype), i, c->upper, i, c->upper, i);
        dync__unref(dense);
    }
    if (status == DYNC_OK) dync__csource_main_text(c, s);
    for (int i = 0; i < c->aot.n_inputs; i++) dync__arg_release(&inputs[i]);
    dync__arg_release(&out);
    dync__arena_free(&arena);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void dync__csource_includes(dync__str *s, const char *body)
{
    static const struct {
        const char *header, *words[12];
    } rows[] = {
        {"math.h",
         {"fma", "sqrt", "floor", "ceil", "trunc", "rint", "fabs", "NAN", "INFINITY", "fmin",
          "fmax", NULL}},
        {"stdbool.h", {"bool ", NULL}},
        {"stdint.h",
         {"int64_t", "int32_t", "int16_t", "int8_t", "INT64_MIN", "INT32_MIN",
          NULL}}, /* the unsigned ones end so, too */
        {"string.h", {"memcpy(", "memset(", NULL}},
    };
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++)
        for (int k = 0; rows[i].words[k]; k++)
            if (strstr(body, rows[i].words[k])) {
                dync__str_addf(s, "#include <%s>\n", rows[i].header);
                break;
            }
    dync__str_addc(s, '\n');
}

DYNC__FN dync_status dync__csource_print(dync__csource *c, dync__str *s)
{
    dync__str body = {0};
    dync__csource_sizes(c, &body);
    (void)dync__csource_weights(c, &body);
    dync__str_addc(&body, '\n');
    dync__csource_arena(c, &body);
    dync_status status = dync__csource_functions(c, &body);
    if (status == DYNC_OK) {
        dync__csource_body(c, &body);
        status = dync__csource_main(c, &body);
    }
    if (status == DYNC_OK) {
        dync__str_addf(s, "/* %s, made by dync " DYNC_VERSION ". C11, static memory only%s. */\n",
                       c->program->name,
                       c->arena_bytes ? "; not reentrant: its temporaries are static" : "");
        dync__csource_includes(s, dync__str_get(&body));
        dync__str_add(s, dync__str_get(&body));
    }
    s->failed = s->failed || body.failed;
    dync__str_free(&body);
    return status;
}
