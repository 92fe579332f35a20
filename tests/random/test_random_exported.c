/* Random programs over the whole operator table, exported: a program as it is, saved and loaded
 * again, with sizes that stay symbols, and as C that a compiler makes a process of, each judged by
 * plain execution of the same calls (judge.h). What has no such form must say so. `--seed N` begins
 * at program (N - 1) * 1000000, SOAK=20 makes 20 times as many; -v shows how many were compared. */
#define _POSIX_C_SOURCE 200809L
#include "plain.h"
#include <sys/stat.h>

static int n_exported, n_refused, n_compared, n_sizes;

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static bool draws(const program *p)
{
    for (int i = 0; i < p->n_steps; i++)
        if (strstr(rows[p->at[i].row].flags, "RANDOM")) return true;
    return false;
}
static uint64_t seed_of(int i) { return (test__state.seed - 1) * 1000000 + (uint64_t)i; }

/* The program of these sizes; symbols: those of 2 and more are some. NULL: it has no such form. */
static dync_program *exported(const program *p, const sizes *s, const char *name, bool symbols)
{
    dync_value args[MAX_INPUTS];
    for (int i = 0; i < p->n_in; i++) {
        dync_tensor *x = input_make(p, i, s, 0);
        for (int k = 0; k < p->in[i].ndim; k++)
            if (symbols && p->in[i].size[k] < 0 && dync_dim(x, k) > 1) dync_mark_dynamic(x, k);
        args[i] = dync_v_tensor(x);
    }
    dync_callee fn = DYNC_FN(program_run);
    fn.user = (void *)(uintptr_t)p;
    return dync_export_values(fn, name, p->n_in, args);
}

static dync_program *through_file(dync_program *p)
{
    char path[256];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/dync_exported_%d_%d.dync", dir ? dir : "/tmp", (int)getpid(),
             n_exported);
    dync_program *q = dync_program_save(p, path) == DYNC_OK ? dync_program_load(path) : NULL;
    remove(path);
    return q;
}

/* ---- program files --------------------------------------------------------------------------- */
static outcome run_program(const program *p, dync_program *by, const sizes *s, int data)
{
    outcome o = {.n = 0};
    dync_value args[MAX_INPUTS];
    for (int i = 0; i < p->n_in; i++) args[i] = dync_v_tensor(input_make(p, i, s, data));
    dync_value r = dync_program_run(by, p->n_in, args);
    bool good = dync_error() == DYNC_OK && r.kind == DYNC_KIND_LIST && dync_len(r) == p->n_out;
    for (int i = 0; i < p->n_out; i++) o.at[o.n++] = good ? dync_as_tensor(dync_at(r, i)) : NULL;
    for (int i = 0; i < p->n_in; i++) o.at[o.n++] = dync_as_tensor(args[i]);
    for (int i = 0; i < p->n_in; i++) o.at[o.n++] = NULL;
    o.status = dync_error() ? dync_error() : good ? DYNC_OK : DYNC_ERR_INTERNAL;
    snprintf(o.message, sizeof o.message, "%s", dync_error_message());
    dync_clear_error();
    return o;
}

/* A call whose sizes the program is not for, or one of a file that names elements by strides on a
 * part of a larger tensor. */
static bool may_refuse(const outcome *o, bool first)
{
    return (!first && o->status == DYNC_ERR_SHAPE) ||
           strstr(o->message, "is part of a larger tensor") != NULL;
}

/* Results and inputs after the call. */
static void compare(const program *p, dync_program *by, const char *what, const calls *c)
{
    for (int i = 0; i < c->n; i++) DYNC_SCOPE {
        trial t = {.p = p, .s = c->at[i].s, .data = c->at[i].data};
        char text[400];
        if (inputs_elements(p, &t.s) >= MOST_ELEMENTS) continue;
        t.plain = program_call(p, NULL, &t.s, t.data);
        if (t.plain.status != DYNC_OK) continue;
        outcome got = run_program(p, by, &t.s, t.data);
        bool refused = got.status != DYNC_OK && may_refuse(&got, i == 0);
        const char *wrong = refused ? NULL : outcome_differs(&t, &got, text, sizeof text);
        n_compared += !refused;
        n_sizes += !refused && i > 0;
        if (!EXPECT(!wrong))
            printf("program %llu, %s, sizes %d, %d: %s\n", (unsigned long long)p->seed, what,
                   t.s.n[0], t.s.n[1], wrong);
        trial_free(&t);
    }
}

static bool plain_runs(const program *p, const sizes *s)
{
    bool runs = false;
    DYNC_SCOPE {
        runs = program_call(p, NULL, s, 0).status == DYNC_OK;
    }
    return runs;
}

/* false: the program has nothing to be exported. */
static bool chosen(program *p, sizes *made, uint64_t seed)
{
    *made = program_make(p, seed);
    p->train = false;
    return p->n_out && !draws(p) && plain_runs(p, made);
}

static void check_file(uint64_t seed)
{
    static program p;
    sizes made;
    DYNC_SCOPE {
        if (!chosen(&p, &made, seed)) continue;
        calls c = calls_make(&p, &modes[symbolic(&p) ? 3 : 0], &made);
        dync_program *own = exported(&p, &made, "exported", true),
                     *read = own ? through_file(own) : NULL;
        n_exported += read != NULL;
        n_refused += !read;
        EXPECT(read || dync_error() != DYNC_OK);
        dync_clear_error();
        if (own) compare(&p, own, "exported", &c);
        if (read) compare(&p, read, "loaded", &c);
        dync_program_free(own);
        dync_program_free(read);
    }
}

TEST(program_files)
{
    (void)mode_differs; /* of judge.h: nothing is compiled here */
    dync_on_error(quiet, NULL);
    int n = test_count(150);
    for (int i = 0; i < n; i++) check_file(seed_of(i));
    if (test__state.verbose)
        printf("%d exported, %d refused, %d calls compared, %d of other sizes\n", n_exported,
               n_refused, n_compared, n_sizes);
    EXPECT(n_exported > n / 4);
    EXPECT(n_sizes > n / 8);
}

/* ---- C --------------------------------------------------------------------------------------- */
/* One process runs all of them: it reads their inputs from a file, one after the other, and writes
 * their results to another. */
enum { MOST_IN_C = 64 };
static int64_t bytes_of(dync_tensor *t)
{
    static const int bytes[] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1};
    return dync_numel(t) * bytes[dync_type(t)];
}

/* Does NAME_run take the inputs and the results, nothing else, and write no input? What the caller
 * does not see, weights apart, has another signature. */
static bool takes(const char *header, int k, int n_in, int n_out)
{
    char text[32], line[4096];
    int all = 0, constant = 0;
    FILE *f = fopen(header, "r");
    snprintf(text, sizeof text, " e%d_run(", k);
    for (const char *at = NULL; f && !at && fgets(line, sizeof line, f);)
        if (strncmp(line, " *", 2) != 0 && (at = strstr(line, text)) != NULL)
            for (all = 1; *at; at++) {
                all += *at == ',';
                constant += strncmp(at, "const ", 6) == 0;
            }
    if (f) fclose(f);
    return all == n_in + n_out && constant == n_in;
}

/* Its block of main, and its inputs. */
static void write_call(FILE *c, FILE *in, const program *p, const sizes *s, const outcome *plain,
                       int k)
{
    fprintf(c, "    {\n");
    for (int i = 0; i < p->n_in; i++) {
        dync_tensor *x = dync_contiguous(input_make(p, i, s, 0));
        size_t bytes = (size_t)bytes_of(x);
        fprintf(c, "        static _Alignas(64) unsigned char i%d[%zu];\n", i, bytes + 1);
        fprintf(c, "        if (fread(i%d, 1, %zu, in) != %zu) return 2;\n", i, bytes, bytes);
        fwrite(dync_data(x), 1, bytes, in);
    }
    for (int i = 0; i < p->n_out; i++)
        fprintf(c, "        static _Alignas(64) unsigned char o%d[%lld];\n", i,
                (long long)bytes_of(plain->at[i]) + 1);
    fprintf(c, "        e%d_run(", k);
    for (int i = 0; i < p->n_in + p->n_out; i++)
        fprintf(c, "%s(void *)%c%d", i ? ", " : "", i < p->n_in ? 'i' : 'o',
                i < p->n_in ? i : i - p->n_in);
    fprintf(c, ");\n");
    for (int i = 0; i < p->n_out; i++)
        fprintf(c, "        fwrite(o%d, 1, %lld, out);\n", i, (long long)bytes_of(plain->at[i]));
    fprintf(c, "    }\n");
}

/* What the process wrote, against plain execution. */
static void read_results(FILE *out, const program *p, const sizes *s)
{
    DYNC_SCOPE {
        trial t = {.p = p, .s = *s};
        t.plain = program_call(p, NULL, s, 0);
        for (int i = 0; i < p->n_out; i++) {
            dync_tensor *want = t.plain.at[i];
            dync_dims shape = {.n = dync_ndim(want)};
            char text[400];
            for (int d = 0; d < shape.n; d++) shape.d[d] = dync_size(want, d);
            dync_tensor *got = dync_empty(shape, .dtype = dync_type(want));
            size_t bytes = (size_t)bytes_of(got);
            EXPECT(fread(dync_data(got), 1, bytes, out) == bytes);
            const char *wrong = tensor_differs(&t, i, got, text, sizeof text);
            if (!EXPECT(!wrong))
                printf("program %llu as C, result v%d: %s\n", (unsigned long long)p->seed,
                       p->out[i], wrong);
        }
        trial_free(&t);
        n_compared++;
    }
}

/* The C file of one program, and its call in main; false: it has none, or another signature. */
static bool to_c(const char *folder, FILE *c, FILE *in, const program *p, const sizes *s, int k)
{
    char path[256], name[16];
    bool good = false;
    snprintf(name, sizeof name, "e%d", k);
    snprintf(path, sizeof path, "%s/e%d.c", folder, k);
    DYNC_SCOPE {
        outcome plain = program_call(p, NULL, s, 0);
        dync_program *by = exported(p, s, name, false);
        good = by && dync_program_save_c(by, path) == DYNC_OK;
        EXPECT(good || dync_error() != DYNC_OK);
        n_refused += !good;
        dync_clear_error();
        dync_program_free(by);
        path[strlen(path) - 1] = 'h';
        good = good && takes(path, k, p->n_in, p->n_out);
        if (good) write_call(c, in, p, s, &plain, k);
    }
    return good;
}

static void check_c(int n, const char *flags)
{
    static program all[MOST_IN_C];
    sizes made[MOST_IN_C];
    char folder[128], path[256], command[700];
    const char *dir = getenv("TMPDIR"), *cc = getenv("CC");
    int built = 0, before = test__state.failures;
    snprintf(folder, sizeof folder, "%s/dync_exported_c_%d", dir ? dir : "/tmp", (int)getpid());
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/main.c", folder);
    FILE *c = fopen(path, "w");
    snprintf(path, sizeof path, "%s/in", folder);
    FILE *in = fopen(path, "wb"), *out;
    REQUIRE(c && in);
    fprintf(c, "#include <stdio.h>\n");
    for (int k = 0; k < n; k++) fprintf(c, "int e%d_call(FILE *in, FILE *out);\n", k);
    fclose(c);
    for (int i = 0; built < n && i < 20 * n; i++) DYNC_SCOPE {
        if (!chosen(&all[built], &made[built], seed_of(i))) continue;
        snprintf(path, sizeof path, "%s/call%d.c", folder, built);
        if (!(c = fopen(path, "w"))) continue;
        fprintf(c, "#include <stdio.h>\n#include \"e%d.h\"\nint e%d_call(FILE *in, FILE *out)\n{\n",
                built, built);
        bool good = to_c(folder, c, in, &all[built], &made[built], built);
        fprintf(c, "    return 0;\n}\n");
        fclose(c);
        built += good;
    }
    fclose(in);
    snprintf(path, sizeof path, "%s/main.c", folder);
    c = fopen(path, "a");
    REQUIRE(c != NULL);
    fprintf(c, "int main(void)\n{\n    FILE *in = fopen(\"in\", \"rb\"), *out = fopen(\"out\", "
               "\"wb\");\n    int bad = !in || !out;\n");
    for (int k = 0; k < built; k++) fprintf(c, "    bad = bad || e%d_call(in, out);\n", k);
    fprintf(c, "    return bad || fclose(out);\n}\n");
    fclose(c);
    EXPECT_EQ_INT(built, n);
    snprintf(command, sizeof command,
             "cd %s && for i in $(seq 0 %d); do %s %s -w -c e$i.c -o e$i.o && %s -w -c call$i.c -o "
             "call$i.o || exit 1; done && %s %s -w main.c e*.o call*.o -lm -o run && ./run",
             folder, built - 1, cc ? cc : "cc", flags, cc ? cc : "cc", cc ? cc : "cc", flags);
    EXPECT_EQ_INT(system(command), 0);
    snprintf(path, sizeof path, "%s/out", folder);
    if ((out = fopen(path, "rb"))) {
        for (int k = 0; k < built; k++) read_results(out, &all[k], &made[k]);
        EXPECT_EQ_INT(fgetc(out), EOF);
        fclose(out);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (test__state.failures == before)
        EXPECT_EQ_INT(system(command), 0);
    else
        printf("    kept: %s\n", folder);
}

TEST(c_sources)
{
    dync_on_error(quiet, NULL);
    check_c(8, "-std=c11 -O1");
}
TEST_LONG(many_c_sources)
{
    dync_on_error(quiet, NULL);
    test__state.seed += 1;
    check_c(test_share(MOST_IN_C),
            "-std=c11 -O2 -fsanitize=address,undefined -fno-sanitize-recover=all");
}
TEST_MAIN
