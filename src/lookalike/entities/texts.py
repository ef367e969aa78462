"""Write titles and emails in a standard form."""

import re

from lookalike.entities.values import fold, simple

# --- titles ---

ARTICLES = "the|a|an|le|la|les|l'|el|los|las|il|lo|gli|der|die|das|den|det|de|het|un|une|una"
ARTICLE_LAST = re.compile(rf"(.+), ?({ARTICLES})", re.IGNORECASE | re.DOTALL)  # as in library catalogues
YEAR = r"\((?:1[5-9]|20)[0-9][0-9](?:[^0-9A-Za-z()][^()]*)?\)"
REMARKS = re.compile(rf"(.*?)( ?{YEAR}(?: ?\([^()]*\))*)", re.DOTALL)
LONGEST_REMARK = 30  # characters


def plain_text(value: str) -> str:
    """Return the words of a text, an article first, and the year in parentheses that ends it.

    Other parentheses after the year, as film catalogues have, belong to it. They stay, as a pair.

    >>> plain_text("Silver Lining, The (1937) (TV)"), plain_text("Windows (Vista)"), plain_text("(1937)")
    ('the silver lining (1937 tv)', 'windows vista', '1937')
    """
    text = " ".join(value.split())
    found = REMARKS.fullmatch(text)
    remark = fold(found[2]) if found else ""
    if not found or len(remark) > LONGEST_REMARK or not fold(found[1]):
        return fold(_article_first(text))
    return f"{fold(_article_first(found[1]))} ({remark})"


def _article_first(title: str) -> str:
    found = ARTICLE_LAST.fullmatch(title)
    return f"{found[2]} {found[1]}" if found and fold(found[1]) else title


# --- emails ---

LONGEST_EMAIL = 320  # characters, with a name before it
NAMED_EMAIL = re.compile(r"[^@<]*<\s*([^@<>]*@[^@<>]*)>")
LOCAL_AND_DOMAIN = re.compile(r"([^\s@()<>,;:\"\[\]\\]+)@((?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}|xn--[a-z0-9-]+)")
SAME_MAIL = {"googlemail.com": "gmail.com", "protonmail.com": "proton.me", "pm.me": "proton.me"}  # one mailbox
WITH_TAGS = ("gmail.com", "proton.me", "outlook.com", "hotmail.com", "live.com", "icloud.com", "fastmail.com")
WITHOUT_DOTS = ("gmail.com",)


def email(value: str) -> str | None:
    """Return an address in lower case; drop the dots and the +tag if its provider ignores them.

    >>> email("Ann Lee <Ann.Lee+news@GoogleMail.com>"), email("ann.lee+x@work.org"), email("ann at work")
    ('annlee@gmail.com', 'ann.lee+x@work.org', None)
    """
    text = simple(value).removeprefix("mailto:").strip()
    if len(text) > LONGEST_EMAIL:
        return None
    named = NAMED_EMAIL.fullmatch(text)
    found = LOCAL_AND_DOMAIN.fullmatch(named[1].strip() if named else text)
    if not found:
        return None
    local, domain = found[1], SAME_MAIL.get(found[2], found[2])
    if domain in WITH_TAGS:
        local = local[:1] + local[1:].partition("+")[0]
    if domain in WITHOUT_DOTS:
        local = local.replace(".", "") or local
    return f"{local}@{domain}"
