"""Roles that discuss seeds of harm in turns, and then propose tasks (the acting of the Safe-BeAl paper).

roles.py, seeds.py   what a dialogue is about, read from files
dialogue.py          a dialogue as a record of a run, and its turns
answers.py           what a turn answers with
proposals.py         the checks of a proposed task
rewrites.py          the checks of a rewritten script
refine.py            the stages of a run, applied to a dialogue
rows.py              its rows in the store
"""
