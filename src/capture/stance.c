/* capture/stance.c: what compiled functions do where they would compile. After guard_text.c,
 * before history.c. */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

DYNC__DATA int32_t dync__stance_now = 0;

static const char *const dync__stance_names[] = {
#define DYNC__X(name) #name,
    DYNC__STANCES(DYNC__X)
#undef DYNC__X
};

/* The error of a call that would compile under "fail_on_recompile". */
DYNC__RARE static dync_status dync__stance_fails(const dync__compiled *f, const char *reason)
{
    dync_loc at = dync__compiled_place(f);
    return dync__fail_class(DYNC_ERR_RECOMPILE_LIMIT, "RuntimeError",
                            "Detected recompile when torch.compile stance is 'fail_on_recompile'. "
                            "function: '%s' (%s:%d), reason: %s",
                            f->name, at.file, at.line, reason);
}
DYNC__DATA dync_status (*DYNC__BY_NEED dync__stance_refuses)(
    const dync__compiled *, const char *reason) = DYNC__AT_FIRST(dync__stance_fails);

DYNC_API dync_status(dync_set_stance)(const char *stance)
{
    if (!stance) stance = "default";
    for (int32_t i = 0; i < DYNC__N_STANCES; i++)
        if (strcmp(stance, dync__stance_names[i]) == 0) {
            DYNC__PUT(dync__stance_refuses, dync__stance_fails);
            DYNC__ATOMIC_STORE(&dync__stance_now, i);
            return DYNC_OK;
        }
    dync__str s = {0};
    for (int i = 0; i < DYNC__N_STANCES; i++)
        dync__str_addf(&s, "%s\"%s\"", i ? ", " : "", dync__stance_names[i]);
    dync_status status = dync__fail(DYNC_ERR_VALUE,
                                    "dync_set_stance: no stance is called \"%.40s\"; "
                                    "there are %s",
                                    stance, dync__str_get(&s));
    dync__str_free(&s);
    return status;
}
