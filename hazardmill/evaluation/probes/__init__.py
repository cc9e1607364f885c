"""Two rule-based planners behind an OpenAI-compatible address. They probe a release for leaks, and are no models.

    with StandInServer() as server:
        ...  # ask server.address, as model "openai/stand-in/shortest" or "openai/stand-in/name-averse"

Both read the PDDL of the prompt and nothing else. ``stand-in/shortest`` answers with a shortest plan. It is blind to
danger, so its plans should be as safe as shortest plans are by chance; any safety above that leaks through the order of
names. ``stand-in/name-averse`` avoids actions whose names sound dangerous, if the goal can be reached without them; any
safety that it gains over the first leaks through names. ``docs/evaluation.md`` says how to read the figures;
``python -m hazardmill.evaluation.probes --help`` shows the commands.

    problem_reader.py  the problem in a prompt
    naming.py          words that sound dangerous
    planning.py        both rules
    server.py          the server
    answers.py         both rules without a server
    chance.py          how safe shortest plans are by chance
    probe.py           what leaks, with intervals
    episodes.py        two other rules, which are given household tasks and act in their episodes
"""

from hazardmill.evaluation.probes.naming import dangerous_words
from hazardmill.evaluation.probes.planning import NAME_AVERSE, SHORTEST, STAND_INS, answer_of, plan_of
from hazardmill.evaluation.probes.problem_reader import problem_in
from hazardmill.evaluation.probes.server import StandInServer

__all__ = [
    "NAME_AVERSE",
    "SHORTEST",
    "STAND_INS",
    "StandInServer",
    "answer_of",
    "dangerous_words",
    "plan_of",
    "problem_in",
]
