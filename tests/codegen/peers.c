/* tests/codegen/peers.c: compiles every row of bench/peers and calls it once, on zeros: the lines
 * of peers.py are read from a file. */
#include "../../bench/peers/rows.c"

static int64_t next_number(char **at) { return strtoll(*at, at, 10); }

int main(int argc, char **argv)
{
    static char line[4096];
    int failed = 0, n = 0;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        peer_array in[MOST_INPUTS] = {{0}};
        int64_t row_numbers[16];
        int n_numbers = 0, n_in = 0;
        char *at = strchr(line, ' ');
        *at++ = 0;
        at = strchr(at, ';') + 1;
        while (at += strspn(at, " "), *at != ';') row_numbers[n_numbers++] = next_number(&at);
        for (at++; at += strspn(at, " ,"), *at != '\n'; n_in++) {
            int64_t last = 0;
            in[n_in].dtype = next_number(&at);
            in[n_in].ndim = next_number(&at);
            for (int d = 0; d < in[n_in].ndim; d++) in[n_in].shape[d] = next_number(&at);
            for (int d = 0; d < in[n_in].ndim; d++)
                last += (in[n_in].stride[d] = next_number(&at)) * (in[n_in].shape[d] - 1);
            in[n_in].data = calloc((size_t)last + 1, 8);
        }
        if (peer_open(line, row_numbers, n_numbers, in, n_in, NULL, 0, 1) != 0 || peer_call() < 0)
            printf("%s: %s\n", line, peer_error()), failed++;
        peer_close();
        for (int i = 0; i < n_in; i++) free(in[i].data);
        n++;
    }
    printf("%d rows, %d failed\n", n, failed);
    return n == 0 || failed;
}
