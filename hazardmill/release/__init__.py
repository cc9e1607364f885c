"""Releases: from the store to a dataset that people load, check and cite.

options.py      what is asked for                    manifest.py   what a release is made of, and each file's hash
configs.py      the columns of every config          tables.py     the Parquet files
gathering.py    the candidates, read from the store at one moment; spool.py, callers.py
splits.py       whole structures to train, validation, test
gates.py        what stops a release; gate_*.py, personal.py
build.py        gathers, judges, writes, renames; writing.py, staging.py
rows_*.py       rows of the configs, made of whole tasks
archive.py      the tasks as folders of DESPITE      facts.py      what the texts are made of
card.py, croissant.py, citation.py, changelog.py, licences.py, figures.py   the texts
diff.py         two releases held against one another
hub.py          pushing one, in one commit           reading.py    a release read back
pairs.py        what planners are trained on; exports.py
"""
