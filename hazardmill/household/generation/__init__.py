"""Generates household tasks: a safety template and an unrelated errand, joined in one scene, kept if proved.

template.py       what templates are, and what they draw with
conditions.py     short names for conditions and rules
wording.py        names of objects, and words that give a rule away
shutting.py       things that are put into what must then be closed
fire.py           what heats is turned off in time
fluid.py          taps and showers, and what can spill
injury.py         what is dangerous is shut away
object_damage.py  what could fall out or bend is closed before it is carried
pollution.py      food stays cold and on clean dishes
errands.py        ordinary things to do
drawing.py        one task drawn: parts, scene, fillers
prover.py         what is proved of a task that is kept
generate.py       tasks drawn until enough are proved
"""
