"""Writes tests/nn/samples.c: what PyTorch gives for layers whose weights are filled by a formula.

    python tests/oracle/nn.py           needs torch (2.15 was used), and nothing else

Each array holds, flattened, the outputs of one layer (out, then its states), for weights, in their order of registration, and inputs
filled by fill(t, seed): element i is ((37 i + 11 seed) mod 41 - 20) / 40. Seeds count up from 0, weights first, then inputs.
"""
import os
import torch


def fill(t, seed):
    n = t.numel()
    with torch.no_grad():
        t.copy_(torch.tensor([((37 * i + 11 * seed) % 41 - 20) / 40 for i in range(n)]).reshape(t.shape))
    return t


def run(m, *shapes):
    seed = 0
    for p in m.parameters():
        fill(p, seed)
        seed += 1
    xs = []
    for s in shapes:
        xs.append(fill(torch.empty(s), seed))
        seed += 1
    return m, xs


def flat(v):
    if isinstance(v, torch.Tensor):
        return v.detach().reshape(-1).tolist()
    return [x for t in v if t is not None for x in flat(t)]


nn = torch.nn
m, x = run(nn.GRU(3, 4, 2, bidirectional=True), (5, 2, 3))
samples = {'gru': flat(m(*x))}
m, x = run(nn.GRU(3, 2), (4, 3), (1, 2))
samples['gru_unbatched'] = flat(m(*x))
m, x = run(nn.RNN(3, 4, 1), (3, 2, 3), (1, 2, 4))
samples['rnn'] = flat(m(*x))
m, x = run(nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3), (4, 2, 4), (4, 2, 4))
samples['lstm'] = flat(m(x[0], (x[1], x[2])))
m, x = run(nn.MultiheadAttention(6, 2, batch_first=True), (2, 4, 6))
samples['mha_self'] = flat(m(x[0], x[0], x[0], need_weights=False)[0])
m, x = run(nn.MultiheadAttention(6, 3, batch_first=True), (2, 3, 6), (2, 5, 6), (2, 5, 6), (3, 5))
samples['mha_masked'] = flat(m(x[0], x[1], x[2], attn_mask=x[3], need_weights=False)[0])
m, x = run(nn.MultiheadAttention(6, 2), (4, 6))
samples['mha_unbatched'] = flat(m(x[0], x[0], x[0], need_weights=False)[0])
m, x = run(nn.MultiheadAttention(6, 3), (3, 6), (5, 6), (5, 6), (3, 3, 5))
samples['mha_unbatched_masked'] = flat(m(x[0], x[1], x[2], attn_mask=x[3], need_weights=False)[0])
m, x = run(nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1), (1, 2, 3, 2))
samples['conv_transpose2d'] = flat(m(*x))
m, x = run(nn.Conv1d(2, 3, 3, stride=2, padding=1), (2, 2, 7))
samples['conv1d'] = flat(m(*x))
m, x = run(nn.GroupNorm(2, 4), (2, 4, 3))
samples['group_norm'] = flat(m(*x))
m, x = run(nn.RMSNorm(4), (2, 3, 4))
samples['rms_norm'] = flat(m(*x))
m, x = run(nn.LeakyReLU(0.1), (7,))
samples['leaky_relu'] = flat(m(*x))

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'nn', 'samples.c'), 'w') as f:
    f.write('/* tests/nn/samples.c: what PyTorch %s gives for layers filled by a formula. Written by\n'
            ' * tests/oracle/nn.py, which says how; read by tests/nn/test_layers.c. */\n' % torch.__version__.split('+')[0])
    for name, v in samples.items():
        f.write('static const float sample_%s[%d] = {' % (name, len(v)))
        for i in range(0, len(v), 8):
            f.write('\n    ' + ' '.join(('%.8g' % x if '.' in '%.8g' % x or 'e' in '%.8g' % x else '%.8g.0' % x) + 'f,' for x in v[i:i + 8]))
        f.write('\n};\n')
