"""What prose of this repository does not say, why, and what it says instead."""

import dataclasses
import re

from passages import COMMENT, DOCSTRING, MEMBER, PROSE, STRING, TRAILING

WORDS = (COMMENT, TRAILING, MEMBER, DOCSTRING, PROSE)


@dataclasses.dataclass(frozen=True)
class Rule:
    name: str
    kinds: tuple
    pattern: re.Pattern
    way_out: str
    bad: str    # an example that the rule finds
    good: str   # what it says instead


def _idiom(name, pattern, way_out, bad, good, kinds=(*WORDS, STRING)):
    return Rule(name, kinds, re.compile(pattern), way_out, bad, good)


PREPOSITIONS = ("of by in on at for from with without to as after before since against around between over under behind "
                "beside into per through until").split()
PRONOUNS = "that which whose who it its they their this these those them likewise or and else instead".split()

COMPARATIVES = ("longer more less fewer greater larger smaller further wider better older newer faster slower later higher "
                "lower").split()

RULES = [
    Rule("head", (COMMENT, TRAILING, MEMBER, DOCSTRING, PROSE),
         re.compile(r"(?:\A|(?<=[.;:!?]\s))(The same\b|Likewise\b|Those\b|Of\b)"),
         "begin with what the sentence is about, a noun of the field; a reader may see this sentence alone",
         "Of a scan: the totals of a level.", "The totals of a level of a scan."),
    Rule("member", (MEMBER,),
         re.compile(rf"\A(?:(?:{'|'.join(PREPOSITIONS + PRONOUNS)})\b(?!\()|one (?:of|for|per|that|more|each)\b|the same\b)",
                    re.IGNORECASE),
         "name what the member is: an editor shows these words without the declaration",
         "that may be in flight", "maximum number of copy groups in flight"),
    _idiom("met by", r"\bmet by (?:block|thread)\b", "say where: `in block [0], thread 3`",
           "met by block [0], thread 3", "in block [0], thread 3"),
    _idiom("mend", r"\b[Mm]end(?:s|ed|ing)?\b", "say fix, or what is to be changed", "mend its strides", "fix its strides"),
    _idiom("of it", r"\bof it \[", "name both extents: `f32[2] of f32[3000]`", "f32[3000], of it [2]", "f32[2] of f32[3000]"),
    _idiom("is no", rf"(?<!there )(?<!There )\b(?:is|are|was) no(?!\s+(?:{'|'.join(COMPARATIVES)})\b)(?:\s+[\w`.'{{}}-]+)",
           "say is not a, is not an, are not", "0.1 is no f16", "0.1 is not an f16"),
    _idiom("is none", r"\b(?:that|which|what) (?:is|are) none\b(?! of\b)",
           "name what it is not: `a condition that is not constant`",
           "a branch that is none", "a branch with a constant condition"),
    _idiom("lack", r"\b[Ll]ack(?:s|ed|ing)?\b", "say is missing, misses, has no, or without", "what it lacks", "what is missing"),
    _idiom("told", r"\b(?:is|are|was|were|be|been) told\b|\btold (?:of|who|what)\b",
           "name who reports what to whom: reports, gets, receives, is given", "who is told of faults",
           "the receiver of faults"),
    _idiom("anew", r"\banew\b", "say again, or recomputed, rebuilt, a new", "computed anew", "recomputed"),
    _idiom("looks on", r"\blooks? on\b", "say observer, observes", "who looks on", "observers"),
]


def findings_in(passages):
    """(line, rule, words found) of each offence."""
    for passage in passages:
        for rule in RULES:
            if passage.kind in rule.kinds:
                for match in rule.pattern.finditer(passage.text):
                    yield passage.line + passage.text.count("\n", 0, match.start()), rule, match.group(0)
