"""Safety and success of agents: harm on the way, harm left behind, and what a reference script brings about.

| module | what it holds |
| --- | --- |
| task_set | the tasks, with instruction and reference script, of task folders or a release |
| options | the map and the switches by which scripts are judged |
| scoring | the row of a script |
| confidence | confidences of steps, as an answer states them |
| arms | the four arms: the example and the prompt that each of them shows |
| run | asking, through the ledger |
| recorded | rows of plans from a file, and of recorded scene graphs |
| figures | all figures, by model and agent |
| seeds | tasks in which an agent did harm |
| rewrites | the scripts of a release that people judge: rewrites, and the references that they were made of |
| rows, summary | the files of an evaluation |
"""
