# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A Hub on the loopback interface, of models in memory: as much of its HTTP interface as a push and a load
need, with uploads that can be cut off and answers that refuse. Large files come by LFS: clients need
HF_HUB_DISABLE_XET=1."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import huggingface_hub
import pytest
import transformers

TOKEN = "hf_" + "t" * 34
SIGNATURE = "X-Amz-Signature=5ec3e7"  # of an address in the storage, which whoever knows it may write to
ATTRIBUTES = b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n"


class File(NamedTuple):
    content: bytes
    is_lfs: bool = False

    @property
    def oid(self) -> str:
        """How git names it; in the storage of large files, its SHA-256."""
        if self.is_lfs:
            return hashlib.sha256(self.content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()


class Commit(NamedTuple):
    message: str
    files: dict[str, File]


@dataclass
class Repository:
    private: bool
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, branch: str, message: str, files: dict[str, File]) -> str:
        content = [(path, file.oid) for path, file in sorted(files.items())]
        name = hashlib.sha1(repr((len(self.commits), message, content)).encode()).hexdigest()
        self.commits[name] = Commit(message, files)
        self.branches[branch] = name
        return name


class Refusal(Exception):  # noqa: N818  an answer, not a fault of the server
    def __init__(self, status: int, message: str, code: str | None = None, commit: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        headers = {"X-Error-Message": message, "X-Error-Code": code, "X-Repo-Commit": commit}
        self.headers = {name: value for name, value in headers.items() if value is not None}


class HubServer(ThreadingHTTPServer):
    """One user with one token; `with HubServer(token) as hub` serves at `hub.url` until the end of the block.

    requests: what was asked for so far. cut_after: bytes of an object in the storage after which each upload of it
    loses the connection; cuts: those that did. answers: the statuses of the next refusals of an endpoint, by its name.
    """

    daemon_threads = True

    def __init__(self, token: str, user: str = "user") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.token, self.user = token, user
        self.changed = Condition()  # storage or cuts, and a lock for all that is here
        self.repositories: dict[str, Repository] = {}
        self.storage: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.cut_after: dict[str, int] = {}
        self.cuts: list[str] = []
        self.answers: dict[str, list[int]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> "HubServer":
        Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def files(self, repository: str, revision: str = "main") -> dict[str, bytes]:
        commit = self.repositories[repository].branches[revision]
        return {path: file.content for path, file in self.repositories[repository].commits[commit].files.items()}

    def wait_for(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Until storage and cuts are as wanted."""
        with self.changed:
            assert self.changed.wait_for(condition, seconds)

    def messages(self, repository: str) -> list[str]:
        return [commit.message for commit in self.repositories[repository].commits.values()]


@contextmanager
def hub_of_this_process(token: str, home: Path) -> Iterator[HubServer]:
    """The Hub that the clients of this process and of its forks ask, as if the environment had named it."""
    with HubServer(token) as hub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", token)
        for name, value in {
            "ENDPOINT": hub.url, "HUGGINGFACE_CO_URL_TEMPLATE": hub.url + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_OFFLINE": False, "HF_HUB_DISABLE_XET": True, "HF_HUB_CACHE": str(home),
        }.items():  # fmt: skip
            patch.setattr(huggingface_hub.constants, name, value)
        patch.setattr(transformers.utils.hub, "_hf_api", None)
        yield hub


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubServer]:
    """A Hub for the tests of a file."""
    with hub_of_this_process(TOKEN, tmp_path_factory.mktemp("home")) as server:
        yield server


class Handler(BaseHTTPRequestHandler):
    """Finds the endpoint that ROUTES has for a request: answers are JSON where they are nothing else."""

    server: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 30

    def handle_request(self) -> None:
        path = urlsplit(self.path).path
        self.server.requests.append(f"{self.command} {path}")
        try:
            content = self.answer(path)
            if content is not None:
                self.send(json.dumps(content).encode(), {"Content-Type": "application/json"})
        except Refusal as refusal:
            self.send(json.dumps({"error": str(refusal)}).encode(), refusal.headers, refusal.status)

    def answer(self, path: str) -> Any:
        """None where the endpoint has sent its answer, or cut the connection, itself."""
        for method, pattern, endpoint in ROUTES:
            if self.command == method and (match := re.fullmatch(pattern, path)):
                return self.call(endpoint, *map(unquote, match.groups("")))
        self.read_body()
        raise Refusal(404, f"there is no {path} here")

    def call(self, endpoint: Callable[..., Any], *arguments: str) -> Any:
        name = endpoint.__name__
        if cut_after := self.server.cut_after.get(arguments[-1] if arguments else ""):
            self.rfile.read(cut_after)
            self.close_connection = True
            with self.server.changed:
                self.server.cuts.append(arguments[-1])
                self.server.changed.notify_all()
            return None
        self.body = self.read_body()
        if statuses := self.server.answers.get(name):
            raise Refusal(statuses.pop(0), f"{name} is refused")
        return endpoint(self, *arguments)

    do_GET = do_HEAD = do_POST = do_PUT = handle_request  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing on standard error: `requests` has them."""

    def send(self, body: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def is_authorized(self) -> bool:
        """Whether the token is right; False without one, and refused if it is wrong."""
        given = self.headers["Authorization"]
        if given not in (None, f"Bearer {self.server.token}"):
            raise Refusal(401, "Invalid credentials in Authorization header")
        return given is not None

    def repository(self, name: str, writes: bool = False) -> Repository:
        authorized, found = self.is_authorized(), self.server.repositories.get(name)
        if found is None or ((writes or found.private) and not authorized):
            raise Refusal(404 if authorized else 401, "Repository not found", "RepoNotFound")
        return found

    def commit(self, repository: Repository, revision: str) -> tuple[str, dict[str, File]]:
        name = repository.branches.get(revision, revision)
        if name not in repository.commits:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return name, repository.commits[name].files

    # Repositories

    def create(self) -> dict[str, Any]:
        request = json.loads(self.body)
        if not self.is_authorized():
            raise Refusal(401, "Invalid username or password.")
        name = f"{self.server.user}/{request['name']}"
        with self.server.changed:
            if name in self.server.repositories:
                url = json.dumps({"error": "You already created this model repo", "url": f"{self.server.url}/{name}"})
                self.send(url.encode(), {"Content-Type": "application/json"}, 409)
                return None
            repository = Repository(private=request.get("visibility") == "private")
            repository.commit("main", "initial commit", {".gitattributes": File(ATTRIBUTES)})
            self.server.repositories[name] = repository
        return {"url": f"{self.server.url}/{name}"}

    def branch(self, name: str, branch: str) -> dict[str, Any]:
        repository = self.repository(name, writes=True)
        repository.branches[branch] = self.commit(repository, "main")[0]
        return {}

    def info(self, name: str, revision: str = "main") -> dict[str, Any]:
        repository = self.repository(name)
        commit, files = self.commit(repository, revision)
        siblings = [{"rfilename": path} for path in files]
        return {"id": name, "private": repository.private, "sha": commit, "siblings": siblings, "tags": []}

    def tree(self, name: str, revision: str, folder: str = "") -> list[dict[str, Any]]:
        """Of all files below a folder, whether that was asked for (`recursive`) or not."""
        commit, files = self.commit(self.repository(name), revision)
        entries = [
            {"type": "file", "path": path, "size": len(file.content), "oid": file.oid}
            | ({"lfs": {"oid": file.oid, "size": len(file.content), "pointerSize": 130}} if file.is_lfs else {})
            for path, file in files.items()
            if path.startswith(f"{folder}/" if folder else "")
        ]
        if folder and not entries:
            raise Refusal(404, f"{folder} does not exist on {revision!r}", "EntryNotFound", commit)
        return entries

    def resolve(self, name: str, revision: str, path: str) -> None:
        commit, files = self.commit(self.repository(name), revision)
        if path not in files:
            raise Refusal(404, "Entry not found", "EntryNotFound", commit)
        self.send(files[path].content, {"X-Repo-Commit": commit, "ETag": f'"{files[path].oid}"'})

    # Uploads: which files are large, where they go, and the commit that makes files of what is there

    def validate_card(self) -> dict[str, Any]:
        return {"errors": [], "warnings": []}

    def preupload(self, name: str, revision: str) -> dict[str, Any]:
        _, there = self.commit(self.repository(name, writes=True), revision)
        answers = []
        for file in json.loads(self.body)["files"]:
            large = b"\0" in base64.b64decode(file["sample"])
            oid = there[file["path"]].oid if file["path"] in there else None
            mode = "lfs" if large else "regular"
            answers.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return {"files": answers}

    def lfs_batch(self, name: str) -> dict[str, Any]:
        self.repository(name, writes=True)
        objects = json.loads(self.body)["objects"]
        for wanted in objects:
            if wanted["oid"] not in self.server.storage:
                wanted["actions"] = {"upload": {"href": f"{self.server.url}/storage/{wanted['oid']}?{SIGNATURE}"}}
        return {"transfer": "basic", "objects": objects}

    def store(self, oid: str) -> dict[str, Any]:
        """Its URLs are signed: a token has no business there."""
        if self.headers["Authorization"] is not None or not self.path.endswith(SIGNATURE):
            raise Refusal(403, "Request has expired")
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise Refusal(400, "BadDigest")
        with self.server.changed:
            self.server.storage[oid] = self.body
            self.server.changed.notify_all()
        return {}

    def receive_commit(self, name: str, branch: str) -> dict[str, Any]:
        """A line of JSON for each file, after a header."""
        repository = self.repository(name, writes=True)
        header, *operations = map(json.loads, self.body.splitlines())
        with self.server.changed:
            files = dict(self.commit(repository, branch)[1])
            for operation in operations:
                self.apply(operation["key"], operation["value"], files)
            commit = repository.commit(branch, header["value"]["summary"], files)
        return {"commitUrl": f"{self.server.url}/{name}/commit/{commit}", "commitOid": commit}

    def apply(self, kind: str, value: dict[str, Any], files: dict[str, File]) -> None:
        if kind == "file":
            files[value["path"]] = File(base64.b64decode(value["content"]))
        elif kind == "deletedFile":
            del files[value["path"]]
        elif kind == "lfsFile" and value["oid"] in self.server.storage:
            files[value["path"]] = File(self.server.storage[value["oid"]], is_lfs=True)
        else:
            raise Refusal(400, f"cannot do this: {kind} {value['path']}")


NAME = "([^/]+/[^/]+)"
ROUTES: list[tuple[str, str, Callable[..., Any]]] = [
    ("POST", "/api/repos/create", Handler.create),
    ("POST", "/api/validate-yaml", Handler.validate_card),
    ("POST", f"/api/models/{NAME}/branch/([^/]+)", Handler.branch),
    ("POST", f"/api/models/{NAME}/preupload/([^/]+)", Handler.preupload),
    ("POST", f"/api/models/{NAME}/commit/([^/]+)", Handler.receive_commit),
    ("POST", f"/{NAME}[.]git/info/lfs/objects/batch", Handler.lfs_batch),
    ("PUT", "/storage/([0-9a-f]{64})", Handler.store),
    ("GET", f"/api/models/{NAME}", Handler.info),
    ("GET", f"/api/models/{NAME}/revision/([^/]+)", Handler.info),
    ("GET", f"/api/models/{NAME}/tree/([^/]+)(?:/(.+))?", Handler.tree),
    ("HEAD", f"/{NAME}/resolve/([^/]+)/(.+)", Handler.resolve),
    ("GET", f"/{NAME}/resolve/([^/]+)/(.+)", Handler.resolve),
]
