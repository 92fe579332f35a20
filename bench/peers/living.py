"""bench/peers/living.py: the rows of group "living": whole programs whose sizes, modes and state change. program(module, compiled) gives the function of the inputs;
compiled() is torch.compile in one of its ways, or nothing. Kinds and numbers are those of bench/peers/living.h."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

LENGTHS = [2 + i * 37 % 149 for i in range(100)]


def heads(x, n):
    return x.reshape(x.shape[0], n, x.shape[1] // n).transpose(0, 1)


def token(gpt, words, place, keys, values, grows):
    """One token through a GPT: rows are added to the caches, or written at the place."""
    x = gpt.words(words) + gpt.places.index_select(0, place)
    new_keys, new_values = [], []
    mask = None if grows else (torch.arange(keys.shape[1]) <= place).reshape(1, 1, -1)
    for i in range(gpt.layers):
        b = getattr(gpt, f"block{i}")
        q, k, v = b.qkv(b.norm1(x)).split(x.shape[1], dim=1)
        if grows:
            k, v = torch.cat([keys[i], k]), torch.cat([values[i], v])
            new_keys.append(k)
            new_values.append(v)
        else:
            at = place.reshape(1, 1).expand(1, x.shape[1])
            keys[i].scatter_(0, at, k)
            values[i].scatter_(0, at, v)
            k, v = keys[i], values[i]
        y = F.scaled_dot_product_attention(heads(q, b.heads).unsqueeze(0), heads(k, b.heads).unsqueeze(0), heads(v, b.heads).unsqueeze(0),
                                           attn_mask=None if mask is None else mask.unsqueeze(0))[0]
        x = x + b.out(y.transpose(0, 1).reshape(1, -1))
        x = x + b.down(F.gelu(b.up(b.norm2(x))))
    next_word = gpt.head(gpt.norm(x)).argmax(1)
    return (next_word, torch.stack(new_keys), torch.stack(new_values)) if grows else next_word


def sample(tokens, first, grows):
    def program(gpt, compiled):
        f = compiled(lambda w, p, k, v: token(gpt, w, p, k, v, grows))

        def run(keys, values, places):
            word = places[0]
            for t in range(tokens):
                if grows:
                    word, keys, values = f(word, places[first + t], keys, values)
                else:
                    word = f(word, places[first + t], keys, values)
            return word
        return run
    return program


def attend(x, k, v):
    k, v = torch.cat([k, x]), torch.cat([v, x])
    return torch.softmax(x @ k.T, 1) @ v, k, v


def grow_cache(_, compiled):
    f = compiled(attend)

    def run(x, k, v):
        for t in range(x.shape[0]):
            y, k, v = f(x[t:t + 1], k, v)
        return y
    return run


def lengths(module, compiled):
    f = compiled(module)

    def run(x):
        for n in LENGTHS:
            y = f(x[:n])
        return y
    return run


def trained(module):
    m = copy.deepcopy(module).train()
    return m, torch.optim.AdamW(m.parameters(), lr=1e-3, fused=True)


def train_lengths(module, compiled):
    m, optimizer = trained(module)
    error = compiled(lambda x, want: F.cross_entropy(m(x), want))

    def run(x, want):
        with torch.enable_grad():
            for n in LENGTHS:
                loss = error(x[:n], want[:n])
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        return loss.detach()
    return run


def epoch(steps):
    def program(module, compiled):
        m, optimizer = trained(module)
        error = compiled(lambda x, want: F.cross_entropy(m(x), want))

        def run(x, want):
            m.train()
            with torch.enable_grad():
                for _ in range(steps):
                    error(x, want).backward()
                    optimizer.step()
                    optimizer.zero_grad()
            m.eval()
            with torch.no_grad():
                return error(x, want)
        return run
    return program


def roots(_, compiled):
    """The loop is Python's; what is compiled is a round and its test."""
    f = compiled(lambda x, a: ((2 * x + a / (x * x)) / 3,))
    far = compiled(lambda x, a: (x * x * x / a - 1).abs().amax() > 1e-5)

    def run(a):
        x = torch.ones_like(a)
        while far(x, a):
            x, = f(x, a)
        return x
    return run


def rows_in(_, compiled):
    def write(cache, row, at):
        for i in range(cache.shape[0]):
            cache[i].scatter_(0, at, row)
        return row + 1
    return compiled(write)


def add(add_row, gpt, mlp, randn, index):
    """gpt(), mlp(): modules of rows.py."""
    f, h, layers, words, places = 256, 8, 4, 1000, 192
    numbers = [f, h, 1, layers, words, places, 64, 64]
    at = lambda: torch.arange(places).reshape(places, 1)
    module = lambda build, *inputs: lambda: (build(), None, [i() for i in inputs])
    nothing = lambda *inputs: lambda: (None, None, [i() for i in inputs])
    add_row("sample 64 tokens, GPT 4 layers 256, a cache that grows", "gpt_grow", numbers,
            module(lambda: gpt(f, h, layers, words, places), randn(layers, 64, f), randn(layers, 64, f), at), sample(64, 64, True))
    add_row("sample 64 tokens, GPT 4 layers 256, a fixed cache", "gpt_fixed", numbers,
            module(lambda: gpt(f, h, layers, words, places), randn(layers, places, f), randn(layers, places, f), at), sample(64, 64, False))
    add_row("128 tokens, attention 64, a cache that grows", "grow_cache", [], nothing(randn(128, 64), randn(4, 64), randn(4, 64)), grow_cache)
    add_row("100 lengths in turn, MLP 64-128-32", "lengths", [64, 128, 32, 100], module(lambda: mlp(64, 128, 32), randn(150, 64)), lengths)
    add_row("train 100 lengths in turn, MLP 64-128-10", "train_lengths", [64, 128, 10, 100],
            module(lambda: mlp(64, 128, 10), randn(150, 64), index(10, 150)), train_lengths)
    add_row("epoch of 8 steps and a validation, MLP 64-128-10", "epoch", [64, 128, 10, 8],
            module(lambda: mlp(64, 128, 10), randn(64, 64), index(10, 64)), epoch(8))
    add_row("Newton to convergence, 1000 cube roots", "roots", [], nothing(lambda: torch.rand(1000) * 1000 + 0.1), roots)
    add_row("a row into each of 16 layers of 1024x256", "rows_in", [16],
            nothing(randn(16, 1024, 256), randn(1, 256), lambda: torch.full((1, 256), 700)), rows_in)
