/* base/pass.c: which passes run (DYNC_DISABLE), their log, and the border after each of them where
 * the IR is checked (DYNC_CHECK_IR). After option.c.
 *
 * Both choices are process-wide words that are read from the environment when first asked for. What
 * was compiled before a choice changes stays as it is. */
#include "../dync.in.h"
#include "pass.h"
DYNC__COLD

static const struct {
    const char *name;
    bool optional;
} dync__pass_rows[] = {
#define DYNC__PASS_ALWAYS false
#define DYNC__PASS_OPTIONAL true
#define DYNC__X(name, ir, fn, may, what) {DYNC__TEXT(#name), DYNC__PASS_##may},
    DYNC__PASSES(DYNC__X)
#undef DYNC__X
};

DYNC__FN const char *dync__pass_name(int pass) { return dync__pass_rows[pass].name; }
DYNC__FN bool dync__pass_optional(int pass) { return dync__pass_rows[pass].optional; }

/* ---- which ones run -------------------------------------------------------------------------- */

/* A bit a pass, and in each word a bit that it has been read or set. */
enum { DYNC__PASSES_A_WORD = 31, DYNC__PASS_WORDS = DYNC__N_PASSES / DYNC__PASSES_A_WORD + 1 };
#define DYNC__PASSES_KNOWN (UINT32_C(1) << DYNC__PASSES_A_WORD)
typedef struct dync__passes {
    uint32_t word[DYNC__PASS_WORDS];
} dync__passes;
static dync__passes dync__passes_off;

static int dync__pass_find(const char *name, size_t n)
{
    for (int i = 0; i < DYNC__N_PASSES; i++)
        if (strlen(dync__pass_rows[i].name) == n && memcmp(dync__pass_rows[i].name, name, n) == 0)
            return i;
    return -1;
}

static dync_status dync__pass_unknown(const char *name, size_t n)
{
    char passes[512];
    size_t used = 0;
    for (int i = 0; i < DYNC__N_PASSES; i++)
        if (dync__pass_rows[i].optional)
            used += (size_t)dync__format(passes + used, sizeof passes - used, "%s%s",
                                         used ? ", " : "", dync__pass_rows[i].name);
    return dync__fail(DYNC_ERR_VALUE,
                      "disable: expected passes that may be left out, got '%.*s'; "
                      "those are: %s",
                      (int)DYNC__MIN(n, 64), name, passes);
}

static void dync__passes_store(const dync__passes *off)
{
    for (int i = 0; i < DYNC__PASS_WORDS; i++)
        DYNC__ATOMIC_STORE(&dync__passes_off.word[i], off->word[i] | DYNC__PASSES_KNOWN);
}

static dync_status dync__passes_parse(const char *names, dync__passes *off)
{
    memset(off, 0, sizeof *off);
    for (const char *at = names; at && *at; at += strspn(at, ", ")) {
        size_t n = strcspn(at, ", ");
        int pass = dync__pass_find(at, n);
        if (n && (pass < 0 || !dync__pass_rows[pass].optional)) return dync__pass_unknown(at, n);
        if (n) off->word[pass / DYNC__PASSES_A_WORD] |= 1u << pass % DYNC__PASSES_A_WORD;
        at += n;
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__pass_disable(const char *names)
{
    dync__passes off;
    DYNC__TRY(dync__passes_parse(names, &off));
    dync__passes_store(&off);
    return DYNC_OK;
}

/* The environment is no caller that an error could go to: it is told on stderr, and every pass
 * runs. */
DYNC__RARE static void dync__passes_ask(void)
{
    const char *names = dync__env("DYNC_DISABLE");
    dync__passes off = {0};
    if (names) {
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        if (dync__passes_parse(names, &off) != DYNC_OK) memset(&off, 0, sizeof off);
        const dync__error_slot *fault = dync__error_guard_end(&guard);
        if (fault->status != DYNC_OK) dync__warn("DYNC_DISABLE: %s", fault->message);
    }
    dync__passes_store(&off);
}

DYNC__FN bool dync__pass_on(int pass)
{
    const uint32_t *word = &dync__passes_off.word[pass / DYNC__PASSES_A_WORD];
    if (DYNC__UNLIKELY(!DYNC__ATOMIC_PEEK(word))) dync__passes_ask();
    return !(DYNC__ATOMIC_PEEK(word) >> pass % DYNC__PASSES_A_WORD & 1);
}

#if !defined(DYNC_NO_STDIO)
DYNC__FN void dync__pass_log(int pass, const char *of, const char *fmt, ...)
{
    if (!dync__log_on(DYNC__LOG_passes)) return;
    char text[256];
    va_list args;
    va_start(args, fmt);
    dync__formatv(text, sizeof text, fmt, args);
    va_end(args);
    dync__log(DYNC__LOG_passes, "%s of %s: %s", dync__pass_name(pass), of, text);
}
#endif

/* ---- checks ---------------------------------------------------------------------------------- */

static int32_t dync__check_switch; /* 0: not asked for yet, 1 off, 2 on */

#if defined(DYNC_ASSERT)
/* Nobody asked: on, and a fault is the library's own. */
static bool dync__check_asserts(void)
{
    return !DYNC__ATOMIC_PEEK(&dync__check_switch) && !dync__env("DYNC_CHECK_IR");
}
#else
static bool dync__check_asserts(void) { return false; }
#endif

DYNC__FN bool dync__check_on(void)
{
    return dync__check_asserts() || dync__switch_on(&dync__check_switch, "DYNC_CHECK_IR");
}

static void dync__check_print(int pass, const dync__ir_kind *kind, const void *ir,
                              const char *fault)
{
    dync__str s = {0};
    kind->print(&s, ir);
    dync__warn("check_ir: the %s after the pass %s: %s\n%s", kind->name, dync__pass_name(pass),
               fault, dync__str_get(&s));
    dync__str_free(&s);
}

static dync_status dync__check_now(int pass, const dync__ir_kind *kind, void *ir)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = kind->check(ir);
    const dync__error_slot *fault = dync__error_guard_end(&guard);
    if (status == DYNC_OK) return DYNC_OK;
    if (status == DYNC_ERR_MEMORY && fault->status == DYNC_OK) return dync__fail_memory(0);
    if (status == DYNC_ERR_MEMORY) return dync__error_raise(fault), status; /* no slots are left */
    dync__check_print(pass, kind, ir, fault->message);
    (void)dync__fail(DYNC_ERR_INTERNAL, "check_ir: the %s after the pass %s: %s", kind->name,
                     dync__pass_name(pass), fault->message);
    DYNC__ASSERT(!dync__check_asserts());
    return DYNC_ERR_INTERNAL;
}

/* Where neither the environment nor DYNC_ASSERT turns checks on, who does so links them. */
#if defined(DYNC_NO_ENV) && !defined(DYNC_ASSERT)
static dync_status (*DYNC__BY_NEED dync__check_used)(int pass, const dync__ir_kind *,
                                                     void *ir) = DYNC__AT_FIRST(dync__check_now);
#else
#define dync__check_used dync__check_now
#endif
DYNC__FN void dync__check_set(bool on)
{
#if defined(DYNC_NO_ENV) && !defined(DYNC_ASSERT)
    DYNC__PUT(dync__check_used, dync__check_now);
#endif
    DYNC__ATOMIC_STORE(&dync__check_switch, on ? 2 : 1);
}
DYNC__FN dync_status dync__check_after(int pass, const dync__ir_kind *kind, void *ir)
{
    return dync__check_on() ? dync__check_used(pass, kind, ir) : DYNC_OK;
}
