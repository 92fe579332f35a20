/* base/str.c, base/json.c, base/map.c, base/arena.c, base/rng.c. */
#include "../../src/dync.in.h"
#include "../../src/base/base.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

/* ---- str ------------------------------------------------------------------------------------- */

TEST(builder)
{
    dync__str s = {0};
    EXPECT_EQ_STR(dync__str_get(&s), "");
    dync__str_add(&s, "ab");
    dync__str_addc(&s, 'c');
    dync__str_addn(&s, "defg", 2);
    for (int i = 0; i < 1000; i++) dync__str_addf(&s, "%d,", i);
    EXPECT(strncmp(dync__str_get(&s), "abcde0,1,2,", 11) == 0);
    EXPECT_EQ_INT(strlen(dync__str_get(&s)), s.n);
    dync__str_free(&s);
    EXPECT(!s.at && !s.n);
}

TEST(builder_sticks_when_memory_ends)
{
    dync__str s = {0};
    dync__str_add(&s, "kept");
    dync__error_guard g;
    dync__error_guard_begin(&g);
    dync__mem_fail_at(1);
    for (int i = 0; i < 100; i++) dync__str_add(&s, "more and more");
    EXPECT_STATUS(dync__error_guard_end(&g)->status, DYNC_ERR_MEMORY);
    EXPECT(s.failed);
    EXPECT_EQ_STR(dync__str_get(&s), "");
    dync__str_free(&s);
}

#define SAME(...)                                                      \
    do {                                                               \
        char ours_[256], libc_[256];                                   \
        int n_ = dync__format(ours_, sizeof ours_, __VA_ARGS__);       \
        EXPECT_EQ_INT(n_, snprintf(libc_, sizeof libc_, __VA_ARGS__)); \
        EXPECT_EQ_STR(ours_, libc_);                                   \
    } while (0)

TEST(formatter_agrees_with_libc)
{
    SAME("plain %% text");
    SAME("%s|%10s|%-10s|%.2s|%.*s|%*s", "abc", "abc", "abc", "abc", 1, "abc", 6, "abc");
    SAME("%c%5c", 'x', 'y');
    SAME("%d %i %u %x %X", -5, INT_MIN, UINT_MAX, 0xbeefu, 0xbeefu);
    SAME("%5d|%-5d|%05d|%+d|% d|%.3d|%8.3d|%-8.3d|%08d", 42, 42, -42, 42, 42, 7, -7, 7, -123);
    SAME("%ld %lld %lu %llu %lx %llx", LONG_MIN, LLONG_MIN, ULONG_MAX, ULLONG_MAX, 255ul, 255ull);
    SAME("%#x %#x", 255u, 0u);
    SAME("%hd %hhu", (short)-3, (unsigned char)200);
    SAME("%f %.0f %.3f %10.2f|%-10.2f|%010.2f|%+.1f", 1.5, 2.5, 3.14159, -2.0, 2.0, -2.0, 0.25);
    SAME("%e %.2e %.0e", 12345.678, 0.00012345, 0.0);
    SAME("%.3g %.10g %.1g", 1234.5, 0.1, 0.00001234);
    SAME("%08.1f|%8.1f|%-8.1f|", (double)INFINITY, -(double)INFINITY, (double)INFINITY);
    SAME("%.*f %*d %-*d|", 2, 1.0, 5, 3, -5, 4);
}

TEST(formatter_own_rules)
{
    char text[64], tiny[4];
    dync__format(text, sizeof text, "%g %g %5g|", 0.1, 1e-7, 2.0);
    EXPECT_EQ_STR(text, "0.1 1e-07     2|");
    EXPECT_EQ_INT(dync__format(tiny, sizeof tiny, "%s", "abcdef"), 6);
    EXPECT_EQ_STR(tiny, "abc");
    EXPECT_EQ_INT(dync__format(NULL, 0, "%d", 12345), 5);
    const char *volatile none = NULL;
    dync__format(text, sizeof text, "%s", none);
    EXPECT_EQ_STR(text, "(null)");
    dync__format(text, sizeof text, "%p", (void *)(uintptr_t)0xabc);
    EXPECT_EQ_STR(text, "0xabc");
    dync__format(text, sizeof text, "%zu %zd", (size_t)12, (ptrdiff_t)-34);
    EXPECT_EQ_STR(text, "12 -34");
}

TEST(interned_texts_are_one)
{
    char name[32];
    const char *first[300];
    for (int i = 0; i < 300; i++) {
        dync__format(name, sizeof name, "name%d", i);
        first[i] = dync__intern(name);
        REQUIRE(first[i] && strcmp(first[i], name) == 0);
    }
    for (int i = 0; i < 300; i++) {
        dync__format(name, sizeof name, "name%d", i);
        EXPECT_EQ_PTR(dync__intern(name), first[i]);
    }
    EXPECT_EQ_PTR(dync__intern(NULL), NULL);
}

/* ---- json ------------------------------------------------------------------------------------ */

TEST(json_reads)
{
    const char *text =
        " {\"a\": [1, -2.5e3, true, false, null], \"b\": {\"c\": "
        "\"x\\n\\u00e9\\ud83d\\ude00\\\"\"}, \"big\": 9223372036854775807, "
        "\"bigger\": 9223372036854775808, \"least\": -9223372036854775808, \"minus\": -0, "
        "\"empty\": {}, \"none\": []} ";
    dync__arena arena = {0};
    const dync__json *v = dync__json_parse(&arena, text, strlen(text));
    REQUIRE(v && v->kind == DYNC__JSON_OBJ && v->n == 8);
    const dync__json *a = dync__json_get(v, "a");
    REQUIRE(a && a->kind == DYNC__JSON_ARR && a->n == 5);
    EXPECT(a->item[0].is_int && a->item[0].i == 1 && !a->item[1].is_int &&
           a->item[1].num == -2500.0);
    EXPECT(a->item[2].kind == DYNC__JSON_BOOL && a->item[2].b && !a->item[3].b &&
           a->item[4].kind == DYNC__JSON_NULL);
    EXPECT_EQ_STR(dync__json_get(dync__json_get(v, "b"), "c")->str,
                  "x\n\xc3\xa9\xf0\x9f\x98\x80\"");
    EXPECT(dync__json_get(v, "big")->is_int && dync__json_get(v, "big")->i == INT64_MAX);
    EXPECT(!dync__json_get(v, "bigger")->is_int &&
           dync__json_get(v, "bigger")->num == 9223372036854775808.0);
    EXPECT(dync__json_get(v, "least")->is_int && dync__json_get(v, "least")->i == INT64_MIN);
    EXPECT(!dync__json_get(v, "minus")->is_int && signbit(dync__json_get(v, "minus")->num));
    EXPECT(dync__json_get(v, "empty")->n == 0 && dync__json_get(v, "none")->n == 0);
    EXPECT(!dync__json_get(v, "no") && !dync__json_get(a, "a") && !dync__json_get(NULL, "a"));
    dync__arena_free(&arena);
}

TEST(json_refuses)
{
    static const char *const bad[] = {"",          " ",           "[1,]",        "[1 2]",
                                      "{\"a\" 1}", "{a: 1}",      "{\"a\": 1,}", "01",
                                      "1.",        "1e",          "-",           "+1",
                                      ".5",        "nul",         "\"abc",       "\"a\\x\"",
                                      "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\u0000\"",
                                      "\"a\nb\"",  "[1] 2",       "[",           "{",
                                      "\"\\",      "tru",         "[1",          "{\"a\""};
    for (int i = 0; i < DYNC__COUNT_OF(bad); i++) {
        dync__arena arena = {0};
        dync__error_guard g;
        dync__error_guard_begin(&g);
        if (!EXPECT(!dync__json_parse(&arena, bad[i], strlen(bad[i]))))
            printf("    accepted: %s\n", bad[i]);
        EXPECT_STATUS(dync__error_guard_end(&g)->status, DYNC_ERR_FORMAT);
        dync__arena_free(&arena);
    }
}

TEST(json_depth_and_place)
{
    char deep[200];
    dync__arena arena = {0};
    dync__error_guard g;
    memset(deep, '[', 64);
    memset(deep + 64, ']', 64);
    EXPECT(dync__json_parse(&arena, deep, 128));
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    dync__error_guard_begin(&g);
    EXPECT(!dync__json_parse(&arena, deep, 130));
    dync__error_guard_end(&g);
    dync__error_guard_begin(&g);
    EXPECT(!dync__json_parse(&arena, "{\n \"a\": x}", 10));
    EXPECT_EQ_STR(dync__error_guard_end(&g)->message, "JSON, line 2, column 7: expected a value");
    dync__arena_free(&arena);
}

/* A copy without a NUL behind it: a sanitizer sees a read past the end. */
TEST(json_stays_inside_its_text)
{
    static const char text[] = "[12, \"ab\\u0041\", {\"k\": true}]";
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = malloc(n ? n : 1);
        dync__arena arena = {0};
        dync__error_guard g;
        memcpy(copy, text, n);
        dync__error_guard_begin(&g);
        dync__json_parse(&arena, copy, n);
        dync__error_guard_end(&g);
        dync__arena_free(&arena);
        free(copy);
    }
}

TEST(json_quote)
{
    dync__str s = {0};
    dync__json_quote(&s, "a\"b\\c\n\t\x01\xc3\xa9");
    EXPECT_EQ_STR(dync__str_get(&s), "\"a\\\"b\\\\c\\n\\t\\u0001\xc3\xa9\"");
    dync__str_free(&s);
}

/* ---- map, arena, vec ------------------------------------------------------------------------- */

TEST(map_against_an_array)
{
    dync__map m = {0};
    static uint64_t value[512];
    static bool present[512];
    for (int step = 0; step < 20000; step++) {
        uint64_t key = test_random() % 512, out = 0;
        switch (test_random() % 3) {
        case 0:
            value[key] = test_random();
            present[key] = true;
            REQUIRE(dync__map_put(&m, key, value[key]));
            break;
        case 1:
            EXPECT_EQ_INT(dync__map_remove(&m, key), present[key]);
            present[key] = false;
            break;
        default:
            EXPECT_EQ_INT(dync__map_get(&m, key, &out), present[key]);
            if (present[key]) EXPECT(out == value[key]);
        }
    }
    int n = 0;
    for (int i = 0; i < 512; i++) n += present[i];
    EXPECT_EQ_INT(m.n, n);
    dync__map_free(&m);
    EXPECT(!dync__map_get(&m, 0, NULL) && !dync__map_remove(&m, 0));
}

TEST(map_survives_failed_growth)
{
    dync__map m = {0};
    dync__error_guard g;
    for (uint64_t k = 0; k < 12; k++) REQUIRE(dync__map_put(&m, k, k * 10));
    for (int nth = 1; nth <= 3; nth++) {
        dync__error_guard_begin(&g);
        dync__mem_fail_at(nth);
        EXPECT(!dync__map_put(&m, 99, 1));
        dync__mem_fail_at(0);
        dync__error_guard_end(&g);
    }
    uint64_t out = 0;
    for (uint64_t k = 0; k < 12; k++) EXPECT(dync__map_get(&m, k, &out) && out == k * 10);
    EXPECT(dync__map_put(&m, 99, 1));
    dync__map_free(&m);
}

TEST(hashes_use_every_byte)
{
    unsigned char bytes[64] = {0};
    uint64_t h = dync__hash_bytes(bytes, sizeof bytes, 1);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 1;
        EXPECT(dync__hash_bytes(bytes, sizeof bytes, 1) != h);
        bytes[i] = 0;
    }
    EXPECT(dync__hash_bytes(bytes, 63, 1) != h && dync__hash_bytes(bytes, 64, 2) != h);
}

TEST(arena_is_zeroed_and_aligned)
{
    dync__arena a = {0};
    for (size_t n = 0; n < 3000; n += 7) {
        char *p = dync__arena_alloc(&a, n);
        REQUIRE(p && (uintptr_t)p % (2 * sizeof(void *)) == 0);
        for (size_t i = 0; i < n; i++) REQUIRE(p[i] == 0);
        memset(p, 0xab, n);
    }
    EXPECT(dync__arena_alloc(&a, 1 << 20) != NULL);
    EXPECT_EQ_STR(dync__arena_strdup(&a, "text"), "text");
    char *long_text = dync__arena_printf(&a, "%0500d", 7);
    EXPECT_EQ_INT(strlen(long_text), 500);
    dync__arena_free(&a);
    EXPECT(!a.head);
}

TEST(vectors_grow_and_fail_cleanly)
{
    DYNC__VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) REQUIRE(dync__vec_push(&v, i));
    for (int i = 0; i < 1000; i++) EXPECT_EQ_INT(v.at[i], i);
    while (v.n < v.cap) REQUIRE(dync__vec_push(&v, 0));
    int *at = v.at, cap = v.cap;
    dync__error_guard g;
    dync__error_guard_begin(&g);
    dync__mem_fail_at(1);
    EXPECT(!dync__vec_push(&v, 1));
    dync__error_guard_end(&g);
    EXPECT(v.at == at && v.cap == cap && v.n == cap);
    dync__vec_free(&v);
    dync__arena a = {0};
    for (int i = 0; i < 1000; i++) REQUIRE(dync__avec_push(&a, &v, i));
    EXPECT_EQ_INT(v.at[999], 999);
    dync__arena_free(&a);
}

/* Random vectors of one arena, some of them copies that go on with the array of another: what each
 * holds is what was pushed, and what is behind it is zero. */
TEST(arena_vectors_grow_apart)
{
    enum { N = 8, MOST = 600 };
    static int was[N][MOST];
    for (int round = 0; round < 50; round++) {
        DYNC__VEC(int) v[N] = {{NULL, 0, 0}};
        dync__arena a = {0};
        for (int step = 0; step < 2000; step++) {
            int i = (int)(test_random() % N), from = (int)(test_random() % N), cap;
            if (test_random() % 100 == 0 && v[from].n == v[from].cap) { /* full: neither writes */
                memcpy(&v[i], &v[from], sizeof v[i]);
                memmove(was[i], was[from], sizeof was[i]);
            } else if (test_random() % 50 == 0) {
                memset(dync__arena_alloc(&a, 24), 0xff, 24);
            }
            if (v[i].n == MOST) continue;
            was[i][v[i].n] = step + 1;
            cap = v[i].cap;
            REQUIRE(dync__avec_push(&a, &v[i], step + 1));
            for (int k = v[i].n; v[i].cap != cap && k < v[i].cap; k++) REQUIRE(v[i].at[k] == 0);
        }
        for (int i = 0; i < N; i++) REQUIRE(memcmp(v[i].at, was[i], (size_t)v[i].n * 4) == 0);
        dync__arena_free(&a);
    }
}

/* ---- rng ------------------------------------------------------------------------------------- */

/* The known answers of the Random123 distribution (kat_vectors, philox4x32 10). */
TEST(philox_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    uint32_t out[4];
    for (int i = 0; i < DYNC__COUNT_OF(kat); i++) {
        dync__philox_block(kat[i].counter, kat[i].key, out);
        for (int k = 0; k < 4; k++) EXPECT(out[k] == kat[i].out[k]);
    }
    dync__philox(0, 0, out);
    EXPECT(out[0] == 0x6627e8d5);
}

/* Numbers of 32 bits: word n / 8 % 4 of block 8 (n / 32) + n % 8, of blocks of their kind; a pair
 * of normal ones has the same two words, the odd one's second a quarter turn back. */
TEST(words_of_whole_blocks)
{
    static const uint64_t from[] = {0, 12345, 0xfffffff0u, 0x7ffffffff0u};
    for (int f = 0; f < DYNC__COUNT_OF(from); f++)
        for (uint64_t n = from[f]; n < from[f] + 100; n++) {
            uint64_t block = 8 * (n / 32) + n % 8;
            uint32_t key[2] = {42, 7}, out[4], w = (uint32_t)(n / 8 % 4),
                     counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 1, 0};
            uint64_t seed = (uint64_t)7 << 32 | 42;
            dync__philox_block(counter, key, out);
            EXPECT(dync__rng_word(seed, n, DYNC__DRAW_UNIFORM) == out[w]);
            EXPECT(dync__rng_uniform_f32(seed, n) == (float)(out[w] >> 8) / 16777216.0f);
            counter[2] = 2;
            dync__philox_block(counter, key, out);
            EXPECT(dync__rng_word(seed, n, DYNC__DRAW_FIRST) == out[w / 2 * 2]);
            EXPECT(dync__rng_word(seed, n, DYNC__DRAW_SECOND) ==
                   out[w / 2 * 2 + 1] - (w % 2 ? 1u << 30 : 0));
        }
}

TEST(random_numbers_have_their_moments)
{
    enum { N = 100000 };
    double sum = 0, squares = 0, normal = 0, normal_squares = 0, normal_fourth = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = dync__rng_uniform_f64(42, i, 0), z = dync__rng_normal(42, i);
        float f = dync__rng_uniform_f32(42, i);
        REQUIRE(u >= 0 && u < 1 && f >= 0 && f < 1);
        sum += (double)f;
        squares += u * u;
        normal += z;
        normal_squares += z * z;
        normal_fourth += z * z * z * z;
    }
    EXPECT_NEAR(sum / N, 0.5, 0.005); /* 5 standard errors */
    EXPECT_NEAR(squares / N, 1.0 / 3, 0.005);
    EXPECT_NEAR(normal / N, 0, 0.016);
    EXPECT_NEAR(normal_squares / N, 1, 0.023);
    EXPECT_NEAR(normal_fourth / N, 3, 0.16);
    EXPECT(dync__rng_uniform_f64(42, 1, 0) != dync__rng_uniform_f64(43, 1, 0));
}

TEST(taking_numbers_moves_on)
{
    uint64_t first = dync__rng_take(10);
    EXPECT(dync__rng_take(1) == first + 10);
}

TEST_MAIN
