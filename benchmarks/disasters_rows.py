"""The disasters of `disasters.py`: what dies, what is waited for and typed, and what must hold at the end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from disasters_stand import ENDED, PROJECT, Job, Stand, generate_by_command, hazardmill, until

from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer

RECORDS = 24
DISK = 16 * 2**20
LONG_S = 900.0
SECOND_REPORT_S = 40.0
"""By then a worker on a busy machine has reported a crash twice."""
PAST_RENEWAL_S = 10.0
"""To an answer, so that the shortest run of `server`, 74 requests of which three are under way, lasts four minutes."""
STOP_S = 40.0
"""What deploy/systemd and compose.yaml give a worker to stop."""
SHORT_LOST_S = 60
"""What the row `server-long` sets the time of automations/lost.yaml to."""


@dataclass
class Moment:
    """One disaster."""

    row: str
    stand: Stand
    folder: Path
    chance: random.Random
    when: str = ""
    typed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seen: str = ""
    lost: int = 0
    twice: int = 0
    in_flight: int = 0
    seconds: float = 0.0
    twins: list[Moment] = field(default_factory=list)

    def job(self, source=None, **how):
        source = source or SOURCES[self.row]
        return Job(self.stand, self.folder, source, how.pop("records", RECORDS), **how).begin()

    def twin(self):
        """Another run at the same moment."""
        self.twins.append(Moment(self.row, self.stand, self.folder, self.chance))
        return self.twins[-1]

    def reach(self, job):
        self.when = job.await_moment(self.chance.uniform(0.1, 0.8))

    def check(self, job, *, crashes, digest=None):
        """Look at a run that has ended.

        Args:
            job: The run.
            crashes: How often it may have been Crashed.
            digest: What its store must come to, if not that of the run alone.
        """
        history = self.stand.history(job.flow_run)
        names = [name for name, _, _ in history]
        self.seen = ", ".join(names)
        said = [message for name, message, _ in history if name in ("Crashed", "Failed") and message]
        self.seen += f"; {' / '.join(dict.fromkeys(said))}" if said else ""
        if names[-1] != "Completed":
            self.wrong.append(f"it ended as {names[-1]}: {history[-1][1]}")
        # A worker reports the crash that the flow has reported.
        begun = sum(name == "Running" for name in names) - 1
        if (not crashes and "Crashed" in names) or begun > max(crashes, names.count("Failed"), len(self.typed)):
            self.wrong.append("a healthy run was crashed or begun again")
        self.lost, self.twice, self.in_flight, wrong = job.violations(digest=digest)
        self.wrong += wrong
        job.close_provider()

    def row_text(self, kind):
        result = "; ".join(self.wrong) if self.wrong else "well"
        paid = f"{self.twice} of {self.in_flight} in flight"
        cells = [self.row, kind, self.when, self.seen, "; ".join(self.typed) or "nothing", self.lost, paid, result]
        return "| " + " | ".join(str(cell).replace("\n", " ").replace("|", "/") for cell in cells) + " |"


# The rows


def flow_killed(moment):
    """A flow's process is killed."""
    stand, job = moment.stand, moment.job()
    moment.reach(job)
    os.kill(stand.flow_process(job.flow_run), signal.SIGKILL)
    stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    moment.check(job, crashes=1)


def worker_stopped(moment):
    """A worker and the flows below it are told to stop, as systemd does it; what has not ended by then is killed."""
    stand = moment.stand
    worker = stand.start_worker("stopped")
    job = moment.job(queue="stopped")
    moment.reach(job)
    took = stand.stop_worker(worker, STOP_S)
    state = stand.flow_run(job.flow_run)["state"]["name"]
    stand.start_worker("stopped")
    moment.typed.append("a worker was started")
    stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    moment.check(job, crashes=1)
    moment.seen += f" (worker gone after {took:.0f} s, flow run {state} then)"


def worker_killed(moment):
    """A worker alone is killed, and another one is started. Its flow notices that, and ends too."""
    stand = moment.stand
    worker = stand.start_worker("killed")
    job = moment.job(queue="killed")
    moment.reach(job)
    stand.end_worker(worker, signal.SIGKILL)
    stand.start_worker("killed")
    moment.typed.append("a worker was started")
    stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    moment.check(job, crashes=1)


def worker_drained(moment):
    """A worker's queue is paused, so that it begins nothing; once its flow has ended, it is told to stop."""
    stand = moment.stand
    worker = stand.start_worker("drained")
    job = moment.job(queue="drained")
    moment.reach(job)
    stand.type("prefect", "work-queue", "pause", "drained", "--pool", "mill")
    moment.typed += ["prefect work-queue pause QUEUE --pool mill", "the worker was stopped once nothing ran"]
    found = stand.deployment("resume-waiting/default")["id"]
    waiting = stand.post(f"/deployments/{found}/create_flow_run", work_queue_name="drained")["id"]
    stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    stand.stop_worker(worker, STOP_S)
    if stand.flow_run(waiting)["state"]["type"] != "SCHEDULED":
        moment.wrong.append("a paused queue gave out work")
    stand.type("prefect", "work-queue", "resume", "drained", "--pool", "mill")
    worker = stand.start_worker("drained")
    stand.await_state(waiting, ["COMPLETED"], LONG_S)
    moment.typed += ["prefect work-queue resume QUEUE --pool mill", "a worker was started"]
    moment.check(job, crashes=0)


def machine(moment):
    """Worker and flow are killed at once, and a worker is started elsewhere."""
    stand = moment.stand
    worker = stand.start_worker("machine")
    job = moment.job(queue="machine", latency=2.0)
    moment.reach(job)
    until(lambda: stand.events("prefect.flow-run.heartbeat", job.flow_run), "a heartbeat", LONG_S)
    stand.end_worker(worker, signal.SIGKILL, with_flows=True)
    began = time.monotonic()
    stand.start_worker("machine")
    moment.typed.append("a worker was started")
    stand.await_state(job.flow_run, ["CRASHED", "SCHEDULED", "COMPLETED"], LONG_S)
    after = time.monotonic() - began
    stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    moment.check(job, crashes=1)
    moment.seen += f" (Crashed after {after:.0f} s)"


def server(moment):
    """The server is killed under three runs, and started again some seconds later.

    The runs last until they have renewed their leases on their deployments, 225 s after they began.
    """
    away = moment.chance.uniform(5, 40)

    def break_it():
        moment.stand.kill_server()
        time.sleep(away)
        moment.stand.start_server()

    _under_three(moment, break_it, f"away for {away:.0f} s", ["the server was started"], latency=PAST_RENEWAL_S)


def database(moment):
    """The database is locked (SQLite) or dies (PostgreSQL) for a while, under three runs."""
    away = 30 if moment.stand.postgres is None else moment.chance.uniform(10, 30)

    def break_it():
        with moment.stand.lock_database():
            time.sleep(away)

    _under_three(moment, break_it, f"away for {away:.0f} s", [])


def _under_three(moment, break_it, how, typed, latency=0.8):
    jobs = [moment.job(source, latency=latency) for source in ("neiss", "virtualhome", "normbank")]
    moment.reach(jobs[0])
    moments = [moment, *(moment.twin() for _ in jobs[1:])]
    for each, job in zip(moments, jobs, strict=True):
        each.when = f"request {len(job.provider.attempts)} of {job.whole().requests}, {how}"
        each.typed += typed
    break_it()
    for each, job in zip(moments, jobs, strict=True):
        moment.stand.await_state(job.flow_run, ["COMPLETED", "FAILED"], LONG_S)
        each.check(job, crashes=0)


def server_long(moment):
    """The server is away for longer than the time after which a flow run counts as lost, and the run is well."""
    stand, job = moment.stand, moment.job(latency=5.0)
    before = stand.wait_before_crash(SHORT_LOST_S)
    moment.reach(job)
    # Of a heartbeat the server must know, or nothing is expected of the run.
    until(lambda: stand.events("prefect.flow-run.heartbeat", job.flow_run), "a heartbeat", LONG_S)
    stand.kill_server()
    away = SHORT_LOST_S + moment.chance.uniform(10, 30)
    time.sleep(away)
    stand.start_server()
    moment.typed.append("the server was started")
    moment.when += f", away for {away:.0f} s missed after {SHORT_LOST_S} s"
    stand.await_state(job.flow_run, ["COMPLETED", "FAILED"], LONG_S)
    stand.wait_before_crash(before)
    moment.check(job, crashes=0)


def event_lost(moment):
    """Nobody hears of a crash, as while `make deploy` replaces the automation."""
    stand, job = moment.stand, moment.job()
    moment.reach(job)
    os.kill(stand.flow_process(job.flow_run), signal.SIGKILL)
    stand.await_state(job.flow_run, ["CRASHED"], LONG_S)
    time.sleep(SECOND_REPORT_S)
    if stand.flow_run(job.flow_run)["state"]["type"] == "CRASHED":
        stand.retry(job.flow_run)
        moment.typed.append("prefect flow-run retry ID")
    stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    moment.check(job, crashes=1)


def provider(moment):
    """The provider is down for a while."""
    stand, job = moment.stand, moment.job()
    moment.reach(job)
    job.close_provider()
    stand.await_state(job.flow_run, ENDED, LONG_S)
    job.open_provider()
    stand.retry(job.flow_run)
    moment.typed.append("prefect flow-run retry ID")
    stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    moment.check(job, crashes=0)


def disk(moment):
    """The store's disk is full."""
    place = moment.folder / "disk"
    place.mkdir(parents=True)
    stand = moment.stand
    with mounted(place):
        job = moment.job(store=place / "store")
        moment.reach(job)
        room = moment.chance.choice([0, 16, 64])
        free = os.statvfs(place)
        with (place / "ballast").open("xb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, max(1, free.f_bavail * free.f_frsize - room * 1024))
        moment.when += f", {room} kB left"
        stand.await_state(job.flow_run, ENDED, LONG_S)
        (place / "ballast").unlink()
        stand.retry(job.flow_run)
        moment.typed.append("room was made; prefect flow-run retry ID")
        stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
        moment.check(job, crashes=0)


def damage(moment):
    """A committed file of the store is damaged, the flow is killed, and a retry finds it."""
    stand, job = moment.stand, moment.job()
    moment.reach(job)
    until(lambda: list(job.store.glob("**/*.parquet")), "a committed part", LONG_S)
    os.kill(stand.flow_process(job.flow_run), signal.SIGKILL)
    stand.await_state(job.flow_run, ["CRASHED"], LONG_S)
    parts = sorted(job.store.glob("**/*.parquet"))
    part = parts[moment.chance.randrange(len(parts))]
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 0xFF
    part.write_bytes(content)
    moment.when += f", {part.relative_to(job.store).parts[0]}"
    # The worker reports the crash a second time, which would be taken for a crash of the retry.
    time.sleep(SECOND_REPORT_S)
    state = _again(moment, job, {"type": "CRASHED"})
    verified = hazardmill("store", "verify", "--store", job.store)
    if verified.returncode != 1 or part.name not in verified.stdout + verified.stderr:
        moment.wrong.append(f"verify does not name the file: {verified.stdout[-200:]}")
    hazardmill("store", "rebuild", "--store", job.store)
    moment.typed += ["hazardmill store verify", "hazardmill store rebuild"]
    state = _again(moment, job, state)
    if state["type"] == "FAILED" and "ingest the run's inputs again" in state["message"]:
        sample = PROJECT / "sources" / job.source / "sample"
        hazardmill("ingest", sample, "--source", job.source, "--limit", job.records, "--store", job.store)
        moment.typed.append("hazardmill ingest")
        _again(moment, job, state)
        # What was ingested anew is a run of its own.
        digest = {name: value for name, value in job.whole().digest.items() if name not in ("runs", "total")}
        moment.check(job, crashes=1, digest=digest)
        return
    moment.check(job, crashes=1)


def _again(moment, job, state):
    """Retry a flow run, or, if it had completed, start another one on its run; return how it ended."""
    if state["type"] != "COMPLETED":
        moment.stand.retry(job.flow_run)
        moment.typed.append("prefect flow-run retry ID")
    else:
        given = {"store": str(job.store), "run_id": job.run_id}
        job.flow_run = moment.stand.start_run(f"generate/{job.source}", **given)
        moment.typed.append(f"prefect deployment run generate/{job.source} -p run_id={job.run_id}")
    return moment.stand.await_state(job.flow_run, ["COMPLETED", "FAILED"], LONG_S)


def four_workers(moment):
    """Four workers with a source each write one store at once, and one of their flows is killed."""
    stand, store = moment.stand, moment.folder / "store"
    sources = ("neiss", "virtualhome", "normbank", "bddl")
    workers = [stand.start_worker(f"of-{source}") for source in sources]
    jobs = [moment.job(source, store=store, records=12, queue=f"of-{source}") for source in sources]
    dying = moment.chance.choice(jobs)
    moment.reach(dying)
    moment.when += f" of {dying.source}"
    os.kill(stand.flow_process(dying.flow_run), signal.SIGKILL)
    for job in jobs:
        stand.await_state(job.flow_run, ["COMPLETED"], LONG_S)
    alone = moment.folder / "alone"
    with LlmServer(dialect="none") as plain:
        for source in sources:
            generate_by_command(source, 12, alone, f"of-{source}", plain.address)
    digest = Store.open(alone).digest()
    lost = twice = in_flight = 0
    for job in [job for job in jobs if job is not dying] + [dying]:
        moment.check(job, crashes=int(job is dying), digest=digest)
        lost, twice, in_flight = lost + moment.lost, twice + moment.twice, in_flight + moment.in_flight
    moment.lost, moment.twice, moment.in_flight = lost, twice, in_flight
    for worker in workers:
        stand.stop_worker(worker, STOP_S)


@contextmanager
def mounted(place):
    """A disk of its own in a folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


ROWS = {
    "flow-killed": flow_killed,
    "worker-stopped": worker_stopped,
    "machine": machine,
    "provider": provider,
    "disk": disk,
    "event-lost": event_lost,
    "damage": damage,
    "worker-killed": worker_killed,
    "worker-drained": worker_drained,
    "server": server,
    "database": database,
    "four-workers": four_workers,
    "server-long": server_long,
}
SOURCES = dict(zip(ROWS, ("neiss", "virtualhome", "bddl", "normbank", "alfred") * 3, strict=False))
"""A deployment works on one flow run at a time, and rows of a group are broken at once."""
