"""dync through ctypes, for the scripts of this folder: the calls that they make, tensors as NumPy arrays, a tally of checks."""
import ctypes
import sys
import traceback

import numpy as np

lib = None


def load(path):
    global lib
    lib = ctypes.CDLL(path)
    p, i, s, b = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_bool
    for name, result, *args in [
        ("dync_tensors_load", p, s), ("dync_tensors_free", None, p), ("dync_tensors_new", p), ("dync_tensors_count", i, p),
        ("dync_tensors_name", s, p, i), ("dync_tensors_at", p, p, i), ("dync_tensors_get", p, p, s), ("dync_tensors_note", s, p, s),
        ("dync_tensors_note_key", s, p, i), ("dync_tensors_put", i, p, s, p), ("dync_tensors_set_note", i, p, s, s),
        ("dync_tensors_save", i, p, s), ("dync_from_dlpack", p, p, b), ("dync_to_dlpack", p, p, b), ("dync_error", i),
        ("dync_error_message", s), ("dync_clear_error", None), ("dync_shutdown", None), ("dync_add_", p, p, p),
    ]:
        f = getattr(lib, name, None)
        if f is not None:
            f.restype, f.argtypes = result, args
    # dync.h's dync_on_error(NULL) prints; a handler that is silent keeps what is expected to fail off the terminal
    global quiet
    quiet = ctypes.CFUNCTYPE(None, i, s, p)(lambda *_: None)
    lib.dync_on_error(quiet, None)


def error():
    """The pending error's message, which is cleared; "" where there is none."""
    if not lib.dync_error():
        return ""
    text = lib.dync_error_message().decode()
    lib.dync_clear_error()
    return text


capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
capsule_rename = ctypes.pythonapi.PyCapsule_SetName
capsule_rename.restype, capsule_rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
NAMES = {False: (b"dltensor", b"used_dltensor"), True: (b"dltensor_versioned", b"used_dltensor_versioned")}


class Tensor:
    """A dync_tensor * as an object of DLPack's Python side."""

    def __init__(self, handle, versioned=True):
        assert handle, error()
        self.handle, self.versioned = handle, versioned

    def __dlpack__(self, **kwargs):
        managed = lib.dync_to_dlpack(self.handle, self.versioned)
        if not managed:
            raise BufferError(error())
        return capsule_new(managed, NAMES[self.versioned][0], None)

    def __dlpack_device__(self):
        return (1, 0)

    def numpy(self):
        return np.from_dlpack(self)


def take(exporter, versioned=True):
    """A dync_tensor * of an object with __dlpack__; None and an error where it is refused."""
    capsule = exporter.__dlpack__(max_version=(1, 0)) if versioned else exporter.__dlpack__()
    name, used = NAMES[versioned]
    handle = lib.dync_from_dlpack(capsule_pointer(capsule, name), versioned)
    if handle:
        capsule_rename(capsule, used)
    return handle


passed = failed = skipped = 0


def check(name, fn, *args):
    global passed, failed
    try:
        fn(*args)
        left = error()
        assert not left, "left behind: " + left
        passed += 1
    except Exception:
        failed += 1
        print("FAIL", name, *args)
        traceback.print_exc()
        error()


def skip(name, why):
    global skipped
    skipped += 1
    print("skip", name + ":", why)


def finish():
    lib.dync_shutdown()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)
