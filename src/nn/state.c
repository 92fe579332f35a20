/* nn/state.c: the states of a module, by value: which of them it is in is a number, and going back
 * (training, evaluation, training) is going back to the number of before, so that guards on it hold
 * again. Before module.c.
 *
 * A state is the mode, the tensors with dtype and device, and the children with the numbers of
 * theirs. States are remembered once somebody guards on the module, at most STATES of them: one
 * that was forgotten gets a number of its own. */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

enum { DYNC__MODULE_STATES = 64 };

/* One remembered state: words as dync__module_form_now writes them, and the number it had. */
typedef struct dync__module_form {
    uint64_t version;
    int n;
    uint64_t word[];
} dync__module_form;

static size_t dync__module_form_bytes(int n)
{
    return sizeof(dync__module_form) + (size_t)n * sizeof(uint64_t);
}

/* Names are interned: their addresses stand for them.
 *   training | entries | name, tensor id, device + dtype + buffer  of each |
 *   name, id, version  of each child
 *
 * NULL: no memory. */
static dync__module_form *dync__module_form_now(const dync__module *m)
{
    int n = 2 + 3 * m->entry.n + 3 * m->child.n;
    dync__module_form *s = dync__alloc(dync__module_form_bytes(n));
    if (!s) return NULL;
    s->n = 0;
    s->word[s->n++] = m->training;
    s->word[s->n++] = (uint64_t)m->entry.n;
    for (int i = 0; i < m->entry.n; i++) {
        const dync__module_entry *e = &m->entry.at[i];
        s->word[s->n++] = (uint64_t)(uintptr_t)e->name;
        s->word[s->n++] = e->tensor->id;
        s->word[s->n++] = (uint64_t)e->tensor->device << 16 | (uint64_t)e->tensor->dtype << 1 |
                          e->is_buffer;
    }
    for (int i = 0; i < m->child.n; i++) {
        s->word[s->n++] = (uint64_t)(uintptr_t)m->child.at[i]->name;
        s->word[s->n++] = m->child.at[i]->id;
        s->word[s->n++] = m->child.at[i]->version;
    }
    return s;
}

static void dync__module_form_free(dync__module_form *s)
{
    dync__free(s, dync__module_form_bytes(s->n));
}

DYNC__FN void dync__module_forget(dync__module *m)
{
    for (int i = 0; i < m->past.n; i++) dync__module_form_free(m->past.at[i]);
    dync__vec_free(&m->past);
    m->watched = false;
}

/* Without memory it is a new one. Looks from the latest on: going back and forth finds its state at
 * once. */
static void dync__state_renumber(dync__module *m)
{
    uint64_t fresh = ++m->last_version;
    m->version = fresh;
    if (!m->watched) return;
    for (int i = 0; i < m->child.n; i++) dync__module_watch(m->child.at[i]);
    dync__module_form *now = dync__module_form_now(m);
    for (int i = m->past.n - 1; now && i >= 0; i--) {
        const dync__module_form *was = m->past.at[i];
        if (was->n != now->n ||
            memcmp(was->word, now->word, (size_t)now->n * sizeof *now->word) != 0)
            continue;
        m->version = was->version;
        dync__module_form_free(now);
        return;
    }
    if (!now) return;
    now->version = fresh;
    if (m->past.n >= DYNC__MODULE_STATES) {
        dync__module_form_free(m->past.at[0]);
        memmove(m->past.at, m->past.at + 1, (size_t)--m->past.n * sizeof *m->past.at);
    }
    if (!dync__vec_push(&m->past, now)) dync__module_form_free(now);
}

/* Under the lock. Nothing changes: its state keeps the number that it has. Children first: the
 * state names their versions. */
static void dync__module_watch_locked(dync__module *m)
{
    if (m->watched) return;
    for (int i = 0; i < m->child.n; i++) dync__module_watch_locked(m->child.at[i]);
    dync__module_form *now = dync__module_form_now(m);
    if (now) now->version = m->version;
    if (now && !dync__vec_push(&m->past, now)) dync__module_form_free(now);
    DYNC__ATOMIC_STORE(&m->watched, true);
}

/* Threads that trace functions of one module may be here at once. */
static void dync__state_watch(dync__module *m)
{
    static dync__mutex lock;
    if (DYNC__ATOMIC_LOAD(&m->watched)) return;
    dync__lock(&lock);
    dync__module_watch_locked(m);
    dync__unlock(&lock);
}

/* By need: of who makes a module. Capture names both for every program that compiles. */
typedef struct dync__module_states {
    void (*renumber)(dync__module *);
    void (*watch)(dync__module *);
} dync__module_states;
static const dync__module_states dync__module_states_all = {dync__state_renumber,
                                                            dync__state_watch};
static const dync__module_states *DYNC__BY_NEED dync__module_states_used =
    DYNC__AT_FIRST(&dync__module_states_all);
DYNC__FN void dync__module_states_use(void)
{
    DYNC__PUT(dync__module_states_used, &dync__module_states_all);
}
DYNC__FN void dync__module_renumber(dync__module *m)
{
    if (dync__module_states_used) dync__module_states_used->renumber(m);
}
DYNC__FN void dync__module_watch(dync__module *m)
{
    if (dync__module_states_used) dync__module_states_used->watch(m);
}

/* Of m and everything above it. */
DYNC__FN void dync__module_bump(dync__module *m)
{
    for (; m; m = m->parent) dync__module_renumber(m);
}
