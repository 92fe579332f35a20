/* dync: torch.compile for C, in one header.
 *
 * Write ordinary C functions over tensors; dync_compile gives them back captured, guarded,
 * differentiated, fused and compiled. There is nothing to install: no package, no compiler at run
 * time, no Python.
 *
 * QUICK START. In one .c file of the program:
 *
 *     #define DYNC_IMPLEMENTATION
 *     #include "dync.h"
 *
 *     static dync_tensor *gate(dync_tensor *x, dync_tensor *w)
 *     {
 *         return dync_mul(dync_sigmoid(dync_matmul(x, w)), x);
 *     }
 *
 *     int main(void)
 *     {
 *         dync_tensor *x = dync_randn(dync_shape(4, 4)), *w = dync_randn(dync_shape(4, 4));
 *         dync_compiled *fast = dync_compile(gate, .args = "x, w");
 *         dync_print(dync_call(fast, x, w));
 *         dync_compiled_free(fast);
 *         dync_shutdown();
 *         return dync_error();
 *     }
 *
 * Build: cc -O2 program.c -lm -pthread. Other files include dync.h without the define. A C++
 * project puts the two first lines into a .c file of their own: the implementation is C11, the
 * public half is C11 and C++17.
 *
 * WHAT HAPPENS. The first dync_call runs gate() once on tensors without data and records each
 * operator: the graph. The graph is lowered to loops, loops are fused, memory is planned, kernels
 * are made. What the recording relied on (dtype, shape, numbers, …) becomes guards. Later calls
 * whose guards hold run the kernels and never enter gate(); others record and compile once more.
 * Where the function does something that cannot be recorded the graph breaks there, and
 * dync_explain says why. dync_set_log("graph,guards,ir") shows each stage.
 *
 * PURITY CONTRACT. A compiled function may read C variables only if they never change or are
 * declared (dync_guard_int, dync_guard_tensor, dync_cell). Data enter through its arguments. Side
 * effects sit after a dync_graph_break. Whoever forgets is told by dync_set_lint(true), which
 * traces twice and compares, and dync_set_verify(true), which runs every cached call both ways.
 *
 * MEMORY. Four words are used below. scope: the result is released when the innermost DYNC_SCOPE
 * ends (dync_shutdown ends the outermost). borrowed: it belongs to somebody else and is valid as
 * long as that is. taken: the callee owns it now. arena: it dies with the compilation it belongs
 * to. A scope holds every temporary, so nested calls leak nothing; dync_escape hands a tensor one
 * scope up, dync_retain keeps it beyond all. A handle used after its scope ended, or after it was
 * freed (of whatever kind: a compiled function, a module, a graph, a list, ...), is an error that
 * names where it was made, not a crash. Every allocation passes DYNC_MALLOC and its kin, or comes
 * from the buffer given to dync_init.
 *
 * ERRORS. The first one sticks, per thread: what, where (file:line), what was expected and what
 * came. A function that makes something returns NULL, NULL operands give NULL, so a chain is
 * checked once, at its end: dync_error(). The library never exits, aborts or asserts on what the
 * user gives it.
 *
 * STACK. A thread of 32 KiB compiles, calls and differentiates functions, one of 64 KiB also those
 * with matrix products, and explains and exports them; DYNC_SMALL takes less. A C function that
 * calls itself adds frames of its own. A function that is left while it is traced (longjmp, a C++
 * exception, return out of a DYNC_SCOPE), by dync_make_graph too, leaves nothing behind: its trace
 * is undone at the next call of the thread, which says so; it must be traced and left on one and
 * the same stack. A jump that ends inside the traced function is part of what it does.
 *
 * THREADS. All state is per thread but the backend registry and the compiled caches; many threads
 * may call one dync_compiled at once. Each function says `thread any` (in any number of threads at
 * once, on the same objects too, as long as no tensor is written that another thread uses) or
 * `thread not while running`: it must not run while another thread is inside the same object.
 *
 * ENVIRONMENT. DYNC_LOG=graph,guards,ir prints stages (dync_set_log); DYNC_LINT=1 and DYNC_VERIFY=1
 * check every compiled function as dync_set_lint and dync_set_verify do; DYNC_CHECK_IR=1 checks
 * what every pass of the compiler leaves behind, DYNC_DISABLE=fuse,cse leaves passes out (a name
 * that is none tells those there are), DYNC_LOG=passes names them as they run; DYNC_THREADS=n is
 * the size of the pool; DYNC_CPU=avx2 or none makes code for less than the machine has;
 * DYNC_PERF_MAP=1 names that code for perf; DYNC_REPRO_AFTER and its kin set the minifier
 * (dync_config_set). What the program sets wins. DYNC_NO_ENV leaves all of them unread.
 *
 * OPTIONS are macros defined before the include; config.h below lists them.
 *
 * The comments below are the reference; nothing outside them defines behaviour. Entries are left
 * out where there is nothing to say. */
