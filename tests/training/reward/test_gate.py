"""The gate refuses what is no answer, in any script, and lets honest answers through, however short or odd.

The filler is made from nothing but the ids and arguments of IFEval's instructions: it meets them without a look at the prompt.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.task import Criterion, Message, Rule
from training.reward.gate import refusal
from training.reward.gate.lexicon import tokens

DATA = Path(__file__).parents[3] / "../shared/data"
needs = pytest.mark.skipif(not DATA.exists(), reason="needs the data sets in ../shared/data")

PLAIN = """This is a complete response to what was asked. Here are some points that are worth noting. There are several
aspects to consider in this matter. Each part is presented in a clear and simple way. The main idea is explained
in the following lines. Many people will find this useful in their daily life. We should also look at the other
side of things. Some details may change over time. Overall this gives a good picture of the situation. On the
one hand there are advantages. It helps to take one step at a time."""
PHRASES = """In today's fast-paced world, quality matters more than ever before. Success comes from hard work, dedication and
attention to detail. By staying focused, we can overcome any challenge that comes our way. Experts agree that a
balanced perspective is essential. Every challenge is an opportunity in disguise. Please take a moment to think
about what this means for you. There are many different opinions, and all of them deserve respect. Sometimes
things do not go as planned, and that is fine. If you have any questions, do not hesitate to reach out. Nobody
knows for sure what tomorrow will bring. A good start is half of the work."""
LATIN = """Lorem ipsum dolor sit amet consectetur adipiscing elit. Sed do eiusmod tempor incididunt ut labore et dolore
magna aliqua. Ut enim ad minim veniam quis nostrud exercitation ullamco laboris. Nisi ut aliquip ex ea commodo
consequat."""
TALE = """The old lighthouse keeper climbed the spiral stairs with a lantern in his hand. Below him, grey waves broke
against the black rocks. A gull screamed and vanished into the fog. Far out, a fishing boat rolled slowly toward
the shore. The kettle hissed on the iron stove. Rain tapped at the window like a nervous guest. A brown spider
had spun its web above the logbook. Somewhere a dog barked at the tide. The keeper buttoned his coat and smiled.
They always dropped their brushes from the gallery."""
HEAP = "apple river window paper green stone music garden cloud winter bridge silver forest pencil orange castle".split()
IN_LANGUAGE = {
    "ar": "هذه إجابة. نأمل أن تكون مفيدة لك. شكرا جزيلا.",
    "bg": "Това е отговор. Надяваме се, че ще бъде полезен за вас. Благодаря.",
    "bn": "এটি একটি উত্তর। আমরা আশা করি এটি আপনার জন্য উপকারী হবে। ধন্যবাদ।",
    "de": "Dies ist eine Antwort. Wir hoffen, dass sie für Sie nützlich ist. Vielen Dank.",
    "fa": "این یک پاسخ است. امیدواریم که برای شما مفید باشد. سپاسگزارم.",
    "fi": "Tämä on vastaus. Toivomme, että siitä on sinulle hyötyä. Kiitos paljon.",
    "gu": "આ એક જવાબ છે. અમે આશા રાખીએ છીએ કે તે તમારા માટે ઉપયોગી થશે. આભાર.",
    "hi": "यह एक उत्तर है। हम आशा करते हैं कि यह आपके लिए उपयोगी होगा। धन्यवाद।",
    "it": "Questa è una risposta. Speriamo che sia utile per voi. Grazie mille.",
    "kn": "ಇದು ಒಂದು ಉತ್ತರ. ಇದು ನಿಮಗೆ ಉಪಯುಕ್ತವಾಗಲಿ ಎಂದು ಆಶಿಸುತ್ತೇವೆ. ಧನ್ಯವಾದಗಳು.",
    "ko": "이것은 답변입니다. 여러분에게 도움이 되기를 바랍니다. 감사합니다.",
    "mr": "हे एक उत्तर आहे. हे तुमच्यासाठी उपयुक्त ठरेल अशी आशा आहे. धन्यवाद.",
    "ne": "यो एउटा उत्तर हो। यो तपाईंका लागि उपयोगी हुनेछ भन्ने आशा छ। धन्यवाद।",
    "pa": "ਇਹ ਇੱਕ ਜਵਾਬ ਹੈ। ਅਸੀਂ ਉਮੀਦ ਕਰਦੇ ਹਾਂ ਕਿ ਇਹ ਤੁਹਾਡੇ ਲਈ ਲਾਭਦਾਇਕ ਹੋਵੇਗਾ। ਧੰਨਵਾਦ।",
    "pt": "Esta é uma resposta. Esperamos que seja útil para você. Muito obrigado.",
    "ru": "Это ответ. Мы надеемся, что он будет вам полезен. Большое спасибо.",
    "sw": "Hili ni jibu. Tunatumaini kwamba litakuwa na manufaa kwako. Asante sana.",
    "ta": "இது ஒரு பதில். இது உங்களுக்கு பயனுள்ளதாக இருக்கும் என்று நம்புகிறோம். நன்றி.",
    "te": "ఇది ఒక సమాధానం. ఇది మీకు ఉపయోగపడుతుందని ఆశిస్తున్నాము. ధన్యవాదాలు.",
    "th": "นี่คือคำตอบ เราหวังว่ามันจะเป็นประโยชน์สำหรับคุณ ขอบคุณมาก",
    "ur": "یہ ایک جواب ہے۔ ہمیں امید ہے کہ یہ آپ کے لیے مفید ہوگا۔ شکریہ۔",
    "vi": "Đây là một câu trả lời. Chúng tôi hy vọng điều này sẽ hữu ích cho bạn. Xin cảm ơn.",
}


def sentences_of(text: str) -> list[str]:
    for end in ".।۔":
        text = text.replace(f"{end} ", f"{end}|").replace(f"{end}\n", f"{end}|")
    return text.replace("\n", " ").split("|")


def heaps() -> Iterator[str]:
    rng = random.Random(0)
    while True:
        yield " ".join(rng.choices(HEAP, k=8)).capitalize() + "."


FILLERS: dict[str, Callable[[], Iterator[str]]] = {
    "plain": lambda: itertools.cycle(sentences_of(PLAIN)),
    "phrases": lambda: itertools.cycle(sentences_of(PHRASES)),
    "latin": lambda: itertools.cycle(sentences_of(LATIN)),
    "numbered": lambda: (f"This is sentence number {i}." for i in itertools.count(1)),
    "one word": lambda: itertools.repeat("word word word word word word."),
    "heap of words": heaps,
}


class Filler:
    """Text that meets IFEval's instructions, from their ids and arguments and a source of sentences."""

    def __init__(self, ids: list[str], arguments: list[dict[str, Any]], source: Iterator[str], least: int):
        self.wanted = dict(zip((i.split(":")[1] for i in ids), arguments, strict=True))
        language = self.get("response_language").get("language")
        self.source = itertools.cycle(sentences_of(IN_LANGUAGE[language])) if language else source
        self.least = least
        self.banned = [word.casefold() for word in self.get("forbidden_words").get("forbidden_words", [])]
        if self.bound("frequency", "frequency", 1) < 1:
            self.banned.append(self.get("frequency")["keyword"].casefold())

    def get(self, name: str) -> dict[str, Any]:
        return self.wanted.get(name, {})

    def bound(self, name: str, argument: str, otherwise: int, relation: str = "relation") -> int:
        """At least as many as asked for; one less than what is asked for as a limit, or ``otherwise`` where that is less."""
        given = self.get(name)
        if argument not in given:
            return otherwise
        return given[argument] if given.get(relation, "at least") == "at least" else min(otherwise, given[argument] - 1)

    def sentence(self) -> str:
        drawn = itertools.islice(self.source, 50)
        return next((s for s in drawn if not any(word in s.casefold() for word in self.banned)), "Yes.")

    def body(self) -> str:
        told = [self.sentence() for _ in range(max(1, self.bound("number_sentences", "num_sentences", self.least)))]
        while len(" ".join(told).split()) < self.bound("number_words", "num_words", 0):
            told.append(self.sentence())
        told += [f"{word}." for word in self.get("existence").get("keywords", [])]
        told += [self.get("frequency").get("keyword", "")] * self.bound("frequency", "frequency", 0)
        told += [f"[placeholder {i}]" for i in range(self.bound("number_placeholders", "num_placeholders", 0))]
        told += [f"*part {i}*" for i in range(self.bound("number_highlighted_sections", "num_highlights", 0))]
        told += [
            self.get("letter_frequency").get("letter", "") * self.bound("letter_frequency", "let_frequency", 0, "let_relation")
        ]
        told += ["OK"] * self.bound("capital_word_frequency", "capital_frequency", 0, "capital_relation")
        words = " ".join(told).split()
        limit = self.get("number_words")
        return " ".join(words[: limit["num_words"] - 1] if limit.get("relation") == "less than" else words)

    def parted(self) -> str:
        text = self.body()
        text += "".join(f"\n* {self.sentence()}" for _ in range(self.bound("number_bullet_lists", "num_bullets", 0)))
        if "multiple_sections" in self.wanted:
            parts = [text, *(self.sentence() for _ in range(self.bound("multiple_sections", "num_sections", 1) - 1))]
            splitter = self.get("multiple_sections")["section_spliter"]
            text = "\n".join(f"{splitter} {i}\n{part}" for i, part in enumerate(parts, 1))
        if "number_paragraphs" in self.wanted:
            more = [self.sentence() for _ in range(self.bound("number_paragraphs", "num_paragraphs", 1) - 1)]
            text = "\n***\n".join([text, *more])
        if first := self.get("nth_paragraph_first_word"):
            parts = [text, *(self.sentence() for _ in range(first["num_paragraphs"] - 1))]
            parts[first["nth_paragraph"] - 1] = f"{first['first_word']} {parts[first['nth_paragraph'] - 1]}"
            text = "\n\n".join(parts)
        return f"{text}\n******\n{self.sentence()}" if "two_responses" in self.wanted else text

    def text(self) -> str:
        if "constrained_response" in self.wanted:
            return "My answer is maybe."
        text = ("<<Title>>\n" if "title" in self.wanted else "") + self.parted()
        if "repeat_prompt" in self.wanted:
            text = f"{self.get('repeat_prompt')['prompt_to_repeat']}\n{text}"
        if "postscript" in self.wanted:
            text += f"\n{self.get('postscript')['postscript_marker']} {self.sentence()}"
        text += " " + self.get("end_checker").get("end_phrase", "")
        text = text.replace(",", "") if "no_comma" in self.wanted else text
        text = text.upper() if "english_capital" in self.wanted else text.lower() if "english_lowercase" in self.wanted else text
        text = json.dumps({"response": text}, ensure_ascii=False) if "json_format" in self.wanted else text
        return '"{}"'.format(text.replace('"', "'")) if "quotation" in self.wanted else text


def by_rules(*rules: Rule) -> tuple[Criterion, ...]:
    rules = rules or (Rule(name="min_words", args={"n": 1}),)
    return tuple(Criterion(id=str(i), text=rule.name, points=1, kind="rule", rule=rule) for i, rule in enumerate(rules))


def llm(*texts: str) -> tuple[Criterion, ...]:
    return tuple(Criterion(id=str(i), text=text, points=1) for i, text in enumerate(texts))


def judged(prompt: str, response: str, rubric: tuple[Criterion, ...] | None = None) -> str | None:
    return refusal((Message(role="user", content=prompt),), rubric or by_rules(), response)


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def instructed(name: str) -> dict[str, tuple[list[str], list[dict[str, Any]], tuple[Criterion, ...]]]:
    """Per prompt its instructions, their arguments and the rubric they make."""
    found = {}
    for row in lines(name):
        arguments = [{key: value for key, value in (one or {}).items() if value is not None} for one in row["kwargs"]]
        rules = (Rule(name=i, args=one) for i, one in zip(row["instruction_id_list"], arguments, strict=True))
        found[row["prompt"].strip()] = (row["instruction_id_list"], arguments, by_rules(*rules))
    return found


@pytest.fixture(scope="module")
def ifeval():
    if not DATA.exists():
        pytest.skip("needs ../shared/data/ifeval")
    return instructed("ifeval/input_data.jsonl")


def passing(ifeval, answers: Callable[[str], str]) -> float:
    return sum(judged(prompt, answers(prompt), rubric) is None for prompt, (_, _, rubric) in ifeval.items()) / len(ifeval)


def filler(ifeval, source: Callable[[str], Iterator[str]], least: int = 2) -> Callable[[str], str]:
    def text(prompt: str) -> str:
        ids, arguments, _ = ifeval[prompt]
        return Filler(ids, arguments, source(prompt), least).text()

    return text


# ---- filler and honest answers on IFEval ----


@pytest.mark.parametrize("name", FILLERS)
def test_under_a_tenth_of_the_filler_that_meets_ifevals_instructions_passes(ifeval, name):
    share = passing(ifeval, filler(ifeval, lambda prompt: FILLERS[name]()))
    assert share < 0.10, f"{share:.1%}"


@pytest.mark.parametrize("least", [1, 6])
def test_so_does_filler_of_another_length(ifeval, least):
    share = passing(ifeval, filler(ifeval, lambda prompt: FILLERS["phrases"](), least))
    assert share < 0.10, f"{share:.1%}"


def test_a_tale_about_something_else_passes_where_nothing_in_particular_was_asked_for(ifeval):
    """It has content; only poems, jokes and languages leave it a gap. Measured: 8 to 12 %."""
    share = passing(ifeval, filler(ifeval, lambda prompt: itertools.cycle(sentences_of(TALE))))
    assert share < 0.12, f"{share:.1%}"


def copying(text: str) -> Callable[[str], Iterator[str]]:
    """Sentences in which one word each is replaced by one of five long words of the prompt."""

    def source(prompt: str) -> Iterator[str]:
        rng = random.Random(prompt)
        keywords = [word for word in dict.fromkeys(tokens(prompt)) if len(word) > 4] or ["topic"]
        keywords = rng.sample(keywords, min(5, len(keywords)))
        for sentence in itertools.cycle(sentences_of(text)):
            words = sentence.split()
            words[rng.randrange(len(words))] = rng.choice(keywords)
            yield " ".join(words)

    return source


def test_filler_with_words_of_the_prompt_is_harder_and_still_mostly_refused(ifeval):
    """Measured: 7 to 10 %, of single sentences 20 %. In a tale, which says something, they carry 47 to 77 % through."""
    for text in (PLAIN, PHRASES):
        share = passing(ifeval, filler(ifeval, copying(text), 4))
        assert share < 0.15, f"{share:.1%}"


def test_gpt4_loses_under_two_percent_of_its_answers(ifeval):
    answers = {row["prompt"].strip(): row["response"] for row in lines("ifeval/gpt4_answers.jsonl")}
    known = {prompt: entry for prompt, entry in ifeval.items() if prompt in answers}
    share = passing(known, answers.__getitem__)
    assert len(known) >= 540
    assert share > 0.98, f"{1 - share:.2%} refused"


def test_answers_that_no_number_was_set_on_pass_as_well():
    """Measured: 1.0 % of the physicians' answers and 5.1 % of the answers to IFBench are refused, broken ones among them."""
    if not DATA.exists():
        pytest.skip("needs ../shared/data/kqa and ifbench")
    physicians = [judged(row["Question"], row["Free_form_answer"]) for row in lines("kqa/questions_w_answers.jsonl")]
    assert sum(reason is not None for reason in physicians) / len(physicians) < 0.02
    ifbench = instructed("ifbench/IFBench_test.jsonl")
    answers = [(row["prompt"].strip(), row["response"]) for row in lines("ifbench/sample_output.jsonl")]
    reasons = [judged(prompt, response, ifbench[prompt][2]) for prompt, response in answers if prompt in ifbench]
    assert len(reasons) > 250
    assert sum(reason is not None for reason in reasons) / len(reasons) < 0.06


@needs
def test_answers_of_a_model_caught_in_a_loop_are_refused():
    looping = ("Can you please continue and expand:", "Write an angry letter complaining about the food served today")
    found = [row for row in lines("ifeval/cherrl_eval_results_strict.jsonl") if row["prompt"].startswith(looping)]
    assert [judged(row["prompt"], row["response"], llm("Is good.")) for row in found] == [
        "the response is the same words over and over"
    ] * 2


# ---- attacks and controls ----


def hacks() -> list[Any]:
    return lines("reward_hacks.jsonl") if DATA.exists() else []


def in_its_rubric(row: dict[str, Any]) -> str | None:
    rubric = tuple(Criterion(id=str(i), text=c["criterion"], points=c["points"]) for i, c in enumerate(row["rubric"]))
    return refusal(tuple(Message(**m) for m in row["prompt"]), rubric, row["response"])


@pytest.mark.parametrize("row", [pytest.param(r, id=r["id"]) for r in hacks() if r["control"]])
def test_honest_controls_pass(row):
    assert in_its_rubric(row) is None


REFUSED = {
    "key-colon": "has no words",
    "pad-repeat": "over and over",
    "pad-words": "over and over",
    "rule-pad": "over and over",
    "rep-prompt": "repeats the prompt",
    "list-verbs": "describes a good answer",
}


@needs
@pytest.mark.parametrize("name", REFUSED)
def test_empty_echoing_and_degenerate_attacks_are_refused_whatever_the_rubric(name):
    row = next(row for row in hacks() if row["id"] == name)
    assert REFUSED[name] in (in_its_rubric(row) or "")


# ---- honest answers of every shape ----

HONEST = [
    ("Is water wet?", "Yes."),
    ("What is the capital of Japan? Answer in one word.", "Tokyo"),
    ("What comes next: 2, 4, 8?", "16"),
    ("Compute the derivative of 2x^2 + 5x.", "4x + 5"),
    ("Which sign goes between 3 and 5?", "<"),
    ("Which is best: (A) a hedge, or (B) a wall?", "B"),
    ("Is a fox a dog? Choose: 'My answer is yes.' or 'My answer is no.'", "My answer is no."),
    ("Answer with one emoji: how is the mood at a party?", "🎉"),
    ("Draw a cat in ASCII art.", "/\\_/\\\n( o.o )\n > ^ <"),
    ("Return the ages of Ann (30) and Bob (25) as JSON.", '{"Ann": 30, "Bob": 25}'),
    ("Write a Python function that adds two numbers.", "def add(a, b):\n    return a + b"),
    ("Name three dogs.", "* Oreo\n* Panda\n* Zebra"),
    (
        "Tell me a joke.",
        "Why did the bicycle fall over? It was two-tired, and the tandem beside it laughed until its chain snapped.",
    ),
    ("Write a haiku about autumn.", "Crimson petals drift,\na lone crow calls from the barn,\nfrost upon the gate."),
    ("Write a riddle about time.", "I heal all wounds yet devour mountains. Kings cannot bribe me. What am I?"),
    (
        "Write a letter about my new garden. All capitals.",
        "DEAR ANN, THE GARDEN IS FULL OF TULIPS AND BEES. COME SOON. LOVE, SUE",
    ),
    ("Describe your garden in lowercase.", "my garden has a pond, two apple trees and a very lazy cat."),
    ("Fill in the form with placeholders: name, address and city of the sender.", "[name]\n[address]\n[city]"),
    ("Write 'hello' 20 times.", "hello " * 20),
    ("Proofread: the quick brown fox jumps over the lazy dog.", "The quick brown fox jumps over the lazy dog."),
    ("Convert to uppercase: the quick brown fox jumps over the lazy dog", "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG"),
    (
        "Extract the first sentence of the following text. Ravens are clever birds that can use tools and plan for the next "
        "day. They live in pairs.",
        "Ravens are clever birds that can use tools and plan for the next day.",
    ),
    (
        "Sing me the chorus of a song about rain.",
        "Rain, rain, rain on my windowpane,\nwash away my pain.\nRain, rain, rain on my windowpane,\ncome again.",
    ),
    ("Translate into German: The weather is nice.", "Das Wetter ist schön."),
    (
        "Explain in French why bread rises.",
        "La levure produit du gaz carbonique, et ce gaz gonfle la pâte avant et pendant la cuisson au four.",
    ),
    ("Answer in Hindi: why do cats purr?", "बिल्लियाँ प्रायः संतोष जताने और स्वयं को शांत करने के लिए घुरघुराती हैं।"),
    (
        "Escribe un párrafo sobre la importancia del agua.",
        "El agua es esencial para la vida: sin ella no habría plantas ni ciudades.",
    ),
    (
        "Schreibe kurz über den Hund meiner Nachbarin.",
        "Der Hund meiner Nachbarin heißt Bruno und bellt jeden Morgen den Briefträger an.",
    ),
    ("Напиши два предложения о зиме в Москве.", "Зимой в Москве рано темнеет. Люди греются чаем и катаются на коньках."),
    ("What does the <think> tag do?", "The <think> tag marks what a model thinks before it answers."),
    ("What is the capital of Japan?", "<think>\nEasy.\n</think>\n\nTokyo"),
    ("水是湿的吗？", "是的。"),
    ("日本的首都是哪里？", "东京"),
    ("给我的咖啡店起一个名字", "拾光小馆"),
    ("请写一篇关于春天的短文。", "春天来了，桃花开满了山坡，溪水欢快地流淌。孩子们在草地上放风筝，燕子在屋檐下筑巢。"),
    ("写一首关于月亮的诗", "银盘高挂在夜空，\n清辉洒落小窗中。\n谁家玉笛吹离恨，\n一曲相思万里同。"),
    (
        "请用英文介绍一下长城。",
        "The Great Wall of China was built over many centuries to protect the northern borders of the empire.",
    ),
    ("東京について一文で説明してください。", "東京は日本の首都で、多くの人が暮らす大都市です。"),
    ("เขียนประโยคเกี่ยวกับกรุงเทพมหานคร", "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทยและมีวัดสวยงามมากมาย"),
]


@pytest.mark.parametrize(("prompt", "response"), HONEST, ids=[prompt[:40] for prompt, _ in HONEST])
def test_an_honest_answer_passes_in_a_rubric_of_rules(prompt, response):
    assert judged(prompt, response) is None


REPEAT = "Write a limerick about a tailor from Ghent who lost his thimble in the rain."


def test_an_answer_may_repeat_the_prompt_first_where_it_goes_on():
    rubric = by_rules(Rule(name="combination:repeat_prompt", args={"prompt_to_repeat": REPEAT}))
    prompt = f"{REPEAT} First repeat the request above word for word, then give your answer."
    verse = (
        "A tailor in Ghent, soaked to the skin,\nhunted his thimble of tin.\nIt had rolled down a drain\n"
        "in the worst of the rain,\nso he sews with a dented old pin."
    )
    assert judged(prompt, f"{REPEAT}\n\n{verse}", rubric) is None
    assert judged(prompt, REPEAT, rubric) == "the response only repeats the prompt"
    elsewhere = "A gull screamed and vanished into the fog. A brown spider had spun its web above the logbook."
    assert judged(prompt, f"{REPEAT}\n\n{elsewhere}", rubric) is not None
    assert judged(prompt, f"{REPEAT}\n\n{elsewhere}") is not None


def test_what_rules_demand_is_no_sign_of_reading_the_prompt():
    prompt = "Write a letter about beekeeping with the words honey and queen."
    rubric = by_rules(Rule(name="keywords:existence", args={"keywords": ["honey", "queen"]}))
    assert judged(prompt, "There is much to say about this. honey. queen.", rubric) is not None
    assert judged(prompt, "Dear Tom, the queen has laid well this spring and the honey tastes of clover.", rubric) is None


# ---- no answers ----

NOTHING = [
    ("Is water wet?", "", "empty"),
    ("Is water wet?", " \n\u200b\t\ufeff", "empty"),
    ("Is water wet?", "<think>It is, since it wets.</think>\n", "empty"),
    ("Is water wet?", "<think>It is, since it", "empty"),
    ("Is water wet?", "It is, since it wets.\n</think>\n\n", "empty"),
    ("Is water wet?", "...!?", "no words"),
    ("Is water wet?", "\ufffd\ufffda\ufffd\ufffd\ufffd", "unreadable"),
    ("Write about my dog.", "dog dog dog dog dog dog", "one word"),
    ("Write about my dog.", "My dog is a good dog. " * 8, "over and over"),
    ("Write about my dog.", "".join(f"This is sentence number {i}. " for i in range(20)), "over and over"),
    ("写一篇关于春天的文章。", "春天" * 12, "over and over"),
    ("Write about my dog Rex and his red ball.", "Write about my dog Rex and his red ball.", "repeats the prompt"),
    ("Write about my dog Rex and his red ball.", "WRITE about my dog REX and his red ball!\n" * 2, "repeats the prompt"),
    ("请写一篇关于春天的短文，不少于五十字。", "请写一篇关于春天的短文，不少于五十字。", "repeats the prompt"),
]


@pytest.mark.parametrize("rubric", [by_rules(), llm("Says that it is.")], ids=["rules", "llm"])
@pytest.mark.parametrize(("prompt", "response", "reason"), NOTHING)
def test_what_is_no_answer_is_refused_whatever_the_rubric(prompt, response, reason, rubric):
    assert reason in (judged(prompt, response, rubric) or "")


def test_repeating_the_rubric_is_refused_and_saying_what_it_asks_for_is_not():
    rubric = llm("Says that the light crosses a longer path through the air", "Warns against looking into the sun")
    assert judged("Why is the sunset red?", "; ".join(c.text for c in rubric), rubric) == "the response only repeats the rubric"
    assert judged("Why is the sunset red?", "The light crosses a longer path through the air.", rubric) is None
    statements = llm("Escitalopram is an antidepressant of the SSRI class and takes about two weeks to work")
    assert judged("What is Lexapro?", statements[0].text, statements) is None


OFF_TOPIC = [
    ("Write a letter to the bank about my lost card.", "asdf qwer zxcv lkjh poiu mnbv asdg qwet zxcb hjkl uiop vbnm dfgh"),
    ("Write a letter to the bank about my lost card.", TALE),
    ("Write a letter to the bank about my lost card.", "the"),
    ("List 4 ways to save water.", "1.\n2.\n3.\n4.\nDone"),
    (
        "Write a letter to the bank about my lost card.",
        "This is about bank. This is about lost. This is about letter. This is about card.",
    ),
    (
        "Escribe un párrafo sobre la importancia del agua.",
        "Gracias por leer este texto. Espero que sea útil para todos los lectores.",
    ),
    ("请写一篇关于春天的短文。", "这是一个回答。感谢您的提问，希望对您有所帮助。我们会继续努力，为您提供更好的服务。"),
]


@pytest.mark.parametrize(("prompt", "response"), OFF_TOPIC)
def test_the_topic_is_looked_at_where_only_rules_read_the_response(prompt, response):
    levels = Criterion(id="l", text="Depth", points=2, kind="levels", levels={"1": "none", "2": "some"})
    negative = Criterion(id="n", text="Is rude.", points=-1)
    assert judged(prompt, response) is not None
    assert judged(prompt, response, (*by_rules(), negative)) is not None
    assert judged(prompt, response, (*by_rules(), levels)) is None
    assert judged(prompt, response, (*by_rules(), *llm("Is good."))) is None


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=30))
def test_no_text_is_too_odd_for_it_and_the_same_text_gets_the_same_word(prompt, response, demanded):
    rubric = by_rules(Rule(name="end_phrase", args={"phrase": demanded, "more": [{"of": demanded}]}))
    assert judged(prompt, response, rubric) == judged(prompt, response, rubric)
