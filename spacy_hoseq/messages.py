"""Messages with codes, and those of warnings and of jobs. Other errors are in `errors.py`."""


class WithCodes(type):
    def __getattribute__(cls, code: str) -> str:
        message: str = super().__getattribute__(code)
        return message if code.startswith("__") else f"[{code}] {message}"


class Warnings(metaclass=WithCodes):
    """Warnings, shown through `warnings.warn`."""

    HW001 = (
        "{n} tokens are annotated with labels that the component does not know ({labels}); they count as not "
        "annotated. "
        "Give all labels in initialization ([initialize.components.NAME.labels], or examples that have them)."
    )
    HW002 = (
        "{n} spans of the corpus cross the end of a sentence and are left out; the first is {first}. Mend the spans, "
        "or the sentence boundaries."
    )

    HW003 = (
        'The component "{name}" is trained with the objective "{objective}", whose probabilities are not calibrated: '
        "they rank labels, but a label with 0.9 is right less often than nine times in ten. They are asked for by "
        '{reader}. Set `objective = "log_likelihood"`, or do without.'
    )
    HW004 = (
        'None of the scores of the component "{name}" ({scores}) has a weight in [training.score_weights] ({weights}) '
        "and gold labels in the dev part, so the best model of a training is chosen without looking at it. Give one of "
        "them a weight above 0, and a dev part that has these labels."
    )
    HW006 = (
        'The component "{name}" takes labels and tag dictionary from {path} (`weights_from`); those that are given '
        "beside it are not used. Leave them out."
    )
    HW008 = (
        'The last {n_unseen} of the {n_updates} updates of the component "{name}" were not followed by an evaluation, '
        "so `model-best` of a training does not know them. Evaluate more often ([training] eval_frequency), or take "
        "the batcher `spacy_hoseq.batch_by_share.v1`: `python -m spacy hoseq init` writes a config that has it."
    )

    HW009 = (
        'The probabilities of "{name}" are not calibrated: they rank labels, but a label with 0.9 is not right nine '
        "times in ten. Calibrate the pipeline: python -m spacy hoseq calibrate MODEL DEV.spacy -o OUTPUT."
    )
    HW010 = (
        'The component "{name}" reads annotation that begins with "{prefix}" ({labels}) as "any label but this one". '
        'If these are labels of their own, set `neg_prefix = ""`.'
    )
    HW012 = 'There is no file "{text}". The name itself is taken for the text.'


class JobErrors:
    """HS114, HS16x, HS17x: jobs over many texts. `Errors` has them, with their codes, as all others."""

    HS114 = (
        "A process that annotates texts has ended: {problem}. It may have run out of memory; take smaller parts "
        "(--part-size) or fewer processes (--n-process). What is written is complete; the same command goes on."
    )
    HS161 = 'There is nothing named "{name}" here. Known: {known}.'
    HS162 = 'The column "{name}" {problem}. Name the columns of texts and ids (`text`, `id`; id = None: there is none).'
    HS163 = (
        "There is no pipeline in {source}: {problem}. Give a directory, a package, or en, zh, af, cy."
    )
    HS164 = "There is no text in this row: it is null."
    HS165 = "There is no input at {path}: {problem}. Give files, folders, globs in quotes, or - for standard input."
    HS166 = "The input {path} is inside the output {output}. Give another output."
    HS167 = (
        "The output {path} {problem}. Give another one, or --force to delete what an earlier run wrote there (and "
        "nothing else)."
    )
    HS168 = "Another run is writing to {path}. Wait for it, or give another output."
    HS169 = "Writing to {path} failed: {problem}. What is written is complete; the same command goes on."
    HS170 = "{package} is not installed. Install it (pip install {install})."
    HS171 = (
        'The span {text!r} of {group} does not begin and end with words: a component has merged or split these since. '
        "Let that component come before those that find spans, or write places in the text (parquet, jsonl, no --flat)."
    )
    HS172 = "This cannot be read: {actual}. Expected {expected}."
    HS173 = 'The id "{id}" is that of an earlier row, too (or, once in many billions of rows, looks the same).'
    HS174 = "{problem} cannot be written to standard output: it is one stream. Give a folder, or --format jsonl."
    HS175 = "A component of the pipeline has dropped the text, and gives no reason."
    HS176 = "Memory ran out at this text of {length:,} characters. Give it in smaller texts, or with fewer processes."
    HS177 = (
        "{value!r} cannot be written as {format} so that it is read back: it has a tab, a line break, a space at an "
        "end, or a meaning of the format. Take another --format: parquet, jsonl, spacy."
    )
    HS178 = (
        "The input is not what was read when {path} was written: {problem}. What is written cannot be vouched for. "
        "Give the same input, or another output, or --force to annotate everything anew."
    )
    HS179 = "The format {format} has no columns, so rows cannot be tokens (--flat). Take csv, tsv, parquet or jsonl."
