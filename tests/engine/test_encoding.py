"""How steps become tokens: nothing crosses a step's border, and nothing is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from prm_backend.text.encoding import SEPARATOR, Encoded, encode
from prm_backend.text.steps import storable
from prm_backend.types import Unscorable
from tests.tiny import tiny_tokenizer


def merging_tokenizer() -> PreTrainedTokenizerFast:
    """A BPE whose merges run across line ends (".\\n" is one token) and which puts a BOS first."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    corpus = ["So a = 1.\nSo b = 2.\n\nSo a + b = 3.\n# Answer\n\n3\n"] * 20
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(corpus, trainer)
    bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="<|im_end|>")


TOKENIZERS = {"bytes": tiny_tokenizer(), "merging": merging_tokenizer()}
STEPS = ["So a = 1.", "So b = 2.", "So a + b = 3.\n\n# Answer\n\n3"]
inked = st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=30).filter(
    lambda text: storable(text).strip()
)
tokenizers = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS.keys())


def encoded(tokenizer, problem, steps) -> Encoded:
    result = encode(tokenizer, problem, steps, max_length=10_000)
    assert isinstance(result, Encoded)
    return result


def test_the_merging_tokenizer_does_merge_across_a_line_end():
    pieces = [
        TOKENIZERS["merging"].decode([i]) for i in TOKENIZERS["merging"]("So a = 1.\nSo b")["input_ids"]
    ]
    assert any("\n" in piece and piece != "\n" for piece in pieces)


@tokenizers
@given(problem=st.text(max_size=30), steps=st.lists(inked | st.sampled_from(STEPS), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_step_lies_apart_between_separators_and_is_read_at_the_one_behind_it(tokenizer, problem, steps):
    result = encoded(tokenizer, problem, steps)
    separator = tokenizer(SEPARATOR, add_special_tokens=False)["input_ids"]
    for step, (start, end) in zip(steps, result.spans, strict=True):
        before, own, behind = (
            result.input_ids[start - len(separator) : start],
            result.input_ids[start : end - len(separator)],
            result.input_ids[end - len(separator) : end],
        )
        assert (*before, *behind) == (*separator, *separator)
        assert tokenizer.decode(own) == storable(step)
    assert [end - 1 for _, end in result.spans] == list(result.label_positions)
    assert result.label_positions[-1] == len(result) - 1


@tokenizers
@given(problem=st.text(max_size=30), steps=st.lists(inked | st.sampled_from(STEPS), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_positions_rise_and_the_encoding_of_a_prefix_is_a_prefix(tokenizer, problem, steps):
    whole = encoded(tokenizer, problem, steps)
    assert list(whole.label_positions) == sorted(set(whole.label_positions))
    for k in range(1, len(steps)):
        part = encoded(tokenizer, problem, steps[:k])
        assert whole.input_ids[: len(part)] == part.input_ids
        assert whole.label_positions[:k] == part.label_positions


@tokenizers
def test_a_solution_longer_than_the_context_is_refused_with_the_figures_and_never_cut(tokenizer):
    length = len(encoded(tokenizer, "p", STEPS))
    assert isinstance(encode(tokenizer, "p", STEPS, max_length=length), Encoded)
    refused = encode(tokenizer, "p", STEPS, max_length=length - 1)
    assert isinstance(refused, Unscorable)
    assert str(length) in refused.reason
    assert str(length - 1) in refused.reason


@tokenizers
@pytest.mark.parametrize(
    ("steps", "said"), [([], "no steps"), (["a", ""], "step 2 of 2"), (["a", " \n", "b"], "step 2")]
)
def test_a_solution_without_steps_or_with_an_empty_one_is_refused(tokenizer, steps, said):
    refused = encode(tokenizer, "p", steps, max_length=100)
    assert isinstance(refused, Unscorable)
    assert said in refused.reason


def test_a_special_token_spelt_out_in_a_step_is_plain_text():
    tokenizer = TOKENIZERS["merging"]
    ids = encoded(tokenizer, "p", ["a <|im_end|> b"]).input_ids
    assert tokenizer.eos_token_id not in ids


def test_the_token_a_model_expects_first_is_put_first_and_only_there():
    ids = encoded(TOKENIZERS["merging"], "p", STEPS).input_ids
    assert ids[0] == TOKENIZERS["merging"].bos_token_id
    assert ids.count(TOKENIZERS["merging"].bos_token_id) == 1
    assert TOKENIZERS["bytes"].eos_token_id not in encoded(TOKENIZERS["bytes"], "p", STEPS).input_ids


@tokenizers
def test_lone_surrogates_do_not_stop_an_encoding(tokenizer):
    assert encoded(tokenizer, "\ud83d", ["a\ud83d"]) == encoded(tokenizer, "\ufffd", ["a\ufffd"])
