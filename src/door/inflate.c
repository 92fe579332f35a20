/* door/inflate.c: what deflate packed (RFC 1951), into a buffer whose size is known. Before zip.c.
 *
 * Bits come from the low end of each byte; codes are canonical Huffman codes of at most 15 bits.
 * A table tells the code of the next 9 bits at once, longer ones are found length by length. Each
 * read and each copy is checked against both buffers. */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

enum {
    DYNC__CODE_BITS = 15,
    DYNC__CODE_FAST = 9,
    DYNC__CODE_SYMBOLS = 288,
    DYNC__CODE_LITERALS = 286,
    DYNC__CODE_DISTANCES = 30,
    DYNC__CODE_END = 256
};
/* A canonical code: codes of one length are consecutive numbers in the order of their symbols, and
 * each length begins where the shorter ones leave off. So the lengths alone say it all (RFC 1951,
 * 3.2.2):
 *
 *   symbol  A B C D E F G H      code  F 00   A 010  B 011  C 100  D 101  E 110
 *   length  3 3 3 3 3 2 4 4            G 1110  H 1111 */
typedef struct dync__huffman {
    uint16_t fast[1 << DYNC__CODE_FAST]; /* length << 9 | symbol; 0: a longer code, or none */
    uint16_t count[DYNC__CODE_BITS + 1]; /* codes of each length */
    uint16_t symbol[DYNC__CODE_SYMBOLS]; /* in the order of their codes */
} dync__huffman;
/* One run. at: the next byte of in (n bytes) that is not in bits yet; done: bytes of out written,
 * of n_out. length: code lengths while a code is read, those of literals and of distances behind
 * each other. */
typedef struct dync__inflater {
    const unsigned char *in;
    unsigned char *out;
    size_t n, at, n_out, done;
    uint64_t bits; /* the next ones, from the low end */
    unsigned have;
    dync__huffman literal, distance;
    uint8_t length[DYNC__CODE_SYMBOLS + 32];
} dync__inflater;

/* The byte of the message is about where reading stands: bytes that wait in bits are taken off. */
static dync_status dync__inflate_bad(const dync__inflater *f, const char *what)
{
    return dync__door_bad("deflate", f->at - f->have / 8, "%s", what);
}

/* At least 32 bits are there afterwards, zeros behind the end. */
DYNC__BUSY static void dync__inflate_fill(dync__inflater *f)
{
    for (; f->have <= 56 && f->at < f->n; f->have += 8)
        f->bits |= (uint64_t)f->in[f->at++] << f->have;
}

/* *out: the next n <= 16 bits, the first in the lowest place. */
DYNC__BUSY static dync_status dync__inflate_take(dync__inflater *f, unsigned n, unsigned *out)
{
    dync__inflate_fill(f);
    if (n > f->have) return dync__inflate_bad(f, "the data end inside of a code");
    *out = (unsigned)(f->bits & ((1u << n) - 1));
    f->bits >>= n;
    f->have -= n;
    return DYNC_OK;
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* Fills the table of the next 9 bits. Codes stand in the stream from their high bit on, the table's
 * index has the first bit lowest, so a code is reversed; the bits behind a shorter code may be
 * anything, so it fills every 2^l-th entry. F above, reversed 00: entries 0, 4, 8, .. */
static void dync__huffman_fast(dync__huffman *h, const uint8_t *length, int n)
{
    unsigned next[DYNC__CODE_BITS + 2] = {0};
    memset(h->fast, 0, sizeof h->fast);
    for (int l = 1; l <= DYNC__CODE_BITS; l++) next[l + 1] = (next[l] + h->count[l]) << 1;
    for (int s = 0; s < n; s++) {
        unsigned l = length[s], code = l ? next[l]++ : 0, reversed = 0;
        if (l == 0 || l > DYNC__CODE_FAST) continue;
        for (unsigned b = 0; b < l; b++) reversed |= (code >> b & 1) << (l - 1 - b);
        for (unsigned k = reversed; k < 1u << DYNC__CODE_FAST; k += 1u << l)
            h->fast[k] = (uint16_t)(l << 9 | (unsigned)s);
    }
}

/* Makes the code of n symbols from their lengths, 0: not used. left counts the codes of length l
 * that are still free: below 0, there are too many; above 0 at the end, some bits are no code,
 * which only a code of at most one symbol may have (single). */
static bool dync__huffman_build(dync__huffman *h, const uint8_t *length, int n, bool single)
{
    uint16_t at[DYNC__CODE_BITS + 2] = {0};
    memset(h->count, 0, sizeof h->count);
    for (int s = 0; s < n; s++) h->count[length[s]]++;
    int left = 1, codes = n - h->count[0];
    h->count[0] = 0;
    for (int l = 1; l <= DYNC__CODE_BITS; l++) {
        left = left * 2 - h->count[l];
        if (left < 0) return false;
        at[l + 1] = (uint16_t)(at[l] + h->count[l]);
    }
    if (left > 0 && !(single && codes <= 1)) return false;
    for (int s = 0; s < n; s++)
        if (length[s]) h->symbol[at[length[s]]++] = (uint16_t)s;
    dync__huffman_fast(h, length, n);
    return true;
}

/* The next symbol. Long codes are found by length: `first` is the first code of length l, `index`
 * the place of its symbol. */
DYNC__BUSY static dync_status dync__huffman_next(dync__inflater *f, const dync__huffman *h,
                                                 unsigned *symbol)
{
    dync__inflate_fill(f);
    unsigned fast = h->fast[f->bits & ((1u << DYNC__CODE_FAST) - 1)], n = fast >> 9;
    *symbol = fast & 511;
    int code = 0, first = 0, index = 0;
    for (unsigned l = 1; n == 0 && l <= DYNC__CODE_BITS; l++) {
        code |= (int)(f->bits >> (l - 1) & 1);
        int count = h->count[l];
        if (code - first < count) {
            *symbol = h->symbol[index + code - first];
            n = l;
        }
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    if (n == 0) return dync__inflate_bad(f, "a code that is none");
    if (n > f->have) return dync__inflate_bad(f, "the data end inside of a code");
    f->bits >>= n;
    f->have -= n;
    return DYNC_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A block that is not packed (3.2.4): from the next whole byte on, its length, the same with all
 * bits inverted, the bytes. */
static dync_status dync__inflate_stored(dync__inflater *f)
{
    unsigned skip, n, complement;
    DYNC__TRY(dync__inflate_take(f, f->have % 8, &skip));
    DYNC__TRY(dync__inflate_take(f, 16, &n));
    DYNC__TRY(dync__inflate_take(f, 16, &complement));
    if ((n ^ complement) != 0xffff) return dync__inflate_bad(f, "a stored block's length is wrong");
    /* whole bytes wait in bits */
    f->at -= f->have / 8;
    f->bits = 0;
    f->have = 0;
    if (n > f->n - f->at) return dync__inflate_bad(f, "a stored block leaves the data");
    if (n > f->n_out - f->done) return dync__inflate_bad(f, "more comes out than was said");
    if (n) memcpy(f->out + f->done, f->in + f->at, n);
    f->at += n;
    f->done += n;
    return DYNC_OK;
}

/* The code that needs no description (3.2.6). */
static dync_status dync__inflate_fixed(dync__inflater *f)
{
    for (int s = 0; s < DYNC__CODE_SYMBOLS; s++)
        f->length[s] = (uint8_t)(s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8);
    (void)dync__huffman_build(&f->literal, f->length, DYNC__CODE_SYMBOLS, false);
    for (int s = 0; s < 32; s++) f->length[s] = 5;
    (void)dync__huffman_build(&f->distance, f->length, 32, false);
    return DYNC_OK;
}

/* n lengths of codes, written by a code of their own (3.2.7): 0 to 15 are lengths, 16 repeats the
 * last one 3 to 6 times, 17 and 18 are 3 to 10 and 11 to 138 zeros. Both codes' lengths are one
 * sequence, a repeat may go from the one into the other. */
static dync_status dync__inflate_lengths(dync__inflater *f, unsigned n)
{
    for (unsigned i = 0; i < n;) {
        unsigned s, more, value = 0, base, bits;
        DYNC__TRY(dync__huffman_next(f, &f->literal, &s));
        if (s < 16) {
            f->length[i++] = (uint8_t)s;
            continue;
        }
        if (s == 16 && i == 0) return dync__inflate_bad(f, "no length to repeat");
        if (s == 16) value = f->length[i - 1];
        base = s == 18 ? 11 : 3;
        bits = s == 16 ? 2 : s == 17 ? 3 : 7;
        DYNC__TRY(dync__inflate_take(f, bits, &more));
        if (base + more > n - i) return dync__inflate_bad(f, "more lengths than codes");
        for (more += base; more > 0; more--) f->length[i++] = (uint8_t)value;
    }
    return DYNC_OK;
}

/* A block's own codes (3.2.7): three counts, the lengths of the code for lengths (in a fixed order,
 * those used least last), then the lengths. f->literal is that first code for the time of
 * reading. */
static dync_status dync__inflate_dynamic(dync__inflater *f)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned literals, distances, lengths, x;
    DYNC__TRY(dync__inflate_take(f, 5, &literals));
    DYNC__TRY(dync__inflate_take(f, 5, &distances));
    DYNC__TRY(dync__inflate_take(f, 4, &lengths));
    literals += 257, distances += 1, lengths += 4;
    if (literals > DYNC__CODE_LITERALS || distances > DYNC__CODE_DISTANCES)
        return dync__inflate_bad(f, "more codes than there are");
    memset(f->length, 0, sizeof f->length);
    for (unsigned i = 0; i < lengths; i++) {
        DYNC__TRY(dync__inflate_take(f, 3, &x));
        f->length[order[i]] = (uint8_t)x;
    }
    if (!dync__huffman_build(&f->literal, f->length, 19, false))
        return dync__inflate_bad(f, "lengths of codes that do not fit");
    memset(f->length, 0, sizeof f->length);
    DYNC__TRY(dync__inflate_lengths(f, literals + distances));
    if (f->length[DYNC__CODE_END] == 0) return dync__inflate_bad(f, "no code for the end");
    if (!dync__huffman_build(&f->distance, f->length + literals, (int)distances, true) ||
        !dync__huffman_build(&f->literal, f->length, (int)literals, true))
        return dync__inflate_bad(f, "lengths of codes that do not fit");
    return DYNC_OK;
}

/* A match for the length symbol s (3.2.5). Lengths 3 to 258 and distances 1 to 32768 take an extra
 * bit more every fourth and every second symbol: length symbol 269 is 19 + 2 extra bits, distance
 * symbol 6 is 9 + 2 extra bits. */
static dync_status dync__inflate_match(dync__inflater *f, unsigned s, unsigned *length,
                                       unsigned *distance)
{
    unsigned extra, bits = s < 265 || s == 285 ? 0 : (s - 261) / 4;
    DYNC__TRY(dync__inflate_take(f, bits, &extra));
    *length = s == 285 ? 258 : bits == 0 ? s - 254 : ((4 + (s - 265) % 4) << bits) + 3 + extra;
    DYNC__TRY(dync__huffman_next(f, &f->distance, &s));
    if (s >= DYNC__CODE_DISTANCES) return dync__inflate_bad(f, "a distance that is none");
    bits = s < 4 ? 0 : s / 2 - 1;
    DYNC__TRY(dync__inflate_take(f, bits, &extra));
    *distance = bits == 0 ? s + 1 : ((2 + s % 2) << bits) + 1 + extra;
    return DYNC_OK;
}

/* Literals and matches until the symbol for the end of the block. */
DYNC__BUSY static dync_status dync__inflate_codes(dync__inflater *f)
{
    for (;;) {
        unsigned s, length, distance = 0;
        DYNC__TRY(dync__huffman_next(f, &f->literal, &s));
        if (s == DYNC__CODE_END) return DYNC_OK;
        if (s >= DYNC__CODE_LITERALS) return dync__inflate_bad(f, "a length that is none");
        length = 1;
        if (s > DYNC__CODE_END) DYNC__TRY(dync__inflate_match(f, s, &length, &distance));
        if (length > f->n_out - f->done)
            return dync__inflate_bad(f, "more comes out than was said");
        if (s < DYNC__CODE_END) {
            f->out[f->done++] = (unsigned char)s;
            continue;
        }
        if (distance > f->done) return dync__inflate_bad(f, "a distance before the beginning");
        /* they may overlap: byte by byte, forwards */
        for (unsigned char *to = f->out + f->done, *end = to + length; to < end; to++)
            *to = *(to - distance);
        f->done += length;
    }
}

/* All blocks. The sizes of both buffers must come out exactly. */
static dync_status dync__inflate_blocks(dync__inflater *f)
{
    for (unsigned last = 0, kind; !last;) {
        DYNC__TRY(dync__inflate_take(f, 1, &last));
        DYNC__TRY(dync__inflate_take(f, 2, &kind));
        if (kind == 3) return dync__inflate_bad(f, "a block of no kind");
        if (kind == 0) {
            DYNC__TRY(dync__inflate_stored(f));
            continue;
        }
        DYNC__TRY(kind == 1 ? dync__inflate_fixed(f) : dync__inflate_dynamic(f));
        DYNC__TRY(dync__inflate_codes(f));
    }
    if (f->done != f->n_out) return dync__inflate_bad(f, "less comes out than was said");
    if (f->at - f->have / 8 != f->n) return dync__inflate_bad(f, "data behind the end");
    return DYNC_OK;
}

/* in and out must not overlap. out is partly written on failure. */
DYNC__FN dync_status dync__inflate(const unsigned char *in, size_t n, unsigned char *out,
                                   size_t n_out)
{
    dync__inflater *f = dync__calloc(sizeof *f); /* large for a stack */
    if (!f) return DYNC_ERR_MEMORY;
    f->in = in;
    f->n = n;
    f->out = out;
    f->n_out = n_out;
    dync_status status = dync__inflate_blocks(f);
    dync__free(f, sizeof *f);
    return status;
}
