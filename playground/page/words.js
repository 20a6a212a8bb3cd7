// What is read from texts: options, messages with places, emitted code.
"use strict";

// The words of a line as a shell reads them: blanks between, quotes around. An error if a quote is open.
function splitWords(line) {
  const words = [];
  const pattern = /\s*((?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+)/y;
  while (line.slice(pattern.lastIndex).trim() !== "") {
    const at = pattern.lastIndex;
    const match = pattern.exec(line);
    if (!match) throw new Error(`a quote is not closed: ${line.slice(at).trim()}`);
    words.push(match[1].replace(/\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, one, double, single) =>
      one ?? single ?? double.replace(/\\(["\\$`])/g, "$1")));
  }
  return words;
}

// The options that a command's help lists: by name, whether they have a value.
function readOptions(help) {
  const options = new Map();
  for (const [, names, value] of help.matchAll(/^ {2}(-\S+)(?: (\S)| {2,}|$)/gm)) {
    for (const name of names.split(",")) options.set(name, value !== undefined);
  }
  return options;
}

// Those of a command's words that another one takes as well.
function optionsFor(words, own, other) {
  const kept = [];
  for (let i = 0; i < words.length; ++i) {
    const word = words[i];
    const joined = !word.startsWith("--") && word.length > 2 ? word.slice(0, 2) : word.split("=")[0];
    const isPair = own.get(joined) === true && joined === word;
    const all = words.slice(i, i + (isPair ? 2 : 1));
    if (isPair) ++i;
    if (other.has(joined)) kept.push(...all);
  }
  return kept;
}

// Diagnostics in a command's text: file, severity, place from 1 on, length in columns, message. Messages of notes belong
// to the one before. Faults of `file`, the program, come first.
function problemsIn(text, file) {
  const problems = [];
  const lines = text.split("\n");
  lines.forEach((line, i) => {
    const match = /^(.+?):(\d+):(\d+): (error|warning): (.*)$/.exec(line);
    if (!match) return;
    const caret = /^\s*(\^~*)/.exec(lines[i + 2] || "");
    problems.push({ file: match[1], line: +match[2], column: +match[3], severity: match[4], message: match[5],
      length: caret ? caret[1].length : 1 });
  });
  return problems.sort((a, b) => (b.file === file) - (a.file === file));
}

const CUDA_RULES = [
  ["comment", /\/\/.*|\/\*.*?\*\//y],
  ["directive", /#\s*\w+/y],
  ["string", /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y],
  ["number", /\b(?:0[xX][0-9a-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][-+]?\d+)?)[uUlLfF]*\b/y],
  ["keyword", new RegExp("\\b(?:alignas|asm|auto|bool|break|case|char|class|const|constexpr|continue|default|do|double|else|" +
    "enum|extern|false|float|for|if|inline|int|long|namespace|noexcept|operator|return|short|signed|sizeof|static|" +
    "static_assert|static_cast|reinterpret_cast|struct|switch|template|true|typedef|typename|union|unsigned|using|void|" +
    "volatile|while|__\\w+__|__restrict__)\\b", "y")],
  ["type", /\b\w+_t\b|\b(?:u?int|float|half|bfloat16)\d*\b|\b__(?:half|nv)\w*/y],
  ["function", /\b[A-Za-z_]\w*(?=\s*(?:<[\w\s,]*>)?\()/y],
  ["", /\w+|\s+|[^\w\s]/y],
];

// Rows of CUDA C++ as parts: kind of token and text. A comment of several rows goes on.
function colourCuda(rows) {
  let inComment = false;
  return rows.map((row) => {
    const parts = [];
    const add = (kind, text) => {
      const last = parts[parts.length - 1];
      if (last && last[0] === kind) last[1] += text;
      else if (text !== "") parts.push([kind, text]);
    };
    for (let at = 0; at < row.length;) {
      const opens = row.startsWith("/*", at) && row.indexOf("*/", at + 2) < 0;
      if (inComment || opens) {
        const end = inComment ? row.indexOf("*/", at) : -1;
        inComment = end < 0;
        add("comment", row.slice(at, end < 0 ? row.length : end + 2));
        at = end < 0 ? row.length : end + 2;
        continue;
      }
      for (const [kind, rule] of CUDA_RULES) {
        rule.lastIndex = at;
        const match = rule.exec(row);
        if (match === null) continue;
        add(kind, match[0]);
        at += match[0].length;
        break;
      }
    }
    return parts;
  });
}

// Emitted code as rows with the line of the program that they are of. `kernels` is whether the row is after the
// prelude, which is the same for every program.
function readCuda(code, file) {
  const rows = [];
  let line = 0, own = false;
  for (const text of code.split("\n")) {
    const match = /^\s*#line (\d+)(?: "(.*)")?/.exec(text);
    if (match) {
      if (match[2] !== undefined) own = !match[2].startsWith("prelude/");
      line = match[2] === undefined || match[2] === file ? +match[1] : 0;
      continue;
    }
    rows.push({ text, line: own ? line : 0, own });
  }
  return rows;
}

// A program in an address: all in the part behind #, which no server sees.
async function packed(text, stream) {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function toLink({ program, options, text }) {
  const state = new URLSearchParams({ program });
  if (options) state.set("options", options);
  if (text !== undefined) {
    const bytes = await packed(text, new CompressionStream("deflate-raw"));
    const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    state.set("text", btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, ""));
  }
  return "#" + state;
}

// The largest text that a link may hold, in bytes: a few bytes of a stranger's must not fill the memory.
const MOST_TEXT = 1 << 20;

async function fromLink(hash) {
  const state = new URLSearchParams(hash.replace(/^#/, ""));
  const result = { program: state.get("program"), options: state.get("options") || "" };
  if (!state.has("text")) return result;
  const binary = atob(state.get("text").replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(binary, (one) => one.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MOST_TEXT) throw new Error("the program in the link is too long");
    parts.push(part.value);
  }
  result.text = await new Blob(parts).text();
  return result;
}

if (typeof module !== "undefined") {
  module.exports = { splitWords, readOptions, optionsFor, problemsIn, readCuda, colourCuda, toLink, fromLink };
}
