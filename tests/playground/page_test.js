// The page in a headless Chromium against the command: page_test.js PAGE TILEVM [PICTURES]. It is opened from the disk,
// with no network. Times are shown and not judged. PICTURES is a folder for screenshots.
"use strict";

const { spawnSync } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const { pathToFileURL } = require("url");
const { Browser, findBrowser } = require("./browser.js");

const ROOT = path.resolve(__dirname, "../..");
const SIZES = { desktop: { width: 1280, height: 860, mobile: false }, phone: { width: 390, height: 844, mobile: true } };
const MIB = 1 << 20;

const faults = [];
const expect = (holds, what) => { if (!holds) faults.push(what); };
const text = (value) => JSON.stringify(value);

// What the command says of a text at the path that it has in the page.
function command(tilevm, words, file, program) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tilevm-page-"));
  fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
  fs.writeFileSync(path.join(folder, file), program);
  const done = spawnSync(tilevm, ["--color", "never", ...words], { cwd: folder, encoding: "utf8", maxBuffer: 1 << 26 });
  fs.rmSync(folder, { recursive: true });
  return done;
}

const idle = (page) => page.until("document.body.dataset.ready && !document.body.classList.contains('busy')");
const status = (page) => page.value("at('status').textContent");
const shown = (page, id) => page.value(`at('${id}').textContent`);

async function click(page, selector) {
  await page.value(`document.querySelector(${text(selector)}).click()`);
  await idle(page);
}

// Puts a text into the editor as a user who pastes it does.
async function paste(page, program) {
  await page.value("at('text').focus(), at('text').select()");
  await page.type(program);
}

async function setOptions(page, options) {
  await page.value(`at('options').value = ${text(options)}, at('options').dispatchEvent(new Event('input'))`);
}

// The page begins with the simplest program, without what tests say of it; the menu lists it first.
async function firstView(page) {
  const file = "programs/vector_add.tile";
  const lines = fs.readFileSync(path.join(ROOT, file), "utf8").split("\n");
  const shown = await page.value("editor.value");
  expect(await page.value("file") === file, "the page does not begin with vector_add");
  expect(await page.value("at('program').options[0].value") === file, "the menu does not begin with vector_add");
  expect(lines.some((line) => /^# (test|args|expect):/.test(line)), "vector_add has no test any more");
  expect(!/^# (test|args|expect|reduce)/m.test(shown), "the program begins with what tests say of it");
  expect(shown.split("\n").every((line) => lines.includes(line)), "the program is another one");
  const all = await page.value("[...at('program').options].map((one) => [one.value, one.title])");
  expect(all.length === await page.value("data.programs.length"), "the menu does not list every program");
  expect(all.every(([, title]) => title.length > 0), "a program of the menu says nothing of itself");
}

// What is of an earlier text says so, and goes away with the program. Each panel has a status of its own.
async function stale(page) {
  await page.value("choose('programs/vector_add.tile')");
  await click(page, "#run");
  expect(await page.value("at('old').hidden"), "what was just made is called old");
  await page.type(" ");
  expect(!await page.value("at('old').hidden"), "output of an earlier text does not say so");
  expect(await page.value("at('output-panel').classList.contains('old')"), "output of an earlier text is not pale");
  await click(page, "#run");
  expect(await page.value("at('old').hidden"), "output of this text is called old");
  await page.value("openTab('files')");
  expect(!/^Run/.test(await status(page)), `the files' status is ${await status(page)}`);
  await page.value("openTab('output')");
  expect(/^Run: done/.test(await status(page)), `the output's status is ${await status(page)}`);
  await page.value("choose('programs/transpose.tile')");
  expect(await shown(page, "output") === "", "another program has the output of the one before");
  expect(await page.value("at('old').hidden") && !/^Run/.test(await status(page)), "another program has the status of the one before");
}

// A fault of an included file is listed with the file's name.
async function faultOfInclude(page) {
  await paste(page, 'include "quantized_matmul/weights.tile"\n\ndef f<1>(f32* p):\n    x = LoadGlobl(p)\n');
  await page.until("at('problems').children.length > 0");
  const listed = await page.value("[...at('problems').children].map((one) => one.textContent)");
  expect(listed.some((one) => /^programs\/quantized_matmul\/weights.tile, line \d+: error/.test(one)) &&
    listed.some((one) => /^Line 4: error/.test(one)), `faults of two files: ${text(listed)}`);
}

async function figure2(page, tilevm) {
  const file = "programs/figure2.tile";
  await page.value(`choose(${text(file)})`);
  const program = await page.value("editor.value");
  await setOptions(page, "-D M=64 -D N=64 -D K=64");
  await page.value("at('text').focus()");
  await page.key("Enter", 2);
  await page.until("/^Run: done/.test(at('status').textContent)");
  const other = command(tilevm, ["run", file, "-D", "M=64", "-D", "N=64", "-D", "K=64"], file, program);
  expect(await shown(page, "output") === other.stdout, `Figure 2 gives ${await shown(page, "output")}`);
  expect(/hash 7b8dbd2263c42d4c/.test(other.stdout), "the command's hash of Figure 2");
  console.log(`Figure 2 at 64^3: ${await status(page)}`);
}

async function colours(page) {
  const kinds = await page.value(`[...new Set([...document.querySelectorAll('#colours span span')].map((s) => s.className))]`);
  for (const kind of ["comment", "keyword", "instruction", "layout", "type", "number"]) {
    expect(kinds.includes(kind), `no ${kind} has a colour`);
  }
  const same = await page.value("document.getElementById('colours').textContent === editor.value + '\\n'");
  expect(same, "the coloured text is not the program's");
}

// Wrong programs: what is said is what the command says, and it is marked in the program.
async function wrongPrograms(page, tilevm) {
  const folders = ["errors", "check", "faults"].map((name) => path.join("tests/filetests", name));
  const files = folders.flatMap((folder) => fs.readdirSync(path.join(ROOT, folder)).filter((name) => name.endsWith(".tile"))
    .map((name) => path.join(folder, name)).filter((name) => {
      const program = fs.readFileSync(path.join(ROOT, name), "utf8");
      return /# error: TV/.test(program) && !/# (args|program):|^include /m.test(program);
    }).slice(0, 8));
  const place = "programs/figure2.tile";
  let marked = 0;
  await setOptions(page, "");
  for (const file of files) {
    const program = fs.readFileSync(path.join(ROOT, file), "utf8");
    await paste(page, program);
    await click(page, "#run");
    const other = command(tilevm, ["run", place], place, program);
    const own = await shown(page, "output");
    expect(own === other.stdout + other.stderr, `${file}: the page says\n${own}\n  instead of\n${other.stderr}`);
    if (await page.value("at('problems').children.length > 0 && document.querySelector('#gutter .error') !== null")) ++marked;
  }
  expect(files.length >= 20 && marked >= files.length - 2, `${marked} of ${files.length} wrong programs are marked`);
  console.log(`${files.length} wrong programs`);
  await paste(page, "def f<1>(f32* p):\n    x = LoadGlobl(p)\n");
  await page.until("/LoadGlobl/.test(at('problems').textContent)");
  await page.value("document.querySelector('#problems button').click()");
  const caret = await page.value("[document.activeElement.id, editor.line()]");
  expect(text(caret) === '["text",2]', `a fault leads to ${text(caret)}`);
}

async function endlessProgram(page) {
  await paste(page, "def f<1>(i32* p):\n    x = AllocateRegister(i32, layout=local(1), init=0)\n    while true:\n        x = x + x\n");
  await setOptions(page, "--in p=i32[1]=zeros --max-steps 4000000000000");
  await page.until("!document.body.classList.contains('busy')");
  await page.value("at('run').click()");
  await page.until("!at('stop').disabled");
  await page.value("at('stop').click()");
  await page.until("/stopped/.test(at('status').textContent)");
  await idle(page);
  await page.value("choose('programs/vector_add.tile')");
  await click(page, "#run");
  expect(/^Run: done/.test(await status(page)), `after a stop: ${await status(page)}`);
}

async function layouts(page, tilevm) {
  await page.value("choose('programs/figure2.tile', '-D K=32')");
  await page.value("openTab('layouts')");
  await page.until("at('picture').querySelector('svg')");  // of the first tile, before any click
  await page.until("[...at('tiles').children].some((one) => one.textContent.startsWith('b1'))");
  await idle(page);
  await page.value("[...at('tiles').children].find((one) => one.textContent.startsWith('b1')).click()");
  await page.until("at('picture').querySelector('svg')");
  await idle(page);
  const layout = await page.value("at('layout').value");
  const other = spawnSync(tilevm, ["--color", "never", "layout", layout], { encoding: "utf8" });
  expect(await shown(page, "layout-text") === other.stdout, `the layout ${layout}`);
  await page.value("at('layout').value = 'colum(2)'; at('draw').requestSubmit()");
  await page.until("/did you mean/.test(at('layout-text').textContent)");
}

async function emittedCode(page, tilevm) {
  await idle(page);
  await page.value("openTab('cuda')");
  await page.until("at('cuda').children.length > 20");
  await idle(page);
  const file = "programs/figure2.tile";
  const program = await page.value("editor.value");
  const kinds = await page.value("[...new Set([...document.querySelectorAll('#cuda span span')].map((s) => s.className))]");
  for (const kind of ["comment", "keyword", "number", "type", "function"]) {
    expect(kinds.includes(kind), `no ${kind} of CUDA has a colour`);
  }
  const other = command(tilevm, ["compile", file, "-D", "K=32", "--target", "sm_90a", "--emit", "cuda"], file, program);
  expect(await page.value("code") === other.stdout, "the emitted code is not the command's");
  await page.value("editor.go(editor.value.split('\\n').findIndex((one) => /Dot\\(/.test(one)) + 1, 1), at('text').click()");
  const linked = await page.value("[...document.querySelectorAll('#cuda .linked')].map((row) => row.textContent).join('')");
  expect(/mma|dot/i.test(linked), `the line of Dot became ${linked}`);
  await click(page, "#explain");
  expect(/Dot/.test(await shown(page, "cuda")), "there is no report of what was chosen");
  await click(page, "#explain");
}

async function debugging(page) {
  await page.value("openTab('debug')");
  await page.value("document.querySelectorAll('#gutter div')[15].click()");
  await click(page, "#debug-start");
  expect(/line 8, moment 0/.test(await shown(page, "place")), `the debugger begins at ${await shown(page, "place")}`);
  await click(page, "[data-line=continue]");
  expect(/line 16/.test(await shown(page, "place")), `it continues to ${await shown(page, "place")}`);
  const here = await page.value("document.querySelector('#colours .here').textContent");
  expect(/View\(b/.test(here), `the line shown is ${here}`);
  await click(page, "[data-line=continue]");
  const before = performance.now();
  await click(page, "[data-line=step]");
  console.log(`a step takes ${Math.round(performance.now() - before)} ms in the page; ${await status(page)}`);
  expect(/line 17/.test(await shown(page, "place")), `it steps to ${await shown(page, "place")}`);
  await click(page, "[data-line=back]");
  expect(/line 16/.test(await shown(page, "place")), `it goes back to ${await shown(page, "place")}`);
  await page.value("at('question').value = 'why acc[0, 0]', at('ask').requestSubmit()");
  await page.until("/by line 18/.test(at('console').textContent)");
  await idle(page);
  expect(await page.value("at('tensors').children.length") > 5, "tensors are not listed");
  await click(page, "#tensors button");
  expect(/^why \w+\[$/.test(await page.value("at('question').value")), "a tensor does not begin a question");
  await page.value("editor.insert(' ')");
  expect(await page.value("document.querySelector('#colours .here') === null"), "the debugger shows a line of an old text");
}

async function report(page) {
  await page.value("choose('programs/transpose.tile')");
  await idle(page);
  await page.value("openTab('report')");
  await page.until("at('report').dataset.shown === file && /<svg/.test(at('report').srcdoc)");
  await idle(page);
}

async function links(page, browser, address) {
  await page.value("openTab('output'), choose('programs/vector_add.tile')");
  const program = await page.value("editor.value") + "# mine: <b>ü</b>\n";
  await paste(page, program);
  await setOptions(page, "--seed 7");
  await page.value("at('share').click()");
  await page.until("/^Share: the address/.test(at('status').textContent)");
  const link = await page.value("location.href");
  expect(link.startsWith(address + "#"), `the link is ${link}`);
  const other = await browser.open(link);
  await idle(other);
  expect(await other.value("editor.value") === program && await other.value("at('options').value") === "--seed 7",
    "the link does not bring the program");
  await other.value("location.hash = 'program=programs%2Ffigure2.tile&text=%%%'");
  await other.until("/the link is broken/.test(document.body.textContent)");
  await other.close();
}

async function files(page) {
  await page.value("openTab('output'), choose('programs/vector_add.tile', '--out c=c.npy')");
  await click(page, "#run");
  await page.until("/c\\.npy/.test(at('files').textContent)");
  await setOptions(page, "--in a=c.npy");
  await click(page, "#run");
  expect(/^Run: done/.test(await status(page)), `a file that was written is not read: ${await shown(page, "output")}`);
}

// By keys alone, and names for a screen reader.
async function access(page) {
  await page.value("at('text').focus(), at('text').setSelectionRange(0, 0)");
  await page.key("Tab");
  expect(await page.value("document.activeElement.id") === "text", "Tab does not indent");
  await page.key("Escape");
  await page.key("Tab");
  expect(await page.value("document.activeElement.id") !== "text", "Escape and Tab do not leave the text");
  await page.value("at('tab-output').focus()");
  await page.key("ArrowRight");
  expect(await page.value("document.activeElement.id === 'tab-debug' && !at('debug-panel').hidden"), "arrows do not choose tabs");
  const { nodes } = await page.send("Accessibility.getFullAXTree");
  const roles = ["button", "tab", "textbox", "combobox", "tabpanel", "link", "Iframe"];
  const nameless = nodes.filter(({ ignored, role, name }) => !ignored && roles.includes(role?.value) && !name?.value);
  expect(nameless.length === 0, `nameless: ${nameless.map(({ role }) => role.value)}`);
  const live = await page.value("at('status').getAttribute('aria-live')");
  expect(live === "polite", "the status is not told");
}

async function phone(browser, address, pictures) {
  const page = await browser.open(address, SIZES.phone);
  await idle(page);
  await page.value("choose('programs/figure9_as_printed.tile'), at('run').click()");
  await page.until("/wrong/.test(at('status').textContent)");
  expect(await page.value("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than a phone");
  const seen = await page.value(`[at('status'), at('output')].map((one) => {
    const box = one.getBoundingClientRect();
    return box.top >= 0 && box.top < innerHeight - 40 && one.textContent !== "";
  })`);
  expect(seen.every((one) => one), `Run on a phone shows status and output: ${seen}`);
  await page.value("at('to-program').click()");
  expect(await page.value("at('text').getBoundingClientRect().top < innerHeight && scrollY === 0"), "no way back to the program");
  const small = await page.value(`[...document.querySelectorAll('header button, header select, [role=tab]')]
    .filter((one) => one.getBoundingClientRect().height < 40).map((one) => one.id)`);
  expect(small.length === 0, `too small for a finger: ${small}`);
  if (pictures) await page.picture(path.join(pictures, "phone.png"), true);
  await page.value("choose('programs/figure2.tile', '-D K=32'), openTab('debug')");
  await idle(page);
  await click(page, "#debug-start");
  await click(page, "[data-line=step]");
  expect(await page.value("document.documentElement.scrollWidth <= innerWidth"), "the debugger is wider than a phone");
  if (pictures) await page.picture(path.join(pictures, "phone_debug.png"), true);
  await page.close();
}

// The report that the command writes: its heading and lines break where a phone's screen ends.
async function reportOnPhone(browser, tilevm, pictures) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tilevm-report-"));
  const file = path.join(folder, "report.html");
  spawnSync(tilevm, ["run", "programs/transpose.tile", "--report", file], { cwd: ROOT });
  const page = await browser.open(pathToFileURL(file).href, SIZES.phone);
  const width = await page.value("document.documentElement.scrollWidth");
  expect(width <= SIZES.phone.width, `a report is ${width} pixels wide on a phone`);
  if (pictures) await page.picture(path.join(pictures, "phone_report.png"), true);
  await page.close();
  fs.rmSync(folder, { recursive: true });
}

async function memory(page) {
  const { usedSize } = await page.send("Runtime.getHeapUsage");
  const bytes = await page.value("client.ask('memory').then(({ bytes }) => bytes)");
  console.log(`memory: ${Math.round(bytes / MIB)} MiB of the module, ${Math.round(usedSize / MIB)} MiB of the page`);
  expect(bytes + usedSize <= 256 * MIB, `the page takes ${Math.round((bytes + usedSize) / MIB)} MiB`);
}

async function main([file, tilevm, pictures]) {
  const chromium = findBrowser();
  if (!chromium || !fs.existsSync(file)) {
    console.log(chromium ? `there is no ${file}; ./dev playground builds it` : "there is no Chromium; ./dev playground test installs it");
    process.exit(77);
  }
  if (pictures) fs.mkdirSync(pictures, { recursive: true });
  const command_ = path.resolve(tilevm);
  const address = pathToFileURL(path.resolve(file)).href;
  const browser = new Browser(chromium);
  try {
    const page = await browser.open(address, SIZES.desktop);
    await idle(page);
    console.log(await status(page));
    if (pictures) await page.picture(path.join(pictures, "begin.png"));
    await firstView(page);
    await figure2(page, command_);
    await colours(page);
    await memory(page);
    for (const test of [wrongPrograms, faultOfInclude, endlessProgram, stale, layouts, emittedCode, debugging, report, files, access]) {
      await test(page, command_);
      if (pictures) await page.picture(path.join(pictures, `${test.name}.png`));
    }
    await links(page, browser, address);
    await phone(browser, address, pictures);
    await reportOnPhone(browser, command_, pictures);
    expect(page.errors.length === 0, `the page's errors: ${page.errors.join("\n")}`);
    const fetched = page.requests.filter((one) => !/^(file|blob|data|about):/.test(one));
    expect(fetched.length === 0, `the page fetched ${fetched}`);
  } finally {
    await browser.close();
  }
  faults.forEach((fault) => console.log("  " + fault));
  console.log(faults.length === 0 ? "no fault" : `${faults.length} faults`);
  process.exit(faults.length === 0 ? 0 : 1);
}

main(process.argv.slice(2)).catch((error) => { console.log(error); process.exit(1); });
