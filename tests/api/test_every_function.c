/* Every public function with NULL, zero and nonsense arguments: none crashes, and the next correct call works. The calls are generated
 * from dync.h (tools/misuse.c), so that a new function is here without anybody's adding it. What each error says is test_bad_input.c's. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

enum { ROUNDS = 40, BUFFER = 64 << 20 };
static dync_tensor *tensors[10], *stale;      /* of every kind: the round picks */
static unsigned now;                          /* the test's number, so that each function meets other combinations */

static unsigned pick(int k, int i, unsigned n)
{
    unsigned x = (unsigned)k * 2654435761u + (unsigned)i * 40503u + now * 97u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x % n;
}
static dync_tensor *pick_tensor(int k, int i)
{
    unsigned at = pick(k, i, 12);
    return k == 0 || at == 10 ? NULL : at == 11 ? stale : tensors[at];
}
static int64_t pick_int(int k, int i)
{
    static const int64_t numbers[] = {0, 1, -1, 2, 7, -100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 3};
    return k == 0 ? 0 : numbers[pick(k, i, sizeof numbers / sizeof numbers[0])];
}
static double pick_double(int k, int i)
{
    const double numbers[] = {0, 1, -1, (double)NAN, 1e300, (double)INFINITY, 0.5};
    return k == 0 ? 0 : numbers[pick(k, i, sizeof numbers / sizeof numbers[0])];
}
static const char *pick_text(int k, int i)
{
    static const char *const texts[] = {"", "mean", "no such thing", "%s%n", "a, b", NULL};
    return k == 0 ? NULL : texts[pick(k, i, sizeof texts / sizeof texts[0])];
}
static const char *pick_path(int k, int i) { return k == 0 ? NULL : pick(k, i, 2) ? "" : "no/such/folder/file"; }
static dync_dims pick_dims(int k, int i)
{
    const dync_dims all[] = {{0, {0}}, {-1, {0}}, {99, {1}}, {1, {-1}}, {2, {2, 3}}, {2, {0, 1}}, {2, {INT64_MAX, 2}}, {1, {INT64_MIN}}, {1, {5}}, {3, {-1, -1, 1}}};
    return all[k == 0 ? 0 : pick(k, i, sizeof all / sizeof all[0])];
}
static dync_value pick_value(int k, int i)
{
    dync_value none = {0};
    switch (k == 0 ? 9u : pick(k, i, 10)) {
    case 0: return DYNC_V(1);
    case 1: return DYNC_V(-2.5);
    case 2: return DYNC_V(true);
    case 3: return DYNC_V("text");
    case 4: return dync_tuple(pick_tensor(k, i + 1), 3);
    case 5: return dync_v_list(NULL);
    case 6: return DYNC_V(INT64_MIN);
    case 7:
    case 8: return DYNC_V(pick_tensor(k, i));
    default: return none;
    }
}

#include "misuse.h"

static void quiet(dync_status status, const char *message, void *user) { (void)status, (void)message, (void)user; }

/* A buffer, so that a size of 2^31 is out of memory and not the machine's end. */
static void begin(void *buffer)
{
    EXPECT_OK(dync_init((dync_init_options){.memory = buffer, .memory_size = BUFFER, .threads = 1}));
    dync_on_error(quiet, NULL);
    DYNC_SCOPE { stale = dync_ones(dync_shape(2)); }
    tensors[0] = dync_ones(dync_shape(2, 3));
    tensors[1] = dync_zeros(dync_shape(3, 2), .requires_grad = true);
    tensors[2] = dync_full(dync_shape(0), 1);
    tensors[3] = dync_full((dync_dims){0}, 2);
    tensors[4] = dync_ones(dync_shape(4), .dtype = DYNC_I64);
    tensors[5] = dync_ones(dync_shape(2, 3), .dtype = DYNC_BOOL);
    tensors[6] = dync_ones(dync_shape(2, 3, 4, 5));
    tensors[7] = dync_ones(dync_shape(2, 3, 4), .dtype = DYNC_F16);
    tensors[8] = dync_ones(dync_shape(3), .dtype = DYNC_F64);
    tensors[9] = dync_transpose(tensors[0], 0, 1);
    for (int i = 0; i < 10; i++) EXPECT(tensors[i] != NULL);
}

static void misuse(void (*call)(int))
{
    void *buffer = malloc(BUFFER);
    if (!EXPECT(buffer != NULL)) return;
    begin(buffer);
    for (int k = 0; k < ROUNDS; k++) {
        call(k);
        dync_clear_error();
    }
    dync_shutdown();                          /* whatever modes, scopes and options they left */
    DYNC_SCOPE { EXPECT_NEAR(dync_item(dync_sum(dync_add(dync_ones(dync_shape(3)), 1), DYNC_ALL, false)), 6, 0); }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_shutdown();
    free(buffer);
}

#define X(name) TEST(name) { now = (unsigned)__LINE__ + sizeof #name; misuse(misuse_##name); }
MISUSE_ALL(X)
TEST_MAIN
