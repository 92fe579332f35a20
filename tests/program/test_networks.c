/* The networks of networks.h as C, in floats and in 8-bit integers, beside the functions. On chips:
 * tests/embed/networks.c. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "exported.h"
#include "networks.h"

static void write_all(void)
{
    static dync_quantize_report r[NETWORKS];
    open_folder("networks");
    EXPECT_EQ_INT(write_networks(folder, r), NETWORKS);
    for (int i = 0; i < NETWORKS; i++) {
        const network *net = &networks[i];
        bool good = r[i].layers == net->integers && r[i].float_layers == net->floats &&
                    r[i].snr_db >= net->snr_db;
        if (!good)
            printf("    %s: %d layers, %d in floats (%s), %g dB\n", net->name, r[i].layers,
                   r[i].float_layers, r[i].kept_float, r[i].snr_db);
        EXPECT(good);
    }
}

TEST(plain_and_in_bytes)
{
    write_all();
    bool same = compile_and_run("-std=c99 -O0", "out.txt");
    EXPECT(same);
    if (same) close_folder();
}

/* Checked, with vectors, and with sums of pairs in plain C. */
TEST_LONG(by_other_compilers)
{
    static const char *const flags[] = {
        "-std=c99 -O0 -fsanitize=address,undefined -fno-sanitize-recover=all", "-std=c11 -O3",
        "-std=c11 -O1 -DDYNC_VECTOR=0 -DDYNC_SMLAD=2"};
    bool same = true;
    write_all();
    for (int i = 0; i < 3; i++) same = EXPECT(compile_and_run(flags[i], "out.txt")) && same;
    if (same) close_folder();
}
TEST_MAIN
