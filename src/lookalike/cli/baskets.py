"""`lookalike baskets`: read ratings, find similar users or items, group items, recommend; write and show the result."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lookalike import __version__
from lookalike.baskets.names import Names
from lookalike.baskets.ratings import SIDES, WAYS, Ratings
from lookalike.baskets.recommending import Neighbour, Recommendations, Recommender
from lookalike.baskets.similar import UNIONS, ItemGroups, find_similar, group_items, least_of_max
from lookalike.cli.job import check_page, write_page
from lookalike.cli.progress import TerminalRun, next_step, summary
from lookalike.core.errors import UsageError, choice, whole
from lookalike.core.wording import counted
from lookalike.io.inputs import check_apart
from lookalike.io.ratings import HEADLESS
from lookalike.io.write import check_output, kind_of, write_tables, writing
from lookalike.measures import exact_fraction
from lookalike.results import Pairs

READING = ("user", "item", "rating", "time", "separator", "format", "encoding", "on_error")
SEARCH = ("recall", "method", "seed", "audit")


def show_baskets(inputs: list[str], given: dict[str, Any]) -> None:
    """One command, with the options it was given."""
    check(given)
    check_apart([given["out"], given["groups_out"], given["report"]], [*inputs, given["names"]])
    run = TerminalRun(given["threads"], given["quiet"])
    ratings = Ratings.read(inputs, run=run, **{name: given[name] for name in READING})
    for line in read_lines(ratings, given):
        run.say(line)
    names = None if given["names"] is None else Names(given["names"], ratings.item_ids)
    if names is not None and names.missing:
        run.say(f"names: {counted(names.missing, 'item')} without one, shown by id")
    show = pairs if given["recommend"] is None and not given["recommend_all"] else recommendations
    if given["groups"] is None:
        show(ratings, names, given, run)
        return
    groups = find_groups(ratings, given, run)
    written: AbstractContextManager[None] = nullcontext()
    if given["groups_out"] is not None:
        written = writing([groups_table(groups, names)], given["groups_out"], settings(given))
    with written:
        show(ratings.by_groups(groups), names, given, run)


def check(given: dict[str, Any]) -> None:
    """What can be told before anything is read."""
    asked = given["recommend"] is not None or given["recommend_all"]
    outputs = [given[name] for name in ("out", "groups_out") if given[name] not in (None, "-")]
    for path in outputs:
        check_output(path)
    if len({Path(path).absolute() for path in outputs}) < len(outputs):
        raise UsageError("--out and --groups-out must be two files.")
    check_page(given["report"], *outputs)
    if asked and given["report"] is not None:
        raise UsageError("--report shows pairs; recommendations are shown as they are.")
    for name in ("threshold", "groups"):
        if given[name] is not None:
            exact_fraction(given[name], name)
    whole("top", given["top"])
    if asked and given["audit"]:
        raise UsageError("--audit measures the recall of pairs; recommendations compare a user with all others.")
    choice("by", given["by"], SIDES)
    choice("union", given["union"], UNIONS)
    if given["ratings"] is not None:
        choice("ratings", given["ratings"], WAYS)
    if given["recommend"] is not None and given["recommend_all"]:
        raise UsageError("give --recommend USER or --recommend-all, not both.")
    if asked and given["by"] == "item":
        raise UsageError("recommendations come from similar users: --by user.")
    if given["groups"] is not None and given["by"] == "item":
        raise UsageError("--groups is for users who are similar by groups of items: --by user.")
    if given["groups_out"] is not None and given["groups"] is None:
        raise UsageError("--groups-out is for groups: give their threshold with --groups.")
    if given["groups_out"] == "-":
        raise UsageError("--groups-out must be a file; standard output is for --out.")
    if given["names"] is not None and given["by"] == "user" and not asked and given["groups_out"] is None:
        raise UsageError("--names are of items, which pairs of users do not show.")


def read_lines(ratings: Ratings, given: dict[str, Any]) -> list[str]:
    """What was read, and from which rating on an item is liked if that matters."""
    users, items = counted(len(ratings.user_ids), "user"), counted(len(ratings.item_ids), "item")
    what = "rows" if ratings.values is None else "ratings"
    notes = {"repeated": "repeated, of which the last counts", "skipped": "skipped"}
    found = "; ".join(f"{ratings.stats[name]:,} {words}" for name, words in notes.items() if ratings.stats[name])
    lines = [f"{what}: {len(ratings):,} by {users} of {items}{f' ({found})' if found else ''}"]
    taken = [f"{what} {ratings.columns[what]!r}" if what in ratings.columns else f"no {what}" for what in HEADLESS]
    lines.append(f"columns: {', '.join(taken)}")
    asked = given["recommend"] is not None or given["recommend_all"]
    if ratings.values is not None and (asked or given["ratings"] in ("high", "liked-hated")):
        low, high = ratings.scale
        least = ratings.liked_from(given["liked"])
        lines.append(f"liked: what is rated {least:g} or more; ratings go from {low:g} to {high:g}")
    return lines


def find_groups(ratings: Ratings, given: dict[str, Any], run: TerminalRun) -> ItemGroups:
    """The groups of similar items."""
    options = {name: given[name] for name in SEARCH if name != "audit"}
    way = {"ratings": given["ratings"] or "all", "liked": given["liked"]}
    groups = group_items(ratings, threshold=given["groups"], run=run, **way, **options)
    inside = groups.to_arrow().num_rows
    found, alone = counted(len(groups), "group"), counted(len(ratings.item_ids) - inside, "item")
    least = f"each at least {given['groups']} similar to its centre"
    run.say(f"groups: {found} of {counted(inside, 'item')}, {least}; {alone} alone")
    return groups


def pairs(ratings: Ratings, names: Names | None, given: dict[str, Any], run: TerminalRun) -> None:
    """Write the pairs of similar users, or of similar items."""
    way = given["ratings"] or "all"
    options = {name: given[name] for name in ("by", "liked", "union", "threshold", "max_pairs", *SEARCH)}
    if given["union"] == "sum" and way == "stars":
        run.say(f"union: {given['threshold']} by sums is {least_of_max(given['threshold'])} by maxima, as in the plan")
    found = find_similar(ratings, ratings=way, run=run, **options)
    with run.stage("write"):
        told = {} if found.plan is None or given["union"] == "sum" else found.plan.settings()
        table = pairs_table(found, names if given["by"] == "item" else None)
        write_tables([table], given["out"], {**told, **settings(given)})
    write_page(found, given["report"], run)
    for line in summary(found, "set"):
        run.say(line)
    run.hint(next_step(given["report"]))


def recommendations(ratings: Ratings, names: Names | None, given: dict[str, Any], run: TerminalRun) -> None:
    """Write what is recommended to one user, and show it; or to all users."""
    options = {name: given[name] for name in ("neighbours", "ratings", "liked", "half_life")}
    source = Recommender(ratings, run=run, **options)
    if given["recommend_all"]:
        table = source.recommend_all(k=given["top"])
        if names is not None:
            table = table.add_column(2, "name", names.of(table["item"]))
        with run.stage("write"):
            write_tables([table], given["out"], settings(given))
        users = len(table["user"].unique())
        run.say(f"found: {counted(len(table), 'item')} for {counted(users, 'user')}")
        run.say(time_line(run))
        return
    with run.stage("recommend"):
        found = source.recommend(given["recommend"], given["top"])
    with run.stage("write"):
        table = recommended_table(found, names, flat=kind_of(given["out"]) in (".csv", ".tsv"))
        write_tables([table], given["out"], settings(given))
    if not given["quiet"] and len(found):
        Console(stderr=True, highlight=False).print(shown_table(found, names))
    run.say(f"found: {counted(len(found), 'item')} that some of {counted(found.neighbours, 'similar user')} liked")
    run.say(time_line(run))


def time_line(run: TerminalRun) -> str:
    """What each stage took."""
    times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in run.seconds.items() if seconds >= 0.005)
    return f"time: {times or 'next to none'}"


def settings(given: dict[str, Any]) -> dict[str, str]:
    """What a file that is written depends on."""
    names = ("by", "ratings", "liked", "union", "threshold", "groups", "recommend", "neighbours", "half_life", "seed")
    chosen = {name: str(given[name]) for name in names if given[name] is not None}
    return {"version": __version__, "command": "baskets", **chosen}


# --- tables ---


def pairs_table(found: Pairs, names: Names | None) -> pa.Table:
    """The pairs, of items also with their names."""
    table = found.to_arrow()
    if names is not None:
        for side in ("left", "right"):
            table = table.append_column(f"{side}_name", names.of(table[side]))
    return table


def groups_table(groups: ItemGroups, names: Names | None) -> pa.Table:
    """The items of all groups, with their names."""
    table = groups.to_arrow()
    return table if names is None else table.add_column(2, "name", names.of(table["id"]))


def recommended_table(found: Recommendations, names: Names | None, flat: bool) -> pa.Table:
    """A row an item; `flat`, with lists written out, for files that have none."""
    table = found.to_arrow()
    if names is not None:
        table = table.add_column(1, "name", names.of(table["item"]))
        why = [names.of_list(one.why) for one in found]
        table = table.set_column(table.schema.get_field_index("why"), "why", pa.array(why, pa.list_(pa.string())))
    if flat:
        texts = {
            "who": ["; ".join(one_of(neighbour) for neighbour in one.who) for one in found],
            "why": ["; ".join(map(str, reasons)) for reasons in table["why"].to_pylist()],
        }
        for name, cells in texts.items():
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(cells, pa.string()))
    return table


def shown_table(found: Recommendations, names: Names | None) -> Table:
    """The recommendations for people to read."""
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
    rating = "" if not len(found) or found.found[0].who[0].rating is None else ", and what they gave it"
    table.caption = f"who: similar users, how similar they are{rating}"
    return table


def one_of(neighbour: Neighbour) -> str:
    """A similar user in a few words."""
    rating = "" if neighbour.rating is None else f", gave {neighbour.rating:g}"
    return f"{neighbour.user} ({neighbour.similarity:.2f} similar{rating})"
