# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model's files on this host: fetch or repair, prove, publish. ``_snapshot_adopt`` does the same for a directory that is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Optional, Union

from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store as store
from ansible_collections.inference.sglang.plugins.module_utils._bundle import MODELS
from ansible_collections.inference.sglang.plugins.module_utils._bundle_copy import Copier
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_check import (
    require_complete_index,
    require_readable,
    require_whole_shards,
    shard_problems,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_downloader import PARTS
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Context, disk_full, resolved_revision_gone
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_fetch import Fetcher, FetchOptions
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import (
    RemoteFile,
    RepoMetadata,
    describe,
    is_commit,
    require_model,
    require_shards,
    select,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub, HubError, public_endpoint
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import (
    Entry,
    Manifest,
    compare,
    proof_of,
    remote_files,
    with_entries,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_types import Hashing, Outcome, Request

# Room for the manifest, the journal and the file system's own needs.
SPARE_BYTES = 64 << 20


class Snapshot:
    """One revision of one repository, published below the root."""

    def __init__(self, request: Request, hub: Hub, options: FetchOptions, progress: Progress, clock: Callable[[], float]) -> None:
        self._request = request
        self._hub = hub
        self._options = options
        self._progress = progress
        self._clock = clock
        self._place = store.Place(request.root, request.repo)
        self._metadata: Optional[RepoMetadata] = None
        self.outcome = Outcome(repo=request.repo)

    def run(self) -> Outcome:
        if self._request.check_mode:
            return self._predict()
        with store.locked(self._place.lock, self._request.lock_timeout, self._waiting) as lock:
            return self._ensure(self._commit(), lock)

    def _waiting(self, holder: str, spent: float) -> None:
        self._progress.report("wait", f"{holder} works on {self._request.repo}; waited {spent:.0f} s", force=True)

    # --- which commit ---------------------------------------------------------------------------------------

    def _known_commit(self) -> str:
        """Without asking anybody: a full hash, or what the branch was resolved to before."""
        if is_commit(self._request.revision):
            return self._request.revision
        if self._request.refresh:
            return ""
        commit = store.read_refs(self._place).get(self._request.revision, {}).get("revision", "")
        return commit if is_commit(commit) else ""

    def _commit(self) -> str:
        commit = self._known_commit()
        if commit:
            return commit
        commit = self._ask(self._request.revision).commit
        store.forget_partials(self._place, self._request.revision, commit)
        # From here on every run, also one after a kill, means this commit: the branch may move, the rollout must not.
        store.record_ref(self._place, self._request.revision, commit, self._hub.source)
        return commit

    def _ask(self, revision: str) -> RepoMetadata:
        if self._metadata is None or (is_commit(revision) and self._metadata.commit != revision):
            self._progress.report("resolve", f"asking {public_endpoint(self._hub.endpoint)} for {self._request.repo}@{revision}")
            try:
                self._metadata = self._hub.metadata(
                    self._request.repo,
                    revision,
                    lambda failure, wait: self._progress.report(
                        "resolve", f"{failure.status or failure.type}; again in {wait:.0f} s", force=True
                    ),
                )
            except HubError as error:
                if error.failure.code == "RevisionNotFound" and revision != self._request.revision:
                    raise resolved_revision_gone(error.failure, error.context, self._request.revision) from error
                raise error.explained() from error
        return self._metadata

    def _wanted(self, commit: str) -> tuple[RemoteFile, ...]:
        metadata = self._ask(commit)
        source = f"{self._request.repo}@{commit[:12]}"
        wanted = select(metadata.files, self._request.patterns)
        require_model(wanted, metadata.files, source)
        return wanted

    # --- check mode -----------------------------------------------------------------------------------------

    def _predict(self) -> Outcome:
        """What a run would do. A hub that cannot be asked yet is said so, not an error: the host may still be empty."""
        outcome = self.outcome
        try:
            commit = self._known_commit() or self._ask(self._request.revision).commit
            self._locate(commit)
            manifest = self._manifest_of(commit)
            if manifest is not None and os.path.isdir(outcome.path):
                outcome.describe_manifest(manifest)
                _retimed, broken = self._inspect(manifest)
                outcome.before = outcome.after
                outcome.changed = bool(broken)
                outcome.msg = f"Would fetch {len(broken)} broken files again." if broken else "The model is published and whole."
                return outcome
            wanted = self._wanted(commit)
            if os.path.isdir(outcome.path):
                outcome.changed, outcome.msg = True, "Would verify the directory that is there against the hub and write its manifest."
                return outcome
        except SglangError as error:
            if isinstance(error.__cause__, HubError) and error.__cause__.failure.status is None:
                outcome.changed = True
                asked = f"{self._request.repo}@{self._request.revision}"
                outcome.msg = f"Would fetch {asked}; how much is not known: the hub cannot be reached from here now."
                outcome.warnings.append(str(error))
                self._locate(self._request.revision)
                return outcome
            raise
        outcome.changed, outcome.revision = True, commit
        outcome.files, outcome.bytes = len(wanted), sum(file.size for file in wanted)
        outcome.after = {"revision": commit, "files": {file.name: file.sha256 or file.git_oid for file in wanted}}
        outcome.msg = f"Would fetch {outcome.files} files, {describe(outcome.bytes)}."
        self._require_space(wanted, ())
        return outcome

    # --- the work -------------------------------------------------------------------------------------------

    def _locate(self, commit: str) -> None:
        self.outcome.revision = commit
        self.outcome.path = self._place.published(commit)
        self.outcome.manifest = self._place.manifest(commit)

    def _ensure(self, commit: str, lock: int) -> Outcome:
        self._locate(commit)
        outcome = self.outcome
        manifest = self._recorded(commit)
        if os.path.isdir(outcome.path) and manifest is None:
            manifest = self._prove_unrecorded(commit, lock)
        elif os.path.isdir(outcome.path) and manifest is not None:
            manifest = self._keep_whole(manifest, lock)
        else:
            manifest = self._publish_new(commit, lock)
        outcome.describe_manifest(manifest)
        if self._request.reader:
            require_readable(outcome.path, (entry.file for entry in manifest.files), self._request.reader)
        return outcome

    def _recorded(self, commit: str) -> Optional[Manifest]:
        """The manifest; also the one of a run that was killed between its two last renames."""
        pending = self._place.pending_manifest(commit)
        if os.path.isdir(self.outcome.path) and os.path.exists(pending) and not os.path.exists(self.outcome.manifest):
            os.rename(pending, self.outcome.manifest)
            store.sync_directory(self._place.directory)
            self.outcome.changed = True
        return self._manifest_of(commit)

    def _manifest_of(self, commit: str) -> Optional[Manifest]:
        manifest = store.read_manifest(self.outcome.manifest)
        if manifest is not None and (manifest.repo, manifest.revision) != (self._request.repo, commit):
            raise SglangError(
                f"The manifest {self.outcome.manifest} is another model's.",
                found=f"{manifest.repo}@{manifest.revision}",
                wanted=f"{self._request.repo}@{commit}",
                next_step="Remove that file and run again: the model's files are then verified anew.",
            )
        return manifest

    def _manifest(self, commit: str, entries: Iterable[Entry]) -> Manifest:
        return Manifest(
            repo=self._request.repo,
            revision=commit,
            requested=self._request.revision,
            source=self._hub.source,
            time=store.now(),
            adopted=False,
            path=self._place.published(commit),
            files=tuple(sorted(entries, key=lambda entry: entry.file)),
        )

    def _publish_new(self, commit: str, lock: int) -> Manifest:
        wanted = self._wanted(commit)
        outcome, partial = self.outcome, self._place.partial(commit)
        entries = self._bring(wanted, partial, commit, lock)
        self._require_sound(partial, [file.name for file in wanted])
        self._progress.report("publish", f"publishing {len(wanted)} files, {describe(sum(file.size for file in wanted))}", force=True)
        manifest = self._manifest(commit, entries)
        store.write_manifest(self._place.pending_manifest(commit), manifest)
        store.publish(partial, outcome.path)
        os.rename(self._place.pending_manifest(commit), outcome.manifest)
        store.sync_directory(self._place.directory)
        outcome.changed, outcome.verified, outcome.compared_with = True, "deep", self._hub.declared_by
        outcome.msg = f"Fetched and published {describe(manifest.size)} in {len(manifest.files)} files."
        return manifest

    def _require_sound(self, directory: str, names: list[str]) -> None:
        source = f"{self._request.repo} on {public_endpoint(self._hub.endpoint)}"
        require_complete_index(directory, names, source)
        step = f"The bytes are the ones that {source} declares: the upload itself is broken. Take another revision."
        require_whole_shards(directory, names, step)

    def _bring(self, wanted: Iterable[RemoteFile], partial: str, commit: str, lock: int) -> list[Entry]:
        """All wanted files, proven, in the partial directory; what is there already is not fetched again."""
        files = tuple(wanted)
        store.make_directory(os.path.join(partial, PARTS))
        store.clean_partial(partial, [file.name for file in files])
        journal = store.Journal(partial)
        entries = self._already_there(files, partial, journal)
        left = [file for file in files if file.name not in entries]
        if left:
            self._require_space(left, [partial])
            context = Context(
                self._request.repo,
                commit,
                public_endpoint(self._hub.endpoint),
                token_given=bool(self._options.token),
                directory=self._place.directory,
            )

            def finished(file: RemoteFile, sha256: str) -> None:
                entries[file.name] = store.entry_of(partial, file.name, sha256, proof_of(file))
                journal.add(entries[file.name])
                if file.name.endswith(".safetensors.index.json"):
                    index = store.content_of(os.path.join(partial, file.name))
                    folder = os.path.dirname(file.name)
                    beside = [os.path.relpath(other.name, folder or ".") for other in files if os.path.dirname(other.name) == folder]
                    require_shards(file.name, index, beside, f"{self._request.repo}@{commit[:12]}")

            below = os.path.join(MODELS, os.path.basename(self._place.directory), commit)
            fetcher: Union[Fetcher, Copier] = Fetcher(self._options, context, self._progress, finished, lock)
            if self._options.bundle:
                fetcher = Copier(self._options.bundle, below, self._progress, finished)
            already = sum(entry.size for entry in entries.values())
            report = fetcher.fetch(left, partial, already=already)
            self.outcome.fetched_bytes = report.fetched
            self.outcome.fetched_files = sorted(file.name for file in left)
        return [entries[file.name] for file in files]

    def _already_there(self, files: tuple[RemoteFile, ...], partial: str, journal: store.Journal) -> dict[str, Entry]:
        """Files of an earlier, interrupted run: by the journal, or by reading them when it does not know them."""
        known, entries = journal.read(), {}
        present = [file for file in files if os.path.isfile(os.path.join(partial, file.name))]
        hashing = Hashing(self._progress, sum(file.size for file in present), self._clock)
        for file in present:
            entry = store.entry_of(partial, file.name, "", proof_of(file))
            recorded = known.get(file.name)
            if (
                recorded is not None
                and (recorded.size, recorded.mtime_ns) == (entry.size, entry.mtime_ns)
                and file.size == entry.size
                and file.sha256 in ("", recorded.sha256)
            ):
                entries[file.name] = recorded
                continue
            right, sha256 = store.matches(partial, file, hashing.advance)
            if right:
                entries[file.name] = store.entry_of(partial, file.name, sha256, proof_of(file))
                journal.add(entries[file.name])
            else:
                os.unlink(os.path.join(partial, file.name))
        return entries

    def _require_space(self, left: Iterable[RemoteFile], partials: Iterable[str]) -> None:
        parts = sum(store.bytes_below(os.path.join(partial, PARTS)) for partial in partials)
        needed = max(0, sum(file.size for file in left) - parts) + SPARE_BYTES
        free = store.free_bytes(self._place.directory)
        if free < needed:
            endpoint = public_endpoint(self._hub.endpoint)
            where = self._place.directory
            raise disk_full(Context(self._request.repo, self._request.revision, endpoint, directory=where, needed=needed, free=free))

    # --- what is published already ------------------------------------------------------------------------------

    def _inspect(self, manifest: Manifest) -> tuple[dict[str, Entry], list[str]]:
        """(entries whose time changed and content did not, broken files); everything is read for a deep look."""
        directory = self._place.published(manifest.revision)
        seen = store.scan(directory, self._request.patterns)
        names = {entry.file for entry in manifest.files}
        comparison = compare(manifest, {name: look for name, look in seen.items() if name in names})
        extra = sorted(name for name in set(seen) - names if name.endswith(".safetensors"))
        self.outcome.warnings.extend(f"{name} in {directory} is not part of the published model." for name in extra)
        # A pattern list that was made narrower since must not make published files look missing.
        missing = [name for name in comparison.missing if not os.path.isfile(os.path.join(directory, name))]
        broken = set(missing) | set(comparison.wrong_size)
        there = [entry for entry in manifest.files if entry.file not in broken]
        read = there if self._request.verify == "deep" else [entry for entry in there if entry.file in comparison.suspects]
        hashing, retimed = Hashing(self._progress, sum(entry.size for entry in read), self._clock), {}
        for entry in read:
            digest = store.hash_file(os.path.join(directory, entry.file), False, hashing.advance)
            if digest.sha256 != entry.sha256:
                broken.add(entry.file)
            elif entry.file in comparison.suspects:
                retimed[entry.file] = store.entry_of(directory, entry.file, entry.sha256, entry.proof)
        broken |= set(shard_problems(directory, [entry.file for entry in manifest.files if entry.file not in broken]))
        self.outcome.verified = self._request.verify
        return retimed, sorted(broken)

    def _keep_whole(self, manifest: Manifest, lock: int) -> Manifest:
        outcome = self.outcome
        outcome.describe_manifest(manifest)
        outcome.before = outcome.after
        retimed, broken = self._inspect(manifest)
        if not retimed and not broken:
            outcome.msg = outcome.msg or "The model is published and whole."
            return manifest
        if broken:
            manifest = self._repair(manifest, broken, lock)
        manifest = with_entries(manifest, retimed.values())
        store.write_manifest(outcome.manifest, manifest)
        outcome.changed = True
        outcome.msg = outcome.msg or "The files have new times and the same content; the manifest was brought up to date."
        return manifest

    def _repair(self, manifest: Manifest, broken: list[str], lock: int) -> Manifest:
        outcome = self.outcome
        if not self._request.repair:
            raise SglangError(
                f"The published model {outcome.path} is broken.",
                found=", ".join(broken),
                wanted=f"the bytes that {outcome.manifest} records",
                next_step="Run again with repair: true (model_shards_repair): only the broken files are fetched.",
            )
        self._progress.report("fetch", f"fetching {len(broken)} broken files again: {', '.join(broken[:3])}", force=True)
        partial = self._place.partial(manifest.revision)
        self._bring(remote_files(manifest, broken), partial, manifest.revision, lock)
        store.replace_files(partial, outcome.path, broken)
        outcome.repaired_files = broken
        outcome.msg = f"Fetched {len(broken)} broken files again."
        proofs = {entry.file: entry for entry in manifest.files}
        return with_entries(manifest, [store.entry_of(outcome.path, name, proofs[name].sha256, proofs[name].proof) for name in broken])

    def _prove_unrecorded(self, commit: str, lock: int) -> Manifest:
        """A directory under the published name without a manifest: nobody vouches for it, so every byte is compared."""
        wanted, outcome = self._wanted(commit), self.outcome
        hashing = Hashing(self._progress, sum(file.size for file in wanted), self._clock)
        entries: dict[str, Entry] = {}
        for file in wanted:
            if os.path.isfile(os.path.join(outcome.path, file.name)):
                right, sha256 = store.matches(outcome.path, file, hashing.advance)
                if right:
                    entries[file.name] = store.entry_of(outcome.path, file.name, sha256, proof_of(file))
        broken = [file for file in wanted if file.name not in entries]
        manifest = self._manifest(commit, entries.values())
        if broken:
            names = [file.name for file in broken]
            if not self._request.repair:
                return self._repair(manifest, names, lock)
            partial = self._place.partial(commit)
            fetched = {entry.file: entry for entry in self._bring(broken, partial, commit, lock)}
            store.replace_files(partial, outcome.path, names)
            manifest = with_entries(
                manifest, [store.entry_of(outcome.path, name, fetched[name].sha256, fetched[name].proof) for name in names]
            )
            outcome.repaired_files = names
        self._require_sound(outcome.path, [file.name for file in wanted])
        store.write_manifest(outcome.manifest, manifest)
        outcome.changed, outcome.verified, outcome.compared_with = True, "deep", self._hub.declared_by
        outcome.msg = f"Verified the directory that was there; {len(broken)} files were fetched."
        return manifest
