# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Models go from hand to hand over the Hub: pushed by the package, then by who has nothing but what was pushed."""

import json
from collections.abc import Iterator

import pytest
from fresh_process import run_fresh
from hub_server import HubServer
from model_cases import SEQ2SEQ_LM

TOKEN = "hf_" + "t" * 34

PUSH = """
def push(where, auto_class, source, repository, folder):
    trust = {"trust_remote_code": True} if where == "there" else {}
    model = getattr(transformers, auto_class).from_pretrained(source, **trust)
    model.save_pretrained(folder, push_to_hub=True, repo_id=repository)
    return type(model).__module__
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    with HubServer(TOKEN) as server:
        yield server


@pytest.fixture(scope="module")
def modules(hub: HubServer, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Where the class came from that pushed each generation: the package, then the one before."""
    top = tmp_path_factory.mktemp("generations")
    SEQ2SEQ_LM.model().save_pretrained(top / "first")
    sources = zip(("here", "there", "there"), (str(top / "first"), "user/0", "user/1"), strict=True)
    plan = [
        (where, "push", "AutoModelForSeq2SeqLM", source, f"user/{i}", str(top / str(i)))
        for i, (where, source) in enumerate(sources)
    ]
    environment = {
        "HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1",
        "HF_TOKEN": TOKEN,
    }  # fmt: skip
    return run_fresh(PUSH, plan, top / "home", **environment)


def test_each_generation_is_the_same_and_stands_alone(hub: HubServer, modules: list[str]) -> None:
    """All of the code goes along, and refers to no repository that it was loaded from."""
    assert [module.partition(".")[0] for module in modules] == [
        "modeling_scratch",
        "transformers_modules",
        "transformers_modules",
    ]
    generations = [hub.files(f"user/{i}", "main") for i in range(3)]
    code = {name for name in generations[0] if name.endswith(".py")}
    assert len(code) > 10
    config = json.loads(generations[0]["config.json"])
    assert {f"{reference.partition('.')[0]}.py" for reference in config["auto_map"].values()} <= code
    for generation in generations[1:]:
        assert {name: generation[name] for name in code} == {name: generations[0][name] for name in code}
        assert json.loads(generation["config.json"])["auto_map"] == config["auto_map"]
        assert generation["config.json"] == generations[0]["config.json"]
        assert generation["model.safetensors"] == generations[0]["model.safetensors"]
