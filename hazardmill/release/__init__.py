"""Releases: from the store to a dataset that people load, check and cite.

| module | what it holds |
| --- | --- |
| build/ | gathers candidates from the store at one moment, passes them to the gates, writes, renames |
| gates/ | the checks that can stop a release |
| documents/ | card, citation, Croissant, licences, changelog, figures |
| manifest | what a release consists of, with the hash of each file |
| diff/ | comparing two releases |
| hub/ | pushing a release in one commit, and checking the result |
| read/ | reading a release back, and exporting training data |
"""
