"""Check how titles and emails are written in a standard form."""

import pytest

from lookalike.entities.texts import email, plain_text


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Bain el atlal (1959)", "bain el atlal (1959)"),
        ("Silver Lining, The", "the silver lining"),
        ("Brother Bear 2 (2006) (V)", "brother bear 2 (2006 v)"),
        ("Nana (2005/II)", "nana (2005 ii)"),
        ("Gaslight (1944 film)", "gaslight (1944 film)"),
        ("Ford Star Jubilee (1955) {Blithe Spirit}", "ford star jubilee 1955 blithe spirit"),
        ("Mus\u00e9e (2001),\u00a0Le", "le musee 2001"),  # the year is not at the end
        ("Mus\u00e9e, Le (2001)", "le musee (2001)"),
        ("KBTV (TV)", "kbtv tv"),
        ("Blade Runner 2049", "blade runner 2049"),
        ("Model (19590)", "model 19590"),
        ("Model (0959)", "model 0959"),
        ("(1959)", "1959"),
        (", The", "the"),
        ("x (1999 " + "y" * 40 + ")", "x 1999 " + "y" * 40),
        ("Lee, Ann", "lee ann"),
    ],
)
def test_titles(title, expected):
    assert plain_text(title) == expected
    assert plain_text(expected) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("Ann.Lee@Work.org", "ann.lee@work.org"),
        (" mailto:ann@work.org ", "ann@work.org"),
        ("Ann Lee <ann@work.org>", "ann@work.org"),
        ("<ann@work.org>", "ann@work.org"),
        ("ann.l.ee+shop@gmail.com", "annlee@gmail.com"),
        ("ann.lee@googlemail.com", "annlee@gmail.com"),
        ("ann.lee+shop@outlook.com", "ann.lee@outlook.com"),
        ("ann.lee+shop@work.org", "ann.lee+shop@work.org"),
        ("ann@m\u00fcller.de", "ann@m\u00fcller.de"),
        ("ann@mail.work.co.uk", "ann@mail.work.co.uk"),
        ("+@gmail.com", "+@gmail.com"),
        ("ann@work", None),
        ("ann@work..org", None),
        ("ann@-work.org", None),
        ("ann@work.org, bob@work.org", None),
        ("a b@work.org", None),
        ("@work.org", None),
        ("a" * 320 + "@work.org", None),
    ],
)
def test_emails(address, expected):
    assert email(address) == expected
    assert expected is None or email(expected) == expected
