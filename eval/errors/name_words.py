"""Words that tell a name from a common phrase in English text.

They decide only about names that could be read as ordinary words; all are in lower case.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words("""
    a about above across after again against ago all along already also although always am
    among an and another any anybody anyone anything are around as at away back be became
    because become been before behind being below beneath beside besides between beyond both
    but by can could despite did do does done down during each either else enough even ever
    every everybody everyone everything except few for former from had has have he hence her
    here hers herself him himself his how however i if in indeed inside instead into is it its
    itself just last later latter least less let like many may me meanwhile might mine more
    moreover most much must my myself near neither never next no nobody none nor not nothing
    now of off often on once one only onto or other others otherwise our ours out outside over
    own per perhaps rather same shall she should since so some somebody someone something
    sometimes soon still such than that the their theirs them themselves then there therefore
    these they this those though three through throughout thus till to together too toward
    towards two under unless unlike until up upon us very via was we well were what whatever
    when whenever where whereas wherever whether which while who whoever whole whom whose why
    will with within without would yes yet you your yours
    """)

SMALL_WORDS = _words("a an and at by for from in of on or the to with &")
"""What a title may write without a capital."""

COMMON_WORDS = FUNCTION_WORDS | _words("""
    air alien american angel animal army art baby bad ball band bank bar battle beach bear
    beast beautiful beauty bed best better big bird black blade blood blue boat body book boss
    box boy boys brave breaking bridge brother brothers burn business call candle cat century
    change child children circle city clean clear close cloud club cold color colour come
    comes coming cool country crash crazy cross cruel dance dancer dances dark darkness
    daughter dawn day days dead deal dear death deep dirty doctor dog door double dragon dream
    dreams drive driver dust early earth east easy empire end enemy escape eternal evening
    evil eye eyes face fair faith fall family fantastic far fast father fear fever field fight
    fighter film final find fire first fish five flesh flight floor flower fly follow fool
    force forest forever four free freedom fresh friend friends funny furious game games
    garden gate get gets ghost girl girls give glass go god going gold golden gone good got
    grace grand great green grey ground gun guns hand hands happy hard hate head heart heat
    heaven heavy hell hello help hero heroes hidden high hill home hope horse hot hour hours
    house hunger hunt hunter hurt ice inside iron island journey joy judge jungle key kid kids
    kill killer king kingdom kings kiss know lady land late law left life light lights line
    lion little live lives living lock lonely long look lord lose lost love lover lovers low
    luck lucky machine mad made magic make man march mask master men midnight mile milk mind
    mirror miss mission mist money monster moon morning mother mountain mouse murder music
    mystery naked name nation new news night nights north nowhere number ocean office old open
    orange pain paper paradise park party past path peace people perfect picture pink place
    planet play player poor power pretty pride prize promise pulp quiet race rage rain raise
    rainbow ray real rebel red return rhapsody ride right ring rise rising river road rock
    room rose round rule rules run runner running sad safe saint salt sand save school science
    sea search second secret see seven shadow shame ship show shut sick side signs silence
    silver simple sing single sister six sky sleep slow small smile smoke snow social soldier
    son song soul sound south space spider spirit split spring stand star stars start state
    station stay steel stone stop storm story stranger street strong summer sun sunset super
    swan sweet swing take taken tale talk taxi teacher tears ten thief thing things think
    third thriller thunder tiger time times tomorrow tonight touch town track trail train
    treasure tree trip trouble true truth turn twenty twilight twin unforgiven valley victory
    village virgin voice wait walk wall want war warm water wave way wedding west white wild
    wind window winter wish witch wolf woman women wonder wonderful word words work world
    wrong year years yellow yesterday young youth zero zone
    """)

TITLES = _words("""
    actor actress actors artist artists author band bandleader cinematographer coach comedian
    composer conductor director directors drummer editor film films filmmaker footballer
    frontman guitarist model movie movies musician novel novelist pianist player playwright
    poet producer producers rapper screenwriter singer singers song songs songwriter star
    stars starring striker superstar writer writers including featuring meet see also album
    albums single company group city president ceo founder
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
    airport avenue award awards boulevard bridge castle cathedral centre center church city
    college county foundation hall hospital house institute island islands library memorial
    museum park prize river road school square stadium station street theater theatre times
    tower university
    """)
"""Capitalised behind a name of several words, they make it the name of something else."""

NAME_OPENINGS = _words(
    "new north south east west northern southern eastern western central upper lower papua"
)
"""Capitalised before a name of several words, they make it the name of something else."""

ABBREVIATIONS = _words("""
    bros capt co col dr feat ft gen gov inc jr lt ltd mlle mme mr mrs ms mt no prof rev sgt sr
    st ste vol vs
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
    anime brand character city club comic comics company country county disambiguation
    franchise genre horse island language league magazine manga mountain newspaper planet
    province river school ship state surname team town village
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
