"""tests/opinfo/opinfo.py: PyTorch's own operator samples (OpInfo) through dync.

    make opinfo PYTHON=python                       everything; the last line is N passed, N failed
    make opinfo ARGS="add softmax"                  these rows of src/op/ops_*.def.h
    make opinfo ARGS="add --dtype float32 --sample 7 -v"     one sample, as a difference is printed
    --most N       samples of one operator and dtype, evenly picked        --compiled N    of these compiled (default 12)
    --elements N   samples of at most so many elements
    --no-gradients, --no-reference, --no-errors

Samples are sample_inputs, reference_inputs and sample_inputs made noncontiguous. Each: results (dtype, shape, values, NaN and infinities,
what was written to inputs), gradients with random cotangents, gradients of gradients, the same compiled (also with .double_backward, with
symbolic sizes, and as AOT's graphs), what PyTorch refuses. known.txt has the differences that stay. Each operator runs in a process of its
own: a crash is a difference."""
import argparse
import collections
import os
import pickle
import re
import signal
import struct
import sys
import time
import traceback
import warnings

import torch

import dync
import table
from case import Case, full_name, short

warnings.filterwarnings('ignore')
HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_A_ROW = 1200


# ---- a row, in a process of its own ---------------------------------------------------------------------------------------------------------
def run_row(path, row, found, options, out):
    torch.set_num_threads(1)
    lib = dync.Dync(path)

    def send(*message):
        data = pickle.dumps(message)
        out.write(struct.pack('<I', len(data)) + data)
        out.flush()

    counts = collections.Counter()

    def report(kind, name, info, dtype, index, what):
        if what is None:
            counts[kind[4:]] += 1
        elif kind == 'other form':
            counts['form: ' + what] += 1
        else:
            send('found', kind, name, full_name(info), dtype, index, what)

    options.progress = lambda text: send('at', text)
    for _, info, adapter, in_place in found:
        supported = info.supported_dtypes('cpu')
        for dtype in table.DTYPES:
            if options.dtype and short(dtype) not in options.dtype:
                continue
            case = Case(lib, row, info, adapter, in_place, dtype, report, options)
            if dtype in supported:
                case.run_all(options.sample)
            elif options.errors and options.sample is None:
                case.run_other_dtype()
            if options.errors and options.sample is None:
                case.run_errors()
    send('done', counts)


class Late(Exception):
    pass


def late(*_):
    raise Late()


def read_exactly(f, n):
    data = f.read(n)
    return data if data and len(data) == n else None


def start_row(path, row, found, options):
    """-> messages of a child; a crash is one of them."""
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(r)
        code = 1
        try:
            run_row(path, row, found, options, os.fdopen(w, 'wb'))
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    os.close(w)
    at, done = '', False
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS_A_ROW)
    try:
        with os.fdopen(r, 'rb') as f:
            while True:
                head = read_exactly(f, 4)
                if head is None:
                    break
                message = pickle.loads(read_exactly(f, struct.unpack('<I', head)[0]))
                if message[0] == 'at':
                    at = message[1]
                else:
                    done = done or message[0] == 'done'
                    yield message
    except Late:
        os.kill(child, signal.SIGKILL)
        yield 'found', 'runner', row.name, '', '', -1, 'took more than %d s, at %s' % (SECONDS_A_ROW, at)
    signal.alarm(0)
    _, status = os.waitpid(child, 0)
    if not done and status:
        yield 'found', 'crash', row.name, '', '', -1, 'status %d at %s' % (status, at)


# ---- known differences ---------------------------------------------------------------------------------------------------------------------
class Known:
    """known.txt: operator, or operator(OpInfo) | kinds | dtypes | a regular expression that the difference matches | reason. * is any; operators
    and dtypes are separated by blanks, kinds by commas."""

    def __init__(self, path):
        self.lines = []
        for line in open(path) if os.path.exists(path) else ():
            if line.strip() and not line.startswith('#'):
                self.lines.append([part.strip() for part in re.split(r' \| ', line)])
        self.hits = collections.Counter()

    def find(self, kind, name, info, dtype, what):
        for i, (names, kinds, dtypes, text, _) in enumerate(self.lines):
            if (names == '*' or name in names.split() or '%s(%s)' % (name, info) in names.split()) and (kinds == '*' or kind in [k.strip() for k in kinds.split(',')]) and \
                    (dtypes == '*' or dtype in dtypes.split()) and (text == '*' or re.search(text, what)):
                self.hits[i] += 1
                return True
        return False


def normal(text):
    return re.sub(r'0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?|nan|inf', '#', text)[:160]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('library')
    p.add_argument('rows', nargs='*')
    p.add_argument('--dtype', nargs='*')
    p.add_argument('--sample', type=int)
    p.add_argument('--most', type=int, default=0)
    p.add_argument('--elements', type=int, default=0)
    p.add_argument('--compiled', type=int, default=12)
    p.add_argument('--no-gradients', dest='gradients', action='store_false')
    p.add_argument('--no-reference', dest='reference', action='store_false')
    p.add_argument('--no-errors', dest='errors', action='store_false')
    p.add_argument('--known', default=os.path.join(HERE, 'known.txt'))
    p.add_argument('--all', action='store_true', help='each difference in a line, not one of a kind')
    p.add_argument('-v', action='store_true')
    options = p.parse_intermixed_args()
    rows, infos = table.rows(), table.infos()
    found = collections.defaultdict(list)
    for entry in table.entries(rows, infos):
        found[entry[0].name].append(entry)
    known, counts, differences = Known(options.known), collections.Counter(), []
    for name in options.rows or sorted(found):
        start = time.time()
        for message in start_row(options.library, rows[name], found[name], options):
            if message[0] == 'done':
                counts.update(message[1])
            elif not known.find(message[1], message[2], message[3], message[4], message[6]):
                differences.append(message[1:])
                if options.v or options.all:
                    print('%s: %s (%s) %s sample %d: %s' % message[1:], flush=True)
        if options.v:
            print('%s: %.1f s' % (name, time.time() - start), flush=True)
    return summary(known, counts, differences)


def summary(known, counts, differences):
    groups = collections.defaultdict(list)
    for d in differences:
        groups[(d[1], d[0], normal(d[5]))].append(d)
    for (row, kind, _), items in sorted(groups.items()):
        print('FAIL %s: %s (%s) %s sample %d: %s%s' % (kind, row, items[0][2], items[0][3], items[0][4], items[0][5],
              '  [%d such, %s]' % (len(items), ' '.join(sorted({i[3] for i in items}))) if len(items) > 1 else ''))
    forms = sum(n for k, n in counts.items() if k.startswith('form: '))
    print('samples of a form that the row does not have:', forms)
    for k, n in sorted(counts.items()):
        if not k.startswith('form: '):
            print('%-28s %d' % (k, n))
    for i, line in enumerate(known.lines):
        print('known: %s (%s, %s): %d: %s' % (line[0], line[1], line[2], known.hits[i], line[4]))
    total = sum(n for k, n in counts.items() if not k.startswith('form: '))
    stay = sum(known.hits.values())
    print('%d known differences' % stay)
    print('%d passed, %d failed' % (total - len(differences) - stay, len(differences)))
    return 1 if differences else 0


if __name__ == '__main__':
    sys.exit(main())
