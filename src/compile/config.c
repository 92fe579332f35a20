/* compile/config.c: settings by name, one row each: what dync_config_set takes. Process-wide. */
#include "../dync.in.h"
#include "../minify/minify.h"
#include "../runtime/plan.h"
DYNC__COLD

/* One of the three is set, by the row's kind. */
typedef struct dync__config_value {
    int number;
    double real;
    const char *text;
} dync__config_value;
/* One function per row, named after the key: it gets a value that is in range. */
static dync_status dync__config_activation_memory_budget(const dync__config_value *v)
{
    return dync__aot_set_budget(v->real), DYNC_OK;
}
static dync_status dync__config_check_ir(const dync__config_value *v)
{
    dync__plan_checks_use();
    dync__graph_checks_use();
    return dync__check_set(v->number != 0), DYNC_OK;
}
static dync_status dync__config_disable(const dync__config_value *v)
{
    return dync__pass_disable(v->text);
}
static dync_status dync__config_lint(const dync__config_value *v)
{
    return dync_set_lint(v->number != 0), DYNC_OK;
}
static dync_status dync__config_log(const dync__config_value *v)
{
    return dync_set_log(v->text), DYNC_OK;
}
static dync_status dync__config_threads(const dync__config_value *v)
{
    return dync__pool_set_threads(v->number), DYNC_OK;
}
static dync_status dync__config_verify(const dync__config_value *v)
{
    return dync_set_verify(v->number != 0), DYNC_OK;
}

/*    key                       kind   field   least  most   what sets it; a text is not stored */
/* clang-format off */
#define DYNC__CONFIGS(X)                             \
    X(activation_memory_budget, FLOAT, real,   0, 1)  \
    X(check_ir,                 BOOL,  number, 0, 1)  \
    X(disable,                  TEXT,  text,   0, 0)  \
    X(lint,                     BOOL,  number, 0, 1)  \
    X(log,                      TEXT,  text,   0, 0)  \
    X(threads,                  INT,   number, 0, 1024) \
    X(verify,                   BOOL,  number, 0, 1)
/* clang-format on */
typedef struct dync__config_row {
    dync__option option;
    dync_status (*set)(const dync__config_value *);
} dync__config_row;
static const dync__config_row dync__config_rows[] = {
#define DYNC__X(name, kind_, field, least_, most_)       \
    {{.key = #name,                                      \
      .kind = DYNC__OPTION_##kind_,                      \
      .at = offsetof(dync__config_value, field),         \
      .size = sizeof((dync__config_value *)NULL)->field, \
      .least = least_,                                   \
      .most = most_},                                    \
     dync__config_##name},
    DYNC__CONFIGS(DYNC__X)
#undef DYNC__X
};

/* NULL is a value for texts alone, where it means the default. */
static dync_status dync__config_row_set(const dync__config_row *row, const char *value)
{
    dync__config_value v = {0};
    char what[64];
    v.text = value;
    if (row->option.kind == DYNC__OPTION_TEXT ||
        (value && dync__option_store(&row->option, value, strlen(value), &v))) {
        return row->set(&v);
    }
    dync__format(what, sizeof what, "dync_config_set: %s", row->option.key);
    return dync__option_fail(&row->option, what, value, value ? strlen(value) : 0);
}

/* Keys of the minifier (minify/) are looked up behind the table; an unknown key lists all of
 * both. */
DYNC_API dync_status dync_config_set(const char *key, const char *value)
{
    for (int i = 0; key && i < DYNC__COUNT_OF(dync__config_rows); i++)
        if (strcmp(key, dync__config_rows[i].option.key) == 0)
            return dync__config_row_set(&dync__config_rows[i], value);
    bool known = false;
    if (key) DYNC__TRY(dync__repro_set(key, value, &known));
    if (known) return DYNC_OK;
    dync__str s = {0};
    for (int i = 0; i < DYNC__COUNT_OF(dync__config_rows); i++)
        dync__str_addf(&s, "%s%s", i ? ", " : "", dync__config_rows[i].option.key);
    for (int i = 0; dync__repro_key(i); i++) dync__str_addf(&s, ", %s", dync__repro_key(i));
    dync_status status = dync__fail(DYNC_ERR_VALUE,
                                    "dync_config_set: there is no key '%s'; those are: %s",
                                    key ? key : "NULL", dync__str_get(&s));
    dync__str_free(&s);
    return status;
}
