"""Comparison of two runs on the same records, paired by record: what another prompt, model or format changes.

load.py     what became of each record in each run, from the store
figures.py  values of both runs, their difference with its interval, McNemar's test
compare.py  which records are paired, and everything that is compared
render.py   the comparison as tables and sentences
page.py     the comparison as one self-contained page
"""
