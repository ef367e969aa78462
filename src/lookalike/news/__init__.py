"""News pages: the article of a page without the menus, advertisements and footers around it.

Lives here: the public names for web pages, which readers of documents use too; the work is done in `items.pages`.
May import: everything below `find`. Shingles that begin with a stop word (`Shingles.parse("stop:3")`) compare articles.
"""

from lookalike.items.pages import article_text, decode_page, visible_text

__all__ = ["article_text", "decode_page", "visible_text"]
