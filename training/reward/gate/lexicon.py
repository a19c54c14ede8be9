"""Words: how a text is cut into them, and which of them name no topic.

Rule checks have their own notion of a word, which users can look up; this one serves the content gate and the signs of reward
hacking, in any script. The lists were collected by hand.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

FUNCTION = frozenset(
    """
    a an the this that these those it its he him his she her hers they them their theirs we us our ours you your yours i me my
    mine who whom whose which what when where why how and or but nor so if then than as at by for from in into of off on onto
    out over to too up upon with without within about above across after against along among around before behind below beside
    between beyond down during except inside near outside since through throughout till toward towards under until via per is
    am are was were be been being do does did done doing have has had having can could may might must shall should will would
    ought not no none never ever any some all both each either neither every few many much more most less least other another
    such same own only just also even still yet very really quite rather again once here there now always often sometimes
    usually maybe perhaps however therefore thus because although though while whereas unless whether like unlike instead else
    anything something nothing everything anyone someone everyone one ones dont cant isnt doesnt didnt wont im ive ill youre
    youve theyre were thats whats theres lets hes shes
    """.split()
)
"""Words that hold English sentences together."""

REQUEST = frozenset(
    """
    yes ok okay please thanks thank hello hi dear sincerely regards sorry well let get gets got getting go goes going gone
    went come coming came make making made take taking took give giving given gave put keep kept say saying said tell telling
    told talk ask asked know known knowing think thinking thought want wanted need needed try trying tried use using used find
    finding found see seen saw look looking show shown seem work working help helping start starting started begin beginning
    began end ending ended finish change changing keep follow following call called named become mean meaning person people
    man men woman women thing way time day year life world part kind type lot bit place number case fact idea point good
    better best bad great nice new old big small large little long short high low different important importance interesting
    right wrong sure able easy hard real true false whole entire full main certain possible general specific clear simple two
    three four five six seven eight nine ten first second third next last twice zero write writing written wrote rewrite
    create creating compose generate provide produce describe description explain explanation expand elaborate summarize
    summary discuss answer answering question reply respond response request instruction prompt task output include including
    contain containing consist mention avoid refrain exclude repeat repeating appear wrap wrapped wrapping highlight
    highlighted mark marked marker separate separated divider surround add adding list listed replace ensure require required
    requirement constraint explicitly word sentence paragraph section line letter character phrase keyword text content format
    form style tone language english title heading header bullet item example bracket square angular quote quotation double
    single comma punctuation capital capitalized lowercase uppercase lower upper case markdown json italic italicize bold
    asterisk symbol placeholder represent postscript exact exactly total count frequency minimum maximum limit allowed version
    original note topic subject name detail brief concise funny formal casual creative weird strange angry perspective block
    syntax notation ad
    """.split()
)
"""Words that requests for text are made of in English, whatever they are about."""

FORMS = frozenset(
    """
    essay article post blog story poem song lyrics rap rhyme haiku limerick riddle joke script dialogue conversation email
    message tweet advertisement speech paper report resume cover template pitch proposal itinerary rubric review
    """.split()
)
"""Kinds of text that people ask for in English."""

VAGUE = frozenset(
    """
    ability access accord account achievement act action activity actual addition advance advantage advice affair agreement
    alternative ambition amount analysis angle appearance application approach area argument arrangement aspect assumption
    attempt attention attitude audience awareness background balance base basis beginning behaviour behavior belief benefit
    beyond boundary branch capability capacity care cause center centre certainty challenge chance chapter characteristic
    choice circumstance claim clarity class collection combination comment commitment common communication community
    comparison complexity concept concern conclusion condition confidence connection consequence consideration consistency
    context contrast contribution control core course creation creativity criteria criterion culture curiosity date deal
    debate decision dedication definition degree demand depth design desire destination detail development dialog difference
    difficulty dimension direction disadvantage discovery discussion display distance distinction diversity document doubt
    draft drawback drive duty ease edge effect effort element emotion emphasis end energy environment era essence evaluation
    event evidence evolution exchange excitement exercise existence expectation experience expert expertise explanation
    exploration expression extent factor failure faith familiarity feature feedback feeling field figure focus force
    foundation framework freedom function future gain gap goal good greatness ground group growth guarantee guidance guide
    guideline habit hand happiness harmony heart history honesty hope human humanity identity image imagination impact
    implementation implication impression improvement individual influence information initiative innovation input insight
    inspiration instance integrity intention interaction interest interpretation introduction investment involvement issue
    journey judgment kindness knowledge lack layer leader leadership learning lesson level life limitation link list location
    logic look loss love luck majority management manner manual material matter maximum measure mechanism member memory
    message method milestone mind minority mission mistake mix mixture model moment momentum mood motivation move movement
    nature need network nobody norm notion object objective obstacle occasion offer operation opinion opportunity option order
    organization organisation origin outcome output outlook overview pace page pair participant participation partner
    partnership passage passion past path patience pattern peace perception performance period permission persistence
    perspective phase phenomenon picture piece plan platform pleasure plenty policy portion position possibility potential
    power practice practise preference preparation presence present presentation pressure pride principle priority procedure
    process product production professional profile program progress project promise proof proportion prospect purpose quality
    quantity quest range rate reach reaction reader reading reality reason reasoning recognition recommendation record
    reference reflection region relation relationship release relevance reliability reminder research resilience resolution
    resource respect responsibility result review reward risk role root rule sample satisfaction scale scenario scene scope
    search security sense series service set setting share side sign significance similarity situation size skill society
    solution sort sound source space spirit spot stability stage stakeholder standard state statement step stimulus strategy
    strength stress structure struggle studies study stuff subject success suggestion sum support surface surprise survey
    system target taste team technique technology tendency tension term test theme theory thought tomorrow tool topic total
    touch track tradition training transformation transition treatment trend trust truth understanding unit unity update usage
    user value variation variety version view viewpoint vision visit voice vote wealth weakness week weight welfare wellbeing
    whole will wisdom wish wonder worth yesterday today accept accompany achieve acknowledge acquire adapt adjust admit adopt
    advise affect afford agree aim allow alter anticipate apply appreciate approach argue arise arrange arrive aspire assess
    assist assume assure attach attain attempt attend attract await base bear beat believe belong blend borrow break bring
    broaden build buy calculate capture care carry cast catch celebrate check choose clarify collaborate collect combine
    commit compare compete complete comprehend concentrate conclude conduct confirm connect consider consult continue
    contribute convey convince cooperate cope correspond cover cross cultivate cut deal decide define deliver demand
    demonstrate deny depend derive deserve desire determine develop devote differ direct disappear discover display
    distinguish divide draw drive drop earn embrace emerge emphasize enable encounter encourage engage enhance enjoy enrich
    enter equip establish estimate evaluate evolve examine exceed exist expand expect experience explore expose express extend
    face facilitate fail fall feel fill fit fix flow focus force forget form foster fulfil fulfill function gain gather grasp
    grow guarantee guess guide handle hang happen hear hesitate hit hold hope identify ignore illustrate imagine implement
    imply improve increase indicate influence inform inspire integrate intend interact interest interpret introduce invest
    invite involve join judge jump justify lack last lay lead lean learn leave lend let lie lift link listen live load lose
    love maintain manage master match matter maximize measure meet minimize miss monitor motivate move navigate notice nurture
    observe obtain occur offer open operate organize organise overcome owe pass pause pay perceive perform permit pick place
    plan play point possess prefer prepare present preserve press prevent proceed promote propose protect prove pull pursue
    push question raise reach react read realize realise recall receive recognize recognise recommend record reduce refer
    refine reflect regard relate relax release rely remain remember remind remove rent report represent resolve respect rest
    restore retain return reveal review rise run satisfy save seek select sell send serve settle shape share shift shine show
    sit solve sort speak spend spread stand state stay stem step stick stimulate stop store strengthen stretch strive study
    succeed suffer suggest suit support suppose surround survive sustain switch teach tend test thrive throw touch track
    transform treat trust turn understand undertake unlock update urge value vary verify view visit wait walk watch wear
    welcome win wish wonder worry absolute acceptable accessible accurate active actual additional adequate advanced amazing
    ample apparent applicable appropriate available average aware balanced basic beautiful beneficial bright broad busy
    capable careful central challenging clean close collective comfortable common compelling complete complex comprehensive
    confident connected consistent constant content continuous convenient correct countless critical crucial current curious
    daily dear deep definite delightful dependable detailed determined different difficult diligent direct distinct diverse
    dynamic eager early educational effective efficient emotional endless engaging enjoyable enormous entire equal especially
    essential ethical everyday evident exceptional excellent exciting existing expected experienced extra extraordinary
    extreme fair familiar famous fantastic fascinating fast final fine firm flexible following forward free frequent fresh
    friendly fulfilling fundamental further future generous genuine gentle global grateful great happy harmonious healthy
    helpful high holistic honest huge human ideal immediate immense imaginative incredible independent individual initial
    inner innovative insightful inspiring integral intelligent interested invaluable joyful key kind known late lasting latest
    leading likely limited local logical lucky major manageable many massive meaningful mental mere minor modern moral mutual
    natural necessary negative normal notable novel numerous obvious occasional ongoing open opposite optimal ordinary
    organized original outstanding overall own particular past patient peaceful perfect personal physical plain pleasant
    popular positive possible potential powerful practical precious precise present previous primary prior private productive
    proper proud public pure quick quiet random rapid rare rational ready realistic reasonable recent regular related relative
    relevant reliable remarkable responsible rewarding rich robust rough safe same satisfied secondary secure separate serious
    several severe shared significant similar single slight slow smart smooth social solid sophisticated special specific
    stable standard steady straightforward strategic strong structured stunning substantial subtle successful sudden
    sufficient suitable super superb supportive sustainable tailored thorough thoughtful timeless tiny top total traditional
    transformative tremendous true typical ultimate unclear unexpected unforgettable unique universal unknown unlimited
    unparalleled unusual upcoming useful usual valid valuable varied various vast versatile vibrant viable vital warm weak
    welcome wide willing wise wonderful worthwhile worthy wrong young accordingly actually additionally ahead almost alone
    already altogether apart away back basically briefly certainly closely commonly consequently correctly currently deeply
    definitely easily effectively elsewhere enough equally essentially eventually everywhere exclusively extremely fairly
    finally firstly forever fortunately forth forward frequently fully furthermore generally gradually greatly hardly hence
    highly hopefully immediately increasingly indeed inevitably initially instantly largely lastly lately later likewise
    literally mainly meanwhile merely mostly moreover mutually naturally nearly necessarily nevertheless newly nonetheless
    normally notably obviously occasionally otherwise overly partially particularly partly perfectly personally possibly
    potentially precisely presumably previously primarily probably properly quickly quietly rapidly rarely readily recently
    regardless regularly relatively repeatedly respectively roughly seamlessly secondly seemingly seldom separately seriously
    significantly similarly simultaneously slightly slowly somehow somewhat somewhere soon specifically steadily strictly
    strongly subsequently successfully suddenly surely therefore thirdly thoroughly together truly typically ultimately
    undoubtedly unfortunately usually virtually widely worldwide anybody everybody somebody anyway anywhere half quarter rest
    plenty couple dozen hundred thousand million percent pair bunch unit guest boss colleague customer client employee visitor
    friend family child kid guy folk fellow neighbor neighbour stranger home house room door street city town country office
    school company business market money price cost job career work morning evening night afternoon hour minute week month
    season weekend century decade age filler dummy generic untitled lorem ipsum dolor sit amet consectetur adipiscing elit sed
    eiusmod tempor incididunt labore dolore magna aliqua enim veniam quis nostrud exercitation ullamco laboris nisi aliquip
    commodo consequat duis aute irure reprehenderit voluptate velit esse cillum fugiat nulla pariatur excepteur sint occaecat
    cupidatat proident sunt culpa officia deserunt mollit anim est laborum
    """.split()
)
"""Words that say nothing in particular: with the lists above, nearly all that filler in English needs."""

PLAIN_CHARACTERS = frozenset(
    "的了是在我有和就不人都一个上也很到说要去你会着没看好自己这那他她它们与及或但而且以为于对从被把将让给由所之其此等中里外前后"
    "内下年月日时间请写篇关字文章回答容面包含使用至少最多每第二三四五六七八九十两几段落句词语标题格式列出提供介绍描述解释分析总"
    "结根据需可能够应该如何什么怎样哪些吗呢吧啊嗯更再还又只才已经过来起出入得地"
)
"""Characters that Chinese sentences and requests are held together with."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff\u200c\u200d"
_LETTER = f"(?:(?![{_UNSPACED}])[^\\W_]|[{_MARKS}])"
_TOKEN = re.compile(f"[{_UNSPACED}]|{_LETTER}+(?:'{_LETTER}+)*")
_ASCII_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*", re.ASCII)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SENTENCE_END = re.compile(r"[.!?;。！？；।۔\n]+")


def tokens(text: str) -> list[str]:
    """The words of ``text`` in lower case, ``camelCase`` split; where a script writes no spaces, its characters."""
    return list(_tokens(text))


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    """Several signs and checks look at the same responses, prompts and criteria within a step."""
    plain = unicodedata.normalize("NFKC", _HUMP.sub(" ", text)).replace("’", "'")
    # Without the marks and scripts that ASCII lacks the same words are found three times as fast.
    return tuple((_ASCII_TOKEN if plain.isascii() else _TOKEN).findall(plain.casefold()))


def stem(word: str) -> str:
    """A word without its English ending."""
    word = word.removesuffix("'s").replace("'", "")
    for ending in ("ings", "ing", "ies", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    return word[: len(word) - (len(word) > 3 and word[-1] in "ey")]


FUNCTION_STEMS = frozenset(map(stem, FUNCTION))
REQUEST_STEMS = FUNCTION_STEMS | frozenset(map(stem, REQUEST))
VAGUE_STEMS = REQUEST_STEMS | frozenset(map(stem, VAGUE))
FORM_STEMS = frozenset(map(stem, FORMS))

ROOT = 6
"""Letters by which two forms of a word are held to be one: \"translate\" and \"translation\"."""


def content(words: Sequence[str], plain: Set[str], least: int = 2) -> list[str]:
    """Stems of the words that are not ``plain`` and have ``least`` letters; runs of characters where a script has no spaces."""
    found, run = [], ""
    for word in words:
        if not _IS_UNSPACED.match(word):
            run = ""
            if len(word) >= least and not word.isnumeric() and (root := stem(word)) not in plain:
                found.append(root[:ROOT])
        elif word in PLAIN_CHARACTERS or "\u3040" <= word <= "\u309f":
            run = ""
        else:
            width = 4 if word < "\u2000" else 2  # letters of South-East Asia, characters of East Asia
            run = (run + word)[-width:]
            if len(run) == width:
                found.append(run)
    return found


def runs(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """The runs of ``size`` words that stand in ``words``."""
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}


def without_runs(words: Sequence[str], known: Set[tuple[str, ...]], size: int) -> list[str]:
    """``words`` without the runs of ``size`` or more that are ``known``."""
    copied = bytearray(len(words))
    for i in range(len(words) - size + 1):
        if tuple(words[i : i + size]) in known:
            copied[i : i + size] = b"\1" * size
    return [word for word, is_copied in zip(words, copied, strict=True) if not is_copied]


def without_copies(words: Sequence[str], sources: Iterable[Sequence[str]], size: int) -> list[str]:
    """``words`` without the runs of ``size`` or more that stand in a source as well."""
    return without_runs(words, {run for source in sources for run in runs(source, size)}, size)


def script(words: Sequence[str]) -> str:
    """The commonest script of the words, by the first part of the names that Unicode gives to letters."""
    scripts = Counter(unicodedata.name(word[0], "").split(" ")[0] for word in words if not word[0].isnumeric())
    return scripts.most_common(1)[0][0] if scripts else ""


def share(words: Sequence[str], stems: Set[str]) -> float:
    """Of the words, the share whose stem is among ``stems``."""
    return sum(stem(word) in stems for word in words) / len(words) if words else 0.0


LEAST_RUNS = 8
"""Runs of four words below which their repetition means nothing: three short lines of a song."""


def length(words: Sequence[str]) -> int:
    """How many words ``words`` are worth: two characters of a script without spaces make about one."""
    if all(map(str.isascii, words)):
        return len(words)
    unspaced = sum(_IS_UNSPACED.match(word) is not None for word in words)
    return len(words) - unspaced + (unspaced + 1) // 2


def repeated_share(words: Sequence[str]) -> float:
    """Of all runs of four words, the share that stood there before; 0 for fewer than eight runs.

    Numbers count as one word, so that counting on does not hide a repetition; runs made of them, as in tables, are left out.
    """
    plain = ["0" if word.isnumeric() else word for word in words]
    runs = [run for i in range(len(plain) - 3) if (run := tuple(plain[i : i + 4])).count("0") <= 1]
    return 1 - len(set(runs)) / len(runs) if len(runs) >= LEAST_RUNS else 0.0
