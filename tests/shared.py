# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What every test file shares: settings of the process, fixtures, and models whose parameters are drawn again."""

import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # only tests marked `hub` may ask the Hub; read where it is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that tests start: tests run in several processes

import pytest
import torch
from browser import browser, page, tab  # noqa: F401, fixtures
from hub_server import hub  # noqa: F401, a fixture
from hypothesis import settings
from processes import refusal

from modeling_scratch import fast
from modeling_scratch.fast import engine as fast_engine

on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=on_gpu)])

gc.disable()  # until all is collected: what is imported stays
fast_engine.LEAST_TOKENS = 0  # tiny batches are planned, too: tests have no others
if os.environ.get("SCRATCH_ENGINE") == "textbook":  # `make test-textbook`: every model test without the engine
    _whole_session = fast.disabled()
    _whole_session.__enter__()

torch.set_num_threads(1)
settings.register_profile("any machine", deadline=None)  # also a busy one
settings.load_profile("any machine")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it, and so would what it starts


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.enable()
    gc.freeze()  # Trainer collects garbage at each run: leave out all that imports and collection made


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Nor does Trainer look again at what the tests of earlier files have left."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(params=["fast", "textbook"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The engine that scratch models compute with, each in turn."""
    with nullcontext() if request.param == "fast" else fast.disabled():
        yield request.param


@pytest.fixture
def exact_products() -> Iterator[None]:
    """float32 products without the shortcuts of a device."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real data sets of development, beside the project or where SCRATCH_DATA says."""
    folder = Path(os.environ.get("SCRATCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set SCRATCH_DATA to a folder with sst2/ and imdb/")
    return folder


def redraw(model: torch.nn.Module, std: float = 0.3, seed: int = 0, biases: bool = True) -> torch.nn.Module:
    """Draw every parameter again, norms and biases too: at the usual initialisation most bugs are invisible.

    biases: False makes them zero, so that the text decides on the answer.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * std)
            if name.endswith("bias") and not biases:
                parameter.zero_()
    return model


def lively(model: torch.nn.Module, std: float = 0.6, seed: int = 0) -> Any:
    """Biases and norms near where training starts: drawn like the weights, they alone would say what comes next."""
    redraw(model, std, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.mul_(0.1).add_(float("norm" in name and name.endswith("weight")))
    return model.eval()


def watch(module: torch.nn.Module, see: Callable[[Any], object]) -> None:
    """Show what a module gives, by a forward of its own: the engine stays off where somebody replaced one."""
    forward = module.forward

    def seen(*arguments: Any, **named: Any) -> Any:
        output = forward(*arguments, **named)
        see(output)
        return output

    module.forward = seen


def refused(capfd: pytest.CaptureFixture, main: Callable[..., Any], arguments: Iterable[object], *pieces: str) -> str:
    """The last line on standard error of a program that ends with exit code 2; it is an error and has every piece."""
    line = refusal(capfd, main, [str(argument) for argument in arguments])
    assert [piece for piece in ("error: ", *pieces) if piece not in line] == [], line
    return line
