"""A tiny cross-encoder of random weights, in the format that sentence-transformers loads."""

import string
from pathlib import Path

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def tiny_cross_encoder(folder: Path, *, seed: int = 0, scores: int = 1) -> Path:
    """A BERT with one layer that reads letters; its `scores` for a pair mean nothing."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir()
    letters = string.ascii_lowercase + string.digits
    words = [*_SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        # So large that scores are far apart.
        initializer_range=1.0,
        num_labels=scores,
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
