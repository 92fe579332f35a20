"""What torch.compile does in the scenarios of tests/upstream: each is a function here and a C test
there, under one name. Running this file writes what PyTorch tells of them into tests/upstream/*.h.

    python tests/oracle/dynamo.py [GROUP ...]       (dynamo_GROUP.py beside this file)
"""
import importlib
import logging
import pathlib
import re
import sys
import textwrap
import warnings

import torch
import torch._dynamo
import torch._dynamo.testing

HERE = pathlib.Path(__file__).parent
GROUPS = ["breaks", "guards", "settings", "hooks", "modes", "writes", "autograd", "flow", "training"]
scenarios, facts = [], []


def scenario(fn):
    scenarios.append(fn)
    return fn


def tell(name, value):
    """A fact of the scenario that runs: a number, a text, or the elements of a tensor."""
    if isinstance(value, torch.Tensor):
        value = value.detach().to(torch.float64).flatten().tolist()
    elif not isinstance(value, str):
        value = [float(v) for v in value] if isinstance(value, (list, tuple)) else [float(value)]
    facts.append((scenarios_name[0], name, value))


scenarios_name = [""]


def ramp(*shape, start=0, grad=False, dtype=torch.float32):
    """Numbers that are exact in every dtype: as ramp() of upstream.h."""
    n = 1
    for s in shape:
        n *= s
    flat = ((torch.arange(n) * 7 + start * 3) % 11 - 5) / 4
    return flat.reshape(shape).to(dtype).clone().requires_grad_(grad)


class Counter:
    """frames, ops: what a backend was given, as CompileCounter counts."""

    def __init__(self, inner="eager"):
        self.frames = self.ops = 0
        self.graphs = []
        self.inner = inner

    def __call__(self, gm, inputs):
        self.frames += 1
        self.graphs.append(gm)
        self.ops += sum("call" in n.op for n in gm.graph.nodes)
        return torch._dynamo.lookup_backend(self.inner)(gm, inputs)

    def tell(self, suffix=""):
        tell("frames" + suffix, self.frames)
        tell("ops" + suffix, self.ops)


def compiled(fn, inner="eager", **options):
    counter = Counter(inner)
    return torch.compile(fn, backend=counter, **options), counter


def reason_of(text):
    """Of a guard failure, what is the same in all versions: without compile id and source line."""
    for pattern in [r"(size|stride) mismatch at index \d+\. expected \d+, actual \d+",
                    r"(rank|dtype|requires_grad) mismatch\. expected [\w=]+(, actual \w+)?",
                    r"GLOBAL_STATE changed: \w+ ", r"Duplicate tensors? found"]:
        found = re.search(pattern, text)
        if found:
            return found.group(0)
    guard = re.sub(r"^\d+/\d+: ", "", text).split("  ")[0]
    return re.sub(r"\b([a-z]\w*)(?=\.size| ==| is|\))", r"L['\1']", guard) # as versions up to 2.4 named it


def error_of(call):
    """Class and message of what a call raises."""
    try:
        call()
    except Exception as e:  # noqa: BLE001
        return type(e).__name__, str(e)
    return "", ""


def text_of(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def write(group):
    scenarios.clear()
    facts.clear()
    importlib.import_module("dynamo_" + group)
    for fn in scenarios:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.set_grad_enabled(True)
        scenarios_name[0] = fn.__name__
        fn()
    lines = [f"/* Written by tests/oracle/dynamo.py from dynamo_{group}.py: what PyTorch "
             f"{torch.__version__.split('+')[0]} told. */",
             "/* clang-format off */", "static const upstream_fact upstream_facts[] = {"]
    for where, name, value in facts:
        if isinstance(value, str):
            row = f'    {{"{where}", "{name}", {text_of(value)}, 0, {{0}}}},'
            lines.append(row if len(row) <= 120 else row.replace(f' {text_of(value)}', f'\n     {text_of(value)}', 1))
        else:
            numbers = ", ".join(f"{v:.9g}" for v in value).replace("nan", "NAN").replace("inf", "INFINITY")
            row = f'    {{"{where}", "{name}", NULL, {len(value)}, {{{numbers or 0}}}}},'
            lines.append(textwrap.fill(row, 120, subsequent_indent="     ", break_on_hyphens=False))
    lines += ["};", "/* clang-format on */", ""]
    (HERE.parent / "upstream" / f"{group}.h").write_text("\n".join(lines))
    print(f"{group}: {len(scenarios)} scenarios, {len(facts)} facts")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.modules["dynamo"] = sys.modules["__main__"]
    for each in sys.argv[1:] or GROUPS:
        write(each)
