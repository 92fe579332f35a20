/* ---- control flow inside a graph
 * A branch or a loop whose way data decide stays in the graph as one operator with functions
 * inside, as torch.cond and torch._higher_order_ops do. Called plainly they are an if and loops of
 * C. Inside a traced function each function is run once over fakes and becomes a graph of its own;
 * tensors that it takes from around it (closures) become further inputs. Compiled code chooses and
 * repeats without coming back to C.
 *
 * A function is what dync_compile takes (dync_bind gives it user data) and gives tensors or nested
 * lists of them. Inside one nothing is written that it was given, no value is read (dync_item), no
 * random number drawn: traced, that is DYNC_ERR_UNSUPPORTED. What comes back is dense, row major
 * and new memory; at most 8 tensors. */

/* dync_cond(pred, then_fn, else_fn, dync_tuple(x, y)): then_fn(x, y) or else_fn(x, y) (torch.cond).
 *
 *   pred      bool tensor of one element: both functions are traced, and each run takes one; a C
 *             number: that function is called as it is
 *   operands  a tensor, or a list whose items are the functions' arguments; nested lists and
 *             numbers pass through
 *   ->        what the function gives; owned by the scope. Both give the same form, shapes, dtypes
 *   grad      through the function that ran, to operands and closures; zeros to operands that it
 *             does not use and, where it is captured, to closures of the other
 *   errors    DYNC_ERR_VALUE (pred; the functions differ), DYNC_ERR_UNSUPPORTED (see above), those
 *             of the functions
 *   thread    any */
#define dync_cond(pred, then_fn, else_fn, operands) \
    dync_cond_values(DYNC_V(pred), DYNC_FN(then_fn), DYNC_FN(else_fn), DYNC_V(operands), DYNC_HERE)
DYNC_API dync_value dync_cond_values(dync_value pred, dync_callee then_fn, dync_callee else_fn,
                                     dync_value operands, dync_loc at);

/* dync_while_loop(cond_fn, body_fn, dync_tuple(i, x)): as long as cond_fn(i, x) is true, (i, x) =
 * body_fn(i, x) (torch._higher_order_ops.while_loop). dync_while_loop_limit: at most that many
 * rounds.
 *
 *   cond_fn   gives a bool scalar tensor
 *   body_fn   gives as many tensors as it takes, of the same shapes and dtypes
 *   carried   a tensor or a list of tensors, the functions' arguments
 *   limit     > 0
 *   ->        the carried values at the end, in the form of carried; owned by the scope
 *   grad      plainly: through all rounds. Compiled: with a limit, and time and memory are those of
 *             that many rounds; without one backward is DYNC_ERR_AUTOGRAD
 *   errors    DYNC_ERR_VALUE (no bool scalar; a carried value changes its shape or dtype; limit),
 *             DYNC_ERR_UNSUPPORTED, those of the functions
 *   thread    any */
#define dync_while_loop(cond_fn, body_fn, carried) \
    dync_while_loop_values(DYNC_FN(cond_fn), DYNC_FN(body_fn), DYNC_V(carried), 0, DYNC_HERE)
#define dync_while_loop_limit(cond_fn, body_fn, carried, limit) \
    dync_while_loop_values(DYNC_FN(cond_fn), DYNC_FN(body_fn), DYNC_V(carried), limit, DYNC_HERE)
DYNC_API dync_value dync_while_loop_values(dync_callee cond_fn, dync_callee body_fn,
                                           dync_value carried, int64_t limit_or_0, dync_loc at);

/* dync_scan(step_fn, init, xs): carry = init; for each place t of the first dim: (carry, y[t]) =
 * step_fn(carry, xs[t]) (torch._higher_order_ops.scan).
 *
 *   step_fn   gives dync_tuple(carry, y); y may be DYNC_NONE
 *   init      a tensor or a list of tensors: the carry
 *   xs        a tensor or a list of tensors, of one length along the first dim; at least one tensor
 *   ->        dync_tuple(last carry, ys stacked along a first dim); owned by the scope. Of length
 *             0: init, and ys without elements
 *   grad      to init, xs and closures; the carry of each place is saved, the rest computed again
 *   errors    DYNC_ERR_VALUE (the carry changes its shape or dtype), DYNC_ERR_SHAPE (lengths
 *             differ), DYNC_ERR_UNSUPPORTED, those of step_fn
 *   thread    any */
#define dync_scan(step_fn, init, xs) \
    dync_scan_values(DYNC_FN(step_fn), DYNC_V(init), DYNC_V(xs), false, DYNC_HERE)
/* dync_scan_reverse: the same from the last place to the first; y[t] still belongs to place t. */
#define dync_scan_reverse(step_fn, init, xs) \
    dync_scan_values(DYNC_FN(step_fn), DYNC_V(init), DYNC_V(xs), true, DYNC_HERE)
DYNC_API dync_value dync_scan_values(dync_callee step_fn, dync_value init, dync_value xs,
                                     bool reverse, dync_loc at);

/* dync_map(fn, xs): fn(xs[t]) for each place t of the first dim, stacked
 * (torch._higher_order_ops.map).
 *
 *   xs        a tensor or a list of tensors, of one length along the first dim
 *   ->        what fn gives, with a first dim; owned by the scope. Of length 0: without elements
 *             (PyTorch's map refuses it, its vmap and scan do not)
 *   grad      to xs and closures
 *   errors    as dync_scan
 *   thread    any */
#define dync_map(fn, xs) dync_map_values(DYNC_FN(fn), DYNC_V(xs), DYNC_HERE)
DYNC_API dync_value dync_map_values(dync_callee fn, dync_value xs, dync_loc at);

/* dync_associative_scan(combine_fn, xs, dim): y[0] = xs[0], y[t] = combine_fn(y[t - 1], xs[t])
 * along dim (torch._higher_order_ops.associative_scan). With addition it is cumsum.
 *
 *   combine_fn  of two elements, each in the form of xs without dim; associative. It is applied in
 *               order, so that the result does not depend on how work is shared
 *   xs          a tensor or a list of tensors, of one length along dim
 *   ->          in the form of xs; owned by the scope
 *   grad        to xs and closures
 *   errors      as dync_scan; DYNC_ERR_INDEX (dim)
 *   thread      any */
#define dync_associative_scan(combine_fn, xs, dim) \
    dync_associative_scan_values(DYNC_FN(combine_fn), DYNC_V(xs), dim, DYNC_HERE)
DYNC_API dync_value dync_associative_scan_values(dync_callee combine_fn, dync_value xs, int dim,
                                                 dync_loc at);

/* ---- the operators themselves
 * As graphs hold them and dync_graph_str writes them: functions over tensors alone, which give
 * dync_tuple of tensors and take what they need as arguments (torch._higher_order_ops:
 * while_loop_op, scan_op). A graph (dync_graph *) is such a function, too: a graph with functions
 * inside is made of those by dync_make_graph. dync_cond is its own operator. */

/* dync_while_loop_op(cond_fn, body_fn, dync_tuple(i), dync_tuple(w), 0): as long as cond_fn(i, w)
 * is true, i = body_fn(i, w).
 *
 *   carried   a list of tensors: what body_fn gives again
 *   more      a list of tensors: the functions' last arguments, which stay
 *   limit     rounds at most; 0: no limit
 *   ->        dync_tuple of the carried values; owned by the scope
 *   grad      as dync_while_loop with that limit, compiled
 *   errors    those of dync_while_loop
 *   thread    any */
#define dync_while_loop_op(cond_fn, body_fn, carried, more, limit)                               \
    dync_while_loop_op_values(DYNC_FN(cond_fn), DYNC_FN(body_fn), DYNC_V(carried), DYNC_V(more), \
                              limit, DYNC_HERE)
DYNC_API dync_value dync_while_loop_op_values(dync_callee cond_fn, dync_callee body_fn,
                                              dync_value carried, dync_value more,
                                              int64_t limit_or_0, dync_loc at);

/* dync_scan_op(step_fn, dync_tuple(c), dync_tuple(x), dync_tuple(w), false, 0): for each place t of
 * the first dim: (c, y[t]) = step_fn(c, x[t], w).
 *
 *   step_fn   gives dync_tuple of as many tensors as init has, then any number
 *   init      a list of tensors: the carry
 *   xs        a list of tensors, of one length along the first dim; at least one tensor
 *   more      a list of tensors: step_fn's last arguments, which stay
 *   reverse   from the last place to the first
 *   saved     of what is stacked, how many at the end are the carry before each place: 0, but in
 *             graphs that a backward graph belongs to
 *   ->        dync_tuple of the last carry, then of the rest stacked along a first dim; owned by
 *             the scope
 *   grad      as dync_scan
 *   errors    those of dync_scan
 *   thread    any */
#define dync_scan_op(step_fn, init, xs, more, reverse, saved)                                     \
    dync_scan_op_values(DYNC_FN(step_fn), DYNC_V(init), DYNC_V(xs), DYNC_V(more), reverse, saved, \
                        DYNC_HERE)
DYNC_API dync_value dync_scan_op_values(dync_callee step_fn, dync_value init, dync_value xs,
                                        dync_value more, bool reverse, int saved, dync_loc at);
