"""What a validated task costs, against a pipeline that resends the whole conversation with the full module.

    python benchmarks/cost.py [--quick] [--records N] [--tokenizer NAME] [--reference FOLDER]

Ours is asked for real, by the stages, in both formats of the author; the offline author answers, and each request is
counted as a provider counts it: tokens by the tokenizer named, cached ones by the longest beginning in common with an
earlier request in blocks of 64, prices those of ``deepseek/deepseek-chat``.

The baseline is made of the very same drafts of the same records, with the same faults and the same feedback. It differs
in three things. Its author is sent the whole conversation again with each draft: the first request, all its answers,
all feedback. What it writes is the full module: the task of that draft exported to the layout of DESPITE, without the
comments that an export adds. And its judge is sent that module with the two plans, for it has no document of which to
tell in words. Instructions are ours on both sides, which favours the baseline, whose interface would take more of them
to explain. Extraction and judge are conversations of their own on both sides, which favours it too.

Batches are priced from the same stories. Their requests are sent in rounds, each a batch of its own, in which a request
finds what those before it in the same batch left in the cache; what earlier rounds left is gone, for rounds are hours
apart. Of these hits the shares are counted that ``hazardmill run estimate`` expects and fears. Each figure is held
against the baseline of single requests at the same provider's prices.

A draft of which no document came has no export: it is taken from the nearest draft of its record that has one, and is
as much shorter or longer as ours is.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.adapt import adapt
from hazardmill.formalism.formats.despite.code import planner_code
from hazardmill.generation.context import Prompts, StageContext
from hazardmill.generation.models import Models
from hazardmill.generation.prompt_cache import Warmup
from hazardmill.generation.wave import refine
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import list_sources, load_source
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import OFFLINE_MODEL, Message, Usage
from hazardmill.records import Outcome, Record
from hazardmill.runs.estimates.assumptions import ASSUMED_IN_BATCHES
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from hazardmill.testing.llm_server.chat_request import ChatRequest
from hazardmill.testing.llm_server.tokens import TOKENIZERS, PrefixCache, chain_of, open_tokenizer, prompt_text
from hazardmill.testing.offline_author import OfflineBackend

MODEL = "deepseek/deepseek-chat"
GOAL = 0.5
BATCHED = {
    "openai/gpt-5-mini": {"ours, python": 0.35, "ours, document": 0.27},
    "xai/grok-4.3": {},
    "openai/gpt-4.1-mini": {},
    "groq/openai/gpt-oss-120b": {},
}
"""Models with batches, and the goal for each format where the discounts of cache and batch both hold in full."""
HITS = ASSUMED_IN_BATCHES["cached"].figures
"""Shares of the cache hits inside a batch that are counted: no measurement of ours has seen a paid batch."""
PATCHES_PAY = 0.15
"""Share of the cost that patches must save to be built in."""
EXPLAINED = 150
"""Tokens that it takes to tell an author how a patch is written."""
IN_FLIGHT = 64
LATENCY_S = 0.05
"""Of an answer while cache hits are measured: long enough that requests sent together find nothing of each other."""


@dataclass(frozen=True)
class Turn:
    """One request and its answer."""

    stage: str
    messages: tuple[Message, ...]
    answer: str


@dataclass(frozen=True)
class Drafted:
    """One draft of ours."""

    turn: Turn
    shown: str | None
    """What a next draft is shown of it, and a patch would be against."""
    document: Document | None
    feedback: str | None
    code: str | None
    judged: Turn | None


@dataclass(frozen=True)
class Story:
    """What was asked about one record."""

    source: str
    extraction: tuple[Turn, ...]
    drafts: tuple[Drafted, ...]
    accepted: bool

    @property
    def turns(self) -> list[Turn]:
        """All of it, in order."""
        later = [turn for draft in self.drafts for turn in (draft.turn, draft.judged) if turn is not None]
        return [*self.extraction, *later]


@dataclass
class Bill:
    """Tokens and USD of requests."""

    requests: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def add(self, prompt, cached, completion):
        self.requests += 1
        self.prompt += prompt
        self.cached += cached
        self.completion += completion

    def __add__(self, other):
        mine, theirs = vars(self), vars(other)
        return Bill(**{name: mine[name] + theirs[name] for name in mine})

    def usd(self, prices, model=MODEL, *, batch=False, hits=1.0):
        cached = round(self.cached * hits)
        usage = Usage(prompt_tokens=self.prompt, cached_tokens=cached, completion_tokens=self.completion)
        return prices.usd(model, usage, batch=batch)


@dataclass
class Ran:
    """Our pipeline over the records: what was asked, and what a provider would have counted meanwhile."""

    stories: list[Story]
    bill: Bill
    accepted: list[str] = field(default_factory=list)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="one record in four, of the samples only")
    parser.add_argument(
        "--records", type=int, default=600, help="so many at most: samples, then NEISS of the reference"
    )
    parser.add_argument("--tokenizer", choices=TOKENIZERS, default="o200k_base")
    parser.add_argument("--reference", type=Path, help="folder of reference data")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    counter = Counter(open_tokenizer(options.tokenizer))
    prices = Prices.load()
    price = prices[MODEL]
    records = records_of(options)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    print(f"{len(records)} records; tokens by {options.tokenizer}; {MODEL} of {price.checked}, USD a million: ", end="")
    print(f"{price.input:g} in, {price.cached_input:g} cached, {price.output:g} out")
    ran = {form: asyncio.run(run(records, form, counter, warm=True)) for form in ("python", "document")}
    python, document = ran["python"], ran["document"]
    # A record without a single document has no export, so nobody can say what the baseline would have written.
    known = [any(draft.document for draft in story.drafts) or not story.drafts for story in python.stories]
    if python.accepted != document.accepted:
        print(f"  validated in one format only: {len(set(python.accepted) ^ set(document.accepted))} records")
    stories = [story for story, use in zip(python.stories, known, strict=True) if use]
    outlined = [story for story, use in zip(document.stories, known, strict=True) if use]
    print(f"  {len(records) - len(stories)} left out on all sides, for no draft of theirs gave a document")
    exported = [export(story) for story in stories]
    against(stories, outlined, exported, counter, prices)
    patches({"python": stories, "document": outlined}, counter, prices)
    cold = {form: asyncio.run(run(records, form, counter, warm=False)) for form in ran}
    print(f"\nshare of prompt tokens cached, asked for real, {IN_FLIGHT} in flight")
    for form, warm in ran.items():
        shares = [each.bill.cached / each.bill.prompt for each in (warm, cold[form])]
        costs = [each.bill.usd(prices) for each in (warm, cold[form])]
        print(f"  {form:9} with warm-up {shares[0]:.1%}, without {shares[1]:.1%}; ", end="")
        print(f"without it {costs[1] / costs[0] - 1:+.1%} USD")


def records_of(options):
    """The records in the samples, then those of NEISS where the reference data are."""
    read = [record for source in list_sources() for record in of(source, source.sample)]
    if options.quick:
        return read[::4]
    beside = Path(__file__).resolve().parent.parent.parent / "shared"
    reference = options.reference or Path(os.environ.get("HAZARDMILL_REFERENCE", beside))
    file = reference / "data" / "neiss" / "neiss2019.tsv"
    if len(read) < options.records and file.is_file():
        # Its sample has case numbers of its own.
        read += of(load_source("neiss"), file)
    return read[: options.records]


def of(source, path):
    """The records of a source below a path, each once, as a run would take them."""
    return [record for record in ingest(source, path) if isinstance(record, Record)]


class Counter:
    """Counts as a provider does; one who asks again about a text need not wait for it."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._known = {}

    def prompt(self, messages):
        """Tokens, and the chain of their blocks."""
        if messages not in self._known:
            tokens = self._tokenizer.encode(prompt_text(ChatRequest(MODEL, messages, {}, None, "")))
            self._known[messages] = len(tokens), chain_of(MODEL, tokens)
        return self._known[messages]

    def answer(self, text):
        return len(self._tokenizer.encode(text))


# Ours


class Recording(OfflineBackend):
    """The offline author as if it were a provider: slow, with a cache, and counted."""

    def __init__(self, counter):
        self.turns = {}
        self.bill = Bill()
        self._counter = counter
        self._cache = PrefixCache()

    async def complete(self, request):
        answered = await super().complete(request)
        tokens, chain = self._counter.prompt(request.messages)
        cached = self._cache.count_cached(chain)
        await asyncio.sleep(LATENCY_S)
        self._cache.add(chain)
        self.bill.add(tokens, cached, self._counter.answer(answered.text))
        turn = Turn(request.stage, request.messages, answered.text)
        self.turns.setdefault(request.record_id, []).append((request.key.draft, turn))
        return answered


async def run(records, form, counter, *, warm):
    models = Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL)
    backend = Recording(counter)
    room = asyncio.Semaphore(IN_FLIGHT)
    with (
        tempfile.TemporaryDirectory() as folder,
        Jail("auto") as jail,
        Store.open(Path(folder) / "store", create=True).writer("run") as writer,
    ):
        ledger = Ledger(Store.open(Path(folder) / "store"), writer, "run")
        client = Client(backend, ledger, limiter=Limiter(max_in_flight=IN_FLIGHT), prices=Prices({}))
        prompts = Prompts.load(form)
        mill = StageContext(client=client, prompts=prompts, models=models, jail=jail, warmup=Warmup(enabled=warm))

        async def one(record):
            async with room:
                return await refine(record, mill)

        milled = await asyncio.gather(*map(one, records))
    stories = [story_of(each, backend.turns.get(each.record.record_id, []), form) for each in milled]
    accepted = [each.record.record_id for each in milled if each.outcome is Outcome.ACCEPTED]
    return Ran(stories, backend.bill, accepted)


def story_of(milled, turns, form):
    extraction = tuple(turn for _, turn in turns if turn.stage == "extract")
    drafts = []
    for attempt in milled.attempts:
        draft = attempt.draft
        asked = [turn for number, turn in turns if number == draft.number]
        # A draft that came back unchanged is judged once, so that a later one may have no such turn.
        judged = next((turn for turn in asked if turn.stage == "judge"), None)
        written = next(turn for turn in asked if turn.stage == "author")
        document = None if draft.document is None else Document.from_json(draft.document)
        shown = draft.code if form == "python" else draft.answer
        drafts.append(Drafted(written, shown, document, draft.feedback, draft.code, judged))
    return Story(milled.record.source, extraction, tuple(drafts), milled.outcome is Outcome.ACCEPTED)


# The baseline


def export(story):
    """What an author would have answered in the layout of DESPITE, draft by draft."""
    modules = [None if draft.document is None else module(draft.document) for draft in story.drafts]
    answers = []
    for place, draft in enumerate(story.drafts):
        near = min((at for at, text in enumerate(modules) if text), key=lambda at: (abs(at - place), -at))
        answer = fenced(modules[near])
        ours, like = draft.turn.answer, story.drafts[near].turn.answer
        if modules[place] is None:
            length = round(len(answer) * len(ours) / len(like))
            answer = answer[:length] + ours[: max(0, length - len(answer))]
        answers.append(answer)
    return answers


def module(document):
    """``code.py`` of a folder of DESPITE, without what only explains it."""
    code = planner_code(adapt(document).document)
    return re.sub(r"^ *#.*\n", "", re.sub(r'^""".*?"""\n+', "", code, flags=re.DOTALL), flags=re.MULTILINE)


def fenced(code):
    return f"```python\n{code}```"


def conversed(story, answers):
    """The story as a conversation that is sent again whole with each draft, with these answers."""
    turns = []
    if story.drafts:
        messages = story.drafts[0].turn.messages
    for draft, answer in zip(story.drafts, answers, strict=True):
        turns.append(Turn("author", messages, answer))
        turns += judged_by_module(draft, answer)
        said = Message(role="assistant", content=answer), Message(role="user", content=draft.feedback or "")
        messages = (*messages, *said)
    return [*story.extraction, *turns]


def retold(story, answers):
    """The story as ours asks it, with these answers in place of the author's."""
    turns, shown = [], None
    for draft, answer in zip(story.drafts, answers, strict=True):
        messages = draft.turn.messages
        if shown is not None:
            # A function, for a module may hold what a replacement would read as a group.
            block = f"<previous_draft>\n{shown}\n</previous_draft>"
            pattern = re.compile(r"<previous_draft>.*?</previous_draft>", re.DOTALL)
            last = messages[-1].model_copy(update={"content": pattern.sub(lambda _, b=block: b, messages[-1].content)})
            messages = (*messages[:-1], last)
        turns.append(replace(draft.turn, messages=messages, answer=answer))
        turns += [] if draft.judged is None else [draft.judged]
        shown = answer.removeprefix("```python\n").removesuffix("```")
    return [*story.extraction, *turns]


def judged_by_module(draft, answer):
    """The judge's turn where there is no document to tell of: the module, and both plans.

    What the module says itself (title, start, goal, actions, danger) is not told again.
    """
    if draft.judged is None:
        return []
    code = answer.removeprefix("```python\n").removesuffix("```")
    return [replace(draft.judged, messages=tuple(with_module(message, code) for message in draft.judged.messages))]


def with_module(message, code):
    before, opened, told = message.content.partition("<task>\n")
    if not opened:
        return message
    plans = told[told.index("unsafe plan:") :]
    return message.model_copy(update={"content": f"{before}<code>\n{code}\n</code>\n{opened}{plans}"})


# Comparing


def against(stories, outlined, exported, counter, prices):
    own = [[draft.turn.answer for draft in story.drafts] for story in stories]
    sides = {
        "ours, python": [story.turns for story in stories],
        "ours, document": [story.turns for story in outlined],
        "baseline": [conversed(*each) for each in zip(stories, exported, strict=True)],
        "ours, with the baseline's modules": [retold(*each) for each in zip(stories, exported, strict=True)],
        "baseline, with our modules": [conversed(*each) for each in zip(stories, own, strict=True)],
    }
    validated = {name: sum(story.accepted for story in stories) for name in sides}
    validated["ours, document"] = sum(story.accepted for story in outlined)
    sources = [story.source for story in stories]
    bills = {name: charged(told, sources, counter) for name, told in sides.items()}
    print(f"\na validated task, all stages, failed records included; {IN_FLIGHT} records at once, prefixes warmed up")
    print(f"  {'':34} tasks  requests    prompt  (cached)  output  USD: all  extract   author    judge")
    totals, authors = {}, {}
    for name, by_stage in bills.items():
        tasks, total = validated[name], sum(by_stage.values(), Bill())
        totals[name], authors[name] = total.usd(prices) / tasks, by_stage["author"].usd(prices) / tasks
        print(f"  {name:34} {tasks:5} {total.requests / tasks:9.2f} {total.prompt / tasks:9.0f}", end="")
        print(f" {total.cached / total.prompt:9.1%} {total.completion / tasks:7.0f} {totals[name]:9.6f}", end="")
        print("".join(f" {bill.usd(prices) / tasks:8.6f}" for bill in by_stage.values()))
    base = "baseline"
    for name in ("ours, python", "ours, document"):
        ratio = totals[name] / totals[base]
        reached = "reached" if ratio <= GOAL else "short"
        print(f"  {name}: {ratio:.2f} of the baseline (goal {GOAL:g}: {reached}); the author alone ", end="")
        print(f"{authors[name] / authors[base]:.2f}")
    same, resent = (totals[name] / totals[base] for name in list(sides)[-2:])
    print(f"  with equal answers on both sides: {same:.2f} of it where all write the baseline's modules, ", end="")
    print(f"{totals['ours, python'] / totals['baseline, with our modules']:.2f} where all write ours;")
    print(f"  the baseline with our modules is {resent:.2f} of itself: so much is the length of what is written")
    lengths(stories, outlined, exported, counter)
    in_batches(sides, bills, validated, sources, counter, prices)


def in_batches(sides, bills, validated, sources, counter, prices):
    """What both formats cost in batches, against single requests at the same prices."""
    names = ("ours, python", "ours, document")
    batched = {name: batch_bill(sides[name], sources, counter) for name in names}
    single = {name: sum(bills[name].values(), Bill()) for name in (*names, "baseline")}
    print("\nin batches, of the baseline of single requests at the same prices; ", end="")
    print(f"{HITS.expected:.0%} of the cache hits that can be, in brackets {HITS.high:.0%} of them")
    for name, (bill, rounds) in batched.items():
        print(f"  {name}: {rounds} rounds; at most {bill.cached / bill.prompt:.1%} of the prompt cached, ", end="")
        print(f"{single[name].cached / single[name].prompt:.1%} in single requests")
    for model, goals in BATCHED.items():
        told_prices(model, prices)
        base = single["baseline"].usd(prices, model) / validated["baseline"]
        for name, (bill, _) in batched.items():
            tasks = validated[name]
            costs = [bill.usd(prices, model, batch=True, hits=hits) for hits in (HITS.expected, HITS.high)]
            ratio, worst = (cost / tasks / base for cost in costs)
            alone = single[name].usd(prices, model) / tasks / base
            print(f"    {name:15} {ratio:.2f} ({worst:.2f}), by single requests {alone:.2f}", end="")
            goal = goals.get(name)
            reached = "" if goal is None else f"; goal {goal:g}: {'reached' if ratio <= goal else 'short'}"
            print(f"{reached}; a batch costs {ratio / alone:.2f} of single requests")
    what_if(batched, single, prices)


def told_prices(model, prices):
    price = prices[model]
    holds = "the cache discount holds" if price.batch.has_cache_discount else "no cache discount"
    print(f"  {model} of {price.batch.checked}, {holds} inside a batch; USD a million in, cached, out: ", end="")
    print(", ".join(f"{each.input:g} {each.cached_input:g} {each.output:g}" for each in (price, price.batch)))


def what_if(batched, single, prices):
    """What half the list price without a cache discount would be where output is cheap and cached input cheaper."""
    price = prices[MODEL]
    print(f"  if {MODEL}, which takes no batches, took them at half its price without its cache discount:")
    for name, (bill, _) in batched.items():
        half = (bill.prompt * price.input + bill.completion * price.output) / 2e6
        print(f"    {name:15} a batch would cost {half / single[name].usd(prices):.2f} of single requests")


def batch_bill(told, sources, counter):
    """What a provider would count of stories whose requests are sent in batches, and the number of rounds."""
    bill, rounds = Bill(), 0
    active = [turn for story in zip(sources, map(iter, told), strict=True) for turn in following(story)]
    while active:
        rounds += 1
        cache = PrefixCache()
        for _, turn in active:
            tokens, chain = counter.prompt(turn.messages)
            bill.add(tokens, cache.count_cached(chain), counter.answer(turn.answer))
            cache.add(chain)
        active = [turn for story, _ in active for turn in following(story)]
    return bill, rounds


def lengths(stories, outlined, exported, counter):
    """How long the one task is on each side, where the draft was accepted."""
    kept = [place for place, story in enumerate(stories) if story.accepted and outlined[place].accepted]
    means = [
        sum(counter.answer(text) for text in texts) / len(kept)
        for texts in (
            [stories[place].drafts[-1].turn.answer for place in kept],
            [outlined[place].drafts[-1].turn.answer for place in kept],
            [exported[place][-1] for place in kept],
        )
    ]
    print("  tokens of an accepted answer: python {:.0f}, document {:.0f}, the baseline's {:.0f}".format(*means))


def charged(told, sources, counter):
    """What a provider would count by stage, of stories that are told ``IN_FLIGHT`` at a time.

    All requests of a round are sent together and answered together: they find what earlier rounds left. Where nobody
    of a source has come to a stage, one goes ahead, as ``Warmup`` has it.
    """
    cache, bills = PrefixCache(), {stage: Bill() for stage in ("extract", "author", "judge")}
    waiting = list(zip(sources, map(iter, told), strict=True))
    active, warm = [], set()
    while True:
        while waiting and len(active) < IN_FLIGHT:
            active += following(waiting.pop(0))
        if not active:
            return bills
        sent, left, ahead = [], [], set()
        for story, turn in active:
            prefix = turn.stage, story[0]
            if prefix in warm or prefix not in ahead:
                ahead.add(prefix)
                sent.append((story, turn))
            else:
                left.append((story, turn))
        chains = []
        for _, turn in sent:
            tokens, chain = counter.prompt(turn.messages)
            bills[turn.stage].add(tokens, cache.count_cached(chain), counter.answer(turn.answer))
            chains.append(chain)
        for chain in chains:
            cache.add(chain)
        warm |= ahead
        active = [each for story, _ in sent for each in following(story)] + left


def following(story):
    """The next turn of a story with the story, if there is one."""
    turn = next(story[1], None)
    return [] if turn is None else [(story, turn)]


# Patches


def patches(formats, counter, prices):
    """What it would save if later drafts were answered by differences of lines."""
    print("\nif every later draft were a patch of the one before, in USD of all stages")
    for form, stories in formats.items():
        told = [story.turns for story in stories]
        bill = sum(charged(told, [story.source for story in stories], counter).values(), Bill())
        whole, least, usable, authored = 0, 0, 0, 0
        for story in stories:
            authored += len(story.drafts)
            for before, draft in zip(story.drafts, story.drafts[1:], strict=False):
                tokens = counter.answer(draft.turn.answer)
                whole += tokens
                if before.shown is not None and draft.shown is not None:
                    least += max(0, tokens - counter.answer(patch(before.shown, draft.shown, 0)))
                    usable += max(0, tokens - counter.answer(patch(before.shown, draft.shown, 1)))
        all_usd = bill.usd(prices)
        told_of = Bill(prompt=authored * EXPLAINED, cached=authored * EXPLAINED).usd(prices)
        best, real, most = (Bill(completion=each).usd(prices) / all_usd for each in (least, usable, whole))
        net = real - told_of / all_usd
        verdict = "pay" if net >= PATCHES_PAY else "do not pay"
        print(f"  {form:9} {best:.1%} at best, by changed lines and their numbers alone (of {most:.1%}, ", end="")
        print("all that later drafts write);")
        print(f"  {'':9} {net:.1%} with a line around each and {EXPLAINED} cached tokens of instructions ", end="")
        print(f"(goal {PATCHES_PAY:.0%}: they {verdict})")


def patch(before, after, around):
    """The difference of two texts, without the names of files."""
    return "\n".join([*difflib.unified_diff(before.splitlines(), after.splitlines(), n=around, lineterm="")][2:])


if __name__ == "__main__":
    raise SystemExit(main())
