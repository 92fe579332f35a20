"""What a GPU is to reach, set against a table of peer.py: goals.py table.json

A line a goal: met, missed (by how much) or not measured. The exit status is 0: a figure that falls short is written down, not failed."""
import json
import sys

try:
    with open(sys.argv[1]) as file:
        table = json.load(file)
except OSError as error:
    sys.exit(f"no table to judge: {error}")
rows, copy = table["rows"], table["copy_rate"]


def best(name, side, way=""):
    """The least time of a side's ways (host and device side by side: the larger of the two counts), in us; None without a figure."""
    times = [max(v["device_us"], v["host_us"]) for k, v in rows.get(name, {}).items() if k.startswith(f"{side} {way}") and not v.get("failed") and not v.get("wrong")]
    return min(times) if times else None


def of_copy(name):
    """The bytes a call has to move over its time, as a part of what the device's own copy moves."""
    us = best(name, "dync")
    return us and copy and next(iter(rows[name].values())).get("bytes", 0) / us * 1e6 / copy


def of_peer(name):
    ours, theirs = best(name, "dync"), best(name, "torch")
    return ours and theirs and theirs / ours


def of_kernels(names):
    """A recorded graph of ten kernels over ten times what one kernel more costs."""
    ten, twenty = (best(n, "dync", "cudagraphs") for n in names)
    return ten and twenty and twenty > ten and (twenty - ten) / ten


def goals():
    for name in rows:
        if any(name.startswith(w) for w in ("x + y", "gelu(x)", "sum", "softmax", "layer_norm")):
            yield "of the copy rate", name, of_copy(name), 0.95
    for name in rows:
        least = 0.95 if name in ("matmul bf16, 4096", "matmul bf16, 8192") else 0.9 if name.startswith(("attention bf16, 2", "attention bf16, causal", "conv")) else \
            1.0 if any(w in name for w in ("block", "training", "ResNet")) else None
        if least:
            yield "of PyTorch's best", name, of_peer(name), least
    pair = ("ten kernels, f32, 64 x 64", "twenty kernels, f32, 64 x 64")
    yield "kernels of the graph's time", pair[0], of_kernels(pair), 1 / 1.1


met = missed = unknown = 0
print(table["head"])
for what, name, value, least in goals():
    if not value:
        unknown += 1
        print(f"  -       {name}: {what}: not measured")
    elif value >= least:
        met += 1
        print(f"  met     {name}: {value:.2f} {what} (goal {least:.2f})")
    else:
        missed += 1
        print(f"  MISSED  {name}: {value:.2f} {what} (goal {least:.2f})")
print(f"goals: {met} met, {missed} missed, {unknown} not measured")
