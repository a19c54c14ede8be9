"""One HTML file with the cards: whole, self-contained, escaped, and honest about what it leaves out."""

import re
from html.parser import HTMLParser

import pytest

from memory.journal import Journal, RunRecord
from ui.export import main
from ui.readers import MISSING

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src")]
        self.ids |= {value for name, value in attrs if name == "id"}

    def handle_data(self, data):
        self.words += data


def exported(run, tmp_path, *more: str) -> str:
    out = tmp_path / "edits.html"
    assert main([str(run), "--out", str(out), *more]) == 0
    return out.read_text(encoding="utf-8")


def test_every_edit_has_its_card_and_the_timeline_leads_there(synthetic, tmp_path):
    found = Tags(exported(synthetic.run.root, tmp_path))
    edits = {d.edit.id for d in synthetic.decisions}
    assert edits <= found.ids
    assert {a.removeprefix("#") for a in found.addresses} == edits
    assert all(d.sentence in found.words for d in synthetic.decisions)


def test_the_file_asks_for_nothing_from_outside(synthetic, tmp_path):
    text = exported(synthetic.run.root, tmp_path)
    assert not re.search(r"https?://|url\(|@import", text)
    assert not Tags(text).names & {"script", "link", "img", "iframe", "object"}


def test_text_of_a_run_is_escaped(copied, tmp_path):
    for name in ("journal.jsonl", "tasks.jsonl"):
        path = copied / name
        path.write_text(path.read_text().replace("62% of pairs", HOSTILE).replace("States the main cause", HOSTILE))
    found = Tags(exported(copied, tmp_path))
    assert HOSTILE in found.words
    assert not found.names & {"script", "img"}


def test_what_is_left_out_is_said(synthetic, tmp_path):
    found = Tags(exported(synthetic.run.root, tmp_path, "--most", "3"))
    assert "The newest 3 edits; 9 older ones left out" in found.words
    assert len(found.ids) == 3


@pytest.mark.parametrize("missing", MISSING)
def test_a_run_with_a_missing_file_is_exported_with_a_sentence(copied, tmp_path, missing):
    (copied / missing).unlink()
    assert f"{missing} is not there" in Tags(exported(copied, tmp_path)).words


def test_a_run_without_edits_says_so(tmp_path):
    run = tmp_path / "new"
    run.mkdir()
    journal = Journal(run / "journal.jsonl")
    journal.append(0, RunRecord(seed=0))
    journal.close()
    assert "No edits yet" in Tags(exported(run, tmp_path)).words


@pytest.mark.parametrize(("run", "out"), [("nowhere", "x.html"), ("copy", "nowhere/x.html"), ("copy", "copy/x.html")])
def test_mistakes_get_one_sentence(copied, capsys, run, out):
    assert main([str(copied.parent / run), "--out", str(copied.parent / out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (copied / "x.html").exists()
