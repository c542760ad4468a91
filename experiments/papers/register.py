"""What `--code` names, wherever a pipeline with a decoder of `baselines` is trained or loaded.

python -m spacy train CONFIG --code register.py --output DIR
"""

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)  # spaCy loads this file alone

import baselines  # noqa: E402, F401  (registers its decoders)
