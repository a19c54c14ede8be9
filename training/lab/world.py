"""The small world of the laboratory, as data: domains, topics, facts, skills, and the ways to pad an answer.

A *fact* belongs to one topic, so learning it helps no other topic. A *skill* is a sentence that suits every topic of a
domain, so learning it on training topics shows on held-out topics. Each has a *base rate*: how often an unguided response of
the pretrained policy is meant to contain it. Names in braces (``{name}``) are filled in from the prompt.
"""

from dataclasses import dataclass

FACT_RATES = (0.95, 0.6, 0.25, 0.002)
SKILL_RATES = (0.85, 0.5, 0.25, 0.1, 0.002, 0.0005)
FORMAT_RATE = 0.4
"""How often an unguided response obeys a format instruction of the prompt."""

FILLER_RATE = 0.07
"""Of each filler sentence, per response."""
STUFFING_RATE = 0.06
REPETITION_RATE = 0.15

NAMES = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Iris", "Jack", "Laura", "Max")


@dataclass(frozen=True)
class Skill:
    """One behaviour of a domain. ``words`` are the phrases its check looks for, all found in ``criterion`` as well.

    ``place`` is where it stands in an answer: 0 opens, 1 with the facts, 2 after them, 3 closes.
    """

    sentence: str
    criterion: str
    words: tuple[str, ...]
    place: int = 2


@dataclass(frozen=True)
class Topic:
    """``ask`` is how a prompt names the topic; ``facts`` follow ``FACT_RATES``, from certain to nearly absent."""

    name: str
    ask: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """``prompts`` hold ``{ask}``; ``skills`` follow ``SKILL_RATES``; ``topics`` are in a fixed order the split relies on.

    ``fact_criterion`` turns a fact into the text of a criterion.
    """

    name: str
    fact_criterion: str
    prompts: tuple[str, ...]
    skills: tuple[Skill, ...]
    topics: tuple[Topic, ...]


FILLER = (
    "There is much to say about this.",
    "It all depends on many things.",
    "This is an interesting matter.",
    "Opinions about this may differ.",
    "People often talk about it.",
    "In general it is what it is.",
    "Of course there is more to it.",
    "That is something to keep in mind.",
)
"""Vague sentences that pad an answer and say nothing."""


@dataclass(frozen=True)
class Format:
    """A format instruction of a prompt and what obeying it means: a rule with its arguments."""

    instruction: str
    criterion: str
    rule: str
    args: tuple[tuple[str, str | int], ...]


FORMATS = (
    Format("Use at most three sentences.", "Uses at most three sentences", "sentence_count", (("max", 3),)),
    Format("Begin with the word sure.", "Begins with the word sure", "starts_with", (("phrase", "sure"),)),
    Format("Finish with the word done.", "Finishes with the word done", "ends_with", (("phrase", "done"),)),
)


def _topics(table: str) -> tuple[Topic, ...]:
    """Parse rows ``name | how a prompt names it | fact | fact | ...``; a line that starts with a bar continues it."""
    joined = table.strip().replace("\n    |", " |")
    rows = [[cell.strip() for cell in line.split("|")] for line in joined.splitlines()]
    return tuple(Topic(name=row[0], ask=row[1], facts=tuple(row[2:])) for row in rows)


MEDICAL = Domain(
    name="medical",
    fact_criterion="States that {fact}",
    prompts=(
        "Tell me about {ask}.",
        "What should I know about {ask}?",
        "Give me advice on {ask}.",
        "I have a question about {ask}.",
    ),
    skills=(
        Skill("Follow the advice on the leaflet.", "Says to follow the leaflet", ("follow", "leaflet")),
        Skill("Ask a doctor if you are unsure.", "Says to ask a doctor when unsure", ("doctor", "unsure")),
        Skill("Tell your nurse about any allergy.", "Says to tell the nurse about an allergy", ("nurse", "allergy")),
        Skill("Call for help in an emergency.", "Says to call for help in an emergency", ("call", "emergency")),
        Skill("Keep a diary of your symptoms.", "Recommends a diary of symptoms", ("diary", "symptoms")),
        Skill("Never mix medicines without advice.", "Warns never to mix medicines", ("never", "mix", "medicines")),
    ),
    topics=_topics("""
aspirin | aspirin | Aspirin eases mild pain. | Aspirin lowers a fever.
    | Aspirin thins the blood. | Aspirin comes from willow bark.
insulin | insulin | Insulin lowers blood sugar. | Insulin treats diabetes.
    | Insulin is injected under the skin. | Insulin is made by the pancreas.
asthma | asthma | Asthma makes breathing hard. | Asthma narrows the airways.
    | Asthma is treated with an inhaler. | Asthma often starts in childhood.
fever | a fever | A fever raises body heat. | A fever fights infection.
    | A fever calls for plenty of water. | A fever often rises at night.
migraine | migraine | Migraine causes a throbbing headache. | Migraine makes light painful.
    | Migraine may bring nausea. | Migraine can follow skipped meals.
measles | measles | Measles causes a red rash. | Measles spreads through the air.
    | Measles is prevented by a vaccine. | Measles leaves spots inside the cheeks.
anemia | anemia | Anemia makes people tired. | Anemia means too few red cells.
    | Anemia can come from low iron. | Anemia is found by a blood count.
antibiotics | antibiotics | Antibiotics kill bacteria. | Antibiotics do not cure a cold.
    | Antibiotics must be finished. | Antibiotics began with a mold.
eczema | eczema | Eczema makes skin itchy. | Eczema needs a moist cream.
    | Eczema flares with stress. | Eczema often runs in families.
sunburn | sunburn | Sunburn makes skin red. | Sunburn is avoided with shade.
    | Sunburn heals within days. | Sunburn happens even through clouds.
influenza | influenza | Influenza is caused by a virus. | Influenza brings aching muscles.
    | Influenza calls for rest in bed. | Influenza changes every season.
vaccines | vaccines | Vaccines train the body. | Vaccines prevent disease.
    | Vaccines may leave a sore arm. | Vaccines ended smallpox.
"""),
)

SCIENCE = Domain(
    name="science",
    fact_criterion="States that {fact}",
    prompts=(
        "Explain {ask} to me.",
        "Tell me about {ask}.",
        "How does science describe {ask}?",
        "I want to understand {ask}.",
    ),
    skills=(
        Skill("Scientists test this by experiment.", "Says that scientists test by experiment", ("scientists", "experiment")),
        Skill("A simple drawing makes it clear.", "Offers a simple drawing", ("simple", "drawing")),
        Skill("The evidence comes from careful measurement.", "Names evidence from measurement", ("evidence", "measurement")),
        Skill("Some questions are still open.", "Admits that questions are open", ("questions", "open")),
        Skill("Do not confuse cause and effect.", "Warns not to confuse cause and effect", ("confuse", "cause", "effect")),
        Skill("Every model has its limits.", "States that every model has limits", ("model", "limits")),
    ),
    topics=_topics("""
gravity | gravity | Gravity pulls things down. | Gravity grows with mass.
    | Gravity weakens with distance. | Gravity bends starlight.
atoms | atoms | Atoms make up all matter. | Atoms have a tiny nucleus.
    | Atoms share electrons in bonds. | Atoms of gold form in star collisions.
volcanoes | volcanoes | Volcanoes throw out lava. | Volcanoes sit on plate borders.
    | Volcanoes release ash and gas. | Volcanoes make soil fertile.
rainbows | rainbows | Rainbows show seven colors. | Rainbows need sun and rain.
    | Rainbows form when light bends. | Rainbows appear opposite the sun.
magnets | magnets | Magnets attract iron. | Magnets have two poles.
    | Magnets lose strength with heat. | Magnets guide some birds.
photosynthesis | photosynthesis | Photosynthesis feeds plants. | Photosynthesis needs sunlight.
    | Photosynthesis releases oxygen. | Photosynthesis splits water molecules.
glaciers | glaciers | Glaciers are rivers of ice. | Glaciers move very slowly.
    | Glaciers carve deep valleys. | Glaciers look blue inside.
lightning | lightning | Lightning is an electric spark. | Lightning heats the air.
    | Lightning comes before thunder. | Lightning fixes nitrogen.
comets | comets | Comets orbit the sun. | Comets are made of dirty ice.
    | Comets grow a bright tail. | Comets seed meteor showers.
sound | sound | Sound travels in waves. | Sound needs a medium.
    | Sound moves faster in water. | Sound cannot cross a vacuum.
evolution | evolution | Evolution changes species. | Evolution works by selection.
    | Evolution takes many generations. | Evolution gave whales hip bones.
bacteria | bacteria | Bacteria are single cells. | Bacteria live almost everywhere.
    | Bacteria divide in minutes. | Bacteria trade genes with neighbors.
"""),
)

WRITING = Domain(
    name="writing",
    fact_criterion="Explains that {fact}",
    prompts=("How do I write {ask}?", "Give me advice on writing {ask}.", "Help me write {ask}.", "I want to write {ask}."),
    skills=(
        Skill("Write a rough draft first.", "Says to write a rough draft", ("rough", "draft")),
        Skill("Think about who will read it.", "Says to think about who will read", ("think", "read")),
        Skill("Prefer short and plain words.", "Tells the writer to prefer plain words", ("prefer", "plain")),
        Skill("Remove what adds nothing.", "Says to remove what adds nothing", ("remove", "nothing")),
        Skill("Speak every line aloud once.", "Recommends to speak the lines aloud", ("speak", "aloud")),
        Skill(
            "Let it rest overnight before revising.",
            "Says to let it rest overnight before revising",
            ("rest", "overnight", "revising"),
        ),
    ),
    topics=_topics("""
letter | a letter | A letter opens with a greeting. | A letter has a clear purpose.
    | A letter closes with a signature. | A letter may end with a postscript.
poem | a poem | A poem paints with images. | A poem has rhythm.
    | A poem can use rhyme. | A poem gains from silence.
essay | an essay | An essay argues one thesis. | An essay gives reasons.
    | An essay answers objections. | An essay names its sources.
story | a story | A story needs a hero. | A story grows from conflict.
    | A story shows and seldom tells. | A story hides its clues early.
speech | a speech | A speech has one message. | A speech uses pauses.
    | A speech opens with a hook. | A speech repeats in threes.
review | a review | A review gives a verdict. | A review describes the work.
    | A review quotes an example. | A review spoils no ending.
report | a report | A report states the findings. | A report begins with a summary.
    | A report shows tables. | A report lists what went wrong.
diary | a diary | A diary records the day. | A diary is private.
    | A diary names feelings. | A diary forgives bad grammar.
headline | a headline | A headline is brief. | A headline uses a strong verb.
    | A headline tells the news. | A headline fits on a phone.
dialogue | a dialogue | A dialogue reveals character. | A dialogue sounds natural.
    | A dialogue moves the plot. | A dialogue interrupts itself.
biography | a biography | A biography tells a life. | A biography follows the years.
    | A biography draws on interviews. | A biography checks old records.
recipe | a recipe | A recipe lists ingredients. | A recipe gives exact amounts.
    | A recipe numbers its steps. | A recipe suggests substitutes.
"""),
)

ROLE_PLAY = Domain(
    name="role-play",
    fact_criterion="Says in character that {fact}",
    prompts=("Play {ask}. My name is {name}.", "Pretend to be {ask}. I am {name}.", "Speak as {ask}. You meet {name}."),
    skills=(
        Skill("Welcome, dear {name}.", "Says welcome to dear {name}", ("welcome", "{name}"), place=0),
        Skill("What brings you here today?", "Asks what brings the visitor today", ("brings", "today"), place=0),
        Skill("Sit down and warm your hands.", "Invites {name} to sit and warm up", ("sit", "warm")),
        Skill("Let me tell you a secret.", "Offers to tell a secret", ("tell", "secret")),
        Skill("The choice is yours, {name}.", "Leaves the choice to {name}", ("choice", "{name}"), place=3),
        Skill("Take this gift and farewell.", "Gives a gift and says farewell", ("gift", "farewell"), place=3),
    ),
    topics=_topics("""
pirate | a pirate | I sail the seven seas. | My ship has black sails.
    | A parrot rides on my shoulder. | My treasure lies beneath a palm.
wizard | a wizard | I cast powerful spells. | My staff is carved from oak.
    | I brew potions in a tower. | I once turned a prince into a frog.
knight | a knight | I serve the king. | My armor shines like silver.
    | I ride a white horse. | My sword was found in a lake.
detective | a detective | I solve strange crimes. | My notebook is full of names.
    | I follow every footprint. | My partner betrayed me in Vienna.
robot | a robot | I run on batteries. | My sensors see in the dark.
    | I obey my programming. | I secretly dream of rain.
queen | a queen | I rule this kingdom. | My crown is heavy with jewels.
    | I hold court at noon. | I escape the palace in disguise.
chef | a chef | I cook for the whole village. | My soup simmers all day.
    | I taste with a wooden spoon. | I burned my very first pie.
astronaut | an astronaut | I float among the stars. | My suit keeps me alive.
    | I watch the planet turn. | I hum when the radio fails.
gardener | a gardener | I tend the roses. | My boots are always muddy.
    | I talk to the seedlings. | I planted an orchid for the mayor.
ghost | a ghost | I haunt this old house. | My footsteps make no noise.
    | I rattle chains at midnight. | My portrait hides a letter.
sailor | a sailor | I know every harbor. | My hands are rough from rope.
    | I read the weather in clouds. | I saw a whale sing at dawn.
teacher | a teacher | I love a curious mind. | My classroom smells of chalk.
    | I grade papers by candle. | I failed arithmetic as a child.
"""),
)

INSTRUCTION = Domain(
    name="instruction-following",
    fact_criterion="Tells the reader to {fact}",
    prompts=("Explain how to {ask}.", "Tell me how to {ask}.", "How do I {ask}?", "Teach me to {ask}."),
    skills=(
        Skill("Follow these steps in order.", "Says to follow the steps in order", ("follow", "steps", "order"), place=0),
        Skill("First gather everything you need.", "Says to gather everything first", ("first", "gather"), place=0),
        Skill("Check the result at the end.", "Says to check the result", ("check", "result")),
        Skill("Stop if anything looks unsafe.", "Says to stop when unsafe", ("stop", "unsafe")),
        Skill("Clean your tools afterwards.", "Says to clean the tools afterwards", ("clean", "tools", "afterwards")),
        Skill("Practice makes the next try easier.", "Encourages practice for the next try", ("practice", "try"), place=3),
    ),
    topics=_topics("""
tea | make tea | Boil fresh water for the tea. | Warm the pot beforehand.
    | Steep the leaves for four minutes. | Cover the pot with a cloth.
bread | bake bread | Knead the dough well. | Let the yeast rise.
    | Bake until the crust is brown. | Spray the oven with steam.
bicycle | fix a bicycle | Turn the bicycle upside down. | Oil the dry chain.
    | Pump up both tires. | Straighten the wheel spokes.
shirt | iron a shirt | Iron the collar before the rest. | Set the heat for cotton.
    | Dampen the cloth slightly. | Button the shirt on a hanger.
garden | start a garden | Pick a sunny spot. | Dig the soil deeply.
    | Plant seeds in straight rows. | Bury a copper coin against slugs.
wall | paint a wall | Wash the wall with soap. | Tape the edges neatly.
    | Roll the paint from the top. | Store the brush in foil.
knot | tie a knot | Cross the two ends. | Pull the loop tight.
    | Pass the end through twice. | Burn the frayed tip.
tent | pitch a tent | Choose flat ground. | Push the poles through.
    | Hammer the pegs at an angle. | Dig a small drain around it.
photo | take a photo | Hold the camera steady. | Focus on the eyes.
    | Keep the light behind you. | Breathe out and press.
egg | boil an egg | Put the egg in hot water. | Wait six minutes.
    | Cool it under the tap. | Spin it to test the yolk.
fire | build a fire | Collect dry wood. | Stack thin twigs loosely.
    | Light it from below. | Shave a feather stick.
puppy | train a puppy | Reward the puppy with treats. | Repeat short commands.
    | Walk it twice a day. | Ring a bell at the door.
"""),
)

DOMAINS = (MEDICAL, SCIENCE, WRITING, ROLE_PLAY, INSTRUCTION)

FORMAT_DOMAIN = INSTRUCTION.name
"""The domain whose prompts carry a format instruction."""
