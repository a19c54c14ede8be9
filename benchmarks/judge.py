"""How much of an endpoint's capacity the judge uses: a step of 512 rollouts x 10 criteria against a local server that works on 64
requests at once, each for 200 ms, and lets others wait.

python -m benchmarks.judge [--rollouts 512] [--in-flight 128]

Prints calls per second and their ratio to what the server could do at most (320 per second). ``--in-flight`` is
``limits.concurrency``: above the server's own limit, so that it never waits for the client.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import time
from contextlib import suppress
from multiprocessing.connection import Connection

from agents.chat import ChatConfig
from agents.limits import LimitSettings, Traffic
from agents.roles import open_chat
from memory.task import Criterion, Message
from training.reward.judge import Judge, JudgeItem

AT_ONCE, LATENCY = 64, 0.2
CRITERIA = 10
MESSAGES = (
    Message(
        role="user", content="I fell asleep on the beach and my shoulders are red and hot. What should I do about the sunburn?"
    ),
)
RESPONSE = """Get out of the sun now and stay out of it until the redness has gone. Cool the skin with a damp cloth or a lukewarm
shower for ten minutes, several times today, but use no ice. Afterwards put on a plain moisturiser or aloe while the skin is still
moist. Drink more water than usual, since burnt skin loses it. For the pain ibuprofen or paracetamol helps if you normally tolerate
it. Leave blisters closed. See a doctor when they cover a large area, when you get a fever, chills or feel confused, or when a
small child is burnt. Next time wear a shirt, look for shade around noon and renew sunscreen every two hours."""
RUBRIC = tuple(Criterion(id=f"c{k}", text=f"Says thing number {k}, and says why.", points=1) for k in range(CRITERIA))


def serve(told: Connection) -> None:
    """Speak the OpenAI protocol on a free port, which is told; every criterion is met."""

    async def main() -> None:
        slots = asyncio.Semaphore(AT_ONCE)

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                    body = await reader.readexactly(int(found[1]) if found else 0)
                    async with slots:
                        await asyncio.sleep(LATENCY)
                    data = completion(body)
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data) + data
                    )

        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def completion(body: bytes) -> bytes:
    ids = re.search(rb"their ids are ([C0-9, ]*):", body)
    assert ids
    given = [{"id": i, "reason": "It does.", "verdict": "met"} for i in ids[1].decode().split(", ")]
    message = {"role": "assistant", "content": json.dumps({"judgements": given})}
    usage = {"prompt_tokens": 400, "completion_tokens": 20 * len(given)}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}).encode()


def items(count: int, series: str) -> list[JudgeItem]:
    return [JudgeItem(MESSAGES, f"{RESPONSE} ({series} {k})", RUBRIC) for k in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description="How much of an endpoint's capacity the judge uses.")
    parser.add_argument("--rollouts", type=int, default=512)
    parser.add_argument("--in-flight", type=int, default=128)
    arguments = parser.parse_args()
    os.environ |= {"BENCHMARK_KEY": "any", "NO_PROXY": "127.0.0.1"}
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    base_url = f"http://127.0.0.1:{here.recv()}/v1"
    traffic = Traffic(LimitSettings(concurrency=arguments.in_flight))
    chat = open_chat(ChatConfig(model="m", base_url=base_url, api_key_env="BENCHMARK_KEY"), "judge", traffic)
    for protocol in ("per_criterion", "batched"):
        judge = Judge(chat, gate=False, concurrency=arguments.in_flight, protocol=protocol)
        judge.judge(items(arguments.in_flight // 2, "warm-up"))  # connections and imports
        calls, start, used = chat.usage.calls, time.perf_counter(), time.process_time()
        found = judge.judge(items(arguments.rollouts, protocol))
        seconds, calls = time.perf_counter() - start, chat.usage.calls - calls
        used = (time.process_time() - used) / calls
        assert all(v.status == "met" for verdicts in found for v in verdicts)
        ratio = calls / seconds / (AT_ONCE / LATENCY)
        print(
            f"{protocol:14}{calls:6} calls in {seconds:5.1f} s: {calls / seconds:4.0f} per s, {ratio:.1%} of the server's limit; ",
            end="",
        )
        print(f"{1000 * used:.1f} ms of processor time per call")
    chat.close()
    traffic.close()
    server.terminate()


if __name__ == "__main__":
    main()
