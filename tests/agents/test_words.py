"""Words, numbers and overlap, in scripts with and without spaces; and what text costs a model."""

import pytest

from agents.words import (
    likeness,
    negations_of,
    numbers_of,
    one_line,
    quotes,
    script_of,
    sentences_of,
    shared_runs,
    terms_of,
    tokens_of,
    words_of,
)


def test_words_are_compared_in_one_form_and_chinese_by_pairs():
    assert words_of("The ＷＯＲＤ's, end_of") == ("the", "word", "s", "end", "of")
    assert words_of("阳光直射") == ("阳光", "光直", "直射")
    assert words_of("水") == ("水",)
    assert words_of("我的手") == ("我", "手"), "function characters hold no pair together"
    assert terms_of("提醒避免阳光直射 with SPF") == ["阳光直射", "with", "spf"]


def test_related_chinese_texts_are_told_from_unrelated_ones():
    near = likeness(words_of("提醒患者避免阳光直射"), words_of("提醒病人避免阳光直射"))
    far = likeness(words_of("提醒患者避免阳光直射"), words_of("推荐几本历史小说"))
    assert near >= 0.5
    assert far == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("take 3 of two, B12", {"3", "two"}),
        ("none at all", set()),
        ("三个原因", {"三个"}),
        ("一般", set()),
        ("需要3天", {"3"}),
        ("at ½ speed", {"1", "2"}),
    ],
)
def test_numbers_in_digits_and_words(text, expected):
    assert numbers_of(text) == expected


def test_negations_scripts_sentences_and_quotations():
    assert negations_of("Do not say it, without doubt. 不要") == {"not", "without", "不"}
    assert script_of("晒伤 with SPF 50 怎么办") == "CJK"
    assert script_of("Привет") == "CYRILLIC"
    assert script_of("123") == ""
    assert sentences_of("One. Two!\nThree。四！") == ("One.", "Two!", "Three。", "四！")
    assert sentences_of("It is 3.5 long") == ("It is 3.5 long",)
    assert quotes("red Apple", "a RED apple!")
    assert not quotes("red app", "a red apple")
    assert shared_runs("a b c d", "x a b c d y") == 1
    assert shared_runs("a b", "a b") == 0


def test_four_latin_characters_are_a_token_and_any_other_is_one():
    assert tokens_of("abcd" * 10) == 10
    assert tokens_of("水" * 10) == 10
    assert tokens_of("über") == 1
    assert tokens_of("") == 0


def test_one_line_is_one_line_within_its_limit():
    assert one_line("a\n b", 10) == "a b"
    assert len(one_line("word " * 100, 30)) <= 30
