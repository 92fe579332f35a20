/* minify/settings.c: what the minifier does and when: by dync_config_set, or from the environment (DYNC_ and the key in capitals;
 * upstream's TORCHDYNAMO_REPRO_AFTER, TORCHDYNAMO_REPRO_LEVEL and TORCH_COMPILE_DEBUG_DIR count where those are not set).
 * Process-wide. One row a setting; the defaults are torch/_dynamo/config.py's. First of its folder. */
#include "../dync.in.h"
#include "minify.h"

/*    key                       kind    field          least  most   upstream's variable */
#define DYNC__REPRO_SETTINGS(X)                                                                        \
    X(repro_after,              AFTER,  after,         0,     2,     "TORCHDYNAMO_REPRO_AFTER")        \
    X(repro_level,              INT,    level,         1,     4,     "TORCHDYNAMO_REPRO_LEVEL")        \
    X(repro_forward_only,       BOOL,   forward_only,  0,     1,     "TORCHDYNAMO_REPRO_FORWARD_ONLY") \
    X(repro_tolerance,          DOUBLE, tolerance,     0,     1e30,  NULL)                             \
    X(repro_ignore_non_fp,      BOOL,   ignore_non_fp, 0,     1,     "TORCHDYNAMO_REPRO_IGNORE_NON_FP")\
    X(same_two_models_use_fp64, BOOL,   use_fp64,      0,     1,     NULL)                             \
    X(repro_cosine,             BOOL,   cosine,        0,     1,     NULL)                             \
    X(repro_isolate,            BOOL,   isolate,       0,     1,     NULL)                             \
    X(repro_timeout,            DOUBLE, timeout_s,     0.001, 1e6,   NULL)                             \
    X(debug_dir,                TEXT,   debug_dir,     0,     0,     "TORCH_COMPILE_DEBUG_DIR")

enum { DYNC__SETTING_AFTER, DYNC__SETTING_INT, DYNC__SETTING_BOOL, DYNC__SETTING_DOUBLE, DYNC__SETTING_TEXT };
typedef struct dync__setting_row {
    const char *key;
    int kind;
    size_t at;
    double least, most;
    const char *upstream;
} dync__setting_row;
static const dync__setting_row dync__setting_rows[] = {
#define DYNC__X(key, kind, field, least, most, upstream) \
    {#key, DYNC__SETTING_##kind, offsetof(dync__repro_settings, field), least, most, upstream},
    DYNC__REPRO_SETTINGS(DYNC__X)
#undef DYNC__X
};
static const dync__repro_settings dync__setting_defaults = {.level = 2, .use_fp64 = 1, .isolate = 1, .tolerance = 1e-3, .timeout_s = 60};
static struct {
    dync__mutex lock;
    int known;
    dync__repro_settings now;
} dync__setting_state;

static const char *const dync__after_names[] = {"none", "dynamo", "aot"};

DYNC__FN bool dync__repro_after_parse(const char *text, int *after)
{
    if (!text || !*text) text = "none";
    for (int i = 0; i < DYNC__COUNT_OF(dync__after_names); i++)
        if (strcmp(text, dync__after_names[i]) == 0) {
            *after = i;
            return true;
        }
    return false;
}

DYNC__FN const char *dync__repro_after_name(int after) { return dync__after_names[after]; }

static bool dync__setting_number(const dync__setting_row *row, const char *text, double *out)
{
    static const char *const words[] = {"0", "1", "false", "true", "off", "on", "False", "True"};
    for (int i = 0; row->kind == DYNC__SETTING_BOOL && i < DYNC__COUNT_OF(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    const char *end = NULL;
    if (row->kind == DYNC__SETTING_BOOL || !dync__text_double(text, &end, out) || *end) return false;
    bool whole = row->kind == DYNC__SETTING_DOUBLE || (*out >= floor(*out) && *out <= floor(*out));
    return whole && *out >= row->least && *out <= row->most;
}

static const char *dync__setting_expects(const dync__setting_row *row)
{
    switch (row->kind) {
    case DYNC__SETTING_AFTER: return "none, dynamo or aot";
    case DYNC__SETTING_INT: return "a number from 1 to 4";
    case DYNC__SETTING_BOOL: return "true or false";
    case DYNC__SETTING_DOUBLE: return "a number that is not negative";
    default: return "a path of less than 512 characters";
    }
}

static bool dync__setting_store(const dync__setting_row *row, const char *text, dync__repro_settings *s)
{
    char *field = (char *)s + row->at;
    double x = 0;
    int after = 0;
    switch (row->kind) {
    case DYNC__SETTING_AFTER:
        if (!dync__repro_after_parse(text, &after)) return false;
        memcpy(field, &after, sizeof after);
        return true;
    case DYNC__SETTING_TEXT:
        if (text && strlen(text) >= sizeof s->debug_dir) return false;
        dync__format(s->debug_dir, sizeof s->debug_dir, "%s", text ? text : "");
        return true;
    default: break;
    }
    if (!text || !dync__setting_number(row, text, &x)) return false;
    if (row->kind == DYNC__SETTING_DOUBLE) {
        memcpy(field, &x, sizeof x);
    } else {
        int i = (int)x;
        memcpy(field, &i, sizeof i);
    }
    return true;
}

/* DYNC_REPRO_AFTER, or upstream's name. A folder of upstream's is one above. */
static void dync__setting_from_env(const dync__setting_row *row, dync__repro_settings *s)
{
    char name[64] = "DYNC_", path[512];
    size_t n = strlen(name);
    for (const char *p = row->key; *p && n + 1 < sizeof name; p++)
        name[n++] = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    name[n] = 0;
    const char *used = name, *text = dync__env(name);
    if (!text && row->upstream) text = dync__env(used = row->upstream);
    if (!text) return;
    if (row->kind == DYNC__SETTING_TEXT && used != name) {
        dync__format(path, sizeof path, "%s/torch_compile_debug", text);
        text = path;
    }
    if (!dync__setting_store(row, text, s)) dync__warn("%s: expected %s, got '%s'", used, dync__setting_expects(row), text);
}

DYNC__FN const dync__repro_settings *dync__repro_now(void)
{
    if (DYNC__ATOMIC_LOAD(&dync__setting_state.known)) return &dync__setting_state.now;
    dync__lock(&dync__setting_state.lock);
    if (!dync__setting_state.known) {
        dync__setting_state.now = dync__setting_defaults;
        for (int i = 0; i < DYNC__COUNT_OF(dync__setting_rows); i++)
            dync__setting_from_env(&dync__setting_rows[i], &dync__setting_state.now);
        DYNC__ATOMIC_STORE(&dync__setting_state.known, 1);
    }
    dync__unlock(&dync__setting_state.lock);
    return &dync__setting_state.now;
}

DYNC__FN const char *dync__repro_key(int i) { return i < DYNC__COUNT_OF(dync__setting_rows) ? dync__setting_rows[i].key : NULL; }

DYNC__FN dync_status dync__repro_set(const char *key, const char *value, bool *known)
{
    (void)dync__repro_now();
    if (strcmp(key, "debug_dir_root") == 0) key = "debug_dir";       /* upstream's name */
    for (int i = 0; i < DYNC__COUNT_OF(dync__setting_rows); i++) {
        const dync__setting_row *row = &dync__setting_rows[i];
        if (strcmp(key, row->key) != 0) continue;
        *known = true;
        if (value && dync__setting_store(row, value, &dync__setting_state.now)) return DYNC_OK;
        return dync__fail(DYNC_ERR_VALUE, "dync_config_set: %s: expected %s, got '%s'", key, dync__setting_expects(row),
                          value ? value : "NULL");
    }
    *known = false;
    return DYNC_OK;
}

DYNC__FN void dync__repro_print(dync__str *s, bool with_after)
{
    const dync__repro_settings *now = dync__repro_now();
    for (int i = 0; i < DYNC__COUNT_OF(dync__setting_rows); i++) {
        const dync__setting_row *row = &dync__setting_rows[i];
        const char *a = (const char *)now + row->at, *b = (const char *)&dync__setting_defaults + row->at;
        size_t n = row->kind == DYNC__SETTING_DOUBLE ? sizeof(double) : sizeof(int);
        bool routine = row->kind == DYNC__SETTING_AFTER || row->at == offsetof(dync__repro_settings, level);
        if (row->kind == DYNC__SETTING_TEXT || memcmp(a, b, n) == 0 || (routine && !with_after)) continue;
        double x = 0;
        int k = 0;
        if (row->kind == DYNC__SETTING_DOUBLE) memcpy(&x, a, sizeof x);
        else memcpy(&k, a, sizeof k);
        dync__str_addf(s, "    dync_config_set(\"%s\", \"", row->key);
        if (row->kind == DYNC__SETTING_AFTER) dync__str_add(s, dync__after_names[k]);
        else dync__str_addf(s, "%g", row->kind == DYNC__SETTING_DOUBLE ? x : (double)k);
        dync__str_add(s, "\");\n");
    }
}
