"""Train the lab's policy from scratch: tokenizer, then a 1 M parameter Qwen3 model on the lab's English.

    python -m training.lab.pretrain [--out DIR] [--seed 0] [--steps 1000]

Takes about 8 minutes on 2 CPU cores and needs no network. The same seed, machine and number of threads give the same
weights. ``--out`` receives a Hugging Face folder that ``AutoModelForCausalLM`` and ``AutoTokenizer`` load offline.
"""

import argparse
import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from training.lab import POLICY_DIR
from training.lab.grammar import Example, drill, example

BATCH = 64
WARMUP = 30
DRILL_SHARE = 0.35
MUON_RATE = 0.02
ADAM_RATE = 4e-3
THREADS = 1  # the order of floating-point sums depends on it; one is the same on every machine
TOKENIZER_EXAMPLES = 12_000
MAX_VOCABULARY = 2_400
CONTEXT = 512

PAD, END = "<|pad|>", "<|end|>"
ROLES = ("system", "user", "assistant")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def train_tokenizer(rng: Random) -> PreTrainedTokenizerFast:
    """A byte-level BPE in which nearly every word of the lab is one token; any other text falls back to bytes."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    corpus = (text for _ in range(TOKENIZER_EXAMPLES) for text in _texts(example(rng)))
    trainer = trainers.BpeTrainer(
        vocab_size=MAX_VOCABULARY,
        min_frequency=8,
        special_tokens=[PAD, END, *(f"<|{role}|>" for role in ROLES)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[f"<|{role}|>" for role in ROLES],
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def _texts(made: Example) -> list[str]:
    return [*(message.content for message in made.messages), made.response]


def build_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """The untrained policy. Heads of 32 are the smallest that common inference engines have kernels for."""
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=32,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )


def batches(tokenizer: PreTrainedTokenizerFast, rng: Random, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
    """``steps`` batches of fresh examples: token ids and labels, both [batch, longest], labels -100 off the response.

    The first batches are drills, short lessons in following guidance, and the rest whole responses. Examples of similar
    length share a batch, which halves the padding; the order of batches is random within a pool.
    """
    drills = round(DRILL_SHARE * steps)
    pool = 16
    starts = [*range(0, drills, pool), *range(drills, steps, pool)]
    for start, end in zip(starts, [*starts[1:], steps], strict=True):
        count = end - start
        draw = drill if start < drills else example
        rows = []
        for _ in range(BATCH * count):
            made = draw(rng)
            context = "".join(f"<|{m.role}|>{m.content}{END}" for m in made.messages) + "<|assistant|>"
            prompt_ids = tokenizer.encode(context, add_special_tokens=False)
            response_ids = tokenizer.encode(made.response + END, add_special_tokens=False)
            rows.append((prompt_ids, response_ids))
        rows.sort(key=lambda row: (len(row[0]) + len(row[1]), row))
        parts = [rows[i : i + BATCH] for i in range(0, len(rows), BATCH)]
        rng.shuffle(parts)
        for part in parts:
            longest = max(len(p) + len(r) for p, r in part)
            ids = torch.full((len(part), longest), tokenizer.pad_token_id)
            labels = torch.full((len(part), longest), -100)
            for i, (prompt_ids, response_ids) in enumerate(part):
                stop = len(prompt_ids) + len(response_ids)
                ids[i, :stop] = torch.tensor(prompt_ids + response_ids)
                labels[i, len(prompt_ids) : stop] = torch.tensor(response_ids)
            yield ids, labels


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal by Newton-Schulz steps, for matrices.

    PyTorch's own works in bfloat16, which makes it slower than the model itself on CPUs without that arithmetic.
    """

    def __init__(self, matrices: list[nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = {}
            for matrix in group["params"]:
                by_shape.setdefault(matrix.shape, []).append(matrix)
            for (rows, columns), matrices in by_shape.items():
                updates = []
                for matrix in matrices:
                    if matrix.grad is None:
                        raise ValueError("every matrix needs a gradient before a step")
                    average = self.state[matrix].setdefault("average", torch.zeros_like(matrix))
                    average.lerp_(matrix.grad, 1 - group["momentum"])
                    updates.append(matrix.grad.lerp(average, group["momentum"]))
                for matrix, update in zip(matrices, orthogonal(torch.stack(updates)), strict=True):
                    matrix.add_(update, alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)


def orthogonal(x: Tensor, steps: int = 5) -> Tensor:
    """The nearest roughly orthogonal matrices to ``x`` [count, rows, columns], by a quintic Newton-Schulz iteration."""
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.mT if tall else x


def response_loss(model: Qwen3ForCausalLM, ids: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of the response tokens. Padding is on the right, so causal attention needs no mask for it."""
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    targets = labels[:, 1:]
    wanted = targets != -100
    # logits of response positions only: the vocabulary projection is a third of the arithmetic
    return nn.functional.cross_entropy(model.lm_head(hidden[wanted]), targets[wanted])


def train(model: Qwen3ForCausalLM, data: Iterator[tuple[Tensor, Tensor]], steps: int) -> None:
    """Muon for the matrices between the layers, AdamW for the rest; prints loss and time left every 20 steps.

    Muon learns to follow guidance in about half the steps that AdamW alone takes.
    """
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    optimizers: list[torch.optim.Optimizer] = [
        Muon(matrices, lr=MUON_RATE),
        torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]
    peaks = [MUON_RATE, ADAM_RATE]
    began = time.monotonic()
    model.train()
    for step, (ids, labels) in enumerate(data, start=1):
        rate = min(step / WARMUP, 0.5 * (1 + math.cos(math.pi * max(0, step - WARMUP) / max(1, steps - WARMUP))))
        loss = response_loss(model, ids, labels)
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, peak in zip(optimizers, peaks, strict=True):
            optimizer.param_groups[0]["lr"] = peak * rate
            optimizer.step()
        if step % 20 == 0 or step == steps:
            elapsed = time.monotonic() - began
            left = elapsed / step * (steps - step)
            print(f"step {step}/{steps}  loss {loss.item():.3f}  {elapsed:.0f} s, about {left:.0f} s left", flush=True)


def save(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write the Hugging Face folder; each file is replaced whole, so a reader never meets half of one."""
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=True, max_new_tokens=64
    )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as work:
        model.bfloat16().save_pretrained(work)
        tokenizer.save_pretrained(work)
        for file in Path(work).iterdir():
            shutil.move(file, out / file.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=POLICY_DIR, help="folder to write (default: the packaged policy)")
    parser.add_argument("--seed", type=int, default=0, help="seed of corpus and weights (default: 0)")
    parser.add_argument("--steps", type=int, default=1000, help="training steps of 64 examples (default: 1000)")
    options = parser.parse_args()

    torch.set_num_threads(THREADS)
    torch.manual_seed(options.seed)
    rng = Random(options.seed)
    tokenizer = train_tokenizer(rng)
    model = build_model(tokenizer)
    size = sum(p.numel() for p in model.parameters())
    print(f"{len(tokenizer)} tokens, {size / 1e6:.2f} M parameters, {options.steps} steps of {BATCH}", flush=True)
    train(model, batches(tokenizer, rng, options.steps), options.steps)
    save(model, tokenizer, options.out)
    print(f"saved to {options.out}")


if __name__ == "__main__":
    main()
