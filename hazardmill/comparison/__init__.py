"""Two runs on the same records, paired by record: what another prompt, model or format changes.

load.py     what each run made of each record, from the store
figures.py  values of both runs, their difference with its interval, McNemar's test
compare.py  which records are paired, and everything that is compared
render.py   the comparison as tables and sentences
page.py     the same as one self-contained page
"""
