"""tests/opinfo/compare.py: when two results are the same.

The reference is PyTorch in float64; its result in the dtype itself is right as well, and says how exact one may be. An error is held to some
roundings of the result (pointwise), or of the largest number of the result (sums), plus twice PyTorch's own error. float64 has no better
reference: two formulas of one thing may differ by more roundings there; a wrong one differs by far more."""
import torch

ULPS = {torch.float64: (16, 1024), torch.float32: (4, 128), torch.float16: (1, 8), torch.bfloat16: (1, 8)}     # pointwise, sums


def describe(t):
    return '%s%s' % (str(t.dtype).replace('torch.', ''), list(t.shape))


def spread(t):
    t = t[torch.isfinite(t)]
    return t.abs().max().item() if t.numel() else 0.0


def differs(got, want, exact=None, sums=False, floor=0.0):
    """None, or what differs. exact: want in float64, where there is such a thing. floor: the size of what the sums are made of."""
    if got.dtype != want.dtype or tuple(got.shape) != tuple(want.shape):
        return 'got %s, expected %s' % (describe(got), describe(want))
    if not want.numel():
        return None
    if not want.dtype.is_floating_point:
        bad = got != want
        return None if not bad.any() else first(bad, got, want)
    g, w = got.double(), want.detach().double()
    e = exact.detach().double() if exact is not None and exact.shape == want.shape else w
    info, (pointwise, summed) = torch.finfo(want.dtype), ULPS[want.dtype]
    own = (w - e).abs()
    own = torch.where(torch.isfinite(own), own, 0.0)
    bound = pointwise * info.eps * torch.where(torch.isfinite(e), e, w).abs() + 2 * own + 4 * info.smallest_normal * info.eps
    if sums:
        bound = bound + summed * info.eps * max(spread(e), floor) + 2 * spread(own)
    right = (g == w) | (torch.isnan(g) & torch.isnan(w)) | (torch.isfinite(w) & ((g - w).abs() <= bound))
    right |= (e.abs() <= info.max) & ((g - e).abs() <= bound)
    return None if right.all() else first(~right, g, torch.where(torch.isfinite(w) & (e.abs() <= info.max), e, w), bound)


def first(bad, got, want, bound=None):
    at = bad.nonzero()[0].tolist() if bad.dim() else []
    g, w = got[tuple(at)].item(), want[tuple(at)].item()
    text = '%s: %d of %d, first at %s: %r, expected %r' % ('NaN' if g != g or w != w else 'values', int(bad.sum()), bad.numel(), at, g, w)
    return text + (', allowed %.2g' % bound[tuple(at)].item() if bound is not None else '')
