/* op/ops_control.def.h: functions inside, and what acts beside its results. Rows of ops.def.h. */
#ifndef DYNC__OPS_CONTROL_DEF_H
#define DYNC__OPS_CONTROL_DEF_H

/* clang-format off */
#define DYNC__OPS_EFFECT(X)                                                                                         \
    X(_check_range,      EFFECT, "(int64 self, int64 least, int64 most)", 0, i_effect, none, none, none,            \
      d_check_range, "torch.*", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_DATA_SHAPE, -1,                         \
      "an error where a number is not within")                                                                      \
    X(custom_gradient,   KERNEL, "(Tensor self, Tensor[] inputs, Tensor[] saved, int64 number)", 1, i_clone, none,  \
      l_clone, g_custom_gradient, none, "D.*", DYNC__OP_PRIVATE, -1,                                                \
      "self, whose gradient a function of the user's gives to inputs")                                              \
    X(_hooked,           VIEW, "(Tensor self, int64 hook)", 1, i_alias, none, none, g_hooked, none,                 \
      "D.hooked", DYNC__OP_PRIVATE | DYNC__OP_CUTS_GRAD, -1,                                                        \
      "the same elements, whose gradient a hook sees")                                                              \
    X(_local_scalar_dense, KERNEL, "(Tensor self)", 1, none, none, none, none, d_local_scalar, ".item",             \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF | DYNC__OP_OPAQUE, -1,              \
      "an element as a size: [element + 2^40], all on one byte")                                                    \
    X(manual_seed,       EFFECT, "(int64 seed)", 0, i_effect, none, none, none, d_manual_seed, "torch.*",           \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "starts this thread's random numbers anew")                             \
    X(set_,              INPLACE, "(Tensor self, Tensor source)", 1, i_set_, none, none, none, d_set_, ".*",        \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_RETARGETS, DYNC__OP_none,                                         \
      "self takes over the storage and form of source")                                                             \
    X(_set_grad_enabled, EFFECT, "(bool mode)", 0, i_effect, none, none, none, d_set_grad_enabled,                  \
      "torch._C._set_grad_enabled", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CUTS_GRAD, -1,                      \
      "turns recording for gradients on or off")                                                                    \
    X(trace_wrapped,     KERNEL, "(Tensor self, int64 hook)", 1, i_clone, none, none, none, d_trace_wrapped,        \
      "torch__dynamo__trace_wrapped_higher_order_op_self_invoke{#}({0})", DYNC__OP_PRIVATE | DYNC__OP_OPAQUE, -1,   \
      "a hook's function")
/* clang-format on */

/* Functions inside (graph/control.c): as many outputs as those give. */
/* clang-format off */
#define DYNC__OPS_CONTROL(X)                                                                                          \
    X(cond,       KERNEL, "(Tensor pred, Graph true_graph, Graph false_graph, Tensor[] operands)", -1, i_control,     \
      none, l_control, g_cond, d_control, "torch.ops.higher_order.*",                                                 \
      DYNC__OP_PRIVATE | DYNC__OP_OPAQUE | DYNC__OP_FILE, -1,                                                         \
      "what one of two functions gives")                                                                              \
    X(scan,       KERNEL,                                                                                             \
      "(Graph combine, Tensor[] init, Tensor[] xs, Tensor[] additional_inputs, bool reverse, int saved)", -1,         \
      i_control, none, l_control, g_scan, d_control, "torch.ops.higher_order.scan({0}, {1}, {2}, {3}, reverse={4})",  \
      DYNC__OP_PRIVATE | DYNC__OP_OPAQUE | DYNC__OP_FILE, -1,                                                         \
      "a function along the first dim: the last carry, and the rest stacked")                                         \
    X(while_loop, KERNEL,                                                                                             \
      "(Graph cond_graph, Graph body_graph, Tensor[] carried, Tensor[] additional_inputs, int64 max_iterations)", -1, \
      i_control, none, l_control, g_while_loop, d_control, "torch.ops.higher_order.while_loop({0}, {1}, {2}, {3})",   \
      DYNC__OP_PRIVATE | DYNC__OP_OPAQUE | DYNC__OP_FILE, -1, "a function while another says so")
/* clang-format on */
#endif
