/* tests/unit/test_onnx_hostile.c: ONNX models of one operator whose numbers lie: sizes, pads, axes,
 * counts and indices that overflow, are negative or far too large. Each is refused or runs; none
 * crashes, and none takes more memory or time than its result. */
#include "../../src/dync.in.h"
#include "../../src/onnx/record.h"
#include "../test.h"

/* Inputs: words of "f" float or "i" int64 or "?" bool, sizes behind it ("f1,2,5,5"; "i" a scalar);
 * one that ends in * is known and has the odd number in it; "-" is left out. attributes: as a row
 * of rows.c has them, "axis=* pads=*,*". */
typedef struct hostile {
    const char *op;
    int opset, n_out;
    const char *inputs, *attributes;
} hostile;

static const hostile rows[] = {
    {"AffineGrid", 20, 1, "f1,2,3 i4*", ""},
    {"ArgMax", 18, 1, "f2,3", "axis=*"},
    {"AveragePool", 18, 1, "f1,2,5,5", "kernel_shape=2,2 pads=*,*,*,*"},
    {"AveragePool", 18, 1, "f1,2,5,5", "kernel_shape=2,2 strides=*,*"},
    {"BitShift", 18, 1, "i2 i2*", "direction=LEFT"},
    {"CenterCropPad", 18, 1, "f5 i1*", ""},
    {"Col2Im", 18, 1, "f1,4,4 i2* i2*", ""},
    {"Concat", 18, 1, "f2 f2", "axis=*"},
    {"ConstantOfShape", 18, 1, "i2*", ""},
    {"Conv", 18, 1, "f1,2,5,5 f2,2,3,3", "dilations=*,*"},
    {"Conv", 18, 1, "f1,2,5,5 f2,2,3,3", "group=*"},
    {"Conv", 18, 1, "f1,2,5,5 f2,2,3,3", "pads=*,*,*,*"},
    {"Conv", 18, 1, "f1,2,5,5 f2,2,3,3", "strides=*,*"},
    {"ConvTranspose", 18, 1, "f1,2,5,5 f2,2,3,3", "output_padding=*,*"},
    {"ConvTranspose", 18, 1, "f1,2,5,5 f2,2,3,3", "output_shape=*,*"},
    {"ConvTranspose", 18, 1, "f1,2,5,5 f2,2,3,3", "pads=*,*,*,*"},
    {"ConvTranspose", 18, 1, "f1,2,5,5 f2,2,3,3", "strides=*,*"},
    {"CumSum", 18, 1, "f5 i*", ""},
    {"DFT", 17, 1, "f1,4,1 i*", "axis=1"},
    {"DepthToSpace", 18, 1, "f1,4,2,2", "blocksize=*"},
    {"Expand", 18, 1, "f1 i2*", ""},
    {"EyeLike", 18, 1, "f3,3", "k=*"},
    {"Flatten", 18, 1, "f2,3", "axis=*"},
    {"Gather", 18, 1, "f5 i1*", ""},
    {"GatherElements", 18, 1, "f5 i1*", ""},
    {"GatherND", 18, 1, "f5 i1,1*", ""},
    {"GatherND", 18, 1, "f5,5 i5,1", "batch_dims=*"},
    {"GroupNormalization", 21, 1, "f1,4,2 f4 f4", "num_groups=*"},
    {"HannWindow", 18, 1, "i*", ""},
    {"LRN", 18, 1, "f1,4,2,2", "size=*"},
    {"LpPool", 18, 1, "f1,2,5,5", "kernel_shape=*,2"},
    {"MaxPool", 18, 1, "f1,2,5,5", "kernel_shape=2,2 pads=*,*,*,*"},
    {"MaxPool", 18, 1, "f1,2,5,5", "kernel_shape=2,2 dilations=*,*"},
    {"MaxRoiPool", 18, 1, "f1,2,4,4 f1,5", "pooled_shape=*,2"},
    {"MaxUnpool", 18, 1, "f1,1,1 i1,1,1*", "kernel_shape=2 strides=2"},
    {"NonMaxSuppression", 18, 1, "f1,3,4 f1,1,3 i1*", ""},
    {"OneHot", 18, 1, "i2 i* f2", ""},
    {"Pad", 19, 1, "f5 i2*", ""},
    {"Pad", 19, 1, "f5 i2*", "mode=edge"},
    {"Pad", 19, 1, "f5 i2*", "mode=reflect"},
    {"Pad", 19, 1, "f5 i2*", "mode=wrap"},
    {"Range", 18, 1, "i* i* i", ""},
    {"ReduceSum", 18, 1, "f2,3 i1*", ""},
    {"Reshape", 18, 1, "f5 i2*", ""},
    {"Resize", 18, 1, "f1,1,5,5 - - i4*", "mode=nearest"},
    {"Resize", 18, 1, "f1,1,5,5 - - i4*", "mode=cubic"},
    {"RoiAlign", 18, 1, "f1,2,4,4 f1,4 i1", "output_height=* output_width=2"},
    {"RoiAlign", 18, 1, "f1,2,4,4 f1,4 i1*", "sampling_ratio=*"},
    {"STFT", 18, 1, "f1,8,1 i* - i", ""},
    {"STFT", 18, 1, "f1,8,1 i - i*", ""},
    {"ScatterElements", 18, 1, "f5 i1* f1", ""},
    {"ScatterND", 18, 1, "f5 i1,1* f1", ""},
    {"Slice", 18, 1, "f5 i1* i1* i1* i1*", ""},
    {"Slice", 18, 1, "f5 i1* i1* - i1*", ""},
    {"SpaceToDepth", 18, 1, "f1,4,2,2", "blocksize=*"},
    {"SpaceToDepth", 18, 1, "f1,4,0,2", "blocksize=*"},
    {"Split", 18, 2, "f5 i2*", ""},
    {"Split", 18, 2, "f5", "num_outputs=*"},
    {"Squeeze", 18, 1, "f1,5 i1*", ""},
    {"Tile", 18, 1, "f5 i1*", ""},
    {"TopK", 18, 2, "f5 i1*", ""},
    {"Transpose", 18, 1, "f1,2", "perm=*,0"},
    {"Trilu", 18, 1, "f3,3 i*", ""},
    {"Unsqueeze", 18, 1, "f5 i1*", ""},
};

static int64_t odd(void)
{
    static const int64_t all[] = {0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  5,
                                  -5,
                                  99,
                                  INT32_MAX,
                                  INT32_MIN,
                                  INT64_C(1) << 33,
                                  INT64_C(1) << 40,
                                  INT64_C(1) << 62,
                                  -(INT64_C(1) << 62),
                                  INT64_MAX,
                                  INT64_MAX - 1,
                                  INT64_MIN,
                                  INT64_MIN + 1};
    return all[test_random() % (sizeof all / sizeof *all)];
}

/* "1,2,*" as numbers, at most 8 */
static int numbers(const char *text, int64_t *out)
{
    int n = 0;
    for (const char *p = text; *p && n < 8; p = strchr(p, ',') ? strchr(p, ',') + 1 : "")
        out[n++] = *p == '*' ? odd() : strtoll(p, NULL, 10);
    return n;
}

static void known(dync__arena *a, dync__onnx_graph *g, const char *name, const int64_t *size, int n)
{
    dync__onnx_tensor *t = dync__onnx_add(a, g, initializer, tensor);
    int64_t count = 1;
    t->name = name;
    t->data_type = DYNC__ONNX_INT64;
    for (int i = 0; i < n; i++) {
        (void)dync__avec_push(a, &t->dims, size[i]);
        count *= size[i];
    }
    for (int64_t i = 0; i < count; i++) (void)dync__avec_push(a, &t->int64_data, odd());
}

static void given(dync__arena *a, dync__onnx_graph *g, const char *name, int type,
                  const int64_t *size, int n)
{
    dync__onnx_value_info *v = dync__onnx_add(a, g, input, value_info);
    v->name = name;
    v->type = dync__onnx_new(a, type);
    v->type->tensor_type = dync__onnx_new(a, tensor_type);
    v->type->tensor_type->elem_type = type;
    v->type->tensor_type->shape = dync__onnx_new(a, shape);
    for (int i = 0; i < n; i++)
        ((dync__onnx_dim *)dync__onnx_add(a, v->type->tensor_type->shape, dim, dim))->dim_value =
            size[i];
}

static void set_attributes(dync__arena *a, dync__onnx_node *n, const char *text)
{
    char word[64];
    int used;
    for (; sscanf(text, " %63s%n", word, &used) == 1; text += used) {
        char *is = strchr(word, '=');
        int64_t value[8];
        *is++ = 0;
        dync__onnx_attribute *t = dync__onnx_add(a, n, attribute, attribute);
        t->name = dync__arena_strdup(a, word);
        if (*is >= 'A') {
            t->type = DYNC__ONNX_A_STRING;
            t->s = (dync__pb_bytes){dync__arena_strdup(a, is), strlen(is)};
            dync__onnx_mark(t, attribute, s);
        } else if (strchr(is, ',') || strcmp(word, "strides") == 0 || word[0] == 'k') {
            int k = numbers(is, value);
            t->type = DYNC__ONNX_A_INTS;
            for (int i = 0; i < k; i++) (void)dync__avec_push(a, &t->ints, value[i]);
        } else {
            (void)numbers(is, value);
            t->type = DYNC__ONNX_A_INT;
            t->i = value[0];
            dync__onnx_mark(t, attribute, i);
        }
    }
}

static dync__onnx_model *model_of(dync__arena *a, const hostile *h)
{
    static const char *const in[] = {"a", "b", "c", "d", "e"}, *const out[] = {"y", "z"};
    dync__onnx_model *m = dync__onnx_new(a, model);
    m->ir_version = 8;
    ((dync__onnx_opset *)dync__onnx_add(a, m, opset_import, opset))->version = h->opset;
    dync__onnx_graph *g = m->graph = dync__onnx_new(a, graph);
    dync__onnx_node *n = dync__onnx_add(a, g, node, node);
    g->name = "hostile";
    n->op_type = h->op;
    char word[64];
    int used, i = 0;
    for (const char *p = h->inputs; sscanf(p, " %63s%n", word, &used) == 1; p += used, i++) {
        int64_t size[8];
        char *star = strchr(word, '*');
        if (star) *star = 0;
        (void)dync__avec_push(a, &n->input, *word == '-' ? "" : in[i]);
        if (*word == '-') continue;
        int rank = numbers(word + 1, size);
        if (star)
            known(a, g, in[i], size, rank);
        else
            given(a, g, in[i], *word == 'f' ? DYNC__ONNX_FLOAT : DYNC__ONNX_INT64, size, rank);
    }
    set_attributes(a, n, h->attributes);
    for (i = 0; i < h->n_out; i++) {
        (void)dync__avec_push(a, &n->output, out[i]);
        ((dync__onnx_value_info *)dync__onnx_add(a, g, output, value_info))->name = out[i];
    }
    return m;
}

static void run_zeros(dync__program *p)
{
    dync_scope scope = dync_scope_begin();
    dync_value in[8];
    for (int i = 0; i < p->n_port_in; i++) {
        dync_make make = {0};
        make.shape = p->port[i].shape;
        make.dtype = p->port[i].dtype;
        in[i] = dync_v_tensor(dync_zeros_opt(make));
    }
    (void)dync__program_run(p, p->n_port_in, in);
    dync_scope_end(&scope);
}

/* Every axis of a Resize is looked at before the table of one is made: the last would take 800 MB.
 * The first test: memory has no peak before it. */
TEST(sizes_refused_before_tables)
{
    static const int64_t sizes[] = {1, 1, INT64_C(1) << 40, INT64_C(1) << 25};
    const hostile h = {"Resize", 18, 1, "f1,1,5,5 - -", "mode=nearest"};
    dync__arena a = {0};
    dync__str s = {0};
    dync__onnx_model *m = model_of(&a, &h);
    dync__onnx_tensor *t = dync__onnx_add(&a, m->graph, initializer, tensor);
    t->name = "sizes";
    t->data_type = DYNC__ONNX_INT64;
    (void)dync__avec_push(&a, &t->dims, 4);
    for (int k = 0; k < 4; k++) (void)dync__avec_push(&a, &t->int64_data, sizes[k]);
    (void)dync__avec_push(&a, &m->graph->node.at[0]->input, "sizes");
    REQUIRE(dync__onnx_write(&s, model, m) == DYNC_OK);
    char *bytes = dync__alloc(s.n + 1);
    memcpy(bytes, s.at, s.n);
    int64_t before = dync_memory_stats().peak_bytes;
    dync__error_guard g;
    dync__error_guard_begin(&g);
    dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "h");
    if (p) run_zeros(p);
    const dync__error_slot *e = dync__error_guard_end(&g);
    EXPECT(e->status != DYNC_OK);
    EXPECT(dync_memory_stats().peak_bytes < before + ((int64_t)1 << 27));
    dync__program_free(p);
    dync__str_free(&s);
    dync__arena_free(&a);
}

/* Every operator of the table with odd numbers in each of its places. */
TEST(numbers_that_lie)
{
    dync_limits before = dync__program_limits_get();
    dync_set_limits((dync_limits){.nodes = 2000, .elements = 1 << 20, .work = 1 << 28});
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        for (int k = 0; k < test_count(24); k++) {
            dync__arena a = {0};
            dync__str s = {0};
            REQUIRE(dync__onnx_write(&s, model, model_of(&a, &rows[i])) == DYNC_OK);
            char *bytes = dync__alloc(s.n + 1);
            memcpy(bytes, s.at, s.n);
            dync__error_guard g;
            dync__error_guard_begin(&g);
            dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "h");
            bool made = p != NULL;
            if (p) run_zeros(p);
            const dync__error_slot *e = dync__error_guard_end(&g);
            EXPECT(made || e->status != DYNC_OK);
            EXPECT(e->status != DYNC_ERR_INTERNAL);
            if (e->status == DYNC_ERR_INTERNAL) fprintf(stderr, "%s: %s\n", rows[i].op, e->message);
            dync__program_free(p);
            dync__str_free(&s);
            dync__arena_free(&a);
        }
    dync_set_limits(before);
}

/* Windows of as many numbers as no input of their dims has. */
TEST(windows_of_other_dims)
{
    static const hostile at[] = {
        {"MaxPool", 18, 1, "f1,2,5", "kernel_shape=2,2"},
        {"MaxPool", 18, 1, "f1,2,5,5", "kernel_shape=2"},
        {"AveragePool", 18, 1, "f1,2,5,5", "kernel_shape=2,2 strides=2"},
        {"LpPool", 18, 1, "f1,2,5,5", "kernel_shape=2,2 pads=1,1"},
        {"Conv", 18, 1, "f1,2,5,5 f3,2,2,2", "dilations=1,1,1"},
        {"ConvTranspose", 18, 1, "f1,2,5,5 f2,3,2,2", "output_padding=0,0,0"},
    };
    for (int i = 0; i < (int)DYNC__COUNT_OF(at); i++) {
        dync__arena a = {0};
        dync__str s = {0};
        REQUIRE(dync__onnx_write(&s, model, model_of(&a, &at[i])) == DYNC_OK);
        char *bytes = dync__alloc(s.n + 1);
        memcpy(bytes, s.at, s.n);
        dync__error_guard g;
        dync__error_guard_begin(&g);
        dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "h");
        if (p) run_zeros(p);
        const dync__error_slot *e = dync__error_guard_end(&g);
        EXPECT_EQ_INT(e->status, DYNC_ERR_SHAPE);
        if (!strstr(e->message, "expected ")) fprintf(stderr, "%s: %s\n", at[i].op, e->message);
        EXPECT(strstr(e->message, "expected "));
        dync__program_free(p);
        dync__str_free(&s);
        dync__arena_free(&a);
    }
}

/* Scales of a Resize: odd reals, of which none is an integer's. */
TEST(scales_that_lie)
{
    static const float odd_scales[] = {-1, 0, -2e31f, 1e30f, 1e-30f, NAN, INFINITY, -INFINITY, 3};
    static const char *const modes[] = {"mode=nearest", "mode=linear", "mode=cubic"};
    const hostile h = {"Resize", 18, 1, "f1,1,5,5 -", ""};
    for (int i = 0; i < 27; i++) {
        dync__arena a = {0};
        dync__str s = {0};
        dync__onnx_model *m = model_of(&a, &h);
        dync__onnx_node *n = m->graph->node.at[0];
        dync__onnx_tensor *t = dync__onnx_add(&a, m->graph, initializer, tensor);
        t->name = "scales";
        t->data_type = DYNC__ONNX_FLOAT;
        (void)dync__avec_push(&a, &t->dims, 4);
        for (int k = 0; k < 4; k++)
            (void)dync__avec_push(&a, &t->float_data, k < 2 ? 1.0f : odd_scales[i / 3]);
        (void)dync__avec_push(&a, &n->input, "scales");
        set_attributes(&a, n, modes[i % 3]);
        REQUIRE(dync__onnx_write(&s, model, m) == DYNC_OK);
        char *bytes = dync__alloc(s.n + 1);
        memcpy(bytes, s.at, s.n);
        dync__error_guard g;
        dync__error_guard_begin(&g);
        dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "h");
        const dync__error_slot *e = dync__error_guard_end(&g);
        EXPECT(p || e->status != DYNC_OK);
        EXPECT(p || i / 3 != 8);
        dync__program_free(p);
        dync__str_free(&s);
        dync__arena_free(&a);
    }
}

/* A value that doubles from node to node is computed beforehand only so far. */
TEST(known_values_that_grow)
{
    dync__arena a = {0};
    dync__str s = {0};
    dync__onnx_model *m = dync__onnx_new(&a, model);
    m->ir_version = 8;
    ((dync__onnx_opset *)dync__onnx_add(&a, m, opset_import, opset))->version = 18;
    dync__onnx_graph *g = m->graph = dync__onnx_new(&a, graph);
    const int64_t two = 2;
    g->name = "grows";
    known(&a, g, "v0", &two, 1);
    for (int i = 0; i < 33; i++) {
        char *name[2];
        for (int k = 0; k < 2; k++) {
            char text[16];
            snprintf(text, sizeof text, "v%d", i + k);
            name[k] = dync__arena_strdup(&a, text);
        }
        dync__onnx_node *n = dync__onnx_add(&a, g, node, node);
        n->op_type = "Concat";
        for (int k = 0; k < 2; k++) (void)dync__avec_push(&a, &n->input, (const char *)name[0]);
        (void)dync__avec_push(&a, &n->output, (const char *)name[1]);
        set_attributes(&a, n, "axis=0");
    }
    ((dync__onnx_value_info *)dync__onnx_add(&a, g, output, value_info))->name = "v33";
    REQUIRE(dync__onnx_write(&s, model, m) == DYNC_OK);
    char *bytes = dync__alloc(s.n + 1);
    memcpy(bytes, s.at, s.n);
    dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "grows");
    EXPECT(p != NULL);
    EXPECT(dync_memory_stats().peak_bytes < (int64_t)1 << 30);
    dync__program_free(p);
    dync__str_free(&s);
    dync__arena_free(&a);
}

TEST_MAIN
