/* minify/settings.c: what the minifier does and when: by dync_config_set, or from the environment
 * (DYNC_ and the key in capitals; upstream's TORCHDYNAMO_REPRO_AFTER, TORCHDYNAMO_REPRO_LEVEL and
 * TORCH_COMPILE_DEBUG_DIR count where those are not set). Process-wide. One row a setting; the
 * defaults are torch/_dynamo/config.py's. First of its folder. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* One row a setting: the key of dync_config_set, the kind of its value, its field in
 * dync__repro_settings, the bounds of a number (those of WORD are the first and last word's
 * places), and the environment variable that upstream reads, or NULL.
 *       key                       kind   field          least  most   upstream's variable */
/* clang-format off */
#define DYNC__REPRO_SETTINGS(X)                                                                         \
    X(repro_after,              WORD,  after,         0,     2,     "TORCHDYNAMO_REPRO_AFTER")          \
    X(repro_level,              INT,   level,         1,     4,     "TORCHDYNAMO_REPRO_LEVEL")          \
    X(repro_forward_only,       BOOL,  forward_only,  0,     1,     "TORCHDYNAMO_REPRO_FORWARD_ONLY")   \
    X(repro_tolerance,          FLOAT, tolerance,     0,     1e30,  NULL)                               \
    X(repro_ignore_non_fp,      BOOL,  ignore_non_fp, 0,     1,     "TORCHDYNAMO_REPRO_IGNORE_NON_FP")  \
    X(same_two_models_use_fp64, BOOL,  use_fp64,      0,     1,     NULL)                               \
    X(repro_cosine,             BOOL,  cosine,        0,     1,     NULL)                               \
    X(repro_isolate,            BOOL,  isolate,       0,     1,     NULL)                               \
    X(repro_timeout,            FLOAT, timeout_s,     0.001, 1e6,   NULL)                               \
    X(debug_dir,                TEXT,  debug_dir,     0,     0,     "TORCH_COMPILE_DEBUG_DIR")
/* clang-format on */

#define DYNC__AFTER_WORDS "none, dynamo, aot"
/* A row: how base/ parses and stores the value, and upstream's variable. */
typedef struct dync__setting_row {
    dync__option option;
    const char *upstream;
} dync__setting_row;
static const dync__setting_row dync__setting_rows[] = {
#define DYNC__X(name, kind_, field, least_, most_, upstream) \
    {{.key = #name,                                          \
      .kind = DYNC__OPTION_##kind_,                          \
      .at = offsetof(dync__repro_settings, field),           \
      .size = sizeof((dync__repro_settings *)NULL)->field,   \
      .least = least_,                                       \
      .most = most_,                                         \
      .words = DYNC__AFTER_WORDS},                           \
     upstream},
    DYNC__REPRO_SETTINGS(DYNC__X)
#undef DYNC__X
};
/* torch/_dynamo/config.py's; whatever is not named is 0, "none" or "". */
static const dync__repro_settings dync__setting_defaults = {
    .level = 2, .use_fp64 = 1, .isolate = 1, .tolerance = 1e-3, .timeout_s = 60};
/* The settings of the process, under lock. known: the environment has been read, which happens
 * once. */
static struct {
    dync__mutex lock;
    int known;
    dync__repro_settings now;
} dync__setting_state;

static const char dync__after_names[][8] = {"none", "dynamo", "aot"};

/* *after: DYNC__AFTER_.. of a word; NULL and "" are "none". false: no such word. */
DYNC__FN bool dync__repro_after_parse(const char *text, int *after)
{
    const dync__option row = {.kind = DYNC__OPTION_WORD, .words = DYNC__AFTER_WORDS};
    if (!text || !*text) text = "none";
    return dync__option_store(&row, text, strlen(text), after);
}

DYNC__FN const char *dync__repro_after_name(int after) { return dync__after_names[after]; }

/* DYNC_REPRO_AFTER, or upstream's name. A folder of upstream's is one above. */
static void dync__setting_from_env(const dync__setting_row *row, dync__repro_settings *s)
{
    char name[64] = "DYNC_", path[512];
    size_t n = strlen(name);
    for (const char *p = row->option.key; *p && n + 1 < sizeof name; p++)
        name[n++] = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    name[n] = 0;
    const char *used = name, *text = dync__env(name);
    if (!text && row->upstream) text = dync__env(used = row->upstream);
    if (!text) return;
    if (row->option.kind == DYNC__OPTION_TEXT && used != name) {
        dync__format(path, sizeof path, "%s/torch_compile_debug", text);
        text = path;
    }
    if (dync__option_store(&row->option, text, strlen(text), s)) return;
    dync__str expects = {0};
    dync__option_expects(&row->option, &expects);
    dync__warn("%s: expected %s, got '%s'", used, dync__str_get(&expects), text);
    dync__str_free(&expects);
}

/* A copy of the thread's own: another may set them meanwhile. */
DYNC__FN const dync__repro_settings *dync__repro_now(void)
{
    static DYNC__TLS dync__repro_settings copy;
    dync__lock(&dync__setting_state.lock);
    if (!dync__setting_state.known) {
        dync__setting_state.now = dync__setting_defaults;
        for (int i = 0; i < DYNC__COUNT_OF(dync__setting_rows); i++)
            dync__setting_from_env(&dync__setting_rows[i], &dync__setting_state.now);
        dync__setting_state.known = 1;
    }
    copy = dync__setting_state.now;
    dync__unlock(&dync__setting_state.lock);
    return &copy;
}

DYNC__FN const char *dync__repro_key(int i)
{
    return i < DYNC__COUNT_OF(dync__setting_rows) ? dync__setting_rows[i].option.key : NULL;
}

/* *known: key names a setting of this module; the caller tries others where it does not. A value
 * that does not fit is an error and changes nothing. */
DYNC__FN dync_status dync__repro_set(const char *key, const char *value, bool *known)
{
    (void)dync__repro_now();
    if (strcmp(key, "debug_dir_root") == 0) key = "debug_dir"; /* upstream's name */
    for (int i = 0; i < DYNC__COUNT_OF(dync__setting_rows); i++) {
        const dync__option *row = &dync__setting_rows[i].option;
        if (strcmp(key, row->key) != 0) continue;
        char what[64];
        *known = true;
        DYNC__OFFERS(DYNC_NO_MINIFY, row->key);
        dync__lock(&dync__setting_state.lock);
        bool stored = value &&
                      dync__option_store(row, value, strlen(value), &dync__setting_state.now);
        dync__unlock(&dync__setting_state.lock);
        if (stored) return DYNC_OK;
        dync__format(what, sizeof what, "dync_config_set: %s", key);
        return dync__option_fail(row, what, value, value ? strlen(value) : 0);
    }
    *known = false;
    return DYNC_OK;
}

/* Lines of C, which a written program's configure() holds, for settings that differ from the
 * default. Folders are left out, they are of this machine; and without with_after repro_after and
 * repro_level are too, since the program is run to reproduce, not to write another. */
DYNC__FN void dync__repro_print(dync__str *s, bool with_after)
{
    const dync__repro_settings *now = dync__repro_now();
    for (int i = 0; i < DYNC__COUNT_OF(dync__setting_rows); i++) {
        const dync__option *row = &dync__setting_rows[i].option;
        const char *a = (const char *)now + row->at,
                   *b = (const char *)&dync__setting_defaults + row->at;
        size_t n = row->kind == DYNC__OPTION_FLOAT ? sizeof(double) : sizeof(int);
        bool routine = row->kind == DYNC__OPTION_WORD ||
                       row->at == offsetof(dync__repro_settings, level);
        if (row->kind == DYNC__OPTION_TEXT || memcmp(a, b, n) == 0 || (routine && !with_after))
            continue;
        double x = 0;
        int k = 0;
        if (row->kind == DYNC__OPTION_FLOAT)
            memcpy(&x, a, sizeof x);
        else
            memcpy(&k, a, sizeof k);
        dync__str_addf(s, "    dync_config_set(\"%s\", \"", row->key);
        if (row->kind == DYNC__OPTION_WORD)
            dync__str_add(s, dync__after_names[k]);
        else
            dync__str_addf(s, "%g",
                           dync__float_shown(row->kind == DYNC__OPTION_FLOAT ? x : (double)k));
        dync__str_add(s, "\");\n");
    }
}
