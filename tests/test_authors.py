from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hazardmill.authors import Author, read_doi, read_orcid


# Published examples of ORCID: a digit, and an X, as the last character.
@pytest.mark.parametrize("orcid", ["0000-0002-1825-0097", "0000-0002-1694-233X", "0000-0001-5109-3700"])
def test_published_iDs_are_right(orcid: str) -> None:
    assert read_orcid(orcid) == read_orcid(f" https://orcid.org/{orcid}") == orcid


@given(st.text("0123456789", min_size=15, max_size=15), st.integers(0, 14), st.sampled_from("123456789"))
def test_of_all_last_characters_one_is_right_and_a_mistyped_digit_is_found(digits: str, place: int, step: str) -> None:
    def written(digits: str, last: str) -> str:
        return "-".join((digits + last)[start : start + 4] for start in range(0, 16, 4))

    def is_right(orcid: str) -> bool:
        try:
            return read_orcid(orcid) == orcid
        except ValueError as error:
            assert "its last character should be" in str(error)
            return False

    (last,) = [last for last in "0123456789X" if is_right(written(digits, last))]
    other = str((int(digits[place]) + int(step)) % 10)
    assert not is_right(written(digits[:place] + other + digits[place + 1 :], last))


@pytest.mark.parametrize(
    "orcid", ["", "0000000218250097", "0000-0002-1825-009", "0000-0002-1825-00977", "\u0966000-0002-1825-0097"]
)
def test_another_form_is_no_iD(orcid: str) -> None:
    with pytest.raises(ValueError, match="an ORCID iD is four groups of four digits"):
        read_orcid(orcid)


@pytest.mark.parametrize("before", ["", "doi:", "https://doi.org/", "http://dx.doi.org/"])
def test_a_doi_is_kept_in_its_plain_form(before: str) -> None:
    assert read_doi(f"{before}10.5281/zenodo.1234567") == "10.5281/zenodo.1234567"


@pytest.mark.parametrize(
    "doi", ["", "10.5281", "10.5281/", "11.5281/a", "10.528/a", "10.5281/a b", "10.5281/a}", "10.5281/ä"]
)
def test_another_form_is_no_doi(doi: str) -> None:
    with pytest.raises(ValueError, match=r"a DOI is written as 10\.5281/zenodo\.1234567"):
        read_doi(doi)


def test_a_name_with_a_comma_is_that_of_a_person() -> None:
    person = Author(name=" van der Berg, Jan ", affiliation="A University", orcid="0000-0002-1825-0097")
    assert (person.is_person, person.family, person.given, person.spoken) == (
        True,
        "van der Berg",
        "Jan",
        "Jan van der Berg",
    )
    assert Author(name="Plato,").spoken == "Plato"
    group = Author(name="The Safety Group")
    assert (group.is_person, group.spoken) == (False, "The Safety Group")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": " "}, "give one line of 1 to 200 characters"),
        ({"name": "Doe,\nJane"}, "give one line"),
        ({"name": "Doe, Jane, PhD"}, "the name of a person is written as 'Family, Given'"),
        ({"name": ", Jane"}, "the name of a person is written as 'Family, Given'"),
        ({"name": "Jane Doe", "orcid": "0000-0002-1825-0097"}, "has no comma, so it is a group"),
        ({"name": "Jane Doe", "affiliation": "A University"}, "has no comma, so it is a group"),
        ({"name": "Doe, Jane", "orcid": "0000-0002-1825-0098"}, "its last character should be 7"),
        ({"name": "Doe, Jane", "email": "jane@example.org"}, "Extra inputs are not permitted"),
    ],
)
def test_an_author_who_is_not_said_well_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Author.model_validate(given)
