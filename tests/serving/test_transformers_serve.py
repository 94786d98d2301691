# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""`transformers serve` answers chats and completions with a scratch decoder: what generate writes, also streamed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import writers

pytestmark = pytest.mark.slow  # a server that takes ten seconds to start

# The program `transformers`, where this package cannot be imported.
PROGRAM = "import sys; sys.modules['modeling_scratch'] = None; from transformers.cli.transformers import main; main()"
TEMPLATE = "{% for message in messages %}{{ message['content'] + '\n' }}{% endfor %}"
CHATS = ["abc", "head a bed"]
NEW = 12


class Served(NamedTuple):
    client: httpx.Client
    model: Any
    tokenizer: Any

    def expected(self, prompt: str) -> str:
        inputs = self.tokenizer(prompt, return_tensors="pt")
        ids = self.model.generate(**inputs, max_new_tokens=NEW, do_sample=False)[0, inputs["input_ids"].shape[1] :]
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    def ask(self, route: str, **body: Any) -> Any:
        response = self.client.post(route, json={**body, "max_tokens": NEW, "temperature": 0})
        assert response.status_code == 200, response.text
        return response

    def chunks(self, route: str, **body: Any) -> list[dict[str, Any]]:
        """What a stream brings, choice by choice."""
        lines = self.ask(route, stream=True, **body).text.splitlines()
        return [json.loads(line.removeprefix("data: "))["choices"][0] for line in lines if line]


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The server's URL, at a port that it finds itself."""
    command = [sys.executable, "-c", PROGRAM, "serve", str(folder), "--trust-remote-code", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            lines = iter(process.stderr.readline, "")
            log = next((line for line in lines if "running on http" in line), "")
            yield next(word for word in log.split() if word.startswith("http"))
        finally:
            process.terminate()
            process.communicate()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    tokenizer = writers.characters()
    tokenizer.chat_template = TEMPLATE
    model = writers.decoder(tokenizer, position_type="rotary")
    folder = writers.save(tmp_path_factory.mktemp("decoder"), model, tokenizer)
    with running(folder) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield Served(client, model, tokenizer)


@pytest.mark.parametrize("content", CHATS)
def test_a_chat_is_answered_with_what_generate_writes(served: Served, content: str) -> None:
    messages = [{"role": "user", "content": content}]
    answer = served.ask("/v1/chat/completions", messages=messages).json()
    text = served.expected(f"{content}\n")
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": text}
    assert answer["usage"]["prompt_tokens"] == len(content) + 1
    chunks = served.chunks("/v1/chat/completions", messages=messages)
    assert "".join(chunk["delta"].get("content", "") for chunk in chunks) == text
    assert len(chunks) > 3
    assert chunks[-1]["finish_reason"] == answer["choices"][0]["finish_reason"]


@pytest.mark.parametrize("prompt", CHATS)
def test_a_prompt_is_completed_as_generate_does(served: Served, prompt: str) -> None:
    text = served.expected(prompt)
    assert served.ask("/v1/completions", prompt=prompt).json()["choices"][0]["text"] == text
    assert "".join(chunk["text"] for chunk in served.chunks("/v1/completions", prompt=prompt)) == text


def test_texts_differ(served: Served) -> None:
    """Otherwise the tests above would say little."""
    assert len({served.expected(prompt) for content in CHATS for prompt in (content, f"{content}\n")}) == 2 * len(CHATS)
