# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The commands and programs of the README and of docs/ run as they are written, on small files of a user.

The language of a code block decides what happens to it:

- bash: the commands run, first those that train, in the order of the table of contents, equal ones once. A line is
  `modeling-scratch NAME ...`, optionally after `echo TEXT |`. `make ...` and `source .venv/bin/activate` do not run.
- sh: the commands do not run, because they need a GPU, the Hub, a server or minutes. Their options are checked.
- python: the program runs in the folder of the user, and has to print something.
- text: a file or an output.
"""

import json
import re
import shlex
import shutil
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest
from modeling_scratch_cli.__main__ import PROGRAMS
from transformers import TrainingArguments
from warm_python import WarmPython

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COMMAND = "modeling-scratch "
NOT_RUN = {"serve", "demo", "push", "export"}  # need a server, the Hub, or other runtimes
# Options that make a command short: the tests check what it does, not how well.
SMALL = "--config_overrides hidden_size=16,intermediate_size=16,num_hidden_layers=1,num_attention_heads=2"
SHORT = "--num_train_epochs 1"
FEWER = {
    "benchmark": "--quick --batch_size 4 --rounds 1 --threads 1",
    "doctor": "--checks safe_weights code_is_there flat_code",
    "explain": "--max_tokens 6",
    "lab": f"{SMALL} --max_steps 5 --seeds 1",
    "pretrain": f"{SMALL} --max_steps 2 --save_strategy no",
    "train-classifier": f"{SMALL} {SHORT}",
    "train-answers": f"{SMALL} {SHORT}",
    "train-tokens": f"{SMALL} {SHORT}",
    "train-translation": f"{SMALL} {SHORT} --num_beams 1 --max_length 16",
}
# The same for a call from Python.
CALL, SHORT_CALL = 'output_dir="runs/from-python")', 'output_dir="runs/from-python", num_train_epochs=1)'
# What `make train` writes is here a copy of another run of the README.
DEMO, MINE = "runs/demo", "runs/mine"
# Options of accelerate, torchrun, pip, scripts/gpu.py, and of scripts/maintenance.
OF_ALL = {"--textbook"}  # each program takes it
OF_OTHERS = {
    "--config_file", "--machine_rank", "--main_process_ip", "--main_process_port", "--no_python", "--nproc_per_node",
    "--num_machines", "--num_processes", "--help_all", "--write", "--only", "--minutes", "--prepare", "--rehearse",
}  # fmt: skip


class Page(NamedTuple):
    """A Markdown file and its code blocks, each a pair of language and text."""

    path: Path
    text: str
    blocks: list[tuple[str, str]]

    @classmethod
    def read(cls, path: Path) -> "Page":
        text = path.read_text(encoding="utf-8")
        return cls(path, text, re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))

    def lines(self, language: str) -> list[str]:
        """The commands in the blocks of a language. A backslash at the end of a line continues it."""
        blocks = (re.sub(r"\s*\\\n\s*", " ", block) for kind, block in self.blocks if kind == language)
        return [line for block in blocks for line in block.splitlines() if line.strip()]

    @property
    def prose(self) -> str:
        """The text without its blocks."""
        return re.sub(r"^```.*?^```", "", self.text, flags=re.MULTILINE | re.DOTALL)

    def anchors(self) -> set[str]:
        """The anchors of its headings, as GitHub and MyST derive them."""
        headings = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def table_of_contents() -> list[str]:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"^```{toctree}\n(.*?)^```", index, re.MULTILINE | re.DOTALL)
    lines = [line for tree in trees for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


NAMES = ["README.md", "docs/index.md", *(f"docs/{name}.md" for name in table_of_contents()), "CONTRIBUTING.md"]
NAMES.append("modeling_scratch/README.md")
NAMES += sorted({f"docs/experiments/{path.name}" for path in DOCS.glob("experiments/*.md")} - {*NAMES})
PAGES = [Page.read(ROOT / name) for name in NAMES]
COMMANDS = list(dict.fromkeys(line for page in PAGES for line in page.lines("bash")))
SHOWN = [line for page in PAGES for line in page.lines("sh")]
INLINE = [code for page in PAGES for code in re.findall(r"`([^`\n]+)`", page.prose)]
# Programs that import one of these run where it is installed, in a slow test.
HEAVY = "transformer_lens", "nnsight", "bertviz", "captum"
PYTHON = [block for page in PAGES for language, block in page.blocks if language == "python"]
EXAMPLES = [block for block in PYTHON if not any(name in block for name in HEAVY)]
HEAVY_EXAMPLES = [
    (name, block) for block in PYTHON for name in HEAVY if re.search(rf"^(import|from) {name}", block, re.M)
]


COLOURS = "red", "green"


def subcommand(line: str) -> str:
    """The subcommand of a line, or "" if it has none."""
    return line.partition(COMMAND)[2].partition(" ")[0] if COMMAND in line else ""


def order(line: str) -> tuple[bool, bool]:
    """What trains runs first: a page on learning shows models that a later page trains."""
    return DEMO in line, not subcommand(line).startswith(("train-", "pretrain"))


RUN = sorted((line for line in COMMANDS if COMMAND in line), key=order)


def write_inputs(folder: Path) -> None:
    folder.mkdir()
    for name in ("examples", "measurements"):
        shutil.copytree(DOCS / name, folder / "docs" / name)
    questions, names = (folder / "docs" / "examples" / name for name in ("questions.json", "names.conll"))
    data = json.loads(questions.read_text(encoding="utf-8"))
    data["data"] = [{**article, "paragraphs": article["paragraphs"][:10]} for article in data["data"][:1]]
    questions.write_text(json.dumps(data), encoding="utf-8")
    sentences = names.read_text(encoding="utf-8").split("\n\n")
    names.write_text("\n\n".join(sentences[:40]) + "\n", encoding="utf-8")
    rows = [f"a {word} film number {i},{label}" for i in range(60) for word, label in (("great", 1), ("dull", 0))]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    (folder / "new.csv").write_text("text\na great film\na dull film\n", encoding="utf-8")
    topics = ("acting", "music")
    rows = [{"text": f"{' '.join(topics[: i % 3])} number {i}", "topics": topics[: i % 3]} for i in range(60)]
    (folder / "topics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    rows = [f"a film with {'star ' * (i % 5)}number {i},{i % 5 + 0.5}" for i in range(60)]
    (folder / "stars.csv").write_text("\n".join(["text,stars", *rows]), encoding="utf-8")
    rows = [f"a {one} ball {i},it is {two},{one == two}" for i in range(20) for one in COLOURS for two in COLOURS]
    (folder / "pairs.csv").write_text("\n".join(["premise,hypothesis,label", *rows]), encoding="utf-8")
    (folder / "plays.txt").write_text("ROMEO: a rose by any name\nJULIET: my only love\n" * 100, encoding="utf-8")
    lines = [f"a fine film that nobody has judged, number {i}\nanother one, {i}\n" for i in range(50)]
    (folder / "unlabelled.txt").write_text("".join(lines), encoding="utf-8")
    for language, line in (("en", "a dog runs over field {}"), ("de", "ein Hund rennt über Feld {}")):
        for split, count in (("train", 60), ("test", 5)):
            lines = [line.format(number) for number in range(count)]
            (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run_command(python: WarmPython, line: str, folder: Path) -> None:
    """A line `modeling-scratch NAME ...`, or `echo TEXT | modeling-scratch NAME ...`."""
    echo, _, command = line.rpartition(" | ")
    name, *arguments = shlex.split(command.removeprefix(COMMAND))
    fewer = FEWER.get(name, "").removeprefix(SMALL if "--model_name_or_path" in arguments else "").split()
    program = ROOT / "scripts" / f"{PROGRAMS[name]}.py"
    if echo:
        (folder / "typed").write_text(" ".join(shlex.split(echo)[1:]), encoding="utf-8")
        code = f"import runpy, sys\nsys.stdin = open('typed')\nrunpy.run_path({str(program)!r}, run_name='__main__')"
        program = folder / "reads.py"
        program.write_text(code, encoding="utf-8")
    ended = python.run(program, *arguments, *fewer)
    assert ended.code == 0, f"{line}\n{ended.text}"


def run_example(python: WarmPython, code: str, folder: Path) -> None:
    printed = folder / "printed"
    to_file = f"import sys; sys.stdout = open({str(printed)!r}, 'w', encoding='utf-8')\n"
    (folder / "example.py").write_text(to_file + code.replace(CALL, SHORT_CALL), encoding="utf-8")
    ended = python.run(folder / "example.py")
    assert ended.code == 0, f"{code}\n{ended.text}"
    assert printed.read_text(encoding="utf-8"), code


@pytest.mark.slow  # CI runs it beside the others
def test_commands_and_examples_run(tmp_path: Path) -> None:
    """One test, so that the commands run once, whichever processes the tests run in."""
    folder = tmp_path / "user"
    write_inputs(folder)
    programs = sorted(set(PROGRAMS.values()) - {"serve", "demo"})
    # Without this package, so that an example has to import what it needs.
    with WarmPython(tmp_path, ["transformers.pipelines"], {}, folder) as python:
        with python.importing([*programs, "matplotlib.figure", "matplotlib.backends.backend_agg"]):
            for line in RUN:
                if DEMO in line and not (folder / DEMO).exists():
                    shutil.copytree(folder / MINE, folder / DEMO)
                run_command(python, line, folder)
        for code in EXAMPLES:
            run_example(python, code, folder)
    assert {subcommand(line) for line in RUN} == PROGRAMS.keys() - NOT_RUN
    assert len((folder / "answers.jsonl").read_text().splitlines()) == 2
    assert len((folder / "answers.de").read_text(encoding="utf-8").splitlines()) == 5
    for name in ("run_config.json", "all_results.json", "evaluation.json", "results.md", "model.safetensors"):
        assert (folder / MINE / name).is_file()
    for name in ("runs/plays/learning_curve.png", "runs/en-de/learning_curve.png"):
        assert (folder / name).is_file()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), HEAVY_EXAMPLES, ids=[name for name, _ in HEAVY_EXAMPLES])
def test_examples_with_other_libraries_run(name: str, code: str, tmp_path: Path) -> None:
    pytest.importorskip(name)
    with WarmPython(tmp_path, [], {}, tmp_path) as python:
        run_example(python, code, tmp_path)


def test_bash_blocks_hold_commands_that_run() -> None:
    """A bash block has no line that the tests would skip silently."""
    ours = tuple(f"{COMMAND}{name}" for name in PROGRAMS)
    for line in COMMANDS:
        is_piped = line.startswith("echo ") and line.partition(" | ")[2].startswith(ours)
        assert is_piped or line.startswith((*ours, "make ")) or line == "source .venv/bin/activate", line
    for page in PAGES:
        assert {language for language, _ in page.blocks} <= {"bash", "sh", "python", "text"}, page.path


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", text))


def options_of(name: str) -> set[str]:
    """The options of a program: those of its help, and those of Trainer where --help_all lists them."""
    shown = options_in((ROOT / "scripts" / "help" / f"{name}.txt").read_text(encoding="utf-8"))
    return shown | {f"--{field.name}" for field in fields(TrainingArguments) if "--help_all" in shown}


def test_commands_that_do_not_run_have_valid_options() -> None:
    for line in (*SHOWN, *INLINE):
        if (name := subcommand(line)) not in ("", "NAME"):
            assert options_in(line.partition(COMMAND)[2]) <= options_of(name) | {"--help_all", *OF_ALL}, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.name)
def test_every_option_belongs_to_a_program(page: Page) -> None:
    others = r"(pip|wsl|pre-commit|torchrun|transformers|curl|sphinx-build|ruff) .*"
    assert options_in(re.sub(others, "", page.text)) <= set.union(OF_OTHERS, OF_ALL, *map(options_of, PROGRAMS))


def test_every_program_is_described() -> None:
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(PROGRAMS)
    assert re.findall(r"^```{literalinclude} ../scripts/help/(.+)\.txt$", text, re.MULTILINE) == list(PROGRAMS)


def test_scripts_that_are_named_exist_and_pictures_are_shown() -> None:
    """`NAME.py` stands for any program."""
    texts = [
        path for suffix in ("md", "ipynb", "py") for path in DOCS.rglob(f"*.{suffix}") if "_build" not in path.parts
    ]
    everything = "\n".join(path.read_text(encoding="utf-8") for path in [*texts, *ROOT.glob("*.md")])
    named = set(re.findall(r"\bscripts/[\w/]+\.py\b", everything))
    assert len(named) > 5
    assert {name for name in named - {"scripts/NAME.py"} if not (ROOT / name).exists()} == set()
    assert [path.name for path in (DOCS / "pictures").iterdir() if path.name not in everything] == []


def test_make_commands_are_targets() -> None:
    """Continuous integration runs them."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    lines = (*COMMANDS, *SHOWN, *INLINE)
    wanted = {line.split()[1] for line in lines if re.match(r"make \w", line)}
    assert {"train", "test", "docs"} <= wanted <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.name)
def test_links_and_anchors_exist(page: Page) -> None:
    for link in re.findall(r"\]\((?!http)([^)]+)\)|src=\"([^\"]+)\"", page.text):
        path, _, anchor = (link[0] or link[1]).partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), path
        assert not anchor or anchor in Page.read(target).anchors(), f"{path}#{anchor}"
