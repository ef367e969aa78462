"""Generate the parts of the site that are not pages here: navigation, reference, benchmarks, changes.

Pages stay plain Markdown that reads well where the code is hosted. The build adds what only a site needs: the
navigation at the end of the map, and pages made from docstrings, from the commands and from files elsewhere.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import lookalike

DOCS = Path(__file__).parent
MADE = DOCS / "reference"  # which git ignores

NAVIGATION = {
    "Start": ["quick-start", "report", "evaluate"],
    "Jobs": [
        "dedup-a-corpus",
        "passages",
        "decontaminate",
        "mirrored-pages",
        "news",
        "plagiarism",
        "records",
        "baskets",
        "vectors",
        "semantic-dedup",
        "fingerprints",
        "keep-an-index",
        "pipelines",
        "recipes",
        "migrating",
        "remote",
        "server",
        "scale",
        "spark",
    ],
    "Understanding": [
        "how-it-works",
        "documents",
        "choosing-parameters",
        "measures-and-families",
        "exact-joins",
        "textbook",
        "formats-and-guarantees",
        "faq",
    ],
    "Reference": [
        "reference/api",
        "reference/commands",
        "reference/benchmarks",
        "reference/changes",
        "reference/security",
        "reference/example-shards",
    ],
}
ELSEWHERE = {
    "../bench/README.md": "reference/benchmarks.md",
    "../bench/results/": "reference/results/",
    "../CHANGELOG.md": "reference/changes.md",
    "../SECURITY.md": "reference/security.md",
    "../examples/shards/README.md": "reference/example-shards.md",
}
BENCH = DOCS.parent / "bench"

# Names as users write them after `la.`; a name that `la` does not have is a path within the package.
FUNCTIONS = {
    "Inputs": ["Source", "Shingles", "Sets", "Vectors", "Bits"],
    "Search": ["find_pairs", "find_matches", "find_clusters", "dedup"],
    "Passages": ["find_passages", "dedup_units", "Passages", "Cuts"],
    "Test questions": ["decontaminate", "Leaks"],
    "Evaluation": ["evaluate", "Evaluation"],
    "Results": [
        "Pairs",
        "Clusters",
        "Dedup",
        "Resolution",
        "Explanation",
        "search.audit.Audit",
    ],
    "An index": ["Index", "index.sifting.Sifted"],
    "Bands and rows": ["And", "Or", "choose_bands"],
    "Errors": ["LookalikeError", "core.errors.UsageError", "core.errors.DataError", "core.errors.TooManyPairs"],
}
MODULES = {
    "measures": "Measures",
    "families": "Families",
    "exact": "Bounds of exact joins",
    "entities": "Records",
    "linking": "Records in an index",
    "baskets": "Baskets",
    "news": "Web pages",
    "fingerprints": "Fingerprints",
    "spark": "Spark",
    "items.passages": "Shared passages",
}
OF_MODULES = {"news": ["visible_text", "article_text"], "items.passages": ["Passage", "shared_passages"]}


def setup(app: Any) -> dict[str, bool]:
    """Register the functions below with Sphinx."""
    app.connect("builder-inited", make_pages)
    app.connect("source-read", add_what_a_site_needs)
    app.connect("autodoc-process-docstring", make_readable, priority=600)  # after Args sections are lists
    app.connect("doctree-read", name_as_users_do)
    return {"parallel_read_safe": True}


def add_what_a_site_needs(app: Any, name: str, source: list[str]) -> None:
    """Point links out of this folder to generated pages, and add the navigation to the index page."""
    for target, page in ELSEWHERE.items():
        source[0] = source[0].replace(f"]({target}", f"]({page}")
    if name == "index":
        parts = (f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n" for title in NAVIGATION)
        source[0] += "".join(
            f"\n{part}" + "\n".join(pages) + "\n```\n" for part, pages in zip(parts, NAVIGATION.values(), strict=True)
        )


def make_pages(app: Any) -> None:
    """Write the pages of the reference."""
    results = sorted((BENCH / "results").glob("*.md"))
    pages = {
        "api.rst": "\n".join(api()),
        "commands.md": "\n".join(commands()),
        "benchmarks.md": manual_of_benchmarks([page.stem for page in results]),
        "changes.md": page_of("CHANGELOG.md").replace("](SECURITY.md", "](security.md"),
        "security.md": page_of("SECURITY.md").replace("[fuzz](fuzz/README.md)", "`fuzz/README.md`"),
        "example-shards.md": page_of("examples/shards/README.md"),
        **{f"results/{page.name}": page.read_text().replace("](../../docs/", "](../../") for page in results},
    }
    (MADE / "results").mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        if not (MADE / name).exists() or (MADE / name).read_text() != text:  # else the build need not read it again
            (MADE / name).write_text(text)


def page_of(name: str) -> str:
    """Return a page of the repository, with links to pages of this folder that work from the reference."""
    return (DOCS.parent / name).read_text().replace("](docs/", "](../")


def manual_of_benchmarks(results: list[str]) -> str:
    """Return the benchmark README, with the results below it in the navigation."""
    text = (BENCH / "README.md").read_text().replace("](../docs/", "](../").replace("[results](results)", "results")
    return text + "\n```{toctree}\n:hidden:\n\n" + "\n".join(f"results/{name}" for name in results) + "\n```\n"


# --- the Python package ---


def api() -> Iterator[str]:
    """Yield the lines of the API reference, made from docstrings."""
    yield from heading("The Python package", "=")
    yield "``la`` is the package: ``import lookalike as la``. Names outside ``la`` are shown with their full path.\n"
    for title, names in FUNCTIONS.items():
        yield from heading(title, "-")
        for name in names:
            yield from describe(name)
    for name, title in MODULES.items():
        module = find(name)
        yield from heading(f"{title}: {name}", "-")
        yield f".. automodule:: {module.__name__}\n   :no-index:\n"
        for one in OF_MODULES.get(name) or public_names(module):
            if getattr(lookalike, one, None) is not getattr(module, one):  # else it is listed above
                yield from describe(f"{name}.{one}")


def find(path: str) -> Any:
    """Return what a dotted path names within the package."""
    one: Any = lookalike
    for name in path.split("."):
        one = getattr(one, name, None) or import_module(f"{one.__name__}.{name}")
    return one


def public_names(module: ModuleType) -> list[str]:
    """Return the functions and classes that a module lists in `__all__`, or else defines."""
    own = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__]
    listed = getattr(module, "__all__", None) or [name for name in own if name.islower() and name[0] != "_"]
    return [name for name in listed if callable(getattr(module, name))]


def describe(path: str) -> Iterator[str]:
    """Yield the directives that show the docstring of one name."""
    one = find(path)
    is_class, is_result = isinstance(one, type), path in FUNCTIONS["Results"]  # which users do not make
    yield f".. auto{'class' if is_class else 'function'}:: lookalike.{path}{'()' if is_result else ''}"
    yield "   :members:\n   :inherited-members: tuple, ValueError, dict\n" if is_class else ""
    if is_result and is_dataclass(one):
        yield f"   Fields: {', '.join(f'`{field.name}`' for field in fields(one))}.\n"


def name_as_users_do(app: Any, page: Any) -> None:
    """Show what the package offers as `la.find_pairs` and `la.measures.jaccard`."""
    from docutils.nodes import Text
    from sphinx.addnodes import desc_addname, desc_signature

    for signature in page.findall(desc_signature):
        for prefix in signature.findall(desc_addname):
            package, _, rest = f"{prefix.astext()}{signature['fullname']}".partition(".")
            if package == "lookalike" and rest.partition(".")[0] in dir(lookalike):
                prefix.children = [Text(prefix.astext().replace("lookalike.", "la.", 1))]


def make_readable(app: Any, what: str, name: str, one: Any, options: Any, lines: list[str]) -> None:
    """Escape reStructuredText marks: docstrings are plain text with names in backticks.

    Lines such as `k: how many`, after an empty line, are a list.
    """
    if what == "module":  # what follows is for contributors
        notes = (at for at, line in enumerate(lines) if line.startswith(("Lives here:", "May import:")))
        del lines[next(notes, len(lines)) :]
    in_example = in_list = False
    for at, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if in_example:
            continue
        pieces = re.split(r"(`[^`]*`|^\s*:param [^:]*:|^\s*:returns?:)", line)
        pieces[::2] = (re.sub(r"([*|_])", r"\\\1", piece) for piece in pieces[::2])
        text = "".join(pieces)
        parameter = re.match(r"([a-z_]+): ", line)
        in_list = bool(line.strip()) and (in_list or (parameter is not None and not lines[at - 1].strip()))
        if in_list:
            text = f"- `{parameter[1]}`: {text.partition(': ')[2]}" if parameter else f"  {text.strip()}"
        lines[at] = text


def heading(text: str, line: str) -> list[str]:
    """Return the lines of a reStructuredText heading."""
    return [text, line * len(text), ""]


# --- the command line ---


def commands() -> Iterator[str]:
    """Yield the page of all commands and their options, from the same source as `--help`."""
    from lookalike.cli import COMMANDS
    from lookalike.cli.app import program

    yield "# The command line\n"
    yield "`lookalike COMMAND --help` shows the same. Results go to the file that `--out` names or to standard output,"
    yield "plan, progress and summary to standard error. [Formats and guarantees](../formats-and-guarantees.md) has the"
    yield "formats, and what the exit codes mean.\n"
    for name, command in program(*COMMANDS).commands.items():
        yield f"## {name}\n"
        yield from of_group(name, command) if hasattr(command, "commands") else of_command(name, command)


def of_group(name: str, group: Any) -> Iterator[str]:
    """Yield the commands of a group."""
    yield f"{group.help}\n"
    for short, command in group.commands.items():
        yield f"### {name} {short}\n"
        yield from of_command(f"{name} {short}", command)


def of_command(name: str, command: Any) -> Iterator[str]:
    """Yield what a command does, its examples, arguments and options."""
    yield f"{plain(command.help)}\n"
    lines = [line for line in (command.epilog or "").split("\n\n") if line and "[bold]" not in line]
    yield "```text\n" + "\n".join(lines) + "\n```\n"
    yield "| option | what it says | default |\n|---|---|---|"
    for parameter in command.params:
        if parameter.name in ("help", "context"):
            continue
        given = ", ".join(f"`{one}`" for one in parameter.opts if one.startswith("-")) or f"`{parameter.metavar}`"
        default = parameter.default
        shown = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
        yield f"| {given} | {plain(parameter.help or '')} | {shown} |"
    yield ""


def plain(text: str) -> str:
    """Return a help text as Markdown for a table cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*").replace("[", "\\[")
