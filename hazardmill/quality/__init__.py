"""Quality of many tasks at once.

| module | what it holds |
| --- | --- |
| lint | findings by rule over a corpus, read one task at a time |
| lint_rules | the rules beyond the certificate, each with its exact definition |
| corpus_thresholds | gates: figures over all tasks of a corpus, each held against a threshold |
| leaks | names of the safe way that give the danger away |
| standing_out | whether danger and way out stand out by their place |
| diversity | effective numbers and shares of things by kind |
| structure | the id that tasks share which are the same but for names and order |
| text | the text of a task, and which texts are nearly the same |
| duplicates | which tasks are the same as earlier ones, and labels that contradict |
| dedupe | both over all tasks of a store |
| contamination | how much of our tasks another corpus holds already |
| other_corpus | reads that corpus: a store, or files of many kinds |
"""
