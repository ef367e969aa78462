"""Check that pages made to be hard to parse are bad rows, and that no others take much memory."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike import Source
from lookalike.core.errors import DataError, TooCostly
from lookalike.items.page_limits import too_costly
from lookalike.items.pages import article_text, visible_text
from tests.commands import Commands, complaint
from tests.hostile_pages import ATTACKS, soup
from tests.page_samples import STORY, page, put

DEEP = "<div>" * 20_000
WHY = "the page nests its elements too deeply, or has too many names or attributes, to be parsed in 103,200,000 steps"
PARSE = """
import resource, sys
from selectolax.lexbor import LexborHTMLParser
here = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (here + (512 << 20),) * 2)
for path in sys.argv[1:]:
    LexborHTMLParser(open(path, "rb").read(), scripting=True)
"""


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused_before_they_are_parsed(name: str) -> None:
    for text_of in (visible_text, article_text):
        with pytest.raises(TooCostly, match=r"^the page "):
            text_of(ATTACKS[name])


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 3000 + "one" + "</div>" * 3000,
        "<ul>" + "<li>one<p>two" * 50_000 + "</ul>",
        "<table>" + "<tr><td><b>one</b> two<td><a href=x>three</a> four" * 20_000 + "</table>",
        "<table>" + "\n <tr>\n <td>one</td>\n </tr>" * 20_000 + "</table>",
        "<a href=x><div><p class=y>one</p></div></a>" * 20_000,
        "<svg><defs><style>a > b {}</style></defs><g><path d=x /></g></svg>" * 20_000,
        "<p>one <b>two</b></font>" * 1000,
        "one<br>" * 100_000,
        "<p>one <a class=x href=y><b>two</b></a> and <i>three</i>, as in many pages of text.\n" * 200_000,
        "<script>if (a < b) '<div>'</script>" * 20_000,
    ],
)
def test_large_pages_with_few_errors_are_parsed(html: str) -> None:
    assert too_costly(html.encode()) is None


@pytest.mark.slow
def test_pages_within_the_limits_take_little_memory(tmp_path: Path) -> None:
    """Also pages that nobody thought of: a process with half a gigabyte can parse them all."""
    pages = [soup(Random(seed), 200_000).encode() for seed in range(40)]
    paths = [put(tmp_path / f"{at}.html", one) for at, one in enumerate(pages) if too_costly(one) is None]
    assert len(paths) > 20
    subprocess.run([sys.executable, "-c", PARSE, *map(str, paths)], check=True)


def test_bad_rows_of_a_table(tmp_path: Path) -> None:
    """Both passes over a source leave out the same rows, whether pages are strings or bytes."""
    for pages in ([page(), DEEP, None, page()], [page().encode(), DEEP.encode("utf-16"), None, page().encode()]):
        table = pa.table({"id": [1, 2, 3, 4], "html": pages})
        with pytest.raises(DataError, match=f"row 1: {WHY}; use Source\\(on_error='skip'\\) to skip such rows.$"):
            list(Source(table, html=True).batches())
        source = Source(table, article=True, on_error="skip")
        for strings in (True, False):
            assert [row for one in source.tables(strings) for row in one["id"].to_pylist()] == [1, 4]
            assert source.skipped == 2
        found = pa.concat_tables(source.batches()).to_pylist()
        assert found == [{"id": at, "text": "\n".join(STORY)} for at in (1, 4)]
        assert source.skipped == 2


def test_a_crawl_with_a_hostile_page(run: Commands, tmp_path: Path) -> None:
    """It is reported with its file, or skipped and counted."""
    for name, content in {"a": page(), "b": DEEP, "c": page()}.items():
        put(tmp_path / "crawl" / f"{name}.html", content.encode())
    for command in (("pairs",), ("dedup", "-o", tmp_path / "kept.parquet")):
        failed = run(*command, tmp_path / "crawl", "--html")
        assert complaint(failed) == f"{tmp_path / 'crawl' / 'b.html'}: {WHY}; use --on-error skip to skip such rows."
        done = run(*command, tmp_path / "crawl", "--html", "--on-error", "skip")
        assert done.code == 0
        assert "1 " in done.err
        assert "skipped" in done.err
    assert pq.read_table(tmp_path / "kept.parquet")["id"].to_pylist() == ["a.html"]
