// The debugger's panel.
"use strict";

const log = at("console");

function tell(line, answer) {
  if (line) log.append(make("b", {}, `(tilevm) ${line}\n`));
  log.append(answer.endsWith("\n") || answer === "" ? answer : answer + "\n");
  while (log.childNodes.length > 600) log.firstChild.remove();
  log.scrollTop = log.scrollHeight;
}

function showStop(stop) {
  if (stop === null) return;
  const { position } = stop;
  const own = position.file === undefined && position.line > 0;
  editor.show(own ? position.line : 0);
  at("place").textContent = position.at === "run_end" ? "the run has ended; Back goes back into it"
    : `${position.kernel} [${position.block.join(", ")}], line ${position.line}, moment ${position.moment}`;
}

async function send(line, quiet = false) {
  const result = await client.ask("debug", { line });
  if (!quiet) tell(line, result.out + result.err);
  if (result.broken) debugged = null;
  showStop(result.stop);
  return result;
}

// The tensors of the block: a click shows one, and writes its name for a question.
async function showTensors() {
  const { out } = await send("info tensors", true);
  const found = [...out.matchAll(/^ {2}(\w+): (\S+\[[^\]]*\])/gm)];
  at("tensors").replaceChildren(...found.map(([, name, type]) => make("button", { type: "button", className: "chip",
    title: `prints ${name}`, onclick: () => answer(`print ${name}`, name) }, `${name} `, make("small", {}, type))));
}

const answer = doing("Debugger", async (line, name = "") => {
  if (debugged !== state() && !await startDebugger()) return;
  const result = await send(line);
  if (name) at("question").value = `why ${name}[`;
  if (result.stop) await showTensors();
  say(result.err ? "Debugger: " + result.err.split("\n")[0] : `Debugger: ${Math.max(1, Math.round(result.milliseconds))} ms`,
    result.err !== "", "debug");
}, () => "debug");

async function startDebugger() {
  log.replaceChildren();
  editor.show(0);
  at("place").textContent = "";
  at("tensors").replaceChildren();
  const words = await wordsFor("debug");
  const now = state();
  const result = await command(["debug", file, ...words, "--memory", "96"]);
  tell("", result.out + result.err);
  showProblems(problemsIn(result.err, file));
  debugged = result.status <= 1 && /moment 0$/m.test(result.out) ? now : null;
  say(statusText("Debugger", result), debugged === null, "debug");
  if (debugged === null) return false;
  at("debug-start").textContent = "Restart";
  await send("", true);
  for (const line of editor.breakpoints) await send(`break ${line}`);
  await showTensors();
  return true;
}

// What was open is no longer that of the text.
function endDebugger() {
  if (debugged === null) return;
  debugged = null;
  editor.show(0);
  at("place").textContent = "";
  at("debug-start").textContent = "Start";
}

editor.onbreak = doing("Debugger", async (line, isSet) => {
  if (debugged === null || debugged !== state()) return say(`breakpoint ${isSet ? "set" : "removed"} at line ${line}`);
  if (isSet) return send(`break ${line}`);
  const { out } = await send("info breakpoints", true);
  const number = out.split("\n").map((one) => /^\s*(\d+).*\bline (\d+)/.exec(one)).find((one) => one && +one[2] === line);
  if (number) await send(`delete ${number[1]}`);
});

at("debug-start").onclick = doing("Debugger", startDebugger, () => "debug");
for (const button of document.querySelectorAll("[data-line]")) button.onclick = () => answer(button.dataset.line);

const asked = [];
let askedAt = 0;
at("ask").onsubmit = (event) => {
  event.preventDefault();
  const line = at("question").value.trim();
  if (line === "") return;
  asked.push(line);
  askedAt = asked.length;
  at("question").value = "";
  answer(line);
};
at("question").onkeydown = (event) => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  askedAt = Math.min(Math.max(askedAt + step, 0), asked.length);
  at("question").value = asked[askedAt] || "";
};
