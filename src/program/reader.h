/* program/reader.h: program files, shared by the files that read and write them: reader.c,
 * size_table.c, program_file.c, program_read.c. */
#ifndef DYNC__READER_H
#define DYNC__READER_H
#include "program.h"

/* Reads from p towards end; the first failure stays in status, and later reads give 0 or false.
 * own: written by this library for itself, so limits and the list of allowed operators do not
 * apply. */
typedef struct dync__program_reader {
    const char *start, *p, *end;
    dync_status status;
    dync_limits limits;
    bool own;
} dync__program_reader;
/* reader.c */
DYNC__FN dync_status dync__program_refuse(dync__program_reader *, const char *expected);
/* Consumes exactly these bytes or fails. */
DYNC__FN bool dync__program_word(dync__program_reader *, const char *word);
/* A decimal number up to most, and the character behind it. */
DYNC__FN uint64_t dync__program_wide(dync__program_reader *, uint64_t most, char behind);
DYNC__FN size_t dync__program_number(dync__program_reader *, size_t most, char behind);
/* A name up to `behind`, into out. */
DYNC__FN void dync__program_name(dync__program_reader *, char behind, char *out, size_t cap);

/* size_table.c: what of the graph's numbers is symbolic; the graph with the numbers of the export,
 * which stands in the file; and back: that graph gets its symbols. */
DYNC__FN dync_status dync__sizes_write(dync__graph *, dync__str *);
DYNC__FN dync_status dync__sizes_concrete(dync__graph *, dync__graph **out);
DYNC__FN dync_status dync__sizes_skip(dync__program_reader *); /* past what read reads */
/* data: what data decide may be among them */
DYNC__FN dync_status dync__sizes_read(dync__program_reader *, dync__graph *, bool data);
DYNC__FN bool dync__sizes_by_data(const dync__graph *);

/* program_file.c */
enum { DYNC__PROGRAM_ALIGN = 64, DYNC__PROGRAM_CHECKSUM = 8 };
#define DYNC__PROGRAM_MAGIC "dync program "
/* DYNC_ERR_UNSUPPORTED: a file may not hold it */
DYNC__FN dync_status dync__program_allowed(const dync__graph *);
DYNC__FN bool dync__program_has_inside(const dync__graph *); /* functions inside operators */
DYNC__FN bool dync__program_is_stored(const dync__node *);   /* as data, not in the text */
DYNC__FN uint64_t dync__program_sum(const char *bytes, size_t n);
DYNC__FN void dync__program_swap(char *data, size_t n, size_t item); /* files are little endian */
#endif
