"""Build the web site of the book: python -m docs.site [--out build/docs]

Warnings are errors: a link that leads nowhere, a formula that does not convert or a page that nobody links to.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from docs.site import notebooks
from docs.site.prepare import ROOT, prepare


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="folder of the HTML (build/docs)")
    parser.add_argument("--keep-going", action="store_true", help="show warnings and go on")
    options = parser.parse_args(words)
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        print("the site needs Sphinx: pip install -e '.[docs]', or run make docs", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        source, html = Path(folder) / "source", Path(folder) / "html"
        source.mkdir()
        prepare(source)
        strict = ["--keep-going"] if options.keep_going else ["--fail-on-warning", "--keep-going"]
        words = ["-q", "-b", "html", "-c", str(ROOT / "docs" / "site"), "-d", f"{folder}/trees", *strict]
        code = build_main([*words, "-D", f"html_static_path={source / 'static'}", str(source), str(html)])
        if code:
            return int(code)
        notebooks.write(html / "notebooks")
        shutil.rmtree(options.out, ignore_errors=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(html, options.out)
    print(f"open {options.out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
