# make codegen-diff REF=main SET=quick: the machine code of the tests' kernels and of the rows of bench/peers at every level, here and at REF (tests/codegen).
REF ?= $(shell git rev-parse --verify --quiet main >/dev/null 2>&1 && [ "`git rev-parse main`" != "`git rev-parse HEAD`" ] && echo main || echo HEAD)
.PHONY: codegen-diff
codegen-diff: $(B)/tools/codegen-diff
	@CC="$(CC)" sh tests/codegen/diff.sh $(B) $(REF) $(SET)
