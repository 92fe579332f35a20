/* kernel/attr.c: attributes of kernel calls as text. */
#include "../dync.in.h"
#include "attr.h"
DYNC__COLD

static void dync__attr_print_field(dync__str *s, const dync__attr_field *f, const void *at)
{
    int64_t whole[2];
    double real;
    const int8_t *place = at;
    switch (f->type) {
    case DYNC__ATTR_PAIR:
        memcpy(whole, at, sizeof whole);
        dync__str_addf(s, "[%lld, %lld]", (long long)whole[0], (long long)whole[1]);
        break;
    case DYNC__ATTR_NUMBER:
        memcpy(whole, at, sizeof whole[0]);
        dync__str_addf(s, "%lld", (long long)whole[0]);
        break;
    case DYNC__ATTR_REAL:
        memcpy(&real, at, sizeof real);
        dync__str_addf(s, "%.17g", dync__float_shown(real));
        break;
    case DYNC__ATTR_FLAG: dync__str_addf(s, "%d", *(const bool *)at); break;
    case DYNC__ATTR_PLACE: dync__str_addf(s, "%d", place[0]); break;
    default:
        for (int i = 0; i < DYNC__RNN_ROLES; i++)
            dync__str_addf(s, "%s%d", i ? ", " : "[", place[i]);
        dync__str_addc(s, ']');
    }
}

DYNC__FN void dync__attr_print(dync__str *s, const dync__attr_field *fields, const dync__attr *attr)
{
    for (; fields && fields->name; fields++) {
        dync__str_addf(s, " %s ", fields->name);
        dync__attr_print_field(s, fields, (const char *)attr + fields->offset);
    }
}
