// Wires VS Code to `tilevm lsp` (language server) and `tilevm dap` (debug adapter).
"use strict";

const vscode = require("vscode");
const { Client } = require("./client");

let client;

function settings() {
  return vscode.workspace.getConfiguration("tilevm");
}

function fileOf(uri) {
  if (uri) return vscode.Uri.parse(uri).fsPath;
  const editor = vscode.window.activeTextEditor;
  return editor ? editor.document.uri.fsPath : undefined;
}

// Arguments go to the program one by one, through no shell.
function runTask(name, words) {
  const execution = new vscode.ProcessExecution(settings().get("path"), words);
  const task = new vscode.Task({ type: "tilevm" }, vscode.TaskScope.Workspace, name, "tilevm", execution);
  return vscode.tasks.executeTask(task);
}

function defines() {
  return Object.entries(settings().get("defines")).flatMap(([name, value]) => ["-D", `${name}=${value}`]);
}

function run(uri, entry) {
  const file = fileOf(uri);
  if (file) return runTask("run", ["run", file, ...defines(), ...(entry ? ["--entry", entry] : [])]);
}

function debug(uri, entry) {
  const program = fileOf(uri);
  if (!program) return;
  return vscode.debug.startDebugging(undefined, {
    type: "tilevm", request: "launch", name: "Debug program", program, entry, stopOnEntry: true,
    defines: settings().get("defines"),
  });
}

async function report() {
  const file = fileOf();
  if (!file) return;
  const page = `${file}.html`;
  await runTask("report", ["run", file, ...defines(), "--report", page]);
  vscode.window.showInformationMessage(`The report goes to ${page}`);
}

function activate(context) {
  client = new Client(settings().get("path"), { target: settings().get("target"), defines: settings().get("defines") });
  context.subscriptions.push(
    vscode.commands.registerCommand("tilevm.run", run),
    vscode.commands.registerCommand("tilevm.debug", debug),
    vscode.commands.registerCommand("tilevm.report", report),
    vscode.debug.registerDebugAdapterDescriptorFactory("tilevm", {
      createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(settings().get("path"), ["dap"]),
    }),
    vscode.debug.registerDebugConfigurationProvider("tilevm", {
      resolveDebugConfiguration(_folder, config) {
        if (config.type) return config;
        return { type: "tilevm", request: "launch", name: "Debug program", program: fileOf(), stopOnEntry: true };
      },
    }),
  );
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
