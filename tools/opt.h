/* tools/opt.h: programs of loop IR as text, and passes over them; for dync-opt and the golden
 * tests. Links to the split build.
 *
 *   # passes: fuse schedule        in order, of simplify collapse fuse schedule check
 *   # keep: 2 5                    buffers that somebody outside reads; without the line, all of
 *                                  them
 *   kernel a(...) ... { ... }      steps in program order
 *   call matmul reads 1 2 writes 3
 *   # expect:                      what dync-opt prints for the text above
 * Other lines that begin with # are comments. */
#ifndef DYNC_TOOLS_OPT_H
#define DYNC_TOOLS_OPT_H
#include "../src/dync.in.h"
#include "ir/ir.h"
enum { OPT_STEPS = 512, OPT_IDS = 32 };

typedef struct opt_program {
    dync__arena arena;
    int n_steps, n_keep;
    bool keep_all;
    char passes[256];
    int32_t keep[OPT_IDS];
    dync__fuse_step step[OPT_STEPS];
} opt_program;

DYNC__UNUSED static bool opt_keep(void *user, int32_t id)
{
    const opt_program *p = user;
    for (int i = 0; i < p->n_keep; i++)
        if (p->keep[i] == id) return true;
    return p->keep_all;
}

DYNC__UNUSED static const char *opt_expectation(const char *text)
{
    const char *at = strstr(text, "\n# expect:\n");
    return at ? at + strlen("\n# expect:\n") : NULL;
}

/* Reads numbers up to the end of the line or a word. */
DYNC__UNUSED static int opt_ids(const char **at, int32_t *ids)
{
    int n = 0;
    for (;;) {
        while (**at == ' ') ++*at;
        if (**at < '0' || **at > '9' || n == OPT_IDS) return n;
        ids[n] = 0;
        for (; **at >= '0' && **at <= '9'; ++*at) ids[n] = ids[n] * 10 + (**at - '0');
        n++;
    }
}

DYNC__UNUSED static bool opt_call(opt_program *p, const char *line)
{
    dync__fuse_step s = {0};
    int32_t reads[OPT_IDS], writes[OPT_IDS];
    const char *r = strstr(line, " reads"), *w = strstr(line, " writes"), *end = strchr(line, '\n');
    if (!r || !w || (end && w > end)) return false;
    s.call = dync__arena_printf(&p->arena, "%.*s", (int)(r - line) - 5, line + 5);
    r += 6;
    w += 7;
    s.n_reads = opt_ids(&r, reads);
    s.n_writes = opt_ids(&w, writes);
    s.reads = dync__arena_copy(&p->arena, reads, sizeof reads);
    s.writes = dync__arena_copy(&p->arena, writes, sizeof writes);
    p->step[p->n_steps++] = s;
    return s.reads && s.writes;
}

DYNC__UNUSED static bool opt_kernel(opt_program *p, const char *from, const char *to)
{
    const char *text = dync__arena_printf(&p->arena, "%.*s", (int)(to - from), from);
    dync__fuse_step s = {0};
    s.k = text ? dync__kernel_parse(&p->arena, text) : NULL;
    if (!s.k || dync__kernel_check(s.k) != DYNC_OK) return false;
    p->step[p->n_steps++] = s;
    return true;
}

/* False where the text is no program; dync_error_message says why. */
DYNC__UNUSED static bool opt_read(opt_program *p, const char *text)
{
    memset(p, 0, sizeof *p);
    p->keep_all = true;
    while (*text && p->n_steps < OPT_STEPS) {
        size_t n = strcspn(text, "\n");
        const char *line = text, *end = strstr(text, "\n}\n");
        if (strncmp(line, "# expect:", 9) == 0) return true;
        if (strncmp(line, "# passes:", 9) == 0) {
            dync__format(p->passes, sizeof p->passes, "%.*s", (int)n - 9, line + 9);
        } else if (strncmp(line, "# keep:", 7) == 0) {
            line += 7;
            p->keep_all = false;
            p->n_keep = opt_ids(&line, p->keep);
        } else if (strncmp(line, "call ", 5) == 0) {
            if (!opt_call(p, line)) return false;
        } else if (strncmp(line, "kernel ", 7) == 0) {
            n = end ? (size_t)(end + 2 - line) : strlen(line);
            if (!opt_kernel(p, line, line + n)) return false;
        } else if (n > 0 && *line != '#') {
            dync__fail(DYNC_ERR_FORMAT, "program text: expected kernel, call or #, got \"%.*s\"",
                       (int)n, line);
            return false;
        }
        text += n + (text[n] == '\n');
    }
    return true;
}

DYNC__UNUSED static dync_status opt_pass(opt_program *p, const char *pass)
{
    dync__fuse_options options = {.keep = opt_keep, .user = p};
    if (strcmp(pass, "fuse_brief") == 0)
        return dync__fuse_brief(&p->arena, p->step, &p->n_steps, &options);
    if (strcmp(pass, "fuse") == 0) return dync__fuse(&p->arena, p->step, &p->n_steps, &options);
    for (int i = 0; i < p->n_steps; i++) {
        dync__kernel *k = p->step[i].k;
        if (!k) continue;
        if (strcmp(pass, "simplify") == 0)
            dync__kernel_simplify(k);
        else if (strcmp(pass, "collapse") == 0)
            dync__kernel_collapse(k);
        else if (strcmp(pass, "schedule") == 0)
            dync__kernel_schedule(k);
        else if (strcmp(pass, "check") != 0)
            return dync__fail(DYNC_ERR_VALUE, "unknown pass \"%s\"", pass);
        if (k->failed) return DYNC_ERR_MEMORY;
        dync_status status = dync__kernel_check(k);
        if (status != DYNC_OK) return status;
    }
    return DYNC_OK;
}

DYNC__UNUSED static void opt_print(dync__str *out, const opt_program *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        const dync__fuse_step *s = &p->step[i];
        if (s->k) {
            dync__kernel_print(out, s->k);
            continue;
        }
        dync__str_addf(out, "call %s reads", (const char *)s->call);
        for (int r = 0; r < s->n_reads; r++) dync__str_addf(out, " %d", (int)s->reads[r]);
        dync__str_add(out, " writes");
        for (int w = 0; w < s->n_writes; w++) dync__str_addf(out, " %d", (int)s->writes[w]);
        dync__str_add(out, "\n");
    }
}

/* Text in, text out. passes NULL: those that the text names. */
DYNC__UNUSED static dync_status opt_run(const char *text, const char *passes, dync__str *out)
{
    opt_program *p = dync__alloc(sizeof *p);
    dync_status status = p && opt_read(p, text) ? DYNC_OK : DYNC_ERR_FORMAT;
    if (!p) return status;
    char word[32];
    for (const char *at = passes ? passes : p->passes; status == DYNC_OK;) {
        while (*at == ' ' || *at == ',') at++;
        size_t n = strcspn(at, " ,\n");
        if (n == 0) break;
        dync__format(word, sizeof word, "%.*s", (int)n, at);
        status = opt_pass(p, word);
        for (int i = 0; i < p->n_steps && status == DYNC_OK; i++)
            if (p->step[i].k) status = dync__kernel_check(p->step[i].k);
        at += n;
    }
    if (status == DYNC_OK) opt_print(out, p);
    dync__arena_free(&p->arena);
    dync__free(p, sizeof *p);
    return status;
}
#endif
