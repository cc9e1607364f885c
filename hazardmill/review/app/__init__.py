"""The web app in which people review tasks: ``hazardmill review serve``.

    keys.py, tokens.py           secrets, in a folder that git ignores
    sessions.py                  signed cookies, and tokens against forged forms
    throttle.py, middleware.py   what is refused before any page is asked for
    presenter.py                 a sheet as the page shows it; hazardmill.review.drawing draws its item
    rubric_page.py               the rubric as a page
    auth.py, pages.py            who may come in; the pages
    factory.py, connections.py, serve.py  the app, and how it is served

``hazardmill.review.service`` alone decides what a reviewer may see or do; the app adds who is asking.
"""
