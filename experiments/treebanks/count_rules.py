"""How often rules match a corpus, and how often its tags agree with them.

    python count_rules.py RULES.json CORPUS.spacy [--write] [--families]

--write: keep the numbers in RULES.json, as "count": [matches that agree, matches]. --families: print a table in
Markdown, rules of one family together (those whose names differ in their number only).
"""

import json
from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.matcher import Matcher
from spacy.tokens import DocBin
from wasabi import MarkdownRenderer, table


def main(rules_path: Path, corpus: Path, write: bool = False, families: bool = False) -> None:
    rules: list[dict[str, Any]] = json.loads(rules_path.read_text(encoding="utf8"))
    counts = count(rules, corpus)
    if families:
        print(by_family(rules, counts))
    rows = [
        (rule["name"], f"{agree:,}", f"{matches:,}")
        for rule, (agree, matches) in zip(rules, counts, strict=True)
    ]
    if not families:
        print(
            table(rows, header=("Rule", "Agree", "Matches"), divider=True, aligns=("l", "r", "r"))
        )
    if write:
        for rule, numbers in zip(rules, counts, strict=True):
            rule["count"] = list(numbers)
        rules_path.write_text(one_key_a_line(rules), encoding="utf8")


def by_family(rules: list[dict[str, Any]], counts: list[tuple[int, int]]) -> str:
    """Of each family: its rules, the first rule's note and example, and how many matches agree."""
    members: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        members.setdefault(rule["name"].rstrip(" 0123456789"), []).append(number)
    rows = []
    for family, numbers in members.items():
        agree, matches = (sum(counts[number][i] for number in numbers) for i in (0, 1))
        first = rules[numbers[0]]
        rows.append(
            (
                family,
                str(len(numbers)),
                first["note"],
                first["example"],
                f"{agree:,} of {matches:,}",
            )
        )
    header = ("Family", "Rules", "What it says", "Example", "Agree, of all matches")
    return MarkdownRenderer().table(rows, header, aligns=("l", "r", "l", "l", "r"))


def count(rules: list[dict[str, Any]], corpus: Path) -> list[tuple[int, int]]:
    """Matches that agree, and all matches, of each rule."""
    vocab = spacy.blank("xx").vocab
    matcher = Matcher(vocab)
    for number, rule in enumerate(rules):
        matcher.add(str(number), [rule["tokens"]])
    agree, matches = [0] * len(rules), [0] * len(rules)
    for doc in DocBin().from_disk(corpus).get_docs(vocab):
        for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
            for key, start, end in set(matcher(sentence)):
                number = int(vocab.strings[key])
                matches[number] += 1
                agree[number] += agrees(
                    rules[number]["labels"], [token.tag_ for token in sentence[start:end]]
                )
    return list(zip(agree, matches, strict=True))


def agrees(labels: list[Any], tags: list[str]) -> bool:
    """Whether tags are what a rule says; a variable has one value in all its places."""
    values: dict[str, str] = {}
    for label, tag in zip(labels, tags, strict=True):
        if isinstance(label, list):
            if tag not in label:
                return False
        elif label.startswith("?"):
            if values.setdefault(label, tag) != tag:
                return False
        elif label not in ("*", tag):
            return False
    return True


def one_key_a_line(rules: list[dict[str, Any]]) -> str:
    """JSON that can be read and compared line by line."""
    texts = [
        ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in rule.items()
        )
        for rule in rules
    ]
    return "[\n" + ",\n".join(f" {{\n{text}\n }}" for text in texts) + "\n]\n"


if __name__ == "__main__":
    typer.run(main)
