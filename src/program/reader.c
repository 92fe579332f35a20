/* program/reader.c: the words and numbers of a program file, each checked. Before size_table.c. */
#include "../dync.in.h"
#include "reader.h"
DYNC__COLD

/* The first failure is kept and recorded, with the byte it was met at; returns the status. */
DYNC__FN dync_status dync__program_refuse(dync__program_reader *r, const char *expected)
{
    if (r->status == DYNC_OK)
        r->status = dync__fail(DYNC_ERR_FORMAT, "expected %s at byte %llu", expected,
                               (unsigned long long)(r->p - r->start));
    return r->status;
}

DYNC__FN bool dync__program_word(dync__program_reader *r, const char *word)
{
    size_t n = strlen(word);
    if (r->status == DYNC_OK && (size_t)(r->end - r->p) >= n && memcmp(r->p, word, n) == 0) {
        r->p += n;
        return true;
    }
    dync__program_refuse(r, word);
    return false;
}

/* At most 19 digits, which is below 2^64; more are refused with what stands behind. */
DYNC__FN uint64_t dync__program_wide(dync__program_reader *r, uint64_t most, char behind)
{
    uint64_t v = 0;
    const char *start = r->p;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - start < 19; r->p++)
        v = v * 10 + (uint64_t)(*r->p - '0');
    if (r->p == start || v > most || r->p == r->end || *r->p != behind) {
        dync__program_refuse(r, "a number");
        return 0;
    }
    r->p++;
    return v;
}

DYNC__FN size_t dync__program_number(dync__program_reader *r, size_t most, char behind)
{
    return (size_t)dync__program_wide(r, most, behind);
}

/* A C identifier; longer ones than cap - 1 are refused. out is always ended. */
DYNC__FN void dync__program_name(dync__program_reader *r, char behind, char *out, size_t cap)
{
    size_t n = 0;
    for (; r->p < r->end && n + 1 < cap; r->p++) {
        if (!dync__is_letter(*r->p) && (n == 0 || !dync__is_digit(*r->p))) break;
        out[n++] = *r->p;
    }
    out[n] = 0;
    if (n == 0 || r->p == r->end || *r->p != behind)
        dync__program_refuse(r, "a name");
    else
        r->p++;
}
