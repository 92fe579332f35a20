#!/bin/sh
# Formats every source by .clang-format; --check only says what is not formatted. The version is fixed, since each
# formats a little differently: CLANG_FORMAT=path names a binary of it, else it is installed from PyPI into
# build/format. Left out: what is generated (dync.h, src/api/ops*.h, src/op/entries.c, samples that tests/oracle
# writes).
set -eu
cd "$(dirname "$0")/.."
version=20.1.8
tool=${CLANG_FORMAT:-build/format/bin/clang-format}
if [ ! -x "$tool" ]; then
    command -v python3 >/dev/null && python3 -m venv build/format && build/format/bin/pip install -q "clang-format==$version" || {
        echo "skip format: clang-format $version cannot be installed here"; exit 0; }
fi
"$tool" --version | grep -q "$version" || { echo "format: $tool is not version $version"; exit 1; }
mkdir -p build
find src tests tools bench examples -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' |
    grep -v -e '^src/api/ops[a-z_]*\.h$' -e '^src/op/entries\.c$' -e '^tests/ops/samples\.c$' -e '^tests/ops/opinfo\.c$' \
            -e '^tests/ops/edges\.c$' -e '^tests/ops/promotion\.c$' |
    xargs grep -L '^/\* Written by tests/oracle/dynamo' | LC_ALL=C sort > build/format.files
if [ "${1:-}" = --check ]; then
    xargs -n 40 "$tool" --dry-run -Werror < build/format.files
    # tables, which stand between clang-format off and on, may be 120 columns wide
    xargs awk 'FNR == 1 || /clang-format on/ { most = 100 } /clang-format off/ { most = 120 }
        length($0) > most { printf "%s:%d: %d columns\n", FILENAME, FNR, length($0); wide = 1 }
        END { exit wide }' < build/format.files
else
    xargs -n 40 "$tool" -i < build/format.files
fi
