"""What meets each rule and what does not, in English and, where the notion exists, in Chinese."""

from typing import Any

import pytest

from memory.task import Rule
from training.reward.rules import RULES, check

CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("mentions_none", {"phrases": ["rock"]}, ["A rocket rises."], ["It is a rock."]),
    ("mentions_all", {"phrases": ["血压", "盐"]}, ["少吃盐，控制血压。"], ["少吃盐。"]),
    ("mentions_all", {"phrases": ["ประเทศไทย"]}, ["ฉันรักประเทศไทยมาก"], ["ฉันรักไทย"]),
    ("mentions_any", {"phrases": ["Ganon"]}, ["Ganon's tower", "GANON!"], ["Ganondorf"]),
    ("mentions_count", {"phrase": "grid", "min": 2, "max": 2}, ["Grid, grid's"], ["grid grid grid", "gridlock grid"]),
    ("word_count", {"min": 4, "max": 4}, ["一二三四。", "well-known don't stop"], ["one two three", "一 二 three four five"]),
    ("character_count", {"max": 5}, ["abc de"[:5], "  abcde  "], ["abcdef"]),
    ("sentence_count", {"min": 2, "max": 2}, ["One. Two!", "你好。再见。"], ["One.", "Pi is 3.14."]),
    ("paragraph_count", {"min": 2, "max": 2}, ["a\n\nb", "\n\na\n \nb\n\n", "a\n\n---\n\nb"], ["a\nb", "a\n\nb\n\nc"]),
    ("line_count", {"min": 3, "max": 3}, ["a\n\nb\nc"], ["a\nb"]),
    ("bullet_count", {"min": 2, "max": 2}, ["* a\n* b", "- a\n  • b", "-a\n-b"], ["* a", "---\n- a", "**bold**\n* a"]),
    ("numbered_count", {"min": 2}, ["1. a\n2) b", "一\n1、a\n②b"], ["1.5 mg\n3.2 l", "1. a"]),
    (
        "question_count",
        {"min": 1, "max": 1},
        ["Why? Because.", "为什么？", '"Why?" he asked.'],
        ["No.", "No!", "Who? What?", "See a.org/x?y=1"],
    ),
    ("number_count", {"min": 2, "max": 2}, ["3 and 4.5", "-2, 1,000"], ["the 1960s and 7", "1 2 3"]),
    ("different_words", {"min": 3}, ["a b c a"], ["a a b B"]),
    ("letter_count", {"letter": "#", "min": 2}, ["#a #b"], ["#a"]),
    ("letter_count", {"letter": "q", "max": 1}, ["Queen", "none"], ["Quick queen"]),
    ("capital_words", {"min": 2}, ["VERY GOOD", "I AM"], ["Very GOOD"]),
    (
        "paragraph_starts_with",
        {"index": 2, "phrase": "weekend"},
        ["a\n\nWeekend b", "\n\na\n\n**Weekend**"],
        ["weekend\n\na", "weekend"],
    ),
    ("no_commas", {}, ["a; b"], ["a, b", "甲，乙", "甲、乙"]),
    ("all_lowercase", {}, ["all small é"], ["One", "123", "一二三"]),
    ("all_capitals", {}, ["LOUD 1!"], ["Loud", "123"]),
    ("is_json", {}, ['{"a": [1]}', "```json\n[]\n```"], ["{'a': 1}", "see: {}", "", "NaN", '{"a": 1} {}']),
    ("title_in_brackets", {}, ["<<My title>>\ntext"], ["<<>>", "<title>", "<< >>"]),
    ("highlights", {"min": 2}, ["*one* and **two**", "*a* *b*"], ["*one*", "2 * 3 * 4", "** **", "*one\ntwo*"]),
    ("highlights", {"min": 0}, ["none"], []),
    ("placeholders", {"min": 2}, ["[name], [date]"], ["[name]", "[]", "[a"]),
    (
        "postscript",
        {"marker": "P.S."},
        ["Bye\nP.S. call me", "**P.S.** call", "_P. S.:_ call", "p.s. 😀 call"],
        ["ps", "Bye. P.S.", "Upsides are many", "the ps file"],
    ),
    ("postscript", {"marker": "P.P.S"}, ["P.P.S. one more", "P.P.S: one"], ["P.S. one"]),
    ("postscript", {"marker": "附言"}, ["再见。\n附言：请回信。", "附言请回信"], ["再见。附言", "再见"]),
    (
        "sections",
        {"marker": "SECTION", "min": 2},
        ["SECTION 1\na\nSECTION 2\nb", '"SECTION 1 a **SECTION 2** b'],
        ["SECTION 1", "subSECTION 1 SECTION 2"],
    ),
    ("two_responses", {}, ["a\n******\nb", "a******b******"], ["a", "a******a", "a******b******c", "******"]),
    ("in_quotes", {}, ['"all of it"', "“all”", "「全部」"], ['"half', "none", '""']),
    ("language", {"code": "zh"}, ["今天天气很好，我们去公园。"], ["今日は天気がいいですね。", "hello", ""]),
    ("language", {"code": "zh-CN"}, ["今天天气很好，我们去公园。"], ["hello"]),
    (
        "language",
        {"code": "en"},
        [
            "WE BUY AN iPAD AND A CAKE FOR HER BIRTHDAY",
            "Ask for 'das Brot' in the bakery here.",
        ],
        ["今天天气很好。"],
    ),
    (
        "language",
        {"code": "sw"},
        ["Leo ni siku nzuri sana. Tunakwenda sokoni kununua matunda."],
        ["Mabadiliko aliambidi mabadiliko. (Exchange demanded exchange.)"],
    ),
    ("language", {"code": "ja"}, ["今日は天気がいいですね。"], ["今天天气很好。"]),
    ("language", {"code": "kn"}, ["ನಮಸ್ಕಾರ ಹೇಗಿದ್ದೀರಿ"], ["hello there my friend", "?!"]),
    (
        "language",
        {"code": "de"},
        ["Das Wetter ist heute schön und wir gehen in den Park."],
        ["The weather is nice today and we go to the park."],
    ),
    ("one_of", {"options": ["yes", "no", "maybe"]}, ["Yes.", " maybe "], ["Yes and no", "never"]),
    (
        "repeats_request",
        {"request": "Write a poem, please."},
        ["Write a poem, please.\nRoses", "write a poem,\nplease. Roses"],
        ["Sure! Write a poem, please.", "Write a poem please. Roses", "Write a poem, please"],
    ),
    ("mentions_several", {"phrases": ["a", "b", "c"], "min": 2}, ["a b"], ["a a"]),
    ("mentions_several", {"phrases": ["a", "A", "b"], "min": 2}, ["a b"], ["a"]),
    ("starts_with", {"phrase": "亲爱的"}, ["亲爱的妈妈"], ["妈妈，亲爱的"]),
    ("starts_with", {"phrase": "สวัสดี"}, ["สวัสดีครับ"], ["ครับสวัสดี"]),
    ("ends_with", {"phrase": "Anything else?"}, ["Bye. **Anything else?**"], ["Anything else? Bye."]),
    ("parts", {"divider": "***", "min": 2, "max": 2}, ["a\n***\nb"], ["a", "***a"]),
    ("share_of_words", {"phrases": ["the"], "max_percentage": 50}, ["the cat"], ["the the cat", ""]),
    ("repeats_words_at_most", {"n": 2}, ["a b a"], ["a a a", ""]),
    ("trigram_overlap", {"reference": "abcdef", "percentage": 100}, ["abcd"], ["abcx", "ab"]),
    ("sentences_grow", {"by": 1}, ["One. And two. Now are three."], ["One. Two.", "One."]),
    ("list_with_marker", {"marker": "!?!?"}, ["!?!? a\n!?!? b", "!?!? a !?!? b"], ["a\nb"]),
    ("list_with_marker", {"marker": "-"}, ["- a\n- b"], ["one - two - three"]),
    ("sub_bullets", {}, ["* a\n  - b\n* c\n  - d"], ["* a\n* b\n  - c", "- a"]),
    ("sentences_then_bullets", {}, ["One. Two.\n* a\n* b"], ["One.\n* a\n* b", "* a\n* b\nOne. Two."]),
    ("nested_brackets", {"depth": 3}, ["([{x}])"], ["(x)[y]{z}", "([{x", "([)]"]),
    ("nested_quotes", {"depth": 3}, ['"he said \'she said "yes"\'"'], ['"a" "b" "c"', "it's Bob's"]),
    ("quotes_explained", {}, ['"Cogito" means I think.'], ['He said "hi"', "none"]),
    ("theses_in_italics", {}, ["<i>All is water.</i> So said Thales."], ["All is water."]),
    ("emoji_after_sentences", {}, ["Hi! 😀 Bye. ⏱️", "Hi 😀. Bye 🌊.", "Hi 👍🏻", "Hi ⏱️."], ["Hi! Bye. 😀", "Hi."]),
    ("staircase", {}, ["a\n b\n  c"], ["a\nb", "a"]),
    ("one_word_per_line", {}, ["a\nb\n\nc"], ["a b\nc", ""]),
    ("no_whitespace", {}, ["ab"], ["a b", "a\n", ""]),
    ("title_case", {}, ["The Fall of Rome"], ["The fall Of Rome", ""]),
    ("all_punctuation", {}, ["A, b; c: d! e? f?! g."], ["A, b; c: d! e? g.", "What?!"]),
    (
        "follows_template",
        {"headings": ["My Answer:", "Outlook:"]},
        ["My Answer: a Outlook: b"],
        ["Outlook: a My Answer: b", "My Answer: Outlook:"],
    ),
    ("csv_table", {"columns": ["A", "B"], "rows": 1}, ["A,B\n1,2", "```csv\nA,B\n1,2\n```"], ["A,B", "A,C\n1,2"]),
    ("csv_table", {"columns": ["A", "B"], "rows": 1, "delimiter": "\t", "quoted": True}, ['"A"\t"B"\n"1"\t"2"'], ["A\tB\n1\t2"]),
    (
        "csv_table",
        {"columns": ["A", "B"], "rows": 1, "special": True},
        ['A,B\n1,"x@y"', 'A,B\n1,"x,y"'],
        ['A,B\n1,"x"', "A,B\n1,x@y"],
    ),
    ("alphabet_of_words", {}, ["Apes bite cats", "yes, zebras ask"], ["apes cats", ""]),
    ("different_vowels", {"max": 2}, ["banana bed"], ["audio"]),
    ("consonant_clusters", {}, ["strong clams"], ["a strong", ""]),
    ("prime_word_lengths", {}, ["it has"], ["four word"]),
    ("no_shared_initials", {}, ["big cats bite"], ["big bears"]),
    ("palindromes", {"min": 1}, ["a level road"], ["noon", "roads"]),
    ("nth_word_in_japanese", {"n": 2}, ["I 好き you 猫"], ["I like you 猫", ""]),
    ("statements_per_question", {"n": 2}, ["One. Two. Three?"], ["One. Two?", "One. Two."]),
    ("balanced_sentence_types", {}, ["One. Two? Three!"], ["One. Two?", ""]),
    ("chained_sentences", {}, ["I see you. You see me."], ["I see you. I see me.", "One."]),
    ("circular_paragraphs", {}, ["Rain is rain.\n\nSun is sun."], ["Rain falls.", "Rain"]),
    ("growing_alliteration", {}, ["Go on. Big bears. Tiny tame tigers."], ["Big bears. Go on.", "One."]),
    ("equal_sentences_of_different_words", {"n": 2}, ["I go. We b."], ["I go. I be.", "I go."]),
    ("growing_questions", {"n": 1, "options": 2}, ["Question 1: Why?\nA. a\nB. b"], ["Question 1: Why?\nA. a"]),
    ("sentence_mentions", {"index": 2, "phrase": "fox"}, ["One. A fox ran."], ["A fox. One.", "Fox."]),
    ("word_at", {"phrase": "fox", "sentence": 1, "word": 2}, ["A fox ran."], ["Fox ran.", "Big one. Fox ran."]),
    ("second_words", {"phrase": "fox"}, ["a fox is a fox too"], ["fox a b fox"]),
    ("repeats_only", {"request": "Do it."}, ["Do it."], ["Do it. Done."]),
    ("repeats_with_new_first_word", {"request": "Write it down"}, ["Jot it down"], ["Write it down", "Jot it"]),
    ("repeats_span", {"request": "a b c d", "first": 1, "last": 2}, ["b c"], ["a b"]),
    ("numbers_are", {"numbers": [14, 21]}, ["14, 21"], ["14", "7 14 21"]),
    ("list_is", {"entries": ["Oslo", "Rome"]}, ["Oslo, Rome", "Oslo\nRome"], ["Rome, Oslo"]),
    (
        "lists_backwards",
        {"entries": ["Côte d'Ivoire/Ivory Coast", "The Gambia", "Mali"]},
        ["Mali\nIvory Coast\nGambia", "Here they are:\n1. Mali\n2. The Gambia\n3. Cote d’Ivoire"],
        ["Mali\nGambia", "Gambia\nIvory Coast\nMali", "Mali\nKorea\nIvory Coast\nGambia", ""],
    ),
    ("dates_only", {}, ["1796-04-12, 1805-12-02"], ["1796-04-12", "1796-13-12, 1805-12-02", "1. 1796-04-12, 1805-12-02"]),
    ("contains_reversed_text", {"phrases": ["bald eagle"]}, ["elgae dlab"], ["bald eagle"]),
    ("contains_reversed_words", {"phrases": ["bald eagle"]}, ["The eagle bald is"], ["bald eagle"]),
    (
        "keywords_once_to_seven_times",
        {"keywords": list("abcde")},
        ["a " + "b " * 2 + "c " * 3 + "d " * 5 + "e " * 7],
        ["a b c d e"],
    ),
    ("counts_of_words", {"phrases": ["he", "she"], "min": 2}, ["he and she", "he, he"], ["the sheet"]),
    ("mentions_different", {"phrases": ["Emma", "Liam"], "min": 2}, ["Emma, Liam's friend"], ["Emma and Emma"]),
    ("alphabet_of_sentences", {}, [" ".join(f"{c} goes." for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")], ["A goes. B goes."]),
]
ELSEWHERE = {"mentions_any", "in_order", "min_distinct_sentences", "repeats_sentence", "filler_share"}


@pytest.mark.parametrize(
    ("name", "args", "met", "not_met"), [pytest.param(*case, id=f"{k}-{case[0]}") for k, case in enumerate(CASES)]
)
def test_what_meets_a_rule_and_what_does_not(name, args, met, not_met):
    rule = Rule(name=name, args=args)
    assert [text for text in met if not check(rule, text)] == []
    assert [text for text in not_met if check(rule, text)] == []


def test_every_rule_has_a_case():
    assert set(RULES) == {case[0] for case in CASES} | ELSEWHERE
