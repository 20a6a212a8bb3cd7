// The editor: a text area with the coloured text below it, and a gutter of line numbers.
"use strict";

// The language's patterns (editors/generate.py): at each place the first that matches decides.
function makeHighlighter(patterns) {
  const rules = patterns.map(([kind, source]) => [kind, new RegExp(source, "y")]);
  return (line) => {
    const parts = [];
    for (let at = 0; at < line.length;) {
      let found = null;
      for (const [kind, rule] of rules) {
        rule.lastIndex = at;
        const match = rule.exec(line);
        if (match && match[0] !== "") {
          found = [kind, match[0]];
          break;
        }
      }
      const [kind, text] = found || ["", line[at]];
      const last = parts[parts.length - 1];
      if (last && last[0] === kind) last[1] += text;
      else parts.push([kind, text]);
      at += text.length;
    }
    return parts;
  };
}

class Editor {
  constructor(elements, highlight) {
    Object.assign(this, elements);  // text, colours, gutter
    this.highlight = highlight;
    this.rows = [];
    this.problems = [];  // {line, column, length, severity}
    this.breakpoints = new Set();
    this.here = 0;
    this.linked = 0;
    this.onchange = this.onbreak = this.onmove = () => {};
    this.leaves = false;  // whether Tab moves the focus: Escape came before
    this.text.addEventListener("input", () => { this.draw(); this.onchange(); });
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("blur", () => { this.leaves = false; });
    for (const name of ["keyup", "click"]) this.text.addEventListener(name, () => this.onmove(this.line()));
    this.gutter.addEventListener("click", (event) => {
      const line = [...this.gutter.children].indexOf(event.target.closest("div")) + 1;
      if (line > 0 && event.target !== this.gutter) this.toggle(line);
    });
  }

  get value() { return this.text.value; }

  set(text) {
    this.text.value = text;
    this.problems = [];
    this.breakpoints.clear();
    this.here = this.linked = 0;
    this.text.setSelectionRange(0, 0);
    this.text.parentElement.parentElement.scrollTo(0, 0);
    this.draw();
  }

  // Puts a text in the place of the present one, so that Ctrl+Z brings that back.
  replace(text) {
    if (text === this.value) return;
    this.text.focus();
    this.text.select();
    if (!document.execCommand("insertText", false, text)) this.text.value = text;
    this.text.setSelectionRange(0, 0);
    this.draw();
  }

  // Of the caret, from 1 on.
  line() { return this.value.slice(0, this.text.selectionStart).split("\n").length; }

  toggle(line) {
    if (!this.breakpoints.delete(line)) this.breakpoints.add(line);
    this.draw();
    this.onbreak(line, this.breakpoints.has(line));
  }

  mark(problems) { this.problems = problems; this.draw(); }
  show(line) { this.here = line; this.draw(); this.reveal(line); }
  link(line) { if (line !== this.linked) { this.linked = line; this.draw(); } }

  reveal(line) {
    const row = this.colours.children[line - 1];
    const view = this.text.parentElement.parentElement;
    if (!row) return;
    const top = row.offsetTop, bottom = top + row.offsetHeight;
    if (top < view.scrollTop || bottom > view.scrollTop + view.clientHeight) {
      view.scrollTop = Math.max(0, top - view.clientHeight / 3);
    }
  }

  // The caret to a place, both from 1 on; columns count bytes, as in messages.
  go(line, column) {
    const lines = this.value.split("\n");
    const text = lines[line - 1] || "";
    const before = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, column - 1));
    const at = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + before.length;
    this.text.focus();
    this.text.setSelectionRange(at, at);
    this.reveal(line);
  }

  key(event) {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "Escape") this.leaves = true;
    else if (event.key === "Tab" && plain && !this.leaves) this.indent(event);
    else if (event.key === "Enter" && plain && !event.shiftKey && !event.isComposing) this.breakLine(event);
    else if (event.key === "F9") { event.preventDefault(); this.toggle(this.line()); }
    else if (!["Shift", "Tab"].includes(event.key)) this.leaves = false;
  }

  insert(text) {
    if (!document.execCommand("insertText", false, text)) this.text.setRangeText(text, this.text.selectionStart,
      this.text.selectionEnd, "end");
    this.draw();
  }

  indent(event) {
    event.preventDefault();
    const { selectionStart: begin, selectionEnd: end } = this.text;
    const first = this.value.lastIndexOf("\n", begin - 1) + 1;
    const selected = this.value.slice(first, end);
    if (!event.shiftKey && !this.value.slice(begin, end).includes("\n")) {
      this.insert(" ".repeat(4 - (begin - first) % 4));
      return;
    }
    this.text.setSelectionRange(first, end);
    const text = selected.replace(event.shiftKey ? /^ {1,4}/gm : /^(?=.)/gm, event.shiftKey ? "" : "    ");
    this.insert(text);
    this.text.setSelectionRange(first, first + text.length);
    this.onchange();
  }

  // A new line as deep as the last one, or deeper after a colon.
  breakLine(event) {
    event.preventDefault();
    const before = this.value.slice(0, this.text.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const deeper = /:\s*(#.*)?$/.test(line) && !/^\s*#/.test(line);
    this.insert("\n" + /^ */.exec(line)[0] + (deeper ? "    " : ""));
    const row = this.line();
    this.reveal(row);
  }

  draw() {
    const lines = this.value.split("\n");
    const byLine = new Map();
    for (const problem of this.problems) {
      if (!byLine.has(problem.line)) byLine.set(problem.line, []);
      byLine.get(problem.line).push(problem);
    }
    lines.forEach((line, i) => {
      const problems = byLine.get(i + 1) || [];
      const key = JSON.stringify([line, problems, this.here === i + 1, this.linked === i + 1,
        this.breakpoints.has(i + 1)]);
      if (this.rows[i] === key) return;
      this.rows[i] = key;
      this.drawRow(i, line, problems);
    });
    this.rows.length = lines.length;
    while (this.colours.children.length > lines.length) this.colours.lastChild.remove();
    while (this.gutter.children.length > lines.length) this.gutter.lastChild.remove();
  }

  drawRow(i, line, problems) {
    const row = document.createElement("span");
    row.className = "row" + (this.here === i + 1 ? " here" : "") + (this.linked === i + 1 ? " linked" : "");
    let at = 0;
    const worst = problems.find((one) => one.severity === "error") || problems[0];
    for (const [kind, text] of this.highlight(line)) {
      for (const [piece, problem] of this.pieces(text, at, problems)) {
        const span = document.createElement(problem ? "u" : "span");
        span.className = `${kind} ${problem ? problem.severity : ""}`.trim();
        span.textContent = piece;
        row.append(span);
      }
      at += text.length;
    }
    row.append("\n");
    const number = document.createElement("div");
    number.textContent = i + 1;
    number.className = [worst ? worst.severity : "", this.here === i + 1 ? "here" : "",
      this.breakpoints.has(i + 1) ? "break" : ""].join(" ").trim();
    const put = (parent, child) => (parent.children[i] ? parent.children[i].replaceWith(child) : parent.append(child));
    put(this.colours, row);
    put(this.gutter, number);
  }

  // A text at a column in parts that have a problem, and parts that have none.
  pieces(text, at, problems) {
    const cuts = new Set([0, text.length]);
    for (const one of problems) {
      for (const place of [one.column - 1 - at, one.column - 1 + one.length - at]) {
        if (place > 0 && place < text.length) cuts.add(place);
      }
    }
    const places = [...cuts].sort((a, b) => a - b);
    return places.slice(1).map((end, k) => {
      const begin = places[k] + at + 1;
      return [text.slice(places[k], end),
        problems.find((one) => begin >= one.column && begin < one.column + one.length)];
    });
  }
}
