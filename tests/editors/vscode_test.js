// The VS Code extension as it is packed, under a stand-in for VS Code's interface and with the real server:
// vscode_test.js FOLDER TILEVM PROGRAM. FOLDER is an unpacked package.
"use strict";

const assert = require("assert");
const fs = require("fs");
const Module = require("module");
const path = require("path");

const [folder, tilevm, file] = process.argv.slice(2).map((one) => path.resolve(one));

// ---- the stand-in: values as VS Code makes them, and what the extension registers ----

const made = (...names) => class {
  constructor(...values) { names.forEach((name, i) => { this[name] = values[i]; }); }
};
const event = () => {
  const all = [];
  return { on: (f) => { all.push(f); return { dispose() {} }; }, fire: (value) => all.forEach((f) => f(value)) };
};
const opened = event(), changed = event(), closed = event();
const providers = {}, commands = {}, shown = [], errors = [], debugs = [];
const register = (name) => (_where, provider, ...more) => {
  providers[name] = { provider, more };
  return { dispose() {} };
};
const settings = { path: tilevm, target: "sm_90a", defines: {} };
const Uri = {
  parse: (text) => ({ fsPath: new URL(text).pathname, toString: () => text }),
  file: (name) => ({ fsPath: name, toString: () => `file://${name}` }),
};
const document = {
  uri: Uri.file(file), languageId: "tilevm", version: 1, text: fs.readFileSync(file, "utf8"), getText() { return this.text; },
};

const vscode = {
  Uri,
  Position: made("line", "character"), Range: made("start", "end"), Location: made("uri", "range"),
  TextEdit: made("range", "newText"), Diagnostic: made("range", "message", "severity"),
  DiagnosticRelatedInformation: made("location", "message"), MarkdownString: made("value"), Hover: made("contents", "range"),
  CompletionItem: made("label", "kind"), SnippetString: made("value"), DocumentHighlight: made("range", "kind"),
  DocumentSymbol: made("name", "detail", "kind", "range", "selectionRange"), CodeLens: made("range", "command"),
  CodeAction: made("title", "kind"), CodeActionKind: { QuickFix: "quickfix", SourceFixAll: "source.fixAll" },
  InlayHint: made("position", "label", "kind"), SignatureHelp: made(), SignatureInformation: made("label", "documentation"),
  ParameterInformation: made("label", "documentation"), SemanticTokens: made("data"),
  SemanticTokensLegend: made("tokenTypes", "tokenModifiers"), DebugAdapterExecutable: made("command", "args"),
  ProcessExecution: made("process", "args"), Task: made("definition", "scope", "name", "source", "execution"),
  TaskScope: { Workspace: 2 },
  WorkspaceEdit: class { constructor() { this.edits = []; } set(uri, edits) { this.edits.push([uri.toString(), edits]); } },
  workspace: {
    workspaceFolders: undefined, textDocuments: [document], getConfiguration: () => ({ get: (name) => settings[name] }),
    onDidOpenTextDocument: opened.on, onDidChangeTextDocument: changed.on, onDidCloseTextDocument: closed.on,
  },
  window: { activeTextEditor: { document }, showErrorMessage: (text) => errors.push(text), showInformationMessage() {} },
  commands: { registerCommand: (name, f) => { commands[name] = f; return { dispose() {} }; } },
  tasks: { executeTask: async (task) => shown.push(task.execution) },
  debug: {
    startDebugging: async (_folder, one) => debugs.push(one),
    registerDebugAdapterDescriptorFactory: register("adapter"), registerDebugConfigurationProvider: register("configuration"),
  },
  languages: {
    createDiagnosticCollection: () => ({
      of: new Map(), set(uri, list) { this.of.set(uri.toString(), list); vscode.told = this.of; }, delete(uri) { this.of.delete(uri.toString()); },
      dispose() {},
    }),
    ...Object.fromEntries(["Hover", "Definition", "Reference", "DocumentHighlight", "DocumentSymbol",
      "DocumentFormattingEdit", "Rename", "CompletionItem", "SignatureHelp", "CodeActions", "CodeLens", "InlayHints",
      "DocumentSemanticTokens"].map((name) => [`register${name}Provider`, register(name)])),
  },
};

const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? vscode : load(name, ...more));

async function until(holds, what) {
  for (let i = 0; i < 600; ++i) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what} did not come; ${errors}`);
}

// The position of the first place of a text in a document.
function place(text, shift = 0) {
  const at = document.text.indexOf(text) + shift;
  const lines = document.text.slice(0, at).split("\n");
  return new vscode.Position(lines.length - 1, lines[lines.length - 1].length);
}

function edit(from, to) {
  const begin = place(from), end = place(from, from.length);
  document.text = document.text.replace(from, to);
  document.version += 1;
  changed.fire({ document, contentChanges: [{ range: new vscode.Range(begin, end), text: to }] });
}

async function main() {
  const extension = require(path.join(folder, "extension", require(path.join(folder, "extension/package.json")).main));
  const context = { subscriptions: [] };
  extension.activate(context);
  await until(() => providers.DocumentSemanticTokens, "the server's abilities");
  const ask = (name, method, ...words) => providers[name].provider[method](document, ...words);

  const hover = await ask("Hover", "provideHover", place("LoadGlobal"));
  assert.match(hover.contents[0].value, /LoadGlobal/);
  const [definition] = await ask("Definition", "provideDefinition", place("ga, "));
  assert.strictEqual(definition.range.start.line, place("ga = ").line);
  assert.ok((await ask("Reference", "provideReferences", place("ga = "), { includeDeclaration: true })).length >= 2);
  assert.ok((await ask("DocumentHighlight", "provideDocumentHighlights", place("ga = "))).length >= 2);
  const symbols = await ask("DocumentSymbol", "provideDocumentSymbols");
  assert.ok(symbols.some((one) => one.name === "add"), `symbols ${JSON.stringify(symbols)}`);
  const items = await ask("CompletionItem", "provideCompletionItems", place("LoadGlobal", 4));
  assert.ok(items.some((one) => one.label === "LoadGlobal"));
  const help = await ask("SignatureHelp", "provideSignatureHelp", place("LoadGlobal(", 11));
  assert.match(help.signatures[0].label, /LoadGlobal/);
  assert.ok((await ask("CodeLens", "provideCodeLenses")).some(({ command }) => command.command === "tilevm.run"));
  const all = new vscode.Range(new vscode.Position(0, 0), new vscode.Position(99, 0));
  assert.ok((await ask("InlayHints", "provideInlayHints", all)).some(({ label }) => /f32/.test(label)));
  assert.ok((await ask("DocumentSemanticTokens", "provideDocumentSemanticTokens")).data.length > 100);
  assert.ok((await ask("Rename", "prepareRename", place("ga = "))).start);
  const renamed = await ask("Rename", "provideRenameEdits", place("ga = "), "view_a");
  assert.ok(renamed.edits[0][1].length >= 2);
  assert.ok(Array.isArray(await ask("DocumentFormattingEdit", "provideDocumentFormattingEdits", { tabSize: 4 })));

  edit("LoadGlobal(ga", "LoadGlobl(ga");
  await until(() => [...vscode.told.values()].some((list) => list.some((one) => /LoadGlobl/.test(one.message))), "a fault");
  const line = place("LoadGlobl").line;
  const range = new vscode.Range(new vscode.Position(line, 0), new vscode.Position(line, 99));
  const actions = await ask("CodeActions", "provideCodeActions", range);
  assert.ok(actions.some((one) => one.edit.edits[0][1][0].newText === "LoadGlobal"), "no quick fix");
  edit("LoadGlobl(ga", "LoadGlobal(ga");
  await until(() => [...vscode.told.values()].every((list) => list.every((one) => one.severity > 1)), "no fault");

  await commands["tilevm.run"]();
  assert.deepStrictEqual(shown[0].args, ["run", file]);
  await commands["tilevm.debug"]();
  assert.strictEqual(debugs[0].stopOnEntry, true);
  closed.fire(document);
  await extension.deactivate();

  settings.path = path.join(folder, "nothing");  // a program that is not there is told, and breaks nothing
  extension.activate(context);
  await until(() => errors.length > 0, "an error");
  assert.match(errors[0], /tilevm\.path/);
  await extension.deactivate();
  console.log("no fault");
}

main().then(() => process.exit(0), (error) => { console.log(error); process.exit(1); });
