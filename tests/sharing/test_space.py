# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model goes to the Hub as a Space, whose app answers where this package is not installed."""

import ast
import json
import re
from importlib.metadata import version
from pathlib import Path

import push_to_hub
import pytest
from demos import SAVE
from fresh_process import run_fresh
from hub_server import TOKEN, HubServer
from huggingface_hub import RepoCard
from shared import refused
from transformers import pipeline

TEXT, PAIR = "a slow and bad film by Anna Berg", ("a good film", "not good at all")
ASK = """
def ask(where, asked):
    import runpy, gradio_client
    answers = []
    for app, name, inputs in asked:
        page = runpy.run_path(app)["page"]
        _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, share=False)
        answers.append(gradio_client.Client(url, verbose=False).predict(*inputs, api_name=f"/{name}"))
        page.close(verbose=False)
    return answers
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """With example texts that a run has left, and with files that are nobody's business."""
    root = tmp_path_factory.mktemp("models")
    folders = {kind: save(root / kind) for kind, save in SAVE.items()}
    (folders["labels"] / "evaluation.json").write_text(json.dumps({"examples": [{"text": "moving"}]}))
    (folders["labels"] / "predictions.jsonl").write_text("{}")
    return folders


def push(*options: object) -> None:
    push_to_hub.main([str(option) for option in options])


def fetched(hub: HubServer, space: str, folder: Path) -> dict[str, bytes]:
    """The files of a Space, as its machine gets them."""
    files = {name: content for name, content in hub.files(space).items() if name != ".gitattributes"}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return files


def test_a_space_has_an_app_its_requirements_and_the_model(
    hub: HubServer, folders: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    folder = folders["labels"]
    push("--folder", folder, "--space", "user/dry", "--dry_run")
    shown = capfd.readouterr().out
    assert "user/dry" not in hub.repositories
    push("--folder", folder, "--space", "user/shown", "--private")
    files = fetched(hub, "user/shown", tmp_path)
    assert hub.repositories["user/shown"].private
    assert set(files) == set(re.findall(r" bytes  (\S+)", shown))
    assert {"app.py", "requirements.txt", "README.md", "model/model.safetensors", "model/stack.py"} < set(files)
    assert not {"model/predictions.jsonl", "model/evaluation.json"} & set(files)
    card = RepoCard.load(tmp_path / "README.md").data.to_dict()
    assert (card["sdk"], card["sdk_version"], card["app_file"]) == ("gradio", version("gradio"), "app.py")
    pins = dict(line.split("==") for line in files["requirements.txt"].decode().split())
    assert pins["transformers"] == version("transformers")
    assert pins["torch"] == version("torch").partition("+")[0]
    assert "moving" in files["app.py"].decode()
    for content in files.values():
        assert str(folder.parent).encode() not in content
        assert TOKEN.encode() not in content


def test_the_app_loads_the_model_of_its_repository_at_this_commit(
    hub: HubServer, folders: dict[str, Path], tmp_path: Path
) -> None:
    push("--folder", folders["labels"], "--repo_id", "user/model", "--space", "user/page")
    files = fetched(hub, "user/page", tmp_path)
    assert set(files) == {"app.py", "requirements.txt", "README.md"}
    commit = hub.repositories["user/model"].branches["main"]
    assert f"model='user/model', revision='{commit}', trust_remote_code=True" in files["app.py"].decode()
    assert RepoCard.load(tmp_path / "README.md").data.to_dict()["models"] == ["user/model"]


def test_a_second_push_leaves_nothing_of_another_model(hub: HubServer, folders: dict[str, Path]) -> None:
    push("--folder", folders["writer"], "--space", "user/again")
    assert "model/modeling_decoder.py" in hub.files("user/again")
    push("--folder", folders["masks"], "--space", "user/again")
    assert "model/modeling_decoder.py" not in hub.files("user/again")
    assert "def fill(text)" in hub.files("user/again")["app.py"].decode()


@pytest.mark.slow
def test_apps_answer_as_pipelines_where_the_package_is_missing(
    hub: HubServer, folders: dict[str, Path], tmp_path: Path
) -> None:
    """Of every kind of model, from the files of the Space alone."""
    asked = {
        "labels": ("classify", [TEXT]),
        "pairs": ("classify", [*PAIR]),
        "numbers": ("classify", [TEXT]),
        "tags": ("tag", [TEXT]),
        "masks": ("fill", ["a good [MASK] from Paris"]),
        "questions": ("answer", [PAIR[0], TEXT]),
        "translator": ("translate", ["word1 word2"]),
        "writer": ("write", ["abc", 8, 0.05, 1, 1]),
    }
    plan = []
    for kind, (name, inputs) in asked.items():
        push("--folder", folders[kind], "--space", f"user/{kind}")
        source = fetched(hub, f"user/{kind}", tmp_path / kind)["app.py"]
        assert ast.get_docstring(ast.parse(source))
        plan.append((str(tmp_path / kind / "app.py"), name, inputs))
    answers = dict(zip(asked, run_fresh(ASK, [("there", "ask", plan)])[0]))

    def piped(kind: str, task: str, *texts: object, **options: object) -> object:
        return pipeline(task, model=str(folders[kind]))(*texts, **options)

    best = piped("labels", "text-classification", TEXT)[0]
    assert (answers["labels"]["label"], answers["labels"]["confidences"][0]["confidence"]) == (
        best["label"],
        pytest.approx(best["score"], abs=1e-5),
    )
    pair = piped("pairs", "text-classification", {"text": PAIR[0], "text_pair": PAIR[1]})
    assert answers["pairs"]["label"] == pair["label"]
    number = piped("numbers", "text-classification", TEXT)[0]["score"]
    assert answers["numbers"] == {"stars": pytest.approx(number, abs=1e-5)}
    spans = piped("tags", "token-classification", TEXT, aggregation_strategy="simple")
    assert [one["class_or_confidence"] for one in answers["tags"] if one["class_or_confidence"]] == [
        each["entity_group"] for each in spans
    ]
    assert answers["masks"]["label"] == piped("masks", "fill-mask", asked["masks"][1][0])[0]["token_str"]
    found = piped("questions", "extractive-question-answering", question=PAIR[0], context=TEXT)
    assert answers["questions"]["label"] == found["answer"]
    assert answers["translator"] == piped("translator", "seq2seq-translation", "word1 word2")[0]["translation_text"]
    written = piped("writer", "text-generation", "abc", max_new_tokens=8, do_sample=False)
    assert answers["writer"] == written[0]["generated_text"]


def test_what_cannot_be_a_space_is_one_line(
    hub: HubServer, folders: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    folder = folders["labels"]
    refused(capfd, push_to_hub.main, ["--folder", folder], "--repo_id: name the repository")
    refused(capfd, push_to_hub.main, ["--folder", folder, "--space", "a/b/c"], "a/b/c")
    refused(capfd, push_to_hub.main, ["--folder", folder, "--space", "user/x", "--revision", "y"], "needs --repo_id")
    push("--folder", folder, "--space", "user/public")
    refused(capfd, push_to_hub.main, ["--folder", folder, "--space", "user/public", "--private"], "already exists")
    (folder / "README.md").write_text(f"# Mine\n\nUse {TOKEN}.\n")
    refused(capfd, push_to_hub.main, ["--folder", folder, "--space", "user/leak"], "contains an access token")
    (folder / "README.md").unlink()
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"modeling_encoder.', '"someone/else--modeling_encoder.'))
    refused(capfd, push_to_hub.main, ["--folder", folder, "--space", "user/leak"], "code of another repository")
    (folder / "config.json").write_text(config)
    assert "user/leak" not in hub.repositories
