# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model directory that is already there: proven where it lies and recorded, never copied, changed or repaired."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store as store
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_check import (
    require_complete_index,
    require_readable,
    require_whole_shards,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import (
    SHA256,
    RemoteFile,
    describe,
    is_commit,
    require_model,
    select,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub, HubError, public_endpoint
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import (
    Entry,
    Manifest,
    Seen,
    compare,
    content_digest,
    local_revision,
    proof_of,
    require_unchanged,
    with_entries,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_types import Hashing, Outcome, Request


class Adoption:
    """One existing directory."""

    def __init__(self, request: Request, hub: Hub, progress: Progress, clock: Callable[[], float]) -> None:
        self._request = request
        self._hub = hub
        self._progress = progress
        self._clock = clock
        self.outcome = Outcome(
            repo=request.repo, path=request.path, adopted=True, manifest=store.adopted_manifest(request.root, request.path)
        )

    def run(self) -> Outcome:
        if self._request.check_mode:
            return self._look()
        lock = f"{self.outcome.manifest}.lock"
        with store.locked(lock, self._request.lock_timeout, self._waiting):
            return self._look()

    def _waiting(self, holder: str, spent: float) -> None:
        self._progress.report("wait", f"{holder} works on {self._request.path}; waited {spent:.0f} s", force=True)

    def _look(self) -> Outcome:
        request, outcome = self._request, self.outcome
        seen = self._seen()
        manifest = store.read_manifest(outcome.manifest)
        if manifest is not None:
            outcome.describe_manifest(manifest)
            outcome.before = outcome.after
        asked = (request.repo, request.revision, request.path)
        if manifest is None or request.refresh or (manifest.repo, manifest.requested, manifest.path) != asked:
            manifest = self._adopt(seen, manifest)
        else:
            manifest = self._again(manifest, seen)
        if manifest is not None:
            outcome.describe_manifest(manifest)
        if request.reader:
            require_readable(request.path, seen, request.reader)
        return outcome

    def _seen(self) -> dict[str, Seen]:
        path = self._request.path
        try:
            if not os.path.isdir(path):
                raise NotADirectoryError(20, "not a directory" if os.path.exists(path) else "does not exist", path)
            return store.scan(path, self._request.patterns)
        except OSError as error:
            raise SglangError(
                f"The model directory {path} cannot be read.",
                found=f"{error.filename or path}: {error.strerror}",
                wanted="a directory with config.json and safetensors shards that the user who runs this play on the host may read",
                next_step="Correct path (model_shards_path) or set become: true; leave it empty to fetch the model from a hub.",
            ) from error

    # --- first time -----------------------------------------------------------------------------------------

    def _adopt(self, seen: Mapping[str, Seen], before: Optional[Manifest]) -> Optional[Manifest]:
        path, outcome = self._request.path, self.outcome
        files = [RemoteFile(name, look.size) for name, look in seen.items()]
        require_model(select(files, self._request.patterns), [RemoteFile(name, 0) for name in sorted(os.listdir(path))], path)
        require_complete_index(path, seen, path)
        step = "Copy these files again from where they came, or leave path (model_shards_path) empty to fetch the model."
        require_whole_shards(path, seen, step)
        commit, declared = self._declared(seen)
        self._require_same(seen, declared, commit)
        total = sum(look.size for look in seen.values())
        outcome.changed = True
        if self._request.check_mode:
            outcome.files, outcome.bytes, outcome.revision = len(seen), total, commit
            outcome.msg = f"Would read {describe(total)} in {len(seen)} files and record them."
            return None
        entries = self._read(seen, declared, total)
        if not commit and before is not None and self._was_proven(before, entries):
            # The same bytes as when the hub could be asked: a hub that is away today takes nothing from that.
            commit, outcome.compared_with = before.revision, before.source
        manifest = Manifest(
            repo=self._request.repo,
            revision=commit or local_revision(entries),
            requested=self._request.revision,
            source=outcome.compared_with or "none",
            time=store.now(),
            adopted=True,
            path=path,
            files=tuple(sorted(entries, key=lambda entry: entry.file)),
        )
        store.write_manifest(outcome.manifest, manifest)
        outcome.verified = "deep"
        outcome.msg = f"Adopted {describe(total)} in {len(seen)} files where they lie."
        return manifest

    def _was_proven(self, before: Manifest, entries: list[Entry]) -> bool:
        asked = self._request.revision
        return (
            before.repo == self._request.repo
            and is_commit(before.revision)
            and (not is_commit(asked) or asked == before.revision)
            and content_digest(before.files) == content_digest(entries)
        )

    def _read(self, seen: Mapping[str, Seen], declared: Mapping[str, RemoteFile], total: int) -> list[Entry]:
        hashing, entries, wrong = Hashing(self._progress, total, self._clock), [], []
        for name in sorted(seen):
            file = declared.get(name)
            git = bool(file and file.git_oid)
            digest = store.hash_file(os.path.join(self._request.path, name), git, hashing.advance)
            if file is not None:
                expected, found = digest.against({"sha256": file.sha256, "git_oid": file.git_oid})
                if expected != found:
                    wrong.append(f"{name} (declared {expected[:12]}…, read {found[:12]}…)")
            entries.append(store.entry_of(self._request.path, name, digest.sha256, proof_of(file)))
        if wrong:
            raise self._differs("; ".join(wrong))
        return entries

    def _declared(self, seen: Mapping[str, Seen]) -> tuple[str, dict[str, RemoteFile]]:
        """(commit, what is declared for each file): by the hub, else by what its client left in the directory."""
        if not self._request.repo:
            self.outcome.compared_with = ""
            return "", {}
        left = {name: store.local_metadata(self._request.path, name) for name in seen}
        commits = {commit for commit, _etag in left.values() if is_commit(commit)}
        downloaded = commits.pop() if len(commits) == 1 else ""
        revision = self._request.revision
        if not is_commit(revision) and downloaded:
            # The copy is of the commit it was downloaded from; the branch may have moved on since.
            revision = downloaded
        try:
            metadata = self._hub.metadata(self._request.repo, revision)
        except HubError as error:
            return self._without_hub(error, seen, left, downloaded)
        self.outcome.compared_with = public_endpoint(self._hub.endpoint)
        return metadata.commit, {file.name: file for file in select(metadata.files, self._request.patterns)}

    def _without_hub(
        self, error: HubError, seen: Mapping[str, Seen], left: Mapping[str, tuple[str, str]], downloaded: str
    ) -> tuple[str, dict[str, RemoteFile]]:
        declared: dict[str, RemoteFile] = {}
        for name, (commit, etag) in left.items():
            if commit == downloaded and SHA256.fullmatch(etag):
                declared[name] = RemoteFile(name, seen[name].size, sha256=etag)
            elif commit == downloaded and is_commit(etag):
                declared[name] = RemoteFile(name, seen[name].size, git_oid=etag)
        compared = "the digests that the download left in the directory" if declared else "nothing"
        self.outcome.warnings.append(
            f"The hub could not be asked about {self._request.repo} ({error.explained().wrong}); "
            f"{self._request.path} was compared with {compared}, and its headers and sizes were checked."
        )
        self.outcome.compared_with = "local metadata" if declared else ""
        wanted_commit = self._request.revision if is_commit(self._request.revision) else downloaded
        proven = declared and wanted_commit == downloaded and len(declared) == len(seen)
        return (downloaded if proven else ""), declared

    def _require_same(self, seen: Mapping[str, Seen], declared: Mapping[str, RemoteFile], commit: str) -> None:
        """Names and sizes cost nothing: they are compared before a single byte is read."""
        missing = [name for name in declared if name not in seen]
        wrong = sorted(name for name in declared if name in seen and seen[name].size != declared[name].size)
        sizes = [f"{name} ({seen[name].size} bytes, declared {declared[name].size})" for name in wrong]
        parts = [text for text in (f"missing: {', '.join(sorted(missing))}" if missing else "", "; ".join(sizes)) if text]
        if parts:
            raise self._differs("; ".join(parts), commit)

    def _differs(self, found: str, commit: str = "") -> SglangError:
        at = f"{self._request.repo}@{commit[:12] or self._request.revision}"
        return SglangError(
            f"{self._request.path} is not {at}.",
            found=found,
            wanted=f"the files and digests that {self.outcome.compared_with or 'the hub'} declares for {at}",
            next_step="If files are damaged, copy them again. If it is another revision, set revision (model_shards_revision) to the "
            'commit it was downloaded from. If it is no copy of that repository, set repo (model_shards_repo) to "".',
        )

    # --- later ----------------------------------------------------------------------------------------------

    def _again(self, manifest: Manifest, seen: Mapping[str, Seen]) -> Manifest:
        outcome, path = self.outcome, self._request.path
        comparison = compare(manifest, seen)
        there = [entry for entry in manifest.files if entry.file not in comparison.broken]
        read = there if self._request.verify == "deep" else [entry for entry in there if entry.file in comparison.suspects]
        hashing, changed, retimed = Hashing(self._progress, sum(entry.size for entry in read), self._clock), [], []
        for entry in read:
            digest = store.hash_file(os.path.join(path, entry.file), False, hashing.advance)
            if digest.sha256 != entry.sha256:
                changed.append(entry.file)
            elif entry.file in comparison.suspects:
                retimed.append(store.entry_of(path, entry.file, entry.sha256, entry.proof))
        require_unchanged(manifest, comparison, changed, outcome.manifest)
        outcome.verified = self._request.verify
        outcome.msg = "The adopted model is what it was when it was verified."
        if not retimed:
            return manifest
        manifest = with_entries(manifest, retimed)
        outcome.changed = True
        outcome.msg = "The files have new times and the same content; the manifest was brought up to date."
        if not self._request.check_mode:
            store.write_manifest(outcome.manifest, manifest)
        return manifest
