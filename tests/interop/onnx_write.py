"""tests/interop/onnx_write.py pack|folder...: the models of a pack (tests/unit/onnx_pack.h), or of a folder with their inputs and results beside
them (tests/program/test_onnx_models.c): each passes onnx.checker with shape inference and gives
dync's numbers in ONNX Runtime. Cases whose operator ONNX Runtime has no kernel for, and those that differ on purpose, are counted by reason."""
import collections, glob, os, struct, sys
import numpy as np
import onnx, onnx.checker, onnxruntime as ort

DTYPES = {1: np.float32, 11: np.float64, 10: np.float16, 7: np.int64, 6: np.int32, 5: np.int16, 3: np.int8, 2: np.uint8, 9: np.bool_}
BF16 = 16

def wide(bits):   # bfloat16 as float32
    return (bits.astype(np.uint32) << 16).view(np.float32)

class Pack:
    def __init__(self, path):
        self.data, self.at = memoryview(open(path, "rb").read()), 0
    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]
    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]
    def block(self):
        return bytes(self.take(self.number("I")))
    def tensor(self):
        kind, rank = self.number("i"), self.number("i")
        shape = [self.number("q") for _ in range(rank)]
        raw = self.take(self.number("Q"))
        return kind, np.frombuffer(raw, np.uint16 if kind == BF16 else DTYPES[kind]).reshape(shape).copy()
    def cases(self):
        while self.at < len(self.data):
            yield self.block().decode(), self.block(), [self.tensor() for _ in range(self.number("I"))], [self.tensor() for _ in range(self.number("I"))]

def value(kind, array):
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, kind) if kind == BF16 else ort.OrtValue.ortvalue_from_numpy(array)

def numbers(kind, array):
    return wide(array) if kind == BF16 else array

TOLERANCE = {1: 2e-5, 11: 1e-11, 10: 2e-3, BF16: 1.6e-2}

def difference(kind, got, want, values):
    """None, or what differs; of random and uninitialised elements the shape alone is compared."""
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if not values:
        return None
    if kind not in TOLERANCE:
        return None if (got == want).all() else f"got {got.ravel()[:8]}, expected {want.ravel()[:8]}"
    got, want = got.astype(np.float64), want.astype(np.float64)
    scale = np.maximum(np.abs(np.where(np.isfinite(want), want, 0)), 1)
    with np.errstate(invalid="ignore"):
        near = (np.abs(got - want) <= TOLERANCE[kind] * scale) | (got == want) | (np.isnan(got) & np.isnan(want))
    if near.all():
        return None
    i = int(np.argmin(near))
    return f"element {i}: got {got.ravel()[i]!r}, expected {want.ravel()[i]!r}"

def run(model, inputs, outputs, values):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    feed = dict(zip(names, (value(k, a) for k, a in inputs)))
    binding = session.run_with_ort_values([o.name for o in session.get_outputs()], feed) if any(k == BF16 for k, _ in inputs + outputs) \
        else session.run(None, dict(zip(names, (a for _, a in inputs))))
    for (kind, want), got in zip(outputs, binding):
        if isinstance(got, ort.OrtValue):
            got = bf16(got) if kind == BF16 else got.numpy()
        said = difference(kind, numbers(kind, got), numbers(kind, want), values)
        if said:
            return said
    return None

def bf16(v):
    import ctypes
    n = int(np.prod(v.shape())) if v.shape() else 1
    return np.ctypeslib.as_array((ctypes.c_uint16 * n).from_address(v.data_ptr())).copy().reshape(v.shape()) if n else np.zeros(v.shape(), np.uint16)

# What is not the same on purpose: the beginning of the case, and why.
KNOWN = {
    "max|t:f32:12:1:0:s0": "ReduceMax of ONNX Runtime passes NaN over",
    "min|t:f32:12:1:0:s0": "ReduceMin of ONNX Runtime passes NaN over",
    "max_pool2d|t:f32:2,6,6:36,6,1:0:s0": "MaxPool of ONNX Runtime passes NaN over",
    "pow|t:u8:6:1:0:w0;t:u8": "Pow of integers goes through floats in ONNX Runtime: no wrapping around",
}

NUMBERS = {np.dtype(v): k for k, v in DTYPES.items()}

def arrays(base, what):
    paths = [f"{base}.{what}{i}.npy" for i in range(64)]
    return [(NUMBERS[a.dtype], a) for a in map(np.load, filter(os.path.exists, paths))]

def folder_cases(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        base = path[:-len(".onnx")]
        yield os.path.basename(base), path, arrays(base, "in"), arrays(base, "out")

# Operators that ONNX Runtime's CPU provider has no float64 kernel of.
NO_KERNEL = {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "AveragePool", "Conv", "ConvTranspose", "Cosh", "Erf", "InstanceNormalization", "Sinh", "Tan"}

def main():
    count, failed, missing, known = collections.Counter(), [], collections.Counter(), collections.Counter()
    for path in sys.argv[1:]:
        for text, model, inputs, outputs in folder_cases(path) if os.path.isdir(path) else Pack(path).cases():
            op = text.split("|")[0]
            try:
                onnx.checker.check_model(model, full_check=True)
            except Exception as e:
                failed.append((text, "checker: " + str(e).strip().replace("\n", " ")[:400]))
                continue
            try:
                said = run(model, inputs, outputs, not text.endswith("?"))
            except Exception as e:
                said = str(e).strip().replace("\n", " ")
                if "NOT_IMPLEMENTED" in said:
                    kernel = said.split("implementation for ")[-1].split("(")[0]
                    if kernel in NO_KERNEL and "f64" in text:
                        missing[kernel] += 1
                        continue
                said = "runs: " + said[:300]
            why = next((KNOWN[k] for k in KNOWN if said and text.startswith(k)), None)
            if why:
                known[why] += 1
            elif said:
                failed.append((text, said))
            else:
                count[op] += 1
    for text, said in failed:
        print(f"{text[:150]}\n    {said}")
    for why, n in known.items():
        print(f"known: {why}: {n}")
    print("no float64 kernel in ONNX Runtime:", ", ".join(f"{k}: {n}" for k, n in sorted(missing.items())))
    print(f"{sum(count.values())} passed, {len(failed)} failed")
    sys.exit(bool(failed))

main()
