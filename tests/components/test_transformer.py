"""configs/tagger_transformer.cfg with a tiny transformer of random weights in place of the pretrained one."""

from importlib.metadata import version

import numpy as np
import pytest
from spacy.util import fix_random_seed, load_model_from_config

from ..builders import tagger_of
from ..repository import ROOT, config_of
from .helpers import examples_of, gold, reloaded, train

MODULE = "spacy_curated_transformers"
pytest.importorskip(MODULE, reason=f"{MODULE} is not installed")
pytestmark = [
    pytest.mark.skipif(not (ROOT / "configs").exists(), reason="installed without its source tree"),
    pytest.mark.skipif(
        version("spacy-curated-transformers") < "0.3.2"
        and np.lib.NumpyVersion(np.__version__) >= "2.4.0",
        reason="its updates on a CPU fail with NumPy 2.4: float() of an array",
    ),
    pytest.mark.filterwarnings("ignore"),  # of torch
    pytest.mark.long,
]

TINY = {
    "@architectures": "spacy-curated-transformers.BertTransformer.v1", "vocab_size": 40, "hidden_width": 16,
    "intermediate_width": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "piece_encoder": {"@architectures": "spacy-curated-transformers.CharEncoder.v1"},
    "with_spans": {"@architectures": "spacy-curated-transformers.WithStridedSpans.v1"},
}  # fmt: skip
PIECES = "[PAD] [CLS] [SEP] [UNK] a b c d e f g h i j k l m n o p q r s t u v w x y z".split()


@pytest.fixture
def nlp(tmp_path):
    config = config_of("tagger_transformer.cfg")
    config["components"]["transformer"]["model"] = TINY
    config["components"]["hoseq_tagger"]["model"]["patterns"]["min_count"] = 2
    (tmp_path / "pieces").write_text("\n".join(PIECES))
    name, path = "spacy-curated-transformers.CharEncoderLoader.v1", str(tmp_path / "pieces")
    loader = {"@model_loaders": name, "path": path}
    config["initialize"]["components"]["transformer"] = {"piecer_loader": loader}
    fix_random_seed(0)
    nlp = load_model_from_config(config.interpolate(), auto_fill=True)
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    optimizer.learn_rate = 0.003
    train(nlp, 60, optimizer=optimizer)
    return nlp


def tagged(nlp):
    docs = nlp.pipe(eg.predicted for eg in examples_of(nlp))
    return [[token.tag_ for token in doc] for doc in docs]


def test_transformer_and_features_learn_together(nlp, tmp_path):
    assert tagged(nlp) == tagged(reloaded(nlp)) == gold()
    network = tagger_of(nlp).model.layers[0].layers[1]
    docs = list(nlp.get_pipe("transformer").pipe([eg.predicted for eg in examples_of(nlp)]))
    to_numpy = nlp.get_pipe("transformer").model.ops.to_numpy
    scores = np.concatenate([to_numpy(part) for part in network.predict(docs)])
    assert np.abs(scores).max() > 0.1, "the transformer has learnt, too"
