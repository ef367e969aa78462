"""Requests and answers of the server, as pydantic checks them and OpenAPI describes them."""

from collections.abc import Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from lookalike.index.records import LARGEST_ID, LONGEST_ID

MOST_FOUND = 1000

Whole = Annotated[StrictInt, Field(ge=-LARGEST_ID - 1, le=LARGEST_ID)]
Id = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_ID - 1)] | Whole
AnyId = Annotated[StrictStr, Field(max_length=LONGEST_ID - 1)] | Whole  # of an existing item
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
# Lists stop at their first error: a message can have a million.
Strings = Annotated[list[StrictStr], Field(fail_fast=True)]
Integers = Annotated[list[Whole], Field(fail_fast=True)]
Numbers = Annotated[list[Number], Field(fail_fast=True)]
# A document or a code of 0s and 1s; a set of strings or of whole numbers; a vector.
Item = StrictStr | Strings | Integers | Numbers
OF_KIND: dict[str | None, Any] = {
    "texts": StrictStr,
    "sets": Strings | Integers,
    "vectors": Numbers,
    "bits": StrictStr | Integers,
    None: Item,  # while the index is empty
}
ItemType = TypeVar("ItemType")


class Message(BaseModel):
    """A message with no other fields than its own, so that a misspelled field is an error."""

    model_config = ConfigDict(extra="forbid")


class Query(Message, Generic[ItemType]):
    """Items to look up."""

    items: Annotated[list[ItemType], Field(fail_fast=True)] = Field(
        min_length=1, description="Documents, sets, vectors or codes, whichever the index holds."
    )
    threshold: Annotated[Number, Field(ge=0)] | None = Field(
        None, description="Minimum similarity or maximum distance; default: that of the index."
    )
    k: Annotated[StrictInt, Field(ge=1, le=MOST_FOUND)] = Field(
        10, validation_alias=AliasChoices("k", "top"), description="Maximum number of matches per item."
    )


class Match(Message):
    """A similar item of the index, verified, with its similarity or its distance."""

    id: AnyId
    similarity: float | None = None
    distance: float | None = None


class ItemResult(Message):
    """The matches of one item, best first."""

    found: list[Match]
    candidates: int = Field(description="How many items it was compared with; identical ones count once.")
    crowded: bool = Field(description="Whether there were so many candidates that some were skipped.")


class Answer(Message):
    """One result per item, in the same order."""

    results: list[ItemResult]


class Items(Message, Generic[ItemType]):
    """Items to add, each with an id."""

    items: Annotated[list[ItemType], Field(fail_fast=True)] = Field(min_length=1)
    ids: Annotated[list[Id], Field(fail_fast=True)] = Field(
        min_length=1, description="The ids of the items, in the same order."
    )
    replace: StrictBool = Field(False, description="Whether an item replaces the one that has its id.")


# By the kind of the index; None while it is empty.
QUERIES: dict[str | None, type[Query[Any]]] = {kind: Query[item] for kind, item in OF_KIND.items()}  # type: ignore[valid-type]
ADDITIONS: dict[str | None, type[Items[Any]]] = {kind: Items[item] for kind, item in OF_KIND.items()}  # type: ignore[valid-type]


class Added(Message):
    """The number of items added, which are now on disk."""

    added: int
    items: int = Field(description="How many items the index has now.")


class KeptItem(Message):
    """An item as it was given; null if the index keeps only hashes of it."""

    id: AnyId
    item: Item | None


class ToCompare(Message):
    """A text, and the id of the item to compare it with."""

    text: StrictStr
    id: AnyId


class ComparedTexts(Message):
    """Both texts as they are compared, and the passages they share.

    A passage is its start and end in `text`, then those in `other`, in code points.
    """

    text: str
    other: str
    looked_at: int = Field(description="How many code points of each text are compared, at most.")
    passages: list[tuple[int, int, int, int]]


class Info(Message):
    """What the index holds, and the probability of finding similar items."""

    items: int
    bytes: int
    kind: str | None = Field(description="texts, sets, vectors or bits; null if there are no items.")
    measure: str
    measured: str = Field(description="similarity or distance.")
    threshold: float
    recall: float | None = Field(description="Probability of finding an item right at the threshold.")
    shingles: str | None
    texts_kept: bool
    read_only: bool
    curve: list[tuple[float, float]] = Field(description="Probability of finding an item, by similarity or distance.")


class Health(Message):
    """The server is running and can read its index."""

    status: str


class Error(Message):
    """What is wrong, in one line."""

    error: str


# --- the page of `lookalike label` ---


class LabelState(Message):
    """How far the user has come."""

    before: int  # answers of earlier sessions
    answers: int  # of this session
    pairs: int  # of this session
    file: str


class ShownField(Message):
    """The values of two records side by side, in parts with their styles; None if missing."""

    name: str
    left: Sequence[tuple[str, str]] | None
    right: Sequence[tuple[str, str]] | None
    same: bool | None  # None if they were not compared


class PairToLabel(Message):
    """Two records: their ids, the fields that are compared, and the other columns."""

    left: str
    right: str
    fields: list[ShownField]
    others: list[ShownField]


class ToKeep(Message):
    """An answer about the pair at a position."""

    at: Annotated[StrictInt, Field(ge=0)]
    match: Literal["yes", "no", "unsure"]
