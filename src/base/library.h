/* base/library.h: shared libraries that are opened while the program runs. After base.h. */
#ifndef DYNC__LIBRARY_H
#define DYNC__LIBRARY_H
#include "base.h"

/* Can this program open any? A constant: what is made of one is not linked where it cannot. */
#if (defined(__linux__) || defined(__APPLE__)) && defined(__GNUC__) && !defined(DYNC_NO_STDIO)
#define DYNC__LIBRARIES 1
#else
#define DYNC__LIBRARIES 0
#endif
typedef void (*dync__lib_fn)(void);
/* NULL: there is none, or this program cannot open any. */
DYNC__FN void *dync__lib_open(const char *path);
/* its symbols are for all: code that others make at run time finds them by name */
DYNC__FN void *dync__lib_open_for_all(const char *path);
DYNC__FN dync__lib_fn dync__lib_symbol(void *library, const char *name); /* cast to its type */
DYNC__FN void dync__lib_close(void *library);
/* appends the path of a file in the folder of the running program; false: it is not known */
DYNC__FN bool dync__lib_beside(const char *name, dync__str *out);
/* opens the library of that name in the folder of the running program; a version may follow the
 * name, as in libx.so.1.2 */
DYNC__FN void *dync__lib_open_beside(const char *name);
#endif
