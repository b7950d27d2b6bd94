"""Run the tests on a GPU and compare times with PyTorch on the same GPU: `make cuda-test`.

    python -m benchmarks.cuda                        the tests, then the times
    python -m benchmarks.cuda --only times           no tests
    python -m benchmarks.cuda --json FILE --docs     also write the figures, and docs/performance_cuda.md
    python -m benchmarks.cuda --suites tests/nn --seconds 200    some suites, for so long
    python -m benchmarks.cuda --figures FILE         write the page from figures that were measured before

Figures are written after each case and suite. The network is not needed. Without a GPU nothing is measured, and the exit code
is 2.
"""

import argparse
import json
import pathlib
import sys

from . import page, suites, times


def arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("tests", "times"), help="run only one of the two parts")
    parser.add_argument("--suites", nargs="+", default=suites.SUITES, metavar="FOLDER", help="test only these folders")
    parser.add_argument("--seconds", type=float, default=7200, help="stop the tests after this time")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--figures", metavar="FILE", help="write the tables from these figures; measure nothing")
    parser.add_argument("--docs", action="store_true", help=f"write the tables of {page.PAGE}")
    return parser.parse_args()


def main():
    """Run the tests, measure the times, and write the files."""
    options = arguments()
    if options.figures:
        page.write(json.loads(pathlib.Path(options.figures).read_text()))
        return 0
    from minigrad.kernels.cuda import machine, simulator

    if simulator.SIMULATED or not machine.count():
        print("cuda-test: found no GPU, or numba-cuda is not installed; nothing ran", file=sys.stderr)
        return 2
    figures = {"device": machine.current().name, "versions": page.versions()}

    def save(part, found):
        figures[part] = found
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")

    tested = suites.run(options.suites, options.seconds, lambda f: save("tests", f)) if options.only != "times" else {}
    measured = times.all_times(lambda f: save("times", f)) if options.only != "tests" else {}
    if measured and options.docs:
        page.write(figures)
    failed = [
        f"{s}: {found.get('error') or found['status']}" for s, found in tested.items() if found.get("status") != 0
    ]
    failed += [
        name for part in measured.values() for name, found in part.items() if name == "error" or "error" in found
    ]
    for name in failed:
        print(f"failed: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
