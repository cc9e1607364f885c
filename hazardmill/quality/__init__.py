"""The quality of many tasks together.

| module | what it holds |
| --- | --- |
| lint | findings per rule over a corpus, which is read one task at a time |
| lint_items | the tasks to lint: of a store, or of a folder |
| lint_rules | the rules in addition to those of the certificate, each with its exact definition |
| corpus_thresholds | gates: figures over all tasks of a corpus, each compared with a threshold |
| leaks | names in the safe plan that give the danger away |
| standing_out | whether danger and way out can be guessed from the form of the task |
| diversity | effective numbers and shares of things by kind |
| structure | an id that tasks share if they are the same up to names and order |
| text | the text of a task, and which texts are nearly the same |
| duplicates | which tasks repeat earlier ones, and which labels contradict one another |
| dedupe | both of these for all tasks of a store |
| contamination | how much of the tasks another corpus already contains |
| other_corpus | reading such a corpus: a store, or files of many kinds |
"""
