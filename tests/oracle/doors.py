"""Small files of every kind that dync_tensors_load reads, written by NumPy, PyTorch and gguf into tests/fuzz/corpus/doors: seeds of the fuzzer,
files of tests/unit/test_doors.c. doors.py folder"""
import collections
import json
import os
import sys

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Q

folder = sys.argv[1]


def path(name):
    return os.path.join(folder, name)


ramp = np.arange(24, dtype=np.float32).reshape(4, 6) / 2
arrays = dict(ramp=ramp, turned=np.asfortranarray(ramp), big=ramp.astype(">f4"), ints=np.arange(-3, 5), on=np.array([True, False]), none=np.zeros((0, 3)))
np.savez(path("stored.npz"), **arrays)
np.savez_compressed(path("deflated.npz"), **arrays, text=np.frombuffer(b"the same words again, the same words again " * 20, dtype=np.uint8))
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
for i, p in enumerate(net.parameters()):
    p.data = torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape) + i
torch.save(net.state_dict(), path("state.pt"))
base = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4)
torch.save({"model": collections.OrderedDict(w=torch.ones(2, 2, dtype=torch.float16)), "views": [base, base.t(), base[1:, ::2]], "epoch": 3, "loss": 0.5,
            "name": "net", "on": True, 7: (torch.tensor(2), None)}, path("nested.pt"))


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


torch.save({"x": Evil()}, path("evil.pt"))
w = gguf.GGUFWriter(path("small.gguf"), "test")
w.add_uint32("n", 7)
w.add_float32("eps", 0.25)
w.add_array("words", ["a", "b"])
w.add_tensor("f32", ramp)
w.add_tensor("f16", ramp.astype(np.float16))
for q in (Q.Q8_0, Q.Q4_0):
    w.add_tensor(q.name, gguf.quantize(np.arange(64, dtype=np.float32).reshape(2, 32), q), raw_dtype=q)
half = np.frombuffer(np.float16(0.5).tobytes(), np.uint8)
for q, at in ((Q.Q4_K, [0, 2]), (Q.Q6_K, [208])):
    raw = (np.arange(gguf.GGML_QUANT_SIZES[q][1]) * 7 % 251).astype(np.uint8)
    for k in at:
        raw[k:k + 2] = half
    w.add_tensor(q.name, raw[None], raw_dtype=q)
    np.save(path(q.name + ".npy"), gguf.dequantize(raw[None], q))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
header = {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "b": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [8, 12]}}
text = json.dumps(header).encode()
with open(path("shard.safetensors"), "wb") as f:
    f.write(len(text).to_bytes(8, "little") + text + np.array([1, 2], np.float32).tobytes() + b"\x80\x3f\x00\x40")
with open(path("index.json"), "w") as f:
    json.dump({"metadata": {"total_size": 12}, "weight_map": {"a": "shard.safetensors", "b": "shard.safetensors"}}, f)
