"""Why a record ended as it did: its story in one run, from the bytes it was read from to what is proved of its task.

model.py      the story: one typed value that every rendering shows
shelf.py      reads the rows of one record, at one moment of the store
finding.py    from an id to a record and a run, and what to say of an id that nobody knows
origin.py     whether the file still holds the record
asking.py     requests as the ledger has them: what was asked, answered, and paid by whom
stepping.py   plans stepped: what changes, and which danger entries fire
telling.py    puts the story together
saying.py     words that both renderings share
text.py       the story for a terminal
page.py       the story as one self-contained page
"""
