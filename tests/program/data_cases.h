/* Functions of [n, 3] whose results have sizes that data decide, or that read numbers. */
#ifndef DYNC_TESTS_PROGRAM_DATA_CASES_H
#define DYNC_TESTS_PROGRAM_DATA_CASES_H

typedef dync_tensor *(*function)(dync_tensor *);

static dync_tensor *positive(dync_tensor *x) { return dync_gt(x, 0.0); }
static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *count(dync_tensor *x) { return total(dync_to_dtype(positive(x), DYNC_I64)); }

static dync_tensor *selects(dync_tensor *x)
{
    return dync_exp(dync_mul(dync_masked_select(dync_mul(x, 2.0), positive(x)), 0.1));
}
static dync_tensor *places(dync_tensor *x) { return dync_nonzero(positive(x)); }
static dync_tensor *rows_of(dync_tensor *x)
{
    dync_tensor *nz = dync_nonzero(positive(dync_sum(x, dync_shape(1), false)));
    dync_value n = dync_size_sym(nz, 0);
    dync_tensor *rows = dync_index_select(dync_tanh(x), 0, dync_select(nz, 1, 0));
    dync_tensor *y = dync_matmul(rows, dync_transpose(rows, 0, 1));
    y = dync_add(dync_mul(y, n), dync_full(dync_shape(dync_as_dim(n), 1), 0.5));
    return dync_reshape(y, dync_shape(dync_as_dim(dync_sym_mul(n, n))));
}
static dync_tensor *uniques(dync_tensor *x)
{
    dync_tensor *u = dync_unique(dync_round(x));
    return dync_cat(dync_tuple(u, dync_mul(u, 2), dync_slice(u, 0, 1, DYNC_END, 1)), 0);
}
static dync_tensor *counts(dync_tensor *x)
{
    dync_value n = dync_item_sym(count(x));
    dync_check(n, 0, 1000);
    dync_tensor *z = dync_zeros(dync_shape(dync_as_dim(n), 3));
    return dync_add(total(dync_add(z, 1.0)), dync_mul(x, dync_sym_add(n, DYNC_V(1))));
}
static dync_tensor *signs(dync_tensor *x)
{
    dync_value n = dync_item_sym(dync_sub(count(x), 4));
    return dync_add(dync_mul(x, n), dync_sym_sub(n, DYNC_V(3)));
}
static dync_tensor *means(dync_tensor *x)
{
    dync_value m = dync_item_sym(dync_mean(x, DYNC_ALL, false));
    return dync_add(dync_mul(x, m), dync_sym_mul(m, DYNC_V(2.0)));
}
/* An if over what was selected, and a scan over rows that are as many. */
static dync_tensor *doubled(dync_tensor *x) { return dync_mul(x, 2.0); }
static dync_tensor *negated(dync_tensor *x) { return dync_neg(x); }
static dync_tensor *chosen(dync_tensor *x)
{
    dync_tensor *v = dync_masked_select(x, positive(x));
    return dync_as_tensor(dync_cond(dync_gt(total(v), 2.0), doubled, negated, dync_tuple(v)));
}
/* A scan over the elements selected, at least one; what it takes from around is selected, too. */
static dync_value scanned_step(const dync_value *a, int n, void *user)
{
    (void)n;
    dync_tensor *h = dync_add(dync_mul(dync_as_tensor(a[0]), 0.5), dync_as_tensor(a[1]));
    h = dync_tanh(dync_add(h, dync_mul(total(user), 0.1)));
    return dync_tuple(h, dync_mul(h, 3.0));
}
static dync_tensor *scanned(dync_tensor *x)
{
    dync_tensor *v = dync_masked_select(x, positive(x));
    dync_tensor *below = dync_masked_select(x, dync_lt(x, -0.5));
    dync_tensor *first = dync_reshape(total(x), dync_shape(1));
    dync_value r = dync_scan(dync_bind(scanned_step, below, "h, x"), total(v),
                             dync_cat(dync_tuple(first, v), 0));
    return dync_cat(dync_tuple(dync_reshape(dync_as_tensor(dync_at(r, 0)), dync_shape(1)),
                               dync_as_tensor(dync_at(r, 1)), below),
                    0);
}
/* A loop that data end, over as many elements as data say; an if in each round. */
static dync_value is_large(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_gt(total(dync_abs(dync_as_tensor(a[0]))), 0.5));
}
static dync_tensor *halved_once(dync_tensor *x) { return dync_mul(x, 0.5); }
static dync_tensor *sines(dync_tensor *x) { return dync_mul(dync_sin(x), 0.75); }
static dync_value halved_round(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_as_tensor(
        dync_cond(dync_gt(total(dync_as_tensor(a[0])), 2.0), halved_once, sines, a[0])));
}
static dync_tensor *until_small(dync_tensor *x)
{
    dync_tensor *v = dync_masked_select(x, positive(x));
    return dync_as_tensor(dync_while_loop(is_large, halved_round, v));
}
/* A map over rows whose number data decide, at least one. */
static dync_value row_mapped(const dync_value *a, int n, void *user)
{
    (void)n;
    dync_tensor *row = dync_as_tensor(a[0]);
    return DYNC_V(dync_mul(dync_softmax(row, 0), total(user)));
}
static dync_tensor *rows_mapped(dync_tensor *x)
{
    dync_tensor *at = dync_select(dync_nonzero(positive(dync_select(x, 1, 0))), 1, 0);
    dync_tensor *rows =
        dync_cat(dync_tuple(dync_slice(x, 0, 0, 1, 1), dync_index_select(x, 0, at)), 0);
    return dync_as_tensor(dync_map(dync_bind(row_mapped, rows, "row"), rows));
}
/* Three counts that are 0, 1 or more each by itself. */
static dync_tensor *three_counts(dync_tensor *x)
{
    dync_tensor *a = dync_masked_select(x, positive(x)),
                *b = dync_masked_select(x, dync_lt(x, -1.0)),
                *c = dync_masked_select(dync_sin(x), dync_gt(dync_abs(x), 1.2));
    dync_tensor *ab = dync_cat(dync_tuple(dync_mul(a, 2.0), dync_mul(b, total(c))), 0);
    return dync_cat(dync_tuple(ab, dync_mul(c, total(a))), 0);
}
/* Twice in one graph, the second of what the first selected. */
static dync_tensor *twice(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1.0);
    dync_tensor *v = dync_masked_select(y, positive(x));
    dync_tensor *u = dync_masked_select(v, dync_gt(v, 1.5));
    return dync_cat(dync_tuple(dync_reshape(total(y), dync_shape(1)), u, dync_neg(v)), 0);
}
/* Rows behind a nonzero, computed and put back: a mixture of two experts. */
static dync_tensor *experts(dync_tensor *x)
{
    dync_tensor *y = dync_zeros_like(x), *gate = dync_sum(x, dync_shape(1), false);
    for (int e = 0; e < 2; e++) {
        dync_tensor *mask = e ? dync_le(gate, 0.0) : dync_gt(gate, 0.0);
        dync_tensor *at = dync_select(dync_nonzero(mask), 1, 0);
        dync_tensor *rows = dync_index_select(x, 0, at);
        rows = e ? dync_softmax(rows, 1) : dync_tanh(dync_mul(rows, 3.0));
        y = dync_index_add(y, 0, at, rows);
    }
    return y;
}
static const struct {
    const char *name;
    function fn;
} cases[] = {{"selects", selects},
             {"places", places},
             {"rows_of", rows_of},
             {"uniques", uniques},
             {"counts", counts},
             {"signs", signs},
             {"means", means},
             {"twice", twice},
             {"experts", experts},
             {"chosen", chosen},
             {"scanned", scanned},
             {"until_small", until_small},
             {"rows_mapped", rows_mapped},
             {"three_counts", three_counts}};
enum { N_CASES = (int)(sizeof cases / sizeof *cases) };

/* ---- random ones ----------------------------------------------------------------------------- */
/* Values of sizes that data decide meet each other: siblings of one size, reductions, products,
 * concatenations, rows written back. The same for the same seed, plain or traced. */
static unsigned random_seed;
static unsigned random_next(unsigned *s, unsigned n)
{
    *s = *s * 1664525u + 1013904223u;
    return (*s >> 16) % n;
}
static dync_tensor *places_where(dync_tensor *mask)
{
    return dync_select(dync_nonzero(mask), 1, 0);
}
static dync_tensor *random_step(unsigned *s, dync_tensor *a, dync_tensor *b, bool *same_size)
{
    double c = (double)random_next(s, 5) * 0.25 - 0.6;
    *same_size = false;
    switch (random_next(s, 8)) {
    case 0: return dync_masked_select(a, dync_gt(a, c));
    case 1: return dync_index_select(a, 0, places_where(dync_lt(a, c)));
    case 2: return dync_mul(dync_unique(dync_round(dync_mul(a, 2.0))), 0.7);
    case 3: return dync_cat(dync_tuple(a, dync_mul(b, -0.9)), 0);
    case 4: *same_size = true; return dync_sub(dync_mul(a, 0.5), dync_tanh(a));
    case 5: *same_size = true; return dync_tanh(dync_add(a, dync_mul(total(b), 0.03)));
    case 6:
        *same_size = true;
        return dync_tanh(dync_sum(
            dync_matmul(dync_reshape(a, dync_shape(-1, 1)), dync_reshape(b, dync_shape(1, -1))),
            dync_shape(1), false));
    default: {
        *same_size = true;
        dync_tensor *at = places_where(dync_gt(a, c));
        return dync_index_add(a, 0, at, dync_mul(dync_index_select(a, 0, at), -1.7));
    }
    }
}
static dync_tensor *random_program(dync_tensor *x)
{
    enum { STEPS = 7 };
    unsigned s = random_seed * 2654435761u + 17u;
    dync_tensor *v[STEPS + 1] = {dync_reshape(x, dync_shape(-1))};
    int group[STEPS + 1] = {0};
    for (int i = 1; i <= STEPS; i++) {
        int a = (int)random_next(&s, (unsigned)i), b = (int)random_next(&s, (unsigned)i);
        bool same_size;
        v[i] = random_step(&s, v[a], v[b], &same_size);
        group[i] = same_size ? group[a] : i;
        for (int k = 0; k < i && same_size; k++)
            if (group[k] == group[i] && k != a) v[i] = dync_add(v[i], dync_mul(v[k], 0.3));
    }
    dync_tensor *sums = dync_reshape(total(v[STEPS - 1]), dync_shape(1));
    return dync_cat(dync_tuple(sums, v[STEPS], v[STEPS - 2]), 0);
}

/* Every third has no positive element, every fourth one alone. */
static dync_tensor *input(int k, int64_t rows)
{
    dync_tensor *x = dync_randn(dync_shape(rows, 3));
    if (k % 3 == 2) x = dync_neg(dync_abs(x));
    if (k % 4 == 3) {
        x = dync_neg(dync_abs(x));
        dync_fill_(dync_select(dync_select(x, 0, 1), 0, 1), 9.0);
    }
    return x;
}
#endif
