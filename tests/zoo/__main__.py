"""python -m tests.zoo [--seeds 20] [--write]: every member of the zoo against the kit.

A wrong one counts as caught if the check that its mistake violates fails, and its cause as named if the message has it;
a right one counts as accused if any check fails.  --write puts the table into docs/08-testing.md (make zoo).
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minisets.testing import PropertyError
from minisets.testing.checks import examine, run
from minisets.testing.properties import Options
from minisets.testing.subject import Subject
from tests.helpers.commandline import ROOT
from tests.zoo import held_out_right, held_out_wrong, right, wrong_gradients, wrong_masks, wrong_order
from tests.zoo.member import D_IN, Member

PAGE = ROOT / "docs" / "08-testing.md"
TABLE = re.compile(r"(?<=<!-- zoo -->\n).*(?=<!-- end of zoo -->)", flags=re.S)


def members() -> list[Member]:
    """All that can run here, wrong ones first: those of PyTorch and JAX only where these are installed."""
    ours = (wrong_order, wrong_masks, wrong_gradients, held_out_wrong, right, held_out_right)
    found = [member for module in ours for member in module.ZOO.members]
    if importlib.util.find_spec("torch"):
        from tests.zoo import held_out_torch_right, held_out_torch_wrong, torch_right, torch_wrong

        theirs = (torch_wrong, held_out_torch_wrong, torch_right, held_out_torch_right)
        found += [member for module in theirs for member in module.ZOO.members]
    if importlib.util.find_spec("jax"):
        from tests.zoo import jax_members

        found += jax_members.ZOO.members
    return sorted(found, key=lambda member: member.right)


def judge(member: Member, seed: int, examples: int = Options.examples) -> list[PropertyError]:
    """What a member made with a seed is accused of: a wrong one by the check that should fail, a right one by all."""
    subject = Subject(member.make(np.random.default_rng(seed)), d_in=D_IN)
    options = Options(seed=seed, examples=examples)
    if member.right:
        return [result.error for result in examine(subject, member.kind, options) if result.error]
    try:
        run(subject, member.violates, member.kind, options)
    except PropertyError as error:
        return [error]
    return []


@dataclass(frozen=True)
class Verdict:
    """How often a member was accused, and how often of what it is guilty of."""

    member: Member
    seeds: int
    accused: int
    named: int
    causes: tuple[str, ...]

    @property
    def good(self) -> bool:
        return self.accused == (0 if self.member.right else self.seeds)

    def row(self) -> str:
        member = self.member
        count = f"{self.accused}/{self.seeds}"
        if member.right:
            return f"| {member.name} | {member.framework} | {member.text} | {count} |"
        named = f"{self.named}/{self.seeds}" if member.cause else "–"
        causes = ", ".join(self.causes)
        return (
            f"| {member.name} | {member.framework} | {member.text} | {member.violates} | {count} | {causes} | {named} |"
        )


def verdict(member: Member, seeds: int) -> Verdict:
    found = [error for seed in range(seeds) for error in judge(member, seed)[:1]]
    named = sum(member.cause.lower() in str(error.cause).lower() for error in found)
    return Verdict(member, seeds, len(found), named, tuple(sorted({error.cause.name for error in found})))


def table(verdicts: list[Verdict]) -> Iterator[str]:
    yield "| wrong network | of | mistake | check that must fail | caught | looks like | named as expected |"
    yield "|---|---|---|---|---|---|---|"
    yield from (one.row() for one in verdicts if not one.member.right)
    yield ""
    yield "| right network | of | what it is | accused |"
    yield "|---|---|---|---|"
    yield from (one.row() for one in verdicts if one.member.right)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="members whose name contains this")
    parser.add_argument("--write", action="store_true", help="update the table of docs/08-testing.md")
    given = parser.parse_args(argv)
    verdicts = []
    for member in members():
        if given.only.lower() in member.name.lower():
            start = time.process_time()
            verdicts.append(verdict(member, given.seeds))
            seconds = (time.process_time() - start) / given.seeds
            mark = "   " if verdicts[-1].good else "BAD"
            print(f"{mark} {verdicts[-1].row()} {seconds:.2f} s", flush=True)
    bad = [one for one in verdicts if not one.good]
    print(f"{len(bad)} of {len(verdicts)} misjudged")
    if given.write and not given.only:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(TABLE.sub(lambda _: "\n".join(table(verdicts)) + "\n", text), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
