/* tests/tol.h: every tolerance of the tests, with its reason. Tests name one of these and never
 * write a number of their own. The relative ones are for rtol of EXPECT_NEAR_F32 and its kin, the
 * absolute ones guard results near zero. */
#ifndef DYNC_TESTS_TOL_H
#define DYNC_TESTS_TOL_H
#define TOL_EXACT 0.0
/* One rounding of the result: 2^-24 (f32), 2^-53 (f64), 2^-11 (f16), 2^-8 (bf16), and a little air
 * for the reference's own. */
#define TOL_F32_1ULP 1.2e-7
#define TOL_F64_1ULP 2.3e-16
#define TOL_F16_1ULP 9.8e-4
#define TOL_BF16_1ULP 7.9e-3
/* A whole layer in bf16 whose sums are in f32: a few roundings of values below 2. */
#define TOL_BF16_LAYER 4e-2
/* The same in f16, whose results are eight times as exact. */
#define TOL_F16_LAYER 5e-3
/* A chain of a few pointwise operators in f32: one ulp each. */
#define TOL_F32_CHAIN 1e-6
/* Pairwise or blocked sums and dot products of up to some thousand terms in f32, against f64. */
#define TOL_F32_SUM 1e-5
/* Whole models, forward and backward, in f32: sums feeding sums. */
#define TOL_F32_MODEL 1e-4
/* f64 through the same. */
#define TOL_F64_CHAIN 1e-12
/* Central differences in f64 with a step of 1e-6: truncation and cancellation meet near 1e-9
 * relative to values of order 1. */
#define TOL_GRADCHECK 1e-5
#define TOL_GRADCHECK_ABS 1e-6
/* Results that may be exactly zero. */
#define TOL_ABS_F32 1e-7
#define TOL_ABS_F64 1e-14
#endif
