"""English words by what they do in a name: numbers, countries, ranks, sites, kinds, months.

Only classes that a list can hold whole, and the words that tell a name from a common phrase. Other
synonyms ("movie theatre", "cinema") are left to a model. All are in lower case; those that stand
for one another are keys of `normalise`, without full stops.
"""

_UNITS = """
    one first, two second twice, three third, four fourth, five fifth, six sixth, seven seventh,
    eight eighth, nine ninth, ten tenth, eleven eleventh, twelve twelfth, thirteen thirteenth,
    fourteen fourteenth, fifteen fifteenth, sixteen sixteenth, seventeen seventeenth,
    eighteen eighteenth, nineteen nineteenth
"""
_TENS = """
    twenty twentieth, thirty thirtieth, forty fortieth, fifty fiftieth, sixty sixtieth,
    seventy seventieth, eighty eightieth, ninety ninetieth
"""
_ROMAN = "ii iii iv - vi vii viii ix - xi xii xiii xiv xv xvi xvii xviii xix xx"

NUMBER_WORDS = {word: n for n, words in enumerate(_UNITS.split(","), 1) for word in words.split()}
"""Cardinals and ordinals below twenty."""

TENS = {word: 10 * n for n, words in enumerate(_TENS.split(","), 2) for word in words.split()}

ROMAN_NUMERALS = {word: n for n, word in enumerate(_ROMAN.split(), 2) if word != "-"}
"""Those of several letters, 2 to 20."""

ROMAN_LETTERS = {"i": 1, "v": 5, "x": 10}
"""Numerals only beside longer ones: "I Can Only Imagine" has none."""


def _forms(table: str) -> dict[str, str]:
    """A form to the word that stands for it, by rows of the word and its forms."""
    rows = (row.split() for row in table.split(","))
    return {form: word for word, *forms in rows for form in forms}


_COUNTRIES = _forms("""
    us usa america american americans, uk britain british, argentina argentine argentinian,
    australia australian, austria austrian, belgium belgian, brazil brazilian, canada canadian,
    chile chilean, china chinese, colombia colombian, croatia croatian, cuba cuban, denmark danish,
    egypt egyptian, finland finnish, france french, germany german, greece greek, hungary hungarian,
    iceland icelandic, india indian, indonesia indonesian, iran iranian, iraq iraqi, ireland irish,
    israel israeli, italy italian, jamaica jamaican, japan japanese, kenya kenyan, korea korean,
    malaysia malaysian, mexico mexican, netherlands dutch, newzealand newzealander,
    nigeria nigerian, norway norwegian, pakistan pakistani, peru peruvian,
    philippines philippine filipino, poland polish, portugal portuguese, romania romanian,
    russia russian, serbia serbian, singapore singaporean, spain spanish, sweden swedish,
    switzerland swiss, taiwan taiwanese, thailand thai, turkey turkish, ukraine ukrainian,
    venezuela venezuelan, vietnam vietnamese
""")
# Within or around countries, so that one never contradicts another.
_REGIONS = _forms("""
    africa african, asia asian, england english, europe european, northamerica northamerican,
    scotland scottish, southamerica southamerican, latinamerica latinamerican, wales welsh
""")
COUNTRIES = frozenset(_COUNTRIES.values())
PAIRS = {
    ("united", "states"): "us",
    ("united", "kingdom"): "uk",
    ("great", "britain"): "uk",
    ("new", "zealand"): "newzealand",
    ("new", "zealander"): "newzealand",
    **{
        (side, name): f"{side}america"
        for side in ("north", "south", "latin")
        for name in ("america", "american")
    },
}
"""Two words that are one."""

BEFORE, SINCE = "before", "since"
SAME_WORDS = {
    **_COUNTRIES,
    **_REGIONS,
    **dict.fromkeys(("prior", "until", "till"), BEFORE),
    **dict.fromkeys(("after", "onward", "onwards"), SINCE),
}
"""A word to the one that stands for its class."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS_OF_KEYS = _words("""
    a an the this that these those it its itself their they his he her she him
    who whom whose what which when where why how many much long
    is are was were be been being am do does did doing has have had having can could will would
    of in on at by for to from with as into onto during and or
""")
"""Question words, auxiliaries, articles, pronouns, and prepositions that do not divide time."""


def _listed(text: str) -> frozenset[str]:
    return frozenset(" ".join(part.split()) for part in text.split(","))


STATES = dict(
    pair.split(maxsplit=1)
    for pair in _listed("""
        al alabama, ak alaska, az arizona, ar arkansas, ca california, co colorado, ct connecticut,
        de delaware, fl florida, ga georgia, hi hawaii, id idaho, il illinois, in indiana, ia iowa,
        ks kansas, ky kentucky, la louisiana, me maine, md maryland, ma massachusetts, mi michigan,
        mn minnesota, ms mississippi, mo missouri, mt montana, ne nebraska, nv nevada,
        nh new hampshire, nj new jersey, nm new mexico, ny new york, nc north carolina,
        nd north dakota, oh ohio, ok oklahoma, or oregon, pa pennsylvania, ri rhode island,
        sc south carolina, sd south dakota, tn tennessee, tx texas, ut utah, vt vermont,
        va virginia, wa washington, wv west virginia, wi wisconsin, wy wyoming
    """)
)
"""Abbreviations, in capitals, of the states of the US."""
REGIONS = _listed("""
    dc, alberta, british columbia, manitoba, new brunswick, newfoundland, nova scotia, ontario,
    quebec, saskatchewan, new south wales, queensland, tasmania, western australia, england,
    scotland, wales, northern ireland, afghanistan, albania, algeria, angola, armenia, azerbaijan,
    bangladesh, belarus, bolivia, bosnia and herzegovina, botswana, bulgaria, cambodia, cameroon,
    costa rica, cyprus, czech republic, czechia, ecuador, el salvador, estonia, ethiopia, fiji,
    ghana, guatemala, haiti, honduras, hong kong, jordan, kazakhstan, kuwait, kyrgyzstan, laos,
    latvia, lebanon, libya, lithuania, luxembourg, macedonia, madagascar, malta, mongolia,
    montenegro, morocco, mozambique, myanmar, namibia, nepal, nicaragua, north korea, panama,
    paraguay, puerto rico, qatar, rwanda, saudi arabia, senegal, slovakia, slovenia, somalia,
    south africa, south korea, sri lanka, sudan, syria, tanzania, tunisia, uganda,
    united arab emirates, uruguay, uzbekistan, yugoslavia, fr yugoslavia, soviet union, yemen,
    zambia, zimbabwe, europe, asia, africa, andorra, bahamas, bahrain, barbados, belize, benin,
    bhutan, brunei, burkina faso, burundi, cape verde, chad, congo, dominican republic, djibouti,
    east timor, equatorial guinea, eritrea, eswatini, gabon, gambia, gibraltar, greenland, grenada,
    guinea, guyana, ivory coast, kosovo, lesotho, liberia, liechtenstein, malawi, maldives, mali,
    mauritania, mauritius, moldova, monaco, niger, oman, palestine, papua new guinea, samoa,
    san marino, sierra leone, suriname, svalbard, tajikistan, togo, tonga, trinidad and tobago,
    turkmenistan, vanuatu, vatican city, bedfordshire, berkshire, buckinghamshire, cambridgeshire,
    cheshire, cornwall, cumbria, derbyshire, devon, dorset, east sussex, essex, gloucestershire,
    hampshire, herefordshire, hertfordshire, kent, lancashire, leicestershire, lincolnshire,
    merseyside, norfolk, northamptonshire, northumberland, north yorkshire, nottinghamshire,
    oxfordshire, shropshire, somerset, staffordshire, suffolk, surrey, sussex, warwickshire,
    west sussex, wiltshire, worcestershire, yorkshire, baden württemberg, bavaria, brandenburg,
    hesse, lower saxony, saxony, thuringia, andhra pradesh, assam, bihar, goa, gujarat, haryana,
    karnataka, kerala, madhya pradesh, maharashtra, odisha, punjab, rajasthan, tamil nadu,
    telangana, uttar pradesh, west bengal
""").union(STATES.values())
"""What may stand after a comma and say where a place is, beside `COUNTRIES`: keys."""
RANKS = _listed("""
    archbishop, archduchess, archduke, baron, baroness, bishop, caliph, cardinal, count, countess,
    dame, dauphin, duchess, duke, earl, emir, emperor, empress, infanta, infante, kaiser, king,
    landgrave, lord, margrave, margravine, marquess, marquis, marquise, pharaoh, pope, prince,
    princess, queen, regent, saint, sir, sultan, tsar, tsarina, viscount, viscountess
""")
SITES = _listed("""
    airport, arena, base, bridge, camp, casino, castle, cathedral, cemetery, centre, center, church,
    college, courthouse, farm, garden, gardens, hall, harbor, harbour, hospital, hotel, house,
    library, lighthouse, mall, mosque, museum, palace, park, prison, resort, school, square,
    stadium, station, street, studio, studios, temple, theatre, theater, tower, zoo
""")
"""What a name ends in whose place may follow: "Millennium Stadium, Cardiff"."""
AREAS = _listed("""
    archipelago, canton, county, desert, district, governorate, island, islands, municipality,
    ocean, parish, peninsula, prefecture, province, region, sea, township, valley
""")
"""Words of a text after a comma that make it say where a place is: "Alert, Ellesmere Island"."""
DESCRIBED = _listed("""
    ambassador, amendment, chairman, chairwoman, chancellor, clause, commissioner, governor, mayor,
    minister, president, secretary, section, senator, speaker, treasurer
""")
"""Offices and parts of a law: "of" and what follows say which one, and are not part of the name."""
NEED_A_PHRASE = _listed("""
    academy, ace, act, agency, anatomy, army, article, assembly, association, assumption, ballad,
    bank, basilica, battle, bay, beast, birth, board, brae, bride, brink, burden, bureau, cape,
    chief, class, colony, colossus, commission, committee, commonwealth, concert, confederation,
    conference, confession, congress, constitution, convention, council, court, cult, curse,
    delusion, department, despotate, diocese, dragon, duchy, eagle, emirate, faculty, fall, feast,
    federation, festival, fist, flag, fort, gate, ghost, gospel, government, guardian, gulf,
    history, hood, horn, inquisition, institute, islam, isle, jack, lament, lay, league, legend,
    length, letter, list, margraviate, massacre, matter, mausoleum, meeting, melody, member,
    messenger, ministry, mount, ode, office, order, pale, parliament, party, pharos, pirate, plague,
    pledge, politics, port, portal, principality, pyramid, quantum, raider, republic, revolt, rim,
    rite, rock, roman, romance, royal, senate, shape, siege, sin, sinking, smith, society, son, spy,
    statue, strait, sultanate, symphony, synod, tale, term, timeline, tomb, ton, trace, treaty,
    tribe, union, university, vale, vision, voice, war, wing, world
""").union(RANKS, DESCRIBED, SITES, AREAS)
"""Of which "of" and a name after it are a part: "Bank of America". Read off 36,000 names of
published sets."""
SIDES = _listed("""
    east, eastern, female, girl, boy, inner, left, lower, male, man, men, north, northern, outer,
    right, south, southern, upper, west, western, woman, women
""")
"""Words of which the first in a phrase tells it from its counterpart."""


FUNCTION_WORDS = _words("""
    a about above across after again against ago all along already also although always am among an
    and another any anybody anyone anything are around as at away back be became because become been
    before behind being below beneath beside besides between beyond both but by can could despite
    did do does done down during each either else enough even ever every everybody everyone
    everything except few for former from had has have he hence her here hers herself him himself
    his how however i if in indeed inside instead into is it its itself just last later latter least
    less let like many may me meanwhile might mine more moreover most much must my myself near
    neither never next no nobody none nor not nothing now of off often on once one only onto or
    other others otherwise our ours out outside over own per perhaps rather same shall she should
    since so some somebody someone something sometimes soon still such than that the their theirs
    them themselves then there therefore these they this those though three through throughout thus
    till to together too toward towards two under unless unlike until up upon us very via was we
    well were what whatever when whenever where whereas wherever whether which while who whoever
    whole whom whose why will with within without would yes yet you your yours
""")

SMALL_WORDS = _words("a an and at by for from in of on or the to with &")
"""What a title may write without a capital."""

COMMON_WORDS = FUNCTION_WORDS | _words("""
    air alien american angel animal army art baby bad ball band bank bar battle beach bear beast
    beautiful beauty bed best better big bird black blade blood blue boat body book boss box boy
    boys brave breaking bridge brother brothers burn business call candle cat century change child
    children circle city clean clear close cloud club cold color colour come comes coming cool
    country crash crazy cross cruel dance dancer dances dark darkness daughter dawn day days dead
    deal dear death deep dirty doctor dog door double dragon dream dreams drive driver dust early
    earth east easy empire end enemy escape eternal evening evil eye eyes face fair faith fall
    family fantastic far fast father fear fever field fight fighter film final find fire first fish
    five flesh flight floor flower fly follow fool force forest forever four free freedom fresh
    friend friends funny furious game games garden gate get gets ghost girl girls give glass go god
    going gold golden gone good got grace grand great green grey ground gun guns hand hands happy
    hard hate head heart heat heaven heavy hell hello help hero heroes hidden high hill home hope
    horse hot hour hours house hunger hunt hunter hurt ice inside iron island journey joy judge
    jungle key kid kids kill killer king kingdom kings kiss know lady land late law left life light
    lights line lion little live lives living lock lonely long look lord lose lost love lover lovers
    low luck lucky machine mad made magic make man march mask master men midnight mile milk mind
    mirror miss mission mist money monster moon morning mother mountain mouse murder music mystery
    naked name nation new news night nights north nowhere number ocean office old open orange pain
    paper paradise park party past path peace people perfect picture pink place planet play player
    poor power pretty pride prize promise pulp quiet race rage rain raise rainbow ray real rebel red
    return rhapsody ride right ring rise rising river road rock room rose round rule rules run
    runner running sad safe saint salt sand save school science sea search second secret see seven
    shadow shame ship show shut sick side signs silence silver simple sing single sister six sky
    sleep slow small smile smoke snow social soldier son song soul sound south space spider spirit
    split spring stand star stars start state station stay steel stone stop storm story stranger
    street strong summer sun sunset super swan sweet swing take taken tale talk taxi teacher tears
    ten thief thing things think third thriller thunder tiger time times tomorrow tonight touch town
    track trail train treasure tree trip trouble true truth turn twenty twilight twin unforgiven
    valley victory village virgin voice wait walk wall want war warm water wave way wedding west
    white wild wind window winter wish witch wolf woman women wonder wonderful word words work world
    wrong year years yellow yesterday young youth zero zone
""")

TITLES = _words("""
    actor actress actors artist artists author band bandleader cinematographer coach comedian
    composer conductor director directors drummer editor film films filmmaker footballer frontman
    guitarist model movie movies musician novel novelist pianist player playwright poet producer
    producers rapper screenwriter singer singers song songs songwriter star stars starring striker
    superstar writer writers including featuring meet see also album albums single company group
    city president ceo founder
""")
"""What may stand, with a capital, before a name without being a part of it."""

NAME_ENDINGS = _words("""
    ceo cfo chairman chief co company corp corporation executive founder gmbh inc incorporated
    limited llc ltd plc president spokesman spokeswoman
""")
"""What may stand, with a capital, behind a company's name without making it another name."""

GENERATIONS = _words("jr sr ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi")
"""Behind a name they make it another person's, or a sequel's."""

LONGER_NAMES = _words("""
    airport avenue award awards boulevard bridge castle cathedral centre center church city college
    county foundation hall hospital house institute island islands library memorial museum park
    prize river road school square stadium station street theater theatre times tower university
""")
"""Capitalised behind a name of several words, they make it the name of something else."""

NAME_OPENINGS = _words(
    "new north south east west northern southern eastern western central upper lower papua"
)
"""Capitalised before a name of several words, they make it the name of something else."""

ABBREVIATIONS = _words("""
    bros capt co col dr feat ft gen gov inc jr lt ltd mlle mme mr mrs ms mt no prof rev sgt sr st
    ste vol vs
""")
"""Short words behind which a full stop does not end a sentence."""

COMPANY_FORMS = _words("inc incorporated ltd limited corp corporation llc plc gmbh co")

OCCUPATIONS = (
    _words("actor actress comedian director filmmaker producer screenwriter writer"),
    _words(
        "actor actress composer drummer guitarist musician pianist producer rapper singer"
        " songwriter writer"
    ),
    _words("author historian journalist novelist philosopher playwright poet writer"),
    _words(
        "athlete baseball basketball coach cricketer cyclist footballer manager player swimmer"
        " wrestler"
    ),
    _words("businessman businesswoman entrepreneur executive inventor manager"),
    _words("astronaut chemist inventor mathematician physicist scientist"),
    _words("general judge lawyer minister officer politician soldier"),
    _words("architect artist painter photographer sculptor"),
)
"""Occupations of people; one person may well have several of one set."""

PERSON_KINDS = frozenset[str]().union(*OCCUPATIONS)
RELATIVES = _words("""
    aunt brother child children cousin daughter father founder grandfather grandmother husband
    mother nephew niece parent parents performer sister son spouse uncle wife
""")
"""What people are to someone or something, beside their occupations."""
WORK_KINDS = (
    _words("film movie"),
    _words("song single"),
    _words("album ep soundtrack"),
    _words("book novel novella"),
    _words("play musical opera"),
    _words("miniseries season series sitcom television tv"),
    _words("game"),
    _words("band group"),
    _words("painting poem"),
)
"""Kinds of works and their makers; words of one set may be said of the same work."""

KINDS = PERSON_KINDS.union(*WORK_KINDS) | _words("""
    anime brand character city club comic comics company country county disambiguation franchise
    genre horse island language league magazine manga mountain newspaper planet province river
    school ship state surname team town village
""")
"""What a disambiguator in brackets says that a thing is."""

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)

HANGUL_PARTICLES = _words("""
    이 가 은 는 을 를 의 에 에서 에게 에게서 와 과 도 로 으로 만 까지 부터 한테 께서 께
    이나 나 이며 며 이고 고 이다 입니다 였다 이었다 처럼 보다 라는 이라는 라고 이라고
    """)
