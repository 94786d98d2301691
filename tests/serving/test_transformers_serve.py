# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""`transformers serve` answers chats and completions with a scratch decoder: what generate writes, also streamed."""

import json
import subprocess
import sys
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

    def ask(self, route: str, **body: Any) -> tuple[Any, list[dict[str, Any]]]:
        """The answer, and what a stream of it brings, choice by choice."""
        body |= {"max_tokens": NEW, "temperature": 0}
        whole, stream = (self.client.post(route, json={**body, "stream": streams}) for streams in (False, True))
        assert whole.status_code == stream.status_code == 200, whole.text
        lines = [line for line in stream.text.splitlines() if line]
        return whole.json(), [json.loads(line.removeprefix("data: "))["choices"][0] for line in lines]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """By the program, at a port that it finds itself."""
    tokenizer = writers.characters()
    tokenizer.chat_template = TEMPLATE
    model = writers.decoder(tokenizer, position_type="rotary")
    folder = writers.save(tmp_path_factory.mktemp("decoder"), model, tokenizer)
    command = [sys.executable, "-c", PROGRAM, "serve", str(folder), "--trust-remote-code", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            log = next((line for line in iter(process.stderr.readline, "") if "running on http" in line), "")
            url = next(word for word in log.split() if word.startswith("http"))
            with httpx.Client(base_url=url, timeout=60) as client:
                yield Served(client, model, tokenizer)
        finally:
            process.terminate()
            process.communicate()


@pytest.mark.parametrize("content", CHATS)
def test_a_chat_and_a_prompt_are_answered_with_what_generate_writes(served, content):
    chat, chunks = served.ask("/v1/chat/completions", messages=[{"role": "user", "content": content}])
    text = served.expected(f"{content}\n")
    assert chat["choices"][0]["message"] == {"role": "assistant", "content": text}
    assert "".join(chunk["delta"].get("content", "") for chunk in chunks) == text
    assert len(chunks) > 3
    completion, chunks = served.ask("/v1/completions", prompt=content)
    assert completion["choices"][0]["text"] == served.expected(content) != text
    assert "".join(chunk["text"] for chunk in chunks) == completion["choices"][0]["text"]
