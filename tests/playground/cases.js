// The cases of the file tests as command lines (tests/filetest/expectations.h says what the comments mean).
"use strict";

const fs = require("fs");
const path = require("path");

function tilesBelow(root, folder) {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return tilesBelow(root, name);
    return name.endsWith(".tile") ? [name] : [];
  }).sort();
}

const COMMANDS = {
  run: (file, args) => ["run", file, ...args],
  check: (file, args) => ["check", file, ...args],
  fmt: (file) => ["fmt", file],
  explain: (file, args) => ["compile", file, "--explain", ...args],
  emit: (file, args) => ["compile", file, "--emit", "cuda", ...args],
};

// A `# program:` is looked for from the folder of the test upwards.
function findProgram(root, file, program) {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const name = path.join(folder, program);
    if (fs.existsSync(path.join(root, name))) return name;
    if (folder === ".") throw new Error(`${file}: there is no ${program}`);
  }
}

// Command lines of a test, each once. Targets are named where the words of `--help` say another default.
function casesOf(root, file) {
  const lines = fs.readFileSync(path.join(root, file), "utf8").split("\n");
  let kind = "run", program = file;
  const cases = [];
  let open = null;
  for (const line of lines) {
    const match = /^# (test|args|program): *(.*)$/.exec(line);
    if (!match) continue;
    const [, what, text] = match;
    if (what === "program") program = findProgram(root, file, text.trim());
    if (what === "test") kind = text.trim(), cases.push(open = { kind, args: [] });
    if (what === "args") {
      if (open && open.args.length === 0 && !open.has_args) open.args = text.trim().split(/\s+/).filter(Boolean);
      else cases.push(open = { kind, args: text.trim().split(/\s+/).filter(Boolean) });
      open.has_args = true;
    }
  }
  if (cases.length === 0) cases.push({ kind, args: [] });
  const seen = new Set();
  return cases.map(({ kind: name, args }) => COMMANDS[name](program, args)).filter((words) => {
    const text = words.join(" ");
    return !seen.has(text) && seen.add(text);
  });
}

module.exports = { casesOf, tilesBelow };
