"""Data sets that are not complete: one line that says so, with the counts."""

from tasks.data.counts import warn_unless_complete


def test_it_is_said_once_and_only_if_something_is_missing(capsys):
    warn_unless_complete("cifar100", "train", "a.bin", images=50_000, classes=100)
    assert capsys.readouterr().err == ""
    for _ in range(2):
        warn_unless_complete("cifar100", "train", "a.bin", images=49_999, classes=100)
    assert capsys.readouterr().err == (
        "minisets: warning: a.bin, train: 49,999 images (50,000 expected); results will not compare with the paper's\n"
    )
    warn_unless_complete("modelnet40", "test", "b", shapes=2_400, classes=39)
    assert "b, test: 2,400 shapes (2,468 expected) and 39 classes (40 expected);" in capsys.readouterr().err
