"""The command, end to end and for real: TRL, DeepSpeed, Chroma, LangGraph and the lab's policy in child processes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from memory.journal import read_journal, read_lines
from tests.command import ENVIRONMENT, ROOT, SMOKE, command
from training.run import main


def run(*arguments: str, **more) -> subprocess.CompletedProcess:
    return subprocess.run(command(*arguments), cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=240, **more)


def records(directory: Path) -> list:
    """What the journal says, without the times at which it was said."""
    return [(e.seq, e.step, e.kind, e.record) for e in read_journal(directory / "journal.jsonl")]


def metrics(directory: Path) -> list:
    return [(line["step"], line["metrics"]) for _, line in read_lines(directory / "metrics.jsonl")]


def rollout_files(directory: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in (directory / "rollouts").iterdir()}


def weights(directory: Path):
    from safetensors.torch import load_file

    return load_file(directory / "policy" / "model.safetensors")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess]:
    directory = tmp_path_factory.mktemp("runs") / "whole"
    done = run(*SMOKE, "--run-dir", str(directory))
    assert done.returncode == 0, done.stdout + done.stderr
    return directory, done


def test_a_run_leaves_everything_it_promises(finished):
    directory, done = finished
    for name in (
        "config.yaml",
        "defaults.yaml",
        "journal.jsonl",
        "metrics.jsonl",
        "report.md",
        "report.png",
        "harness.yaml",
        "policy/config.json",
    ):
        assert (directory / name).stat().st_size > 0, name
    assert "held-out gold" in done.stdout
    assert "| g rollout guidance |" in done.stdout
    assert "Traceback" not in done.stderr
    kinds = {kind for _, _, kind, _ in records(directory)}
    assert {"run", "visit", "decision", "round", "evaluation"} <= kinds
    assert json.loads((directory / "heartbeat.json").read_text())["phase"] == "finished"
    assert [step for step, _ in metrics(directory)] == [1, 2, 3, 4, 5, 6]


def test_metrics_carry_trl_names_beside_the_harness_own(finished):
    _, last = metrics(finished[0])[-1]
    trl = {"reward", "frac_reward_zero_std", "completions/clipped_ratio", "grad_norm", "loss"}
    ours = {"pairs/blind", "pairs/agree", "rollouts/unscored", "harness/version", "reward/plain"}
    assert trl | ours <= last.keys()


def test_every_harness_change_has_an_accepted_measurement_on_record(finished):
    found = records(finished[0])
    accepted = {r.edit.id: r for _, _, kind, r in found if kind == "decision" and r.outcome == "accepted"}
    for _, _, kind, record in found:
        if kind == "harness":
            assert record.edit_ids
            assert all(accepted[i].measurement.rollouts > 0 for i in record.edit_ids)
            assert {accepted[i].edit.task_id for i in record.edit_ids} == set(record.entries)


def test_the_final_policy_loads_as_a_hugging_face_folder(finished):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    AutoTokenizer.from_pretrained(finished[0] / "policy")
    AutoModelForCausalLM.from_pretrained(finished[0] / "policy")


def test_gold_reaches_neither_visits_nor_edits_nor_rollouts(finished):
    directory = finished[0]
    for _, _, kind, record in records(directory):
        assert kind == "evaluation" or "gold" not in record.model_dump_json()
    assert not any("gold" in text for text in rollout_files(directory).values())


def test_six_steps_equal_three_a_kill_and_three_more(finished, tmp_path):
    """Killed with SIGKILL in step 5, after the checkpoint of step 3: the resumed run is the run that was never killed."""
    directory = tmp_path / "killed"
    process = subprocess.Popen(
        command(*SMOKE, "--run-dir", str(directory)),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 200
    try:
        while len(metrics(directory)) < 4:
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (directory / "checkpoints" / "checkpoint-3" / "harnessrl.json").exists()
    assert (directory / "index.open").exists(), "an unclean end leaves the index marked"

    resumed = run("--resume", str(directory))
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    whole = finished[0]
    assert metrics(directory) == metrics(whole)
    assert records(directory) == records(whole)
    assert rollout_files(directory) == rollout_files(whole)
    assert (directory / "harness.yaml").read_text() == (whole / "harness.yaml").read_text()
    for name, tensor in weights(whole).items():
        assert tensor.equal(weights(directory)[name]), name
    assert (directory / "discarded" / "journal.jsonl").exists(), "what the killed run wrote after its checkpoint is kept aside"


def test_plain_grpo_runs_through_the_same_code(tmp_path):
    done = run(*SMOKE, "--run-dir", str(tmp_path / "plain"), "evolver.enabled=false", "train.steps=2", "train.deepspeed=null")
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = {kind for _, _, kind, _ in records(tmp_path / "plain")}
    assert kinds == {"run", "visit", "evaluation"}
    assert "evolver: off" in done.stdout


def test_ctrl_c_finishes_the_step_saves_and_summarises(tmp_path):
    directory = tmp_path / "stopped"
    started = command(*SMOKE, "--run-dir", str(directory), "train.steps=500")
    process = subprocess.Popen(started, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 200
    while not metrics(directory):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopping after this step" in out
    assert "held-out gold" in out
    step = metrics(directory)[-1][0]
    assert (directory / "checkpoints" / f"checkpoint-{step}" / "harnessrl.json").exists()
    assert (directory / "report.md").exists()


def test_two_processes_with_zero2_share_one_harness(tmp_path):
    directory = tmp_path / "two"
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        "-m",
        "training.run",
    ]
    done = subprocess.run(
        [*torchrun, *SMOKE, "--run-dir", str(directory)], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = records(directory)
    assert [step for step, _ in metrics(directory)] == [1, 2, 3, 4, 5, 6]
    visits = [r for _, _, kind, r in found if kind == "visit"]
    assert all(len(v.scores) == 4 for v in visits), "groups are whole although two ranks rolled them out"
    versions = [r.version for _, _, kind, r in found if kind == "harness"]
    assert versions == sorted(versions)
    assert done.stdout.count("run directory:") == 1


def test_resume_refuses_what_would_learn_something_else(finished):
    directory = finished[0]
    changed = run("--resume", str(directory), "train.learning_rate=1e-3", "guidance.max_fields=1", "evaluation.samples=2")
    assert changed.returncode == 2
    assert "guidance.max_fields, train.learning_rate" in changed.stderr
    assert "evaluation" not in changed.stderr


BAD = [
    (["--config", "missing.yaml"], "does not exist"),
    (["train.stepz=3"], "did you mean 'steps'"),
    (["tasks.train=[nowhere.jsonl]"], "tasks.train: nowhere.jsonl does not exist"),
    (["train.group_size=7", "train.micro_batch_size=10"], "nearest legal values"),
    (["policy.model=/no/such/model"], "policy.model: cannot load"),
    (["evolver.proposer.model=m", "evolver.proposer.api_key_env=NO_SUCH_KEY_SET"], "NO_SUCH_KEY_SET"),
    (["train.deepspeed=nothing.json"], "train.deepspeed: cannot read"),
    (["train.trl={max_steps: 3}"], "have settings of their own"),
    (["train.trl={no_such_argument: 3}"], "TRL refuses"),
    (["train.report_to=[mlflow]"], "mlflow is not installed"),
    (["--resume", "no/such/run"], "holds no run"),
]


@pytest.mark.parametrize(("arguments", "expected"), BAD, ids=lambda v: str(v)[:50])
def test_bad_input_gives_one_sentence_and_exit_code_2(arguments, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("signal.signal", lambda *_: None)
    where = [] if "--resume" in arguments else ["--run-dir", str(tmp_path / "run")]
    assert main([*where, *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert expected in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_run_directory_that_cannot_be_used(finished, tmp_path, capsys):
    directory, _ = finished
    assert main(["--run-dir", str(directory)]) == 2
    assert "already holds a run; go on with --resume" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["--run-dir", str(tmp_path / "file" / "run")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_the_dry_run_shows_and_starts_nothing(tmp_path, capsys):
    directory = tmp_path / "dry"
    assert main(["--dry-run", "--run-dir", str(directory), "train.steps=21", "evolver.every=10"]) == 0
    out = capsys.readouterr().out
    for part in (
        "# config",
        "# tasks",
        "# plain prompt",
        "# guided prompt",
        "Keep in mind:",
        "training rollouts: 1344",
        "evolver calls: 2",
    ):
        assert part in out
    shown = yaml.safe_load(out.split("# config\n")[1].split("# tasks")[0])
    assert shown["train"]["steps"] == 21
    assert not directory.exists()


def test_help_is_for_newcomers(capsys):
    with pytest.raises(SystemExit) as code:
        main(["--help"])
    assert code.value.code == 0
    out = capsys.readouterr().out
    assert "key=value" in out
    assert "train.steps=200" in out


def test_importing_the_packages_takes_nothing_heavy():
    code = (
        "import sys, memory, agents, training, training.config, memory.memory, agents.evolver, agents.critic, training.run;"
        "heavy = {'torch', 'transformers', 'trl', 'deepspeed', 'chromadb', 'langgraph', 'langchain_openai', 'openai', 'streamlit'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_calibration_split_fills_the_memory_before_the_first_step(finished):
    """The smoke run starts cold: four tasks are visited and the first round is held before anything is trained."""
    directory, _ = finished
    entries = list(read_journal(directory / "journal.jsonl"))
    split = [e.record for e in entries if e.kind == "visit" and "cold-start" in e.record.id]
    assert len(split) == 4
    assert all(not any(v.guided) and v.step == 0 for v in split)
    kinds = [(e.kind, e.step) for e in entries]
    first_training_visit = next(k for k, e in enumerate(entries) if e.kind == "visit" and "cold-start" not in e.record.id)
    assert kinds.index(("round", 0)) < first_training_visit
    rounds = [e.record for e in entries if e.kind == "round"]
    assert rounds[0].rollouts > 0
    assert set(rounds[0].task_ids) <= {v.task_id for v in split}
