// Programs, links and files; and the begin.
"use strict";

const KEEP = "tilevm playground";

// A change of the text or the options: what was made of the old ones is old.
function changed() {
  endDebugger();
  stale = new Set(["cuda", "report", "layouts"]);
  if (at("problems").dataset.of !== file) at("problems").replaceChildren();
  at("problems").dataset.of = file;
  showStatus();
  keep();
  checkSoon();
  refreshSoon();
}

let refreshTimer = 0;
function refreshSoon() {
  clearTimeout(refreshTimer);
  refreshTimer = setTimeout(() => (client && client.busy ? refreshSoon() : !isOpen("report") && refresh()), 700);
}

function keep() {
  try {
    localStorage.setItem(KEEP, JSON.stringify({ program: file, options: at("options").value, text: editor.value }));
  } catch { /* a browser that keeps nothing */ }
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEEP));
  } catch {
    return null;
  }
}

const gallery = new Map(data.programs.map((one) => [one.path, one]));

// Shows a program of the gallery, with another text or other options if there are some.
function choose(path, options, text) {
  const program = gallery.get(path) || data.programs[0];
  file = program.path;
  at("program").value = file;
  at("options").value = options ?? program.cases[0] ?? "";
  at("cases").replaceChildren(...program.cases.map((value) => make("option", { value })));
  editor.set(text ?? program.text);
  forget();
  changed();
}

// What was made of another program is gone.
function forget() {
  for (const id of ["output", "problems", "cuda", "tiles", "picture", "layout-text", "console", "tensors"]) {
    at(id).replaceChildren();
  }
  at("layout").value = at("place").textContent = "";
  at("report").removeAttribute("srcdoc");
  at("report").hidden = true;
  at("report-hint").hidden = false;
  told.clear();
  code = "";
}

at("program").append(...data.groups.map(([label, paths]) => make("optgroup", { label },
  ...paths.map((path) => make("option", { value: path, title: gallery.get(path).title },
    path.replace(/^programs\//, "").replace(/\.tile$/, ""))))));
at("program").onchange = () => {
  history.replaceState(null, "", location.pathname + location.search);
  choose(at("program").value);
};
at("options").oninput = changed;
at("options").onkeydown = (event) => { if (event.key === "Enter") run(); };
editor.onchange = changed;
editor.onmove = (line) => { if (isOpen("cuda")) linkLine(line); };
at("run").onclick = run;
at("to-program").onclick = () => { scrollTo({ top: 0 }); at("text").focus({ preventScroll: true }); };
new IntersectionObserver(([entry]) => document.body.classList.toggle("below", !entry.isIntersecting))
  .observe(at("run"));
at("format").onclick = format;
at("reset").onclick = () => {
  editor.replace(gallery.get(file).text);
  at("options").value = gallery.get(file).cases[0] ?? "";
  changed();
};
at("stop").onclick = () => {
  endDebugger();
  client.stop();
  client.ready.then(() => say("stopped; the module begins again"), () => {});
};
at("target").onchange = showCuda;
for (const id of ["explain", "prelude"]) {
  at(id).onclick = () => {
    at(id).setAttribute("aria-pressed", at(id).getAttribute("aria-pressed") !== "true");
    showCuda();
  };
}
at("copy-cuda").onclick = () => copy(code, "the code is copied");
at("draw").onsubmit = (event) => { event.preventDefault(); draw(); };
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});

async function copy(text, note) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(note);
}

at("share").onclick = doing("Share", async () => {
  const same = editor.value === gallery.get(file).text;
  const link = await toLink({ program: file, options: at("options").value, text: same ? undefined : editor.value });
  history.replaceState(null, "", link);
  await copy(location.href, "the link is copied; it holds the program itself");
  say("Share: the address of this page has the program now");
});

// ---- files ----

at("upload").onchange = doing("Files", async () => {
  for (const one of at("upload").files) {
    const bytes = new Uint8Array(await one.arrayBuffer());
    client.files[one.name] = bytes;
    await client.ask("command", { words: ["--version"], files: { [one.name]: bytes } }).then(({ list }) => showFiles(list));
  }
  at("upload").value = "";
  say("Files: added", false, "files");
}, () => "files");

function showFiles(list) {
  at("files").replaceChildren(...list.map(({ name, bytes }) => make("li", {}, make("button", { type: "button",
    className: "chip", onclick: () => download(name) }, `${name} `, make("small", {}, `${bytes} bytes`)))));
}

async function download(name) {
  const { bytes } = await client.ask("read", { path: name });
  const address = URL.createObjectURL(new Blob([bytes]));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// ---- begin ----

async function begin() {
  const module = compileModule(at("wasm").textContent);
  const files = Object.fromEntries([...data.programs, ...data.parts].map(({ path, text }) => [path, text]));
  const other = new Client(at("worker").textContent, module, files);
  other.onbusy = (busy) => {
    at("stop").disabled = !busy;
    document.body.classList.toggle("busy", busy);
  };
  await other.ready;
  client = other;
  for (const id of ["run", "format", "reset", "share"]) at(id).disabled = false;
  say(`ready after ${Math.round(performance.now())} ms; tilevm ${data.version}`);
  document.body.dataset.ready = "true";
  checkSoon(0);
}

async function openLink() {
  const linked = location.hash.length > 1 ? await fromLink(location.hash) : null;
  const found = linked && gallery.has(linked.program) ? linked : null;
  const last = found || kept() || {};
  choose(gallery.has(last.program) ? last.program : data.first, last.options, last.text);
}

window.addEventListener("hashchange", () => openLink().catch((error) => say(`the link is broken: ${error.message}`, true)));
openLink().catch((error) => { choose(data.first); toast(`the link is broken: ${error.message}`); })
  .then(begin).catch((error) => say(`this browser cannot run the module: ${error.message}`, true));
