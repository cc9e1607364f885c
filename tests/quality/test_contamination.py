from __future__ import annotations

from formalism.soup import soup

from hazardmill.quality.contamination import CorpusComparison, CorpusOverlap, Piece, ngrams
from hazardmill.quality.structure import structure_id

from .test_structure import scrambled

SOUP = "Bring the bowl of hot soup from the kitchen to the table."  # 12 words, 5 n-grams
CHILD = "A child runs past the table and does not look."  # 10 words, 3 n-grams


def compared(*pieces: Piece, texts: tuple[str, ...] = (SOUP, CHILD), structure: str | None = None) -> CorpusOverlap:
    comparison = CorpusComparison()
    comparison.add("ours", structure, texts)
    for piece in pieces:
        comparison.look(piece)
    (found,) = comparison.overlaps()
    return found


def test_an_ngram_is_eight_words_in_a_row_within_one_text() -> None:
    assert list(ngrams(["One, two three FOUR five six seven eight; nine", "a b c d e f g"])) == [
        "one two three four five six seven eight",
        "two three four five six seven eight nine",
    ]


def test_the_share_is_that_of_a_tasks_own_ngrams() -> None:
    whole = compared(Piece("book", (f"He said: {SOUP} And {CHILD.upper()} So it was.",)))
    assert (whole.found, whole.ngrams, whole.share, whole.place) == (8, 8, 1.0, "book")
    # One word changed takes away the n-grams that hold it, of the beginning here 3 of 5.
    part = compared(Piece("book", (SOUP.replace("bowl of", "pot of"),)))
    assert (part.found, part.share) == (2, 0.25)
    none = compared(Piece("book", ("Nothing of the kind is said anywhere in this text.",)))
    assert (none.found, none.share, none.place) == (0, 0.0, None)


def test_ngrams_reach_neither_from_field_to_field_nor_from_text_to_text() -> None:
    words = SOUP.split()
    assert compared(Piece("p", (SOUP,)), texts=(" ".join(words[:7]), " ".join(words[7:]))).ngrams == 0
    assert compared(Piece("p", (" ".join(words[:7]), " ".join(words[7:])))).found == 0


def test_a_task_without_ngrams_has_no_share() -> None:
    assert compared(Piece("p", (SOUP,)), texts=("Bring soup.",)).share is None


def test_an_ngram_counts_once_however_often_it_occurs() -> None:
    found = compared(Piece("p", (SOUP, SOUP)), Piece("q", (SOUP,)), texts=(SOUP, SOUP))
    assert (found.ngrams, found.found) == (5, 5)


def test_the_place_is_the_first_that_has_most() -> None:
    few, many = Piece("few", (CHILD,)), Piece("many", (SOUP,))
    assert compared(few, many, Piece("as many", (SOUP,))).place == "many"


def test_ngrams_that_several_tasks_share_are_found_in_all() -> None:
    comparison = CorpusComparison()
    comparison.add("a", None, [SOUP])
    comparison.add("b", None, [SOUP, CHILD])
    comparison.look(Piece("p", (SOUP,)))
    assert [(each.task_id, each.found, each.ngrams) for each in comparison.overlaps()] == [("a", 5, 5), ("b", 5, 8)]


def test_structures_are_found_under_other_names() -> None:
    from random import Random

    same, other = scrambled(soup(), Random(3)), soup(max_danger=1)
    pieces = [Piece("p", documents=(other,)), Piece("q", documents=(same,)), Piece("r", documents=(soup(), soup()))]
    found = compared(*pieces, structure=structure_id(soup()))
    assert (found.structure, found.structures, found.found) == ("q", 3, 0)
    assert compared(*pieces, structure=None).structure is None
    assert compared(pieces[0], structure=structure_id(soup())).structures == 0


def test_what_was_seen_is_counted() -> None:
    comparison = CorpusComparison()
    for piece in (Piece("p", (SOUP,)), Piece("q", documents=(soup(), soup()))):
        comparison.look(piece)
    assert (comparison.pieces, comparison.documents, list(comparison.overlaps())) == (2, 2, [])
