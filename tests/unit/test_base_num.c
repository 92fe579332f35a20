/* base/num.c: numbers to text and back, half floats, checked arithmetic. Expected texts are
 * Python's repr and C's printf. */
#include "../../src/dync.in.h"
#include "../../src/base/base.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

static const char *shortest(double x)
{
    static char text[64];
    dync__double_text(x, text, sizeof text);
    return text;
}

static const char *shortest_f32(float x)
{
    static char text[64];
    dync__float_text(x, text, sizeof text);
    return text;
}

TEST(shortest_doubles)
{
    EXPECT_EQ_STR(shortest(0), "0");
    EXPECT_EQ_STR(shortest(-0.0), "-0");
    EXPECT_EQ_STR(shortest(1), "1");
    EXPECT_EQ_STR(shortest(0.5), "0.5");
    EXPECT_EQ_STR(shortest(-2.25), "-2.25");
    EXPECT_EQ_STR(shortest(0.1), "0.1");
    EXPECT_EQ_STR(shortest(0.30000000000000004), "0.30000000000000004");
    EXPECT_EQ_STR(shortest(1e-7), "1e-07");
    EXPECT_EQ_STR(shortest(0.0001), "0.0001");
    EXPECT_EQ_STR(shortest(123456789012345680.0), "1.2345678901234568e+17");
    EXPECT_EQ_STR(shortest(1e15), "1000000000000000");
    EXPECT_EQ_STR(shortest(1e16), "1e+16");
    EXPECT_EQ_STR(shortest(5e-324), "5e-324");
    EXPECT_EQ_STR(shortest(1.7976931348623157e308), "1.7976931348623157e+308");
    EXPECT_EQ_STR(shortest(2.2250738585072014e-308), "2.2250738585072014e-308");
    EXPECT_EQ_STR(shortest(9007199254740992.0), "9007199254740992");
    /* a power of two: uneven neighbours */
    EXPECT_EQ_STR(shortest(5.684341886080802e-14), "5.684341886080802e-14");
    EXPECT_EQ_STR(shortest((double)INFINITY), "inf");
    EXPECT_EQ_STR(shortest(-(double)INFINITY), "-inf");
    EXPECT_EQ_STR(shortest((double)NAN), "nan");
}

TEST(shortest_floats)
{
    EXPECT_EQ_STR(shortest_f32(0.1f), "0.1");
    EXPECT_EQ_STR(shortest_f32(16777216.0f), "16777216");
    EXPECT_EQ_STR(shortest_f32(3.4028235e38f), "3.4028235e+38");
    EXPECT_EQ_STR(shortest_f32(1e-45f), "1e-45");
    EXPECT_EQ_STR(shortest_f32(-0.33333334f), "-0.33333334");
    EXPECT_EQ_STR(shortest_f32(NAN), "nan");
}

TEST(round_trip_of_random_bits)
{
    for (int i = 0; i < 20000; i++) {
        char text[64];
        double x, y = 0;
        uint64_t bits = test_random();
        /* powers of two */
        if (i % 4 == 1) bits &= UINT64_C(0xfff0000000000000);
        /* subnormals */
        if (i % 4 == 2) bits &= UINT64_C(0x800fffffffffffff);
        memcpy(&x, &bits, 8);
        if (isnan(x)) continue;
        dync__double_text(x, text, sizeof text);
        REQUIRE(dync__text_double(text, NULL, &y));
        REQUIRE(memcmp(&x, &y, 8) == 0);
    }
    for (int i = 0; i < 20000; i++) {
        char text[64];
        float x;
        double y = 0;
        uint32_t bits = (uint32_t)test_random();
        memcpy(&x, &bits, 4);
        if (isnan(x)) continue;
        dync__float_text(x, text, sizeof text);
        REQUIRE(dync__text_double(text, NULL, &y));
        REQUIRE((float)y == x);
    }
}

TEST(formats_agree_with_libc)
{
    static const char conversions[] = "efg";
    for (int i = 0; i < 20000; i++) {
        char ours[512], libc[512], fmt[8] = {'%', '.', '*', 0};
        double x;
        uint64_t bits = test_random();
        int precision = (int)(test_random() % 25);
        fmt[3] = conversions[i % 3];
        if (i % 2)
            bits = (bits & UINT64_C(0x800fffffffffffff)) |
                   (uint64_t)(1023 - 20 + (int)(test_random() % 40)) << 52;
        memcpy(&x, &bits, 8);
        if (isnan(x)) continue;
        dync__double_format(x, fmt[3], precision, ours, sizeof ours);
        snprintf(libc, sizeof libc, fmt, precision, x);
        if (!EXPECT_EQ_STR(ours, libc)) return;
    }
}

TEST(formatting_cuts_and_counts)
{
    char text[5];
    EXPECT_EQ_INT(dync__double_format(1234.5, 'f', 2, text, sizeof text), 7);
    EXPECT_EQ_STR(text, "1234");
    EXPECT_EQ_INT(dync__double_text(0.25, text, 0), 4);
}

static bool reads(const char *text, double expected)
{
    double x = 0;
    return dync__text_double(text, NULL, &x) && memcmp(&x, &expected, 8) == 0;
}

TEST(reading)
{
    EXPECT(reads("0", 0.0) && reads("-0", -0.0) && reads("1", 1.0) && reads("+2.5", 2.5) &&
           reads(".5", 0.5) && reads("5.", 5.0));
    EXPECT(reads("1e5", 1e5) && reads("1E-5", 1e-5) && reads("inf", (double)INFINITY) &&
           reads("-Infinity", -(double)INFINITY));
    EXPECT(reads("2.2250738585072011e-308", 2.2250738585072011e-308));
    EXPECT(reads("4.9406564584124654e-324", 5e-324));
    /* around half the least */
    EXPECT(reads("2.4703282292062327e-324", 0.0) && reads("2.4703282292062328e-324", 5e-324));
    EXPECT(reads("1.7976931348623157e308", 1.7976931348623157e308) &&
           reads("1.7976931348623159e308", (double)INFINITY));
    /* a tie, to even */
    EXPECT(reads("9007199254740993", 9007199254740992.0));
    EXPECT(reads("9007199254740993.0000000000000000000000000000000000000001", 9007199254740994.0));
    EXPECT(reads("1e400", (double)INFINITY) && reads("1e-400", 0.0) &&
           reads("0e999999999999", 0.0) && reads("1e-99999999999", 0.0));
    char many[1200];
    memset(many, '0', sizeof many);
    memcpy(many, "1.", 2);
    memcpy(many + 1190, "1e-9\0", 6);
    EXPECT(reads(many, 1e-9));
}

TEST(reading_stops)
{
    const char *end = NULL;
    double x = 0;
    EXPECT(dync__text_double("2em", &end, &x) && x == 2 && strcmp(end, "em") == 0);
    EXPECT(dync__text_double("3.25,4", &end, &x) && x == 3.25 && *end == ',');
    EXPECT(!dync__text_double("3.25,4", NULL, &x));
    EXPECT(!dync__text_double("", &end, &x) && !dync__text_double("-", &end, &x) &&
           !dync__text_double(".", &end, &x) && !dync__text_double("x", &end, &x));
    EXPECT(dync__text_double("nan", NULL, &x) && isnan(x));
}

TEST(half_floats)
{
    for (uint32_t h = 0; h < 65536; h++) {
        float f = dync__f16_to_f32((uint16_t)h);
        if (!isnan(f)) REQUIRE(dync__f32_to_f16(f) == h);
    }
    EXPECT_EQ_INT(dync__f32_to_f16(65519.0f), 0x7bff);
    EXPECT_EQ_INT(dync__f32_to_f16(65520.0f), 0x7c00);
    EXPECT_EQ_INT(dync__f32_to_f16(1.00048828125f), 0x3c00); /* ties go to even */
    EXPECT_EQ_INT(dync__f32_to_f16(1.00146484375f), 0x3c02);
    /* half of the least subnormal */
    EXPECT_EQ_INT(dync__f32_to_f16(2.98023224e-08f), 0);
    EXPECT_EQ_INT(dync__f32_to_f16(2.98023259e-08f), 1);
    EXPECT(isnan(dync__f16_to_f32(dync__f32_to_f16(NAN))) &&
           isnan(dync__bf16_to_f32(dync__f32_to_bf16(NAN))));
    EXPECT_EQ_INT(dync__f32_to_bf16(1.00390625f), 0x3f80);
    EXPECT_EQ_INT(dync__f32_to_bf16(1.01171875f), 0x3f82);
    EXPECT_EQ_INT(dync__f32_to_bf16(3.4e38f), 0x7f80);
}

TEST(checked_arithmetic)
{
    int64_t r = 7;
    EXPECT(dync__mul_ok(3, -4, &r) && r == -12);
    EXPECT(dync__mul_ok(INT64_MIN, 1, &r) && r == INT64_MIN);
    EXPECT(dync__mul_ok(0, INT64_MIN, &r) && r == 0);
    r = 7;
    EXPECT(!dync__mul_ok(INT64_MIN, -1, &r) && !dync__mul_ok(-1, INT64_MIN, &r) &&
           !dync__mul_ok(INT64_C(1) << 32, INT64_C(1) << 31, &r) && r == 7);
    EXPECT(!dync__mul_ok(-(INT64_C(1) << 32), (INT64_C(1) << 31) + 1, &r) &&
           dync__mul_ok(-(INT64_C(1) << 32), INT64_C(1) << 31, &r));
    EXPECT(dync__add_ok(INT64_MAX, -1, &r) && r == INT64_MAX - 1);
    EXPECT(!dync__add_ok(INT64_MAX, 1, &r) && !dync__add_ok(INT64_MIN, -1, &r));
}

TEST_MAIN
