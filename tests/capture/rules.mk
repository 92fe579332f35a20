# Every compiled function of the examples, the samples, the demo and the models compared with plain execution at every call.
VERIFIED := $(filter $(B)/tests/models/%,$(MERGED))
verify: $(VERIFIED) $(EXAMPLES) $(SAMPLES) $(B)/examples/demo $(B)/tools/runtests
	@$(RUN) --with "env DYNC_VERIFY=1" $(VERIFIED) --examples tests/samples/expected $(SAMPLES) --examples examples/expected $(EXAMPLES) \
	        --plain "demo=cd $(B) && DYNC_VERIFY=1 examples/demo '$(CURDIR)/examples/data/digits.bin'"
.PHONY: verify
