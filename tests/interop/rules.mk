# What other programs make, and what they make of ours: make interop. Needs Python and packages
# (tests/interop/venv.sh); INTEROP_PYTHON names another one.
INTEROP_LIB := $(B)/interop_dync.so
.PHONY: interop
$(INTEROP_LIB): $(B)/dync.c tests/oracle/random_driver.c dync.h
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) -O1 -fPIC -shared $(CHECKED) -I. $(filter %.c,$^) $(LIBS) -o $@
interop: $(INTEROP_LIB)
	@python=`sh tests/interop/venv.sh $(B)/interop` || { echo "skip interop: no Python environment"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }; \
	    for t in $(wildcard tests/interop/test_*.py); do $$python $$t $(INTEROP_LIB) || exit 1; done
	@$(MAKE) --no-print-directory oracle-random RANDOM_LIB=$(INTEROP_LIB) SEED=1 COUNT=120
# What dync writes as ONNX, run by ONNX Runtime; backend onnxrt with the real library.
.PHONY: onnx
onnx: $(B)/tests/unit/test_onnx_write $(B)/tests/program/test_onnx_models $(B)/tests/program/test_onnx_data \
    $(B)/tests/capture/test_onnxrt $(B)/tests/capture/test_rows_b
	@sh tests/interop/onnx.sh $(B)
