/* capture/cache.c: calls of compiled functions: the entry that serves one is found, or made. After
 * miss.c. Lookups take no lock; no lock is held while user code runs. */
#include "../dync.in.h"
#include "trace.h"
DYNC__WARM

/* ---- a call ---------------------------------------------------------------------------------- */
/* The entry that served last is tried first, then all, newest first. Entries are published whole
 * and freed only when no call is in flight. NULL: a miss. */
static dync__cache_entry *dync__entry_lookup(dync__compiled *f, const dync__callargs *call)
{
    dync__cache_entry *e = DYNC__ATOMIC_LOAD(&f->last_hit);
    if (e && !DYNC__ATOMIC_LOAD(&e->dead) && dync__guards_hold(e, call)) return e;
    for (dync__cache_entry *x = DYNC__ATOMIC_LOAD(&f->entries); x; x = x->next)
        if (x != e && !DYNC__ATOMIC_LOAD(&x->dead) && dync__guards_hold(x, call)) {
            DYNC__ATOMIC_STORE(&f->last_hit, x);
            return x;
        }
    return NULL;
}

/* A function of tensors takes as many tensors as it has parameters. */
static bool dync__call_fits(const dync__compiled *f, int nargs, const dync_value *args)
{
    if (dync__callee_arity(&f->callee) < 0) return true;
    if (nargs != dync__callee_arity(&f->callee)) return false;
    for (int i = 0; args && i < nargs; i++)
        if (args[i].kind != DYNC_KIND_TENSOR || !args[i].as.t) return false;
    return true;
}

/* Says what does not fit, with the caller's place. A NULL where an error is pending comes from the
 * call that failed: nothing more is said. */
DYNC__RARE static dync_value dync__call_misfit(const dync__compiled *f, int nargs,
                                               const dync_value *args)
{
    dync_loc saved = dync__tls.at;
    dync__tls.at = dync__tls.call_at;
    static const char own[] = "NULL";
    int arity = dync__callee_arity(&f->callee), i = 0;
    if (nargs != arity) {
        dync__fail(DYNC_ERR_VALUE, "%s takes %d argument%s, got %d", f->name, arity,
                   arity == 1 ? "" : "s", nargs);
    } else {
        while (args[i].kind == DYNC_KIND_TENSOR && args[i].as.t) i++;
        bool null = args[i].kind == DYNC_KIND_TENSOR;
        if (!null || dync_error() == DYNC_OK)
            dync__fail(DYNC_ERR_VALUE, "%s: argument %d: expected a tensor, got %s", f->name, i + 1,
                       null ? own : dync__kind_name(args[i].kind));
    }
    dync__tls.at = saved;
    return DYNC_NONE;
}

static void dync__history_hit(dync__compiled *f)
{
    if (f->owner == &dync__tls)
        DYNC__ATOMIC_STORE(&f->history.hits, f->history.hits + 1);
    else
        (void)DYNC__ATOMIC_ADD(&f->history.other_hits, 1);
}

/* What is wrong with them names the function and the caller's place. */
static dync_status dync__call_flatten(const dync__compiled *f, dync__callargs *call, int nargs,
                                      const dync_value *args)
{
    dync_loc at = dync__tls.at;
    const char *op = dync__tls.op;
    dync__tls.at = dync__tls.call_at;
    dync__tls.op = f->name;
    dync_status status = dync__callargs_flatten(call, nargs, args);
    dync__tls.at = at;
    dync__tls.op = op;
    return status;
}

/* The arguments of a miss, away from the stack: tracing and compiling are deep. */
static dync_status dync__call_missed(dync__compiled *f, int nargs, const dync_value *args,
                                     dync_value *result)
{
    dync__callargs *call = dync__alloc(sizeof *call);
    dync_status status = call ? dync__call_flatten(f, call, nargs, args) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__call_miss(f, call, result);
    dync__free(call, sizeof *call);
    return status;
}

/* True: an entry served the call, or it failed before one was looked for. */
static DYNC__NOINLINE bool dync__call_served(dync__compiled *f, int nargs, const dync_value *args,
                                             const dync_value *into, dync_value *result,
                                             dync_status *status)
{
    dync__callargs call;
    *status = dync__call_flatten(f, &call, nargs, args);
    if (*status != DYNC_OK) return true;
    dync__cache_entry *e = dync__entry_lookup(f, &call);
    if (!e) return false;
    dync__tls.cache_hits++;
    dync__history_hit(f);
    if (DYNC__ATOMIC_LOAD(&e->written) && !dync__verify_on() && !dync__capture_log_now &&
        !dync__profile_on()) {
        *status = dync__call_eagerly(f, nargs, args, result);
        return true;
    }
    dync__verify *verify = DYNC__UNLIKELY(dync__verify_on())
                               ? DYNC__ATOMIC_LOAD(&dync__verify_used)->begin(f, e, &call)
                               : NULL;
    *status = dync__call_entry(f, e, &call, verify ? NULL : into, result);
    if (DYNC__UNLIKELY(verify != NULL))
        *status = DYNC__ATOMIC_LOAD(&dync__verify_used)->end(verify, *status, result);
    if (DYNC__ATOMIC_LOAD(&e->dead)) dync__compiled_bury(f);
    return true;
}

/* A call that the short way (quick.c) did not take. Where an error was recorded during the call
 * and still stands, the result is NONE, although the entry ran. */
static dync_value dync__call_run(dync__compiled *f, int nargs, const dync_value *args,
                                 const dync_value *into)
{
    dync_value result = DYNC_NONE;
    dync_status status;
    (void)dync__waits_left(); /* one that rested is in nobody's way but here */
    if (!dync__callee_valid(&f->callee)) {
        dync_loc at = dync__tls.at;
        dync__tls.at = dync__tls.call_at;
        dync__fail(DYNC_ERR_VALUE, "dync_call: %s was compiled from %s that has been freed",
                   f->name, dync__callee_text(&f->callee));
        dync__tls.at = at;
        return result;
    }
    if (!dync__call_fits(f, nargs, args)) return dync__call_misfit(f, nargs, args);
    uint64_t errors = dync__error_count();
    if (dync__runs_as_written())
        status = dync__call_eagerly(f, nargs, args, &result);
    else if (!dync__call_served(f, nargs, args, into, &result, &status))
        status = dync__call_missed(f, nargs, args, &result);
    if (status == DYNC_OK && dync__error_count() == errors) return result;
    return status == DYNC_OK && dync_error() == DYNC_OK ? result : DYNC_NONE;
}

/* depth counts the owner's calls in flight and needs no atomic; a call from another thread marks
 * the function as shared for good, and then dead entries are kept. */
static dync_value dync__call_plain(dync__compiled *f, int nargs, const dync_value *args,
                                   const dync_value *into)
{
    bool own = f->owner == &dync__tls;
    if (!own && !DYNC__ATOMIC_LOAD(&f->shared)) DYNC__ATOMIC_STORE(&f->shared, 1);
    if (own) f->depth++;
    dync_value r;
    const dync__cache_entry *e = DYNC__ATOMIC_LOAD(&f->last_hit);
    if (!DYNC__QUICK_CALLS || !e || !e->quick || DYNC__ATOMIC_LOAD(&e->dead) || dync__verify_on() ||
        dync__runs_as_written() || !dync__quick_call(e, nargs, args, into, &r))
        r = dync__call_run(f, nargs, args, into);
    else
        dync__history_hit(f);
    if (own) f->depth--;
    return r;
}

DYNC__RARE static dync_value dync__call_profiled(dync__compiled *f, int nargs,
                                                 const dync_value *args, const dync_value *into)
{
    uint64_t seq = dync__tls.seq;
    dync__profiled event = dync__profile_begin("Torch-Compiled Region: ", f->name, NULL);
    dync_value r = dync__call_plain(f, nargs, args, into);
    dync__profile_end(&event, dync__tls.seq != seq ? (int64_t)seq : -1, -1);
    return r;
}

/* A freed or NULL handle: records the error at the caller's place. */
DYNC__RARE static DYNC__NOINLINE dync_value dync__call_nothing(const dync_compiled *handle)
{
    dync_loc saved = dync__tls.at;
    dync__tls.at = dync__tls.call_at;
    (void)dync__compiled_open(handle, "dync_call");
    dync__tls.at = saved;
    return DYNC_NONE;
}

/* into: the caller's tensors; where one was written directly it stands in the result itself. */
static dync_value dync__call_values(dync_compiled *handle, int nargs, const dync_value *args,
                                    const dync_value *into)
{
    dync__compiled *f = dync__compiled_peek(handle);
    if (DYNC__UNLIKELY(!f)) return dync__call_nothing(handle);
    if (dync__tls.compiling) (void)dync__waits_left();
    if (dync__tls.compiling || dync__tls.recording || dync__verify_inside())
        return dync_frame_values(dync_fnc(handle), f->name, nargs, args);
    return dync__profile_on() ? dync__call_profiled(f, nargs, args, into)
                              : dync__call_plain(f, nargs, args, into);
}

DYNC_API dync_value dync_call_values_at(dync_compiled *f, int nargs, const dync_value *args,
                                        dync_loc at)
{
    dync__tls.call_at = at;
    return dync__call_values(f, nargs, args, NULL);
}

DYNC_API dync_value dync_call_values(dync_compiled *f, int nargs, const dync_value *args)
{
    return dync_call_values_at(f, nargs, args, DYNC_NOWHERE);
}

DYNC_API dync_tensor *dync_call_tensor_at(dync_compiled *f, int nargs, const dync_value *args,
                                          dync_loc at)
{
    dync_value r = dync_call_values_at(f, nargs, args, at);
    if (DYNC__LIKELY(r.kind == DYNC_KIND_TENSOR)) return dync_as_tensor(r);
    dync_loc saved = dync__tls.at;
    dync__tls.at = at;
    const dync__compiled *c = dync__compiled_peek(f);
    if (dync_error() == DYNC_OK)
        dync__fail(DYNC_ERR_VALUE, "dync_call: expected %s to return a tensor, got %s%s",
                   c ? c->name : "the function", dync__kind_name(r.kind),
                   r.kind == DYNC_KIND_NONE ? "" : ": dync_call_value gives whatever it is");
    dync__tls.at = saved;
    return NULL;
}

/* ---- into the caller's tensors --------------------------------------------------------------- */
/* Leaves of the caller's tensors and of the result that must still be copied. */
typedef struct dync__into_pairs {
    int n;
    dync_tensor *to[DYNC__MAX_LEAVES];
    dync_value from[DYNC__MAX_LEAVES];
} dync__into_pairs;

/* Both are walked side by side; their form must be the same. */
static dync_status dync__into_pair(dync__into_pairs *p, dync_value out, dync_value r)
{
    if (out.kind == DYNC_KIND_TENSOR && r.kind == DYNC_KIND_TENSOR) {
        if (out.as.t == r.as.t) return DYNC_OK; /* written already */
        if (p->n == DYNC__MAX_LEAVES)
            return dync__fail(DYNC_ERR_VALUE, "dync_call_into: more than %d outputs",
                              DYNC__MAX_LEAVES);
        p->to[p->n] = out.as.t;
        p->from[p->n++] = r;
        return DYNC_OK;
    }
    const dync__list *to = dync__value_list(out), *from = dync__value_list(r);
    if (!to || !from || to->n != from->n)
        return dync__fail(DYNC_ERR_VALUE, "dync_call_into: the outputs do not have the form of "
                                          "the result");
    for (int i = 0; i < to->n; i++) DYNC__TRY(dync__into_pair(p, to->items[i], from->items[i]));
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__into_shape_error(int i, const dync__tensor *to,
                                                     const dync__tensor *from)
{
    dync__str want = {0}, got = {0};
    dync__tensor_brief(&want, from);
    dync__tensor_brief(&got, to);
    dync_status status = dync__fail(DYNC_ERR_SHAPE,
                                    "dync_call_into: output %d: expected %s, got %s", i,
                                    dync__str_get(&want), dync__str_get(&got));
    dync__str_free(&want);
    dync__str_free(&got);
    return status;
}

/* The results that are not in place yet. One that lies on memory that its own copy or an earlier
 * one writes is read before. */
static dync_status dync__copy_into(dync_value out, dync_value r)
{
    dync__into_pairs p;
    p.n = 0;
    DYNC__TRY(dync__into_pair(&p, out, r));
    for (int i = 0; i < p.n; i++)
        for (int k = 0; k <= i; k++) {
            const dync__tensor *to = dync__open(p.to[k]), *from = dync__open(p.from[i].as.t);
            if (!to || !from) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
            if (k == i && (to->lay.ndim != from->lay.ndim ||
                           !dync__sz_same(to->lay.ndim, to->lay.shape, from->lay.shape)))
                return dync__into_shape_error(i, to, from);
            if (dync__memory_meets(to, from))
                p.from[i] = dync_v_tensor((dync_clone)(p.from[i].as.t));
        }
    for (int i = 0; i < p.n; i++)
        if (!(dync_copy_)(p.to[i], p.from[i]))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME;
    return DYNC_OK;
}

DYNC_API dync_status(dync_call_into_values)(dync_compiled *f, dync_value out, int nargs,
                                            const dync_value *args)
{
    dync_scope scope = dync_scope_begin();
    dync__tree_targets();
    dync__tls.call_at = dync__tls.at;
    dync_value r = dync__call_values(f, nargs, args, &out);
    dync_status status = r.kind == DYNC_KIND_NONE
                             ? (dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME)
                             : dync__copy_into(out, r);
    dync_scope_end(&scope);
    return status;
}
