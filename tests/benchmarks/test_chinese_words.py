"""Words of raw Chinese text: how they are scored."""


def test_words_count_if_both_ends_are_right(benchmarks):
    scores = benchmarks("chinese_words").scores
    f, recall = scores([["ab", "c", "de"], ["f"]], [["ab", "cd", "e"], ["f"]], known={"ab"})
    assert f == 2 * 2 / (4 + 4)
    assert recall == 1 / 3, "of c, de and f only f"
    assert scores([["ab", "c"]], [["ab", "c"]], known={"ab", "c"}) == (1.0, 0.0)
