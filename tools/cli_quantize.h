/* tools/cli_quantize.h: `dync quantize`: a program in I8, calibrated with files of inputs. */
#ifndef DYNC_TOOLS_CLI_QUANTIZE_H
#define DYNC_TOOLS_CLI_QUANTIZE_H
#include "cli_inputs.h"

/* How many calls tensor t holds for an input of that shape: along its first dimension, or one
 * before it; 0: it fits none. */
static int64_t cli_calls(dync_tensor *t, dync_dims shape)
{
    int extra = dync_ndim(t) - shape.n;
    if (extra < 0 || extra > 1 || (extra == 0 && shape.n == 0)) return extra == 0;
    for (int d = extra ? 0 : 1; d < shape.n; d++)
        if (dync_size(t, d + extra) != shape.d[d]) return 0;
    if (extra) return dync_size(t, 0);
    return shape.d[0] > 0 && dync_size(t, 0) % shape.d[0] == 0 ? dync_size(t, 0) / shape.d[0] : 0;
}

static dync_tensor *cli_one_call(dync_tensor *t, dync_dims shape, int64_t i)
{
    if (dync_ndim(t) > shape.n) return dync_select(t, 0, i);
    return shape.n ? dync_narrow(t, 0, i * shape.d[0], shape.d[0]) : t;
}

/* The calls that the files hold, as a list; none: what is wrong has been said. */
static dync_value cli_calibration(const cli *c, dync_program *p)
{
    dync_value whole[CLI_INPUTS], *calls, list = DYNC_NONE;
    int n = cli_inputs(c, p, whole);
    int64_t count = 0;
    for (int i = 0; i < n; i++) {
        dync_port port = dync_program_input(p, i);
        int64_t here = cli_calls(dync_as_tensor(whole[i]), port.shape);
        if (here && (i == 0 || here == count)) {
            count = here;
            continue;
        }
        fprintf(stderr, "dync: %s: %s\n", port.name ? port.name : "input",
                here ? "as many calls as of the input before it are needed"
                     : "the numbers do not fit the input's shape, nor several calls of it");
        return DYNC_NONE;
    }
    if (n < 1 || !(calls = calloc((size_t)count, sizeof *calls))) return DYNC_NONE;
    for (int64_t k = 0; k < count; k++) {
        dync_value args[CLI_INPUTS];
        for (int i = 0; i < n; i++)
            args[i] =
                DYNC_V(cli_one_call(dync_as_tensor(whole[i]), dync_program_input(p, i).shape, k));
        calls[k] = dync_tuple_of(n, args);
    }
    list = dync_tuple_of((int)count, calls);
    free(calls);
    return list;
}

static dync_status cli_write(const char *path, dync_program *p)
{
    return cli_ends(path, ".c")      ? dync_program_save_c(p, path)
           : cli_ends(path, ".onnx") ? dync_program_save_onnx(p, path)
                                     : dync_program_save(p, path);
}

static int cli_quantize(const cli *c, dync_program *p)
{
    dync_quantize_report r;
    dync_quantize_options o = {
        .percentile = c->percentile, .float_scale = c->float_scale, .report = &r};
    if (!c->out)
        return fprintf(stderr, "dync: -o OUT.dync, OUT.c or OUT.onnx is missing\n"), CLI_USAGE;
    if (!(cli_ends(c->out, ".dync") || cli_ends(c->out, ".c") || cli_ends(c->out, ".onnx")))
        return fprintf(stderr,
                       "dync: %s: the name of what quantize writes ends in .dync, .c or .onnx\n",
                       c->out),
               CLI_USAGE;
    if (!c->ninputs)
        return fprintf(stderr, "dync: name files of inputs to calibrate with\n"), CLI_USAGE;
    dync_value calls = cli_calibration(c, p);
    if (calls.kind != DYNC_KIND_LIST) return CLI_FAILED;
    dync_program *q = dync_quantize_program(p, calls, &o);
    if (!q) return cli_failed(c->file, "cannot be quantized");
    dync_status status = cli_write(c->out, q);
    dync_program_free(q);
    if (status != DYNC_OK) return cli_failed(c->out, "cannot be written");
    printf("calibrated with %d calls: %d layers in integers, %d in floats%s%s\n", dync_len(calls),
           r.layers, r.float_layers, r.float_layers ? ": " : "", r.kept_float);
    printf("constants: %lld bytes, %lld before\n", (long long)r.weight_bytes,
           (long long)r.weight_bytes_before);
    printf("signal to noise %.1f dB; the greatest element is the same in %.2f %% of rows\n",
           r.snr_db, 100 * r.agreement);
    if (r.constants) printf("never changing in these calls (%d): %s\n", r.constants, r.constant);
    return CLI_DONE;
}
#endif
