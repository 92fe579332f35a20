/* base/log.c: the log of the stages (DYNC_LOG, dync_set_log), warnings, standard output, the
 * counters.
 *
 * A line is put together first and written with one call, so lines of several threads do not mix.
 * The choice of stages is one process-wide word; bit 30 says that it has been read from the
 * environment or set. */
#include "../dync.in.h"
#include "base.h"
DYNC__COLD

DYNC__DATA dync__counter_block dync__counters = {0};

#if defined(DYNC_NO_STDIO)
DYNC__FN void dync__out(const char *text) { (void)text; }
DYNC__FN void dync__log_set(const char *what) { (void)what; }
#else
DYNC__FN void dync__out(const char *text) { fputs(text, stdout); }

static const char *const dync__log_names[] = {
#define DYNC__X(name) DYNC__TEXT(#name),
    DYNC__LOG_STAGES(DYNC__X)
#undef DYNC__X
};
enum { DYNC__LOG_KNOWN = 1 << 30 };
static uint32_t dync__log_mask;

/* One line through a fixed buffer; longer ones through memory, and where there is none they are
 * cut. */
static void dync__log_line(const char *prefix, const char *fmt, va_list args)
{
    char small[512];
    va_list again;
    va_copy(again, args);
    size_t used = (size_t)dync__format(small, sizeof small, "%s", prefix);
    int n = dync__formatv(small + used, sizeof small - used - 1, fmt, args);
    if (n >= 0 && (size_t)n < sizeof small - used - 1) {
        memcpy(small + used + (size_t)n, "\n", 2);
        fputs(small, stderr);
    } else {
        dync__error_guard guard;
        dync__str s = {0};
        dync__error_guard_begin(&guard);
        dync__str_add(&s, prefix);
        dync__str_addv(&s, fmt, again);
        dync__str_addc(&s, '\n');
        dync__error_guard_end(&guard);
        fputs(s.failed ? small : dync__str_get(&s), stderr);
        dync__str_free(&s);
    }
    va_end(again);
}

DYNC__FN void dync__warn(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__log_line("dync: ", fmt, args);
    va_end(args);
}

static void dync__log_unknown(const char *name, size_t n)
{
    char stages[512];
    size_t used = 0;
    for (int i = 0; i < DYNC__N_LOG_STAGES; i++) /* all of them: 120 bytes */
        used +=
            (size_t)dync__format(stages + used, sizeof stages - used, " %s", dync__log_names[i]);
    dync__warn("log: no stage is called \"%.*s\"; there are%s", (int)(n < 64 ? n : 64), name,
               stages);
}

static uint32_t dync__log_parse(const char *what)
{
    uint32_t mask = DYNC__LOG_KNOWN;
    while (what && *what) {
        size_t n = strcspn(what, ", ");
        int found = -1;
        for (int i = 0; i < DYNC__N_LOG_STAGES; i++) {
            if (strlen(dync__log_names[i]) == n && memcmp(dync__log_names[i], what, n) == 0)
                found = i;
        }
        if (found >= 0)
            mask |= 1u << found;
        else if (n)
            dync__log_unknown(what, n);
        what += n;
        what += strspn(what, ", ");
    }
    return mask;
}

DYNC__FN void dync__log_set(const char *what)
{
    DYNC__ATOMIC_STORE(&dync__log_mask, dync__log_parse(what));
}

DYNC__FN bool dync__log_on(int stage)
{
    uint32_t mask = DYNC__ATOMIC_PEEK(&dync__log_mask);
    if (DYNC__UNLIKELY(!mask)) {
        mask = dync__log_parse(dync__env("DYNC_LOG"));
        DYNC__ATOMIC_STORE(&dync__log_mask, mask);
    }
    return stage >= 0 && stage < DYNC__N_LOG_STAGES && (mask >> stage & 1);
}

DYNC__FN void dync__log(int stage, const char *fmt, ...)
{
    if (!dync__log_on(stage)) return;
    char prefix[32];
    va_list args;
    dync__format(prefix, sizeof prefix, "[%s] ", dync__log_names[stage]);
    va_start(args, fmt);
    dync__log_line(prefix, fmt, args);
    va_end(args);
}

DYNC__FN void dync__log_text(int stage, const char *title, const char *text)
{
    if (!dync__log_on(stage)) return;
    size_t n = strlen(text);
    dync__log(stage, "%s\n%.*s", title, (int)(n && text[n - 1] == '\n' ? n - 1 : n), text);
}
#endif

DYNC_API void dync_set_log(const char *what) { dync__log_set(what); }
