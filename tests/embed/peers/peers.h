/* Networks by hand in plain C, beside which exported ones are measured: tests/embed/peers.sh.
 * Weights and one input with its result come from nets.c as NET_data.c: PyTorch's layouts, row
 * major. */
#ifndef PEERS_H
#define PEERS_H
extern const float *const data_weight[]; /* in the order in which the network uses them */
extern const float data_in[], data_out[];
extern const int data_n_in, data_n_out;

extern const int peer_ram; /* bytes of static memory that peer_run works in */
void peer_run(const float *in, float *out);
#endif
