"""PyTorch's times of the cases of bench.c: eager, torch.compile, torch.compile(mode="reduce-overhead") (recorded graphs)."""
import sys

try:
    import torch
except ImportError:
    sys.exit("no PyTorch here: its side is left out")
if not torch.cuda.is_available():
    sys.exit("PyTorch sees no GPU")
f = torch.nn.functional
print(torch.cuda.get_device_name(), torch.__version__)


def ten(x, y):
    for _ in range(5):
        x = torch.softmax(x @ y, 1)
    return x


cases = [("gelu(x) * sigmoid(y), 4096 x 4096", lambda x, y: f.gelu(x) * torch.sigmoid(y), 4096), ("sum, 4096 x 4096", lambda x, y: x.sum(), 4096),
         ("softmax, 4096 x 4096", lambda x, y: torch.softmax(x, 1), 4096), ("layer_norm, 4096 x 4096", lambda x, y: f.layer_norm(x, (4096,)), 4096),
         ("matmul f32, 1024", lambda x, y: x @ y, 1024), ("ten kernels, 64 x 64", ten, 64)]
for name, fn, n in cases:
    for way, g in (("eager", fn), ("compiled", torch.compile(fn)), ("cudagraphs", torch.compile(fn, mode="reduce-overhead"))):
        x, y = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        for i in range(-5, 50):
            if i == 0:
                start.record()
            g(x, y)
        end.record()
        end.synchronize()
        print(f"{name:36s} {way:10s} {start.elapsed_time(end) * 1e3 / 50:10.1f} us")
