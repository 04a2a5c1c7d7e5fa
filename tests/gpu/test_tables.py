"""The tables of docs/23-gpu.md are what python -m tests.gpu.tables prints."""

import re
import subprocess
import sys

import pytest

from tests.helpers.commandline import ROOT

PAGE = ROOT / "docs" / "23-gpu.md"
pytestmark = pytest.mark.needs("emulation")


def test_the_page_has_the_tables_that_the_command_prints():
    command = [sys.executable, "-m", "tests.gpu.tables"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    blocks = re.findall(r"```\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    tables = [table.strip("\n") + "\n" for table in printed.split("\n\n")]
    assert len(tables) == 3
    for table in tables:
        assert table in blocks, table
