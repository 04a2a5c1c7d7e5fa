"""python -m tests.zoo [--seeds 20] [--write]: every member of the zoo against the kit, as the table of docs/testing.md."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Iterable

import numpy as np

from minisets.testing.checks import Result, examine
from minisets.testing.properties import Options
from minisets.testing.subject import Subject
from tests.zoo import right, wrong_gradients, wrong_masks, wrong_order
from tests.zoo.member import D_IN, Member


def members() -> list[Member]:
    """All that can run here: those of PyTorch and JAX where they are installed."""
    found = [*wrong_order.ZOO.members, *wrong_masks.ZOO.members, *wrong_gradients.ZOO.members]
    rest = list(right.ZOO.members)
    if importlib.util.find_spec("torch"):
        from tests.zoo import torch_right, torch_wrong

        found, rest = found + torch_wrong.ZOO.members, rest + torch_right.ZOO.members
    if importlib.util.find_spec("jax"):
        from tests.zoo import jax_members

        found += [member for member in jax_members.ZOO.members if not member.right]
        rest += [member for member in jax_members.ZOO.members if member.right]
    return found + rest


def judge(member: Member, seed: int) -> list[Result]:
    """The results of all checks of a member made and examined with a seed."""
    subject = Subject(member.make(np.random.default_rng(seed)), d_in=D_IN)
    return list(examine(subject, member.kind, Options(seed=seed)))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="members whose name contains this")
    parser.add_argument("--show", action="store_true", help="print counterexamples")
    given = parser.parse_args(argv)
    bad = 0
    for member in members():
        if given.only in member.name:
            bad += not report(member, range(given.seeds), given.show)
    print(f"{bad} of {len(members())} misjudged")
    return 1 if bad else 0


def report(member: Member, seeds: Iterable[int], show: bool) -> bool:
    start, failed, good, named = time.perf_counter(), {}, 0, 0
    seeds = list(seeds)
    for seed in seeds:
        errors = {result.check: result.error for result in judge(member, seed) if result.error}
        for check, error in errors.items():
            failed.setdefault(check, set()).add(error.cause.name)
            if show:
                print(error, "\n")
        good += (member.violates in errors) if member.violates else not errors
        cause = errors.get(member.violates)
        named += cause is not None and member.cause.lower() in str(cause.cause).lower()
    verdict = "ok " if good == len(seeds) and (member.right or named == len(seeds)) else "BAD"
    seconds = (time.perf_counter() - start) / len(seeds)
    print(f"{verdict} {member.framework:9} {member.name:36} {good}/{len(seeds)} named {named}  {seconds:5.2f} s  expected {member.violates}: {member.cause}; {failed}", flush=True)
    return good == len(seeds)


if __name__ == "__main__":
    sys.exit(main())
