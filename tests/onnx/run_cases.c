/* tests/onnx/run_cases.c: runs ONNX's own test cases, all in one process, and compares.
 *
 *   run_cases LIST [-v] [-e] [-t NAME]
 *
 * LIST: lines of folder, rtol, atol (tests/onnx/cases.py writes them); a folder has model.onnx and
 * test_data_set_<n> with input_<i>.pb and output_<i>.pb. A model is loaded as a user loads it, and
 * run as a program does: compiled; with -e its nodes are run one by one too. With
 * the word graph behind them it must have a graph, which is saved in every form and loaded again as
 * ONNX, and both run. Prints what fails with the reason, then the count; expected failures stand in
 * tests/onnx/expected.txt with theirs. */
#include "../../src/dync.in.h"
#include "../../src/onnx/record.h"
#include <stdio.h>

enum { MOST = 64 };
static int verbose, eager;
static char reason[2048];

static bool fails(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    return false;
}

/* A tensor of a .pb file; its ONNX type in *type. */
static dync_tensor *tensor_file(const char *path, int *type)
{
    char *bytes;
    size_t n;
    dync__arena a = {0};
    dync__onnx_files none = {0};
    dync__tensor *t = NULL;
    if (dync__file_read(path, &bytes, &n) != DYNC_OK) return NULL;
    dync__onnx_tensor *m = dync__onnx_read(&a, tensor, bytes, n);
    if (m && dync__onnx_tensor_make(m, &none, &t) == DYNC_OK) *type = (int)m->data_type;
    dync__arena_free(&a);
    dync__free(bytes, n + 1);
    return t ? dync__give(t) : NULL;
}

static bool exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}

/* What input or output i of a set is: a tensor, or a list where a file <kind>_<i>.list tells how
 * many there are. A kind of NONE: it is not there, or cannot be read. */
static dync_value value_file(const char *folder, int set, const char *kind, int i)
{
    char path[1200];
    int n = 0, type;
    snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%d.list", folder, set, kind, i);
    FILE *f = fopen(path, "r");
    if (!f) {
        snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%d.pb", folder, set, kind, i);
        dync_tensor *t = exists(path) ? tensor_file(path, &type) : NULL;
        return t ? dync_v_tensor(t) : DYNC_NONE;
    }
    if (fscanf(f, "%d", &n) != 1) n = 0;
    fclose(f);
    dync_value list = dync__list_new(n);
    for (int k = 0; k < n; k++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%d_%d.pb", folder, set, kind, i, k);
        dync_tensor *t = tensor_file(path, &type);
        if (!t) return DYNC_NONE;
        dync__list_set(list, k, dync_v_tensor(t));
    }
    return list;
}

/* |got - want| <= atol + rtol * |want|, NaN like NaN. */
static bool compare(int i, dync_tensor *got, dync_tensor *want, double rtol, double atol)
{
    int dtype = (int)dync_type(want), rank = dync_ndim(want);
    char text[256] = "";
    if ((int)dync_type(got) != dtype)
        return fails("output %d is %s, not %s", i, dync__dtype_info((int)dync_type(got))->name,
                     dync__dtype_info(dtype)->name);
    bool same = dync_ndim(got) == rank;
    for (int d = 0; d < rank && same; d++) same = dync_size(got, d) == dync_size(want, d);
    for (int d = 0; d < dync_ndim(got); d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", (int)dync_size(got, d));
    snprintf(text + strlen(text), sizeof text - strlen(text), " for");
    for (int d = 0; d < rank; d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", (int)dync_size(want, d));
    if (!same) return fails("output %d has other sizes:%s", i, text);
    int64_t n = dync_numel(want);
    const char *a = n ? dync_data(dync_contiguous(got)) : NULL, *b = n ? dync_data(want) : NULL;
    int bytes = dync__dtype_info(dtype)->bytes;
    for (int64_t k = 0; k < n; k++) {
        if (dync__dtype_info(dtype)->kind != 'f') {
            int64_t x = dync__load_i64(a + k * bytes, dtype),
                    y = dync__load_i64(b + k * bytes, dtype);
            double d = fabs((double)x - (double)y);
            if (d > atol + rtol * fabs((double)y))
                return fails("output %d: element %d is %lld, not %lld", i, (int)k, (long long)x,
                             (long long)y);
            continue;
        }
        double x = dync__load_f64(a + k * bytes, dtype), y = dync__load_f64(b + k * bytes, dtype);
        if (isnan(x) && isnan(y)) continue;
        if (x == y || fabs(x - y) <= atol + rtol * fabs(y)) continue;
        return fails("output %d: element %d is %.9g, not %.9g", i, (int)k, x, y);
    }
    return true;
}

static dync_value listed(const dync__onnx_value *v)
{
    if (!v->sequence) return dync_v_tensor(v->t);
    dync_value list = dync__list_new(v->sequence->n);
    for (int i = 0; i < v->sequence->n; i++)
        dync__list_set(list, i, dync_v_tensor(v->sequence->at[i].t));
    return list;
}

/* The model's nodes on tensors, nothing traced, nothing compiled. */
static dync_value run_nodes(dync__onnx_loaded *l, int n, const dync_value *in)
{
    dync__onnx_value *out = dync__scope_alloc(((size_t)l->n_outputs + 1) * sizeof *out);
    if (!out || n != l->n_inputs) return DYNC_NONE;
    if (dync__onnx_run(l, in, out) != DYNC_OK) return DYNC_NONE;
    dync_value list = dync__list_new(l->n_outputs);
    for (int i = 0; i < l->n_outputs && list.kind == DYNC_KIND_LIST; i++)
        dync__list_set(list, i, listed(&out[i]));
    return list;
}

/* Is the program's graph for these inputs? What it was saved as tells nothing of other sizes. The
 * sets that it is for are listed in again.sets, for again.py. */
static dync_program *only_for;
static int n_served;
static FILE *sets;
static bool is_for(dync_program *handle, int n, const dync_value *in)
{
    dync__tensor *t[MOST];
    for (int i = 0; i < n; i++) t[i] = dync__open(in[i].as.t);
    return dync__program_is_for(dync__program_open(handle, "run_cases"), t);
}

/* A tensor, or lists of the same length and their elements. */
static bool compare_value(int i, dync_value got, dync_value want, double rtol, double atol)
{
    if (got.kind != want.kind) return fails("output %d is of another kind", i);
    if (want.kind == DYNC_KIND_TENSOR) return compare(i, got.as.t, want.as.t, rtol, atol);
    if (dync_len(got) != dync_len(want))
        return fails("output %d has %d tensors, not %d", i, dync_len(got), dync_len(want));
    for (int k = 0; k < dync_len(want); k++)
        if (!compare(i, dync_as_tensor(dync_at(got, k)), dync_as_tensor(dync_at(want, k)), rtol,
                     atol))
            return false;
    return true;
}

/* l not NULL: node by node; else p is run. */
static bool run_set(dync_program *p, dync__onnx_loaded *l, const char *folder, int set, double rtol,
                    double atol)
{
    dync_value in[MOST];
    int n = 0;
    for (; n < MOST; n++)
        if ((in[n] = value_file(folder, set, "input", n)).kind == DYNC_KIND_NONE) break;
    if (dync_error() != DYNC_OK) return fails("input %d: %s", n, dync_error_message());
    if (only_for && !is_for(only_for, n, in)) return true;
    if (only_for) n_served++;
    if (only_for && sets) fprintf(sets, "test_data_set_%d\n", set);
    dync_value out = l ? run_nodes(l, n, in) : dync_program_run(p, n, in);
    if (dync_error() != DYNC_OK) return fails("runs not: %s", dync_error_message());
    for (int i = 0; i < MOST; i++) {
        dync_value want = value_file(folder, set, "output", i);
        if (dync_error() != DYNC_OK)
            return fails("expected output %d: %s", i, dync_error_message());
        if (want.kind == DYNC_KIND_NONE) return i > 0 ? true : fails("no expected output");
        if (out.kind != DYNC_KIND_LIST || dync_len(out) <= i) return fails("no output %d", i);
        if (!compare_value(i, dync_at(out, i), want, rtol, atol)) return false;
    }
    return true;
}

static dync__onnx_loaded *model_file(const char *path)
{
    char folder[1200];
    dync__blob *blob;
    snprintf(folder, sizeof folder, "%s", path);
    if (strrchr(folder, '/')) *strrchr(folder, '/') = 0;
    return dync__blob_open(path, &blob) == DYNC_OK ? dync__onnx_parse(blob, folder) : NULL;
}

static bool run_sets(dync_program *p, dync__onnx_loaded *l, const char *folder, double rtol,
                     double atol)
{
    char path[1200];
    bool ok = true;
    for (int set = 0; ok; set++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d", folder, set);
        if (!exists(path) && set > 0) break;
        DYNC_SCOPE {
            ok = run_set(p, NULL, folder, set, rtol, atol);
        }
        DYNC_SCOPE {
            if (ok && l) ok = run_set(p, l, folder, set, rtol, atol);
        }
        if (!ok)
            snprintf(reason + strlen(reason), sizeof reason - strlen(reason), " (set %d)", set);
    }
    return ok;
}

/* The program as it was saved and loaded again. */
static bool run_again(dync_program *p, const char *folder, double rtol, double atol)
{
    char onnx[1200], own[1200], list[1200];
    snprintf(list, sizeof list, "%s/again.sets", folder);
    snprintf(onnx, sizeof onnx, "%s/again.onnx", folder);
    snprintf(own, sizeof own, "%s/again.dync", folder);
    if (!dync_program_graph(p)) return fails("it has no graph");
    if (dync_program_save(p, own) != DYNC_OK) return fails("save: %s", dync_error_message());
    dync_program *q = dync_program_load(own);
    if (!q) return fails("saved and loaded: %s", dync_error_message());
    dync_program_free(q);
    if (dync_program_save_onnx(p, onnx) != DYNC_OK) return fails("save: %s", dync_error_message());
    if (!(q = dync_program_load_onnx(onnx))) return fails("again: %s", dync_error_message());
    only_for = p;
    n_served = 0;
    sets = fopen(list, "w");
    bool ok = (dync_program_graph(q) || fails("written and read it has no graph")) &&
              run_sets(q, NULL, folder, rtol, atol) &&
              (n_served || fails("the graph that was saved is for none of its data sets"));
    only_for = NULL;
    if (sets) fclose(sets);
    dync_program_free(q);
    return ok;
}

static bool run_case(const char *folder, double rtol, double atol, bool graph)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    dync_clear_error();
    dync_program *p = dync_program_load_onnx(path);
    if (!p) return fails("%s", dync_error_message());
    dync__onnx_loaded *l = eager ? model_file(path) : NULL;
    bool ok = (!eager || l || fails("%s", dync_error_message())) &&
              run_sets(p, l, folder, rtol, atol) && (!graph || run_again(p, folder, rtol, atol));
    dync__onnx_end(l);
    dync_program_free(p);
    return ok;
}

static void quiet(dync_status s, const char *message, void *user)
{
    (void)s, (void)message, (void)user;
}

int main(int argc, char **argv)
{
    char line[1024], name[512], folder[1024], root[512] = "", word[16];
    const char *only = NULL, *list = NULL;
    double rtol, atol;
    int passed = 0, failed = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-v") == 0)
            verbose = 1;
        else if (strcmp(argv[i], "-e") == 0)
            eager = 1;
        else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            list = argv[i];
    FILE *f = list ? fopen(list, "r") : NULL;
    if (!f) return fprintf(stderr, "usage: run_cases LIST [-v] [-e] [-t NAME]\n"), 2;
    snprintf(root, sizeof root, "%s", list);
    if (strrchr(root, '/')) *strrchr(root, '/') = 0;
    dync_on_error(quiet, NULL);
    while (fgets(line, sizeof line, f)) {
        int words = sscanf(line, "%511s %lf %lf %15s", name, &rtol, &atol, word);
        if (words < 3) continue;
        if (only && !strstr(name, only)) continue;
        snprintf(folder, sizeof folder, "%s/%s", root, name);
        bool ok = false;
        if (verbose) printf("%s\n", name), fflush(stdout);
        DYNC_SCOPE {
            ok = run_case(folder, rtol, atol, words == 4 && strcmp(word, "graph") == 0);
        }
        if (!ok) printf("FAIL %s: %s\n", name, reason);
        fflush(stdout);
        *(ok ? &passed : &failed) += 1;
    }
    fclose(f);
    printf("%d passed, %d failed\n", passed, failed);
    dync_shutdown();
    return failed != 0;
}
