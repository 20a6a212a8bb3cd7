// The page: what its buttons do with the editor and the worker.
"use strict";

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);  // programs, patterns, version
const editor = new Editor({ text: at("text"), colours: at("colours"), gutter: at("gutter") },
  makeHighlighter(data.patterns));
let client = null;
let file = "";            // the program's path in the module
let debugged = null;      // the text and options that the open debugger has
let checked = null;       // likewise of the last check
let stale = new Set();    // panels whose content is of an older text

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// What was said last of each panel, and of which text and options that was.
const told = new Map();

// `panel` is what the words are about; the open one if nothing is named.
function say(text, bad = false, panel = openPanel()) {
  told.set(panel, { text, bad, state: state() });
  showStatus();
}

// The words about the open panel. What is of an earlier text says so, and is pale.
function showStatus() {
  const last = told.get(openPanel()) || { text: "", bad: false, state: state() };
  at("status").textContent = last.text;
  at("status").classList.toggle("bad", last.bad);
  const isOld = isMade(openPanel()) && last.state !== state();
  at("old").hidden = !isOld;
  at(`${openPanel()}-panel`).classList.toggle("old", isOld);
}

// Whether a panel shows what was made of the program.
const MADE = { output: "#output", debug: "#console", cuda: "#cuda", layouts: "#picture", report: "#report[srcdoc]" };
const isMade = (panel) => panel in MADE && [...document.querySelectorAll(MADE[panel])]
  .some((one) => one.hasAttribute("srcdoc") || one.childNodes.length > 0);

// On a narrow screen results are below the program: a user who asks for them is taken there.
const isNarrow = () => matchMedia("(max-width: 820px)").matches;
function showResults() {
  if (isNarrow()) at("results").scrollIntoView({ block: "start" });
}

function toast(text) {
  const note = make("div", { className: "toast", role: "status" }, text);
  document.body.append(note);
  setTimeout(() => note.remove(), 4000);
}

const ownWords = () => splitWords(at("options").value);
const helps = new Map();  // by command: the options that its help lists, asked for once
function optionsOf(name) {
  if (!helps.has(name)) {
    const help = client.ask("command", { words: [name, "--help"] }).then(({ out }) => readOptions(out));
    help.catch(() => helps.delete(name));
    helps.set(name, help);
  }
  return helps.get(name);
}
const wordsFor = async (command) => {
  const own = ownWords();
  return own.length === 0 ? [] : optionsFor(own, await optionsOf("run"), await optionsOf(command));
};
const state = () => JSON.stringify([file, editor.value, at("options").value]);

// `tilevm WORDS` on the text as it is.
async function command(words, wanted = []) {
  const files = { [file]: editor.value };
  const result = await client.ask("command", { words, files, wanted });
  showFiles(result.list);
  return result;
}

function statusText(name, result) {
  const time = result.milliseconds < 10 ? result.milliseconds.toFixed(1) : Math.round(result.milliseconds);
  const meaning = { 0: "done", 1: "the program or its data is wrong", 2: "the options are wrong",
    3: "not in a browser", 4: "a limit was reached" }[result.status] || "a fault of tilevm";
  return `${name}: ${meaning}, ${time} ms`;
}

// Runs `f` where a user asked for something: what fails is said, of the panel that it is about.
function doing(name, f, panel = openPanel) {
  return async (...all) => {
    try {
      say(`${name} …`, false, panel());
      await f(...all);
    } catch (error) {
      if (error instanceof Stopped) say(`${name}: stopped`, false, panel());
      else say(`${name}: ${error.message}`, true, panel());
    }
  };
}

// ---- problems ----

// Faults of an included file are listed with its name; only the program's own can be marked in its text.
function showProblems(problems) {
  editor.mark(problems.filter((one) => one.file === file));
  at("problems").replaceChildren(...problems.slice(0, 50).map((one) => make("li", { className: one.severity },
    make("button", { type: "button",
      onclick: () => (one.file === file ? editor.go(one.line, one.column) : openTab("output")) },
    `${one.file === file ? `Line ${one.line}` : `${one.file}, line ${one.line}`}: ${one.severity}: ${one.message}`))));
}

let checkTimer = 0;

// After a pause in typing, and only while nothing else runs.
function checkSoon(pause = 400) {
  clearTimeout(checkTimer);
  checkTimer = setTimeout(async () => {
    if (client === null || client.busy) return checkSoon();
    try {
      await check();
    } catch { /* options that are not complete yet */ }
  }, pause);
}

async function check() {
  const now = state();
  if (checked === now) return;
  const result = await command(["check", file, ...await wordsFor("check"), "--json"]);
  if (state() !== now) return;
  checked = now;
  const answer = JSON.parse(result.out);
  showProblems(answer.diagnostics.map((one) => ({ file: one.file, line: one.line, column: one.column,
      severity: one.severity,
      message: `${one.message} [${one.code}]`,
      length: one.end_line === one.line ? Math.max(1, one.end_column - one.column) : 1 })));
  showTiles((answer.kernels || []).flatMap((kernel) => kernel.tiles.map((tile) => ({ ...tile, kernel: kernel.name }))));
}

// ---- panels ----

const tabs = [...document.querySelectorAll("[role=tab]")];
const panelOf = (tab) => at(tab.getAttribute("aria-controls"));
const isOpen = (name) => !at(`${name}-panel`).hidden;
const openPanel = () => tabs.find((tab) => tab.getAttribute("aria-selected") === "true").id.slice(4);

function openTab(name, focus = false) {
  for (const tab of tabs) {
    const chosen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    panelOf(tab).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  showStatus();
  refresh();
}

// What a panel shows is made when it is looked at.
function refresh() {
  if (client === null) return;
  if (isOpen("cuda") && stale.has("cuda")) showCuda();
  if (isOpen("report") && stale.has("report")) showReport();
  if (isOpen("layouts") && stale.has("layouts")) showFirstLayout();
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => openTab(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -i, End: tabs.length - 1 - i }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    openTab(tabs[(i + step + tabs.length) % tabs.length].id.slice(4), true);
  });
});

// ---- run ----

const run = doing("Run", async () => {
  showResults();
  if (isOpen("report")) return showReport();
  openTab("output");
  at("output").textContent = "";
  const result = await command(["run", file, ...ownWords()]);
  at("output").textContent = result.out + result.err || "(no output)";
  showProblems(problemsIn(result.err, file));
  say(statusText("Run", result), result.status !== 0, "output");
}, () => (isOpen("report") ? "report" : "output"));

const showReport = doing("Report", async () => {
  stale.delete("report");
  const page = "/tmp/report.html";
  const result = await command(["run", file, ...ownWords(), "--report", page], [page]);
  at("report").hidden = !result.files[page];
  at("report-hint").hidden = !!result.files[page];
  at("report").onload = () => { at("report").dataset.shown = file; };
  if (result.files[page]) at("report").srcdoc = result.files[page];
  else at("report-hint").textContent = result.err;
  showProblems(problemsIn(result.err, file));
  say(statusText("Report", result), result.status !== 0, "report");
}, () => "report");

const format = doing("Format", async () => {
  const result = await command(["fmt", file]);
  if (result.status === 0) {
    editor.replace(result.out);
    changed();
  } else {
    showProblems(problemsIn(result.err, file));
    at("output").textContent = result.err;
    openTab("output");
    showResults();
  }
  say(statusText("Format", result), result.status !== 0);
});

// ---- emitted code ----

let code = "";

const showCuda = doing("CUDA", async () => {
  stale.delete("cuda");
  const how = at("explain").getAttribute("aria-pressed") === "true" ? ["--explain"] : ["--emit", "cuda"];
  const words = await wordsFor("compile");
  const target = words.includes("--target") ? [] : ["--target", at("target").value];
  const result = await command(["compile", file, ...words, ...target, ...how]);
  code = result.out;
  if (result.status !== 0) {
    at("cuda").textContent = result.err;
    showProblems(problemsIn(result.err, file));
  } else if (how[0] === "--explain") {
    at("cuda").textContent = result.out;
  } else {
    const all = at("prelude").getAttribute("aria-pressed") === "true";
    const rows = readCuda(code, file);
    const kinds = colourCuda(rows.map(({ text }) => text));
    at("cuda").replaceChildren(...rows.map((row, i) => ({ ...row, parts: kinds[i] }))
      .filter((row) => all || row.own).map(({ line, parts }) => {
        const row = make("span", { className: line ? "row" : "row plain", onclick: () => line && linkLine(line, true) },
          ...parts.map(([kind, part]) => (kind ? make("span", { className: kind }, part) : part)), "\n");
        row.dataset.line = line;
        return row;
      }));
    linkLine(editor.line());
  }
  say(statusText("CUDA", result), result.status !== 0, "cuda");
}, () => "cuda");

// Marks a line of the program and the rows of code that it became.
function linkLine(line, fromCode = false) {
  let first = null;
  for (const row of at("cuda").children) {
    const linked = +row.dataset.line === line;
    row.classList.toggle("linked", linked);
    if (linked && first === null) first = row;
  }
  editor.link(first ? line : 0);
  if (fromCode) editor.reveal(line);
  else if (first) first.scrollIntoView({ block: "nearest" });
}

// ---- layouts ----

// Before anything was asked for, the picture is that of the program's first tile.
function showFirstLayout() {
  const first = at("tiles").firstElementChild;
  if (first === null || client.busy) return;
  stale.delete("layouts");
  first.click();
}

function showTiles(tiles) {
  const seen = new Set();
  at("tiles").replaceChildren(...tiles.filter(({ name, type }) => !seen.has(name + type) && seen.add(name + type))
    .map(({ name, type, line }) => make("button", { type: "button", className: "chip", title: `line ${line}: ${type}`,
      onclick: () => { at("layout").value = type; draw(); } }, `${name} `, make("small", {}, type.split(",")[0]
      .startsWith("shared") ? "shared" : /^\S+\[[^\]]*\]/.exec(type)?.[0] ?? ""))));
  setTimeout(refresh);
}

const draw = doing("Layout", async () => {
  const picture = "/tmp/layout.svg";
  const text = at("layout").value.trim();
  const drawn = await command(["layout", text, "-o", picture], [picture]);
  const described = await command(["layout", text]);
  at("picture").innerHTML = drawn.files[picture] || "";
  const svg = at("picture").querySelector("svg");
  if (svg) svg.setAttribute("role", "img"), svg.setAttribute("aria-label", `picture of ${text}`);
  at("layout-text").textContent = described.out + described.err;
  say(statusText("Layout", described), described.status !== 0, "layouts");
}, () => "layouts");
