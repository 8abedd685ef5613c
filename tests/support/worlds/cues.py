"""How English tells a relation: patterns of words, by property.

Written from knowledge of the language, not from the worlds' own sentences.
"""

import re

# "" where the value itself is the cue: a genre, an industry, an occupation.
_CUES = {
    "P17": r"in|where|of|country|nation|state|belong|lies|across|borders",
    "P19": r"born|birth|native|came into the world|hail",
    "P21": "",
    "P27": r"citizen|national|passport|countr",
    "P31": "",
    "P36": r"capital|seat of government|governed from",
    "P50": r"writ|wrote|author|pen(s|ned)?|novels?",
    "P54": (
        r"play|squad|team|side|join|sign|turn(ed)? out|appear|spell|wore|shirt|footballer|"
        r"colours|career|kit|line[- ]?up|served|represent|club|stint|seasons?"
    ),
    "P57": r"direct",
    "P58": r"writ|wrote|screenplay|script|pen(ned)?|screenwrit|scenario",
    "P69": (
        r"stud|educat|attend|alum|graduat|degree|read|train|enrol|school|matricul|universit|"
        r"alma mater|classes|lectures|pupil|taught|passed through|halls"
    ),
    "P86": r"compos|music|score|wrote|tune|melod",
    "P101": "",
    "P106": "",
    "P108": (
        r"work|teach|taught|staff|professor|employ|post|chair|faculty|research|appoint|career|"
        r"job|lectur|held|position|hired|payroll|serve|academic|tenure|laborator|engaged|"
        r"salary|pay"
    ),
    "P112": r"found|start|establish|set up|set .* up|creat|launch|built|began|cofound",
    "P115": r"home|play|ground|stadium|venue|host|match|fixture",
    "P118": (
        r"clubs?|teams?|lines? up|appears|place in|league|compet|play|division|member|"
        r"tak(?:es|ing) part|contest"
    ),
    "P123": r"publi|issue|brought out|imprint|press|releas|printed",
    "P127": r"own|proprietor|parent|belong|subsidiar|hands|property|controll|portfolio",
    "P131": r"in|at|stands?|locat|lies",
    "P136": "",
    "P144": r"based|story|adapt|source|drawn|from|basis|film version|screen",
    "P159": (
        r"base[ds]?|headquarter|head office|seat|offices|home|quarters|locat|campus|buildings|"
        r"runs? from|university in"
    ),
    "P161": (
        r"cast|star|appear|play|role|act(s|ed|ing|or|ors|ress)?|perform|screen|lead|part|"
        r"featur"
    ),
    "P162": r"produc",
    "P166": (
        r"w[io]n(s|ner|ners|ning)?|receiv|recogni|award|honou?r|prize|took|present|given|gave|"
        r"recipient|laureate|went to|collect|earned|bestow|claim|carried|reward|recogni[sz]|"
        r"brought (?:it|her|him|them)"
    ),
    "P169": r"chief exec|CEO|run|runs|led|lead|head|charge|helm|top",
    "P175": (
        r"perform|record|releas|sing|sang|sung|album|song|track|single|by|artist|cut|"
        r"discograph"
    ),
    "P184": r"supervis|advi[sc]|doctora|thesis|dissertation|student|PhD|mentor|guid|under",
    "P264": (
        r"label|sign|releas|record|issue|roster|contract|published|catalogue|brought out|"
        r"put out|imprint|taken on|came out"
    ),
    "P272": r"produc|studio|made|compan|makes?|financ|output",
    "P286": r"coach|manag|charge|train|head|dugout|helm|touchline|le(a)?d",
    "P413": "",
    "P452": "",
    "P495": r"made|financ|produc|from|countr|origin|shot|publish|written|wr[io]t|come",
    "P527": (
        r"member|perform|line-?up|consist|play|band|group|compris|musician|join|includ|belong|"
        r"made up"
    ),
    "P569": r"born|birth|came into the world|life began",
    "P570": r"died|death|passed away|dies|life ended|until (his|her)|end came",
    "P571": (
        r"found|establish|incept|start|began|begun|formed|form|creat|set up|set .* up|launch|"
        r"institut|inaugurat|open|dat(es|ing|ed)|came together|into being|existence|history|"
        r"since|goes back|incorporat|beginning|charter|together|first"
    ),
    "P577": (
        r"releas|publi|came out|premi|issue|appear|open|screen|print|shops|reached|arriv|"
        r"out on|book|on sale|brought out|cinemas|debut|unveil|put out|dat(es|ed)"
    ),
    "P676": r"lyric|words|text|wrote|written",
    "P740": (
        r"form|origin|(?:came|brought) together|start|beginnings|comes?|base|began|born|roots|"
        r"founded|hail|c[ao]me from"
    ),
    "P840": r"set|setting|takes? place|locat|unfold|happens|plays out|scene|story",
    "P1082": r"populat|inhabit|people|resident|live|home to|census|citizens|souls",
    "P1083": (
        r"capacit|tickets|space|visitors|seat|hold|spectator|people|accommodat|room|crowd|"
        r"supporters|attend|fans|places"
    ),
    "P1104": r"pages?",
    "P1128": r"employ|staff|people|work|payroll|personnel|headcount",
    "P1303": "",
    "P1411": r"nomin|shortlist|short list|contend|candidate|consider|running",
    "P1619": r"open|inaugurat|gates|doors",
    "P2047": r"minutes?|runs?|runtime|long|length|duration|hours?",
    "P2048": r"tall|height|centimet|cm|stands|stood|measur",
    "P2196": r"student|enrol|undergrad|learners",
}
CUES = {
    prop: re.compile(rf"\b(?:{cue})" if cue else "", re.IGNORECASE) for prop, cue in _CUES.items()
}

# Items whose label in the graph is not the everyday word for them.
ITEM_WORDS = {
    "Q5": r"",  # a human: every line of a life says so
    "Q11424": r"film|picture|movie",
    "Q1762059": r"(film|production) (studio|production|company)|studio",
    "Q4220917": r"award|prize",
    "Q215380": r"band|group",
    "Q1364556": r"award|prize",
    "Q378427": r"award|prize",
    "Q11448906": r"award|prize",
    "Q4830453": r"business|company|firm|enterprise",
    "Q476028": r"(association )?football club|football team|club",
    "Q15991303": r"(association )?football league|league",
    "Q2085381": r"publish(er|ing (house|company|firm))",
    "Q8261": r"novel",
    "Q937857": r"(association )?football player|footballer",
    "Q628099": r"(association )?football (manager|coach)",
    "Q1415090": r"(film )?(score )?composer",
    "Q484876": r"chief executive( officer)?|business executive|CEO",
}
FEMALE = re.compile(r"\b(?:she|her|hers|herself)\b", re.IGNORECASE)
MALE = re.compile(r"\b(?:he|his|him|himself)\b", re.IGNORECASE)
GENDERS = {"Q6581072": (FEMALE, MALE), "Q6581097": (MALE, FEMALE)}  # its pronouns, and the other's
