"""bench/peers/versus.py: two builds of dync on the rows of bench/peers, samples of each taken in turn in one process.

    make bench-versus REF=main~5                  this tree beside another commit
    make bench-versus REF=main~5 ARGS="softmax"   groups or rows, as for bench-peers

Prints the geometric mean of the times after over those before, and every row that was more than 5 % slower in each of the
rounds. The result of both is compared: a row whose results differ by more than its tolerance is WRONG."""
import argparse
import sys

import torch

import peers
import rows as row_table


def run_row(row, libs, args):
    torch.manual_seed(1)
    module, _, inputs = row.build()
    if module is not None:
        module.train(bool(row.loss))
    with torch.set_grad_enabled(bool(row.loss)):
        try:
            for lib in libs:
                lib.open(row, inputs, module, args.threads)
            old, new = (lib.call() for lib in libs)
            error = max([peers.distance(n, o) for n, o in zip(new, old)], default=0.0)
            ratios = []
            for r in range(args.rounds):
                order = [("old", libs[0].lib.peer_time), ("new", libs[1].lib.peer_time)]
                times = peers.measure(dict(order[::-1] if r % 2 else order), args.samples, args.sample_ms * 1e6, args.threads)
                ratios.append(times["new"][0] / times["old"][0])
            return error, ratios, times["new"][0]
        finally:
            for lib in libs:
                lib.lib.peer_close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--sample-ms", type=float, default=2)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_intermixed_args()
    torch.set_num_threads(args.threads)
    groups = {r.group for r in row_table.table()}
    chosen = [r for r in row_table.table() if not r.compiles
              and (not args.words or any(r.group == w if w in groups else w in r.name for w in args.words))]
    libs, means, slower, wrong = [peers.Dync(args.old), peers.Dync(args.new)], [], [], 0
    for row in chosen:
        try:
            error, ratios, ns = run_row(row, libs, args)
        except RuntimeError as e:
            print(f"{row.name:52} {e}")
            wrong += 1
            continue
        bad = not error <= row.tol
        wrong += bad
        means.append(sorted(ratios)[len(ratios) // 2])
        if min(ratios) > 1.05:
            slower.append(row.name)
        print(f"{row.name:52} {peers.show(ns):>9}  " + " ".join(f"{r:6.3f}" for r in ratios) + ("  WRONG" if bad else ""), flush=True)
    print(f"\n{peers.cpu()}\nafter / before: geometric mean {peers.mean(means):.4f} of {len(means)} rows, "
          f"{len(slower)} more than 5 % slower in every round, {wrong} wrong")
    for name in slower:
        print("  slower:", name)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
