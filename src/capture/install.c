/* capture/install.c: what a traced function reads from outside, guarded, and the hooks of other
 * folders that lead here. After grads.c, before call.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- modules --------------------------------------------------------------------------------- */
/* The text of a variable, for G['text']; an expression is none. */
static const char *dync__module_variable(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return text && *text && strspn(text, letters) == strlen(text) && !(*text >= '0' && *text <= '9')
               ? text
               : NULL;
}

static void dync__capture_module_touched(dync__module *m)
{
    const char *text = dync__module_variable(dync__tls.module_text);
    dync__tls.module_text = NULL; /* it is this module's, or nobody's */
    dync__tracer *t = dync__tracing_or_replay();
    if (!t || !t->on_tree || t->stopped) return;
    dync__cache_entry *e = t->entry;
    for (int i = 0; i < e->modules.n; i++)
        if (e->modules.at[i].module == m) return;
    dync__module_watch(m);
    dync__module_guard g = {m, m->id, m->version, text};
    if (!dync__entry_push(e, &e->modules, g)) dync__tracer_fail(t, DYNC_ERR_MEMORY);
}

static void dync__capture_below_touched(dync__module *m)
{
    dync__capture_module_touched(m);
    for (int i = 0; i < m->child.n; i++) dync__capture_below_touched(m->child.at[i]);
}

/* Done now, and again by calls that do not come here. An entry asks for what modules were when its
 * call began: those above and below this one are noted before they change. */
static void dync__capture_mode_switched(dync__module *m, bool training)
{
    for (dync__module *above = m->parent; above; above = above->parent)
        dync__capture_module_touched(above);
    dync__capture_below_touched(m);
    dync__tracer *t = dync__tracing_or_replay();
    if (!t || t->stopped || dync__trace_runs_each(t)) return;
    t = dync__tracing();
    dync__effect e = {
        .kind = DYNC__DO_MODE, .env = -1, .on = training, .user = dync__module_handle(m)};
    if (!e.user || dync__effect_add(t, false, e, NULL) != DYNC_OK)
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
}

/* ---- variables ------------------------------------------------------------------------------- */
DYNC_API void dync_guard_int(const char *global_name, const int64_t *address)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!address) {
        dync__fail(DYNC_ERR_VALUE, "dync_guard_int: the address is NULL");
        return;
    }
    if (!t || !t->on_tree) return;
    dync__cache_entry *e = t->entry;
    for (int i = 0; i < e->ints.n; i++)
        if (e->ints.at[i].address == address) return;
    dync__int_guard g = {dync__arena_strdup(&e->arena, global_name ? global_name : "?"), address,
                         *address};
    if (!g.name || !dync__entry_push(e, &e->ints, g)) dync__tracer_fail(t, DYNC_ERR_MEMORY);
}

/* The variable is re-read by every call: its tensor enters the environment from there. */
DYNC_API void dync_guard_tensor(const char *global_name, dync_tensor **address)
{
    dync__tracer *t = dync__tracing_or_replay();
    dync__tensor *real = address ? dync__open(*address) : NULL;
    if (!address) dync__fail(DYNC_ERR_VALUE, "dync_guard_tensor: the address is NULL");
    if (!t || !t->on_tree || !real || dync__tracer_owns(t, real)) return;
    const char *source =
        dync__arena_printf(&t->entry->arena, "G['%s']", global_name ? global_name : "?");
    if (!source || t->way->foreign(t, real, address, source) < 0)
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
}

DYNC__FN void dync__capture_install(void)
{
    DYNC__ATOMIC_STORE(&dync__read_intercept_get, dync__capture_reads);
    DYNC__ATOMIC_STORE(&dync__grad_intercept_get, dync__capture_grads);
    DYNC__ATOMIC_STORE(&dync__module_touched, dync__capture_module_touched);
    DYNC__ATOMIC_STORE(&dync__module_mode_switched, dync__capture_mode_switched);
    dync__released_install();
#if !defined(DYNC_SMALL) /* there by numbers, by compiling without fullgraph */
    dync__numbers_install();
    dync__scripts_install();
#endif
}
