"""bench/peers/chart.py: the chart of the README from what peers.py measured: for each group the geometric mean (bar) and the range of its rows (line)."""
import json
import math
import sys
from xml.sax.saxutils import escape


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def write(path, report):
    threads = sorted({r["threads"] for r in report["rows"]})
    rows = [r for r in report["rows"] if r["ratio"]]
    groups = list(dict.fromkeys(r["group"] for r in rows))
    if not rows:
        return
    low, high = min(0.5, min(r["ratio"] for r in rows)), max(4.0, max(r["ratio"] for r in rows))
    left, width, bar, top = 110, 560, 14, 46
    step = bar * len(threads) + 12
    height = top + step * (len(groups) + 1) + 52
    x = lambda v: left + width * (math.log(v) - math.log(low)) / (math.log(high) - math.log(low))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="760" height="{height}" fill="white"/>',
           '<text x="12" y="20" font-size="14">Time of PyTorch\'s best mode over dync\'s: bar geometric mean, line all rows (log scale)</text>']
    tick = 10.0 ** math.floor(math.log10(low))
    while tick <= high:
        for t in (tick, 2 * tick, 5 * tick):
            if low <= t <= high:
                out.append(f'<line x1="{x(t):.1f}" x2="{x(t):.1f}" y1="{top - 8}" y2="{height - 46}" stroke="{"#333" if t == 1 else "#ddd"}"/>')
                out.append(f'<text x="{x(t):.1f}" y="{top - 12}" text-anchor="middle" font-size="10">{t:g}×</text>')
        tick *= 10
    y = top
    for group in groups + ["all"]:
        out.append(f'<text x="{left - 8}" y="{y + bar * len(threads) / 2 + 4}" text-anchor="end">{escape(group)}</text>')
        for i, n in enumerate(threads):
            ratios = [r["ratio"] for r in rows if r["threads"] == n and group in (r["group"], "all")]
            if not ratios:
                continue
            m, at = mean(ratios), y + bar * i
            a, b = sorted((x(1.0), x(m)))
            out.append(f'<rect x="{a:.1f}" y="{at}" width="{max(b - a, 1):.1f}" height="{bar - 3}" fill="{("#3572b0", "#8fb8de")[i % 2]}"/>')
            out.append(f'<line x1="{x(min(ratios)):.1f}" x2="{x(max(ratios)):.1f}" y1="{at + (bar - 3) / 2}" y2="{at + (bar - 3) / 2}" stroke="#b05035"/>')
            out.append(f'<text x="{x(max(ratios)) + 4:.1f}" y="{at + bar - 4}" font-size="10">{m:.2f}×</text>')
        y += step
    colours = ", ".join(f'{("dark", "light")[i % 2]}: {n} thread{"s" if n > 1 else ""}' for i, n in enumerate(threads))
    out.append(f'<text x="12" y="{height - 26}" font-size="11">{escape(report["machine"])}; PyTorch {escape(report["torch"])}; {colours}</text>')
    out.append(f'<text x="12" y="{height - 10}" font-size="11">{escape(report["command"])}</text></svg>')
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    with open(sys.argv[1]) as source:
        write(sys.argv[2], json.load(source))
