/* graph/print_c.h: what the files that print a graph as C share. */
#ifndef DYNC__PRINT_C_H
#define DYNC__PRINT_C_H
#include "text.h"

/* What is being printed, and how; memory failures are sticky in s. */
typedef struct dync__c_printer {
    dync__str *s;
    const dync__graph *g;
    bool let; /* tensors are declared by DYNC_LET, so that tracing the text gives the same names */
    const char *path; /* the function's name; those of functions inside it begin so */
} dync__c_printer;

DYNC__INLINE bool dync__c_is_tensor(const dync__node *node)
{
    return node->has_info && node->nout == 1;
}
/* ---- print_c_arg.c --------------------------------------------------------------------------- */
DYNC__FN void dync__c_int(dync__str *s, int64_t i);
DYNC__FN void dync__c_dims(dync__c_printer *p, const dync__arg *a, bool as_value);
DYNC__FN void dync__c_arg(dync__c_printer *p, const dync__arg *a, dync__param_type type,
                          bool as_value);
/* ---- print_c_node.c -------------------------------------------------------------------------- */
DYNC__FN void dync__c_comment_text(dync__str *s, const char *text);
DYNC__FN void dync__c_type_comment(dync__c_printer *p, const dync__node *node);
DYNC__FN void dync__c_function_name(const dync__c_printer *p, const dync__node *node, int i);
DYNC__FN void dync__c_statement(dync__c_printer *p, const dync__node *node);
#endif
