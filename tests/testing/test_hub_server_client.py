"""The hub as huggingface_hub sees it: what its client does with a hub, it must do with this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.testing.hub_server import READ_TOKEN, WRITE_TOKEN, HubServer

# Of httpx, on how huggingface_hub hands it an upload without Xet.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

REPO = "acme/hazards"
CARD = b"---\nlicense: mit\n---\n# Hazards\n"
DATA = b"PAR1" * 5000


@pytest.fixture
def server(tmp_path, monkeypatch):
    import huggingface_hub.constants
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    disable_progress_bars()
    with HubServer(tmp_path / "hub", page=3) as server:
        yield server
    enable_progress_bars()
    huggingface_hub.close_session()


@pytest.fixture
def api(server):
    from huggingface_hub import HfApi

    return HfApi(endpoint=server.address, token=WRITE_TOKEN)


@pytest.fixture
def filled(api):
    """The id of a commit with files of both kinds, in folders."""
    from huggingface_hub import CommitOperationAdd

    api.create_repo(REPO, repo_type="dataset", private=True)
    files = {"README.md": CARD, "data/tasks/train.parquet": DATA, "data/tasks/test.parquet": DATA[:400], "empty": b""}
    operations = [CommitOperationAdd(path, content) for path, content in files.items()]
    made = api.create_commit(
        REPO, operations, commit_message="Files", commit_description="of both kinds", repo_type="dataset"
    )
    return made.oid


def test_what_was_committed_is_told_in_every_way(api, filled, server):
    names = {".gitattributes", "README.md", "data/tasks/test.parquet", "data/tasks/train.parquet", "empty"}
    info = api.dataset_info(REPO, files_metadata=True)
    assert (info.sha, info.private, info.id) == (filled, True, REPO)
    assert {each.rfilename for each in info.siblings} == names
    assert set(api.list_repo_files(REPO, repo_type="dataset")) == names
    (told,) = api.get_paths_info(REPO, ["data/tasks/train.parquet"], repo_type="dataset")
    listed = {each.path: each for each in api.list_repo_tree(REPO, recursive=True, repo_type="dataset")}
    assert told.lfs == listed["data/tasks/train.parquet"].lfs and told.size == len(DATA)
    commits = api.list_repo_commits(REPO, repo_type="dataset")
    assert [(each.title, each.message) for each in commits] == [("Files", "of both kinds"), ("initial commit", "")]
    assert api.file_exists(REPO, "empty", repo_type="dataset")
    assert not api.file_exists(REPO, "nothing", repo_type="dataset")


def test_files_come_back_byte_by_byte(api, filled, tmp_path):
    folder = api.snapshot_download(REPO, repo_type="dataset", revision=filled, cache_dir=tmp_path / "cache")
    assert (tmp_path / "cache").is_dir()
    for path, content in {"README.md": CARD, "data/tasks/train.parquet": DATA, "empty": b""}.items():
        assert Path(folder, path).read_bytes() == content


def test_files_are_read_in_stretches_through_the_file_system(server, filled):
    from huggingface_hub import HfFileSystem

    files = HfFileSystem(endpoint=server.address, token=WRITE_TOKEN, skip_instance_cache=True)
    root = f"datasets/{REPO}"
    assert sorted(files.glob(f"{root}/data/**/*.parquet")) == [
        f"{root}/data/tasks/test.parquet",
        f"{root}/data/tasks/train.parquet",
    ]
    with files.open(f"{root}/data/tasks/train.parquet", "rb", block_size=1000) as file:
        file.seek(4001)
        assert file.read(10) == DATA[4001:4011]


def test_an_unchanged_folder_makes_no_commit(api, filled, server, tmp_path):
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "README.md").write_bytes(CARD)
    asked = len(server.requests)
    again = api.upload_folder(repo_id=REPO, folder_path=tmp_path / "again", repo_type="dataset")
    assert again.oid == filled
    assert not any(request.changes for request in server.requests[asked:])


def test_tags_and_visibility(api, filled, server):
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api.create_tag(REPO, tag="v1", revision=filled, repo_type="dataset")
    with pytest.raises(HfHubHTTPError) as taken:
        api.create_tag(REPO, tag="v1", repo_type="dataset")
    assert taken.value.response.status_code == 409
    api.create_tag(REPO, tag="v1", repo_type="dataset", exist_ok=True)
    assert [(tag.name, tag.target_commit) for tag in api.list_repo_refs(REPO, repo_type="dataset").tags] == [
        ("v1", filled)
    ]
    api.delete_tag(REPO, tag="v1", repo_type="dataset")
    assert api.list_repo_refs(REPO, repo_type="dataset").tags == []
    api.update_repo_settings(REPO, private=False, repo_type="dataset")
    assert HfApi(endpoint=server.address, token=False).dataset_info(REPO).private is False


def test_errors_are_of_the_classes_that_its_users_catch(api, filled, server):
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, errors

    stranger = HfApi(endpoint=server.address, token=False)
    for asking in (stranger, api):
        with pytest.raises(errors.RepositoryNotFoundError):
            asking.dataset_info("acme/nothing")
    with pytest.raises(errors.RepositoryNotFoundError):
        stranger.dataset_info(REPO)
    with pytest.raises(errors.RevisionNotFoundError):
        api.dataset_info(REPO, revision="v9")
    gone = [CommitOperationDelete("nothing", is_folder=False)]
    with pytest.raises(errors.EntryNotFoundError):
        api.create_commit(REPO, gone, commit_message="x", repo_type="dataset")
    with pytest.raises(ValueError, match="Invalid metadata in README"):
        api.create_commit(
            REPO, [CommitOperationAdd("README.md", b"---\na: [\n---\n")], commit_message="x", repo_type="dataset"
        )
    old = api.list_repo_commits(REPO, repo_type="dataset")[-1].commit_id
    more = [CommitOperationAdd("more.txt", b"x")]
    with pytest.raises(errors.HfHubHTTPError, match="412"):
        api.create_commit(REPO, more, commit_message="x", repo_type="dataset", parent_commit=old)
    reader = HfApi(endpoint=server.address, token=READ_TOKEN)
    with pytest.raises(errors.HfHubHTTPError, match="403"):
        reader.create_tag(REPO, tag="v1", repo_type="dataset")
    assert reader.dataset_info(REPO).sha == filled
