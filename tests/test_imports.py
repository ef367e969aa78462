"""Imports go one way, names are few, and `import lookalike` is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lookalike

ROOT = Path(lookalike.__file__).parent

# A module may import from those before it and from no others.
MODULES_IN_ORDER = """
    kernels kernels.hashing kernels.characters kernels.text kernels.bounds kernels.sets kernels.sketch kernels.simhash
    kernels.buckets kernels.joins kernels.probes kernels.vectors kernels.near kernels.neighbours kernels.minutiae
    errors statistics wording display drawing run room stop_words.dutch stop_words.english stop_words.french
    stop_words.german stop_words.italian stop_words.portuguese stop_words.spanish stop_words.swedish stop_words news
    data shingles passages write report.beside report.finding report.choosing report.page report findings results
    parts csv_tables formats json_lines json_lists table_rows read set_elements set_files pictures vector_arrays
    bit_codes vector_columns vector_tables vector_files record_files pairwise measures exact mapreduce families.base
    families.draws families.minhash families.simhash families.projections families.hyperplanes families.lines
    families.bits families.squares families.fields families candidates candidates.banding candidates.exact amplify
    plan collection multiprobe spaces candidates.tables nearest vector_plan candidates.identical candidates.probing
    candidates.strings verify audit cluster search workdir items set_search vector_search find item_files result_files
    entities.nicknames entities.values entities.fields entities.mixture entities.company_words entities.companies
    entities.scores entities.blocks entities.comparing entities.validation entities.finding entities.resolution
    entities.resolving entities baskets.cells baskets.reading baskets.ratings baskets.similar baskets.recommending
    baskets.names baskets fingerprints.prints fingerprints.made_up fingerprints.print_files fingerprints.grids
    fingerprints.squares fingerprints.corners fingerprints.database fingerprints spark.making spark.parcels
    spark.tasks spark.buckets spark.record_tasks spark.graphs spark.frames spark.items spark.jobs spark.records spark
    index.codings index.records index.tables index.store index.batches index.checking index.looking index.sifting
    index.asking index serve.metrics serve.guard serve.messages serve.describing serve.app serve plots cli.progress
    cli.job cli.records cli.baskets cli.fingerprints cli.curves cli.demo cli.reporting cli.index cli.sifting
    cli.on_spark cli.options cli.app cli.documents cli.domains cli.indexing cli.serving cli.tools cli __main__
"""
ORDER = MODULES_IN_ORDER.split()


def modules():
    """{name: path} of all modules of the package but its own `__init__`."""
    names = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(part for part in parts if part != "__init__")] = path
    del names[""]
    return names


MODULES = modules()


class Imports(ast.NodeVisitor):
    """Collects the modules of this package that are imported anywhere but for type checkers."""

    def __init__(self):
        self.found = set()

    def visit_If(self, node):
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Import(self, node):
        names = [name.name for name in node.names]
        self.found |= {name.partition(".")[2] for name in names if name.startswith("lookalike.")}

    def visit_ImportFrom(self, node):
        assert node.level == 0, "imports name the package in full"
        package, _, module = node.module.partition(".")
        if package == "lookalike":
            inner = [f"{module}.{name.name}".lstrip(".") for name in node.names]
            self.found |= {name if name in MODULES else module for name in inner} - {""}


def imports_of(source):
    visitor = Imports()
    visitor.visit(ast.parse(source))
    return visitor.found


def test_every_module_has_one_place():
    """A new module must be given its place in the order."""
    assert sorted(ORDER) == sorted(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    earlier = ORDER[: ORDER.index(module)]
    assert imports_of(MODULES[module].read_text()) <= set(earlier)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import lookalike.find", {"find"}),
        ("from lookalike.kernels import characters, text", {"kernels.characters", "kernels.text"}),
        ("from lookalike.kernels.sets import overlap", {"kernels.sets"}),
        ("from lookalike import __version__, families", {"families"}),
        ("def f():\n    from lookalike.read import Source", {"read"}),
        ("if TYPE_CHECKING:\n    from lookalike.find import Job", set()),
        ("import numpy, lookalike", set()),
    ],
)
def test_imports_are_seen(source, expected):
    assert imports_of(source) == expected


def loaded_after(statement):
    """The modules that a fresh Python has loaded after a statement."""
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_alone_is_light():
    assert not loaded_after("import lookalike") & {"numba", "numpy", "pyarrow", "lookalike.find"}


def test_names_load_when_they_are_used():
    loaded = loaded_after("import lookalike\nlookalike.And")
    assert "lookalike.amplify" in loaded
    assert not loaded & {"numba", "pyarrow"}


def test_public_names():
    assert len(lookalike.__all__) == len(set(lookalike.__all__)) <= 20
    assert set(lookalike.__all__) <= set(dir(lookalike))
    for name in lookalike.__all__:
        assert getattr(lookalike, name).__doc__


def test_unknown_names():
    with pytest.raises(AttributeError, match=r"^module 'lookalike' has no attribute 'find_pears'"):
        lookalike.find_pears  # noqa: B018
