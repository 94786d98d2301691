# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The stand-in behaves as an accelerator where code could tell the difference; each test has a process of its own."""

import copy
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from own_process import in_own_process
from safetensors.torch import load_file, save_file
from stand_in_device import NAMES, StandIn, stand_in
from torch import Tensor, nn


def check_values(name: str, device: StandIn) -> None:
    numbers = torch.arange(6.0).view(2, 3)
    moved = numbers.to(name)
    assert moved.device == torch.device(name, 0) == torch.zeros(2, device=name).device
    assert (moved @ moved.T).tolist() == (numbers @ numbers.T).tolist()
    with pytest.raises(RuntimeError, match="all tensors to be on the same device"):
        moved + numbers
    assert torch.equal((moved + numbers[0, 1]).cpu(), numbers + 1)  # a single number may lie on the host
    assert moved.add_(1) is moved
    assert moved[0, 0].item() == 1
    torch._assert_async(moved.sum() > 0)


def check_waits(name: str, device: StandIn) -> None:
    moved = torch.arange(6.0).to(name)
    waiting = {
        "item": lambda: float(moved.sum()),
        "copy to the host": moved.tolist,
        "copy to the device": lambda: torch.ones(3).to(name),
        "nonzero": moved.nonzero,
        "boolean index": lambda: moved[moved > 2],
        "equal": lambda: torch.equal(moved, moved),
        "synchronize": lambda: torch.accelerator.synchronize(),
    }
    for operator, use in waiting.items():
        device.waits.clear()
        use()
        assert device.waits == {operator: 1}
    device.waits.clear()
    pinned = torch.ones(3).pin_memory()
    assert pinned.is_pinned()
    pinned.to(name, non_blocking=True)
    torch.where(moved > 2, moved, 0).cumsum(0).masked_fill(moved > 3, 1)
    assert device.waits == {}


def check_random_numbers(name: str, device: StandIn) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    drawn = [F.dropout(torch.ones(50, device=name)).tolist() for _ in range(2)]
    assert torch.equal(torch.rand(4), expected)
    assert drawn[0] != drawn[1]
    device.seed(0)
    first = torch.rand(5, device=name).tolist()
    device.seed(0)
    assert torch.rand(5, device=name).tolist() == first


def check_models(name: str, device: StandIn, folder: Path) -> None:
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    expected = tied(torch.ones(2, 4)).detach()
    tied.to(name)
    assert tied[1].weight is tied[0].weight
    assert [name for name, _ in copy.deepcopy(tied).named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    tied(torch.ones(2, 4, device=name)).sum().backward()
    assert isinstance(tied[0].weight.grad, Tensor)
    assert tied[0].weight.grad.device.type == name
    with torch.autocast(name, dtype=torch.bfloat16):
        assert tied(torch.ones(2, 4, device=name)).dtype == torch.bfloat16
        assert torch.ones(2, device=name, dtype=torch.bfloat16).softmax(-1).dtype == torch.float32
    save_file({"weight": tied[0].weight.detach()}, folder / f"{name}.safetensors")
    assert torch.equal(load_file(folder / f"{name}.safetensors")["weight"], tied[0].weight.detach().cpu())
    assert torch.allclose(tied.to("cpu")(torch.ones(2, 4)).detach(), expected)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "cuda" else pytest.mark.slow) for name in NAMES]
)
@in_own_process
def test_it_behaves_as_an_accelerator(name: str, tmp_path: Path) -> None:
    with stand_in(name) as device:
        check_values(name, device)
        check_waits(name, device)
        check_random_numbers(name, device)
        check_models(name, device, tmp_path)
        assert torch.accelerator.current_accelerator() == device.device


@in_own_process
def test_apple_gpus_have_no_float64() -> None:
    with stand_in("mps"), pytest.raises(TypeError, match="float64"):
        torch.zeros(2, device="mps", dtype=torch.float64)


def test_other_names_are_refused() -> None:
    with pytest.raises(ValueError, match="cuda, mps, xpu"), stand_in("tpu"):
        pass
