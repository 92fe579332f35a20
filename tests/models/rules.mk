# Every program of tests/models and the random programs with each pass of the compiler left out: base/pass.h lists them. What eager operators are made
# of is left out too; test_models, test_random_calls and test_random_cats do it with eager as ever, in the quick tests.
# Not yet mincut: where everything is saved, a view that is not dense is copied for backward, which takes it for contiguous and the nodes after it for what
# they were on the view; results are right, but the check of types refuses such a graph (test_random_training).
PASSES   := $(filter-out mincut,$(shell sed -n 's/^ *X.\([a-z_]*\),.*OPTIONAL.*/\1/p' src/base/pass.h))
PASS_BY  := $(filter $(B)/tests/models/% $(B)/tests/random/%,$(MERGED))
passes: $(PASS_BY) $(B)/tools/runtests
	@$(RUN) $(foreach p,$(PASSES),--with "env DYNC_DISABLE=$p" $(PASS_BY))
.PHONY: passes
