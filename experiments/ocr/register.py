"""What `--code` names, wherever a pipeline of handwritten letters is trained or loaded.

python -m spacy train configs/ocr.cfg --code register.py --paths.letters letter.data.gz --output DIR
"""

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)  # spaCy loads this file alone

import handwriting  # noqa: E402, F401  (registers its functions)
