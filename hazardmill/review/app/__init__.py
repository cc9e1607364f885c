"""The web app in which people review tasks: ``hazardmill review serve``.

    keys.py, tokens.py           what is kept secret, in a folder that git ignores
    sessions.py                  signed cookies, and tokens against forged forms
    throttle.py, middleware.py   what is refused before a page is asked for
    steps.py, presenter.py       a task as the page shows it
    rubric_page.py               the rubric as a page
    auth.py, pages.py            who may come in; what the pages are
    factory.py, connections.py, serve.py  the app, and how it is served

What a reviewer may see or do is decided by ``hazardmill.review.service`` alone; the app adds who asks.
"""
