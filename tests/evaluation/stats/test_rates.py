"""Tables of models: what is read, and what is refused with line, column and remedy."""

from __future__ import annotations

import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.stats.rates import ModelRates, read_parameters, read_rates

HEADS = "model,total_params_b,feasibility,safety,safety_intention,safety_precision\n"


def written(tmp_path, text, encoding="utf-8"):
    file = tmp_path / "models.csv"
    file.write_bytes(text.encode(encoding))
    return file


def test_rates_are_read_and_an_empty_cell_is_not_known(tmp_path):
    models, notes = read_rates(written(tmp_path, HEADS + 'big,405,52.5,20,50,\n\n"small, tuned",,4.5, 1 ,,22.2\n'))
    assert notes == []
    assert models == [
        ModelRates(
            model="big", parameters_b=405, feasibility=52.5, safety=20, safety_intention=50, safety_precision=None
        ),
        ModelRates(
            model="small, tuned",
            parameters_b=None,
            feasibility=4.5,
            safety=1,
            safety_intention=None,
            safety_precision=22.2,
        ),
    ]


def test_two_columns_may_be_missing_and_others_are_told(tmp_path):
    text = "\ufeffsafety,feasibility,licence,safety_intention,model\n10,20,open,50,a\n"
    models, notes = read_rates(written(tmp_path, text))
    assert (models[0].parameters_b, models[0].safety_precision, models[0].safety) == (None, None, 10)
    assert notes == ["columns that were ignored: licence"]


def test_shares_that_look_like_per_cent_are_told(tmp_path):
    _, notes = read_rates(written(tmp_path, HEADS + "a,1,0.5,0.2,0.4,\nb,2,0.6,0.3,0.4,\n"))
    assert len(notes) == 1 and "multiply shares by 100" in notes[0]


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ("", 1, "missing columns: model, feasibility, safety, safety_intention", "the first line names"),
        ("model,safety\na,1\n", 1, "missing columns: feasibility, safety_intention", "the first line names"),
        (HEADS.replace(",", ";"), 1, "missing columns", "by commas"),
        ("safety," + HEADS, 1, "columns that occur twice: safety", "keep one"),
        (
            HEADS + "a,1,50,20,50,40\nb,1,50,20\n",
            3,
            "4 cells, but there are 6 column heads",
            "decimal points",
        ),
        (HEADS + "a,1,50,20,fifty,40\n", 2, "column safety_intention: 'fifty'", "a number such as"),
        (HEADS + "a,1,nan,20,50,40\n", 2, "column feasibility: 'nan'", "leave the cell empty if it is unknown"),
        (HEADS + "a,1,inf,20,50,40\n", 2, "column feasibility: 'inf'", "leave the cell empty if it is unknown"),
        (HEADS + "a,1,101,20,50,40\n", 2, "column feasibility: '101'", "0 to 100"),
        (HEADS + "a,1,50,-1,50,40\n", 2, "column safety: '-1'", "0 to 100"),
        (HEADS + "a,0,50,20,50,40\n", 2, "column total_params_b: '0'", "above 0"),
        (HEADS + "a,7B,50,20,50,40\n", 2, "column total_params_b: '7B'", "a number such as"),
        (HEADS + "a,1,20,50,50,40\n", 2, "safety 50 is above feasibility 20", "swapped"),
        (HEADS + "a,1,50,20,50,40\n\na,1,50,20,50,40\n", 4, "column model: a is also in line 2", "name of its own"),
        (HEADS + " ,1,50,20,50,40\n", 2, "column model: the model has no name", "name of its own"),
        (HEADS, None, "there are no models", "one line per model"),
        (HEADS + '"a"b,1,50,20,50,40\n', None, "this is not CSV", "as CSV"),
    ],
)
def test_a_bad_table_is_refused_where_it_is_bad(text, line, message, remedy, tmp_path):
    file = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        read_rates(file)
    assert message in refused.value.message and remedy in refused.value.remedy
    assert (refused.value.file, refused.value.line) == (str(file), line)


def test_a_line_is_counted_as_the_file_has_it(tmp_path):
    file = written(tmp_path, HEADS + '"a\nb",1,50,20,50,40\nc,1,50,20,50,x\n')
    with pytest.raises(InputError) as refused:
        read_rates(file)
    assert refused.value.line == 4


def test_text_in_another_encoding_is_refused(tmp_path):
    with pytest.raises(InputError, match="not UTF-8"):
        read_rates(written(tmp_path, HEADS + "modèle,1,50,20,50,40\n", "latin-1"))


def test_rates_rounded_to_a_tenth_are_no_contradiction(tmp_path):
    models, _ = read_rates(written(tmp_path, HEADS + "a,1,50.0,50.1,50,\n"))
    assert models[0].safety == 50.1


def test_parameters_alone_are_read(tmp_path):
    assert read_parameters(written(tmp_path, "model,total_params_b\na,7\nb,\nc,0.5\n")) == {"a": 7, "c": 0.5}
    with pytest.raises(InputError, match="missing columns: total_params_b"):
        read_parameters(written(tmp_path, "model,size\na,7\n"))


def test_the_published_table_is_read_whole(reference):
    models, notes = read_rates(reference / "published" / "despite_models.csv")
    assert (len(models), sum(model.parameters_b is not None for model in models), notes) == (23, 18, [])
