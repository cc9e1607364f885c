"""The web app in which people review tasks: ``hazardmill review serve``.

    keys, tokens      what is kept secret, in a folder that git ignores
    sessions          signed cookies, and tokens against forged forms
    throttle, guards  what is refused before a page is asked for
    steps, showing    a sheet of the desk as the page shows it
    rubric_page       the rubric as a page
    doors, pages      who may come in; what the pages are
    factory, serving  the app, and how it is served

What a reviewer may see or do is decided by ``hazardmill.review.service`` alone; the app adds who asks.
"""
