/* base/profile.c: the profiler: a record of what ran: who, when, how long, inside what. Before op/
 * (operators), autograd/ (backward nodes) and capture/ (compiled calls), which report to it.
 *
 * Off, it costs one load and a branch at each place that reports. On, an event is put into one
 * process-wide list when it begins, under a lock, so the list is in the order of beginnings; each
 * thread knows the event that it is in, which becomes the parent of the next. Trace format: the
 * Trace Event Format of Chrome, which Perfetto reads; table: torch.autograd.profiler's
 * key_averages(). */
#include "../dync.in.h"
#include "base.h"
DYNC__COLD

DYNC__DATA int32_t dync__profiling = 0;

typedef struct dync__event {
    const char *name, *shapes;          /* in the arena; shapes NULL: none */
    int64_t seq, fwd_thread, inside_ns; /* inside_ns: spent in events begun inside */
    int32_t thread, parent;             /* parent -1: none */
    uint64_t start, time;
    bool open;
} dync__event;
static struct {
    dync__mutex lock;
    DYNC__VEC(dync__event) event;
    dync__arena arena;
    dync__map names; /* hash of a text -> the text */
    uint64_t start;
    /* of the record: an event begun before dync_profile_start is none of it */
    int32_t epoch;
} dync__profile;

DYNC__FN int32_t dync__thread_number(void)
{
    static int32_t last;
    if (!dync__tls.number) dync__tls.number = DYNC__ATOMIC_INC(&last);
    return dync__tls.number;
}

/* One copy of each text: events of one kind share it. */
DYNC__RARE static const char *dync__profile_text(const char *prefix, const char *text)
{
    uint64_t key =
                 dync__hash_bytes(text, strlen(text), dync__hash_bytes(prefix, strlen(prefix), 1)),
             at;
    if (dync__map_get(&dync__profile.names, key, &at)) return (const char *)(uintptr_t)at;
    const char *kept = dync__arena_printf(&dync__profile.arena, "%s%s", prefix, text);
    if (!kept || !dync__map_put(&dync__profile.names, key, (uint64_t)(uintptr_t)kept)) return NULL;
    return kept;
}

DYNC__RARE static void dync__profile_clear(void)
{
    dync__vec_free(&dync__profile.event);
    dync__map_free(&dync__profile.names);
    dync__arena_free(&dync__profile.arena);
    dync__profile.epoch++;
}

DYNC__RARE static void dync__profile_shutdown(void)
{
    DYNC__ATOMIC_STORE(&dync__profiling, 0);
    dync__profile_clear();
}

/* ---- reporting ------------------------------------------------------------------------------- */

DYNC__RARE static dync__profiled dync__profile_event_begin(const char *prefix, const char *name,
                                                           const char *shapes)
{
    dync__profiled p = {dync__tls.event, dync__tls.event_epoch, -1, 0};
    dync__event e = {
        .seq = -1, .fwd_thread = -1, .thread = dync__thread_number(), .parent = -1, .open = true};
    dync__lock(&dync__profile.lock);
    p.epoch = dync__profile.epoch;
    if (dync__tls.event_epoch == p.epoch && dync__tls.event > 0) e.parent = dync__tls.event - 1;
    e.name = dync__profile_text(prefix, name);
    e.shapes = shapes ? dync__profile_text("", shapes) : NULL;
    e.start = dync__now_ns();
    if (e.name && dync__vec_push(&dync__profile.event, e)) p.event = dync__profile.event.n - 1;
    dync__unlock(&dync__profile.lock);
    dync__tls.event = p.event + 1;
    dync__tls.event_epoch = p.epoch;
    return p;
}

/* Linked by who records (dync_profile_start). */
static dync__profiled (*DYNC__BY_NEED dync__profile_begins)(
    const char *, const char *, const char *) = DYNC__AT_FIRST(dync__profile_event_begin);

DYNC__RARE DYNC__FN dync__profiled dync__profile_begin(const char *prefix, const char *name,
                                                       const char *shapes)
{
    dync__profiled none = {dync__tls.event, dync__tls.event_epoch, -1, 0};
    return dync__profile_begins ? dync__profile_begins(prefix, name, shapes) : none;
}

DYNC__RARE DYNC__FN void dync__profile_end(const dync__profiled *p, int64_t seq, int64_t fwd_thread)
{
    uint64_t now = dync__now_ns();
    dync__tls.event = p->outer;
    dync__tls.event_epoch = p->outer_epoch;
    dync__lock(&dync__profile.lock);
    if (p->event >= 0 && p->epoch == dync__profile.epoch && p->event < dync__profile.event.n) {
        dync__event *e = &dync__profile.event.at[p->event];
        e->time = now - e->start;
        e->seq = seq;
        e->fwd_thread = fwd_thread;
        e->open = false;
        if (e->parent >= 0) dync__profile.event.at[e->parent].inside_ns += (int64_t)e->time;
    }
    dync__unlock(&dync__profile.lock);
}

/* ---- public ---------------------------------------------------------------------------------- */

DYNC__RARE DYNC_API void dync_profile_start(void)
{
    dync__at_shutdown(dync__profile_shutdown);
    DYNC__PUT(dync__profile_begins, dync__profile_event_begin);
    dync__lock(&dync__profile.lock);
    dync__profile_clear();
    dync__profile.start = dync__now_ns();
    dync__unlock(&dync__profile.lock);
    DYNC__ATOMIC_STORE(&dync__profiling, 1);
}

DYNC__RARE DYNC_API void dync_profile_stop(void) { DYNC__ATOMIC_STORE(&dync__profiling, 0); }

DYNC__RARE DYNC_API bool dync_profile_event(int i, dync_profile_event_info *out)
{
    bool found = false;
    dync__lock(&dync__profile.lock);
    if (i >= 0 && i < dync__profile.event.n) {
        const dync__event *e = &dync__profile.event.at[i];
        dync_profile_event_info info = {.name = e->name,
                                        .seq_nr = e->seq,
                                        .thread = e->thread,
                                        .fwd_thread = e->fwd_thread,
                                        .start_ns = (int64_t)(e->start - dync__profile.start),
                                        .time_ns = (int64_t)e->time,
                                        .shapes = e->shapes ? e->shapes : ""};
        if (out) *out = info;
        found = true;
    }
    dync__unlock(&dync__profile.lock);
    return found;
}

/* ---- the trace file -------------------------------------------------------------------------- */

DYNC__RARE static void dync__trace_event(dync__str *s, const dync__event *e)
{
    dync__str_add(s, "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": ");
    dync__json_quote(s, e->name);
    dync__str_addf(
        s,
        ", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"Sequence number\": "
        "%lld",
        (int)e->thread, dync__float_shown((double)(e->start - dync__profile.start) / 1e3),
        dync__float_shown((double)e->time / 1e3), (long long)e->seq);
    if (e->fwd_thread >= 0)
        dync__str_addf(s, ", \"Fwd thread id\": %lld", (long long)e->fwd_thread);
    if (e->shapes) dync__str_addf(s, ", \"Input Dims\": %s", e->shapes);
    dync__str_add(s, "}}");
}

/* An arrow from a forward operation to the backward node it made. */
DYNC__RARE static void dync__trace_arrow(dync__str *s, const dync__event *from,
                                         const dync__event *to, int64_t id)
{
    for (int end = 0; end < 2; end++) {
        const dync__event *e = end ? to : from;
        dync__str_addf(s,
                       ",\n{\"ph\": \"%s\", \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", "
                       "\"id\": %lld, \"pid\": 1, \"tid\": %d, \"ts\": %.3f%s}",
                       end ? "f" : "s", (long long)id, (int)e->thread,
                       dync__float_shown((double)(e->start - dync__profile.start) / 1e3),
                       end ? ", \"bp\": \"e\"" : "");
    }
}

DYNC__RARE static uint64_t dync__trace_key(int64_t seq, int64_t thread)
{
    return dync__hash_mix((uint64_t)seq, (uint64_t)thread);
}

DYNC__RARE static void dync__trace_write(dync__str *s)
{
    dync__map forward = {0}; /* sequence number and thread -> event */
    dync__str_add(s, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
                     "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": "
                     "{\"name\": \"dync\"}}");
    for (int i = 0; i < dync__profile.event.n; i++) {
        const dync__event *e = &dync__profile.event.at[i];
        uint64_t made;
        if (e->open) continue;
        dync__str_add(s, ",\n");
        dync__trace_event(s, e);
        if (e->seq < 0) continue;
        if (e->fwd_thread < 0)
            dync__map_put(&forward, dync__trace_key(e->seq, e->thread), (uint64_t)i);
        else if (dync__map_get(&forward, dync__trace_key(e->seq, e->fwd_thread), &made))
            dync__trace_arrow(s, &dync__profile.event.at[made], e, i);
    }
    dync__str_add(s, "\n]}\n");
    dync__map_free(&forward);
}

DYNC__RARE DYNC_API dync_status dync_profile_save(const char *path)
{
    if (!path) return dync__fail(DYNC_ERR_VALUE, "dync_profile_save: the path is NULL");
    dync__str s = {0};
    dync__lock(&dync__profile.lock);
    dync__trace_write(&s);
    dync__unlock(&dync__profile.lock);
    dync_status status = s.failed ? dync__fail_memory(s.n) : dync__file_write(path, s.at, s.n);
    dync__str_free(&s);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef struct dync__table_row {
    const char *name;
    uint64_t self, total;
    int64_t calls;
} dync__table_row;

/* The events by name, the longest own time first. Rows have room for every event. */
DYNC__RARE static int dync__table_rows(dync__table_row *row)
{
    dync__map index = {0};
    int n = 0;
    for (int i = 0; i < dync__profile.event.n; i++) {
        const dync__event *e = &dync__profile.event.at[i];
        uint64_t at, key = (uint64_t)(uintptr_t)e->name;
        if (e->open) continue;
        if (!dync__map_get(&index, key, &at)) {
            at = (uint64_t)n;
            row[n++] = (dync__table_row){.name = e->name};
            dync__map_put(&index, key, at);
        }
        row[at].self += e->time - DYNC__MIN((uint64_t)e->inside_ns, e->time);
        row[at].total += e->time;
        row[at].calls++;
    }
    dync__map_free(&index);
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && row[k].self > row[k - 1].self; k--) {
            dync__table_row swap = row[k];
            row[k] = row[k - 1];
            row[k - 1] = swap;
        }
    return n;
}

DYNC__RARE static void dync__table_time(dync__str *s, uint64_t ns)
{
    char text[32];
    double t = (double)ns;
    dync__format(text, sizeof text,
                 t < 1e6   ? "%.3fus"
                 : t < 1e9 ? "%.3fms"
                           : "%.3fs",
                 dync__float_shown(t < 1e6   ? t / 1e3
                                   : t < 1e9 ? t / 1e6
                                             : t / 1e9));
    dync__str_addf(s, "  %12s", text);
}

DYNC__RARE static void dync__table_write(dync__str *s, const dync__table_row *row, int n)
{
    uint64_t all = 0;
    int width = 4;
    for (int i = 0; i < n; i++) {
        all += row[i].self;
        width = DYNC__MAX(width, (int)DYNC__MIN(strlen(row[i].name), (size_t)60));
    }
    dync__str_addf(s, "%-*s  %12s  %12s  %12s  %12s  %12s\n", width, "Name", "Self CPU %",
                   "Self CPU", "CPU total", "CPU time avg", "# of Calls");
    for (int i = 0; i < n; i++) {
        dync__str_addf(s, "%-*s  %11.2f%%", width, row[i].name,
                       dync__float_shown(all ? 100.0 * (double)row[i].self / (double)all : 0.0));
        dync__table_time(s, row[i].self);
        dync__table_time(s, row[i].total);
        dync__table_time(s, row[i].total / (uint64_t)row[i].calls);
        dync__str_addf(s, "  %12lld\n", (long long)row[i].calls);
    }
    dync__str_add(s, "Self CPU time total:");
    dync__table_time(s, all);
    dync__str_addc(s, '\n');
}

DYNC__RARE DYNC__FN dync_status dync__profile_table(dync__str *s)
{
    dync__lock(&dync__profile.lock);
    size_t bytes = (size_t)(dync__profile.event.n + 1) * sizeof(dync__table_row);
    dync__table_row *row = dync__calloc(bytes);
    if (row) dync__table_write(s, row, dync__table_rows(row));
    dync__free(row, bytes);
    dync__unlock(&dync__profile.lock);
    return row && !s->failed ? DYNC_OK : dync__fail_memory(bytes);
}
