"""Every member of the zoo that can run here, with one seed; make zoo tries twenty."""

import re

import pytest

from tests.zoo.__main__ import PAGE, TABLE, judge, members
from tests.zoo.member import Member


@pytest.mark.parametrize(
    "member", [one for one in members() if not one.right], ids=lambda one: f"{one.framework}-{one}"
)
def test_a_wrong_network_is_caught(member: Member):
    assert judge(member, seed=0), f"check_{member.violates} found nothing"


@pytest.mark.parametrize("member", [one for one in members() if one.right], ids=lambda one: f"{one.framework}-{one}")
def test_a_right_network_is_not_accused(member: Member):
    assert not judge(member, seed=0, examples=8)


def test_the_table_in_the_docs_has_every_member_judged_rightly_by_twenty_seeds():
    rows = re.findall(r"^\| (.+?) \| (\w+) \| .* \|$", TABLE.search(PAGE.read_text(encoding="utf-8"))[0], flags=re.M)
    assert {(member.name, member.framework) for member in members()} <= set(rows)
    text = TABLE.search(PAGE.read_text(encoding="utf-8"))[0]
    wrong, right = text.split("| right network")
    assert len(re.findall(r"\| 20/20 \| [^|]* \| [^|]* \|$", wrong, flags=re.M)) == wrong.count("\n") - 3 >= 25
    assert len(re.findall(r"\| 0/20 \|$", right, flags=re.M)) == right.count("\n") - 2 >= 15
