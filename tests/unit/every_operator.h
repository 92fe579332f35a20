/* tests/unit/every_operator.h: for tests that name operators by number: every row is in use. */
__attribute__((constructor)) static void every_operator(void) { dync__op_use_all(); }
