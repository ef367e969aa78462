"""Check the text of web pages: the visible text, the article, and sources of pages."""

import codecs
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike import Shingles, Source
from lookalike.core.errors import DataError
from lookalike.items.pages import LABELS, TAKEN_FOR, USED, _heaviest, article_text, decode_page, visible_text
from tests.page_samples import ANOTHER, MENU, STORY, page, put
from tests.samples import encode_csv, encode_jsonl

PAGES = Path(__file__).parents[2] / "examples" / "pages"
NAMES = sorted(path.name for path in PAGES.glob("*.html"))


# --- visible text ---


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two", "one\ntwo"),
        ("o<b>n</b>e <i>tw<span>o</span></i>", "one two"),
        ("<a href=x>one</a> <a>two</a>", "one two"),
        ("one<br>two<hr>three", "one\ntwo\nthree"),
        ("<table><tr><td>1<td>2<tr><th>3</table>", "1\n2\n3"),
        ("<ul><li>one<li>two</ul>three<h2>four</h2>five", "one\ntwo\nthree\nfour\nfive"),
        ("<div>one<div>two</div>three</div>", "one\ntwo\nthree"),
        ("o<x-link>n</x-link>e <blink>tw</blink>o", "one two"),
        ("o<img src=x>ne<button>two</button>three<textarea>four</textarea>five", "one two three\nfour\nfive"),
        ("one<iframe src=x></iframe>two<select><option>no</select>three<video></video>four", "one two three four"),
        ("one<canvas></canvas>two<audio></audio>three<object>no</object>four", "one two three four"),
        ("  one \n\t two&nbsp;&nbsp;three\u2003four ", "one two three four"),
        ("<pre>one\n  two</pre>", "one two"),
    ],
)
def test_blocks_separate_words_and_inline_tags_do_not(html: str, text: str) -> None:
    assert visible_text(html) == text


@pytest.mark.parametrize(
    "html",
    [
        "<script>if (a < b) document.write('<p>no</p>')</script>",
        "<script><!-- no </script --></script>",
        "<style>p > b { content: 'no' }</style>",
        "<!-- no <p>no</p> -->",
        "<template><p>no</p></template>",
        "<noscript><p>no</p></noscript>",
        "<iframe>no</iframe>",
        "<svg><title>no</title><text>no</text></svg>",
        "<select><option>no<option>no</select>",
        "<video>no</video><audio>no</audio><canvas>no</canvas><object>no</object>",
        "<title>no</title>",
        "<p hidden>no</p>",
        "<div hidden><p>no<b>no</b></p><div hidden>no</div>no</div>",
        "<div style='color: red; DISPLAY : none !important'>no<p style='display:block'>no</p></div>",
        "<span style=visibility:hidden>no</span>",
        "<dialog>no</dialog>",
        "<input type=hidden value=no placeholder=no>",
    ],
)
def test_invisible_elements(html: str) -> None:
    assert visible_text(f"<head><title>no</title><meta name=a content=no></head>yes{html}") == "yes"
    assert visible_text(f"<p>yes {html} yes").replace("\n", " ") == "yes yes"


def test_visible_exceptions() -> None:
    assert visible_text("<dialog open>one</dialog><p style='display:block'>two<details>three</details>") == (
        "one\ntwo\nthree"
    )
    assert visible_text("a<!-- b -->c<script>d</script>e") == "ace"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("R&amp;D &lt;b&gt; caf&eacute; &#8364; &#x1F600; &copy; &notit; &amp;amp;", "R&D <b> café € 😀 © ¬it; &amp;"),
        ("Genossen&shy;schaft zero&#8203;width", "Genossenschaft zerowidth"),
        ("&#0;&#xD800;&#x110000;", "\ufffd\ufffd\ufffd"),
    ],
)
def test_entities(html: str, text: str) -> None:
    assert visible_text(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        (" \n ", ""),
        ("<html></html>", ""),
        ("<!-- nothing -->", ""),
        ("<frameset><frame src=a></frameset>", ""),
        ("just text", "just text"),
        ("<p>one<p>two</div></p></b></table>three", "one\ntwo\nthree"),
        ("<b><p>one</b>two</p>", "onetwo"),
        ("<p class='a>one</p><p>two", ""),
        ("<p>one</p><p cla", "one"),
        ("one<<<two>three", "one<<three"),
        ("<script>never closed <p>one</p>", ""),
        ("</p>one</br>two", "one\ntwo"),
        ("<table>one<tr><td>two</table>", "one\ntwo"),
        ("<body><p>one</p></body></html>two", "one\ntwo"),
        ("one\0two<p>\0</p>", "onetwo"),
        ("\ud800one", "one"),
    ],
)
def test_pages_that_are_empty_or_broken(html: str, text: str) -> None:
    assert visible_text(html) == text
    assert article_text(html) == ""


@pytest.mark.slow
def test_pages_that_nest_deeply() -> None:
    deep = 3000
    assert visible_text("<div>" * deep + "one" + "</div>" * deep + "two") == "one\ntwo"
    assert visible_text("<i>" * deep + "one") == "one"
    assert visible_text(f"{'<div hidden>' * deep}one") == ""


# --- encodings ---

WORDS = "déjà vu \u2013 naïve café €"


@pytest.mark.parametrize(
    ("start", "encoding", "words"),
    [
        ("", "utf-8", WORDS),
        ("", "utf-8-sig", WORDS),
        ("", "cp1252", WORDS),
        ("<meta charset=iso-8859-1>", "utf-8-sig", WORDS),  # the byte order mark wins
        ("<meta charset=utf-8>", "utf-8", WORDS),
        ("<meta charset=iso-8859-1>", "cp1252", WORDS),  # as browsers do
        ("<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=Windows-1252'>", "cp1252", WORDS),
        ('<?xml version="1.0" encoding="latin1"?>', "cp1252", WORDS),
        ("<!-- <meta charset=utf-8> --><meta  charset = \"ISO-8859-15\" >", "iso8859-15", "café €"),
        (f"<!-- {'x' * 2000} --><meta charset=koi8-r>", "koi8-r", "маяк"),
        ("<meta charset=windows-1251>", "cp1251", "маяк"),
        ("<meta charset=Shift_JIS>", "cp932", "灯台①"),
        ("<meta charset=euc-jp>", "euc_jp", "灯台"),
        ("<meta charset=gb2312>", "gb18030", "灯塔镕"),
        ("<meta charset=big5>", "big5hkscs", "燈塔"),
        ("<meta charset=ks_c_5601-1987>", "cp949", "등대똠"),
        ("<meta charset=windows-874>", "cp874", "ประภาคาร"),
        ("<meta charset=x-sjis>", "cp932", "灯台①"),
        ("<meta charset=Windows-31J>", "cp932", "灯台①"),
        ("<meta charset=x-euc-jp>", "euc_jp", "灯台"),
        ("<meta charset=x-gbk>", "gb18030", "灯塔镕"),
        ("<meta charset=cn-big5>", "big5hkscs", "燈塔"),
        ("<meta charset=windows-949>", "cp949", "등대똠"),
        ("<meta charset=x-cp1251>", "cp1251", "маяк"),
        ("<meta charset=koi8>", "koi8-r", "маяк"),
        ("<meta charset=koi8-ru>", "koi8-u", "їжак"),
        ("<meta charset=x-mac-cyrillic>", "mac-cyrillic", "маяк"),
        ("<meta charset=iso-8859-8-i>", "iso8859-8", "מגדלור"),
        ("<meta charset=iso88592>", "iso8859-2", "maják na skále"),
        ("<meta charset=iso88591>", "cp1252", WORDS),
        ("<meta charset=utf-16>", "utf-8", WORDS),  # cannot be true of a page that declares it in ASCII
        ("<meta charset=klingon>", "utf-8", WORDS),
        ("<meta charset=base64>", "cp1252", WORDS),
        ("<meta charset=idna>", "utf-8", WORDS),
        ("<script charset=koi8-r></script>", "utf-8", WORDS),
    ],
)  # fmt: skip
def test_encodings(start: str, encoding: str, words: str) -> None:
    content = f"{start}<p>{words}</p>".encode(encoding)
    assert visible_text(content) == words
    assert decode_page(content) == f"{start}<p>{words}</p>"


def test_labels_stand_for_encodings_that_python_knows() -> None:
    for label, name in LABELS.items():
        assert label == label.lower()
        assert decode_page(f"<meta charset={label.upper()}>\u017e\u0e01\u05d0".encode(name, "ignore") + b"\xff")
        assert (found := codecs.lookup(name).name) in TAKEN_FOR or USED.fullmatch(found)


@pytest.mark.parametrize(("mark", "encoding"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
def test_encodings_of_two_bytes(mark: bytes, encoding: str) -> None:
    assert visible_text(mark + f"<meta charset=utf-8><p>{WORDS}".encode(encoding)) == WORDS


def test_bytes_that_are_wrong_in_their_encoding() -> None:
    assert visible_text(b"<meta charset=utf-8><p>caf\xe9 \xc3\xa9") == "caf\ufffd é"
    assert decode_page(b"") == ""


# --- articles ---


@pytest.mark.parametrize(
    "between", ["", "<div>Advertisement</div>", "<p><a href=x>Read on: why cats do not swim</a></p>"]
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("<div>Breaking: Markets calm</div>", "<div>Registered office: 88 Quay Street</div>"),
        ("<form>Search</form>", "<h3>More from us</h3><p><a href=a>The man who would not pay for the sea</a></p>"),
        ("<nav>This is where you can find all that there is to be found on the pages of ours.</nav>", ""),
        ("", "<footer><p>All that is in here is ours and may not be used without that we are asked for it.</footer>"),
        ("", "<aside>You may also like to know what the others have been up to while you were at it.</aside>"),
        ("", "<div role=contentinfo>What you see here is the work of all who are named on one of the pages.</div>"),
    ],
)
def test_articles(before: str, after: str, between: str) -> None:
    assert article_text(page(STORY, before, after, between)) == "\n".join(STORY)


def test_short_blocks_of_an_article() -> None:
    """Headlines, and blocks with stop words between paragraphs; not bylines, captions or dates."""
    html = "<h1>Alone with a cat</h1><div>Photograph: Agency</div>" + page(
        STORY[:2],
        before="<h1>Alone at last</h1>",
        after=f"<h2>With a cat</h2><div>Agency</div><p>{STORY[2]}</p><p>More on it",
    )
    assert article_text(html).split("\n") == ["Alone at last", *STORY[:2], "With a cat", STORY[2]]


def test_prose_that_is_far_from_the_article() -> None:
    """A paragraph of legal text does not outweigh the links before it, but another article does."""
    links = f"<ul>{MENU * 5}</ul>"
    legal = "What is on this page is not for those who are under the age of ten."
    assert article_text(page(STORY, after=f"{links}<p>{legal}")) == "\n".join(STORY)
    assert article_text(page(STORY, after=f"{links}{page(ANOTHER * 2)}")) == "\n".join((*STORY, *ANOTHER * 2))


@pytest.mark.parametrize("element", ["main", "article", "div role=main"])
def test_the_main_element(element: str) -> None:
    around = f"<div>{ANOTHER[0]}</div>"
    assert article_text(f"{around}<{element}>{page()}</{element.split()[0]}>{around}") == "\n".join(STORY)


def test_a_main_element_without_the_main_content() -> None:
    assert article_text(f"<main><p>{STORY[0]}</p></main>{page(ANOTHER)}") == "\n".join((STORY[0], *ANOTHER))


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Wärter ist schon so lange auf dem Felsen, dass er nicht mehr weiß, was ein Brot kostet.",
        "The keeper has been on the rock for so long that he does not know what bread costs.",
        "El farero lleva tanto tiempo en la roca que ya no sabe lo que cuesta un pan.",
        "Le gardien est sur le rocher depuis si longtemps qu'il ne sait plus ce que coûte le pain.",
        "Il guardiano è sullo scoglio da così tanto tempo che non sa più quanto costa il pane.",
        "De wachter is al zo lang op de rots dat hij niet meer weet wat een brood kost.",
        "O faroleiro está no rochedo há tanto tempo que já não sabe quanto custa o pão.",
        "Vakten har varit på klippan så länge att han inte längre vet vad ett bröd kostar.",
        "Majakanvartija on asunut luodolla niin kauan ettei muista paljonko leipä nykyään kaupassa maksaa.",  # no list
        "守塔人在岩石上住了很久已经不知道一个面包要多少钱了。",
    ],
)
def test_articles_in_many_languages(sentence: str) -> None:
    headings = "<div>Radio Video Sport Casino Sudoku Audio Auto Internet Festival Jazz Opera Humor</div>"
    known = not sentence.startswith(("Maja", "守"))
    expected = "\n".join([sentence] * 3)
    assert article_text(page((sentence,) * 3, before=headings if known else "")) == expected


@pytest.mark.parametrize(
    "sentences",
    [
        (
            "Fyrpasseren har boet på klippen i mange år og ved ikke, hvad et brød koster inde i byen.",
            "Båden kommer, når vejret tillader det, og oftere behøver den ifølge ham slet ikke at komme.",
            "Om vinteren bor der kun en kat derude, som arbejderne efterlod, da tårnet var bygget færdigt.",
        ),
        (
            "Strážce majáku žije na skále už tak dlouho, že neví, kolik dnes ve městě stojí bochník chleba.",
            "Loď prý připluje, když jí to počasí dovolí, a on by si nepřál, aby přijížděla častěji než dosud.",
            "V zimě tam s ním není nikdo kromě kočky, kterou na ostrově nechali dělníci, když dostavěli věž.",
        ),
        (
            "Paznicul farului locuiește de atât de mult timp pe stâncă, încât nu mai știe cât costă o pâine.",
            "El spune că barca vine atunci când poate și că nu și-ar dori ca ea să vină mai des decât acum.",
            "Iarna nu mai este nimeni acolo în afară de el și de o pisică lăsată de oamenii care au zidit turnul.",
        ),
        (
            "El guardià del far viu a la roca des de fa tants anys que ja no sap quant costa avui el pa.",
            "Segons ell, la barca arriba quan fa bon temps, i tampoc voldria pas veure-la gaire més sovint.",
            "A l'hivern només hi viuen ell i un gat abandonat pels homes que van aixecar aquella torre.",
        ),
    ],
    ids=["Danish", "Czech", "Romanian", "Catalan"],
)
def test_articles_in_languages_that_share_words_with_a_list(sentences: tuple[str, ...]) -> None:
    for between in ("", "<div>Radio Video Sport</div>"):
        expected = "\n".join(sentences)
        assert article_text(page(sentences, between=between)).replace("\nRadio Video Sport", "") == expected


def test_a_headline_that_is_a_link() -> None:
    headline = "<h1><a href=x>Alone at last</a></h1>"
    assert article_text(page(before=headline)).split("\n") == ["Alone at last", *STORY]
    assert article_text(page(before=f"<nav>{headline}</nav>")).split("\n") == [*STORY]


def test_a_page_of_links_has_no_article() -> None:
    for name in ("<a href=/>The Lantern</a>", "What is new in the town of Skerrow and in the hills"):
        assert article_text(f"<h1>{name}</h1><ul>{MENU * 9}</ul><p>Copyright 2020") == ""


@given(st.lists(st.integers(-5, 5), max_size=12))
def test_the_heaviest_stretch(weights: list[int]) -> None:
    start, stop = _heaviest(weights)
    sums = {(i, j): sum(weights[i:j]) for i in range(len(weights) + 1) for j in range(i, len(weights) + 1)}
    assert sums[start, stop] == max(sums.values())
    if stop:
        assert weights[start] > 0
        assert weights[stop - 1] > 0


def test_the_pages_of_the_examples() -> None:
    """An article is the same in all newspapers except for its headline and one cut."""
    found = {name: article_text((PAGES / name).read_bytes()).split("\n") for name in NAMES}
    for article in ("bridge", "orchestra"):
        herald, lantern, post = (found[f"{paper}-{article}.html"] for paper in ("herald", "lantern", "post"))
        assert herald[1:] == post[1:]
        assert lantern[-4:] == herald[1:5]
        assert len(herald) == 6
    assert found["bote-backstube.html"][1:] == found["kurier-backstube.html"][1:]
    assert all("Anzeigen" not in block for block in found["bote-seilbahn.html"])


def test_stop_words_separate_the_same_article_from_the_same_newspaper() -> None:
    """At threshold 0.5 they find exactly the right pairs; characters find under half of these."""
    stops = Shingles(unit="stop", k=3, stop_words="de,en")
    expected = {(a, b) for a in NAMES for b in NAMES if a < b and a.split("-")[1] == b.split("-")[1]}
    source = Source(PAGES, html=True)
    found = {kind: la.find_pairs(source, threshold=0.5, recall=1.0, shingles=kind) for kind in (stops, "char:9")}
    assert {(a, b) for a, b, _ in found[stops]} == expected
    assert len({(a, b) for a, b, _ in found["char:9"]} & expected) < len(expected) / 2
    articles = la.find_pairs(Source(PAGES, article=True), threshold=0.5, recall=1.0)
    assert {(a, b) for a, b, _ in articles} == expected


# --- sources ---

ROWS = [
    {"id": "a", "html": f"<meta charset=utf-8><p>café {STORY[0]}"},
    {"id": "b", "html": f"<meta charset=iso-8859-1><p>café {STORY[0]}<script>1<2</script>"},
    {"id": "c", "html": ""},
]
TEXTS = [("a", f"café {STORY[0]}"), ("b", f"café {STORY[0]}"), ("c", "")]


def documents(source: Source) -> list[tuple[Any, str]]:
    return [(row["id"], row["text"]) for table in source.batches() for row in table.to_pylist()]


def whole(source: Source) -> list[dict[str, Any]]:
    return [row for table in source.tables() for row in table.to_pylist()]


def test_tables_of_pages(tmp_path: Path) -> None:
    """Strings are decoded already, whatever encoding the page declares; bytes are not."""
    table = pa.Table.from_pylist(ROWS)
    own = [row["html"].encode("utf-8" if row["id"] == "a" else "cp1252") for row in ROWS]
    in_bytes = table.set_column(1, "html", pa.array(own))
    (tmp_path / "a.jsonl").write_bytes(encode_jsonl(ROWS))
    (tmp_path / "a.csv").write_bytes(encode_csv(ROWS))
    pq.write_table(table, tmp_path / "strings.parquet")
    pq.write_table(in_bytes, tmp_path / "bytes.parquet")
    for pages in (table, in_bytes, *tmp_path.iterdir()):
        source = Source(pages, html=True, batch_bytes=1)
        assert documents(source) == TEXTS
    assert [row["html"] for row in whole(Source(in_bytes, html=True))] == own
    assert whole(Source(tmp_path / "a.csv", html=True)) == ROWS
    assert documents(Source(pa.table({"id": [1], "text": ["<b>x"], "body": ["no"]}), html=True)) == [(1, "x")]
    assert documents(Source(pa.table({"id": [1], "text": ["<b>x"]}))) == [(1, "<b>x")]


def test_strings_that_are_not_utf8(tmp_path: Path) -> None:
    """As in a CSV file pasted together from pages."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,html\n1,<p>caf\xe9\n2,<p>caf\xc3\xa9\n3,<meta charset=koi8-r>\xcd\xd1\xcb\n")
    assert documents(Source(path, html=True)) == [("1", "café"), ("2", "café"), ("3", "мяк")]
    assert [row["html"] for row in whole(Source(path, html=True))] == ["<p>café", "<p>café", "<meta charset=koi8-r>мяк"]
    with pytest.raises(DataError, match="row 0: html is not valid UTF-8"):
        documents(Source(path, text="html"))


def test_nulls_are_faults(tmp_path: Path) -> None:
    for pages in (["<p>a", None], [b"<p>\xe9", None]):
        table = pa.table({"id": [1, 2], "html": pages})
        with pytest.raises(DataError, match="row 1: html is null"):
            documents(Source(table, html=True))
        source = Source(table, html=True, on_error="skip")
        assert len(documents(source)) == len(whole(source)) == source.documents == source.skipped == 1


def test_files_of_pages(tmp_path: Path) -> None:
    """A folder gives the files named like pages; a glob or a name gives all."""
    pages = {
        "1.html": b"<p>one\n<p>two",
        "2.HTM": b"caf\xe9",
        "deep/3.xhtml": "\ufefftrois é".encode("utf-16-le"),
        "4.html.gz": gzip.compress(b"four"),
    }
    for name, content in pages.items():
        put(tmp_path / name, content)
    put(tmp_path / "logo.png", b"\x89PNG\0\0")
    put(tmp_path / "pairs.csv", b"a,b\n1,2\n")
    expected = [("1.html", "one\ntwo"), ("2.HTM", "café"), ("4.html.gz", "four"), ("deep/3.xhtml", "trois é")]
    assert documents(Source(tmp_path, html=True)) == expected
    assert [row["text"] for row in whole(Source(tmp_path, html=True))][:2] == ["<p>one\n<p>two", "café"]
    assert documents(Source(tmp_path / "1.html", html=True)) == [(str(tmp_path / "1.html"), "one\ntwo")]
    assert documents(Source(put(tmp_path / "saved page", b"<b>five"), html=True))[0][1] == "five"
    assert documents(Source(put(tmp_path / "lines.txt", b"<b>one\n<i>tw\xf6"), html=True)) == [(0, "one"), (1, "twö")]
    assert whole(Source(tmp_path / "lines.txt", html=True))[1] == {"id": 1, "text": "<i>twö"}
    with pytest.raises(DataError, match=r"logo\.png: is a picture, not text; .* use Source\(on_error='skip'\)"):
        documents(Source(f"{tmp_path}/*.[cp]*", html=True))
    source = Source(f"{tmp_path}/*.[cp]*", html=True, on_error="skip")
    assert [name for name, _ in documents(source)] == ["pairs.csv"]
    assert source.skipped == 1
    with pytest.raises(DataError, match="holds null bytes"):
        documents(Source(tmp_path / "deep" / "3.xhtml", format="files"))


def test_a_folder_without_html_file_names(tmp_path: Path) -> None:
    put(tmp_path / "one", b"<p>one")
    put(tmp_path / "two", b"<p>two")
    assert documents(Source(tmp_path, html=True)) == [("one", "one"), ("two", "two")]


def test_pages_in_files_are_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a.html", b"caf\xe9")
    monkeypatch.setattr("lookalike.io.documents.decode_pages", None)
    assert documents(Source(tmp_path, html=True)) == [("a.html", "café")]
    assert whole(Source(tmp_path, html=True)) == [{"id": "a.html", "text": "café"}]


def test_the_expected_number_of_pages(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", encode_jsonl([{"text": f"<p {'x' * 2000}>{'y' * 200}"}] * 50))
    texts = pa.array(["y" * 200] * 5, pa.large_string())
    assert 40 <= Source(path, html=True).expected(texts) <= 60


def test_articles_of_a_source() -> None:
    source = Source(pa.table({"text": [page()]}), article=True)
    assert source.html
    assert documents(source) == [(0, "\n".join(STORY))]
