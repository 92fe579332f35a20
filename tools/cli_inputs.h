/* tools/cli_inputs.h: what `dync` is asked, and the tensors that a command line means. */
#ifndef DYNC_TOOLS_CLI_INPUTS_H
#define DYNC_TOOLS_CLI_INPUTS_H
#include "dync.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLI_DONE, CLI_FAILED, CLI_USAGE, CLI_INPUTS = 64, CLI_SAMPLES = 100000 };

typedef struct {
    const char *command, *file, *out, *html, *inputs[CLI_INPUTS];
    int ninputs, threads;
    double seconds, percentile;
    bool float_scale;
    uint64_t seed;
} cli;

/* What went wrong in the library, or in a file; the first that was said. */
static int cli_failed(const char *path, const char *otherwise)
{
    const char *said = dync_error_message();
    bool named = strstr(said, path) != NULL;
    fprintf(stderr, "dync: %s%s%s\n", named ? "" : path, named ? "" : ": ",
            *said ? said : otherwise);
    return CLI_FAILED;
}

/* cli_failed prints it, with the file's name. */
static void cli_silent(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static bool cli_ends(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* ---- inputs ---------------------------------------------------------------------------------- */
/* "2x3" as a shape; false where it is none. */
static bool cli_shape(const char *text, dync_dims *out)
{
    *out = (dync_dims){0};
    while (*text) {
        char *end;
        if (*text < '0' || *text > '9' || out->n == DYNC_MAX_DIMS) return false;
        out->d[out->n++] = strtoll(text, &end, 10);
        if (*end && (*end != 'x' || !end[1])) return false;
        text = *end ? end + 1 : end;
    }
    return out->n > 0;
}

static bool cli_is_float(dync_dtype d)
{
    return d == DYNC_F32 || d == DYNC_F64 || d == DYNC_F16 || d == DYNC_BF16;
}

/* Made up: NULL where the shape is open and none is given. */
static dync_tensor *cli_made(dync_port port, const char *how, dync_dims shape)
{
    bool zeros = strcmp(how, "zeros") == 0 || (!cli_is_float(port.dtype) && *how != 'o');
    for (int i = 0; i < shape.n; i++)
        if (shape.d[i] < 0) shape.n = -1;
    if (shape.n < 0) return NULL;
    if (zeros) return dync_zeros(shape, .dtype = port.dtype);
    if (strcmp(how, "ones") == 0) return dync_ones(shape, .dtype = port.dtype);
    return dync_to_dtype(dync_randn(shape), port.dtype);
}

static bool cli_is_name(dync_port port, const char *text, size_t length)
{
    return port.name && strlen(port.name) == length && strncmp(text, port.name, length) == 0;
}

/* From a file of names. */
static dync_tensor *cli_of_names(const char *path, dync_port port)
{
    dync_tensors *all = dync_tensors_load(path);
    dync_tensor *t = all ? dync_tensors_get(all, port.name) : NULL; /* NULL: says which there are */
    dync_tensors_free(all);
    return t;
}

static dync_tensor *cli_input(const char *text, dync_port port)
{
    const char *path = text;
    dync_dims shape = port.shape;
    bool made = !text || strcmp(text, "randn") == 0 || strcmp(text, "zeros") == 0 ||
                strcmp(text, "ones") == 0 || cli_shape(text, &shape);
    dync_tensor *t = made                     ? cli_made(port, text ? text : "randn", shape)
                     : cli_ends(path, ".npy") ? dync_npy_load(path)
                                              : cli_of_names(path, port);
    if (!t && dync_error() == DYNC_OK)
        fprintf(stderr, "dync: the shape of %s is open: give a file or %s=2x3\n", port.name,
                port.name);
    else if (!t)
        cli_failed(made ? "input" : path, "no numbers");
    if (!t || dync_type(t) == port.dtype) return t;
    fprintf(stderr, "dync: %s has another dtype than %s: made %s\n", path, port.name, port.type);
    return dync_to_dtype(t, port.dtype);
}

/* Which input an argument of the command line is for: NAME=..., else the next that has none; -1:
 * all that are named in a file; -2: none. */
static int cli_for(const char *text, const dync_port *ports, int n, const char **said)
{
    const char *is = strchr(text, '=');
    if (!is && !cli_ends(text, ".npy")) return -1;
    for (int i = 0; i < n; i++)
        if (is ? cli_is_name(ports[i], text, (size_t)(is - text)) : !said[i]) return i;
    return -2;
}

/* How many; -1: what is wrong has been said. */
static int cli_inputs(const cli *c, dync_program *p, dync_value *args)
{
    dync_port ports[CLI_INPUTS];
    const char *said[CLI_INPUTS] = {0}, *names = NULL;
    int n = 0;
    for (; n < CLI_INPUTS; n++) {
        ports[n] = dync_program_input(p, n);
        if (!ports[n].name && !ports[n].type) break;
    }
    for (int k = 0; k < c->ninputs; k++) {
        const char *text = c->inputs[k], *is = strchr(text, '=');
        int i = cli_for(text, ports, n, said);
        if (i == -2)
            return fprintf(stderr, "dync: %s: there is no %s; `dync info` tells the inputs\n", text,
                           is ? "input of this name" : "input left for it"),
                   -1;
        if (i == -1)
            names = text;
        else
            said[i] = is ? is + 1 : text;
    }
    for (int i = 0; i < n; i++) {
        dync_tensor *t = cli_input(said[i] ? said[i] : names, ports[i]);
        if (!t) return -1;
        args[i] = DYNC_V(t);
    }
    return n;
}
#endif
