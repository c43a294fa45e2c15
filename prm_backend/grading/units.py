"""Units behind a number: which words are one, and how large it is beside others of its dimension."""

from __future__ import annotations

import re
from fractions import Fraction

_POWER = r"(?:\s*\^\s*\{?\s*(?P<power>[23])\s*\}?)?"
_UNIT = re.compile(
    rf"(?P<gap>\s*)(?:\\text\s*\{{(?P<macro>[^{{}}\d\\]*)\}}|(?P<words>[a-zA-Z]+(?:[ .]+[a-zA-Z]+)*\.?)){_POWER}\s*"
)
_DEGREE = re.compile(r"\s*\^\{\\circ\}\s*(?:\\text\s*\{\s*)?(?P<scale>[CF]?)\s*\}?\s*")
_RATE = re.compile(
    rf"\s*(?P<top>[a-zA-Z]{{1,14}})\s*(?:/|\s(?:per|an?)\s)\s*(?P<bottom>[a-zA-Z]{{1,14}})\.?\s*{_POWER}\s*"
)
TEXT_MACRO = re.compile(r"\\text\s*\{([^{}]*)\}")
_LONGEST_UNIT_WORDS = 6
# Behind a number these say another number, or nothing that may be left out.
_NO_UNITS = {
    "and", "choose", "cos", "cosine", "cot", "csc", "cubed", "doubled", "exp", "factorial", "half", "halved", "halves",
    "less", "ln", "log", "max", "maximum", "minimum", "minus", "mod", "modulo", "more", "negative",
    "not", "of", "or", "over", "pct", "per", "percent", "pi", "plus", "positive", "quarter", "quarters",
    "remainder", "root", "sin", "sine", "sqrt", "squared", "tan", "tens", "than", "times", "to",
    "third", "thirds", "fourth", "fourths", "fifth", "fifths", "sixth", "sixths", "seventh", "sevenths",
    "eighth", "eighths", "ninth", "ninths", "tenth", "tenths", "hundredth", "hundredths", "thousandth",
    "thousandths", "tripled",
    # numerals; not "one", which may be a digit's place
    "zero", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty",
}  # fmt: skip
# Said among the words of a unit, these belong to it: "cups of flour", "miles per gallon of fuel".
_INSIDE_UNITS = {"of", "per"}
_POWERS = re.compile(r"\^\s*[23]")
LETTER_UNITS = set("NJWVAKCFL")
_ALIASES = {
    "mph": "mile/hour",
    "kph": "km/h",
    "kmh": "km/h",
    **dict.fromkeys(("celsius", "degree celsius", "degrees celsius"), "degreec"),
    **dict.fromkeys(("fahrenheit", "degree fahrenheit", "degrees fahrenheit"), "degreef"),
}

_CASED = {"MW": "megawatt", "mW": "milliwatt"}  # the same letters, a thousand million apart

_SIZES = {
    "length": "mm=1/1000 cm=1/100 m=1 km=1000 in=127/5000 ft=381/1250 yd=1143/1250 mi=201168/125 "
    "millimeter=1/1000 centimeter=1/100 meter=1 metre=1 kilometer=1000 kilometre=1000 inch=127/5000 "
    "inche=127/5000 foot=381/1250 feet=381/1250 yard=1143/1250 mile=201168/125",
    "mass": "mg=1/1000 g=1 kg=1000 milligram=1/1000 gram=1 kilogram=1000 lb=45359237/100000 "
    "pound=45359237/100000 oz=45359237/1600000 ounce=45359237/1600000",
    "time": "s=1 sec=1 second=1 min=60 minute=60 h=3600 hr=3600 hour=3600 day=86400 week=604800",
    "volume": "ml=1/1000 l=1 liter=1 litre=1 milliliter=1/1000",
    "money": "dollar=1 usd=1 buck=1 cent=1/100",
    "euros": "euro=1",
    "yen": "yen=1",
    "rupees": "rupee=1",
    "angle": "degree=1 deg=1",
    "radians": "radian=1 rad=1",
    "celsius": "degreec=1",
    "fahrenheit": "degreef=1",
    "power": "watt=1 kw=1000 kilowatt=1000 milliwatt=1/1000 megawatt=1000000",
    "energy": "joule=1 kj=1000 kilojoule=1000",
    "force": "newton=1 kn=1000",
    "frequency": "hz=1 hertz=1 khz=1000 mhz=1000000",
    "units": "unit=1",
    "count": "one=1 dozen=12 hundred=100 thousand=1000 million=1000000 billion=1000000000 trillion=1000000000000",
}
CURRENCIES = {"dollar", "euro", "pound", "yen", "yuan", "rupee"}
# A unit's name -> its dimension, and its size in a unit that all of that dimension share.
UNITS = {
    name: (dimension, Fraction(size))
    for dimension, table in _SIZES.items()
    for name, _, size in (entry.partition("=") for entry in table.split())
}


def unit_of(text: str) -> str | None:
    """The canonical name of a unit ("cm^2", "m/s^2", "dollar", or its own words); None where the text is no unit."""
    if match := _DEGREE.fullmatch(text):
        return "degree" + match["scale"].lower()
    in_macro = "\\text" in text
    if match := _RATE.fullmatch(TEXT_MACRO.sub(r" \1 ", text)):
        return _rate(match, in_macro)
    match = _UNIT.fullmatch(text)
    if match is None:
        return None
    words = re.sub(r"[\s.]+", " ", (match["macro"] or match["words"] or "")).strip()
    words = _CASED.get(words, words.lower())
    if words in _ALIASES:
        return _ALIASES[words]
    power = match["power"] or ""
    for word, meant in (("square ", "2"), ("sq ", "2"), ("cubic ", "3"), ("cu ", "3")):
        if words.startswith(word):
            words, power = words.removeprefix(word), meant
    first = words.partition(" ")[0]
    names = [words, words.removesuffix("s"), *([first] if UNITS.get(first, ("",))[0] == "count" else [])]
    known = next((name for name in names if name in UNITS), None)
    if known is None:
        # Outside of \text, letters may be variables: "2 ab", "5x". Words of a language are longer.
        is_words = match["macro"] is not None or (
            match["gap"] and all(len(word) >= 3 for word in words.split()[:1])
        )
        if not is_words or len(words.split()) > _LONGEST_UNIT_WORDS or says_more(words):
            return None
        if len(words) == 1 and (match["macro"] or "").strip(" .") not in LETTER_UNITS:
            return None  # a variable: "5\\text{x}"
        known = words.removesuffix("s")
    elif match["macro"] is None and not match["gap"] and len(known) < 2:
        return None
    return f"{known}^{power}" if power else known


def says_more(words: str) -> bool:
    """Whether words behind a number change it: they hold another one, or what is no name of a thing."""
    said = words.split()
    named = (word for i, word in enumerate(said) if i == 0 or word not in _INSIDE_UNITS)
    return bool(_NO_UNITS.intersection(named)) or any(c.isdigit() for c in _POWERS.sub("", words))


def _rate(match: re.Match[str], in_macro: bool) -> str | None:
    parts = []
    for name in ("top", "bottom"):
        word = match[name].lower()
        known = next((one for one in (word, word.removesuffix("s")) if one in UNITS), None)
        if word in _NO_UNITS or (known is None and not in_macro and len(word) < 3):
            return None  # "5 x/y"
        parts.append(known or word.removesuffix("s"))
    return "/".join(parts) + (f"^{match['power']}" if match["power"] else "")


def is_magnitude(unit: str) -> bool:
    """Whether the unit is a word like "million", which is a part of the number."""
    dimension, size = UNITS.get(unit, ("", Fraction(1)))
    return dimension == "count" and size >= 100


def size_of(unit: str) -> tuple[str, Fraction] | None:
    """A unit's dimension and its size there; None for one that nothing is known of."""
    top, slash, bottom = unit.partition("/")
    if slash:
        over, under = size_of(top), size_of(bottom)
        return (f"{over[0]}/{under[0]}", over[1] / under[1]) if over and under else None
    name, _, power = unit.partition("^")
    if name not in UNITS:
        return None
    dimension, size = UNITS[name]
    return f"{dimension}^{power or 1}", size ** int(power or 1)
