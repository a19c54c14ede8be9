"""The heartbeat: few writes however often the phase changes, and never an old phase left standing."""

import json
import threading

from memory.rundir import RunDir
from training.loop.heartbeat import Heartbeat
from training.loop.progress import Progress


class Listener(RunDir):
    """A run directory that counts its heartbeats, and can be waited for until it has heard a phase."""

    def __init__(self, root):
        super().__init__(root)
        self.heard: list[str] = []
        self._came = threading.Condition()

    def beat(self, **state):
        super().beat(**state)
        with self._came:
            self.heard.append(state["phase"])
            self._came.notify_all()

    def hear(self, phase: str) -> None:
        with self._came:
            assert self._came.wait_for(lambda: phase in self.heard, timeout=30), f"{phase} was never written"


def test_of_many_states_the_first_and_the_last_are_written(tmp_path):
    run = Listener(tmp_path)
    heart = Heartbeat(run)
    heart.beat(phase="first")
    run.hear("first")
    for number in range(1000):
        heart.beat(phase=f"state {number}")
    run.hear("state 999")
    assert json.loads(run.heartbeat.read_text())["phase"] == "state 999"
    assert len(run.heard) < 100
    heart.end(phase="finished")
    assert run.heard[-1] == "finished"


def test_after_the_end_no_earlier_state_is_written(tmp_path):
    run = Listener(tmp_path)
    for _ in range(20):
        heart = Heartbeat(run)
        heart.beat(phase="late")
        heart.end(phase="finished")
        assert json.loads(run.heartbeat.read_text())["phase"] == "finished"
        assert not any(t.name == "heartbeat" and t.is_alive() for t in threading.enumerate())


def test_a_state_that_cannot_be_written_does_not_stop_the_later_ones(tmp_path):
    run = Listener(tmp_path / "gone")
    heart = Heartbeat(run)
    heart.beat(phase="lost")
    run.root.mkdir()
    heart.beat(phase="kept")
    run.hear("kept")
    heart.end(phase="finished")


def test_the_outer_phase_stands_again_when_an_inner_one_is_over(tmp_path):
    run = Listener(tmp_path)
    progress = Progress(5, run, True)
    with progress.phase("evolve"):
        run.hear("evolve")
        with progress.phase("judge"):
            run.hear("judge")
            run.heard.clear()
        run.hear("evolve")
    progress.end("finished")
    assert run.heard[-1] == "finished"
