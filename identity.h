#ifndef ONE_BESIDE_H
#define ONE_BESIDE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define ONE_BESIDE_ARG0_SIZE 2   /* f32[2], row major */
#define ONE_BESIDE_ARG1_SIZE 3   /* f32[3], row major */
#define ONE_BESIDE_OUT0_SIZE 3   /* f32[3], row major */
#define ONE_BESIDE_OUT1_SIZE 2   /* f32[2], row major */
#define ONE_BESIDE_WEIGHT_BYTES 0
#define ONE_BESIDE_ARENA_BYTES 0

/* What one run works in. */
typedef union one_beside_arena {
    double f64;
    int64_t i64;
    unsigned char bytes[ONE_BESIDE_ARENA_BYTES + (ONE_BESIDE_ARENA_BYTES == 0)];
} one_beside_arena;

/* Arrays lie row major and do not overlap.
 * one_beside_run works in a static arena: one call at a time. one_beside_run_in works in the one given. */
void one_beside_run(const float arg0[2], const float arg1[3], float out0[3], float out1[2]);
void one_beside_run_in(one_beside_arena *arena, const float arg0[2], const float arg1[3], float out0[3], float out1[2]);

/* With ONE_BESIDE_SELF_TEST defined as the C file is compiled: values that differ from those the exporter computed. */
int one_beside_self_test(void);

#ifdef __cplusplus
}
#endif
#endif
