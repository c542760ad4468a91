"""Each rule by which chunks are taken from a tree, with a tree of its own. docs/reference/readers.md has the table."""

from pathlib import Path

import pytest

from spacy_hoseq.readers.files import Line
from spacy_hoseq.readers.formats.chunk_rules import category, chunks_of_tree, functions
from spacy_hoseq.readers.formats.trees import Tree, leaves, parse_trees

# rule: tree, chunks
RULES = {
    "a chunk ends with its head": (
        "(S (NP-SBJ (NP (DT the) (JJ old) (NN cook)) (PP (IN from) (NP (NNP Ulm)))) (VP (VBD left)) (. .))",
        "[NP the old cook] [PP from] [NP Ulm] [VP left] .",
    ),
    "verbs and what stands between them are one chunk": (
        "(S (NP (PRP we)) (VP (MD will) (RB not) (VP (VB have) (VP (VBN slept)))))",
        "[NP we] [VP will not have slept]",
    ),
    "an adverbial phrase before the last verb is inside": (
        "(VP (VBD was) (ADVP (RB rather) (RB slowly)) (VP (VBN eaten) (ADVP (RB again))))",
        "[VP was rather slowly eaten] [ADVP again]",
    ),
    "an adverbial phrase behind it is not": ("(VP (VBD ran) (ADVP (RB away)))", "[VP ran] [ADVP away]"),
    "an object between two verbs cuts": (
        "(VP (VBD let) (S (NP-SBJ (PRP him)) (VP (VB go))))",
        "[VP let] [NP him] [VP go]",
    ),
    "an infinitive without a subject goes on": (
        "(VP (VBZ is) (VP (VBN asked) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sing))))))",
        "[VP is asked to sing]",
    ),
    "a gerund without a subject goes on": (
        "(VP (VBD began) (S (NP-SBJ-2 (-NONE- *-1)) (VP (VBG snowing))))",
        "[VP began snowing]",
    ),
    "not with a function": (
        "(VP (VBD stopped) (S-PRP (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB rest)))))",
        "[VP stopped] [VP to rest]",
    ),
    "not behind a trace": (
        "(VP (VBD told) (NP (-NONE- *-1)) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB wait)))))",
        "[VP told] [VP to wait]",
    ),
    "an empty complementizer is not there": (
        "(VP (VBD told) (-NONE- 0) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB wait)))))",
        "[VP told to wait]",
    ),
    "a predicate is apart from its verb": (
        "(VP (VBZ makes) (S (NP-SBJ (PRP them)) (ADJP-PRD (JJ happy))))",
        "[VP makes] [NP them] [ADJP happy]",
    ),
    "verb phrases that are joined are two chunks": (
        "(VP (VP (VBD came)) (CC and) (VP (VBD went)))",
        "[VP came] and [VP went]",
    ),
    "verbs that are joined are one": ("(VP (VBD rose) (CC and) (VBD fell))", "[VP rose and fell]"),
    "an inverted verb is a chunk of its own only in a verb phrase": (
        "(SQ (VBD did) (NP-SBJ (PRP she)) (VP (VB call)) (. ?))",
        "did [NP she] [VP call] ?",
    ),
    "nouns that are joined are one chunk": (
        "(NP (NNS cats) (, ,) (NNS dogs) (CC and) (NNS birds))",
        "[NP cats , dogs and birds]",
    ),
    "noun phrases that are joined are several": (
        "(NP (NP (DT a) (NN cat)) (CC and) (NP (DT a) (NN dog)))",
        "[NP a cat] and [NP a dog]",
    ),
    "words behind the head are outside": (
        "(NP (DT the) (NN word) ('' '') (, ,))",
        "[NP the word] '' ,",
    ),
    "quotes before it are inside": ("(NP (DT the) (`` ``) (JJ big) ('' '') (NN one))", "[NP the `` big '' one]"),
    "a possessive ending begins the next noun phrase": (
        "(NP (NP (DT the) (NN king) (POS 's)) (JJ new) (NN hat))",
        "[NP the king] [NP 's new hat]",
    ),
    "or is one of its own": (
        "(S (NP (NP (NNP Ada) (POS 's))) (VP (VBZ is) (ADJP (JJ red))))",
        "[NP Ada] [NP 's] [VP is] [ADJP red]",
    ),
    "two possessive endings": (
        "(NP (NP (NP (NNP Ada) (POS 's)) (NN aunt) (POS 's)) (NN hat))",
        "[NP Ada] [NP 's aunt] [NP 's hat]",
    ),
    "quantities are inside": (
        "(NP (QP (JJR more) (IN than) (CD 40)) (NNS eggs))",
        "[NP more than 40 eggs]",
    ),
    "sums of money are inside": (
        "(NP (QP ($ $) (CD 3) (CD million)) (-NONE- *U*))",
        "[NP $ 3 million]",
    ),
    "adjectives are inside": (
        "(NP (DT a) (ADJP (RB very) (JJ small)) (UCP (NN state) (CC or) (JJ local)) (NN shop))",
        "[NP a very small state or local shop]",
    ),
    "not behind a noun phrase": (
        "(NP (NP (NNP Bo)) (, ,) (ADJP (NP (CD 7) (NNS years)) (JJ old)) (, ,))",
        "[NP Bo] , [NP 7 years] [ADJP old] ,",
    ),
    "adjectives behind a possessive noun phrase are a chunk of their own": (
        "(NP (NP (NNP Ada) (POS 's)) (ADJP (RB most) (JJ dear)) (NN aunt))",
        "[NP Ada] [NP 's] [ADJP most dear] [NP aunt]",
    ),
    "titles and names with complements dissolve": (
        "(NP (NAC (NNP Duke) (PP (IN of) (NP (NNP York)))) (NNP Kim))",
        "Duke [PP of] [NP York] [NP Kim]",
    ),
    "parts of noun phrases dissolve": (
        "(NP (DT the) (NX (NX (JJ red) (NN hat)) (CC and) (NX (JJ blue) (NN coat))))",
        "[NP the red hat and blue coat]",
    ),
    "unknown constituents dissolve": ("(NP (X (DT the)) (NN end))", "[NP the end]"),
    "predeterminers are inside": ("(NP (PDT all) (DT the) (NNS eggs))", "[NP all the eggs]"),
    "a preposition alone is a chunk": (
        "(PP (IN in) (NP (DT the) (NN park)))",
        "[PP in] [NP the park]",
    ),
    "prepositions of two words are one": ("(PP (IN because) (IN of) (NP (NN rain)))", "[PP because of] [NP rain]"),
    "such as": ("(PP (JJ such) (IN as) (NP (NN rain)))", "[PP such as] [NP rain]"),
    "according to": ("(PP (VBG according) (PP (TO to) (NP (PRP us))))", "[PP according] [PP to] [NP us]"),
    "an adverbial phrase before a preposition": (
        "(PP (ADVP (RB just)) (IN before) (NP (NN noon)))",
        "[ADVP just] [PP before] [NP noon]",
    ),
    "an adverb before it is inside": ("(PP (RB just) (IN before) (NP (NN noon)))", "[PP just before] [NP noon]"),
    "a measure before ago is apart": (
        "(ADVP (NP (CD two) (NNS years)) (IN ago))",
        "[NP two years] [ADVP ago]",
    ),
    "a measure behind a direction": (
        "(ADVP (RB up) (NP (CD 5) (NN %)))",
        "[ADVP up] [NP 5 %]",
    ),
    "a conjunction of clauses": (
        "(SBAR (IN that) (S (NP (PRP it)) (VP (VBZ rains))))",
        "[SBAR that] [NP it] [VP rains]",
    ),
    "conjunctions of two words": (
        "(SBAR (RB even) (IN if) (S (NP (PRP it)) (VP (VBZ rains))))",
        "[SBAR even if] [NP it] [VP rains]",
    ),
    "in order to": (
        "(SBAR (IN in) (NN order) (S (NP (-NONE- *)) (VP (TO to) (VP (VB win)))))",
        "[SBAR in] order [VP to win]",
    ),
    "pronouns of questions are noun phrases": (
        "(SBAR (WHNP-1 (WP who)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBZ sings))))",
        "[NP who] [VP sings]",
    ),
    "whose": ("(WHNP (WP$ whose) (JJ new) (NN hat))", "[NP whose new hat]"),
    "how many": ("(WHNP (WHADJP (WRB how) (JJ many)) (NNS eggs))", "[NP how many eggs]"),
    "where": ("(SBAR (WHADVP-1 (WRB where)) (S (NP (PRP we)) (VP (VBP are))))", "[ADVP where] [NP we] [VP are]"),
    "of which": ("(WHPP (IN of) (WHNP (WDT which)))", "[PP of] [NP which]"),
    "how big": ("(WHADJP (WRB how) (JJ big))", "[ADJP how big]"),
    "adverbs in adjective phrases": (
        "(ADJP (ADVP (RB not) (RB so)) (JJ easy))",
        "[ADJP not so easy]",
    ),
    "complements of adjectives are apart": (
        "(ADJP (JJ full) (PP (IN of) (NP (NN rain))))",
        "[ADJP full] [PP of] [NP rain]",
    ),
    "particles": ("(VP (VBD gave) (PRT (RP up)) (NP (NN hope)))", "[VP gave] [PRT up] [NP hope]"),
    "adverb or particle": ("(VP (VBD gave) (ADVP|PRT (RP up)))", "[VP gave] [ADVP up]"),
    "as well as": (
        "(NP (NP (NNS cats)) (CONJP (RB as) (RB well) (IN as)) (NP (NNS dogs)))",
        "[NP cats] [CONJP as well as] [NP dogs]",
    ),
    "interjections": ("(INTJ (UH oh) (UH well))", "[INTJ oh well]"),
    "numbers of lists": ("(LST (LS 1) (. .))", "[LST 1] ."),
    "unlike phrases": ("(UCP (JJ old) (CC and) (NN state))", "[UCP old and state]"),
    "fragments, clauses and parentheses have no chunk of their own": (
        "(FRAG (NP (NNP Ulm)) (: --) (PRN (-LRB- -LRB-) (NP (NN rain)) (-RRB- -RRB-)))",
        "[NP Ulm] -- -LRB- [NP rain] -RRB-",
    ),
    "a relative clause without a verb": (
        "(NP (NP (DT a) (NN hat)) (RRC (ADVP (RB once)) (VP (VBN used))))",
        "[NP a hat] [ADVP once] [VP used]",
    ),
    "what stands in a phrase ends its chunk": (
        "(NP (DT the) (PRN (: --) (NP (PRP I)) (VP (VBP think)) (: --)) (NN end))",
        "the -- [NP I] [VP think] -- [NP end]",
    ),
    "functions and indices are no matter": (
        "(NP-SBJ=2 (NP-TMP-3 (DT this) (NN week)) (PP-LOC-CLR (IN in) (NP (NNP Ulm))))",
        "[NP this week] [PP in] [NP Ulm]",
    ),
    "no head, no chunk": ("(PP (, ,) (NP (NN rain)))", ", [NP rain]"),
    "a trace is no word": ("(NP (-NONE- *T*-1))", ""),
    "several constituents in the outermost bracket": ("((NP (NN rain)) (. .))", "[NP rain] ."),
}  # fmt: skip


def tree_of(text):
    (tree,) = parse_trees([Line(1, text)], Path("trees.mrg"))
    assert isinstance(tree, Tree), tree
    return tree


def shown(tree):
    """[NP the chunks] in brackets."""
    words = [leaf.word for leaf in leaves(tree) if leaf.label != "-NONE-"]
    for first, end, name in chunks_of_tree(tree):
        words[first] = f"[{name} {words[first]}"
        words[end - 1] += "]"
    return " ".join(words)


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule):
    text, chunks = RULES[rule]
    assert shown(tree_of(text)) == chunks


def test_labels():
    names = ["NP-SBJ-12", "ADVP|PRT", "S=1", "NP-SBJ=2", "-NONE-", "", "SBAR-TPC-1"]
    assert [category(name) for name in names] == ["NP", "ADVP", "S", "NP", "", "", "SBAR"]
    expected = ["NP-SBJ", "ADVP|PRT", "S", "NP-SBJ", "-NONE-", "", "SBAR-TPC"]
    assert [functions(name) for name in names] == expected
