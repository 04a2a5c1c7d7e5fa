"""The tables of docs/22-speed.md are those of the stored measurements."""

from tasks.bench import speed_tables
from tasks.bench.tables import with_tables


def test_the_page_has_the_tables_of_the_stored_measurements():
    """If not: make tables."""
    page = speed_tables.PAGE.read_text(encoding="utf-8")
    for name, table in speed_tables.tables().items():
        assert f"<!-- table {name} -->\n{table}\n<!-- end of table -->" in page, name
        assert table.count("\n") >= 4, name


def test_a_changed_number_is_noticed():
    page = speed_tables.PAGE.read_text(encoding="utf-8")
    assert with_tables(page, speed_tables.tables()) == page
    wrong = page.replace("max_regression       10", "max_regression       11", 1)
    assert wrong != page and with_tables(wrong, speed_tables.tables()) == page
