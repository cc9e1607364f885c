"""Two rule-based planners behind an OpenAI-compatible address, which probe a release for leaks. Neither is a model.

    with StandInServer() as server:
        ...  # ask server.address, as model "openai/stand-in/shortest" or "openai/stand-in/name-averse"

Both read the PDDL of the prompt and nothing else. ``stand-in/shortest`` answers a shortest plan. It is blind to danger,
so its plans are as safe as shortest plans are by chance, and what is above that leaks through the order of names.
``stand-in/name-averse`` does so without the actions whose names sound dangerous, where the goal can be reached so:
what it gains over the first leaks through names. ``docs/evaluation.md`` says how to read the figures;
``python -m hazardmill.evaluation.probes --help`` is the same as a command.

    problem_reader.py  the problem in a prompt
    naming.py          words that sound dangerous
    planning.py        both rules
    server.py          the server
    answers.py         both without a server
    chance.py          how safe shortest plans are by chance
    probe.py           what leaks, with intervals
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
