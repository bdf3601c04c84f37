"""BARTScore and UniEval by tiny untrained models in a folder, token by token and in batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.embeddings import folders
from evaluation.embeddings.seq2seq import Seq2SeqModel, is_seq2seq

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "Yes", "No", "red", "blue", "a", "wall", "is", "?"]
SOURCES = ["a red wall is a wall", "blue", "is a wall blue ?", "red red red"] * 3
TARGETS = ["red", "a blue wall is", "wall is a", "red blue"] * 3


def build(folder: Path, kind: str = "Bart") -> Path:
    """A model of two small layers with random weights and a vocabulary of a few words."""
    transformers = pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(0)
    vocabulary = {word: at for at, word in enumerate(WORDS)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    single = "<s> $A </s>" if kind == "Bart" else "$A </s>"
    special = [(word, at) for word, at in vocabulary.items() if word in ("<s>", "</s>")]
    made.post_processor = processors.TemplateProcessing(single=single, special_tokens=special)
    folder.mkdir(exist_ok=True)
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=64, **names
    ).save_pretrained(folder)
    ids: dict[str, Any] = {
        **{"vocab_size": len(WORDS), "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
        **{"decoder_start_token_id": 2, "d_model": 16},
    }
    if kind == "Bart":
        size = {"encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": 64}
        heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        wide = {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "init_std": 0.8}
        config = transformers.BartConfig(**ids, **size, **heads, **wide)
        transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    else:
        ids["decoder_start_token_id"] = 1
        config = transformers.T5Config(
            **ids, num_layers=2, num_heads=2, d_ff=32, d_kv=8, initializer_factor=8.0
        )
        transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def one_by_one(folder: Path, source: str, target: str) -> float:
    """Mean log probability of a target's tokens, each asked for by itself, without a batch."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    written, found = [model.config.decoder_start_token_id], []
    read = torch.tensor([tokenizer(source)["input_ids"]])
    for token in tokenizer(target)["input_ids"]:
        with torch.no_grad():
            logits = model(input_ids=read, decoder_input_ids=torch.tensor([written])).logits
        row = logits[0, -1].double().numpy()
        found.append(row[token] - np.log(np.exp(row - row.max()).sum()) - row.max())
        written.append(token)
    return float(np.mean(found))


def test_bartscore_is_the_mean_log_probability_of_a_texts_tokens(tmp_path: Path) -> None:
    folder = build(tmp_path)
    model = Seq2SeqModel(folder, "bart")
    told: list[tuple[int, int]] = []
    found = model.mean_log_probability(SOURCES, TARGETS, progress=lambda *at: told.append(at))
    expected = [one_by_one(folder, *pair) for pair in zip(SOURCES, TARGETS, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(found) > 0.1 and (found < 0).all()
    assert told == [(8, 12), (12, 12)]


def test_unieval_is_the_chance_of_yes_against_no(tmp_path: Path) -> None:
    folder = build(tmp_path, "T5")
    found = Seq2SeqModel(folder, "unieval").chance_of_yes(SOURCES)
    # P(yes) / (P(yes) + P(no)) of the first token, from log probabilities of one-word texts.
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    for source, chance in zip(SOURCES[:4], found[:4], strict=True):
        read = torch.tensor([tokenizer(source)["input_ids"]])
        start = torch.tensor([[network.config.decoder_start_token_id]])
        with torch.no_grad():
            row = network(input_ids=read, decoder_input_ids=start).logits[0, -1].double()
        both = torch.softmax(row, dim=0).numpy()
        yes, no = both[WORDS.index("Yes")], both[WORDS.index("No")]
        assert chance == pytest.approx(yes / (yes + no), abs=1e-6)
    assert np.ptp(found) > 0.01


def test_a_folder_without_such_a_model_is_refused_at_its_option(tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny-bart")
    assert is_seq2seq(folder) and not folders.is_classifier(folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert not is_seq2seq(empty)
    with pytest.raises(Invalid) as refused:
        Seq2SeqModel(empty, "unieval").chance_of_yes(["red"])
    assert "unieval" in refused.value.fields
