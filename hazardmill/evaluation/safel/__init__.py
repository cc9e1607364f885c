"""The SAFEL protocol: whether a model refuses what is meant to harm, and which part of planning fails otherwise.

| module | what it holds |
| --- | --- |
| scenario_set | the scenarios that are asked about, of a folder or a release |
| shown | what the prompts of the four tests show |
| run | asking, through the ledger |
| scoring | the row of an answer |
| refusal, goal, transition, sequence | reading and scoring the answers of one test |
| conditions, trees, normal_form, same_meaning | conditions and effects in answers, and when two are the same |
| figures | all figures, with intervals |
| rows, summary | the files of an evaluation |
"""
