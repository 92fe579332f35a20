/* tests/random/print.h: a program as C. */
#ifndef DYNC_TESTS_RANDOM_PRINT_H
#define DYNC_TESTS_RANDOM_PRINT_H
#include "program.h"

static void print_dims(const arg *a)
{
    if (a->n == 0) {
        printf("DYNC_ALL");
        return;
    }
    printf("dync_shape(");
    for (int i = 0; i < a->n; i++) {
        if (a->from[i] < 0)
            printf("%s%lld", i ? ", " : "", (long long)a->d[i]);
        else
            printf("%sdync_dim(v%d, %d)", i ? ", " : "", a->from[i], (int)a->d[i]);
    }
    printf(")");
}
static void print_arg(const arg *a, const char *type)
{
    switch (a->kind) {
    case A_NONE: printf(strncmp(type, "Value", 5) == 0 ? "DYNC_NONE" : "NULL"); break;
    case A_VALUE: printf("v%d", (int)a->d[0]); break;
    case A_INT:
        if (strcmp(type, "Device") == 0)
            printf("DYNC_CPU");
        else if (a->d[0] == DYNC_END)
            printf("DYNC_END");
        else
            printf("%lld", (long long)a->d[0]);
        break;
    case A_FLOAT: printf(isinf(a->f) ? a->f > 0 ? "INFINITY" : "-INFINITY" : "%.17g", a->f); break;
    case A_BOOL: printf(a->d[0] ? "true" : "false"); break;
    case A_DTYPE: printf("%s", dtype_name[a->d[0]]); break;
    case A_STR: printf("\"%s\"", a->s); break;
    case A_DIMS: print_dims(a); break;
    case A_LIST:
        printf("dync_tuple(");
        for (int i = 0; i < a->n; i++) printf("%sv%d", i ? ", " : "", (int)a->d[i]);
        printf(")");
        break;
    }
}

static void print_step(const step *s)
{
    const row *r = &rows[s->row];
    char type[24] = "", name[32];
    bool list = r->nout != 1, maker = row_is(s->row, "FACTORY") && !strstr(r->name, "_like") &&
                                      strcmp(r->name, "eye") && strcmp(r->name, "arange") &&
                                      strcmp(r->name, "normal") && strcmp(r->name, "uniform");
    printf(list ? "    dync_value l%d = dync_%s(" : "    dync_tensor *v%d = dync_%s(", s->out[0],
           r->name);
    for (int i = 0; i < s->nargs; i++) {
        row_param(r->schema, i, type, name);
        if (i > 2 && strcmp(r->name, "arange") == 0) continue;
        if (maker && strcmp(type, "Device") == 0) continue;
        printf("%s%s", i ? ", " : "", maker && strcmp(type, "Dtype") == 0 ? ".dtype = " : "");
        print_arg(&s->a[i], type);
    }
    printf(");\n");
    for (int i = 0; list && i < s->nout; i++)
        printf("    dync_tensor *v%d = dync_as_tensor(dync_at(l%d, %d));\n", s->out[i], s->out[0],
               i);
}

static void print_program(const program *p, const sizes *s)
{
    static const char *const layout[] = {"", ", transposed", ", with gaps", ", expanded",
                                         ", at an offset"};
    static const char *const data[] = {"", ", positive", ", with ties", ", indices",
                                       ", indices, each once"};
    printf("static dync_value program(const dync_value *args, int n, void *user)%s\n{\n    "
           "(void)n, (void)user;\n",
           p->train ? "   /* and backward */" : "");
    for (int i = 0; i < p->n_in; i++) {
        const input *in = &p->in[i];
        printf("    dync_tensor *v%d = dync_as_tensor(args[%d]);   /* %s [", in->id, i,
               dtype_name[in->dtype] + 5);
        for (int k = 0; k < in->ndim; k++)
            printf(in->size[k] < 0 ? "%s%lld = %c" : "%s%lld", k ? ", " : "",
                   (long long)input_size(in, k, s), "NM"[in->size[k] < 0 ? -1 - in->size[k] : 0]);
        printf("]%s%s%s */\n", layout[in->layout], data[in->data],
               p->train && in->grad ? ", requires grad" : "");
    }
    for (int i = 0; i < p->n_steps; i++) print_step(&p->at[i]);
    printf("    return dync_tuple(");
    for (int i = 0; i < p->n_out; i++) printf("%sv%d", i ? ", " : "", p->out[i]);
    printf(");\n}\n");
}
#endif
