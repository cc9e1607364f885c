"""Ways in which language models write a plan down. Each takes the steps, and must read back as the same steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

Step = tuple[str, ...]
Steps = Sequence[Step]


def group(step: Step) -> str:
    return f"({' '.join(step)})"


def call(step: Step) -> str:
    return f"{step[0]}({', '.join(step[1:])})"


def bare(step: Step) -> str:
    return " ".join(step)


def groups(steps: Steps) -> list[str]:
    return [group(step) for step in steps]


def numbered(lines: Sequence[str], mark: str = "{}. ") -> str:
    return "\n".join(mark.format(number) + line for number, line in enumerate(lines, 1))


def as_json(step: Step) -> dict[str, object]:
    return {"action": step[0], "args": list(step[1:])}


PROSE = "The robot begins in the hall. (It has both hands free.) Here is what it should do."
LATER = "This reaches the goal, since everything is then in its place (as was asked)."
THOUGHT = "<think>\nMaybe (dither here)? No:\n```\n(dither there)\n```\n</think>\n"

WRITINGS: dict[str, Callable[[Steps], str]] = {
    "one line": lambda steps: " ".join(groups(steps)),
    "lines": lambda steps: "\n".join(groups(steps)),
    "windows lines": lambda steps: "\r\n".join(groups(steps)),
    "semicolons": lambda steps: "; ".join(groups(steps)),
    "numbers": lambda steps: numbered(groups(steps)),
    "numbers in brackets": lambda steps: numbered(groups(steps), "({}) "),
    "numbers with a colon": lambda steps: numbered(groups(steps), "{}: "),
    "named steps": lambda steps: numbered(groups(steps), "Step {}: "),
    "bold named steps": lambda steps: numbered([f"`{each}`" for each in groups(steps)], "**Step {}:** "),
    "all numbers one": lambda steps: "\n".join(f"1. {each}" for each in groups(steps)),
    "bullets": lambda steps: "\n".join(f"- {each}" for each in groups(steps)),
    "stars and bold": lambda steps: "\n".join(f"* **{each}**" for each in groups(steps)),
    "quoted": lambda steps: "\n".join(f"> {each}" for each in groups(steps)),
    "timed": lambda steps: "\n".join(f"{place}.000: {each} [1.000]" for place, each in enumerate(groups(steps))),
    "arrows": lambda steps: " -> ".join(groups(steps)),
    "fat arrows": lambda steps: " => ".join(groups(steps)),
    "unicode arrows": lambda steps: "Plan: " + " → ".join(groups(steps)),
    "latex arrows": lambda steps: r" $\rightarrow$ ".join(groups(steps)),
    "arrows at line ends": lambda steps: " ->\n".join(groups(steps)),
    "then": lambda steps: "First " + ", then ".join(groups(steps)) + ".",
    "prose around": lambda steps: "\n\n".join((PROSE, "\n".join(groups(steps)), LATER)),
    "a sentence": lambda steps: "I would do " + " and after that ".join(groups(steps)) + " to get it done.",
    "remarks behind": lambda steps: "\n".join(f"{each} ; now (that) is done" for each in groups(steps)),
    "remarks behind a dash": lambda steps: "\n".join(f"{each} - this is needed" for each in groups(steps)),
    "remarks of code": lambda steps: (
        "```\n# to begin\n" + "\n".join(f"{each} # ok" for each in groups(steps)) + "\n```"
    ),
    "remarks between": lambda steps: "\n".join(f"; what follows (here) is next\n{each}" for each in groups(steps)),
    "words before": lambda steps: "\n".join(f"Do this next: {each}" for each in groups(steps)),
    "a sentence between": lambda steps: "\n\n".join(f"{each}\n\nThat was that (so far)." for each in groups(steps)),
    "a block": lambda steps: f"{PROSE}\n```\n" + "\n".join(groups(steps)) + f"\n```\n{LATER}",
    "a block of a language": lambda steps: "```pddl\n" + "\n".join(groups(steps)) + "\n```",
    "a block of tildes": lambda steps: "~~~\n" + "\n".join(groups(steps)) + "\n~~~",
    "a block not closed": lambda steps: "```\n" + "\n".join(groups(steps)),
    "a block a step": lambda steps: "\n".join(f"Next:\n```\n{each}\n```" for each in groups(steps)),
    "a list of lists": lambda steps: "(" + "\n ".join(groups(steps)) + ")",
    "broken lines": lambda steps: "\n".join(each.replace(" ", "\n   ", 1) for each in groups(steps)),
    "commas inside": lambda steps: "\n".join(f"({', '.join(step)})" for step in steps),
    "tag": lambda steps: "(dither here) is wrong.\n<plan>\n" + "\n".join(groups(steps)) + "\n</plan>\n(dither there)",
    "answer tag in one line": lambda steps: f"<answer>{' '.join(groups(steps))}</answer>",
    "tag with a block": lambda steps: "<plan>\n```\n" + "\n".join(groups(steps)) + "\n```\n</plan>",
    "tag not closed": lambda steps: "<plan>" + "\n".join(groups(steps)),
    "thoughts": lambda steps: THOUGHT + "\n".join(groups(steps)),
    "thoughts without a beginning": lambda steps: "(dither here)\n</think>\n" + "\n".join(groups(steps)),
    "thoughts in brackets": lambda steps: "[THINK](dither here)[/THINK]" + "\n".join(groups(steps)),
    "channels": lambda steps: (
        "<|channel|>analysis<|message|>(dither here)<|end|><|start|>assistant<|channel|>final<|message|>"
        + " ".join(groups(steps))
        + "<|return|>"
    ),
    "calls": lambda steps: "\n".join(map(call, steps)),
    "numbered calls": lambda steps: numbered([f"`{call(step)}`" for step in steps]),
    "a list of calls": lambda steps: f"[{', '.join(map(call, steps))}]",
    "calls in a block": lambda steps: "```python\n" + "\n".join(map(call, steps)) + "\n```",
    "words in a block": lambda steps: "```\n" + "\n".join(map(bare, steps)) + "\n```",
    "numbered words": lambda steps: "My plan:\n" + numbered([bare(step) for step in steps]),
    "bold words with remarks": lambda steps: numbered([f"**{bare(step)}** \u2013 which helps" for step in steps]),
    "bullets of words": lambda steps: "\n".join(f"- {bare(step)}" for step in steps),
    "words and arrows": lambda steps: " -> ".join(map(bare, steps)),
    "words in brackets": lambda steps: str([bare(step) for step in steps]),
    "escaped words": lambda steps: "\n".join(bare(step).replace("_", "\\_") for step in steps),
    "json of groups": lambda steps: json.dumps({"plan": groups(steps)}),
    "json of words": lambda steps: json.dumps([bare(step) for step in steps]),
    "json of calls": lambda steps: json.dumps({"steps": [call(step) for step in steps]}),
    "json of lists": lambda steps: json.dumps([list(step) for step in steps]),
    "json of objects": lambda steps: (
        "Here it is:\n```json\n" + json.dumps(list(map(as_json, steps)), indent=2) + "\n```"
    ),
    "json of named arguments": lambda steps: json.dumps(
        {
            "reasoning": "It works (I think).",
            "plan": [
                {"step": place, "name": step[0], "parameters": {f"p{n}": arg for n, arg in enumerate(step[1:])}}
                for place, step in enumerate(steps)
            ],
        }
    ),
    "json of one string": lambda steps: json.dumps({"answer": "\n".join(groups(steps))}),
    "json within prose": lambda steps: f"{PROSE}\n{json.dumps({'actions': groups(steps)})}\n{LATER}",
    "python strings": lambda steps: f"plan = {groups(steps)!s}",
    "explained": lambda steps: (
        "## Plan\n\n" + "\n".join(groups(steps)) + "\n\n## Why it works\n\n" + numbered([f"{group(steps[-1])} is last"])
    ),
    "corrected": lambda steps: (
        f"Option A:\n1. {group(steps[0])}\n\nFinal plan:\n" + numbered(groups(steps)) + "\n\nDone."
    ),
    "begun anew": lambda steps: (
        numbered(groups([steps[-1], steps[-1]])) + "\n\nWait, that is wrong.\n\n" + numbered(groups(steps))
    ),
    "a second block": lambda steps: (
        f"```\n{group(steps[-1])}\n{group(steps[-1])}\n```\nBetter:\n```\n" + "\n".join(groups(steps)) + "\n```"
    ),
    "after the problem": lambda steps: (
        "```pddl\n(define (problem p) (:init (near here)) (:goal (near there)))\n```\n```\n"
        + "\n".join(groups(steps))
        + "\n```"
    ),
    "after the state": lambda steps: (
        "Initial state: (near here) (near there)\nGoal:\n- (near there)\n\nSo:\n\n" + "\n".join(groups(steps))
    ),
    "a table": lambda steps: (
        "| # | action | why |\n|---|---|---|\n"
        + "\n".join(f"| {place} | {each} | needed |" for place, each in enumerate(groups(steps), 1))
    ),
}

UPPER: dict[str, Callable[[Steps], str]] = {
    "upper case": lambda steps: "\n".join(groups(steps)).upper(),
    "upper case words": lambda steps: "```\n" + "\n".join(map(bare, steps)).upper() + "\n```",
    "upper case calls": lambda steps: "\n".join(map(call, steps)).upper(),
}
"""Those that read back as the same steps but for case, which the formalism passes over."""
