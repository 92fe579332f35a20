# make oracle-random: random programs through dync and PyTorch (random_judge.py), SEED to SEED + COUNT, by PYTHON or
# INTEROP_PYTHON, else by the environment of make interop; make interop runs some of them.
RANDOM_LIB   := $(B)/oracle_random.so
SEED         ?= 1
COUNT        ?= 200
.PHONY: oracle-random
$(B)/oracle_random.so: tests/oracle/random_driver.c dync.h $(if $(SPLIT),$(LIBDYNC))
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -fPIC -shared $(CHECKED) -I. $(if $(SPLIT),,-DDYNC_IMPLEMENTATION) $< $(if $(SPLIT),$(SHARED)) $(LDFLAGS) $(LIBS) -o $@
oracle-random: $(RANDOM_LIB)
	@python=$(or $(PYTHON),`sh tests/interop/venv.sh $(B)/interop`) && $$python -c 'import torch' 2>/dev/null || \
	    { echo "skip oracle-random: no PyTorch"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }; \
	    $$python tests/oracle/random_judge.py $(RANDOM_LIB) --seed $(SEED) --count $(COUNT) $(ARGS)
