// The module under Node against the command: module_test.js BUILD TILEVM [--small]. Every case of the file tests gives the
// command's output, messages and status, byte for byte. --small: it is the page's, and must not grow.
"use strict";

const { execFile } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const zlib = require("zlib");
const { casesOf, tilesBelow } = require("./cases.js");
const { Engine } = require("../../playground/page/engine.js");
const words = require("../../playground/page/words.js");

const ROOT = path.resolve(__dirname, "../..");
const MOST_BYTES = 900_000;  // of the module as servers send it

const faults = [];
const expect = (holds, what) => { if (!holds) faults.push(what); };

// What the installed command gives.
function command(tilevm, line, input = "") {
  return new Promise((resolve) => {
    const child = execFile(tilevm, ["--color", "never", ...line], { cwd: ROOT, maxBuffer: 1 << 26, env: { PATH: process.env.PATH } },
      (error, out, err) => resolve({ status: error ? error.code : 0, out, err }));
    child.stdin.on("error", () => {});  // it may end before it reads
    child.stdin.end(input);
  });
}

// Calls f on all items, as many at a time as there are processors.
async function inParallel(items, f) {
  const results = new Array(items.length);
  let next = 0;
  await Promise.all(os.cpus().map(async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await f(items[i]);
  }));
  return results;
}

function firstDifference(a, b) {
  const left = a.split("\n"), right = b.split("\n");
  const at = left.findIndex((line, i) => line !== right[i]);
  return `line ${at + 1}: ${JSON.stringify(left[at])} instead of ${JSON.stringify(right[at])}`;
}

// What a compiler of CUDA adds to a report, where there is one.
function withoutCompiler({ status, out }) {
  return { status, out: out.replace(/^( {2}(registers|resident)|compiled|not compiled:?) .*\n/gm, ""), err: "" };
}

function compare(line, own, other) {
  // The same folder, under its name in the browser.
  other = { ...other, out: other.out.replaceAll(ROOT + "/", "/files/"), err: other.err.replaceAll(ROOT + "/", "/files/") };
  if (line.includes("--explain")) [own, other] = [own, other].map(withoutCompiler);
  for (const key of ["status", "out", "err"]) {
    if (own[key] === other[key]) continue;
    const how = key === "status" ? `status ${own.status} instead of ${other.status}: ${own.err.split("\n")[0]}`
      : `${key}, ${firstDifference(own[key], other[key])}`;
    faults.push(`tilevm ${line.join(" ")}\n    ${how}`);
    return;
  }
}

async function fileTests(engine, tilevm) {
  const folders = ["programs", "tests/filetests/check", "tests/filetests/errors", "tests/filetests/faults",
    "tests/filetests/run", "tests/filetests/explain", "tests/filetests/emit", "tests/bench/compare"];
  const lines = folders.flatMap((folder) => tilesBelow(ROOT, folder)).flatMap((file) => casesOf(ROOT, file));
  expect(lines.length > 700, `there are only ${lines.length} cases`);
  const others = await inParallel(lines, (line) => command(tilevm, line));
  let wrong = 0;
  for (const [i, line] of lines.entries()) {
    const own = await engine.command(line);
    compare(line, own, others[i]);
    if (others[i].status === 1) ++wrong;
  }
  expect(wrong >= 20, `only ${wrong} programs are wrong`);
  console.log(`${lines.length} cases of file tests, ${wrong} of them with faults`);
}

// Command lines that are wrong or unusual: both read them by CLI11.
const UNUSUAL_LINES = [
  "", "-h", "-V", "help", "help run", "runn", "--sead", "run", "run x y", "run x.tile --seed", "run x.tile --seed=-1",
  "run x.tile --seed abc", "run x.tile --max-steps 0", "run x.tile --max-steps 0x", "run x.tile --threads 5000",
  "run x.tile --threads -1", "run x.tile --seed 1 --seed 2", "run x.tile --resident", "run x.tile --color blue",
  "run x.tile --color", "--color never run nothing.tile", "run nothing.tile --color=never", "run --json nothing.tile",
  "run --json=off nothing.tile", "run --json=maybe nothing.tile", "run nothing.tile --json --json", "run -- nothing.tile",
  "run -- -x", "run -x", "run -1", "check -9", "fmt", "fmt a b", "fmt [a,b]", "layout a b c", "layout [a,b]", "isa Dot --json",
  "isa check", "explain nope", "bench x --repeat 0", "diff x --timeout -1", "diff x --timeout x", "tune x --time-limit 0",
  "dap --port 70000", "record --report", "run x --in", "run nothing.tile --in a=1 b=2", "run nothing.tile -D M=1 N=2",
  "run programs/figure2.tile -DM=16 -D N=8 -DK=16", "run programs/figure2.tile --in [a,b]", "--json runn", "run --json --sead",
  "completion", "run x.tile --help --seed abc", "run --help --sead", "--help run", "--version run", "run x --version",
  "run -o", "trace x -o", "check nothing.tile extra --bad", "check --", "run nothing.tile --threads 99999999999999999999",
  "run nothing.tile --out=", "help help", "run run", "check check check",
].map((line) => line.split(" ").filter((word) => word !== ""));
const COMMANDS = ["run", "trace", "debug", "dap", "diff", "record", "fuzz", "bench", "tune", "check", "fmt", "layout", "isa",
  "explain", "compile", "fidelity", "doctor", "cache", "lsp", "demo", "completion", "man"];

async function commandLines(engine, tilevm) {
  const lines = [...UNUSUAL_LINES, ...COMMANDS.map((name) => [name, "--help"])];
  const others = await inParallel(lines, (line) => command(tilevm, line));
  for (const [i, line] of lines.entries()) compare(line, await engine.command(line), others[i]);
}

// Other commands that the page has.
async function commands(engine, tilevm) {
  const figure2 = ["programs/figure2.tile", "-D", "M=64", "-D", "N=64", "-D", "K=64"];
  const lines = [["--version"], ["--help"], ["run", "--help"], ["layout", "f16 row_major(16, 16)"],
    ["layout", "local(2, 1).spatial(8, 4).local(1, 2)"], ["layout", "colum(2)"], ["layout", "i6 local(2, 1).spatial(8, 4)", "-o", "-"],
    ["trace", "programs/figure2.tile", "-D", "M=16", "-D", "N=8", "-D", "K=16"], ["isa", "Dot"], ["explain", "TV0104"],
    ["run", ...figure2, "--shadow"], ["run", "programs/figure2.tile", "--sead", "1"], ["runn"], ["check", "nothing.tile"],
    ["fmt", "programs/figure9_as_printed.tile"], ["run", ...figure2, "--in", "a_ptr=nothing.npy"]];
  const others = await inParallel(lines, (line) => command(tilevm, line));
  for (const [i, line] of lines.entries()) compare(line, await engine.command(line), others[i]);
  const text = "def f<1>(f32* p):\n    g = ViewGlobal(p, dtype=f32, shape=[4])\n    x = LoadGlobl(g, layout=local(4))\n";
  engine.write("<stdin>", text);
  compare(["check", "-"], await engine.command(["check", "<stdin>"]), await command(tilevm, ["check", "-"], text));

  for (const line of [["doctor"], ["diff", "programs/figure2.tile"], ["bench", "programs/figure2.tile"], ["lsp"],
    ["run", "programs/figure2.tile", "--engine", "cuda"], ["run", "programs/figure2.tile", "--engine", "emu"],
    ["compile", "programs/figure2.tile", "--emit", "ptx"]]) {
    const { status, err } = await engine.command(line);
    expect(status === 3 && /in the browser/.test(err), `tilevm ${line.join(" ")} says ${status}: ${err}`);
  }
}

async function files(engine) {
  const line = ["run", "programs/vector_add.tile", "--out", "c=c.npy"];
  const written = await engine.command(line);
  const bytes = engine.read("c.npy");
  expect(bytes && bytes[0] === 0x93, `c.npy is not written: ${written.err}`);
  expect(engine.list().some(({ name }) => name === "c.npy"), "c.npy is not listed");
  const page = await engine.command(["run", "programs/transpose.tile", "--report", "/tmp/report.html"]);
  expect(page.status === 0 && Buffer.from(engine.read("/tmp/report.html")).toString().includes("<svg"), "there is no report");
}

async function debugger_(engine, tilevm) {
  const line = ["debug", "programs/figure2.tile", "-D", "M=16", "-D", "N=8", "-D", "K=32"];
  const typed = ["break 20", "continue", "continue", "step", "back", "why acc[0,0]", "print b[0:8]", "info tensors",
    "layout b1", "finish", "disassemble", "reverse-continue", "nonsense"];
  const opened = await engine.command(line);
  let out = opened.out;
  const begin = await engine.debug("");
  expect(begin.stop.position.line === 12 && begin.out === "", `the debugger begins with ${JSON.stringify(begin)}`);
  const stops = [];
  for (const one of typed) {
    const answer = await engine.debug(one);
    out += `(tilevm) ${one}\n` + answer.out;
    stops.push(answer.stop ? answer.stop.position.line : 0);
  }
  const other = await command(tilevm, [...line, "--batch"], typed.join("\n") + "\n");
  if (out !== other.out) faults.push(`the debugger: ${firstDifference(out, other.out)}`);
  expect(stops.slice(0, 5).join() === "0,20,20,21,20", `the debugger stops at lines ${stops}`);
  const absent = await engine.debug("diff cuda");
  expect(/in the browser/.test(absent.out), `diff cuda says ${absent.out}`);
}

// A program that needs more than there is ends with a message, and the next one runs.
async function limits(engine) {
  const large = await engine.command(["run", "programs/vector_add.tile", "-D", "N=1073741824"]);
  expect(large.status === 4, `a program of 4 GiB ends with ${large.status}: ${large.err}`);
  const endless = "def f<1>(i32* p):\n    x = AllocateRegister(i32, layout=local(1), init=0)\n    while true:\n        x = x + x\n";
  engine.write("endless.tile", endless);
  const limited = await engine.command(["run", "endless.tile", "--max-steps", "1000", "--in", "p=i32[1]=zeros"]);
  expect(limited.status === 4, `an endless program ends with ${limited.status}: ${limited.err}${limited.out}`);
  engine.write("deep.tile", `const A = ${"(".repeat(200000)}1${")".repeat(200000)}\n`);
  const deep = await engine.command(["check", "deep.tile"]);
  expect(deep.status !== 0 && deep.status !== 70, `deep brackets end with ${deep.status}: ${deep.err}`);
  const after = await engine.command(["run", "programs/vector_add.tile"]);
  expect(after.status === 0, `nothing runs after limits: ${after.err}`);
}

// What the page reads of texts.
async function texts(engine) {
  const { splitWords, readOptions, optionsFor, problemsIn, readCuda, toLink, fromLink } = words;
  expect(JSON.stringify(splitWords(`-D M=6 --in 'a=f16[2, 2]=rand' "x y" a\\ b`)) ===
    '["-D","M=6","--in","a=f16[2, 2]=rand","x y","a b"]', "words of a line");
  let refused = false;
  try { splitWords("'a"); } catch { refused = true; }
  expect(refused, "an open quote is taken");
  const help = async (name) => readOptions((await engine.command([name, "--help"])).out);
  const run = await help("run"), compile = await help("compile"), debug = await help("debug");
  const given = ["-DM=6", "-D", "N=8", "--stats", "--seed", "3", "--in", "a=zeros", "--target=sm_80", "--wild"];
  expect(optionsFor(given, run, compile).join(" ") === "-DM=6 -D N=8 --target=sm_80", "options of compile");
  expect(optionsFor(given, run, debug).join(" ") === "-DM=6 -D N=8 --seed 3 --in a=zeros --target=sm_80 --wild", "options of debug");
  const wrong = await engine.command(["check", "programs/figure9_as_printed.tile"]);
  const problems = problemsIn(wrong.err, "programs/figure9_as_printed.tile");
  expect(problems.length === 2 && problems[0].line === 20 && problems[0].column === 16 && problems[0].length === 6,
    `problems: ${JSON.stringify(problems)}`);
  const code = await engine.command(["compile", "programs/figure2.tile", "--emit", "cuda"]);
  const rows = readCuda(code.out, "programs/figure2.tile");
  expect(rows.some(({ text, line }) => line === 22 && /dot|mma/.test(text)) && rows.some(({ own }) => !own), "rows of code");
  const program = { program: "programs/figure2.tile", options: "-D M=64 --in a='x y'", text: "# ü\n".repeat(1000) };
  const link = await toLink(program);
  expect(link.length < 300 && JSON.stringify(await fromLink(link)) === JSON.stringify(program), "a link's program");
  const bomb = await toLink({ program: "x", options: "", text: "a".repeat(1 << 21) });
  expect(await fromLink(bomb).then(() => false, () => true), "a link of 2 MiB is taken");
}

// The programs, and the arrays that their tests name.
function repositoryFiles() {
  const tiles = ["programs", "tests/filetests", "tests/bench/compare"].flatMap((folder) => tilesBelow(ROOT, folder));
  const words = tiles.filter((file) => !file.includes("filetests/debug/")).flatMap((file) => casesOf(ROOT, file)).flat();
  const arrays = words.map((word) => word.slice(word.indexOf("=") + 1)).filter((name) => /\.np[yz]$/.test(name));
  const files = [...tiles, ...arrays.filter((name) => fs.existsSync(path.join(ROOT, name)))];
  return Object.fromEntries(files.map((file) => [file, fs.readFileSync(path.join(ROOT, file))]));
}

async function main([build, tilevm, small]) {
  const wasm = path.join(build, "tilevm.wasm");
  if (!fs.existsSync(wasm)) {
    console.log(`there is no ${wasm}; ./dev playground builds it`);
    process.exit(77);
  }
  const bytes = fs.readFileSync(wasm);
  const packed = zlib.gzipSync(bytes, { level: 9 }).length;
  console.log(`module: ${bytes.length} bytes, ${packed} packed by gzip`);
  expect(small !== "--small" || packed <= MOST_BYTES, `the module takes ${packed} bytes packed, more than ${MOST_BYTES}`);
  const begin = performance.now();
  const engine = new Engine(require(path.resolve(build, "tilevm.js")), new WebAssembly.Module(bytes), repositoryFiles());
  await engine.start();
  console.log(`ready after ${Math.round(performance.now() - begin)} ms`);
  for (const test of [fileTests, commandLines, commands, files, debugger_, texts, limits]) {
    const since = performance.now();
    await test(engine, path.resolve(tilevm));
    console.log(`${test.name}: ${((performance.now() - since) / 1000).toFixed(1)} s`);
  }
  faults.slice(0, 40).forEach((fault) => console.log("  " + fault));
  console.log(faults.length === 0 ? "no fault" : `${faults.length} faults`);
  process.exit(faults.length === 0 ? 0 : 1);
}

main(process.argv.slice(2));
