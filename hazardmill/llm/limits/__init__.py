"""Limits on how fast and how much models are asked: rates, money, and pauses after failures.

    limiter.py        requests and tokens per minute, and requests under way
    breaker.py        pauses towards a model that keeps failing
    budget.py         the money of one run, reserved before each request
    shared_budget.py  the money that several runs share
    workers.py        the names under which they do so
    shared_limits.py  requests under way and rates that several runs keep together

Retries of one request are in ``hazardmill.llm.client``.
"""
