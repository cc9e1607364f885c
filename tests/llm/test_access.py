"""How models are reached: who may be asked, and what is refused before anybody is."""

from typing import Any

import pytest

from hazardmill.errors import SettingsError, UsageError
from hazardmill.llm.access import ModelAccess


class Access(ModelAccess):
    model: str = "toy/toy"

    @property
    def primary_models(self) -> tuple[str, ...]:
        return (self.model, self.model)


def test_each_model_that_may_be_asked_is_named_once_fallbacks_last() -> None:
    assert Access().all_models == ("toy/toy",)
    assert Access(fallback_models=("toy/dear", "toy/toy")).all_models == ("toy/toy", "toy/dear")


@pytest.mark.parametrize(
    ("fields", "error", "told"),
    [
        ({"api_base": "http://key@127.0.0.1:9/v1"}, SettingsError, "contains a user name or password"),
        ({"budget_id": "week"}, UsageError, "the size of the budget week is missing"),
        ({"budget_id": "a/b", "budget_usd": 1.0}, UsageError, "cannot name a budget"),
    ],
)
def test_what_can_never_work_is_refused(fields: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        Access(**fields).check()


def test_a_deadline_has_room_for_an_attempt() -> None:
    assert Access().deadline_s == 600
    assert Access(attempt_timeout=900.0).deadline_s == 1800


def test_every_setting_of_it_is_described() -> None:
    assert [name for name, field in ModelAccess.model_fields.items() if not field.description] == []
