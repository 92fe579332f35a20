/* tests/fuzz/fuzz.c: a fuzzer of one target (-DFUZZ_TARGET="graph") for libFuzzer; with
 * -DFUZZ_PLAIN a driver that runs the files named. */
#include "targets.h"

static int fuzz_number(void)
{
    static int found = -1;
    if (found >= 0) return found;
    for (int i = 0; i < (int)(sizeof fuzz_targets / sizeof *fuzz_targets); i++)
        if (strcmp(fuzz_targets[i].name, FUZZ_TARGET) == 0) found = i;
    fuzz_begin();
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_one(fuzz_number(), data, n);
    return 0;
}

#if defined(FUZZ_PLAIN)
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        static uint8_t bytes[1 << 20];
        size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
        if (f) fclose(f);
        uint8_t *exact = malloc(n ? n : 1);
        if (!exact) return 1;
        memcpy(exact, bytes, n);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    printf("%s: %d inputs\n", FUZZ_TARGET, argc - 1);
    dync_shutdown();
    return 0;
}
#endif
