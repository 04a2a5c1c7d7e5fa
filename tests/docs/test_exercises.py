"""The exercises: the solutions pass every check, the bare stubs fail every one, and every stub has both."""

import functools
import re
from pathlib import Path

import pytest

from docs.exercises import answers
from tests.docs import exercises
from tests.docs.exercises import ROOT

EXERCISES, SOLUTIONS = ROOT / "docs" / "exercises", ROOT / "docs" / "solutions"
CHAPTERS = exercises.chapters()
results = functools.cache(exercises.run)  # one run of pytest for all chapters


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_solutions_are_right(chapter: str):
    found = results("solutions")[chapter]
    assert found and not any(found.values()), "\n\n".join(f"{name}\n{text}" for name, text in found.items() if text)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_check_passes_before_the_exercise_is_done(chapter: str):
    found = results("exercises")[chapter]
    wrong = [name for name, text in found.items() if "NotImplementedError" not in text]
    assert not wrong, f"docs/exercises/test_{chapter}.py: with the bare stubs these do not fail for want of an answer"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_stub_has_a_solution_and_a_check(chapter: str):
    stubs = exercises.stubs(EXERCISES / f"{chapter}.py")
    assert stubs, f"docs/exercises/{chapter}.py has no function that raises NotImplementedError"
    assert not exercises.undocumented(EXERCISES / f"{chapter}.py"), "a stub is a docstring and the raise"
    solutions = exercises.signatures(SOLUTIONS / f"{chapter}.py")
    assert {name: solutions.get(name) for name in stubs} == stubs
    assert exercises.untested(chapter) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("[0-2]*.md")), ids=lambda page: page.name)
def test_every_chapter_has_five_exercises(page: Path):
    number = int(page.name[:2])
    if not 1 <= number <= 25:
        pytest.skip("a chapter without exercises of its own")
    text = page.read_text(encoding="utf-8")
    assert "\n## Exercises\n" in text, f"{page.name} has no section '## Exercises'"
    section = text.split("\n## Exercises\n")[1].split("\n## ")[0]
    items = re.findall(r"^\d+\. ", section, flags=re.M)
    assert len(items) >= 5, f"{page.name} has {len(items)} exercises"
    chapter = f"ch{number:02}"
    missing = [name for name in exercises.stubs(EXERCISES / f"{chapter}.py") if name.split(".")[0] not in section]
    assert not missing, f"docs/exercises/{chapter}.py asks for {missing}, which {page.name} does not mention"


def test_the_choice_of_answers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EXERCISES", "answers")
    with pytest.raises(ValueError, match=r"'exercises' \(the default\) or 'solutions', given 'answers'"):
        answers("ch01")


STUB = 'def {}:\n    """Why."""\n    raise NotImplementedError\n'
CHECK = 'from docs.exercises import answers\n\nch99 = answers("ch99")\n'


def test_wrong_exercises_are_noticed(tmp_path: Path):
    """A check that passes at once, a wrong solution, a stub without a check, a different signature."""
    for name in ("exercises", "solutions"):
        (tmp_path / "docs" / name).mkdir(parents=True)
        (tmp_path / "docs" / name / "__init__.py").write_text((ROOT / "docs" / name / "__init__.py").read_text())
    (tmp_path / "docs" / "__init__.py").touch()
    folder = tmp_path / "docs" / "exercises"
    (folder / "conftest.py").write_text((EXERCISES / "conftest.py").read_text())
    (folder / "ch99.py").write_text(STUB.format("f(x: int)") + STUB.format("g(y)"))
    (tmp_path / "docs" / "solutions" / "ch99.py").write_text("def f(x):\n    return x\n")
    tests = "def test_f():\n    assert ch99.f(1) == 2\n\n\ndef test_lazy():\n    assert ch99\n"
    (folder / "test_ch99.py").write_text(CHECK + tests)
    assert exercises.chapters(tmp_path) == ["ch99"]
    assert exercises.stubs(folder / "ch99.py") == {"f": "(x: int)", "g": "(y)"}
    assert exercises.signatures(tmp_path / "docs" / "solutions" / "ch99.py") == {"f": "(x)"}
    assert exercises.untested("ch99", tmp_path) == ["g"]
    solved = exercises.run("solutions", tmp_path)["ch99"]
    assert "assert 1 == 2" in solved["test_f"] and solved["test_lazy"] == ""
    bare = exercises.run("exercises", tmp_path)["ch99"]
    assert "NotImplementedError: f is not answered yet" in bare["test_f"] and bare["test_lazy"] == ""
