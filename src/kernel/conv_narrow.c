/* kernel/conv_narrow.c: channels of narrow elements in words, as the machine multiplies them: pairs
 * of bf16, fours of bytes. conv_rows.c and conv_int.c run tiles over the words. */
#include "../dync.in.h"
#include "conv.h"
#include "matmul.h"
DYNC__BESIDE_JIT

static int64_t dync__conv_words_group(const dync__conv_words *w)
{
    return w->type == DYNC__GT_BF16 ? 2 : 4;
}

DYNC__FN int64_t dync__conv_words_bytes(const dync__conv_words *w)
{
    return w->planes * w->words * w->area * 4;
}

/* Some of the words' planes. */
static void dync__conv_words_part(void *user, int part, int n_parts)
{
    const dync__conv_words *w = user;
    int64_t all = w->planes * w->words, group = dync__conv_words_group(w), bytes = 4 / group;
    int64_t end = all * (part + 1) / n_parts, n;
    for (int64_t i = all * part / n_parts; i < end; i += n) {
        int64_t plane = i / w->words, word = i % w->words;
        n = DYNC__MIN(w->words - word, end - i);
        char *to = w->to + i * w->area * 4;
        dync__mm_interleave(to, w->from + (plane * w->channels + word * group) * w->area * bytes,
                            w->area, w->area, DYNC__MIN(n * group, w->channels - word * group),
                            bytes, w->type);
        if (w->type == DYNC__GT_U8) dync__mm_lift(to, n * w->area * 4);
    }
}

DYNC__FN void dync__conv_words_run(dync__conv_words *w)
{
    double ns = (double)dync__conv_words_bytes(w) / DYNC__CJ_BYTES_PER_NS;
    int threads = dync__pool_worth(ns);
    if (threads > 1)
        dync__pool_run(dync__conv_words_part, w,
                       dync__pool_pieces(threads, ns, w->planes * w->words));
    else
        dync__conv_words_part(w, 0, 1);
}
