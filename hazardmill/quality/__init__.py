"""Quality of many tasks at once.

| module | what it holds |
| --- | --- |
| lint | findings by rule over a corpus, read one task at a time |
| rules | the rules beyond the certificate, each with its exact definition |
"""
