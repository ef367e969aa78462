"""The command `lookalike baskets`: similar users or items from ratings, and recommendations."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as opt
from lookalike.cli.app import GivenOptions, command
from lookalike.cli.options import flag, option
from lookalike.cli.outputs import check_excel_safe, check_page, write_page
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import bad_files_note, next_step, summary, time_line
from lookalike.core.errors import UsageError, choice, whole
from lookalike.core.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from lookalike.baskets.names import Names
    from lookalike.baskets.ratings import Ratings
    from lookalike.baskets.recommending import Neighbour, Recommendations
    from lookalike.baskets.similar import ItemGroups


@dataclass(frozen=True, kw_only=True)
class BasketOptions:
    """The options of the command."""

    by: Annotated[str, option(metavar="NAME", help="What to compare: user or item.")] = "user"
    ratings: Annotated[
        str | None,
        option(
            metavar="NAME",
            help="Ratings that count: all, high (liked only), liked-hated (shared if both like or both hate the item), "
            "or stars (each star counts); default: all, or stars for recommendations if possible.",
        ),
    ] = None
    liked: Annotated[
        float | None, option(help="Lowest rating that means liked; default: 3/5 of the way up the scale.")
    ] = None
    union: Annotated[
        str,
        option(
            metavar="NAME",
            help="With --ratings stars: 5 and 3 stars for an item add 5 (max) or 8 (sum) to the size of the union.",
        ),
    ] = "max"
    threshold: Annotated[str, opt.threshold_option("Minimum similarity in (0, 1].")] = "0.2"
    recall: opt.Recall = 0.99
    out: opt.Out = "-"
    groups: Annotated[
        str | None,
        option(
            metavar="T",
            help="Group items whose similarity to the centre of their group is at least T; use groups as items.",
        ),
    ] = None
    excel_safe: opt.ExcelSafe = False
    groups_out: Annotated[str | None, option(metavar="FILE", help="Also write the groups of items.")] = None
    report: opt.Report = None
    recommend: Annotated[str | None, option(metavar="USER", help="Recommend to USER what similar users liked.")] = None
    recommend_all: Annotated[bool, flag("--recommend-all", help="Recommend to every user.")] = False
    k: Annotated[int, option("-k", "--top", metavar="K", help="Number of items to recommend.")] = 10
    neighbours: Annotated[int, option(metavar="N", help="Recommend what the N most similar users liked.")] = 200
    half_life: Annotated[
        float,
        option(
            metavar="N",
            help="For recommendations: the weight of a rating halves with every N later ratings of the same user; with "
            "0, or if the input has no time column, all ratings count the same.",
        ),
    ] = 4
    names: Annotated[str | None, option(metavar="FILE", help="File of item ids and names, to show names.")] = None
    user: Annotated[str | None, option(metavar="COLUMN", help="Column that holds the user; default: inferred.")] = None
    item: Annotated[str | None, option(metavar="COLUMN", help="Column that holds the item; default: inferred.")] = None
    rating: Annotated[str | None, option(metavar="COLUMN", help="Column that holds the rating; - ignores ratings.")] = (
        None
    )
    time: Annotated[str | None, option(metavar="COLUMN", help="Column that holds the time; - ignores times.")] = None
    reading: opt.TableOptions
    method: opt.Method = "auto"
    audit: Annotated[
        int, option(metavar="N", help="Measure the recall on a sample of N users or items; 0: no audit.")
    ] = 0
    seed: opt.Seed = 1
    max_pairs: opt.MaxPairs = 100_000_000
    running: opt.RunOptions

    @property
    def recommends(self) -> bool:
        """Whether to recommend items instead of listing pairs."""
        return self.recommend is not None or self.recommend_all


@command(
    "lookalike baskets ratings.csv --threshold 0.3 -o similar-customers.csv",
    "lookalike baskets ratings.csv --by item --ratings high --names titles.csv -o similar-items.csv",
    "lookalike baskets ratings.parquet --ratings stars --union sum --threshold 0.2 --audit 500 -o pairs.parquet",
    "lookalike baskets orders.jsonl --user customer --item sku --groups 0.4 --groups-out groups.csv -o pairs.csv",
    "lookalike baskets ratings.csv --recommend ann --names titles.csv",
)
def baskets(inputs: opt.Inputs, *, options: BasketOptions, given: GivenOptions) -> None:
    """Find similar users or items from purchases or ratings, and recommend items."""
    from lookalike.baskets.names import Names
    from lookalike.io.inputs import check_apart
    from lookalike.io.write import writing

    check(options)
    check_recommending(options, given)
    check_apart([options.out, options.groups_out, options.report], [*inputs, options.names])
    run = TerminalRun(**vars(options.running))
    ratings = read(inputs, options, run)
    names = None if options.names is None else Names(options.names, ratings.item_ids)
    if names is not None and names.missing:
        run.say(f"names: {counted(names.missing, 'item')} without a name, shown by id")
    show = write_recommendations if options.recommends else write_pairs
    if options.groups is None:
        show(ratings, names, options, run)
        return
    groups = find_groups(ratings, options.groups, options, run)
    with ExitStack() as stack:
        if options.groups_out is not None:
            with run.stage("write"):
                table = groups_table(groups, names)
                stack.enter_context(writing([table], options.groups_out, settings(options), options.excel_safe, run))
        show(ratings.by_groups(groups), names, options, run)


def check(options: BasketOptions) -> None:
    """Raise an error for wrong options before anything is read."""
    from lookalike.baskets.ratings import SIDES, WAYS
    from lookalike.baskets.similar import UNIONS
    from lookalike.measures import exact_fraction

    check_files(options)
    exact_fraction(options.threshold, "threshold")
    if options.groups is not None:
        exact_fraction(options.groups, "groups")
    whole("k", options.k)
    choice("by", options.by, SIDES)
    choice("union", options.union, UNIONS)
    if options.ratings is not None:
        choice("ratings", options.ratings, WAYS)
    if options.groups is not None and options.by == "item":
        raise UsageError("--groups compares users by groups of items and needs --by user.")
    if options.groups_out is not None and options.groups is None:
        raise UsageError("--groups-out needs groups: give their threshold with --groups.")
    if options.groups_out == "-":
        raise UsageError("--groups-out must be a file; standard output is for --out.")
    if options.names is not None and options.by == "user" and not options.recommends and options.groups_out is None:
        raise UsageError("--names gives names to items, but pairs of users show no items.")


def check_recommending(options: BasketOptions, given: GivenOptions) -> None:
    """Raise an error for options that pairs or recommendations do not have."""
    if not options.recommends:
        for name, option in (("half_life", "--half-life"), ("neighbours", "--neighbours"), ("k", "--top")):
            if name in given:
                raise UsageError(f"{option} is for recommendations; add --recommend USER or --recommend-all.")
        return
    if options.report is not None:
        raise UsageError("--report shows pairs and cannot be used with recommendations.")
    if options.audit:
        raise UsageError("--audit measures the recall of pairs; recommendations compare all users and miss none.")
    if options.recommend is not None and options.recommend_all:
        raise UsageError("give --recommend USER or --recommend-all, not both.")
    if options.by == "item":
        raise UsageError("recommendations come from similar users and need --by user.")


def check_files(options: BasketOptions) -> None:
    """Raise an error early for an output that cannot be written."""
    from lookalike.io.write import check_output

    outputs = [path for path in (options.out, options.groups_out) if path is not None and path != "-"]
    for path in outputs:
        check_output(path)
    if len({Path(path).absolute() for path in outputs}) < len(outputs):
        raise UsageError("--out and --groups-out must be different files.")
    check_page(options.report, *outputs)
    check_excel_safe(options.excel_safe, options.out, options.groups_out)


def read(inputs: list[str], options: BasketOptions, run: TerminalRun) -> "Ratings":
    """Return the ratings of the inputs; print what was read, and what counts as liked if used."""
    from lookalike.baskets.ratings import Ratings
    from lookalike.io.ratings import HEADLESS

    reading = options.reading
    ratings = Ratings.read(
        inputs,
        user=options.user,
        item=options.item,
        rating=options.rating,
        time=options.time,
        separator=reading.separator,
        format=reading.format,
        encoding=reading.encoding,
        on_error=reading.on_error,
        on_bad_file=reading.on_bad_file,
        run=run,
    )
    users, items = counted(len(ratings.user_ids), "user"), counted(len(ratings.item_ids), "item")
    what = "rows" if ratings.values is None else "ratings"
    notes = {"repeated": "repeated, only the last counts", "skipped": "skipped"}
    found = "; ".join(f"{ratings.stats[name]:,} {words}" for name, words in notes.items() if ratings.stats[name])
    run.say(f"{what}: {len(ratings):,} by {users} of {items}{f' ({found})' if found else ''}")
    for note in bad_files_note(ratings.bad_files):
        run.say(note)
    taken = [f"{name} {ratings.columns[name]!r}" if name in ratings.columns else f"no {name}" for name in HEADLESS]
    run.say(f"columns: {', '.join(taken)}")
    if ratings.values is not None and (options.recommends or options.ratings in ("high", "liked-hated")):
        low, high = ratings.scale
        least = ratings.liked_from(options.liked)
        run.say(f"liked: items rated {least:g} or more; ratings range from {low:g} to {high:g}")
    return ratings


def find_groups(ratings: "Ratings", threshold: str, options: BasketOptions, run: TerminalRun) -> "ItemGroups":
    """Return the groups of items whose similarity is at least the threshold."""
    from lookalike.baskets.similar import group_items

    groups = group_items(
        ratings,
        threshold=threshold,
        ratings=options.ratings or "all",
        liked=options.liked,
        recall=options.recall,
        method=options.method,
        seed=options.seed,
        run=run,
    )
    inside = groups.to_arrow().num_rows
    found, alone = counted(len(groups), "group"), counted(len(ratings.item_ids) - inside, "item")
    least = f"each with similarity {threshold} or more to its centre"
    run.say(f"groups: {found} of {counted(inside, 'item')}, {least}; {alone} in no group")
    return groups


def write_pairs(ratings: "Ratings", names: "Names | None", options: BasketOptions, run: TerminalRun) -> None:
    """Write the similar pairs of users or of items, with the names of items."""
    from lookalike.baskets.similar import find_similar, least_of_max
    from lookalike.io.write import write_tables

    way = options.ratings or "all"
    if options.union == "sum" and way == "stars":
        least = least_of_max(options.threshold)
        run.say(f"union: a threshold of {options.threshold} by sum equals {least} by max, shown in the plan")
    found = find_similar(
        ratings,
        by=options.by,
        ratings=way,
        liked=options.liked,
        union=options.union,
        threshold=options.threshold,
        max_pairs=options.max_pairs,
        recall=options.recall,
        method=options.method,
        seed=options.seed,
        audit=options.audit,
        run=run,
    )
    with run.stage("write"):
        plan = {} if found.plan is None or options.union == "sum" else found.plan.settings()
        table = found.to_arrow()
        if names is not None and options.by == "item":
            for side in ("left", "right"):
                table = table.append_column(f"{side}_name", names.of(table[side]))
        write_tables([table], options.out, {**plan, **settings(options)}, options.excel_safe, run)
    write_page(found, options.report, run)
    for line in summary(found, run, "set"):
        run.say(line)
    run.hint(next_step(options.report))


def write_recommendations(ratings: "Ratings", names: "Names | None", options: BasketOptions, run: TerminalRun) -> None:
    """Write the recommendations to one user, and show them; or to all users."""
    from lookalike.baskets.recommending import Recommender
    from lookalike.cli.terminal import Terminal
    from lookalike.io.write import kind_of, write_tables

    source = Recommender(
        ratings,
        neighbours=options.neighbours,
        ratings=options.ratings,
        liked=options.liked,
        half_life=options.half_life,
        run=run,
    )
    if options.recommend is None:
        table = source.recommend_all(k=options.k)
        if names is not None:
            table = table.add_column(2, "name", names.of(table["item"]))
        line = f"found: {counted(len(table), 'item')} for {counted(len(table['user'].unique()), 'user')}"
    else:
        with run.stage("recommend"):
            found = source.recommend(options.recommend, options.k)
        table = recommended_table(found, names, flat=kind_of(options.out) in (".csv", ".tsv"))
        line = f"found: {counted(len(found), 'item')} liked by any of {counted(found.neighbours, 'similar user')}"
    with run.stage("write"):
        write_tables([table], options.out, settings(options), options.excel_safe, run)
    if options.recommend is not None and len(found) and not run.quiet:
        Terminal(stderr=True).print(shown_table(found, names))
    run.say(line)
    run.say(time_line(run))


def settings(options: BasketOptions) -> dict[str, str]:
    """Return the settings that an output file depends on."""
    from lookalike import __version__

    names = ("by", "ratings", "liked", "union", "threshold", "groups", "recommend", "neighbours", "half_life", "seed")
    values = {name: getattr(options, name) for name in names}
    chosen = {name: str(value) for name, value in values.items() if value is not None}
    return {"version": __version__, "command": "baskets", **chosen}


# --- tables ---


def groups_table(groups: "ItemGroups", names: "Names | None") -> "pa.Table":
    """Return the items of all groups with their names."""
    table = groups.to_arrow()
    return table if names is None else table.add_column(2, "name", names.of(table["id"]))


def recommended_table(found: "Recommendations", names: "Names | None", flat: bool) -> "pa.Table":
    """Return one row per item; with `flat`, lists become text, for files that cannot hold lists."""
    import pyarrow as pa

    table = found.to_arrow()
    if names is not None:
        table = table.add_column(1, "name", names.of(table["item"]))
        why = [names.of_list(one.why) for one in found]
        table = table.set_column(table.schema.get_field_index("why"), "why", pa.array(why, pa.list_(pa.string())))
    if flat:
        texts = {
            "who": ["; ".join(in_words(neighbour) for neighbour in one.who) for one in found],
            "why": ["; ".join(map(str, reasons)) for reasons in table["why"].to_pylist()],
        }
        for name, cells in texts.items():
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(cells, pa.string()))
    return table


def in_words(neighbour: "Neighbour") -> str:
    """Describe a similar user in a few words."""
    rating = "" if neighbour.rating is None else f", gave {neighbour.rating:g}"
    return f"{neighbour.user} ({neighbour.similarity:.2f} similar{rating})"


def shown_table(found: "Recommendations", names: "Names | None") -> "Table":
    """Return the recommendations as a table to print."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"recommended to {escape(str(found.user))}", title_justify="left", caption_justify="left")
    table.add_column("score", justify="right")
    for name in ("item", "who liked it", "what you both liked"):
        table.add_column(name)
    for one in found:
        item = str(one.item) if names is None else names.of_list([one.item])[0]
        why = [str(reason) for reason in one.why] if names is None else names.of_list(one.why)
        who = [
            f"{user} ({similarity:.2f})" + ("" if rating is None else f": {rating:g}")
            for user, similarity, rating in one.who
        ]
        table.add_row(f"{one.score:.2f}", *(escape("\n".join(lines)) for lines in ([item], who, why)))
    rating = "" if not len(found) or found.found[0].who[0].rating is None else " and their rating"
    table.caption = f"who liked it: similar users, their similarity{rating}"
    return table
