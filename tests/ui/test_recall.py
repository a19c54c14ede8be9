"""The Memory page as a person meets it."""

import shutil

import yaml

import ui.meaning
import ui.recall
from tests.ui.conftest import checked
from tests.ui.synthetic import TRICKY
from tests.ui.test_console import said
from ui.recall import ON_A_PAGE

LAB = {"page": "Memory"}


def lines(app) -> list[str]:
    """The records shown, without the escapes of Markdown."""
    return [m.value.replace("\\", "") for m in app.markdown if m.value[:1] in "✓✗?◦" or m.value.startswith("\\?")]


def test_the_page_opens_with_the_newest_records(synthetic, open_page):
    app = open_page(synthetic.run.root, **LAB)
    assert len(lines(app)) == ON_A_PAGE
    assert "newest first; give words to search by meaning" in said(app)
    assert "as the run itself recalls (hashing-384)".replace("-", "\\-") in said(app).replace("\\(", "(").replace("\\)", ")")
    assert any("Asked: Tell me about" in words for words in lines(app))


def test_a_search_stands_in_the_url_and_finds_by_meaning(synthetic, open_page):
    app = open_page(synthetic.run.root, q="the moon and the tides", **LAB)
    assert app.text_input(key="q").value == "the moon and the tides"
    assert "nearest first" in said(app)
    assert all("tides-2" in words and "near 0." in words for words in lines(app)[:5])
    app.text_input(key="q").set_value("a letter of thanks")
    checked(app.run())
    assert "letter-3" in lines(app)[0]


def test_filters_stand_in_the_url(synthetic, open_page):
    app = open_page(synthetic.run.root, came=["rejected"], through=["c"], about="fever-1", **LAB)
    (only,) = lines(app)
    assert only.startswith("✗ edit of fever-1 at step 12, reword criterion")
    assert "1 record" in said(app)


def test_a_record_leads_to_its_card_task_and_visit(synthetic, open_page):
    app = open_page(synthetic.run.root, q="names infection as the cause of a fever", kind=["edits"], **LAB)
    assert "fever-1" in lines(app)[0]
    checked(app.button(key="to-0-edit").click().run())
    assert app.query_params["page"] in ("Evolver", ["Evolver"])
    assert app.selectbox(key="edit").value in ("r1-fever-1-1", "r3-fever-1-1")
    app = open_page(synthetic.run.root, kind=["visits"], about="rash-6", **LAB)
    checked(app.button(key="to-0-visit").click().run())
    assert app.session_state["page"] == "Rollouts"
    assert app.session_state["task"] == "rash-6"
    assert str(app.session_state["group"]).startswith("step ")
    app = open_page(synthetic.run.root, kind=["visits"], about="rash-6", **LAB)
    checked(app.button(key="to-0-task").click().run())
    assert app.session_state["page"] == "Tasks"


def test_nothing_found_is_said_with_its_reason(synthetic, open_page):
    assert "Nothing is near to these words" in said(open_page(synthetic.run.root, q="quantum chromodynamics", **LAB))
    app = open_page(synthetic.run.root, kind=["visits"], came=["accepted"], **LAB)
    assert "interface and outcome belong to edits" in said(app)
    assert "No record matches the filters" in said(
        open_page(synthetic.run.root, came=["accepted"], about="shirt-5", failure=["spurious"], **LAB)
    )


def test_an_embedding_that_is_not_here_is_said(copied, open_page):
    config = yaml.safe_load((copied / "config.yaml").read_text())
    (copied / "config.yaml").write_text(yaml.safe_dump({**config, "memory": {"embedding": "bge-m3"}}))
    words = said(open_page(copied, q="fever", **LAB)).replace("\\", "")
    assert "with the offline embedding hashing-384, not with the run's own (bge-m3)" in words


def test_text_of_a_run_is_shown_as_it_is(copied, open_page):
    tasks = copied / "tasks.jsonl"
    tasks.write_text(tasks.read_text().replace("Tell me about the tides.", TRICKY.replace('"', "'").replace("\n", " ")))
    app = open_page(copied, about="tides-2", kind=["visits"], **LAB)
    assert any(TRICKY[:40] in words for words in lines(app))
    raw = [m.value for m in app.markdown if "alert" in m.value]
    assert raw
    assert not any("<script>" in value or "**not bold**" in value for value in raw)


def test_the_first_search_shows_how_far_it_is_and_later_ones_do_not(copied, open_page, monkeypatch):
    monkeypatch.setattr(ui.meaning, "BATCH", 5)
    told: list[str] = []
    progress = ui.recall.st.progress

    def listening(value, text=None):
        told.append(text)
        return progress(value, text)

    monkeypatch.setattr(ui.recall.st, "progress", listening)
    app = open_page(copied, **LAB)
    assert told == [], "without words nothing is embedded"
    app.text_input(key="q").set_value("fever")
    checked(app.run())
    assert any(text.startswith("Reading what the run remembers, once: 5 of") for text in told)
    before = len(told)
    app.text_input(key="q").set_value("letter")
    checked(app.run())
    assert len(told) == before


def test_a_run_cut_back_is_searched_as_it_is_now(copied, open_page):
    app = open_page(copied, kind=["edits"], **LAB)
    many = len(lines(app))
    journal = copied / "journal.jsonl"
    kept = journal.read_text().splitlines(keepends=True)
    cut = next(k for k, text in enumerate(kept) if '"kind": "decision"' in text) + 1
    journal.write_text("".join(kept[:cut]))
    shutil.rmtree(copied / "rollouts")
    checked(app.run())
    assert (many, len(lines(app))) == (12, 1)
