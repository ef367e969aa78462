"""Check how lists of words are read."""

from lookalike.core.words import read_words


def test_lists_of_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# a remark\n\narticles: der die\n    das\npost office: po pob\narticles: ein\nempty:\n", "utf-8")
    assert read_words(path) == {"articles": ["der", "die", "das", "ein"], "post office": ["po", "pob"], "empty": []}
