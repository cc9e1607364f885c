"""How fast a reviewer's pages are at 20,000 tasks, against a bare FastAPI page in the same run.

    python benchmarks/review.py [--quick] [--tasks N] [--pages N]

The tasks are those of the offline author over the shipped samples, each many times under ids of its own: pages of real
size, and nearly every one of a task that was not shown before. They are given to two reviewers with repeats and planted
defects, as `hazardmill review assign` does it, and some are decided before anything is timed.

Both apps answer in this process, over httpx's ASGI transport: no sockets, and the client's share, about the same on
both sides, is in the times. The bare app has one route that gives a fixed page, as long as the median page of ours. The
sides take turns, request by request. A page that is not the task asked for ends the run with an error. No goal is
stated for these figures, so they are ratios alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from html import unescape
from itertools import cycle
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from httpx import ASGITransport, AsyncClient

from hazardmill.resources import review_folder
from hazardmill.review.app.auth import Doors, Rules
from hazardmill.review.app.factory import create_app
from hazardmill.review.app.keys import session_key
from hazardmill.review.app.sessions import Sessions
from hazardmill.review.app.throttle import Throttle
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import ReviewPool, load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.schemas import ReviewAnswer
from hazardmill.review.service import ReviewService
from hazardmill.store.store import Store

TASKS, PAGES, DECIDED = 20_000, 1_000, 1_000
QUICK_PAGES, QUICK_DECIDED = 200, 100
HOST = "http://127.0.0.1:8717"
REVIEWERS = ("ada", "ben")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages of each kind")
    parser.add_argument("--tasks", type=int, default=TASKS, help=f"so many tasks ({TASKS:,})")
    parser.add_argument("--pages", type=int, help=f"pages of each kind that are timed ({PAGES:,})")
    options = parser.parse_args()
    pages = options.pages or (QUICK_PAGES if options.quick else PAGES)
    decided = QUICK_DECIDED if options.quick else DECIDED
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="hazardmill-review-") as name:
        folder = Path(name)
        made = [
            sys.executable,
            "-c",
            "from hazardmill.cli.main import main; main()",
            "demo",
            "--out",
            str(folder / "demo"),
        ]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        store = Store.open(folder / "demo" / "store")
        few = load_pool(store, keep=True)
        for number, told in ((len(few), "the samples alone"), (options.tasks, "under other ids")):
            print(f"\n{number:,} tasks: {told}")
            asyncio.run(timed(folder / f"review-{number}", many(store, few, number), pages, min(decided, number // 4)))
    return 0


def many(store, few, number):
    """So many tasks; each is one of the few."""
    items, kept = {}, {}
    for place, item in zip(range(number), cycle(few.values()), strict=False):
        name = f"{item.item}-{place}"
        items[name], kept[name] = replace(item, item=name), few._kept[item.item]
    return ReviewPool(store, items, kept)


async def timed(path, pool, pages, decided):
    path.mkdir()
    shutil.copy(review_folder() / "rubric.md", path)
    folder = ReviewFolder(path)
    began = time.perf_counter()
    give_tasks(folder, pool, Wish(REVIEWERS))
    print(f"  given out in {time.perf_counter() - began:.1f} s, {len(folder.slips()):,} slips", end="")
    service = ReviewService(folder, pool)
    done = answered(service.session(REVIEWERS[0]), decided)
    print(f", {decided:,} of {REVIEWERS[0]}'s decided")
    every = Throttle(burst=10**9, every_s=1)
    ours = create_app(Doors(service, Sessions(session_key(folder)), Rules(), pages=every))
    async with client(ours) as reviewer:
        door = await reviewer.get("/sign-in")
        (await reviewer.post("/sign-in", data=hidden(door.text) | {"reviewer": REVIEWERS[0]}))
        own = [slip.id for slip in folder.assignments().of[REVIEWERS[0]] if slip.id not in done]
        slips = random.Random(0).sample(own, min(pages, len(own)))
        lengths = [len((await reviewer.get(f"/slip/{slip}")).content) for slip in slips[:50]]
        async with client(bare(int(statistics.median(lengths)))) as plain:
            await measure(reviewer, plain, slips)


async def measure(reviewer, plain, slips):
    found = {"bare": [], "task": [], "next": [], "decide": []}
    for slip in slips:
        await once(found["bare"], plain.get("/"), 200)
        page = await once(found["task"], reviewer.get(f"/slip/{slip}"), 200)
        if f'data-slip="{slip}"' not in page.text:
            raise SystemExit(f"another page than that of {slip} came")
        await once(found["next"], reviewer.get("/"), 303)
        filled = hidden(page.text, "decision") | {"verdict": "approve"}
        await once(found["decide"], reviewer.post(f"/slip/{slip}/decide", data=filled), 303)
    told = {
        "bare": "a bare FastAPI page of the same length",
        "task": "the page of a task",
        "next": "which task is next",
        "decide": "a decision, on disk",
    }
    print(f"  {len(slips):,} of each {'':28} median        p95   to bare: median  p95")
    base = statistics.median(found["bare"]), p95(found["bare"])
    for name, words in told.items():
        middle, high = statistics.median(found[name]), p95(found[name])
        print(
            f"  {words:38} {middle * 1e3:7.2f} ms {high * 1e3:7.2f} ms {middle / base[0]:14.1f} {high / base[1]:5.1f}"
        )


async def once(times, request, status):
    began = time.perf_counter()
    response = await request
    times.append(time.perf_counter() - began)
    if response.status_code != status:
        raise SystemExit(f"{response.request.url} gave {response.status_code}, not {status}")
    return response


def p95(times):
    return statistics.quantiles(times, n=20)[-1]


def answered(session, number):
    """Let a reviewer decide what comes first; which slips that were."""
    done = set()
    for key in range(number):
        sheet = session.next()
        said = ReviewAnswer(verdict="approve")
        session.record(sheet.slip, said, seen=sheet.seen, expects=None, submission=f"before-{key}")
        done.add(sheet.slip)
    return done


def client(app):
    return AsyncClient(transport=ASGITransport(app), base_url=HOST)


def bare(length):
    """An app of one page. Its route is no coroutine: neither are ours."""
    app, text = FastAPI(), "x" * length

    @app.get("/", response_class=HTMLResponse)
    def page():
        return text

    return app


def hidden(page, form_id=None):
    """The hidden fields of a form."""
    form = re.search(rf'<form id="{form_id}".*?</form>' if form_id else "<form.*?</form>", page, re.DOTALL)
    return {
        name: unescape(value)
        for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[0])
    }


if __name__ == "__main__":
    sys.exit(main())
