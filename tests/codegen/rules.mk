# make codegen-diff REF=commit SET=quick: the machine code of the tests' kernels and of the rows of bench/peers at
# every level, here and at REF: where this branch left main, without one.
REF ?= $(or $(shell git merge-base main HEAD 2>/dev/null),HEAD)
.PHONY: codegen-diff
codegen-diff: $(B)/tools/codegen-diff
	@CC="$(CC)" sh tests/codegen/diff.sh $(B) $(REF) $(SET)
