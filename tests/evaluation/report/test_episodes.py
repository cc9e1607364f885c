"""What the report says of episodes that are judged in the two ways."""

from __future__ import annotations

from hazardmill.evaluation.episodes.rows import episode_table
from hazardmill.evaluation.report.episodes.load import EpisodeResults
from hazardmill.evaluation.report.episodes.section import make_episodes_section
from hazardmill.evaluation.report.model_results import IntervalOptions
from tests.evaluation.episodes.test_figures import row


def test_the_same_episodes_judged_in_the_two_ways_are_told_apart_by_name() -> None:
    rows = [row("a", 1, 1, "untriggered"), row("a", 1, 1, "untriggered", run="s", semantics="released")]
    section = make_episodes_section(EpisodeResults(episode_table(rows), {}), IntervalOptions(100, 0))
    assert section is not None
    assert [actor.name for actor in section.actors] == [
        "m, react, explicit",
        "m, react, explicit, judged as by the published evaluator",
    ]
    assert section.notes[0].startswith("Some episodes are judged as the paper reads rules, others as its published")
