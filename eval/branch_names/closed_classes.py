"""Closed classes of English words: those that stand for one another, and those that say nothing.

Only classes that a list can hold whole: numbers, countries and their adjectives, what divides time,
question words. Other synonyms ("movie theatre", "cinema") are left to a model. Words are keys of
`normalise`: lower case, without full stops.
"""

_UNITS = (
    *("one first", "two second twice", "three third", "four fourth", "five fifth", "six sixth"),
    *("seven seventh", "eight eighth", "nine ninth", "ten tenth", "eleven eleventh"),
    *("twelve twelfth", "thirteen thirteenth", "fourteen fourteenth", "fifteen fifteenth"),
    *("sixteen sixteenth", "seventeen seventeenth", "eighteen eighteenth"),
    "nineteen nineteenth",
)
_TENS = (
    *("twenty twentieth", "thirty thirtieth", "forty fortieth", "fifty fiftieth"),
    *("sixty sixtieth", "seventy seventieth", "eighty eightieth", "ninety ninetieth"),
)
_ROMAN = ("ii iii iv - vi vii viii ix - xi xii xiii xiv xv", "xvi xvii xviii xix xx")

NUMBER_WORDS = {word: n for n, words in enumerate(_UNITS, 1) for word in words.split()}
"""Cardinals and ordinals below twenty."""

TENS = {word: 10 * n for n, words in enumerate(_TENS, 2) for word in words.split()}

ROMAN_NUMERALS = {word: n for n, word in enumerate(" ".join(_ROMAN).split(), 2) if word != "-"}
"""Those of several letters, 2 to 20."""

ROMAN_LETTERS = {"i": 1, "v": 5, "x": 10}
"""Numerals only beside longer ones: "I Can Only Imagine" has none."""

_COUNTRIES = """
    us: usa america american americans
    uk: britain british
    argentina: argentine argentinian
    australia: australian
    austria: austrian
    belgium: belgian
    brazil: brazilian
    canada: canadian
    chile: chilean
    china: chinese
    colombia: colombian
    croatia: croatian
    cuba: cuban
    denmark: danish
    egypt: egyptian
    finland: finnish
    france: french
    germany: german
    greece: greek
    hungary: hungarian
    iceland: icelandic
    india: indian
    indonesia: indonesian
    iran: iranian
    iraq: iraqi
    ireland: irish
    israel: israeli
    italy: italian
    jamaica: jamaican
    japan: japanese
    kenya: kenyan
    korea: korean
    malaysia: malaysian
    mexico: mexican
    netherlands: dutch
    newzealand: newzealander
    nigeria: nigerian
    norway: norwegian
    pakistan: pakistani
    peru: peruvian
    philippines: philippine filipino
    poland: polish
    portugal: portuguese
    romania: romanian
    russia: russian
    serbia: serbian
    singapore: singaporean
    spain: spanish
    sweden: swedish
    switzerland: swiss
    taiwan: taiwanese
    thailand: thai
    turkey: turkish
    ukraine: ukrainian
    venezuela: venezuelan
    vietnam: vietnamese
"""
# Within or around countries, so that one never contradicts another.
_REGIONS = """
    africa: african
    asia: asian
    england: english
    europe: european
    northamerica: northamerican
    scotland: scottish
    southamerica: southamerican
    latinamerica: latinamerican
    wales: welsh
"""
_JOINED = {
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


def _adjectives(table: str) -> dict[str, str]:
    rows = (line.split(":") for line in table.split("\n") if line.strip())
    return {form: name.strip() for name, forms in rows for form in forms.split()}


COUNTRIES = frozenset(_adjectives(_COUNTRIES).values())
PAIRS = _JOINED
"""Two words that are one."""

BEFORE, SINCE = "before", "since"
SAME_WORDS = {
    **_adjectives(_COUNTRIES),
    **_adjectives(_REGIONS),
    **dict.fromkeys(("prior", "until", "till"), BEFORE),
    **dict.fromkeys(("after", "onward", "onwards"), SINCE),
}
"""A word to the one that stands for its class."""

_FUNCTION_WORDS = """
    a an the this that these those it its itself their they his he her she him
    who whom whose what which when where why how many much long
    is are was were be been being am do does did doing has have had having can could will would
    of in on at by for to from with as into onto during and or
"""
FUNCTION_WORDS_OF_KEYS = frozenset(_FUNCTION_WORDS.split())
"""Question words, auxiliaries, articles, pronouns, and prepositions that do not divide time."""


def _listed(text: str) -> frozenset[str]:
    return frozenset(" ".join(part.split()) for part in text.split(","))


REGIONS = _listed("""
    alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida,
    georgia, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland,
    massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada,
    new hampshire, new jersey, new mexico, new york, north carolina, north dakota, ohio, oklahoma,
    oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah,
    vermont, virginia, washington, west virginia, wisconsin, wyoming, dc, alberta,
    british columbia, manitoba, new brunswick, newfoundland, nova scotia, ontario, quebec,
    saskatchewan, new south wales, queensland, tasmania, western australia, england, scotland,
    wales, northern ireland, afghanistan, albania, algeria, angola, armenia, azerbaijan,
    bangladesh, belarus, bolivia, bosnia and herzegovina, botswana, bulgaria, cambodia, cameroon,
    costa rica, cyprus, czech republic, czechia, ecuador, el salvador, estonia, ethiopia, fiji,
    ghana, guatemala, haiti, honduras, hong kong, jordan, kazakhstan, kuwait, kyrgyzstan, laos,
    latvia, lebanon, libya, lithuania, luxembourg, macedonia, madagascar, malta, mongolia,
    montenegro, morocco, mozambique, myanmar, namibia, nepal, nicaragua, north korea, panama,
    paraguay, puerto rico, qatar, rwanda, saudi arabia, senegal, slovakia, slovenia, somalia,
    south africa, south korea, sri lanka, sudan, syria, tanzania, tunisia, uganda,
    united arab emirates, uruguay, uzbekistan, yugoslavia, fr yugoslavia, soviet union, yemen,
    zambia, zimbabwe, europe, asia, africa, andorra, bahamas, bahrain,
    barbados, belize, benin, bhutan, brunei, burkina faso, burundi, cape verde, chad, congo,
    dominican republic, djibouti, east timor, equatorial guinea, eritrea, eswatini, gabon, gambia,
    gibraltar, greenland, grenada, guinea, guyana, ivory coast, kosovo, lesotho, liberia,
    liechtenstein, malawi, maldives, mali, mauritania, mauritius, moldova, monaco, niger, oman,
    palestine, papua new guinea, samoa, san marino, sierra leone, suriname, svalbard, tajikistan,
    togo, tonga, trinidad and tobago, turkmenistan, vanuatu, vatican city, bedfordshire,
    berkshire, buckinghamshire, cambridgeshire, cheshire, cornwall, cumbria, derbyshire, devon,
    dorset, east sussex, essex, gloucestershire, hampshire, herefordshire, hertfordshire, kent,
    lancashire, leicestershire, lincolnshire, merseyside, norfolk, northamptonshire,
    northumberland, north yorkshire, nottinghamshire, oxfordshire, shropshire, somerset,
    staffordshire, suffolk, surrey, sussex, warwickshire, west sussex, wiltshire, worcestershire,
    yorkshire, baden württemberg, bavaria, brandenburg, hesse, lower saxony, saxony, thuringia,
    andhra pradesh, assam, bihar, goa, gujarat, haryana, karnataka, kerala, madhya pradesh,
    maharashtra, odisha, punjab, rajasthan, tamil nadu, telangana, uttar pradesh, west bengal
""")
"""What may stand after a comma and say where a place is, beside `COUNTRIES`: keys."""
RANKS = _listed("""
    archbishop, archduchess, archduke, baron, baroness, bishop, caliph, cardinal, count,
    countess, dame, dauphin, duchess, duke, earl, emir, emperor, empress, infanta, infante,
    kaiser, king, landgrave, lord, margrave, margravine, marquess, marquis, marquise, pharaoh,
    pope, prince, princess, queen, regent, saint, sir, sultan, tsar, tsarina, viscount,
    viscountess
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
    ambassador, amendment, chairman, chairwoman, chancellor, clause, commissioner, governor,
    mayor, minister, president, secretary, section, senator, speaker, treasurer
""")
"""Offices and parts of a law: "of" and what follows say which one, and are not part of the name."""
NEED_A_PHRASE = (
    _listed("""
    academy, ace, act, agency, anatomy, army, article, assembly, association, assumption,
    ballad, bank, basilica, battle, bay, beast, birth, board, brae, bride, brink, burden,
    bureau, cape, chief, class, colony, colossus, commission, committee, commonwealth, concert,
    confederation, conference, confession, congress, constitution, convention, council, court,
    cult, curse, delusion, department, despotate, diocese, dragon, duchy, eagle, emirate,
    faculty, fall, feast, federation, festival, fist, flag, fort, gate, ghost, gospel,
    government, guardian, gulf, history, hood, horn, inquisition, institute, islam, isle, jack,
    lament, lay, league, legend, length, letter, list, margraviate, massacre, matter, mausoleum,
    meeting, melody, member, messenger, ministry, mount, ode, office, order, pale, parliament,
    party, pharos, pirate, plague, pledge, politics, port, portal, principality, pyramid,
    quantum, raider, republic, revolt, rim, rite, rock, roman, romance, royal, senate, shape,
    siege, sin, sinking, smith, society, son, spy, statue, strait, sultanate, symphony, synod,
    tale, term, timeline, tomb, ton, trace, treaty, tribe, union, university, vale, vision,
    voice, war, wing, world
""")
    | RANKS
    | DESCRIBED
    | SITES
    | AREAS
)
"""Of which "of" and a name after it are a part: "Bank of America". Read off 36,000 names of
published sets."""
SIDES = _listed("""
    east, eastern, female, girl, boy, inner, left, lower, male, man, men, north, northern, outer,
    right, south, southern, upper, west, western, woman, women
""")
"""Words of which the first in a phrase tells it from its counterpart."""


STATES = {
    pair.split(maxsplit=1)[0]: pair.split(maxsplit=1)[1]
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
}
"""Abbreviations, in capitals, of the states of the US."""
