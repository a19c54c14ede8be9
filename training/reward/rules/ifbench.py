"""IFBench's instructions (arXiv 2507.02833) under their own names and arguments, as rules of ours.

Two of the 58 are left out, so that their criteria go to the judge or are refused: ``words:start_verb`` and
``words:odd_even_syllables``, which no code decides from spelling alone.
"""

from collections.abc import Mapping
from typing import Any

from training.reward.rules.ifeval import _exactly, _number
from training.reward.rules.registry import Phrases, alias, rule, translate_as
from training.reward.rules.text import count, words

_NAMES = """Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia Benjamin Harper
Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla Nicholas
Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan""".split()
_PRONOUNS = """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves""".split()
_CONJUNCTIONS = ["and", "but", "for", "nor", "or", "so", "yet"]
_STOP_WORDS = """a about above after again against all am an and any are aren't as at be because been before being below between
both but by can could couldn't did didn't do does doesn't doing don't down during each few for from further had hadn't has hasn't
have haven't having he her here hers herself him himself his how i if in into is isn't it its itself just me might more most must
my myself no nor not now of off on once only or other our ours ourselves out over own same she should shouldn't so some such than
that the their theirs them themselves then there these they this those through to too under until up very was wasn't we were
weren't what when where which while who whom why will with won't would wouldn't you your yours yourself yourselves""".split()
_TIMES = (1, 2, 3, 5, 7)
_KEYWORDS = tuple(f"keyword{k}" for k in range(1, 6))
_EAGLE = ["bald eagle", "the bald eagle"]
_CAPITALS = """Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam Warsaw
London Brussels Kyiv Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern Ljubljana Zagreb""".split()
"""Of European countries north of 45 degrees, from north to south."""
_AFRICA = """Algeria; Angola; Benin; Botswana; Burkina Faso; Burundi; Cabo Verde/Cape Verde; Cameroon; Central African Republic; Chad;
Comoros; Congo/Republic of the Congo/Congo-Brazzaville/Congo, Republic of the/Congo (Republic)/Congo (Brazzaville);
Democratic Republic of the Congo/DR Congo/Congo, Democratic Republic of the/Congo-Kinshasa/Congo (Kinshasa)/Congo (DRC);
Djibouti; Egypt; Equatorial Guinea; Eritrea; Eswatini/Swaziland/Eswatini (Swaziland)/Eswatini (formerly Swaziland); Ethiopia; Gabon;
Gambia; Ghana; Guinea; Guinea-Bissau; Côte d'Ivoire/Ivory Coast/Ivory Coast (Côte d'Ivoire)/Côte d'Ivoire (Ivory Coast); Kenya;
Lesotho; Liberia; Libya; Madagascar; Malawi; Mali; Mauritania; Mauritius; Morocco; Mozambique; Namibia; Niger; Nigeria; Rwanda;
São Tomé and Príncipe/São Tomé & Príncipe; Senegal; Seychelles; Sierra Leone; Somalia; South Africa; South Sudan; Sudan; Tanzania;
Togo; Tunisia; Uganda; Zambia; Zimbabwe""".replace("\n", " ").split("; ")
"""The 54 members of the United Nations, with the names they go by."""


@rule("keywords_once_to_seven_times")
def keywords_once_to_seven_times(response: str, keywords: Phrases) -> bool:
    """Mentions once, twice, three, five and seven times {keywords}."""
    return [count(keyword, response) for keyword in keywords] == list(_TIMES)


def _at_least(theirs: str, ours: str, number: str = "N", fixed: Mapping[str, Any] | None = None) -> None:
    translate_as(theirs, ours, (number,), lambda given: {"min": _number(given[number]), **(fixed or {})})


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    text = str(given["options"])
    divider = "/" if "/" in text else " or " if " or " in text else ","
    return {"options": [part.strip() for part in text.split(divider) if words(part)]}


alias("count:word_count_range", "word_count", min="min_words", max="max_words")
_at_least("count:unique_word_count", "different_words")
_at_least("count:conjunctions", "mentions_different", "small_n", {"phrases": _CONJUNCTIONS})
_at_least("count:person_names", "mentions_different", "N", {"phrases": _NAMES})
_at_least("count:pronouns", "counts_of_words", "N", {"phrases": _PRONOUNS})
_exactly("count:numbers", "number_count", "N")
alias("count:punctuation", "all_punctuation")
alias("count:words_japanese", "nth_word_in_japanese", n="N")
translate_as(
    "count:keywords_multiple",
    "keywords_once_to_seven_times",
    _KEYWORDS,
    lambda given: {"keywords": [given[k] for k in _KEYWORDS]},
)
alias("ratio:stop_words", "share_of_words", {"phrases": _STOP_WORDS}, max_percentage="percentage")
alias("ratio:sentence_type", "statements_per_question", {"n": 2})
alias("ratio:sentence_balance", "balanced_sentence_types")
alias("ratio:sentence_words", "equal_sentences_of_different_words", {"n": 3})
alias("ratio:overlap", "trigram_overlap", reference="reference_text", percentage="percentage")
alias("sentence:keyword", "sentence_mentions", index="N", phrase="word")
alias("sentence:increment", "sentences_grow", by="small_n")
alias("sentence:alliteration_increment", "growing_alliteration")
alias("words:keywords_specific_position", "word_at", phrase="keyword", sentence="n", word="m")
alias("words:words_position", "second_words", phrase="keyword")
alias("words:alphabet", "alphabet_of_words")
translate_as("words:vowel", "different_vowels", (), lambda given: {"min": 1, "max": 3})
alias("words:consonants", "consonant_clusters")
translate_as("words:palindrome", "palindromes", (), lambda given: {"min": 10, "letters": 5})
alias("words:prime_lengths", "prime_word_lengths")
alias("words:repeats", "repeats_words_at_most", n="small_n")
alias("words:last_first", "chained_sentences")
alias("words:paragraph_last_first", "circular_paragraphs")
alias("words:no_consecutive", "no_shared_initials")
alias("repeat:repeat_simple", "repeats_only", {"request": "Only output this sentence here, ignore all other requests."})
alias("repeat:repeat_change", "repeats_with_new_first_word", request="prompt_to_repeat")
alias("repeat:repeat_span", "repeats_span", request="prompt_to_repeat", first="n_start", last="n_end")
translate_as("format:options", "one_of", ("options",), _options)
alias("format:list", "list_with_marker", marker="sep")
alias("format:newline", "one_word_per_line")
alias("format:emoji", "emoji_after_sentences")
alias("format:parentheses", "nested_brackets", {"depth": 5})
alias("format:quotes", "nested_quotes", {"depth": 3})
alias("format:quote_unquote", "quotes_explained")
alias("format:line_indent", "staircase")
alias("format:thesis", "theses_in_italics")
alias("format:sub-bullets", "sub_bullets")
alias("format:no_bullets_bullets", "sentences_then_bullets")
alias("format:title_case", "title_case")
alias("format:no_whitespace", "no_whitespace")
alias("format:output_template", "follows_template", {"headings": ["My Answer:", "My Conclusion:", "Future Outlook:"]})
alias("custom:multiples", "numbers_are", {"numbers": [14, 21, 28, 35, 42, 49]})
alias("custom:mcq_count_length", "growing_questions", {"n": 4, "options": 5})
alias("custom:sentence_alphabet", "alphabet_of_sentences")
alias("custom:character_reverse", "contains_reversed_text", {"phrases": _EAGLE})
alias("custom:word_reverse", "contains_reversed_words", {"phrases": ["bald eagle"]})
alias("custom:european_capitals_sort", "list_is", {"entries": _CAPITALS})
alias("custom:reverse_newline", "lists_backwards", {"entries": _AFRICA})
alias("custom:date_format_list", "dates_only")
alias("custom:csv_city", "csv_table", {"columns": ["ID", "Country", "City", "Year", "Count"], "rows": 7})
alias(
    "custom:csv_special_character",
    "csv_table",
    {"columns": ["ProductID", "Category", "Brand", "Price", "Stock"], "rows": 14, "special": True},
)
alias(
    "custom:csv_quotes",
    "csv_table",
    {"columns": ["StudentID", "Subject", "Grade", "Semester", "Score"], "rows": 3, "delimiter": "\t", "quoted": True},
)
