"""Files and memory of other programs: NumPy, PyTorch, safetensors, gguf write, dync reads, and the other way round.

test_doors.py library.so"""
import collections
import gc
import json
import os
import sys
import tempfile
import weakref

import numpy as np

import dync
from dync import Tensor, check, error, skip, take

dync.load(sys.argv[1])
lib = dync.lib
try:
    import torch
except ImportError:
    torch = None
try:
    import gguf
except ImportError:
    gguf = None
rng = np.random.default_rng(7)
folder = tempfile.mkdtemp()


def path(name):
    return os.path.join(folder, name)


class File:
    def __init__(self, name):
        self.handle = lib.dync_tensors_load(path(name).encode())
        assert self.handle, error()
        self.names = [lib.dync_tensors_name(self.handle, i).decode() for i in range(lib.dync_tensors_count(self.handle))]

    def __getitem__(self, name):
        handle = lib.dync_tensors_get(self.handle, name.encode())
        assert handle, error()
        return Tensor(handle)

    def note(self, key):
        text = lib.dync_tensors_note(self.handle, key.encode())
        return None if text is None else text.decode()

    def close(self):
        lib.dync_tensors_free(self.handle)


def refused(name, *parts):
    assert not lib.dync_tensors_load(path(name).encode())
    text = error()
    assert all(p in text for p in parts), text


DTYPES = [np.float32, np.float64, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8, np.bool_]


def random_array(dtype):
    shape = [int(x) for x in rng.integers(0 if rng.random() < 0.1 else 1, 6, rng.integers(0, 6))]
    a = rng.standard_normal(shape) * 50
    a = (a > 0) if dtype is np.bool_ else np.abs(a).astype(dtype) if dtype is np.uint8 else a.astype(dtype)
    a = np.asarray(a)
    if rng.random() < 0.3:
        a = np.asfortranarray(a)
    if rng.random() < 0.2 and dtype is not np.bool_:
        a = a.astype(a.dtype.newbyteorder(">"))
    return a


def same(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype.newbyteorder("="), (got.shape, got.dtype, want.shape, want.dtype)
    np.testing.assert_array_equal(got, want)


# ---- npz -------------------------------------------------------------------------------------------------------------

def npz(packed, seed):
    arrays = {f"a.{i}": random_array(DTYPES[rng.integers(len(DTYPES))]) for i in range(rng.integers(1, 8))}
    if seed == 0:
        arrays["long"] = np.arange(300000, dtype=np.int32) // 7  # many blocks, far matches
        arrays["noise"] = rng.integers(0, 255, 100000).astype(np.uint8)  # stored blocks inside of deflate
    (np.savez_compressed if packed else np.savez)(path("x.npz"), **arrays)
    f = File("x.npz")
    assert f.names == list(arrays)
    for name, a in arrays.items():
        same(f[name].numpy(), a)
    assert lib.dync_tensors_save(f.handle, path("y.npz").encode()) == 0, error()
    back = np.load(path("y.npz"))
    assert back.files == list(arrays)
    for name, a in arrays.items():
        same(back[name], a)
    f.close()


def npz_refused():
    np.savez(path("t.npz"), words=np.array(["a", "bc"]))
    refused("t.npz", "words")
    np.savez(path("c.npz"), z=np.array([1j]))
    refused("c.npz", "\"z\"")


for packed in (False, True):
    for seed in range(20):
        check("npz", npz, packed, seed)
check("npz_refused", npz_refused)

# ---- DLPack ----------------------------------------------------------------------------------------------------------

VIEWS = [lambda a: a, lambda a: a.T, lambda a: a[..., 1:], lambda a: a[::2], lambda a: a[:, None], lambda a: a[1:3, 2]]


def dlpack_in(dtype, view, versioned):
    a = view((rng.standard_normal((4, 6)) * 9).astype(dtype))
    handle = take(a, versioned)
    assert handle, error()
    same(Tensor(handle, versioned).numpy(), a)


def dlpack_alive(versioned):
    class Owner(np.ndarray):
        pass

    a = np.arange(6.0).view(Owner)
    alive = weakref.ref(a)
    named = lib.dync_tensors_new()
    handle = take(a, versioned)
    assert lib.dync_tensors_put(named, b"a", handle) == 0
    del a
    gc.collect()
    assert alive() is not None
    same(np.asarray(Tensor(lib.dync_tensors_get(named, b"a")).numpy()), np.arange(6.0))
    lib.dync_tensors_free(named)


def dlpack_shares():
    a = np.zeros(4, dtype=np.float32)
    t = Tensor(take(a))
    a[2] = 5
    view = t.numpy()
    assert view[2] == 5
    a[1] = 3
    assert view[1] == 3


def dlpack_read_only():
    a = np.arange(4.0)
    a.setflags(write=False)
    t = Tensor(take(a))
    view = t.numpy()
    same(view, a)
    assert view.ctypes.data != a.ctypes.data  # a copy: dync may write


def dlpack_backwards():
    a = np.arange(12.0).reshape(3, 4)[::-1, ::-2]
    same(Tensor(take(a)).numpy(), a)


def dlpack_refused():
    assert not take(np.array([1j])) and "code 5" in error()
    assert not take(np.arange(3, dtype=np.uint32)) and "32 bits" in error()


for dtype in DTYPES:
    for k, view in enumerate(VIEWS):
        for versioned in (False, True):
            check("dlpack_in", dlpack_in, dtype, view, versioned)
for versioned in (False, True):
    check("dlpack_alive", dlpack_alive, versioned)
check("dlpack_shares", dlpack_shares)
check("dlpack_read_only", dlpack_read_only)
check("dlpack_backwards", dlpack_backwards)
check("dlpack_refused", dlpack_refused)


def torch_dlpack(dtype, versioned):
    x = (torch.randn(3, 5) * 9).to(dtype)
    for view in (x, x.t(), x[1:, ::2], x[1], x[:, None].expand(3, 2, 5), torch.tensor(3).to(dtype)):
        capsule = view.__dlpack__(max_version=(1, 0)) if versioned else view.__dlpack__()
        handle = lib.dync_from_dlpack(dync.capsule_pointer(capsule, dync.NAMES[versioned][0]), versioned)
        assert handle, error()
        dync.capsule_rename(capsule, dync.NAMES[versioned][1])
        back = torch.utils.dlpack.from_dlpack(Tensor(handle, versioned))
        assert back.dtype == view.dtype and back.shape == view.shape and torch.equal(back, view)
        assert back.numel() == 0 or back.data_ptr() == view.data_ptr()


def torch_writes_through():
    x = torch.zeros(2, 2)
    t = Tensor(take(x))
    y = torch.utils.dlpack.from_dlpack(t)
    y[0, 1] = 7
    assert x[0, 1] == 7


if torch is None:
    skip("torch", "there is no torch in this Python")
else:
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
        for versioned in (False, True):
            check("torch_dlpack", torch_dlpack, dtype, versioned)
    check("torch_writes_through", torch_writes_through)

# ---- PyTorch's checkpoints -------------------------------------------------------------------------------------------


def torch_same(got, want):
    back = torch.utils.dlpack.from_dlpack(got)
    assert back.dtype == want.dtype and back.shape == want.shape and torch.equal(back, want), (back, want)


def state_dict():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    torch.save(net.state_dict(), path("net.pt"))
    f = File("net.pt")
    assert f.names == list(net.state_dict())
    for name, value in net.state_dict().items():
        torch_same(f[name], value)
    f.close()


def nested():
    net, base = torch.nn.Linear(2, 3), torch.randn(4, 5).to(torch.bfloat16)
    opt = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
    torch.save({"model": net.state_dict(), "opt": opt.state_dict(), "epoch": 12, "loss": 0.25, "name": "a net", "none": None, "on": True,
                "views": [base, base.t(), base[1:, ::2], base[2, 3]], "big": 2 ** 40, "negative": -5, "parameter": torch.nn.Parameter(torch.ones(2)),
                "tuple": (1, 2, torch.arange(3)), "empty": torch.zeros(0, 3), "o": collections.OrderedDict(x=torch.tensor(3.5)), 7: torch.tensor([True, False])},
               path("all.pt"))
    f = File("all.pt")
    torch_same(f["model.weight"], net.weight.detach())
    torch_same(f["opt.state.0.exp_avg"], opt.state_dict()["state"][0]["exp_avg"])
    for i, view in enumerate((base, base.t(), base[1:, ::2], base[2, 3])):
        torch_same(f[f"views.{i}"], view)
    torch_same(f["tuple.2"], torch.arange(3))
    torch_same(f["empty"], torch.zeros(0, 3))
    torch_same(f["parameter"], torch.ones(2))
    torch_same(f["o.x"], torch.tensor(3.5))
    torch_same(f["7"], torch.tensor([True, False]))
    assert [f.note(k) for k in ("epoch", "loss", "name", "on", "none", "big", "negative", "tuple.0")] == \
        ["12", "0.25", "a net", "true", None, str(2 ** 40), "-5", "1"]
    f.close()


def tied():
    x = torch.arange(6.0)
    torch.save({"a": x, "b": x}, path("tied.pt"))
    f = File("tied.pt")
    a, b = f["a"].numpy(), f["b"].numpy()
    assert a.ctypes.data == b.ctypes.data
    f.close()


class Evil:
    def __reduce__(self):
        return os.system, ("echo this must not run; exit 1",)


def unsafe():
    torch.save({"x": torch.ones(2), "evil": Evil()}, path("evil.pt"))
    refused("evil.pt", "posix.system")
    torch.save(torch.nn.Linear(2, 2), path("whole.pt"))
    refused("whole.pt", "torch.nn.modules.linear.Linear")
    torch.save({"c": torch.tensor([1j])}, path("complex.pt"))
    refused("complex.pt", "ComplexFloatStorage")
    torch.save(torch.ones(2), path("old.pt"), _use_new_zipfile_serialization=False)
    refused("old.pt", "1.6")


if torch is not None:
    for fn in (state_dict, nested, tied, unsafe):
        check(fn.__name__, fn)

# ---- safetensors -----------------------------------------------------------------------------------------------------


def write_safetensors(name, arrays, notes=None):
    codes = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}
    header, data = {"__metadata__": notes} if notes else {}, b""
    for key, a in arrays.items():
        header[key] = {"dtype": codes[a.dtype.name], "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    with open(path(name), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def shards():
    arrays = {f"layer.{i}.w": rng.standard_normal((i + 1, 3)).astype(np.float32) for i in range(7)}
    names = list(arrays)
    files = {n: f"model-{i % 3}.safetensors" for i, n in enumerate(names)}
    for file in set(files.values()):
        write_safetensors(file, {n: arrays[n] for n in names if files[n] == file}, {"format": "pt"})
    with open(path("model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": 1}, "weight_map": files}, f)
    f = File("model.safetensors.index.json")
    assert sorted(f.names) == sorted(names) and f.note("format") == "pt"
    for n in names:
        same(f[n].numpy(), arrays[n])
    f.close()
    for bad, part in (({**files, "no": "model-0.safetensors"}, "no \"no\""), ({**files, "x": "../model-0.safetensors"}, "not in a file of this folder"),
                      ({**files, "x": "/etc/passwd"}, "not in a file of this folder"), ({**files, "x": "gone.safetensors"}, "gone")):
        with open(path("bad.index.json"), "w") as out:
            json.dump({"weight_map": bad}, out)
        refused("bad.index.json", part)


def round_trip():
    arrays = {f"{i}": np.ascontiguousarray(random_array(d)).astype(d) for i, d in enumerate(DTYPES)}
    write_safetensors("r.safetensors", arrays, {"who": "a \"test\""})
    f = File("r.safetensors")
    assert f.note("who") == "a \"test\""
    assert lib.dync_tensors_save(f.handle, path("s.safetensors").encode()) == 0, error()
    f.close()
    f = File("s.safetensors")
    assert f.note("who") == "a \"test\""
    for name, a in arrays.items():
        same(f[name].numpy(), a)
    f.close()


check("shards", shards)
check("round_trip", round_trip)

# ---- GGUF ------------------------------------------------------------------------------------------------------------


def gguf_file():
    from gguf import GGMLQuantizationType as Q
    w = gguf.GGUFWriter(path("x.gguf"), "llama")
    w.add_uint32("n", 7)
    w.add_int32("negative", -7)
    w.add_float32("eps", 0.125)
    w.add_bool("on", True)
    w.add_string("text", "a b")
    w.add_array("tokens", ["a", "\"q\"", "\u00e9"])
    w.add_array("numbers", [1, 2, 3])
    w.add_uint64("big", 2 ** 40)
    want = {}
    for name, dtype in (("f32", np.float32), ("f16", np.float16), ("i8", np.int8), ("i32", np.int32), ("f64", np.float64)):
        want[name] = (rng.standard_normal((3, 5)) * 20).astype(dtype)
        w.add_tensor(name, want[name])
    for q in (Q.Q8_0, Q.Q4_0, Q.Q4_K, Q.Q6_K):
        block, size = gguf.GGML_QUANT_SIZES[q]
        raw = rng.integers(0, 256, (3, 2 * 512 // block * size), dtype=np.uint8)
        # the scales are halves: bits of small finite numbers
        for row in raw:
            for at in range(0, len(row), size):
                for k in {Q.Q8_0: [0], Q.Q4_0: [0], Q.Q4_K: [0, 2], Q.Q6_K: [208]}[q]:
                    row[at + k:at + k + 2] = np.frombuffer(np.float16(rng.standard_normal()).tobytes(), np.uint8)
        want[q.name] = gguf.dequantize(raw, q)
        w.add_tensor(q.name, raw, raw_dtype=q)
    raw = (np.arange(8, dtype=np.float32) - 3).view(np.uint32)
    w.add_tensor("bf16", (raw >> 16).astype(np.uint16).view(np.uint8).reshape(2, 8), raw_dtype=Q.BF16)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    f = File("x.gguf")
    assert set(f.names) == set(want) | {"bf16"}
    for name, a in want.items():
        got = f[name].numpy()
        assert got.shape == a.shape
        np.testing.assert_allclose(got, a, rtol=1e-6, atol=0)
    if torch is not None:
        torch_same(f["bf16"], (torch.arange(8.0) - 3).to(torch.bfloat16).reshape(2, 4))
    assert [f.note(k) for k in ("n", "negative", "eps", "on", "text", "numbers", "big", "general.architecture")] == \
        ["7", "-7", "0.125", "true", "a b", "[1, 2, 3]", str(2 ** 40), "llama"]
    assert json.loads(f.note("tokens")) == ["a", "\"q\"", "\u00e9"]
    f.close()
    w = gguf.GGUFWriter(path("q5.gguf"), "llama")
    w.add_tensor("five", np.zeros((1, 22), dtype=np.uint8), raw_dtype=Q.Q5_0)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    refused("q5.gguf", "\"five\" is of type 6")


if gguf is None:
    skip("gguf", "there is no gguf in this Python")
else:
    check("gguf_file", gguf_file)

dync.finish()
