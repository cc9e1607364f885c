"""Tasks of SPOC as household tasks, and household tasks as tasks of SPOC.

spoc_import.py  tasks in our rooms, with the objects that they name
spoc_export.py  the states of a scene as initial actions
"""
