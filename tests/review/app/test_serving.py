"""Which addresses may be bound, and that tasks which change meanwhile are seen."""

from __future__ import annotations

import asyncio
import json

import pytest

from hazardmill.errors import StoreError, UsageError
from hazardmill.review.app.serve import listen, make_app, rules_for
from hazardmill.review.app.tokens import Tokens
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_pool
from hazardmill.review.service import ReviewService

from ..support import make_store, rows_of, write
from .visitor import Visitor, slip_of


@pytest.mark.parametrize("bind", ["127.0.0.1", "localhost", "::1", "[::1]", "127.0.0.9"])
def test_on_loopback_nothing_is_demanded(given, bind):
    rules = rules_for(given, bind)
    assert not rules.tokens_demanded and {"127.0.0.1", "localhost", "[::1]"} <= set(rules.hosts)
    assert "evil.example" not in rules.hosts


@pytest.mark.parametrize("bind", ["192.0.2.1", "0.0.0.0", "::", "2001:db8::1"])
def test_elsewhere_every_reviewer_needs_a_token(given, bind):
    with pytest.raises(UsageError, match=r"no token for ada, ben.*review token NAME"):
        rules_for(given, bind, names=["review.example"])
    Tokens(given).make("ada")
    with pytest.raises(UsageError, match="no token for ben"):
        rules_for(given, bind, names=["review.example"])
    assert rules_for(given, bind, ["review.example"], ["ada"]).reviewers == ("ada",)
    Tokens(given).make("ben")
    rules = rules_for(given, bind, ["review.example"])
    assert rules.tokens_demanded and "review.example" in rules.hosts and "localhost" not in rules.hosts


def test_whoever_listens_everywhere_says_under_which_name(given):
    for name in ("ada", "ben"):
        Tokens(given).make(name)
    for bind in ("0.0.0.0", "::"):
        with pytest.raises(UsageError, match="--name"):
            rules_for(given, bind)
        assert rules_for(given, bind, ["review.example"]).hosts == ("review.example",)
    assert rules_for(given, "2001:db8::1").hosts == ("[2001:db8::1]",)


@pytest.mark.parametrize("bind", ["", "example.org", "127.0.0.1:80", "999.1.1.1"])
def test_an_address_that_is_none_is_a_usage_error(given, bind):
    with pytest.raises(UsageError, match="is not an IP address"):
        rules_for(given, bind)


def test_a_port_that_is_taken_is_a_usage_error():
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}.*--port"):
            listen("localhost", port)
    with pytest.raises(UsageError, match="the app cannot listen at 192"):
        listen("192.0.2.1", 0)


async def _until(condition) -> None:
    while not condition():  # the test's own timeout bounds it
        await asyncio.sleep(0.01)


def test_a_task_that_changes_while_it_is_looked_at_makes_the_answer_stale(tmp_path, folder, monkeypatch):
    store = make_store(tmp_path / "store", 2)
    give_tasks(folder, load_pool(store), Wish(("ada",), per_task=1, calibration=0, repeats=0))
    app = make_app(store, folder, rules_for(folder, "127.0.0.1"), look_s=0.01)
    ada = Visitor(app, "ada")
    page = ada.page()
    assert ada.decide(page, "approve").status_code == 303
    second = ada.page()
    service: ReviewService = app.state.doors.service
    old, looks = service.pool, []

    def fails_once(self, store, real=ReviewService.refresh):
        looks.append(1)
        if len(looks) == 1:
            raise StoreError("busy", file="store")
        real(self, store)

    monkeypatch.setattr(ReviewService, "refresh", fails_once)

    slips = [slip.id for slip in folder.slips()]

    def is_new(slip: str) -> bool:
        return service.session("ada").sheet(slip).task.context == "Other soup."

    write(store, *(rows_of(number, context="Other soup.", run="s") for number in range(2)), run="s")

    async def look() -> None:
        async with app.router.lifespan_context(app):
            # Not before the first look: what is there at the start is known.
            await asyncio.sleep(0.1)
            for number in range(2):
                await asyncio.to_thread(write, store, rows_of(number, context="Other soup.", run="s"), run="s")
            await _until(lambda: service.pool is not old and all(map(is_new, slips)))

    asyncio.run(look())
    refused = ada.decide(second, "approve")
    assert refused.status_code == 409 and "has changed since" in refused.text and "Other soup." in refused.text
    before = ada.page(f"/slip/{slip_of(page.text)}").text
    assert "changed since you approved" in before and "no longer counts" in before
    assert "1 changed since" in before and "changed since: it no longer counts" in ada.page("/history").text
    decided = (folder.path / "decisions" / "ada.jsonl").read_text().splitlines()
    assert [json.loads(line)["verdict"] for line in decided] == ["approve"]
