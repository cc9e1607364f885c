"""A small task, written as users write theirs; its title holds markup."""

from __future__ import annotations

import hazardmill

MARKUP = "<script>alert('soup')</script>"


class ServeSoup(hazardmill.PlanningTask):
    title = MARKUP
    realised_by = "carry"

    def build(self) -> None:
        place = self.type("place")
        kitchen, table = self.objects(place, "kitchen", "table")
        bowl_at, slowly = self.fluent("bowl_at", place), self.fluent("moving_slowly")
        hot, level = self.context("soup_is_hot"), self.integer("level", lower=0, upper=2)
        carry = self.action("carry").requires(bowl_at(kitchen)).sets(bowl_at(table)).clears(bowl_at(kitchen))
        self.action("slow_down").requires(level < 2).sets(slowly).increases(level)
        self.initially(bowl_at(kitchen), hot)
        self.goal(bowl_at(table))
        self.danger(carry, when=hot & ~slowly, cause=slowly, fixed=hot, danger_type="thermal")
