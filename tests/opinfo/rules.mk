# make opinfo: PyTorch's OpInfo samples through dync (opinfo.py), by PYTHON, else by the virtual environment that
# opinfo-venv makes. ARGS="add softmax --compiled 3": see opinfo.py. make opinfo-sample writes the part of them that
# make test reads again without Python.
OPINFO_PYTHON = $(or $(PYTHON),$(B)/opinfo/bin/python)
OPINFO_HERE   = $(if $(PYTHON),,$(B)/opinfo/bin/python)
.PHONY: opinfo opinfo-venv opinfo-sample opinfo-library
opinfo: $(B)/opinfo.so $(OPINFO_HERE)
	@$(OPINFO_PYTHON) tests/opinfo/opinfo.py $(B)/opinfo.so $(ARGS)
opinfo-sample: $(OPINFO_HERE)
	@$(OPINFO_PYTHON) tests/oracle/opinfo.py
# The split library as position independent code.
opinfo-library:
	@$(MAKE) --no-print-directory B=$(B)/pic SPLIT=1 CFLAGS="$(CFLAGS) -fPIC" $(B)/pic/split/libdync.a
$(B)/pic/split/libdync.a: opinfo-library ;
$(B)/opinfo.so: tests/opinfo/driver.c $(B)/pic/split/libdync.a
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -fPIC -shared -I. $^ $(LDFLAGS) $(LIBS) -o $@
$(B)/opinfo/bin/python:
	@python3 -m venv $(B)/opinfo && $@ -m pip install --quiet torch numpy
opinfo-venv: $(B)/opinfo/bin/python
