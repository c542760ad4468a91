"""Every message a user can meet, with a code: what was given, what was expected, what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class WithCodes(type):
    """A class whose attributes are messages. Each begins with its code: "[HS007] "."""

    def __getattribute__(cls, code: str) -> str:
        message: str = super().__getattribute__(code)
        if code.startswith("__"):
            return message
        return f"[{code}] {message}"


class Warnings(metaclass=WithCodes):
    """Warnings, shown through `warnings.warn`."""

    HW001 = (
        "{n} tokens are annotated with labels that the component does not know ({labels}); they count as not "
        "annotated. Give all labels in initialization ([initialize.components.NAME.labels], or examples that have "
        "them)."
    )
    HW002 = (
        "{n} spans of the corpus cross the end of a sentence and are left out; the first is {first}. Mend the spans, "
        "or the sentence boundaries."
    )

    HW003 = (
        'The component "{name}" is trained with the objective "{objective}", whose probabilities are not '
        "calibrated: they rank labels, but a label with 0.9 is not right nine times in ten. They are asked for by "
        '{reader}. Set `objective = "log_likelihood"`, or do not use probabilities.'
    )
    HW004 = (
        'None of the scores of the component "{name}" ({scores}) has a weight in [training.score_weights] '
        "({weights}) and gold labels in the dev part, so training chooses its best model without this component. "
        "Give one of them a weight above 0, and a dev part that has these labels."
    )
    HW005 = (
        "Texts have no token.{name}, which a component's templates read: its labels are worse than they could be. Put "
        "the component that sets it before, and do not disable it; or leave out these templates in training."
    )
    HW006 = (
        'The component "{name}" takes labels and tag dictionary from {path} (`weights_from`). The labels or the tag '
        "dictionary in the config are ignored: leave them out."
    )
    HW007 = (
        "The Doc has no `doc._.{name}`: no component writes it. Switch it on first: "
        '`nlp.get_pipe("NAME").cfg["{setting}"] = True`, or `{setting} = true` in the config.'
    )
    HW008 = (
        'The last {n_unseen} of the {n_updates} updates of the component "{name}" were never evaluated, so '
        "`model-best` does not contain them. Evaluate more often ([training] eval_frequency), or use the batcher "
        "`spacy_hoseq.batch_by_share.v1`: `python -m spacy hoseq init` writes a config that has it."
    )

    HW009 = (
        'The probabilities of "{name}" are not calibrated: they rank labels, but a label with 0.9 is not right nine '
        "times in ten. Calibrate the pipeline: python -m spacy hoseq calibrate MODEL DEV.spacy -o OUTPUT."
    )
    HW010 = (
        'The component "{name}" reads annotation that begins with "{prefix}" ({labels}) as "any label but this one". '
        'If these are labels of their own, set `neg_prefix = ""`.'
    )
    HW013 = "The outcome looks wrong: {seen}. {do}."


class Errors(metaclass=WithCodes):
    """Messages of exceptions, by subject:

    HS00x, HS01x features; HS02x scores and lattices; HS03x patterns; HS04x learning; HS05x weights;
    HS06x components; HS07x readers; HS08x chunks; HS09x sums and bidirectional inference; HS10x
    components that listen to others; HS11x commands and batches; HS12x texts without spaces; HS13x
    pipelines; HS14x explanations and calibration; HS15x curation; HS16x, HS17x jobs; HS18x the server;
    HS19x treebanks; HS20x noun phrases.
    """

    HS007 = (
        "A feature template reads {name}, which the vocabulary does not have: its table {table} has {n} columns. Give "
        "the table in [initialize.lookups]."
    )
    HS008 = (
        "The Doc {text} does not share the vocabulary of the first Doc in its batch. Make all Docs with the "
        "vocabulary of the pipeline (`nlp.make_doc(text)`, `Doc(nlp.vocab, ...)`, `DocBin.get_docs(nlp.vocab)`)."
    )
    HS009 = (
        "The words of the training data have {n} different tags or more; templates with `known_tag0` and so on can "
        "use at most {limit}. Use `known_tags` (all tags of a word as one feature), or a smaller tag set."
    )
    HS010 = (
        "Cannot read the feature template at character {at}; expected {expected}:\n    {text}\n    {pointer}\n"
        'A template is a conjunction of attributes at offsets, such as "lower[-1]+lower[0]" or "suffix1..3[0]".'
    )
    HS013 = (
        'Unknown attribute "{name}" in a feature template. Known: {known}, and every other attribute that '
        "spaCy's `doc.to_array` accepts. One of your own must be registered where the pipeline is loaded (--code)."
    )
    HS014 = (
        'A feature template reads "{name}", but no such extension is registered. Call `Token.set_extension` before '
        "the pipeline is used (in training: in the file given by --code)."
    )
    HS020 = (
        "{n} of {size} numbers are NaN or infinite: {name}. The weights are damaged or training has diverged: lower "
        "`learn_rate` or load an earlier model."
    )
    HS022 = "No label is allowed at token {token}. Allow at least one label there, or leave the token unconstrained."
    HS023 = "Sequence {sequence} has no permitted label sequence: every one uses a forbidden label or transition."
    HS024 = "Wrong shape of {name}: got {got}, expected {expected}."
    HS027 = "Wrong {name}: {value}. Expected {expected}."
    HS028 = (
        'The decoder of the component "{name}" returned labels that are not permitted. It must return `Paths`, whose '
        "`labels` are one of {n_labels} ids for each of {n_tokens} tokens, permitted by `potentials.allowed` and "
        'without a forbidden transition. For tags of chunks, use `decoder = "exact"`.'
    )
    HS034 = 'Rule "{rule}": {problem}.'
    HS037 = "The {feature} {problem}."
    HS038 = (
        "{n} states are needed at token {token} for the {open} configurations that overlap there, more than the limit "
        "of {limit} (MAX_STATES). Let fewer features overlap: shorter gaps, rarer rules, fewer label sets."
    )
    HS042 = (
        'The weights of "{name}" diverge: after an update its scores reach {largest:.3g}, more than {limit:.0e}. '
        "Lower the learning rate (`learn_rate`, which is {rate}; for a network that of [training.optimizer]), or "
        "regularise more."
    )
    HS050 = (
        'The weights in "{name}" cannot be read: {problem}. The file is truncated, damaged or from another program, '
        "or the config is not the one used in training."
    )
    HS051 = 'The weights in "{name}" were made for {got}, but the model has {expected}. Load the matching config.'
    HS052 = (
        "The component has no features yet: {problem}. Call `nlp.initialize(get_examples)` with annotated examples, or "
        "load a trained model."
    )
    HS055 = 'The layer "{name}" has no update rule. Train it through a component of spacy_hoseq, which sets one.'
    HS058 = (
        "A rule matches with more token descriptions than it had when the model was trained. Use the rules of the "
        "training, or train again."
    )
    HS064 = (
        'The component "{name}" cannot be read from {where}: {problem}. A file is missing, truncated or from '
        "another program, or the config was changed after training. Copy the model with its config again, or train "
        "it."
    )
    HS069 = (
        'The training data have no labels for the component "{name}": looked in {looked}; the annotated Docs have: '
        "{there}. Give the name under which the labels are annotated (`attribute`, `spans_key`), examples that have "
        "them, or the labels (`labels` in [initialize.components.{name}], `add_label`)."
    )
    HS073 = (
        "Cannot read {path}, line {line}: found {actual}, expected {expected}. Mend the file; for annotated texts, "
        "`python -m spacy hoseq convert` goes on with what can be read and lists the rest."
    )
    HS074 = "Nothing to read at {path}: {problem}. Looked for files with these endings: {suffixes}."
    HS079 = (
        'None of the {n_files} files is in the part "{part}" of the split "{split}": looked for {name} numbers '
        "{numbers}; {n_numbered} of the files have a {name} number."
    )
    HS083 = (
        'The gold span {span} of doc.spans["{key}"] {problem}. Chunks do not overlap, have a label each, and lie '
        "within a sentence; mend the span, or the sentence boundary."
    )
    HS085 = "{path} is no corpus as it is read: {seen}. {do}."
    HS091 = (
        "Without pruning the strategy {strategy} would have to search {n} combinations of labels at token {token}; the "
        "limit is {limit}. Set `prune` (0.01 leaves out labels a hundred times less probable than the best), or use "
        '"easiest_first".'
    )
    HS097 = (
        "Scores are so large that their sums are known to {rounding} only, and labellings are closer to each other "
        "than that: their probabilities cannot be computed. Regularise more (l2), or lower `learn_rate`."
    )
    HS099 = (
        "Scores of label pairs that depend on the text (`transitions` of the model) cannot be used with {decoder}. "
        "Train without one of the two."
    )
    HS100 = (
        'The Doc {text} has no labels of the component "{name}", to which a later one listens. Put "{name}" before it '
        "and do not disable it; in training, a frozen component must be in [training.annotating_components]."
    )
    HS102 = (
        'The component "{name}" listens to "{upstream}", which is no `hoseq_tagger` or `hoseq_chunker` that comes '
        "before it (before it come: {there}). Give one by its name in the pipeline."
    )
    HS103 = (
        'The component "{name}" has a tag dictionary, candidates of each word (a lemmatizer), tags of chunks or its '
        "own tables. A copy that replaces a listener would lose these. Keep the listener, or train without it."
    )
    HS104 = (
        'The tagger "{name}" cannot be trained through its marginals while its network is shared (a Tok2Vec '
        "listener). Give it a tok2vec of its own, or set `grad_factor = 0` in the listening component."
    )
    HS105 = 'The component "{name}" has no `{asked}`: {reason}. A `hoseq_tagger` or a `hoseq_chunker` has.'
    HS106 = (
        "The span {span} (tokens {first} to {end} of {text}) crosses the end of a sentence, where no chunk can be. "
        "Use a span within a sentence, or mend the sentence boundary."
    )
    HS107 = (
        "The config learns to cut texts into words ({augmenter}), but likely errors can only be found among labels "
        "of words or spans. Give a config for tags, lemmas, sentences, chunks or entities, such as the recipe "
        "`crf`."
    )
    HS108 = (
        'A component before "{name}" merges or splits tokens, such as those of {text}, so they are no longer the '
        'tokens of the annotated text. Leave that component out, or put it after "{name}".'
    )
    HS113 = "Nothing is written to {path}: {problem}. Give another place, or --force to replace a file or a pipeline."
    HS114 = (
        "A process that annotates texts has ended: {problem}. It may have run out of memory; take smaller parts "
        "(--part-size) or fewer processes (--n-process). What is written is complete; the same command goes on."
    )
    HS115 = (
        "The account of this run does not add up: {problem}. Do not use what was written; give the same command again "
        "with --force, while no other program changes these files."
    )
    HS116 = (
        "The operating system refuses: {problem}. Look whether the file is there, may be read or written, and the disk "
        "has room; then give the same command again."
    )
    HS120 = (
        "The tokenizer has no segmenter yet, so it cannot cut texts into words. Name a trained pipeline: "
        "`segmenter` in [initialize.tokenizer], or `nlp.tokenizer.initialize(segmenter=...)`."
    )
    HS121 = (
        "The pipeline given as a segmenter cannot cut texts into words: {problem}. Train one with a `hoseq_tagger` on "
        "units: `augmenter` = `spacy_hoseq.units.v1` in both corpora."
    )
    HS130 = (
        'There is no pipeline "{name}" in the package, no folder and no package of that name. Known: {known}. For '
        "another language, make one: `python -m spacy hoseq treebank UD_Irish-IDT -o ga --install`."
    )
    HS131 = (
        "The package was installed without its pipelines (nothing in {folder}). Install the wheel, or from a complete "
        "checkout (`pip install .`)."
    )
    HS133 = (
        "The pipeline {place} cannot be loaded because of {file}: {problem}. Copy the pipeline again, or train it; if "
        "something is not installed or registered, install it or give the file that has it (--code)."
    )
    HS140 = (
        'The component "{name}" ({kind}) cannot be explained. Expected a hoseq_tagger, a hoseq_chunker or, where it '
        "decides token by token, a hoseq_bidirectional_tagger."
    )
    HS141 = (
        "Token {token} is not a word of this text: it is white space, or the text has no such token ({n} tokens, "
        "counted from 0)."
    )
    HS143 = (
        "The labels of {n} tokens have too many combinations for a model with label patterns ({n_strings:,}, at "
        "most {limit:,}). Compute the entropy of fewer tokens, or of the whole sentence."
    )
    HS144 = (
        'The scores of the component "{name}" do not follow its weights (off by {error:.2g}), so that one temperature '
        "cannot be built into them: its emissions are of a layer that is not of this package."
    )
    HS145 = "There are {n} examples with gold labels to learn {what} from. Give at least {least}."
    HS147 = (
        "Two labellings differ by {expected:.6g}, but the reasons found for it add up to {total:.6g}. This is an "
        "error of the package, or of an emission layer that gives a text different scores at each call."
    )
    HS148 = (
        "The request is for {host}, which is no name of this server, or it comes from a page of another site. Use the "
        "address that it prints, with the port; give other names by which browsers know it (--name)."
    )
    HS149 = "This {what} has {n:,} characters; at most {most:,} are annotated at once. Shorter pieces work."
    HS150 = "A corpus is divided into at least two parts, and no more than it has different texts ({texts}); got {n}."
    HS152 = "None of the requested components is one of this package: {names}. The pipeline has: {known}."
    HS157 = "Nothing can listen on {host}, port {port}: {problem}. Give another --port (0: any that is free) or --host."
    HS158 = (
        'The component "{name}" cannot give prediction sets: it was not calibrated, or was trained after that. '
        "Calibrate the pipeline: `python -m spacy hoseq calibrate`, or `inspection.calibrate(nlp, examples)`."
    )
    HS159 = "There is no {what} in {source}. Give {expected}."
    HS161 = 'There is nothing named "{name}" here. Known: {known}.'
    HS162 = 'The column "{name}" {problem}. Name the columns of texts and ids (`text`, `id`; id = None: there is none).'
    HS164 = "There is no text in this row: it is null."
    HS167 = (
        "The output {path} {problem}. Give another one, or --force to delete what an earlier run wrote there (and "
        "nothing else)."
    )
    HS168 = "Another run is writing to {path}. Wait for it, or give another output."
    HS169 = "Writing to {path} failed: {problem}. What is written is complete; the same command goes on."
    HS170 = "{package} is not installed. Install it (pip install {install})."
    HS171 = (
        "The span {text!r} of {group} does not begin and end with words: a component has merged or split these "
        "since. Put that component before those that find spans, or write places in the text (parquet, jsonl, no "
        "--flat)."
    )
    HS172 = "This cannot be read: {actual}. Expected {expected}."
    HS174 = "{problem} cannot be written to standard output: it is one stream. Give a folder, or --format jsonl."
    HS175 = "A component of the pipeline has dropped the text, and gives no reason."
    HS177 = (
        "{value!r} cannot be written as {format} so that it is read back: it is white space, has a tab, a line break, "
        "a space at an end, or a meaning of the format. Take another --format: parquet, jsonl, spacy."
    )
    HS178 = (
        "The input has changed since {path} was started, so what is written may not belong to it. Give the same "
        "input, or another output, or --force to annotate everything anew."
    )
    HS179 = "The format {format} has no columns, so rows cannot be tokens (--flat). Take csv, tsv, parquet or jsonl."
    HS180 = (
        "This text takes longer than {seconds:g} seconds. Shorter pieces work, or, if reasons are requested, fewer "
        "words."
    )
    HS181 = "The text has not arrived within {seconds:g} seconds. Please send it again."
    HS182 = (
        "Reasons are requested for {n} words and each component; at most {most} are given at once. Request fewer "
        "words (`tokens`), or one `component`."
    )
    HS183 = (
        'The field "prob" is the probability of each token\'s label, which no component of this pipeline gives '
        '({components}). Leave it out; "spans" and "ents" have the probabilities of spans.'
    )
    HS184 = "{n} requests are waiting already, so this one was not started. Please try again in a minute."
    HS191 = "The treebank {name} cannot be used: {problem}."
    HS192 = (
        "The treebank {name} cannot be fetched from {url}: {problem}. Where there is a network, run `git clone "
        "--depth 1 {repository}`, and give its folder in place of the name."
    )
    HS193 = (
        'The component "{name}" cannot be adapted: {reason}. Adapt others, by name (`components`).'
    )
    HS200 = (
        'This Doc has no noun phrases: it has no parse, and no span group "{key}" (its groups: {there}). Annotate it '
        "with a `hoseq_chunker` or a parser first."
    )


def wrong_value(name: str, value: object, expected: str) -> ValueError:
    """The error [HS027] about a setting or a value."""
    return ValueError(Errors.HS027.format(name=name, value=value, expected=expected))


def not_found(what: str, source: object, expected: str) -> ValueError:
    """The error [HS159]: a source lacks something. expected: what to give."""
    return ValueError(Errors.HS159.format(what=what, source=source, expected=expected))


def unknown_name(name: object, known: Iterable[str]) -> ValueError:
    """The error [HS161] about a name. known: those that there are; of more than 30, the message has
    the ten that are most like it."""
    names = list(known)
    listed = ", ".join(names)
    if len(names) > 30:
        nearest = get_close_matches(str(name), names, n=10, cutoff=0.0)
        listed = f"{', '.join(nearest)} and {len(names) - len(nearest):,} more"
    return ValueError(Errors.HS161.format(name=name, known=listed))


def unreadable(actual: object, expected: str) -> ValueError:
    """The error [HS172] about an input."""
    return ValueError(Errors.HS172.format(actual=actual, expected=expected))
