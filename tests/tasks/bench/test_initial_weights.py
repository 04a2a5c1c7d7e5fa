"""What initial weights do: the table in the docs is the stored one."""

import json

from tasks.bench import initial_weights
from tests.helpers.commandline import ROOT


def test_the_table_of_the_docs_is_the_stored_one():
    """If not: python -m tasks.bench.initial_weights --stored"""
    found = json.loads(initial_weights.FILE.read_text(encoding="utf-8"))
    assert found["data"] == "omniglot" and found["steps"] == 1_500
    assert initial_weights.table(found) in (ROOT / "docs" / "04-experiments.md").read_text(encoding="utf-8")
