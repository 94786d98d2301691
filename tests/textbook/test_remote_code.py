# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A saved folder is all that anyone needs: it brings its code, to processes that never heard of this package."""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed
import transformers
from conftest import run_without_package
from model_cases import HEADS, TEXTS, Case, names_of_auto_classes, parametrize_cases
from safetensors.torch import load_file, save_file
from torch.distributed.fsdp import fully_shard

pytestmark = pytest.mark.slow  # test_every_auto_class.py opens the same folders faster, and looks less closely

# Each folder is opened by a process of its own, forked from one that has imported transformers and nothing of ours:
# with every Auto class, then by what its own head saved from there.
OPEN_FOLDERS = """
import json, os, traceback
from pathlib import Path
import torch, transformers
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

torch.set_num_threads(1)
top = Path(sys.argv[1])

def open_folder(folder):
    config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True)
    if config.architectures is None:
        config.save_pretrained(folder.with_name(folder.name + "-again"))
    inputs = load_file(folder / "batch") if (folder / "batch").exists() else None
    for auto_class in config.auto_map.keys() - {"AutoConfig"}:
        model = getattr(transformers, auto_class).from_pretrained(folder, trust_remote_code=True)
        assert type(model).__module__.startswith("transformers_modules."), type(model).__module__
        assert type(model).__name__ == config.auto_map[auto_class].split(".")[-1]
        for name, parameter in model.named_parameters():
            assert parameter.isfinite().all() and parameter.device.type == "cpu", name
        outputs = {name: value.contiguous() for name, value in model(**inputs).items()}
        save_file(outputs, folder / f"{auto_class}.outputs")
        if type(model).__name__ == config.architectures[0] and not folder.name.endswith("again"):
            model.save_pretrained(folder.with_name(folder.name + "-again"))

def in_a_child(folder):
    if (child := os.fork()) == 0:
        try:
            open_folder(folder)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, folder

for name in json.loads(sys.argv[2]):
    in_a_child(top / name)
    in_a_child(top / f"{name}-again")
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each head, named as its class, with what the models loaded elsewhere computed; see OPEN_FOLDERS."""
    top = tmp_path_factory.mktemp("folders")
    for case in HEADS:
        case.model().save_pretrained(top / case.model_class.__name__)
        for folder in case.model_class.__name__, f"{case.model_class.__name__}-again":
            (top / folder).mkdir(exist_ok=True)
            save_file(case.inputs(), top / folder / "batch")
    TEXTS.config().save_pretrained(top / "config")
    names = json.dumps([case.model_class.__name__ for case in HEADS] + ["config"])
    run_without_package(OPEN_FOLDERS, str(top), names, HF_HOME=str(top / "home"))
    return top


@parametrize_cases(HEADS)
@pytest.mark.parametrize("again", ["", "-again"], ids=["saved_here", "saved_there"])
def test_every_auto_class_opens_every_folder(case: Case, again: str, opened: Path) -> None:
    """The same bits as here, for the head that was saved and for its base."""
    folder = opened / f"{case.model_class.__name__}{again}"
    model = case.model()
    names = names_of_auto_classes(case.model_class)
    own = next(auto for auto, name in names.items() if name == case.model_class.__name__)
    assert {path.stem for path in folder.glob("*.outputs")} == names.keys()
    for auto_class, here in {"AutoModel": model.base_model, own: model}.items():
        there = load_file(folder / f"{auto_class}.outputs")
        assert there.keys() == here(**case.inputs()).keys()
        assert all(torch.equal(value, there[name]) for name, value in here(**case.inputs()).items())


@parametrize_cases(HEADS)
def test_saving_from_there_writes_the_same_files(case: Case, opened: Path) -> None:
    here, there = (opened / f"{case.model_class.__name__}{suffix}" for suffix in ("", "-again"))
    names = {path.name for path in here.iterdir() if path.suffix in (".py", ".json", ".safetensors")}
    assert names == {path.name for path in there.iterdir() if path.suffix in (".py", ".json", ".safetensors")}
    assert all((here / name).read_bytes() == (there / name).read_bytes() for name in names)


@parametrize_cases(HEADS)
def test_a_folder_holds_all_of_its_code_and_nothing_of_this_machine(case: Case, opened: Path) -> None:
    """Flat files; `from .x import y` of files beside them, and of packages that everyone who loads models has."""
    folder = opened / case.model_class.__name__
    assert not [path for path in folder.iterdir() if path.is_dir()]
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1
                assert (folder / f"{node.module}.py").exists(), f"{path.name} imports .{node.module}"
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                tops = {str(name).partition(".")[0] for name in names}
                assert tops <= sys.stdlib_module_names | {"torch", "transformers", "huggingface_hub"}, path.name
    config = (folder / "config.json").read_text()
    assert str(Path.home()) not in config
    assert str(opened) not in config


@parametrize_cases(HEADS)
def test_the_package_opens_its_folders_without_trust(case: Case, opened: Path) -> None:
    """Where it is installed, its own classes are used and no code of a folder runs."""
    for auto_class, name in names_of_auto_classes(case.model_class).items():
        model = getattr(transformers, auto_class).from_pretrained(opened / case.model_class.__name__)
        assert type(model).__name__ == name
        assert type(model).__module__.startswith("modeling_scratch.")


@pytest.fixture
def one_process(tmp_path: Path) -> Iterator[torch.distributed.DeviceMesh]:
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield torch.distributed.init_device_mesh("cpu", (1,))
    torch.distributed.destroy_process_group()


def test_a_sharded_model_is_saved_with_its_code(one_process: torch.distributed.DeviceMesh, tmp_path: Path) -> None:
    """Fully sharded training replaces a model's class by a subclass that lives in torch."""
    case = TEXTS
    model = case.model()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    fully_shard(model, mesh=one_process)
    model.save_pretrained(tmp_path / "sharded", state_dict=dict(weights))
    case.model().save_pretrained(tmp_path / "whole")
    names = {path.name for path in (tmp_path / "whole").iterdir()}
    assert {path.name for path in (tmp_path / "sharded").iterdir()} == names
    assert all((tmp_path / "sharded" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes() for name in names)


def test_a_config_alone_brings_its_code(opened: Path) -> None:
    for name in "config.json", "configuration_scratch.py":
        assert (opened / "config" / name).read_bytes() == (opened / "config-again" / name).read_bytes()
