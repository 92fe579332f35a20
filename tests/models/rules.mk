# Every program of tests/models and the random programs with each pass of the compiler left out: base/pass.h lists
# them. What eager operators are made of is left out too; test_models and test_random_calls, _cats and _gathers do it
# with eager as ever, in the quick tests.
PASSES   := $(shell sed -n 's/^ *X.\([a-z_]*\),.*OPTIONAL.*/\1/p' src/base/pass.h)
PASS_BY  := $(filter $(B)/tests/models/% $(B)/tests/random/%,$(MERGED))
passes: $(PASS_BY) $(B)/tools/runtests
	@$(RUN) $(foreach p,$(PASSES),--with "env DYNC_DISABLE=$p" $(PASS_BY))
.PHONY: passes
