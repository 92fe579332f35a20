# Fuzzers of everything that reads bytes (tests/fuzz/targets.h): make fuzz T="graph npy" SECONDS=60; without T all of
# them, as many at a time as there are cores. Each begins from tests/fuzz/corpus/NAME and what it found before;
# findings lie in build/fuzz/found and belong into the corpus once they are mended. clang's libFuzzer with ASan and
# UBSan; without it the corpora run through a plain driver. Machine code is not instrumented: DYNC_CPU=none.
FUZZ_TARGETS := doors graph json kernel module npy onnx ops program safetensors
FUZZ_CC      ?= clang
FUZZ_SAN     := -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_CFLAGS  := -O1 -g1 -fno-omit-frame-pointer $(FUZZ_SAN)
FUZZ_HAS     := printf 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d ? (int)(n & 0) : 0; }' | $(FUZZ_CC) -x c - -fsanitize=fuzzer -o $(B)/fuzz_probe 2>/dev/null
FUZZ_DIR     := $(B)/fuzz
SECONDS      ?= 60
.PHONY: fuzz fuzz-build
fuzz:
	@mkdir -p $(FUZZ_DIR)/found
	@if $(FUZZ_HAS); then $(MAKE) --no-print-directory FUZZ_PLAIN= fuzz-build && \
	    printf '%s\n' $(or $(T),$(FUZZ_TARGETS)) | xargs -P $(CORES) -n 1 sh tests/fuzz/fuzz.sh $(FUZZ_DIR) $(SECONDS); \
	else echo "$(FUZZ_CC) has no libFuzzer: the corpora run through a plain driver"; $(MAKE) --no-print-directory FUZZ_PLAIN=1 fuzz-build && \
	    sh tests/fuzz/fuzz.sh $(FUZZ_DIR) 0 $(or $(T),$(FUZZ_TARGETS)); fi
fuzz-build:
	@$(MAKE) --no-print-directory B=$(FUZZ_DIR)/build SPLIT=1 CC="$(if $(FUZZ_PLAIN),$(CC),$(FUZZ_CC))" \
	    CFLAGS="$(FUZZ_CFLAGS) $(if $(FUZZ_PLAIN),,-fsanitize=fuzzer-no-link -Wno-pass-failed)" $(FUZZ_DIR)/build/split/libdync.a
	@for t in $(or $(T),$(FUZZ_TARGETS)); do \
	    $(if $(FUZZ_PLAIN),$(CC),$(FUZZ_CC)) $(STD) $(FUZZ_CFLAGS) $(if $(FUZZ_PLAIN),-DFUZZ_PLAIN,-fsanitize=fuzzer) -DFUZZ_TARGET="\"$$t\"" -DDYNC__SPLIT \
	        -Isrc -Itests tests/fuzz/fuzz.c $(FUZZ_DIR)/build/split/libdync.a $(LIBS) -o $(FUZZ_DIR)/fuzz_$$t || exit 1; done
