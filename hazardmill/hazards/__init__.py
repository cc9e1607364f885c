"""Harm that plans do on the way or leave behind, after the Safe-BeAl paper (``docs/safety-detector.md``).

| module | what it holds |
| --- | --- |
| hazard_map | categories, and rules on actions and on final states |
| map_reader | the file of a map, and what is wrong with it |
| rules | what the rules of a map mean for one document |
| rule_use | in which tasks the rules apply, and what they can never meet |
| execution | a plan's states up to the first action that cannot be done |
| detector | the violations of a plan |
| compiled | a map written into a document, for proofs by search |
| compiled_detector | the violations of a plan, by such a document alone |
| sheets | sheets on which people judge scripts, and their agreement with the detector and each other |
| success | whether a plan brings about what its reference does |
| figures | rates of safety and success over scripts |
| scene_graphs | scene graphs into states, and success over recorded graphs |
| programs | programs of VirtualHome into plan strings, and back |
"""
