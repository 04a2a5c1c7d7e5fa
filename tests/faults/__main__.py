"""Try faults, and print what came of each: python -m tests.faults KIND [NUMBER ...]

python -m tests.faults                              the kinds
python -m tests.faults "run folders" 17             fault 17 again, with what it did and what came of it
python -m tests.faults "run folders" --part 2/8     every eighth, from the second on
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path

os.environ |= {
    "OPENBLAS_NUM_THREADS": "1",
    "MINISETS_THREADS": "1",
    "MPLBACKEND": "agg",
    "MINISETS_DATA": "/nonexistent",
}


def main() -> int:
    from tests.faults.kinds import KINDS

    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("number", nargs="*", type=int)
    parser.add_argument("--part", default="1/1", metavar="I/N")
    parser.add_argument("--short", action="store_true", help="the shorter draw of make test")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each fault")
    given = parser.parse_args()
    if given.kind is None:
        print(*KINDS, sep="\n")
        return 0
    kind, counts = KINDS[given.kind], Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as work:
        pristine, folder = Path(work) / "pristine", Path(work) / "trial"
        pristine.mkdir()
        kind.prepare(pristine)
        part, parts = map(int, given.part.split("/"))
        for number in given.number or kind.numbers(given.short)[part - 1 :: parts]:
            folder.mkdir()
            outcome = kind.trial(number, folder)
            shutil.rmtree(folder)
            counts[outcome.verdict] += 1
            if given.json:
                print(json.dumps({"number": number, **asdict(outcome)}), flush=True)
            elif given.number or outcome.verdict == "wrong":
                print(f"{number}: {outcome.verdict}: {outcome.what}\n    {outcome.why}", flush=True)
    if not given.json:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return int(bool(counts["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
