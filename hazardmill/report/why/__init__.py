"""Explain why a record ended as it did: its story in one run, from its file to the proofs of its task.

model.py        the story: one typed value that all renderings show
rows.py         reads the rows of one record from one snapshot of the store
resolve_id.py   from an id to a record and a run; the error for an unknown id
origin.py       whether the file still holds the record
llm_calls.py    requests from the ledger: what was asked, answered, and paid by whom
simulate.py     steps through plans: what changes, and which danger entries fire
build.py        assembles the story
words.py        phrases that both renderings share
render_text.py  the story for a terminal
page.py         the story as one self-contained page
"""
