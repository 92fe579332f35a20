# Every compiled function of the examples, the samples, the demo and the models compared with plain execution at every
# call. 03_compile prints how often its C function ran, which verify changes: of it the exit status alone counts.
VERIFIED := $(filter $(B)/tests/models/%,$(MERGED))
verify: $(VERIFIED) $(EXAMPLES) $(SAMPLES) $(B)/examples/demo $(B)/tools/runtests
	@$(RUN) --with "env DYNC_VERIFY=1" $(VERIFIED) --examples tests/samples/expected $(SAMPLES) \
	        --examples examples/expected $(filter-out %/03_compile,$(EXAMPLES)) \
	        --plain "03_compile=DYNC_VERIFY=1 '$(CURDIR)/$(B)/examples/03_compile'" \
	        "demo=cd $(B) && DYNC_VERIFY=1 examples/demo '$(CURDIR)/examples/data/digits.bin'"
.PHONY: verify
