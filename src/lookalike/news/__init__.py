"""News pages: extract the article of a page, without menus, advertisements and footers.

Lives here: the public names for web pages; the work is done in `items.pages`.
May import: everything below `find`. `Shingles.parse("stop:3")` makes shingles to compare articles.
"""

from lookalike.items.pages import article_text, decode_page, visible_text

__all__ = ["article_text", "decode_page", "visible_text"]
