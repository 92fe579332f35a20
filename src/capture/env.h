/* capture/env.h: the environment of a trace: the values that exist, by place, as four lists of one
 * length. What a trace does with it stands in env.c (trace.h lists it). */
#ifndef DYNC__CAPTURE_ENV_H
#define DYNC__CAPTURE_ENV_H
#include "segment.h"

/* What a place holds: output `out` of a segment; or a foreign tensor (its index + 1); or the
 * gradient of another place. */
typedef struct dync__origin {
    dync__segment *seg;
    const int *in_env;
    int out, foreign;
    bool is_grad;
    bool plain; /* of a segment that ran operator by operator in this call */
} dync__origin;
typedef struct dync__environment {  /* by place */
    DYNC__VEC(dync__tensor *) real; /* owned; NULL where narrowed away */
    DYNC__VEC(dync__tensor *) fake; /* what traced code sees of it (owned) */
    DYNC__VEC(dync__node *) holder; /* its placeholder in the pending graph, or NULL */
    DYNC__VEC(dync__origin) origin;
} dync__environment;

/* Room for n more places; false: no memory, nothing has changed. */
DYNC__INLINE bool dync__env_room(dync__environment *e, int n)
{
    n += e->real.n;
    return dync__vec_reserve(&e->real, n) && dync__vec_reserve(&e->fake, n) &&
           dync__vec_reserve(&e->holder, n) && dync__vec_reserve(&e->origin, n);
}
/* The next place, where there is room; it takes over both references. Its number. */
DYNC__INLINE int dync__env_put(dync__environment *e, dync__tensor *real, dync__tensor *fake)
{
    int place = e->real.n;
    e->real.at[e->real.n++] = real;
    e->fake.at[e->fake.n++] = fake;
    e->holder.at[e->holder.n++] = NULL;
    e->origin.at[e->origin.n++] = (dync__origin){0};
    return place;
}
/* The same for n places at once, whose origins are known. */
DYNC__INLINE int dync__env_put_all(dync__environment *e, int n, dync__tensor *const *real,
                                   dync__tensor *const *fake, const dync__origin *origin)
{
    int place = e->real.n;
    memcpy(e->real.at + place, real, (size_t)n * sizeof *real);
    memcpy(e->fake.at + place, fake, (size_t)n * sizeof *fake);
    memcpy(e->origin.at + place, origin, (size_t)n * sizeof *origin);
    memset(e->holder.at + place, 0, (size_t)n * sizeof *e->holder.at);
    e->real.n = e->fake.n = e->holder.n = e->origin.n = place + n;
    return place;
}
/* No places, the room stays; what they held is the caller's to give back. */
DYNC__INLINE void dync__env_empty(dync__environment *e)
{
    e->real.n = e->fake.n = e->holder.n = e->origin.n = 0;
}
DYNC__INLINE void dync__env_free(dync__environment *e)
{
    dync__vec_free(&e->real);
    dync__vec_free(&e->fake);
    dync__vec_free(&e->holder);
    dync__vec_free(&e->origin);
}
#endif
