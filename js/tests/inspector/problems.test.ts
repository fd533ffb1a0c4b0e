import { expect, test } from "vitest";
import { parse } from "../../src/inspector/json/parse";

/** A text, and the whole sentence that a person reads. */
const CASES: [name: string, text: string, describe: string][] = [
  [
    "comma missing in an object",
    '{\n  "path": "src/cart.py",\n  "find": "s = 0",\n  "replace": "s = Decimal(0)"\n  "max_count": 1\n}',
    "Line 4: a comma is missing after the value of “replace”.",
  ],
  [
    "comma missing in a list",
    '{"tags": ["a"\n "b"]}',
    "Line 1: a comma is missing after item 1 of “tags”.",
  ],
  ["comma missing in a bare list", "[1 2]", "Line 1: a comma is missing after item 1 of the list."],
  [
    "comma missing after a nested value",
    '{"a": {}\n"b": 1}',
    "Line 1: a comma is missing after the value of “a”.",
  ],
  [
    "quote inside text",
    '{"say": "a "b" c"}',
    'Line 1: a comma is missing after the value of “say”, or a quote inside it must be written \\".',
  ],
  [
    "second colon",
    '{"a": "b": 1}',
    'Line 1: a comma is missing after the value of “a”, or a quote inside it must be written \\".',
  ],
  ["comma too many in an object", '{\n"a": 1,\n}', "Line 2: there is a comma too many before }."],
  ["comma too many in a list", "[1,\n2,\n]", "Line 2: there is a comma too many before ]."],
  ["comma first", "[,1]", "Line 1: there is a comma too many."],
  ["comma twice", '{"a":1,,"b":2}', "Line 1: there is a comma too many."],
  ["value missing before }", '{\n"a":\n}', "Line 2: the value of “a” is missing."],
  ["value missing before a comma", '{"a": , "b": 1}', "Line 1: the value of “a” is missing."],
  ["value missing at the end", '{"a":', "Line 1: the value of “a” is missing."],
  ["colon missing", '{"a" 1}', "Line 1: a colon is missing after the key “a”."],
  ["key without quotes", "{path: 1}", "Line 1: the key “path” needs double quotes."],
  ["key in single quotes", "{'path': 1}", "Line 1: a key needs double quotes, not single ones."],
  ["text in single quotes", "['a']", "Line 1: text needs double quotes, not single ones."],
  ["text in curly quotes", "[“a”]", 'Line 1: text needs straight quotes: ".'],
  ["text without quotes", '{"a": src.py}', "Line 1: “src.py” needs double quotes to be text."],
  ["Python's True", '{"a": True}', "Line 1: JSON writes true, not True."],
  ["Python's None", "None", "Line 1: JSON writes null, not None."],
  ["NaN", "[NaN]", "Line 1: JSON has no NaN; write null, or text in double quotes."],
  [
    "minus Infinity",
    "[-Infinity]",
    "Line 1: JSON has no Infinity; write null, or text in double quotes.",
  ],
  ["plus", "[+1]", "Line 1: a number can't begin with +."],
  ["point first", "[.5]", "Line 1: a number can't begin with a point; write 0.5."],
  ["point last", "[1.]", "Line 1: digits are missing after the point."],
  ["minus alone", "[-]", "Line 1: digits are missing after the minus sign."],
  ["zero first", "[007]", "Line 1: a number can't begin with 0 and another digit."],
  ["e alone", "[1e]", "Line 1: digits are missing after the e."],
  ["number with a unit", "[10px]", "Line 1: “10px” is neither a number nor text in double quotes."],
  ["comment", "{\n// no\n}", "Line 2: JSON has no comments."],
  ["comment in a list", "[# no\n]", "Line 1: JSON has no comments."],
  [
    "line break in text",
    '{"a": "one\ntwo"}',
    "Line 1: the text that ends this line is not closed; write a line break inside it as \\n.",
  ],
  ["tab in text", '["a\tb"]', "Line 1: a tab inside text must be written \\t."],
  [
    "control in text",
    '["a\u0001b"]',
    "Line 1: a control character inside text must be written \\u0001.",
  ],
  [
    "text never closed",
    '{"a": "b}',
    "Line 1: the text that begins here is never closed with a quote.",
  ],
  [
    "unknown escape",
    '["C:\\src"]',
    "Line 1: \\s means nothing in JSON; write \\\\ for a backslash.",
  ],
  [
    "short unicode escape",
    '["\\u12"]',
    "Line 1: \\u must be followed by four digits, 0 to 9 or a to f.",
  ],
  [
    "object never closed",
    '{\n"a": {\n"b": 1\n}\n',
    "Line 4: the { of line 1 is never closed with }.",
  ],
  ["list never closed", "[1,", "Line 1: the [ of line 1 is never closed with ]."],
  ["wrong closer", '{\n"a": [1}\n}', "Line 2: the [ of line 2 must be closed with ], not }."],
  [
    "wrong closer of an object",
    '{"a": 1]',
    "Line 1: the { of line 1 must be closed with }, not ].",
  ],
  ["something after", "{} x", "Line 1: something follows after the end of the object."],
  ["something after a scalar", "1 2", "Line 1: something follows after the end of the value."],
  ["nothing", " \n", "Line 1: the text is empty; write null for no value."],
  ["stray", "[@]", "Line 1: “@” can't stand here, where a value is expected."],
  ["stray key", "{@: 1}", "Line 1: “@” can't stand here, where a key is expected."],
];

test.each(CASES)("%s", (_name, text, describe) => {
  const parsed = parse(text);
  expect("problem" in parsed && parsed.problem.describe(text)).toBe(describe);
});

test("a problem's place lies inside its text", () => {
  for (const [, text] of CASES) {
    const parsed = parse(text);
    if (!("problem" in parsed)) throw new Error(text);
    expect(parsed.problem.at).toBeLessThanOrEqual(parsed.problem.end);
    expect(parsed.problem.end).toBeLessThanOrEqual(text.length);
  }
});
