"""Each rule by which chunks are taken from a tree, with a tree of its own. docs/reference/readers.md has the table."""

import re
from pathlib import Path

import pytest

from spacy_hoseq.readers.files import Line
from spacy_hoseq.readers.formats.chunk_rules import chunks_of_tree
from spacy_hoseq.readers.formats.trees import Tree, leaves, parse_trees

RULES = """\
a chunk ends with its head: [NP the old cook] [PP from] [NP Ulm] [VP left] .
    (S (NP-SBJ (NP (DT the) (JJ old) (NN cook)) (PP (IN from) (NP (NNP Ulm)))) (VP (VBD left)) (. .))
verbs and what stands between them are one chunk: [NP we] [VP will not have slept]
    (S (NP (PRP we)) (VP (MD will) (RB not) (VP (VB have) (VP (VBN slept)))))
an adverbial phrase before the last verb is inside: [VP was rather slowly eaten] [ADVP again]
    (VP (VBD was) (ADVP (RB rather) (RB slowly)) (VP (VBN eaten) (ADVP (RB again))))
an adverbial phrase behind it is not: [VP ran] [ADVP away]
    (VP (VBD ran) (ADVP (RB away)))
an object between two verbs cuts: [VP let] [NP him] [VP go]
    (VP (VBD let) (S (NP-SBJ (PRP him)) (VP (VB go))))
an infinitive without a subject goes on: [VP is asked to sing]
    (VP (VBZ is) (VP (VBN asked) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sing))))))
a gerund without a subject goes on: [VP began snowing]
    (VP (VBD began) (S (NP-SBJ-2 (-NONE- *-1)) (VP (VBG snowing))))
not with a function: [VP stopped] [VP to rest]
    (VP (VBD stopped) (S-PRP (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB rest)))))
not behind a trace: [VP told] [VP to wait]
    (VP (VBD told) (NP (-NONE- *-1)) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB wait)))))
an empty complementizer is not there: [VP told to wait]
    (VP (VBD told) (-NONE- 0) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB wait)))))
a predicate is apart from its verb: [VP makes] [NP them] [ADJP happy]
    (VP (VBZ makes) (S (NP-SBJ (PRP them)) (ADJP-PRD (JJ happy))))
verb phrases that are joined are two chunks: [VP came] and [VP went]
    (VP (VP (VBD came)) (CC and) (VP (VBD went)))
verbs that are joined are one: [VP rose and fell]
    (VP (VBD rose) (CC and) (VBD fell))
an inverted verb is a chunk of its own only in a verb phrase: did [NP she] [VP call] ?
    (SQ (VBD did) (NP-SBJ (PRP she)) (VP (VB call)) (. ?))
nouns that are joined are one chunk: [NP cats , dogs and birds]
    (NP (NNS cats) (, ,) (NNS dogs) (CC and) (NNS birds))
noun phrases that are joined are several: [NP a cat] and [NP a dog]
    (NP (NP (DT a) (NN cat)) (CC and) (NP (DT a) (NN dog)))
words behind the head are outside: [NP the word] '' ,
    (NP (DT the) (NN word) ('' '') (, ,))
quotes before it are inside: [NP the `` big '' one]
    (NP (DT the) (`` ``) (JJ big) ('' '') (NN one))
a possessive ending begins the next noun phrase: [NP the king] [NP 's new hat]
    (NP (NP (DT the) (NN king) (POS 's)) (JJ new) (NN hat))
or is one of its own: [NP Ada] [NP 's] [VP is] [ADJP red]
    (S (NP (NP (NNP Ada) (POS 's))) (VP (VBZ is) (ADJP (JJ red))))
two possessive endings: [NP Ada] [NP 's aunt] [NP 's hat]
    (NP (NP (NP (NNP Ada) (POS 's)) (NN aunt) (POS 's)) (NN hat))
quantities are inside: [NP more than 40 eggs]
    (NP (QP (JJR more) (IN than) (CD 40)) (NNS eggs))
sums of money are inside: [NP $ 3 million]
    (NP (QP ($ $) (CD 3) (CD million)) (-NONE- *U*))
adjectives are inside: [NP a very small state or local shop]
    (NP (DT a) (ADJP (RB very) (JJ small)) (UCP (NN state) (CC or) (JJ local)) (NN shop))
not behind a noun phrase: [NP Bo] , [NP 7 years] [ADJP old] ,
    (NP (NP (NNP Bo)) (, ,) (ADJP (NP (CD 7) (NNS years)) (JJ old)) (, ,))
adjectives behind a possessive noun phrase are a chunk of their own: [NP Ada] [NP 's] [ADJP most dear] [NP aunt]
    (NP (NP (NNP Ada) (POS 's)) (ADJP (RB most) (JJ dear)) (NN aunt))
titles and names with complements dissolve: Duke [PP of] [NP York] [NP Kim]
    (NP (NAC (NNP Duke) (PP (IN of) (NP (NNP York)))) (NNP Kim))
parts of noun phrases dissolve: [NP the red hat and blue coat]
    (NP (DT the) (NX (NX (JJ red) (NN hat)) (CC and) (NX (JJ blue) (NN coat))))
unknown constituents dissolve: [NP the end]
    (NP (X (DT the)) (NN end))
predeterminers are inside: [NP all the eggs]
    (NP (PDT all) (DT the) (NNS eggs))
a preposition alone is a chunk: [PP in] [NP the park]
    (PP (IN in) (NP (DT the) (NN park)))
prepositions of two words are one: [PP because of] [NP rain]
    (PP (IN because) (IN of) (NP (NN rain)))
such as: [PP such as] [NP rain]
    (PP (JJ such) (IN as) (NP (NN rain)))
according to: [PP according] [PP to] [NP us]
    (PP (VBG according) (PP (TO to) (NP (PRP us))))
an adverbial phrase before a preposition: [ADVP just] [PP before] [NP noon]
    (PP (ADVP (RB just)) (IN before) (NP (NN noon)))
an adverb before it is inside: [PP just before] [NP noon]
    (PP (RB just) (IN before) (NP (NN noon)))
a measure before ago is apart: [NP two years] [ADVP ago]
    (ADVP (NP (CD two) (NNS years)) (IN ago))
a measure behind a direction: [ADVP up] [NP 5 %]
    (ADVP (RB up) (NP (CD 5) (NN %)))
a conjunction of clauses: [SBAR that] [NP it] [VP rains]
    (SBAR (IN that) (S (NP (PRP it)) (VP (VBZ rains))))
conjunctions of two words: [SBAR even if] [NP it] [VP rains]
    (SBAR (RB even) (IN if) (S (NP (PRP it)) (VP (VBZ rains))))
in order to: [SBAR in] order [VP to win]
    (SBAR (IN in) (NN order) (S (NP (-NONE- *)) (VP (TO to) (VP (VB win)))))
pronouns of questions are noun phrases: [NP who] [VP sings]
    (SBAR (WHNP-1 (WP who)) (S (NP-SBJ (-NONE- *T*-1)) (VP (VBZ sings))))
whose: [NP whose new hat]
    (WHNP (WP$ whose) (JJ new) (NN hat))
how many: [NP how many eggs]
    (WHNP (WHADJP (WRB how) (JJ many)) (NNS eggs))
where: [ADVP where] [NP we] [VP are]
    (SBAR (WHADVP-1 (WRB where)) (S (NP (PRP we)) (VP (VBP are))))
of which: [PP of] [NP which]
    (WHPP (IN of) (WHNP (WDT which)))
how big: [ADJP how big]
    (WHADJP (WRB how) (JJ big))
adverbs in adjective phrases: [ADJP not so easy]
    (ADJP (ADVP (RB not) (RB so)) (JJ easy))
complements of adjectives are apart: [ADJP full] [PP of] [NP rain]
    (ADJP (JJ full) (PP (IN of) (NP (NN rain))))
particles: [VP gave] [PRT up] [NP hope]
    (VP (VBD gave) (PRT (RP up)) (NP (NN hope)))
adverb or particle: [VP gave] [ADVP up]
    (VP (VBD gave) (ADVP|PRT (RP up)))
as well as: [NP cats] [CONJP as well as] [NP dogs]
    (NP (NP (NNS cats)) (CONJP (RB as) (RB well) (IN as)) (NP (NNS dogs)))
interjections: [INTJ oh well]
    (INTJ (UH oh) (UH well))
numbers of lists: [LST 1] .
    (LST (LS 1) (. .))
unlike phrases: [UCP old and state]
    (UCP (JJ old) (CC and) (NN state))
fragments, clauses and parentheses have no chunk of their own: [NP Ulm] -- -LRB- [NP rain] -RRB-
    (FRAG (NP (NNP Ulm)) (: --) (PRN (-LRB- -LRB-) (NP (NN rain)) (-RRB- -RRB-)))
a relative clause without a verb: [NP a hat] [ADVP once] [VP used]
    (NP (NP (DT a) (NN hat)) (RRC (ADVP (RB once)) (VP (VBN used))))
what stands in a phrase ends its chunk: the -- [NP I] [VP think] -- [NP end]
    (NP (DT the) (PRN (: --) (NP (PRP I)) (VP (VBP think)) (: --)) (NN end))
functions and indices are no matter: [NP this week] [PP in] [NP Ulm]
    (NP-SBJ=2 (NP-TMP-3 (DT this) (NN week)) (PP-LOC-CLR (IN in) (NP (NNP Ulm))))
no head, no chunk: , [NP rain]
    (PP (, ,) (NP (NN rain)))
a trace is no word:
    (NP (-NONE- *T*-1))
several constituents in the outermost bracket: [NP rain] .
    ((NP (NN rain)) (. .))
"""  # what a rule is about: the chunks of the tree below


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


@pytest.mark.parametrize("rule, chunks, tree", re.findall(r"(.+?): ?(.*)\n +(.+)\n", RULES))
def test_rule(rule, chunks, tree):
    assert shown(tree_of(tree)) == chunks
