/* compile/config.c: settings by name, one row each: what dync_config_set takes. Process-wide. */
#include "../dync.in.h"
#include "../minify/minify.h"

#define DYNC__CONFIGS(X) X(activation_memory_budget) X(lint) X(log) X(threads) X(verify)
static dync_status dync__config_log(const char *value)
{
    dync_set_log(value);
    return DYNC_OK;
}
static dync_status dync__config_switch(const char *key, const char *value, void (*set)(bool))
{
    static const char *const words[] = {"0", "1", "false", "true", "off", "on"};
    for (int i = 0; value && i < DYNC__COUNT_OF(words); i++)
        if (strcmp(value, words[i]) == 0) {
            set(i % 2 != 0);
            return DYNC_OK;
        }
    return dync__fail(DYNC_ERR_VALUE, "dync_config_set: %s: expected true or false, got '%s'", key, value ? value : "NULL");
}
static dync_status dync__config_lint(const char *value) { return dync__config_switch("lint", value, dync_set_lint); }
static dync_status dync__config_verify(const char *value) { return dync__config_switch("verify", value, dync_set_verify); }
static dync_status dync__config_activation_memory_budget(const char *value)
{
    const char *end;
    double budget;
    if (!value || !dync__text_double(value, &end, &budget) || *end || !(budget >= 0 && budget <= 1))
        return dync__fail(DYNC_ERR_VALUE, "dync_config_set: activation_memory_budget: expected a number from 0 to 1, got '%s'", value ? value : "NULL");
    dync__aot_set_budget(budget);
    return DYNC_OK;
}
static dync_status dync__config_threads(const char *value)
{
    const char *end;
    double n;
    if (!value || !dync__text_double(value, &end, &n) || *end || n < 0 || n > 1024)
        return dync__fail(DYNC_ERR_VALUE, "dync_config_set: threads: expected a number from 0 to 1024, got '%s'", value ? value : "NULL");
    dync__pool_set_threads((int)n);
    return DYNC_OK;
}

typedef struct dync__config_row { const char *key; dync_status (*set)(const char *value); } dync__config_row;
static const dync__config_row dync__config_rows[] = {
#define DYNC__X(name) {#name, dync__config_##name},
    DYNC__CONFIGS(DYNC__X)
#undef DYNC__X
};

DYNC_API dync_status dync_config_set(const char *key, const char *value)
{
    for (int i = 0; key && i < DYNC__COUNT_OF(dync__config_rows); i++)
        if (strcmp(key, dync__config_rows[i].key) == 0) return dync__config_rows[i].set(value);
    bool known = false;
    if (key) DYNC__TRY(dync__repro_set(key, value, &known));
    if (known) return DYNC_OK;
    dync__str s = {0};
    for (int i = 0; i < DYNC__COUNT_OF(dync__config_rows); i++) dync__str_addf(&s, "%s%s", i ? ", " : "", dync__config_rows[i].key);
    for (int i = 0; dync__repro_key(i); i++) dync__str_addf(&s, ", %s", dync__repro_key(i));
    dync_status status = dync__fail(DYNC_ERR_VALUE, "dync_config_set: there is no key '%s'; those are: %s", key ? key : "NULL", dync__str_get(&s));
    dync__str_free(&s);
    return status;
}
