# dync: everything is built by a C11 compiler and make. `make help` lists the targets.
# Honoured: CC CXX CFLAGS LDFLAGS V=1 (show commands) WERROR=1 B=dir (where products go) T=filter (for `make run`).

CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
LIBS    := -lm -pthread
export CC CFLAGS LDFLAGS        # tests/minify compiles what the minifier writes
B       ?= build
NM      ?= nm
READELF ?= readelf

Q := $(if $(V),,@)
STD      := -std=c11 -pedantic
WARN     := -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wundef -Wdouble-promotion -Wvla -Wwrite-strings
WARN_C   := $(WARN) -Wstrict-prototypes -Wmissing-prototypes
STRICT   := $(if $(WERROR),-Werror)
USER     := -Wall -Wextra $(STRICT)
DEPS      = -MMD -MP -MF $@.d
# What tests, examples and sanitizers link checks itself: assertions, and the IR after every pass (base/pass.h). `make
# CHECKED=` builds them as users do; benchmarks always are.
CHECKED  := -include assert.h '-DDYNC_ASSERT(x)=assert(x)'
# As the compilers of Ubuntu and others do by themselves; libc's headers refuse it without optimisation.
FORTIFY  := $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

# ---- what there is ---------------------------------------------------------------------------------------------------
CUDA_SRC := $(wildcard src/cuda/*.h src/cuda/*.c)
SRC_H    := src/dync.in.h $(filter-out $(CUDA_SRC),$(wildcard src/*/*.h))
SRC_C    := $(filter-out $(CUDA_SRC),$(wildcard src/*/*.c))
SRC      := $(SRC_H) $(SRC_C)
IR_C     := $(wildcard tools/ir/*.c)            # loop IR run and read, for tests and tools: beside the library in the split build
TOOLS    := $(patsubst tools/%.c,$(B)/tools/%,$(wildcard tools/*.c))
# A test is a .c file of tests/ that says TEST_MAIN. tests/unit and tests/fault see internals and link the split
# build, the others dync.o. Those of tests/cuda run on the stand-in for libcudart (tests/cuda_emulator): white_*.c see
# internals, the others build/cuda/dync.o.
TESTS    := $(filter-out tests/cuda/%,$(shell grep -l '^TEST_MAIN' tests/*/*.c 2>/dev/null))
WHITE    := $(patsubst %.c,$(B)/%,$(filter tests/unit/% tests/fault/%,$(TESTS)))
MERGED   := $(patsubst %.c,$(B)/%,$(filter-out tests/unit/% tests/fault/%,$(TESTS)))
CUDA_WHITE  := $(patsubst %.c,$(B)/%,$(wildcard tests/cuda/white_*.c))
CUDA_MERGED := $(patsubst %.c,$(B)/%,$(wildcard tests/cuda/test_*.c))
CUDA_SPLIT  := $(patsubst src/%.c,$(B)/split/%.o,$(filter %.c,$(CUDA_SRC)))
EMULATOR := $(patsubst %.c,$(B)/%.o,$(wildcard tests/cuda_emulator/*.c))
LONG     := $(filter $(B)/tests/models/% $(B)/tests/fault/% $(B)/tests/minify/%,$(WHITE) $(MERGED))
QUICK    := $(filter-out $(LONG),$(WHITE) $(MERGED)) $(CUDA_WHITE) $(CUDA_MERGED)
EXAMPLES := $(patsubst %.c,$(B)/%,$(filter-out examples/demo.c,$(wildcard examples/*.c)))
SAMPLES  := $(patsubst %.c,$(B)/%,$(wildcard tests/samples/*.c))
BENCH    := $(patsubst %.c,$(B)/%,$(filter-out bench/hand%.c,$(wildcard bench/*.c)))
HAND     := $(patsubst %.c,$(B)/%.o,$(wildcard bench/hand*.c))
CORES    := $(shell nproc 2>/dev/null || echo 2)
RUN      := $(B)/tools/runtests --jobs $(CORES) --out $(B)/run
SWITCHES := DYNC_NO_JIT DYNC_NO_THREADS DYNC_NO_STDIO DYNC_NO_ENV DYNC_NO_LOCATION DYNC_NO_ATOMICS DYNC_NO_F64 DYNC_NO_ONNX DYNC_NO_MINIFY DYNC_NO_PARSER DYNC_NO_PRINT_GRAPH DYNC_STATIC DYNC_SMALL
ABILITIES := $(addprefix -DDYNC_NO_,SYMBOLIC TUNE AUTOGRAD TEXT SORT CONV ATTENTION RECURRENT MINIFY PARSER PRINT_GRAPH)

.DEFAULT_GOAL := all
.PHONY: all demo test test-rest test-all test-now test-rest-now test-all-now check check-now examples samples bench headers amalgamate headers-current layers names same-code cxx split switches embed size-report export-peers export-int8 digits chip-steps m32 docs-check asan \
        ubsan sanitize tsan valgrind soak size help clean run golden-update bench-peers bench-peers-calls peers-venv gpu ptxas
.DELETE_ON_ERROR:
.SUFFIXES:

all: headers $(B)/dync.o $(B)/split/libdync.a $(TOOLS)

# ---- the generated files: src/api/ops*.h and src/op/entries.c from the operator table, dync.h from src/ ----------------
# Each is written only when its text changes, so that touching a comment rebuilds nothing that cannot differ.
GEN := build/gen
HOSTCC ?= $(CC)
$(GEN)/%: tools/%.c tools/tool.h
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(STD) -Wall -Wextra -O1 $< -o $@
OPS_DEF  := $(wildcard src/op/ops*.def.h)
OPS_KIND := $(filter-out control,$(patsubst src/op/ops_%.def.h,%,$(filter src/op/ops_%,$(OPS_DEF)))) # those are private
OPS_MADE := src/op/entries.c src/api/ops.h $(OPS_KIND:%=src/api/ops_%.h)
# genops_into folder
define genops_into
	$(Q)$(GEN)/genops api > $(1)/ops.h && $(GEN)/genops entries > $(1)/entries.c
	$(Q)for k in $(OPS_KIND); do $(GEN)/genops api $$k > $(1)/ops_$$k.h || exit 1; done
endef
$(GEN)/genops: $(OPS_DEF)

define update
	@if cmp -s $(1) $(2); then rm $(1); else mv $(1) $(2); echo "wrote $(2)"; fi
endef
$(GEN)/ops.stamp: $(GEN)/genops
	$(call genops_into,$(GEN))
	@for f in $(OPS_MADE); do t=$(GEN)/$${f##*/}; if cmp -s $$t $$f; then rm $$t; else mv $$t $$f; echo "wrote $$f"; fi; done
	@touch $@
$(GEN)/dync.stamp: $(GEN)/amalgamate $(GEN)/ops.stamp $(filter-out $(OPS_MADE),$(SRC))
	$(Q)$(GEN)/amalgamate src/dync.in.h > $(GEN)/dync.h
	$(call update,$(GEN)/dync.h,dync.h)
	@touch $@
$(GEN)/dync_cuda.stamp: $(GEN)/dync.stamp src/dync_cuda.in.h $(CUDA_SRC)
	$(Q)$(GEN)/amalgamate src/dync_cuda.in.h src/dync.in.h > $(GEN)/dync_cuda.h
	$(call update,$(GEN)/dync_cuda.h,dync_cuda.h)
	@touch $@
dync.h: $(GEN)/dync.stamp ;
dync_cuda.h: $(GEN)/dync_cuda.stamp ;
headers amalgamate: dync.h dync_cuda.h
headers-current: $(GEN)/genops $(GEN)/amalgamate
	@mkdir -p $(GEN)/now
	$(call genops_into,$(GEN)/now)
	@for f in $(OPS_MADE); do cmp $(GEN)/now/$${f##*/} $$f || exit 1; done
	@$(GEN)/amalgamate src/dync.in.h > $(GEN)/now/dync.h && cmp $(GEN)/now/dync.h dync.h
	@$(GEN)/amalgamate src/dync_cuda.in.h src/dync.in.h > $(GEN)/now/dync_cuda.h && cmp $(GEN)/now/dync_cuda.h dync_cuda.h

# ---- the library, merged and split --------------------------------------------------------------------------------------
$(B)/dync.c:
	@mkdir -p $(@D)
	@printf '#define DYNC_IMPLEMENTATION\n#include "dync.h"\n' > $@
ifdef SPLIT
# The same code, not compiled a second time. Programs share one copy of it: sanitized, a copy has 50 MB, and there are
# 200 programs.
LIBDYNC := $(B)/split/libdync.so
MERGED_DYNC := $(LIBDYNC)
override CFLAGS += -fPIC -DDYNC__SHARED
SHARED  := $(LIBDYNC) -Wl,-rpath,'$(CURDIR)/$(B)/split'
$(LIBDYNC): $(B)/split/libdync.a
	@echo "  LD   $@"
	$(Q)$(CC) -shared -Wl,-soname,libdync.so $(CFLAGS) -Wl,--whole-archive $< -Wl,--no-whole-archive $(LDFLAGS) $(LIBS) -o $@
$(B)/dync.o: $(B)/split/libdync.a
	@echo "  LD   $@"
	$(Q)$(LD) -r --whole-archive $< -o $@
else
LIBDYNC := $(B)/split/libdync.a
MERGED_DYNC := $(B)/dync.o
SHARED  := $(LIBDYNC)
$(B)/dync.o: $(B)/dync.c dync.h
	@echo "  CC   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) $(FORTIFY) $(CHECKED) -I. -c $< -o $@
endif
$(B)/release/dync.o: $(B)/dync.c dync.h        # for benchmarks
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -I. -c $< -o $@
$(B)/split/%.o: src/%.c | dync.h
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) $(STD) $(WARN_C) $(STRICT) $(CFLAGS) $(CHECKED) $(DEPS) -DDYNC__SPLIT -Isrc -c $< -o $@
$(B)/split/tools/%.o: tools/%.c | dync.h
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) $(STD) $(WARN_C) $(STRICT) $(CFLAGS) $(CHECKED) $(DEPS) -DDYNC__SPLIT -Isrc -c $< -o $@
$(B)/split/libdync.a: $(patsubst src/%.c,$(B)/split/%.o,$(SRC_C)) $(patsubst %.c,$(B)/split/%.o,$(IR_C))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
split: $(B)/split/libdync.a $(CUDA_SPLIT)
$(B)/tools/%: tools/%.c tools/tool.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(USER) -O1 $< -o $@
$(B)/tools/genops: $(OPS_DEF)
$(B)/tools/dync: tools/dync.c $(wildcard tools/cli_*.h) $(MERGED_DYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK)
$(B)/tests/program/test_cli: | $(B)/tools/dync
$(B)/tools/dync-opt: tools/dync-opt.c tools/tool.h tools/opt.h $(B)/split/libdync.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -DDYNC__SPLIT $< $(B)/split/libdync.a $(LDFLAGS) $(LIBS) -o $@
golden-update: $(B)/tools/dync-opt
	@$(B)/tools/dync-opt --update tests/ir/*.txt

# ---- tests and examples -----------------------------------------------------------------------------------------------------
# Examples begin with DYNC_IMPLEMENTATION, as a user's program does. DYNC__IMPLEMENTED says that it exists already:
# they link dync.o. A test's own code is not optimised: it takes longer to compile than to run.
TEST_O    ?= -O0
TEST_FLAGS = $(filter-out -O%,$(CFLAGS)) $(TEST_O)
$(B)/tests/api/test_bad_input $(B)/tests/capture/test_left: TEST_O = -O1      # of these the compiler's optimisation is a part
LINK = $(CC) $(STD) $(USER) $(TEST_FLAGS) $(DEPS) -I. -Itests -DDYNC__IMPLEMENTED $< $(filter %.o,$^) $(if $(filter %.so,$^),$(SHARED)) $(LDFLAGS) $(LIBS) -o $@
$(WHITE): $(B)/%: %.c $(LIBDYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(TEST_FLAGS) $(DEPS) -DDYNC__SPLIT -Isrc -Itests $< $(SHARED) $(LDFLAGS) $(LIBS) -o $@
$(MERGED) $(EXAMPLES) $(SAMPLES) $(B)/examples/demo: $(B)/%: %.c $(MERGED_DYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK)
$(B)/examples/data/%: examples/data/%
	@mkdir -p $(@D) && cp $< $@
$(B)/examples/16_pytorch_weights: | $(B)/examples/data/xor.pt
# The header for GPUs with the emulator in the place of -lcudart; `make gpu` links the real one.
$(B)/cuda/dync.c:
	@mkdir -p $(@D)
	@printf '#define DYNC_IMPLEMENTATION\n#define DYNC_CUDA_IMPLEMENTATION\n#define DYNC_CUDA_NO_HEADER\n#include "dync.h"\n#include "dync_cuda.h"\n' > $@
ifdef SPLIT
CUDA_DYNC = $(CUDA_SPLIT) $(LIBDYNC)
$(B)/cuda/dync.o: $(CUDA_SPLIT) $(B)/split/libdync.a
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LD) -r $(CUDA_SPLIT) --whole-archive $(B)/split/libdync.a -o $@
else
CUDA_DYNC = $(B)/cuda/dync.o
$(B)/cuda/dync.o: $(B)/cuda/dync.c dync.h dync_cuda.h
	@echo "  CC   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) $(FORTIFY) $(CHECKED) -I. -c $< -o $@
endif
$(B)/release/cuda/dync.o: $(B)/cuda/dync.c dync.h dync_cuda.h
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -I. -c $< -o $@
# It checks every access itself and is what these tests wait for: always optimised, never sanitized.
$(EMULATOR): $(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) $(STD) -Wall -Wextra $(STRICT) $(filter-out -fsanitize=% -O%,$(CFLAGS)) -O2 -ffp-contract=off $(DEPS) -c $< -o $@
$(CUDA_WHITE): $(B)/%: %.c $(EMULATOR) $(CUDA_SPLIT) $(LIBDYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(TEST_FLAGS) $(DEPS) -DDYNC__SPLIT -Isrc -Itests $< $(EMULATOR) $(CUDA_SPLIT) $(SHARED) $(LDFLAGS) $(LIBS) -o $@
$(CUDA_MERGED): $(B)/%: %.c $(CUDA_DYNC) $(EMULATOR)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK)
# The minifier's tests compile programs against these.
$(filter $(B)/tests/minify/%,$(MERGED)): | $(B)/dync.o
$(B)/tests/cuda/test_rows_m: | $(B)/cuda/dync.o
$(B)/misuse.h: $(B)/tools/misuse dync.h
	$(Q)$(B)/tools/misuse dync.h > $@
$(B)/tests/api/test_every_function: $(B)/misuse.h
$(B)/tests/api/test_every_function: USER += -I$(B)
$(BENCH): $(B)/%: %.c $(B)/release/dync.o $(HAND)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK) -O2
$(HAND): $(B)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) -O3 -march=native $(DEPS) -c $< -o $@

# Three tiers, one line per program, the last line says how many passed and failed: check, the quick programs; test,
# what a newcomer runs; test-all, everything deterministic; test-rest, what test-all runs beside test: the long tests,
# each further level of code generation, every way to build and embed. Without -j there are as many jobs as cores.
# Of random cases check and test, and each further level, draw two fifths of what the tests name; SOAK=n: n times that.
DRAWN    := SOAK=$(or $(SOAK),0.4)
PARALLEL  = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(CORES))
LEVELS   := $(if $(shell grep -m 1 -o avx512bw /proc/cpuinfo 2>/dev/null),avx2) none    # below what the machine has: DYNC_CPU
# Programs with tests that only TEST_LONG=1 runs, or that make as many random cases as SOAK says.
SOAKED    = $(filter $(patsubst %.c,$(B)/%,$(shell grep -lE '^TEST_LONG$(if $(filter-out 1 0.%,$(or $(SOAK),10)),|test_count|random_forms)' tests/*/test_*.c tests/*/white_*.c)),$(QUICK) $(LONG))
IN_LENGTH = --with "env TEST_LONG=1 TEST_TIMEOUT=2400 SOAK=$(or $(SOAK),10)" $(SOAKED) $(foreach l,$(LEVELS),--with "env DYNC_CPU=$l $(DRAWN)" $(PER_LEVEL)) --plain
# What compares exported C waits for compilers, and not for machine code.
IN_C      = $(addprefix $(B)/tests/,program/test_exported_% program/test_data_exported program/test_networks unit/test_codegen_csrc quantize/%)
PER_LEVEL = $(filter-out $(B)/tests/minify/% $(B)/tests/fault/% $(IN_C),$(WHITE) $(MERGED))
STRUCTURE := "headers-current=$(MAKE) -s headers-current" "layers=$(MAKE) -s layers" "links=$(MAKE) -s links"
BUILDS    := "names=$(MAKE) -s names" "size=$(MAKE) -s size" "cxx=$(MAKE) -s cxx" "docs-check=$(MAKE) -s docs-check" \
             "compiler-messages=$(MAKE) -s compiler-messages"
WAYS      := "same-code=$(MAKE) -s same-code" "switches=$(MAKE) -s switches" "embed=$(MAKE) -s embed" "gpu-compiles=$(MAKE) -s gpu-compiles"
SHOWN     := --examples tests/samples/expected $(SAMPLES) --examples examples/expected $(EXAMPLES) --plain
# Everything that the commands above need is there before they run side by side.
NEEDED    := $(EXAMPLES) $(SAMPLES) $(B)/names.o $(B)/tools/runtests $(B)/tools/layers $(B)/tools/names $(B)/tools/links $(B)/tools/size $(B)/tools/docs
check:    ; +@$(MAKE) --no-print-directory $(PARALLEL) check-now
test:     ; +@$(MAKE) --no-print-directory $(PARALLEL) test-now
test-rest: ; +@$(MAKE) --no-print-directory $(PARALLEL) test-rest-now
test-all: ; +@$(MAKE) --no-print-directory $(PARALLEL) test-all-now
check-now: $(QUICK) $(B)/tools/runtests $(B)/tools/layers
	+@$(DRAWN) $(RUN) $(QUICK) $(STRUCTURE)
test-now: $(QUICK) $(LONG) $(NEEDED)
	+@$(DRAWN) $(RUN) $(BUILDS) $(STRUCTURE) $(QUICK) $(LONG) $(SHOWN)
test-rest-now: $(QUICK) $(LONG) $(NEEDED)
	+@$(RUN) $(WAYS) $(IN_LENGTH)
test-all-now: $(QUICK) $(LONG) $(NEEDED)
	+@$(DRAWN) $(RUN) $(BUILDS) $(STRUCTURE) $(QUICK) $(LONG) $(SHOWN) $(WAYS) $(IN_LENGTH)
PICKED    := $(strip $(if $(T),$(foreach t,$(QUICK) $(LONG),$(if $(strip $(foreach w,$(T),$(findstring $w,$t))),$t)),$(QUICK) $(LONG)))
run: $(PICKED) $(B)/tools/runtests
	@$(RUN) $(PICKED)
examples: $(EXAMPLES) $(B)/tools/runtests
	@$(RUN) --examples examples/expected $(EXAMPLES)
samples: $(SAMPLES) $(B)/tools/runtests
	@$(RUN) --out $(B)/run-samples --examples tests/samples/expected $(SAMPLES)      # beside `run`, whose folder is another
demo: $(B)/examples/demo
	@cd "$(B)" && examples/demo "$(CURDIR)/examples/data/digits.bin"
bench: $(BENCH)
	@for b in $(filter-out %/lengths,$(BENCH)); do J=$${J:+$${J%.json}.$$(basename $$b).json} $$b || exit 1; echo; done
# Every length of programs whose sizes change, compiled beside plain. T="block": programs whose name has that text.
bench-lengths: $(B)/bench/lengths
	@$< "$(T)" $(ARGS)
.PHONY: bench-lengths
# dync beside its peers in one process, by PYTHON, else by the virtual environment that peers-venv makes.
# ARGS="--quick sgemm": see bench/README.md.
PEERS_PYTHON = $(or $(PYTHON),$(B)/peers/bin/python)
PEERS_HERE   = $(if $(PYTHON),,$(B)/peers/bin/python)
$(B)/peers.so: bench/peers/rows.c bench/peers/living.h dync.h
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -fPIC -shared -I. $< $(LDFLAGS) $(LIBS) -o $@
bench-peers: $(B)/peers.so $(PEERS_HERE)
	@$(PEERS_PYTHON) bench/peers/peers.py $(B)/peers.so --json $(B)/peers.json --svg $(B)/peers.svg $(ARGS)
# Models that people use beside ONNX Runtime; make onnx-tests has downloaded them.
bench-peers-onnx: $(B)/peers.so $(PEERS_HERE)
	@$(PEERS_PYTHON) bench/peers/onnx_models.py $(B)/peers.so $(B)/onnx $(ARGS)
.PHONY: bench-peers-onnx
# Two builds on the same rows in one process, samples in turn: this tree beside REF.
REF ?= HEAD~
bench-versus: $(B)/peers.so $(PEERS_HERE)
	@rm -rf $(B)/versus && mkdir -p $(B)/versus && git archive $(REF) | tar -x -C $(B)/versus
	@$(MAKE) -s -C $(B)/versus build/peers.so
	@$(PEERS_PYTHON) bench/peers/versus.py $(B)/versus/build/peers.so $(B)/peers.so $(ARGS)
.PHONY: bench-versus
# exported C of the networks of tests/embed/peers, -O3 with and without -march=native, beside the compiled functions;
# T="cnn gru"
EXPORT_DYNC = $(if $(SPLIT),$(B)/split/libdync.a,$(B)/release/dync.o)
$(B)/bench-export/export: bench/export/export.c tests/embed/peers/nets.c $(EXPORT_DYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -I. -DDYNC__IMPLEMENTED $< $(EXPORT_DYNC) $(LDFLAGS) $(LIBS) -o $@
bench-export: $(B)/bench-export/export
	@CC="$(CC)" LIBS="$(LIBS)" sh bench/export/export.sh $(B)/bench-export $< $(EXPORT_DYNC) $(T)
.PHONY: bench-export
bench-peers-calls: $(B)/bench/calls $(PEERS_HERE)
	@J=$(B)/calls.json $(B)/bench/calls > /dev/null 2>&1
	@$(PEERS_PYTHON) bench/peers/calls.py $(B)/calls.json
$(B)/peers/bin/python:
	@python3 -m venv $(B)/peers && $@ -m pip install --quiet torch numpy onnx onnxruntime onnxscript numexpr
peers-venv: $(B)/peers/bin/python
# Hours: the sanitizers, every pass left out in turn, the fuzzers, random programs and callers at length (SOAK=n times
# their count), every seed.
soak: test-all
	@$(MAKE) -s sanitize valgrind passes
	@$(MAKE) -s fuzz SECONDS=1800
	@for l in avx512 avx2 none; do for t in $(filter $(B)/tests/random/% $(B)/tests/matrix/% $(B)/tests/models/test_random% $(B)/tests/unit/test_fuse_random,$(WHITE) $(MERGED)); do \
	    TEST_LONG=1 SOAK=200 TEST_TIMEOUT=20000 DYNC_CPU=$$l $$t -v | tail -n 8; done; done
	@for seed in 2 3 4 5 6 7 8 9; do for t in $(QUICK) $(LONG); do $$t --seed $$seed | tail -n 1; done; done
	@SOAK=200 $(B)/tests/cuda/test_random --seed 23

# ---- GPUs -------------------------------------------------------------------------------------------------------------------
# ptxas: every PTX text of the tests assembles, where there is a toolkit. gpu: on a machine with a GPU and its driver,
# a compiler and the CUDA runtime (a toolkit's, or that of a Python package, or CUDART=path of libcudart.so.N):
# gpu-tests runs tests/cuda with it, under compute-sanitizer too where there is one; gpu-bench runs bench/gpu beside
# PyTorch where there is one; each within four minutes. Without a GPU both say so. gpu-dry: the same programs with the
# emulator in the runtime's place, the benchmarks in small sizes.
CUDA_HOME ?= /usr/local/cuda
ptxas: $(CUDA_WHITE) $(CUDA_MERGED)
	@EVERY=$(EVERY) sh tests/cuda/ptxas.sh $(B) $(CUDA_WHITE) $(CUDA_MERGED)
CUDART ?= $(firstword $(wildcard $(CUDA_HOME)/lib64/libcudart.so $(CUDA_HOME)/lib64/libcudart.so.* $(CUDA_HOME)/targets/*/lib/libcudart.so* /usr/lib/*/libcudart.so*) \
            $(shell python3 -c "import glob, site; print(*[p for d in site.getsitepackages() + [site.getusersitepackages()] for p in glob.glob(d + '/nvidia/*/lib/libcudart.so.*')])" 2>/dev/null))
GPU_DRY  ?=
GPU_LIBS  = $(if $(GPU_DRY),$(abspath $(EMULATOR)),$(or $(CUDART),$(error no libcudart found: CUDART=path names one)) -Wl,-rpath,$(dir $(CUDART)))
GPU_B     = $(B)/gpu$(GPU_DRY)
GPU_WHITE  = $(patsubst tests/cuda/%.c,$(GPU_B)/%,$(wildcard tests/cuda/white_*.c))
GPU_MERGED = $(patsubst tests/cuda/%.c,$(GPU_B)/%,$(wildcard tests/cuda/test_*.c))
GPU_TOO    = $(if $(GPU_DRY),$(EMULATOR))
$(B)/gpu/white_% $(B)/gpu-dry/white_%: tests/cuda/white_%.c $(CUDA_SPLIT) $(B)/split/libdync.a $(GPU_TOO)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -DTEST_REAL_GPU -DDYNC__SPLIT -Isrc -Itests $< $(CUDA_SPLIT) $(B)/split/libdync.a $(LDFLAGS) $(GPU_LIBS) $(LIBS) -o $@
$(B)/gpu/test_% $(B)/gpu-dry/test_%: tests/cuda/test_%.c $(B)/cuda/dync.o $(GPU_TOO)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -DTEST_REAL_GPU -DTEST_CUDART='"$(GPU_LIBS)"' -I. -Itests -DDYNC__IMPLEMENTED $< $(B)/cuda/dync.o $(LDFLAGS) $(GPU_LIBS) $(LIBS) -o $@
$(B)/gpu/probe $(B)/gpu-dry/probe: tests/cuda/probe.c $(B)/cuda/dync.o $(GPU_TOO)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -I. -DDYNC__IMPLEMENTED $< $(B)/cuda/dync.o $(LDFLAGS) $(GPU_LIBS) $(LIBS) -o $@
$(B)/gpu/bench $(B)/gpu-dry/bench: bench/gpu/bench.c $(B)/release/cuda/dync.o $(GPU_TOO)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -I. -DDYNC__IMPLEMENTED $< $(B)/release/cuda/dync.o $(LDFLAGS) $(GPU_LIBS) $(LIBS) -o $@
GPU_PYTHON ?= $(or $(PYTHON),python3)
gpu-tests: $(GPU_B)/probe $(GPU_WHITE) $(GPU_MERGED)
	@B=$(B) sh tests/cuda/gpu.sh $(GPU_B) $(GPU_B)/probe $(GPU_WHITE) $(GPU_MERGED)
gpu-bench: $(GPU_B)/probe $(GPU_B)/bench
	@if $(GPU_B)/probe; then J=$(GPU_B)/bench.json $(GPU_B)/bench $(if $(GPU_DRY),--tiny,--seconds 110) && \
	    $(GPU_PYTHON) bench/gpu/peer.py $(GPU_B)/bench.json --json $(GPU_B)/table.json --markdown $(GPU_B)/table.md $(if $(GPU_DRY),--tiny --seconds 1,--seconds 110); \
	    else echo "no GPU: nothing was measured"; fi
gpu:
	@$(MAKE) --no-print-directory gpu-tests
	@$(MAKE) --no-print-directory gpu-bench
# Everything that needs no GPU, before there is one: then tests/cuda/first_hour.sh runs what does, and sums it up on a
# page.
gpu-build: $(GPU_B)/probe $(GPU_WHITE) $(GPU_MERGED) $(GPU_B)/bench
# The programs of gpu-tests and gpu-bench compile without the emulator.
gpu-compiles:
	@for f in $(wildcard tests/cuda/white_*.c); do $(CC) $(STD) $(USER) -Werror -fsyntax-only -DTEST_REAL_GPU -DDYNC__SPLIT -Isrc -Itests $$f || exit 1; done
	@for f in $(wildcard tests/cuda/test_*.c) tests/cuda/probe.c bench/gpu/bench.c; do \
	    $(CC) $(STD) $(USER) -Werror -fsyntax-only -DTEST_REAL_GPU -DTEST_CUDART='""' -I. -Itests -DDYNC__IMPLEMENTED $$f || exit 1; done
gpu-dry:
	@$(MAKE) --no-print-directory GPU_DRY=-dry gpu-tests gpu-bench
.PHONY: gpu-tests gpu-bench gpu-build gpu-compiles gpu-dry

# ---- structure ------------------------------------------------------------------------------------------------------------------
layers: $(B)/tools/layers
	@$(B)/tools/layers src/dync.in.h src/dync_cuda.in.h $(filter-out %.in.h,$(SRC)) $(CUDA_SRC)
# One layout for every source (.clang-format): format applies it, format-check compares.
format: ; @sh tools/format.sh
format-check: ; @sh tools/format.sh --check
.PHONY: format format-check
size: $(B)/tools/size
	@$(B)/tools/size dync.h $(filter-out src/api/ops%,$(SRC))
# Unoptimised, so that every helper has its symbol; asked of the compiler, of the symbol table and of the debug
# information.
$(B)/names.o: $(B)/dync.c dync.h
	$(Q)$(CC) $(STD) -O0 -g3 -fno-eliminate-unused-debug-types -I. -c $< -o $@
names: $(B)/tools/names $(B)/names.o
	@$(NM) $(B)/names.o | $(B)/tools/names symbols
	@$(NM) -u $(B)/names.o | $(B)/tools/names calls
	@$(CC) $(STD) -dD -E -I. $(B)/dync.c | $(B)/tools/names macros
	@$(READELF) --debug-dump=info $(B)/names.o 2>/dev/null | $(B)/tools/names types
# Each operator that a function calls by its number has its row named beside it, for the linkers of small programs.
links: $(B)/tools/links $(B)/dync.c dync.h
	@$(CC) $(STD) -E -P -DDYNC_SMALL -I. $(B)/dync.c | $(B)/tools/links
.PHONY: links
# Machine code does not depend on how the library is compiled.
same-code: $(B)/names.o $(B)/dync.o
	@for o in names dync; do $(CC) $(STD) $(USER) -Werror -O0 -I. -DDYNC__IMPLEMENTED tests/embed/code.c $(B)/$$o.o $(LDFLAGS) $(LIBS) -o $(B)/code-$$o && \
	    DYNC_LOG=code $(B)/code-$$o 2> $(B)/code-$$o.txt || exit 1; done
	@cmp $(B)/code-names.txt $(B)/code-dync.txt
switches-compile: $(B)/dync.c dync.h
	@for s in $(SWITCHES); do $(CC) $(STD) $(USER) -Werror -D$$s -I. -fsyntax-only $(B)/dync.c || { echo "fails with $$s"; exit 1; }; done
.PHONY: switches-compile
# Without F64: every operator beside PyTorch, random programs, models, layers and training as with it, and C++.
NO_F64   := $(addsuffix .c,tests/models/test_random_programs tests/models/test_models tests/nn/test_layers tests/aot/test_training)
switches-f64: $(B)/dync.c dync.h
	@mkdir -p $(B)/no_f64
	@printf '#define DYNC_IMPLEMENTATION\n#include "dync.h"\n#include "tests/unit/test_ops.c"\n' > $(B)/no_f64/ops.c
	$(Q)$(CC) $(STD) $(USER) -Werror -O0 -DDYNC_NO_F64 -I. -Isrc -Itests $(B)/no_f64/ops.c $(LDFLAGS) $(LIBS) -o $(B)/no_f64/ops && $(B)/no_f64/ops
	$(Q)$(CC) $(STD) $(USER) -Werror -O0 $(CHECKED) -DDYNC_NO_F64 -I. -c $(B)/dync.c -o $(B)/no_f64/dync.o
	$(Q)for t in tests/embed/no_f64.c $(NO_F64); do o=$(B)/no_f64/`basename $$t .c`; \
	    $(CC) $(STD) $(USER) -Werror -O0 -DDYNC_NO_F64 -DDYNC__IMPLEMENTED -I. -Itests $$t $(B)/no_f64/dync.o $(LDFLAGS) $(LIBS) -o $$o && \
	    $$o `case $$t in *no_f64.c) echo $$o.safetensors ;; esac` || exit 1; done
	$(Q)DYNC_CPU=none $(B)/no_f64/no_f64
	@command -v $(firstword $(CXX)) >/dev/null || { echo "skip no_f64.cpp: there is no $(CXX) here"; exit 0; }; \
	    $(CXX) -std=c++17 $(CXX_WARN) -DDYNC_NO_F64 -I. tests/embed/no_f64.cpp $(B)/no_f64/dync.o $(LDFLAGS) $(LIBS) -o $(B)/no_f64/cxx && $(B)/no_f64/cxx
.PHONY: switches-f64
switches: switches-compile switches-f64
	@printf '#include "tests/embed/small.c"\n' > $(B)/small.c
	$(Q)$(CC) $(STD) $(USER) -Os -DDYNC_SMALL -I. $(B)/small.c $(LDFLAGS) -lm -o $(B)/small && $(B)/small >$(B)/small.out
	@printf '#define DYNC_IMPLEMENTATION\n#include "tests/embed/switches.c"\n' > $(B)/switches.c
	$(Q)$(CC) $(STD) $(USER) -Werror -O0 $(ABILITIES) -I. $(B)/switches.c $(LDFLAGS) $(LIBS) -o $(B)/switches && $(B)/switches $(B)/switches.dync
	$(Q)$(CC) $(STD) $(USER) -Werror -O0 $(filter-out %PRINT_GRAPH,$(ABILITIES)) -I. $(B)/switches.c $(LDFLAGS) $(LIBS) -o $(B)/switches && \
	    $(B)/switches $(B)/switches.dync

# ---- ONNX -------------------------------------------------------------------------------------------------------------------------
# The tests of the package onnx, by tests/interop's Python; without one: skip, and why.
onnx-tests: $(B)/tests/onnx/run_cases
	@sh tests/onnx/run.sh $< $(B)/onnx
$(B)/tests/onnx/run_cases: tests/onnx/run_cases.c $(B)/split/libdync.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(USER) $(CFLAGS) -DDYNC__SPLIT -Isrc -Itests $< $(B)/split/libdync.a $(LDFLAGS) $(LIBS) -o $@
.PHONY: onnx-tests

# ---- C++ and embedding -----------------------------------------------------------------------------------------------------------------
CXX_WARN := -Wall -Wextra -pedantic -Wshadow -Wconversion -Wsign-conversion -Werror
CXX_TESTS := $(wildcard tests/api/*.cpp)
cxx: $(B)/dync.o
	@mkdir -p $(B)/cxx
	@command -v $(firstword $(CXX)) >/dev/null || { echo "skip cxx: there is no $(CXX) here"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }; \
	for std in 17 20; do for t in $(CXX_TESTS); do o=$(B)/cxx/`basename $$t .cpp`$$std; \
	    $(CXX) -std=c++$$std $(CXX_WARN) -I. -Itests $$t $(B)/dync.o $(LDFLAGS) $(LIBS) -o $$o && $$o || exit 1; done; done
embed: dync.h
	@CC="$(CC)" CXX="$(CXX)" CFLAGS="$(CFLAGS)" LDFLAGS="$(LDFLAGS)" sh tests/embed/run.sh $(B)/embed
size-report: dync.h        # flash and RAM by program, chip and module: docs/sizes.md
	@sh tests/embed/size_report.sh $(B)/size_report
$(B)/peers/nets: tests/embed/peers/nets.c $(MERGED_DYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK)
$(B)/steps/nets: tests/embed/steps/nets.c $(MERGED_DYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK)
$(B)/boards/nets: tests/embed/networks.c tests/program/networks.h $(MERGED_DYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK)
$(B)/digits/train: examples/17_microcontroller/train.c $(MERGED_DYNC)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	$(Q)$(LINK)
export-peers: $(B)/peers/nets   # exported networks beside those written by hand: docs/exported-c.md
	@sh tests/embed/peers.sh $(B)/peers $(B)/peers/nets $(T)
export-int8: $(B)/peers/nets    # the same networks in 8-bit integers, without and with instructions for pairs
	@sh tests/embed/peers_int8.sh $(B)/peers-int8 $(B)/peers/nets $(T)
digits: $(B)/digits/train      # the demo's network in floats and in 8-bit integers on a Cortex-M4, as on the host
	@sh tests/embed/digits.sh $(B)/digits $(B)/digits/train
chip-programs: $(B)/boards/nets    # what must work on a chip, on the host and on emulated ones; CHIPS="m7"
	@CC="$(CC)" sh tests/embed/boards.sh $(B)/boards $(B)/boards/nets
.PHONY: chip-programs
chip-steps: $(B)/steps/nets    # exported training steps learn on emulated chips, to the bits of the host
	@CC="$(CC)" sh tests/embed/steps.sh $(B)/steps $(B)/steps/nets
m32: dync.h
	@CC="$(CC)" sh tests/embed/run.sh $(B)/embed m32

# The programs in the README, the manual and the guides are compiled, run and compared with what the README says they
# print.
docs-check: $(B)/tools/docs $(B)/tools/runtests $(B)/dync.o
	@rm -rf $(B)/docs && mkdir -p $(B)/docs
	@programs=`$(B)/tools/docs $(B)/docs README.md src/api/manual.h docs/minifier.md` && for p in $$programs; do \
	    $(CC) $(STD) $(USER) -Werror -I. -DDYNC__IMPLEMENTED $$p $(B)/dync.o $(LDFLAGS) $(LIBS) -o $${p%.c} && $${p%.c} >$${p%.c}.out || exit 1; \
	    [ ! -f $${p%.c}.txt ] || cmp $${p%.c}.txt $${p%.c}.out || { cat $${p%.c}.out; exit 1; }; done

# ---- sanitizers -------------------------------------------------------------------------------------------------------------------------
# Allocations that cannot be served return NULL, as malloc does. Of random cases a quarter; SOAK says otherwise.
SAN = SOAK=$(or $(SOAK),0.25) ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1 $(MAKE) --no-print-directory B=$(B)/$@ SPLIT=1 \
      CFLAGS="-O1 -g1 -fno-omit-frame-pointer -fsanitize=$(1) -fno-sanitize-recover=all $(if $(findstring clang,$(CC)),-Wno-pass-failed)" LDFLAGS="-fsanitize=$(1)"
asan: ; +@$(call SAN,address) run samples
ubsan: ; +@$(call SAN,undefined) run samples
sanitize: ; +@$(call SAN,address$(comma)undefined) run samples
tsan: ; +@$(call SAN,thread) run T="thread pool"
comma := ,
# The samples are compiled without optimisation: a leak or a bad read then has its line.
valgrind:
	@$(MAKE) --no-print-directory B=$(B)/valgrind CFLAGS="-O1 -g" valgrind-run
.PHONY: valgrind-run
valgrind-run: $(SAMPLES) $(B)/tools/runtests
	@$(RUN) --with "valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --suppressions=$(CURDIR)/tests/valgrind.supp" \
	        --examples tests/samples/expected $(SAMPLES)

# What a folder of tests needs beyond this (oracles, fuzzers) stands in its rules.mk.
include $(wildcard tests/*/rules.mk)

clean:
	rm -rf build $(B)
help:
	@echo "make            headers, library, tools"
	@echo "make demo       trains a network on handwritten digits and shows what the compiler did"
	@echo "make test       what to run after a change; the last line is N passed, N failed"
	@echo "make test-all   everything deterministic: long tests, each DYNC_CPU level, every way to build and embed; test-rest: that without test"
	@echo "make check      the quick ones; make run T=softmax: those whose path contains T"
	@echo "make examples   the numbered lessons, compared with examples/expected/;  make samples: tests/samples"
	@echo "make bench      times and ratios;  bench-peers: beside PyTorch, ONNX Runtime, numexpr (ARGS=--quick)"
	@echo "make bench-export   networks exported as C, -O3, beside the compiled functions; T=\"cnn gru\""
	@echo "make bench-lengths  is any length slower compiled than plain, what a new one costs; T=block: of one program"
	@echo "make bench-versus REF=commit   this tree's times over that commit's, row by row"
	@echo "make headers    (or amalgamate) dync.h from src/;  headers-current: is the committed one fresh?"
	@echo "make layers names links size switches same-code cxx split embed m32 docs-check   structure and build variants"
	@echo "make asan ubsan sanitize tsan valgrind soak           sanitizers; everything long;  passes: the models without each pass"
	@echo "make fuzz T=program SECONDS=60   fuzzers of every reader;  opinfo, oracle-random: beside PyTorch;  verify: DYNC_VERIFY=1 over everything"
	@echo "make format     the layout of .clang-format for every source; format-check: is it there?"
	@echo "make codegen-diff   machine code of every kernel here and at REF (where the branch left main), every level; SET=quick"
	@echo "make size-report   flash and RAM of small programs on four kinds of chip, by module; CHIPS=\"m4f m7\""
	@echo "make export-peers   networks exported as C beside the same by hand: instructions and RAM on a Cortex-M4; T=\"cnn gru\" FLAGS=-O3"
	@echo "make export-int8    the same networks in 8-bit integers, without and with instructions for pairs of 16 bits"
	@echo "make digits     the demo's network on an emulated Cortex-M4, in floats and in 8-bit integers"
	@echo "make chip-programs   hello, a branch, export, training and too small buffers on emulated chips: buffer and stack"
	@echo "make chip-steps exported training steps learn on emulated chips, to the bits of the host"
	@echo "make golden-update   rewrites what the golden files of tests/ir expect; review the difference"
	@echo "make ptxas      the PTX of the tests through ptxas;  gpu: gpu-tests and gpu-bench on a machine with a GPU; gpu-dry: the same, emulated"
	@echo "make clean      removes build/"
	@echo "variables       CC CXX CFLAGS LDFLAGS V=1 WERROR=1 B=dir"

-include $(wildcard $(B)/tests/cuda_emulator/*.d $(B)/split/*/*.d $(B)/split/tools/ir/*.d $(B)/tests/*/*.d $(B)/examples/*.d $(B)/bench/*.d)
