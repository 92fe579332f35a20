/* The networks of tests/program/networks.h as C files, with a main that compares: networks folder.
 * Compiled for a chip by boards.sh. */
#include "dync.h"
#include "../program/networks.h"

int main(int argc, char **argv)
{
    static dync_quantize_report reports[NETWORKS];
    int n = write_networks(argc > 1 ? argv[1] : ".", reports);
    if (n < NETWORKS) fprintf(stderr, "%s: %s\n", networks[n].name, dync_error_message());
    dync_shutdown();
    return n < NETWORKS;
}
