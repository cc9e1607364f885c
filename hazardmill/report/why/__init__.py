"""Why a record ended as it did: its story in one run, from the bytes it was read from to what is proved of its task.

model.py        the story: one typed value that every rendering shows
rows.py         reads the rows of one record, at one moment of the store
resolve_id.py   from an id to a record and a run, and what to say of an id that nobody knows
origin.py       whether the file still holds the record
llm_calls.py    requests as the ledger has them: what was asked, answered, and paid by whom
simulate.py     plans step by step: what changes, and which danger entries fire
build.py        puts the story together
words.py        words that both renderings share
render_text.py  the story for a terminal
page.py         the story as one self-contained page
"""
