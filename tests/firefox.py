# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Firefox for tests of pages, by WebDriver BiDi (https://w3c.github.io/webdriver-bidi): it needs no driver program."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIREFOXES = "firefox", "firefox-esr"
SECONDS = 60  # for one answer


def firefox() -> str | None:
    """The path of Firefox, None where there is none."""
    return next((path for name in FIREFOXES if (path := shutil.which(name))), None)


class Tab:
    """The tab of a session. errors: what the pages in it logged as errors."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.number, self.errors = connection, 0, []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a command. Events that come before it are read, too."""
        self.number += 1
        self.connection.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while (message := json.loads(self.connection.recv(SECONDS))).get("id") != self.number:
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.errors.append(message["params"]["text"])
        assert message["type"] == "success", message
        return message["result"]

    def open(self, path: Path) -> None:
        self.ask("browsingContext.navigate", context=self.context, url=path.as_uri(), wait="complete")

    def run(self, code: str) -> Any:
        """What a JavaScript expression gives, by way of JSON; a promise is waited for."""
        expression = f"(async () => JSON.stringify(await ({code}) ?? null))()"
        answer = self.ask("script.evaluate", expression=expression, target={"context": self.context}, awaitPromise=True)
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def press(self, *keys: str) -> None:
        """Press keys, one after another. A headless window has no focus: Space and Enter press no button."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self.ask("input.performActions", context=self.context, actions=[source])


@contextmanager
def opened_firefox(profile: Path) -> Iterator[Tab]:
    """A tab of a Firefox with a new profile in an empty folder."""
    from websockets.sync.client import connect

    command = [str(firefox()), "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = next(filter(None, (re.search(r"ws://\S+", line) for line in process.stderr)))[0]
            with connect(f"{address}/session", max_size=None) as connection:
                yield Tab(connection)
        finally:
            process.kill()
