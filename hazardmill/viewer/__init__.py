"""``hazardmill view``: a store or a release as pages that change nothing.

collection.py       what is looked at: its rows, and what it has of each of them
store.py            the records and tasks of a store
release.py          the tasks of a release
partial_reading.py  what can be read of a store with damaged parts
place.py            which of the two is in a folder
opinions.py         reviewers' verdicts and planners' results, as columns of the table
index.py            rows as the script of the page reads them
drawing.py          the page, and one fragment of HTML per row
pack.py             data in files of script, so that a page reads them from any file host and from disk
export.py           a release as a folder of such files
server/             the same files, drawn when they are asked for
"""
