"""The console as a person meets it: every page on a full run, an empty run and a damaged one."""

import ast
import json
import re
import time
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import get_args

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from streamlit.testing.v1 import AppTest

import ui
from memory.decision import ProbeKind, probe_id
from memory.journal import Journal, RunRecord
from tests.ui.conftest import checked
from tests.ui.synthetic import EVERY, STEPS, TRICKY
from ui.card import card, describe
from ui.console import PAGES
from ui.evolver import CARDS
from ui.html import html
from ui.readers import MISSING, RunReader
from ui.rollouts import GROUP_SORTS


def said(app: AppTest) -> str:
    """All words of a page that are not in tables."""
    parts = [*app.markdown, *app.caption, *app.text, *app.info, *app.warning, *app.subheader]
    return "\n".join([*(str(part.value) for part in parts), *(text_of(card) for card in cards(app))])


def cards(app: AppTest) -> list[str]:
    return [part.proto.body for part in app.get("html") if "<article" in part.proto.body]


def text_of(html: str) -> str:
    """The words of HTML as a browser shows them."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def card_keys(app: AppTest) -> list[str]:
    return [str(b.key) for b in app.button if str(b.key).startswith("open-task-")]


def charts(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]


def heat_map(app: AppTest) -> pd.DataFrame:
    """The cells of the page's heat map, as they are sent to the browser."""
    return pa.ipc.open_stream(app.get("vega_lite_chart")[0].proto.data.data).read_pandas()


def test_runs_lists_every_run_with_its_state(synthetic, copied, open_page):
    now = time.time()
    (copied / "heartbeat.json").write_text(json.dumps({"phase": "judge", "step": 9, "steps": STEPS, "time": now - 600}))
    done = copied.parent / "done"
    done.mkdir()
    (done / "heartbeat.json").write_text(json.dumps({"phase": "finished", "step": 3, "steps": 3, "time": now - 7200}))
    app = open_page(copied.parent)
    rows = app.dataframe[0].value.set_index("run")
    assert rows.loc["copy", "state"] == "stale: silent for 10 min in phase judge"
    assert rows.loc["copy", "step"] == f"9 of {STEPS}"
    assert rows.loc["copy", "last reward"] == pytest.approx(synthetic.rewards[-1])
    assert rows.loc["copy", "held-out"] == pytest.approx(0.74)
    assert rows.loc["copy", "held-out ruler"] == "gold"
    assert rows.loc["copy", "edits"] == "6 / 12"
    assert rows.loc["done", "state"] == "finished"
    assert rows.loc["done", "last sign of life"] == "2 h ago"
    assert rows.loc["done", "held-out ruler"] == "not evaluated"


def test_a_live_run_is_not_stale(copied, open_page):
    (copied / "heartbeat.json").write_text(json.dumps({"phase": "judge", "step": 9, "steps": STEPS, "time": time.time() - 5}))
    assert open_page(copied.parent).dataframe[0].value["state"].tolist() == ["running: judge"]


def test_a_paused_run_says_why(copied, open_page):
    beat = {"phase": "paused", "step": 9, "steps": STEPS, "time": time.time() - 5, "reason": "40% is unscored (3 connection)"}
    (copied / "heartbeat.json").write_text(json.dumps(beat))
    assert open_page(copied.parent).dataframe[0].value["state"].tolist() == ["paused: 40% is unscored (3 connection)"]


def test_a_folder_without_runs_says_what_to_do_and_shows_the_demo_run(tmp_path, open_page):
    app = open_page(tmp_path / "nothing")
    assert "No runs in nothing" in app.info[0].value
    assert "Below is the demo run that ships" in app.info[0].value
    assert app.dataframe[0].value[["run", "state"]].to_numpy().tolist() == [["demo", "finished"]]


def test_overview_shows_tiles_curves_classes_and_alerts(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Overview")
    tiles = {m.label: (m.value, m.delta) for m in app.metric}
    now, before = sum(synthetic.rewards[-10:]) / 10, sum(synthetic.rewards[-20:-10]) / 10
    assert tiles["Reward"][0].startswith(f"{now:.3f} ± ")
    assert tiles["Reward"][1] == f"{now - before:+.3f}"
    assert tiles["Held-out gold"] == ("0.740", "+0.200")
    assert tiles["Harness version"] == ("4", "6 of 12 accepted")
    assert tiles["Step"] == (f"{STEPS}", f"of {STEPS}, 100% done")
    assert {"Flat groups", "Unscored"} <= tiles.keys()
    assert len(charts(app)) == 2
    assert "cut at 24 tokens" in app.warning[0].value
    assert "step 7" in app.warning[0].value


def test_evolver_has_a_card_per_edit_newest_first(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Evolver")
    assert "12 of 12 edits, newest first" in said(app)
    assert len(card_keys(app)) == CARDS
    seqs = [int(key.rsplit("-", 1)[1]) for key in card_keys(app)]
    assert seqs == sorted(seqs, reverse=True)


def test_a_card_tells_change_measurement_decision_attribution_and_hindsight(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Evolver", edit="r1-fever-1-1")
    (words,) = map(text_of, cards(app))
    assert "c rubric criteria ✓ accepted reword criterion on fever-1" in words
    assert "Accepted: the share changed by +0.30" in words
    assert "spurious → c rubric criteria: 62% of pairs of fever-1 are spurious (by rules)" in words
    assert "Overruled, the rules would have said: saturated, through p" in words
    assert "Evidence cited: visit of fever-1 at step" in words
    assert "shaded: ±0.11, what an unchanged harness shows by chance" in words
    assert "after +0.30 (+0.18 to +0.42)" in words
    assert "score on rash-6 +0.01, limit 0.05: ✓ holds" in words
    assert "p 0.002, needed under 0.013" in words
    assert "mean score 0.31 → 0.44 · of it +0.02 by other rollouts, +0.13 by other criteria" in words
    assert "the measurement promised +0.30; the 2 visits since show +0.12" in words
    assert "The whole round: 48 rollouts, 120 quality calls, 3 tasks; failures: 1 × proposer timeout" in words
    assert "<del>main</del>" in cards(app)[0]


def test_a_probe_is_on_the_card(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Evolver", edit="r1-rash-6-1")
    assert "Probe with a full hint: ✓ helps, 10% → 70%. Told all of what the criterion wants" in said(app)


def test_a_revision_names_the_others_of_its_round_and_what_was_recalled(synthetic, open_page):
    words = said(open_page(synthetic.run.root, page="Evolver", edit="r2-letter-3-2"))
    assert words.index("revision 0: ✗ reprice criterion, rejected") < words.index(
        "revision 1: ✓ create criterion, accepted (this card)"
    )
    assert "edit on tides-2 at step 4: lower level, inconclusive (r1-tides-2-1)" in words
    assert "not in the journal (v0-0-unknown)" in words


def test_an_edit_taken_unmeasured_is_not_called_refused(synthetic):
    run = RunReader(synthetic.run.root).refresh()
    taken = run.accepted[0]
    words = html(card(run, replace(taken, decision=taken.decision.model_copy(update={"measurement": None}))))
    assert "Not measured: the edit was taken as proposed" in words
    assert "refused" not in words


def test_evidence_from_a_probe_is_not_called_missing(synthetic):
    run = RunReader(synthetic.run.root).refresh()
    for kind in get_args(ProbeKind):
        assert describe(run, probe_id(kind)).endswith("told above")
    assert "not in the journal" in describe(run, "probe-of-what")


def test_an_edit_refused_before_measuring_says_so(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Evolver", edit="r3-fever-1-1")
    assert "Not measured: the edit was refused before any rollout was spent." in said(app)
    assert 'class="track"' not in cards(app)[0]


def test_filters_leave_what_they_say(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Evolver")
    checked(app.button_group(key="outcome").set_value(["rejected"]).run())
    expected = [d for d in synthetic.decisions if d.outcome == "rejected"]
    assert f"{len(expected)} of 12 edits" in said(app)
    checked(app.button_group(key="interface").set_value(["c"]).run())
    expected = [d for d in expected if d.edit.interface == "c"]
    assert len(card_keys(app)) == len(expected) > 0
    checked(app.text_input(key="text").set_value("FEVER-1").run())
    assert len(card_keys(app)) == sum("fever-1" in d.edit.model_dump_json() + d.sentence for d in expected) == 1
    checked(app.text_input(key="text").set_value("no such words").run())
    assert "No edit matches" in said(app)


def test_filters_come_from_the_url(synthetic, open_page):
    def left(**asked):
        return {int(k.rsplit("-", 1)[1]) for k in card_keys(open_page(synthetic.run.root, page="Evolver", **asked))}

    run = RunReader(synthetic.run.root).refresh()

    def expected(holds):
        return {d.seq for d in run.decisions if holds(d.decision)}

    assert left(outcome="inconclusive") == expected(lambda d: d.outcome == "inconclusive")
    assert left(interface="g rollout guidance") == expected(lambda d: d.edit.interface == "g")
    assert left(domain="medical") == expected(lambda d: d.edit.task_id in ("fever-1", "rash-6"))
    assert left(of="letter-3") == expected(lambda d: d.edit.task_id == "letter-3")
    assert left(steps=["16", "20"]) == expected(lambda d: d.step >= 16)
    assert left(text="keeps nothing of this") == set()


def test_a_card_leads_to_its_task_and_back(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Evolver", edit="r1-fever-1-1")
    checked(app.button(key=card_keys(app)[0]).click().run())
    assert app.query_params["page"] == "Tasks"
    assert app.query_params["task"] == app.selectbox(key="task").value == "fever-1"
    opened = [b for b in app.button if str(b.key).startswith("open-edit-")]
    checked(opened[0].click().run())
    assert app.query_params["edit"] == app.selectbox(key="edit").value == "r3-fever-1-1"


def test_tasks_shows_every_task_with_its_harness(synthetic, open_page):
    rows = open_page(synthetic.run.root, page="Tasks").dataframe[0].value.set_index("task")
    assert len(rows) == 6
    assert rows.loc["shirt-5", "level"] == 2
    assert rows.loc["rash-6", "guidance"] == 1
    assert rows.loc["tides-2", "criteria"] == 5
    assert rows.loc["innkeeper-4", "criteria"] == 3
    assert rows.loc["fever-1", "edits"] == "1 / 2"
    assert rows["agree"].is_monotonic_increasing


def test_a_task_shows_its_criteria_against_c_0(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Tasks", task="innkeeper-4")
    rows = next(d.value for d in app.dataframe if "state" in d.value).set_index("id")
    assert rows["state"].to_dict() == {"c1": "as in c_0", "c2": "repriced", "c4": "as in c_0", "c3": "gone"}
    assert rows.loc["c2", "now"].startswith("[+4] Says when")
    assert rows.loc["c2", "in c_0"].startswith("[+3] Says when")
    assert rows.loc["c1", "in c_0"] == ""
    assert rows.loc["c3", "in c_0"] == "[+2] Answers in at least two sentences"
    app = open_page(synthetic.run.root, page="Tasks", task="tides-2")
    rows = next(d.value for d in app.dataframe if "state" in d.value).set_index("id")
    assert rows.loc["s1", "state"] == "new, from c1"


def test_the_heat_map_is_the_rollouts_of_the_chosen_visit(synthetic, open_page):
    run = RunReader(synthetic.run.root).refresh()
    for visit in run.visits.of("fever-1")[::5]:
        app = open_page(synthetic.run.root, page="Rollouts", task="fever-1", group=f"step {visit.step}")
        cells = heat_map(app)
        assert cells[cells["row"] == "score"]["text"].tolist() == ["–" if s is None else f"{s:.2f}" for s in visit.scores]
        rollouts, entry = run.rollouts(visit.rollout_ids), run.entry_at(visit)
        assert entry is not None
        for k, criterion in enumerate(entry.rubric):
            passed = [r.verdicts[k].passes(criterion) for r in rollouts]
            found = cells[cells["criterion"] == criterion.id]["status"]
            assert found.tolist() == [{True: "pass", False: "fail", None: "unscored"}[p] for p in passed]
        assert [c.value for c in app.code][-len(rollouts) :] == [r.text for r in rollouts]


def test_a_cell_of_the_url_is_told_in_full(synthetic, open_page):
    run = RunReader(synthetic.run.root).refresh()
    visit = run.visits.of("fever-1")[0]
    rollout = run.rollouts(visit.rollout_ids)[2]
    number = "#" + rollout.id.split("/")[1]
    app = open_page(
        synthetic.run.root, page="Rollouts", task="fever-1", group=f"step {visit.step}", rollout=number, criterion="c2"
    )
    words = said(app)
    assert "[+3] Says when to ask a professional" in words
    assert rollout.verdicts[1].reason in words
    assert app.code[0].value == rollout.text


def test_rollouts_that_an_edit_was_measured_on_are_shown(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Evolver", edit="r1-fever-1-1")
    (button,) = [b for b in app.button if str(b.key).startswith("measured-")]
    checked(button.click().run())
    assert app.query_params["page"] == "Rollouts"
    assert set(heat_map(app)["rollout"]) == {"#0", "#1", "#2", "#3"}


def test_rollouts_are_sorted_as_asked(synthetic, open_page):
    run = RunReader(synthetic.run.root).refresh()
    visit = run.visits.of("fever-1")[2]
    app = open_page(synthetic.run.root, page="Rollouts", task="fever-1", group=f"step {visit.step}", sort="score")
    cells = heat_map(app)
    found = [text for text in cells[cells["row"] == "score"]["text"] if text != "–"]
    assert found == sorted(found, reverse=True)
    assert len(found) == len(visit.scored)


def test_groups_of_a_step_are_sorted_as_asked(synthetic, open_page):
    for by, (column, ascending) in GROUP_SORTS.items():
        table = open_page(synthetic.run.root, page="Rollouts", step="5", **{"groups-by": by}).dataframe[0].value
        assert len(table) == 4
        found = table[column].dropna()
        assert found.is_monotonic_increasing if ascending else found.is_monotonic_decreasing


def test_guidance_is_shown_apart_from_the_response(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Rollouts", task="rash-6")
    shown = [t.value for t in app.text if t.value.startswith("Keep in mind:")]
    assert len(shown) == 3  # half of the group is guided
    assert not any("Keep in mind" in c.value for c in app.code)


def test_model_text_is_never_markup(synthetic, open_page):
    run = RunReader(synthetic.run.root).refresh()
    visit = next(v for v in run.visits.read(range(len(run.visits))) if v.rollout_ids[0].endswith("/0"))
    app = open_page(synthetic.run.root, page="Rollouts", task=visit.task_id, group=f"step {visit.step}")
    assert TRICKY in [c.value for c in app.code]
    assert not any("<script>" in str(m.value) or m.allow_html for m in app.markdown)


def test_text_of_a_run_is_escaped_on_a_card(copied, open_page):
    path = copied / "journal.jsonl"
    path.write_text(
        path.read_text().replace("62% of pairs of", "<script>alert(1)</script> <img src=x onerror=alert(1)> & 62% of")
    )
    app = open_page(copied, page="Evolver", edit="r1-fever-1-1")
    (card,) = cards(app)
    assert "<script" not in card
    assert "<img" not in card
    assert (
        "<script>alert(1)</script> <img src=x onerror=alert(1)> & 62%" in text_of(card).replace("  ", " ")
        or "&lt;script&gt;alert(1)&lt;/script&gt;" in card
    )


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_run_is_said_to_be_empty(tmp_path, open_page, page):
    run = tmp_path / "new"
    run.mkdir()
    (run / "config.yaml").write_text(yaml.safe_dump({"evolver": {"every": EVERY, "enabled": True}, "train": {"steps": 20}}))
    journal = Journal(run / "journal.jsonl")
    journal.append(0, RunRecord(seed=0))
    journal.close()
    app = open_page(run, page=page)
    expected = {
        "Runs": "Choose a row",
        "Overview": "No steps yet",
        "Evolver": f"No edits yet: the first round comes at step {EVERY}.",
        "Tasks": "No tasks yet",
        "Rollouts": "No rollouts yet",
        "Sampling": "No tasks were drawn yet",
        "Compare": "two steps can be compared when two are finished",
        "Config": "defaults.yaml is not here",
        "Memory": "Nothing to remember yet",
    }[page]
    assert expected.lower() in said(app).lower()


def test_an_evolver_that_is_off_or_never_comes_is_said(tmp_path, open_page):
    for name, settings, expected in (
        ("off", {"evolver": {"enabled": False, "every": 5}}, "switched off"),
        ("late", {"evolver": {"enabled": True, "every": 5}, "train": {"steps": 5}}, "this run will have none"),
        ("odd", {"evolver": "what"}, "does not tell when"),
        ("cold", {"evolver": {"enabled": True, "every": 5, "cold_start": 4}}, "before the first step"),
    ):
        run = tmp_path / name
        run.mkdir()
        (run / "config.yaml").write_text(yaml.safe_dump(settings))
        assert expected in said(open_page(run, page="Evolver"))


@pytest.mark.parametrize("missing", [*MISSING, "rollouts"])
def test_a_missing_file_costs_a_sentence_and_no_page(copied, open_page, missing):
    path = copied / missing
    if path.is_dir():
        path.rename(copied / "elsewhere")
    else:
        path.unlink()
    task = {} if missing == "journal.jsonl" else {"task": "fever-1"}
    for page in PAGES:
        app = open_page(copied.parent, page=page, run="copy", **(task if page in ("Tasks", "Rollouts") else {}))
        if page != "Runs" and missing in MISSING:
            assert any(missing.replace(".", r"\.") in w.value for w in app.warning)
        if missing == "rollouts" and page == "Rollouts":
            assert any("6 of 6 rollouts" in w.value for w in app.warning)
        if missing == "tasks.jsonl" and page == "Tasks":
            assert "is not in the run directory" in said(app)


def test_damaged_files_cost_a_sentence_each(copied, open_page):
    for name in MISSING:
        with open(copied / name, "a") as file:
            file.write("{not: [json\n")
    for page in PAGES:
        app = open_page(copied, page=page)
        if page != "Runs":
            assert len([w for w in app.warning if any(n.replace(".", r"\.") in w.value for n in MISSING)]) == len(MISSING)


def test_a_run_that_is_being_written_shows_its_complete_lines(copied, open_page):
    with open(copied / "journal.jsonl", "a") as file:
        file.write('{"seq": 9999, "step": 3, "kin')
    app = open_page(copied, page="Overview")
    assert not any("journal" in w.value for w in app.warning)
    assert {m.label: m.value for m in app.metric}["Harness version"] == "4"


def test_unknown_names_in_the_url_are_passed_over(synthetic, open_page):
    app = open_page(synthetic.run.root, page="nonsense", run="../../etc", task="x", edit="y")
    assert app.dataframe[0].value["run"].tolist() == ["lab"]
    assert app.selectbox(key="run").value == "lab"
    assert open_page(synthetic.run.root, page="Tasks", task="nobody").selectbox(key="task").value is None


def test_the_first_page_has_a_link_of_its_own(synthetic, open_page):
    assert open_page(synthetic.run.root).query_params == {"page": "Runs", "run": "lab"}


def test_the_console_writes_nothing_into_a_run(copied, open_page):
    def state():
        return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(copied.rglob("*"))}

    before = state()
    for page in PAGES:
        open_page(copied, page=page, **({"task": "fever-1"} if page in ("Tasks", "Rollouts") else {}))
    assert state() == before


def test_the_console_imports_memory_only():
    for path in Path(ui.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.split(".")[0] in ("training", "agents", "chromadb") for n in names), path.name
