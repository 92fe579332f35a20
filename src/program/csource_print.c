/* program/csource_print.c: the text of an exported C file. After csource_face.c, before csource.c,
 * which has planned it.
 *
 * In order: the header's name or text, weights, one static function a step, the program's
 * functions, the self-test. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* For machines with vectors alone: what GCC makes for a chip stays what it was. */
static const char dync__csource_traps[] =
    "#if defined __GNUC__ && !defined __clang__ && (defined __SSE2__ || defined __aarch64__ || "
    "defined __VSX__)\n"
    "/* no result depends on traps: both sides of a choice may be computed, in vectors */\n"
    "#pragma GCC optimize(\"no-trapping-math\")\n#endif\n";

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

DYNC__FN dync_status dync__csource_print(dync__csource *c, const char *header, dync__str *s)
{
    dync__str body = {0};
    (void)dync__csource_weights(c, &body);
    dync__csource_state_array(c, &body);
    dync__str_addc(&body, '\n');
    dync__csource_functions(c, &body);
    dync__csource_run(c, &body);
    dync_status status = dync__csource_test(c, &body);
    if (status == DYNC_OK) {
        dync__str_addf(s,
                       "/* %s, made by dync " DYNC_VERSION ". C99 and later, C++; no malloc. */\n",
                       c->program->name);
        dync__str_add(s, dync__csource_traps);
        if (header)
            dync__str_addf(s, "#include \"%s\"\n", header);
        else
            dync__csource_header(c, s);
        dync__csource_includes(s, dync__str_get(&body));
        if (strstr(dync__str_get(&body), "restrict "))
            dync__str_add(s, "#ifdef __cplusplus\n#define restrict __restrict\n#endif\n");
        dync__str_add(s, dync__str_get(&body));
    }
    s->failed = s->failed || body.failed;
    dync__str_free(&body);
    return status;
}
