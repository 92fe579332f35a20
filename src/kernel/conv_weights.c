/* kernel/conv_weights.c: weights as the tiles want them, and keeping them between runs. Between
 * conv_blocks.c and conv_tiles.c, conv_grad.c. */
#include "../dync.in.h"
#include "conv_tiles.h"
DYNC__WARM
#if DYNC__JIT

/* Block b of out channels and block a of in channels of a group, between where the layer has them
 * and a table [in channel, window element][V]. Depthwise: g is the block. */
DYNC__FN void dync__cj_lines(const dync__cj *v, bool to_table, float *w, int64_t g, int64_t b,
                             int64_t a, float *table)
{
    int64_t taps = v->s.kh * v->s.kw, gc = v->s.c / v->s.groups, go = v->s.o / v->s.groups,
            k = DYNC__MIN(v->K, v->ic - a * v->K);
    int64_t n = DYNC__MIN(v->V, (v->depthwise ? v->s.c - g * v->V : v->oc) - b * v->V);
    if (v->depthwise)
        w += g * v->V * taps;
    else if (v->what == DYNC__CJ_INPUT)
        w += (g * go + a * v->K) * gc * taps + b * v->V * taps;
    else
        w += (g * go + b * v->V) * gc * taps + a * v->K * taps;
    if (v->depthwise || v->what != DYNC__CJ_INPUT) {
        dync__cj_move(v, to_table, w, v->depthwise ? taps : gc * taps, table,
                      (v->depthwise ? 1 : k) * taps, n);
        return;
    }
    for (int64_t i = 0; i < k; i++, w += gc * taps, table += taps * v->V) {
        if (taps == 1)
            dync__copy_line(table, w, (size_t)n * sizeof *w);
        else
            dync__cj_move(v, true, w, taps, table, taps, n);
    }
}

/* Packed: phase, group, out blocks by ones, twos or threes as the tiles take them, in blocks, tap,
 * in channel, out channel. */
DYNC__RARE static bool dync__cj_pack(const dync__cj *v, const float *w, float *to)
{
    int64_t taps = v->s.kh * v->s.kw;
    size_t line = (size_t)v->V * sizeof *to, bytes = (size_t)(v->K * taps) * line;
    float *table = dync__alloc_data(bytes);
    if (!table) return false;
    for (int64_t i = 0; i < v->groups * v->ocb * v->icb; i++) {
        int64_t a = i % v->icb, b = i / v->icb % v->ocb, g = i / v->icb / v->ocb,
                first = b / v->B[0] * v->B[0], B = DYNC__MIN(v->B[0], v->ocb - first);
        memset(table, 0, bytes);
        dync__cj_lines(v, true, (float *)(uintptr_t)w, g, b, a, table);
        for (int64_t k = 0; v->wino.m && k < v->K; k++) {
            _Alignas(64) float square[9 * 16], room[DYNC__CW_ROOM / 4];
            int64_t args[DYNC__CA_WORDS] = {0};
            for (int t = 0; t < 9; t++) {
                const dync__cj_tap *tap = &v->phase[0].tap[t];
                memcpy(square + ((v->lo_y + tap->y) * 3 + v->lo_x + tap->x) * v->V,
                       table + (k * taps + tap->from) * v->V, line);
            }
            args[DYNC__CA_IN] = (int64_t)(uintptr_t)square;
            args[DYNC__CA_OUT] =
                (int64_t)(uintptr_t)(to + ((g * v->ocb + first) * v->icb + a * B) * v->K * v->V +
                                     (b - first) * v->V + k * B * v->V);
            args[DYNC__CA_TAPS] = (int64_t)(uintptr_t)room;
            args[DYNC__CA_TILES] = 1;
            v->wino.weight_code(args);
        }
        for (int p = 0; p < v->n_phases && !v->wino.m; p++) {
            const dync__cj_phase *f = &v->phase[p];
            float *at = to + f->weights +
                        ((g * v->ocb + first) * v->icb + a * B) * f->n_taps * v->K * v->V +
                        (b - first) * v->V;
            for (int t = 0; t < f->n_taps; t++)
                for (int64_t k = 0; k < v->K; k++, at += B * v->V)
                    dync__copy_line(at, table + (k * taps + f->tap[t].from) * v->V, line);
        }
    }
    dync__free_data(table, bytes);
    return true;
}

static int64_t dync__cj_group_channels(const dync__cj *v)
{
    return v->s.narrow ? v->s.narrow : v->s.c / v->s.groups;
}

/* Bytes of the weights as the layer has them. */
static int64_t dync__cj_weight_bytes(const dync__cj *v)
{
    return v->s.o * dync__cj_group_channels(v) * v->s.kh * v->s.kw *
           (int64_t)dync__dtype_info(v->s.dtype)->bytes;
}

static uint64_t dync__cj_sum(const void *weights, int64_t bytes)
{
    const char *w = weights;
    uint64_t sum[4] = {1, 2, 3, 4}, word;
    for (int64_t i = 0; i + 32 <= bytes; i += 32)
        for (int l = 0; l < 4; l++) {
            memcpy(&word, w + i + 8 * l, 8);
            sum[l] = (sum[l] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        }
    for (int l = 1; l < 4; l++) sum[0] = dync__hash_mix(sum[0], sum[l]);
    return dync__hash_bytes(w + bytes / 32 * 32, (size_t)(bytes % 32), sum[0]);
}

/* Narrow weights [O, channels of a group, KH, KW] as words of two or four channels, zeros behind
 * the last one; of bytes what lifting the input by 128 adds to the sums of each output channel,
 * negated. */
DYNC__RARE static void dync__cj_words(const dync__cj *v, const char *w, char *to, uint32_t *offset)
{
    int64_t taps = v->s.kh * v->s.kw, words = v->s.c / v->s.groups,
            bytes = (int64_t)dync__dtype_info(v->s.dtype)->bytes, group = 4 / bytes;
    for (int64_t o = 0; o < v->s.o; o++, to += 4 * words * taps) {
        int64_t sum = 0;
        memset(to, 0, (size_t)(4 * words * taps));
        for (int64_t c = 0; c < v->s.narrow; c++, w += taps * bytes) {
            char *at = to + c / group * taps * 4 + c % group * bytes;
            if (bytes == 2)
                for (int64_t t = 0; t < taps; t++) memcpy(at + 4 * t, w + 2 * t, 2);
            else
                for (int64_t t = 0; t < taps; t++) sum += (int8_t)(at[4 * t] = w[t]);
        }
        if (bytes == 1) offset[o] = (uint32_t)(uint64_t)(-128 * sum);
    }
}

/* Weights of f16 or bf16 as f32. */
DYNC__RARE static void dync__cj_widen(const dync__cj *v, const void *w, float *to)
{
    int64_t n = dync__cj_weight_bytes(v) / 2, step = 1;
    dync__copy_elements(1, &n, to, DYNC_F32, &step, w, v->s.dtype, &step);
}

static void dync__cj_word(dync__str *key, int64_t word)
{
    dync__str_addn(key, (const char *)&word, sizeof word);
}

/* All that packing goes by, but the weights. */
DYNC__RARE static void dync__cj_pack_key(const dync__cj *v, dync__str *key)
{
    const int64_t word[] = {
        'c',       v->t->level, v->what,   v->op,           v->V,        v->K,         v->B[0],
        v->groups, v->ic,       v->oc,     v->icb,          v->ocb,      v->depthwise, v->planar,
        v->pack,   v->s.c,      v->s.o,    v->s.groups,     v->s.kh,     v->s.kw,      v->lo_y,
        v->lo_x,   v->wino.m,   v->wino.n, v->wino.weights, v->n_phases, v->s.narrow,  v->s.dtype};
    dync__str_addn(key, (const char *)word, sizeof word);
    for (int p = 0; p < v->n_phases; p++) {
        dync__cj_word(key, v->phase[p].weights);
        dync__cj_word(key, v->phase[p].n_taps);
        for (int t = 0; t < v->phase[p].n_taps; t++) {
            dync__cj_word(key, v->phase[p].tap[t].y);
            dync__cj_word(key, v->phase[p].tap[t].x);
            dync__cj_word(key, v->phase[p].tap[t].from);
        }
    }
}

/* Behind packed bytes: what is added to the sums of each channel. */
DYNC__RARE static dync__packed *dync__cj_pack_new(const dync__cj *v, const void *w,
                                                  const dync__packed_source *source)
{
    size_t words = (size_t)(v->s.o * (v->s.c / v->s.groups) * v->s.kh * v->s.kw);
    bool as_given = v->s.dtype == DYNC_F32;
    float *table = as_given ? NULL : dync__alloc_data(words * sizeof *table);
    dync__packed *p = dync__packed_new(
        source, (size_t)(v->pack + (v->s.dtype == DYNC_I8 ? v->s.o : 0)) * sizeof *table);
    bool made = p && (table || as_given);
    if (made && v->s.narrow)
        dync__cj_words(v, w, (char *)table,
                       (uint32_t *)(void *)(p->at + (size_t)v->pack * sizeof *table));
    else if (made && table)
        dync__cj_widen(v, w, table);
    made = made && dync__cj_pack(v, table ? table : w, (float *)(void *)p->at);
    if (table) dync__free_data(table, words * sizeof *table);
    if (made) return p;
    dync__packed_put(p);
    return NULL;
}

/* Packed, or taken from another call that has them, and kept in place of those of before. */
DYNC__RARE static dync__packed *dync__cj_pack_kept(dync__cj *v, const void *w,
                                                   const dync__packed_source *source)
{
    dync__str key = {0};
    dync__cj_pack_key(v, &key);
    if (key.failed) dync_clear_error(); /* nobody finds them */
    dync__packed *p = key.failed ? NULL : dync__packed_find(source, &key);
    if (!p && (p = dync__cj_pack_new(v, w, source))) dync__packed_keep(p, &key);
    dync__str_free(&key);
    if (!p) return NULL;
    dync__lock(&v->lock);
    dync__packed *old = v->kept;
    v->kept = p;
    dync__unlock(&v->lock);
    dync__packed_forget(old);
    return p;
}

/* The weights packed, with a use for the caller. Kept for the next run unless they have changed
 * between the last few. */
DYNC__FN dync__packed *dync__cj_weights(dync__cj *v, const void *w, const dync__tensor *owner)
{
    dync__packed_source from = {.from = w};
    bool keep = owner && DYNC__ATOMIC_PEEK(&v->missed) < DYNC__CJ_PATIENCE;
    if (!keep) return dync__cj_pack_new(v, w, &from);
    from.storage = owner->storage->id;
    from.version = owner->storage->version;
    if (owner->storage->flags & (DYNC__STORAGE_EXPOSED | DYNC__STORAGE_BORROWED))
        from.sum = dync__cj_sum(w, dync__cj_weight_bytes(v));
    dync__lock(&v->lock);
    dync__packed *p = v->kept;
    bool same = p && dync__packed_same(&p->source, &from);
    DYNC__ATOMIC_STORE(&v->missed, same || !p ? 0 : v->missed + 1);
    if (same) (void)DYNC__ATOMIC_INC(&p->users); /* others give theirs up without the lock */
    dync__unlock(&v->lock);
    return same ? p : dync__cj_pack_kept(v, w, &from);
}
#endif
