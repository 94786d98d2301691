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
    def __init__(self, status: int, message: str, code: str = "", **more: str) -> None:
        super().__init__(message)
        self.status, self.code, self.body = status, code, {"error": message, **more}


class HubServer(ThreadingHTTPServer):
    """One user with one token; `with HubServer(token) as hub` serves at `hub.url` until the end of the block.

    requests: what was asked for so far. cut_after: bytes of an object in the storage after which each upload of it
    loses the connection; cuts: those that did. answers: the statuses of the next refusals of an endpoint, by its name.
    """

    daemon_threads = True

    def __init__(self, token: str, user: str = "user") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.token, self.user, self.url = token, user, f"http://127.0.0.1:{self.server_port}"
        self.changed = Condition()  # storage or cuts, and a lock for all that is here
        self.repositories: dict[str, Repository] = {}
        self.storage: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.cut_after: dict[str, int] = {}
        self.cuts: list[str] = []
        self.answers: dict[str, list[int]] = {}

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


NAME = "([^/]+/[^/]+)"
ROUTES: list[tuple[str, str, Callable[..., Any]]] = []


def at(method: str, pattern: str) -> Callable[[Any], Any]:
    """The endpoint of a method and the paths that match a pattern, whose groups are its arguments."""
    return lambda endpoint: ROUTES.append((method, pattern, endpoint)) or endpoint


class Handler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 30

    def handle_request(self) -> None:
        path = urlsplit(self.path).path
        self.server.requests.append(f"{self.command} {path}")
        try:
            if (content := self.answer(path)) is not None:  # else it has been sent, or the connection was cut
                self.send(json.dumps(content).encode(), {"Content-Type": "application/json"})
        except Refusal as refusal:
            self.send(json.dumps(refusal.body).encode(), {"X-Error-Code": refusal.code}, refusal.status)

    def answer(self, path: str) -> Any:
        if cut_after := self.server.cut_after.get(oid := path.rpartition("/")[2]):
            self.rfile.read(cut_after)
            self.close_connection = True
            with self.server.changed:
                self.server.cuts.append(oid)
                self.server.changed.notify_all()
            return None
        self.body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        for method, pattern, endpoint in ROUTES:
            if self.command == method and (match := re.fullmatch(pattern, path)):
                if statuses := self.server.answers.get(endpoint.__name__):
                    raise Refusal(statuses.pop(0), f"{endpoint.__name__} is refused")
                return endpoint(self, *map(unquote, match.groups("")))
        raise Refusal(404, f"there is no {path} here")

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

    def repository(self, name: str, writes: bool = False) -> Repository:
        """Refuses a wrong token, and whoever has none for what only its user may do."""
        given, found = self.headers["Authorization"], self.server.repositories.get(name)
        if given not in (None, f"Bearer {self.server.token}"):
            raise Refusal(401, "Invalid credentials in Authorization header")
        if found is None or ((writes or found.private) and not given):
            raise Refusal(404 if given else 401, "Repository not found", "RepoNotFound")
        return found

    def commit(self, repository: Repository, revision: str) -> tuple[str, dict[str, File]]:
        name = repository.branches.get(revision, revision)
        if name not in repository.commits:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return name, repository.commits[name].files

    @at("POST", "/api/repos/create")
    def create(self) -> dict[str, Any]:
        request = json.loads(self.body)
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            raise Refusal(401, "Invalid username or password.")
        name = f"{self.server.user}/{request['name']}"
        with self.server.changed:
            if name in self.server.repositories:
                raise Refusal(409, "You already created this model repo", url=f"{self.server.url}/{name}")
            self.server.repositories[name] = repository = Repository(request.get("visibility") == "private")
            repository.commit("main", "initial commit", {".gitattributes": File(ATTRIBUTES)})
        return {"url": f"{self.server.url}/{name}"}

    @at("POST", f"/api/models/{NAME}/branch/([^/]+)")
    def branch(self, name: str, branch: str) -> dict[str, Any]:
        repository = self.repository(name, writes=True)
        repository.branches[branch] = self.commit(repository, "main")[0]
        return {}

    @at("GET", f"/api/models/{NAME}(?:/revision/([^/]+))?")
    def info(self, name: str, revision: str) -> dict[str, Any]:
        repository = self.repository(name)
        commit, files = self.commit(repository, revision or "main")
        siblings = [{"rfilename": path} for path in files]
        return {"id": name, "private": repository.private, "sha": commit, "siblings": siblings, "tags": []}

    @at("GET", f"/api/models/{NAME}/tree/([^/]+)(?:/(.+))?")
    def tree(self, name: str, revision: str, folder: str) -> list[dict[str, Any]]:
        """Of all files below a folder, whether that was asked for (`recursive`) or not."""
        return [
            {"type": "file", "path": path, "size": len(file.content), "oid": file.oid}
            | ({"lfs": {"oid": file.oid, "size": len(file.content), "pointerSize": 130}} if file.is_lfs else {})
            for path, file in self.commit(self.repository(name), revision)[1].items()
            if path.startswith(f"{folder}/" if folder else "")
        ]

    @at("HEAD", f"/{NAME}/resolve/([^/]+)/(.+)")
    @at("GET", f"/{NAME}/resolve/([^/]+)/(.+)")
    def resolve(self, name: str, revision: str, path: str) -> None:
        commit, files = self.commit(self.repository(name), revision)
        if path not in files:
            return self.send(b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, 404)
        return self.send(files[path].content, {"X-Repo-Commit": commit, "ETag": f'"{files[path].oid}"'})

    # Uploads: which files are large, where they go, and the commit that makes files of what is there

    @at("POST", "/api/validate-yaml")
    def validate_card(self) -> dict[str, Any]:
        return {"errors": [], "warnings": []}

    @at("POST", f"/api/models/{NAME}/preupload/([^/]+)")
    def preupload(self, name: str, revision: str) -> dict[str, Any]:
        _, there = self.commit(self.repository(name, writes=True), revision)
        answers = []
        for file in json.loads(self.body)["files"]:
            mode = "lfs" if b"\0" in base64.b64decode(file["sample"]) else "regular"
            oid = there[file["path"]].oid if file["path"] in there else None
            answers.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return {"files": answers}

    @at("POST", f"/{NAME}[.]git/info/lfs/objects/batch")
    def lfs_batch(self, name: str) -> dict[str, Any]:
        self.repository(name, writes=True)
        objects = json.loads(self.body)["objects"]
        for wanted in objects:
            if wanted["oid"] not in self.server.storage:
                wanted["actions"] = {"upload": {"href": f"{self.server.url}/storage/{wanted['oid']}?{SIGNATURE}"}}
        return {"transfer": "basic", "objects": objects}

    @at("PUT", "/storage/([0-9a-f]{64})")
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

    @at("POST", f"/api/models/{NAME}/commit/([^/]+)")
    def receive_commit(self, name: str, branch: str) -> dict[str, Any]:
        """A line of JSON for each file, after a header."""
        repository = self.repository(name, writes=True)
        header, *operations = map(json.loads, self.body.splitlines())
        with self.server.changed:
            files = dict(self.commit(repository, branch)[1])
            for kind, value in ((each["key"], each["value"]) for each in operations):
                if kind == "deletedFile":
                    del files[value["path"]]
                elif kind == "file":
                    files[value["path"]] = File(base64.b64decode(value["content"]))
                else:  # a large one, which is in the storage
                    files[value["path"]] = File(self.server.storage[value["oid"]], is_lfs=True)
            commit = repository.commit(branch, header["value"]["summary"], files)
        return {"commitUrl": f"{self.server.url}/{name}/commit/{commit}", "commitOid": commit}
