/* onnx/map_control.c: If, Loop, Scan: the body that a known condition chooses, or rounds of a body
 * as long as known counts and conditions say. After map_inside.c.
 *
 * What data decide, and rounds of a known number that are too many to stand in a graph one after
 * another, are operators with functions inside (map_inside.c) where a graph is made; in a compiled
 * function the condition is read, which cuts it. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* rounds that a graph has one after another */
enum { DYNC__OI_UNROLLED = 32 };
/* rounds that are walked: of a loop without a limit, and while a model becomes a graph */
enum { DYNC__OI_ROUNDS = 100000 };

/* Runs the body with the values of this node's surroundings in reach. */
static dync_status dync__oi_inside(dync__onnx_call *c, const dync__onnx_body *b, int n_in,
                                   const dync__onnx_value *in, dync__onnx_value *out)
{
    return dync__onnx_run_inside(c->model, b, c->frame, c, n_in, in, out);
}

/* A condition of one element. In a compiled function its value is read, which cuts the trace. */
static dync_status dync__oi_truth(const dync__onnx_call *c, dync_tensor *t, bool *out)
{
    int64_t x = 0;
    if (dync__oi_read(c, t, 1, &x) != 1)
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no condition");
    *out = x != 0;
    return DYNC_OK;
}

DYNC__FN dync_status dync__oi_if(dync__onnx_call *c)
{
    bool yes;
    const dync__onnx_body *side[2] = {dync__oi_body(c, "else_branch"),
                                      dync__oi_body(c, "then_branch")};
    for (int i = 0; i < 2; i++)
        if (!side[i] || side[i]->n_outputs != c->n_out || side[i]->n_inputs)
            return dync__oi_fail(c, DYNC_ERR_FORMAT, "the branches fit not");
    if (dync__oi_is_open(dync__oi_in(c, 0))) return dync__oi_if_inside(c, side[1], side[0]);
    DYNC__TRY(dync__oi_truth(c, dync__oi_in(c, 0), &yes));
    const dync__onnx_body *b = side[yes];
    return dync__oi_inside(c, b, 0, NULL, c->out);
}

/* What the rounds of a loop give, one list a scan output. */
typedef struct dync__oi_rounds {
    DYNC__VEC(dync_tensor *) at;
} dync__oi_rounds;

static dync_tensor *dync__oi_stacked(const dync__oi_rounds *r, int axis, bool reverse)
{
    dync_value list = dync__list_new(r->at.n);
    if (list.kind != DYNC_KIND_LIST) return NULL;
    for (int i = 0; i < r->at.n; i++)
        dync__list_set(list, i, dync_v_tensor(r->at.at[reverse ? r->at.n - 1 - i : i]));
    return dync_stack(list, axis);
}

/* What rounds of a body would give, of which there are none: nothing along `axis`. The body says
 * its type and sizes; one that it does not tell is 0, as ONNX Runtime has it. i: the body's output.
 */
static dync_status dync__oi_no_rounds(const dync__onnx_call *c, const dync__onnx_body *b, int i,
                                      int64_t axis, dync__onnx_value *out)
{
    const dync__onnx_value_info *v = b->told ? b->told[i] : NULL;
    const dync__onnx_tensor_type *t = v && v->type ? v->type->tensor_type : NULL;
    int dtype = t ? dync__onnx_dtype(t->elem_type) : -1, at;
    dync_dims none = {1, {0}};
    if (dtype < 0)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED,
                             "no rounds, and the body does not tell the type of output %d", i);
    if (t->shape && t->shape->dim.n < DYNC_MAX_DIMS) none.n = t->shape->dim.n + 1;
    if (!dync__oi_axis(c, axis, none.n, &at)) return dync_error();
    for (int d = 0, k = 0; d < none.n; d++) {
        if (d == at) continue;
        const dync__onnx_dim *dim = t->shape->dim.at[k++];
        none.d[d] = DYNC__MAX(dim->dim_value, 0);
    }
    *out = (dync__onnx_value){dync__oi_full(none, 0, dtype), (int)t->elem_type, NULL};
    return out->t ? DYNC_OK : dync_error();
}

/* Rounds as long as the body's first output says, at most `most`. in: iteration number, condition,
 * carried values (replaced each round); out: condition, carried values, one element a scan output,
 * which goes behind the others of rounds[k]. A condition that nobody asks for (input 1 missing and
 * output 0 not there) is true. */
static dync_status dync__oi_loop_rounds(dync__onnx_call *c, const dync__onnx_body *b, int64_t most,
                                        bool go, dync__onnx_value *in, dync__onnx_value *out,
                                        dync__oi_rounds *rounds)
{
    int n = b->n_inputs - 2, scans = b->n_outputs - 1 - n;
    for (int64_t i = 0; i < most && go; i++) {
        const int64_t one = 1;
        if (i >= DYNC__OI_ROUNDS && (most == INT64_MAX || !dync__tls.compiling))
            return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a loop of more than %d rounds",
                                 DYNC__OI_ROUNDS);
        in[0] =
            (dync__onnx_value){dync__oi_tensor_i(DYNC_I64, 0, &one, &i), DYNC__ONNX_INT64, NULL};
        bool yes = go;
        in[1].t = dync__oi_tensor_i(DYNC_BOOL, 0, &one, &(int64_t){1});
        in[1].type = DYNC__ONNX_BOOL;
        if (!in[0].t || !in[1].t) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__oi_inside(c, b, b->n_inputs, in, out));
        for (int k = 0; k < n; k++) in[2 + k] = out[1 + k];
        for (int k = 0; k < scans; k++)
            if (!dync__vec_push(&rounds[k].at, out[1 + n + k].t)) return DYNC_ERR_MEMORY;
        if (dync__oi_in(c, 1) || out[0].t) DYNC__TRY(dync__oi_truth(c, out[0].t, &yes));
        go = yes;
    }
    return DYNC_OK;
}

/* Is there no condition at the beginning of a loop, or one that is known and true? */
static bool dync__oi_is_true(dync__onnx_call *c)
{
    return !dync__oi_in(c, 1) || dync__oi_is_all(dync__oi_in(c, 1), 1);
}

DYNC__FN dync_status dync__oi_loop(dync__onnx_call *c)
{
    const dync__onnx_body *b = dync__oi_body(c, "body");
    int64_t most = INT64_MAX;
    bool go = true;
    int n = b ? b->n_inputs - 2 : -1, scans = b ? b->n_outputs - 1 - n : -1;
    if (n < 0 || scans < 0 || n != c->n_in - 2 || c->n_out != n + scans)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "the body fits not");
    bool open = dync__oi_is_open(dync__oi_in(c, 0));
    if (dync__oi_in(c, 0) && !open && dync__oi_read_sizes(c, dync__oi_in(c, 0), 1, &most) < 0)
        return dync_error();
    bool inside = open || dync__is_token(most) || dync__oi_is_open(dync__oi_in(c, 1));
    for (int k = 0; k < n && most > DYNC__OI_UNROLLED; k++)
        inside = inside || dync__oi_is_open(c->in[2 + k].t);
    for (int k = 0; k < n; k++) inside = inside && !c->in[2 + k].sequence;
    if (!scans && inside) return dync__oi_loop_inside(c, b, most);
    bool plain = !dync__tls.compiling && dync__oi_is_true(c);
    for (int k = 0; k < n; k++)
        plain = plain && (!c->in[2 + k].sequence || dync__oi_appends(c, b, k));
    if (dync__is_token(most) && plain) return dync__oi_loop_scan(c, b, most);
    if (scans) most = dync__oi_number(most);
    if (open && plain && dync__oi_is_data(dync__oi_in(c, 0))) {
        most = dync__oi_data_number(dync_maximum(dync__oi_in(c, 0), 0));
        return most == -1 ? dync_error() : dync__oi_loop_scan(c, b, most);
    }
    if (open) return dync__oi_fail(c, DYNC_ERR_DATA_PTR, "data decide how far results grow");
    if (dync__oi_in(c, 1)) DYNC__TRY(dync__oi_truth(c, dync__oi_in(c, 1), &go));
    size_t bytes = (size_t)(b->n_inputs + b->n_outputs) * sizeof(dync__onnx_value);
    dync__onnx_value *in = dync__calloc(bytes);
    dync__oi_rounds *rounds = dync__calloc((size_t)(scans + 1) * sizeof *rounds);
    dync_status status = in && rounds ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int k = 0; k < n && in; k++) in[2 + k] = c->in[2 + k];
    if (status == DYNC_OK)
        status = dync__oi_loop_rounds(c, b, most, go, in, in + b->n_inputs, rounds);
    for (int k = 0; k < n && status == DYNC_OK; k++) c->out[k] = in[2 + k];
    for (int k = 0; k < scans && rounds; k++) {
        if (status == DYNC_OK)
            status = rounds[k].at.n ? dync__oi_out(c, n + k, dync__oi_stacked(&rounds[k], 0, false))
                                    : dync__oi_no_rounds(c, b, 1 + n + k, 0, &c->out[n + k]);
        dync__vec_free(&rounds[k].at);
    }
    dync__free(rounds, rounds ? (size_t)(scans + 1) * sizeof *rounds : 0);
    dync__free(in, in ? bytes : 0);
    return status;
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* axis or direction of scan input or output i */
static int64_t dync__oi_scan_int(const dync__onnx_call *c, const char *name, int i)
{
    const int64_t *at;
    int n = dync__oi_ints(c, name, &at);
    return i < n ? at[i] : 0;
}

/* in: states, then one slice of each scan input; out: states, then one element a scan output.
 * xs: what is scanned, all of one length along their axes; directions 1 go from the end. */
static dync_status dync__oi_scan_rounds(dync__onnx_call *c, const dync__onnx_body *b, int states,
                                        int scans, dync__onnx_value *in, const dync__onnx_value *xs,
                                        dync__onnx_value *out, dync__oi_rounds *rounds)
{
    int axis, results = b->n_outputs - states;
    int64_t length = -1;
    for (int k = 0; k < scans; k++) {
        if (!dync__oi_axis(c, dync__oi_scan_int(c, "scan_input_axes", k), dync__oi_rank(xs[k].t),
                           &axis))
            return dync_error();
        int64_t size = dync__oi_size(xs[k].t, axis);
        if (length >= 0 && size != length)
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "inputs of several lengths");
        length = size;
    }
    for (int64_t t = 0; t < length; t++) {
        for (int k = 0; k < scans; k++) {
            (void)dync__oi_axis(c, dync__oi_scan_int(c, "scan_input_axes", k),
                                dync__oi_rank(xs[k].t), &axis);
            bool back = dync__oi_scan_int(c, "scan_input_directions", k) != 0;
            in[states + k].t = dync_select(xs[k].t, axis, back ? length - 1 - t : t);
            in[states + k].type = xs[k].type;
            if (!in[states + k].t) return dync_error();
        }
        DYNC__TRY(dync__oi_inside(c, b, b->n_inputs, in, out));
        for (int k = 0; k < states; k++) in[k] = out[k];
        for (int k = 0; k < results; k++)
            if (!dync__vec_push(&rounds[k].at, out[states + k].t)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* given: states, then what is scanned; out: states at the end, then scan outputs stacked along
 * their axes. */
static dync_status dync__oi_scan_one(dync__onnx_call *c, const dync__onnx_body *b, int states,
                                     int scans, const dync__onnx_value *given,
                                     dync__onnx_value *out)
{
    int results = b->n_outputs - states;
    size_t bytes = (size_t)(b->n_inputs + b->n_outputs) * sizeof(dync__onnx_value);
    dync__onnx_value *in = dync__calloc(bytes);
    dync__oi_rounds *rounds = dync__calloc((size_t)(results + 1) * sizeof *rounds);
    dync_status status = in && rounds ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int k = 0; k < states && in; k++) in[k] = given[k];
    if (status == DYNC_OK)
        status =
            dync__oi_scan_rounds(c, b, states, scans, in, given + states, in + b->n_inputs, rounds);
    for (int k = 0; k < states && status == DYNC_OK; k++) out[k] = in[k];
    for (int k = 0; k < results && rounds; k++) {
        bool back = dync__oi_scan_int(c, "scan_output_directions", k) != 0;
        int64_t axis = dync__oi_scan_int(c, "scan_output_axes", k);
        if (status == DYNC_OK && !rounds[k].at.n) {
            status = dync__oi_no_rounds(c, b, states + k, axis, &out[states + k]);
        } else if (status == DYNC_OK) {
            out[states + k].t = dync__oi_stacked(&rounds[k], (int)axis, back);
            out[states + k].type = 0;
            if (!out[states + k].t) status = dync_error();
        }
        dync__vec_free(&rounds[k].at);
    }
    dync__free(rounds, rounds ? (size_t)(results + 1) * sizeof *rounds : 0);
    dync__free(in, in ? bytes : 0);
    return status;
}

/* Until opset 8: a batch of scans, and a first input of lengths. */
static dync_status dync__oi_scan_batch(dync__onnx_call *c, const dync__onnx_body *b, int states,
                                       int scans)
{
    if (dync__oi_in(c, 0)) return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "lengths of sequences");
    int64_t batch = dync__oi_size(dync__oi_in(c, 1), 0);
    int n = b->n_inputs + b->n_outputs;
    if (batch < 1 || batch > 4096) return dync__oi_fail(c, DYNC_ERR_SHAPE, "the batch");
    dync__onnx_value *one = dync__scope_alloc((size_t)n * sizeof *one);
    dync__oi_rounds *rounds = dync__calloc((size_t)(c->n_out + 1) * sizeof *rounds);
    dync_status status = one && rounds ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int64_t i = 0; i < batch && status == DYNC_OK; i++) {
        memset(one, 0, (size_t)n * sizeof *one);
        for (int k = 0; k < states + scans; k++)
            one[k] = (dync__onnx_value){dync_select(c->in[1 + k].t, 0, i), c->in[1 + k].type, NULL};
        status = dync__oi_scan_one(c, b, states, scans, one, one + b->n_inputs);
        for (int k = 0; k < c->n_out && status == DYNC_OK; k++)
            if (!dync__vec_push(&rounds[k].at, one[b->n_inputs + k].t)) status = DYNC_ERR_MEMORY;
    }
    for (int k = 0; k < c->n_out && rounds; k++) {
        if (status == DYNC_OK) status = dync__oi_out(c, k, dync__oi_stacked(&rounds[k], 0, false));
        dync__vec_free(&rounds[k].at);
    }
    dync__free(rounds, rounds ? (size_t)(c->n_out + 1) * sizeof *rounds : 0);
    return status;
}

/* Are the rounds of a scan an operator's? Those of a symbolic number, or of more than
 * DYNC__OI_UNROLLED; a graph has fewer one after another. */
static bool dync__oi_is_long(const dync__onnx_call *c, int states)
{
    int axis;
    int64_t told = dync__oi_scan_int(c, "scan_input_axes", 0);
    dync_tensor *x = dync__oi_in(c, states);
    if (!dync__oi_is_open(x) || !dync__oi_axis(c, told, dync__oi_rank(x), &axis)) return false;
    int64_t length = dync__oi_extent(x, axis);
    return dync__is_token(length) || length > DYNC__OI_UNROLLED;
}

DYNC__FN dync_status dync__oi_scan(dync__onnx_call *c)
{
    const dync__onnx_body *b = dync__oi_body(c, "body");
    int64_t told = dync__oi_int(c, "num_scan_inputs");
    int first = c->version < 9 ? 1 : 0, scans = (int)DYNC__MIN(DYNC__MAX(told, 0), c->n_in);
    int states = c->n_in - first - scans;
    if (!b || scans < 1 || states < 0 || b->n_inputs != states + scans ||
        b->n_outputs != c->n_out || b->n_outputs < states)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "the body fits not");
    if (first) return dync__oi_scan_batch(c, b, states, scans);
    if (dync__oi_is_long(c, states)) return dync__oi_scan_inside(c, b, states);
    return dync__oi_scan_one(c, b, states, scans, c->in, c->out);
}
