// A client of `tilevm lsp` for VS Code: the server's requests and answers in the words of VS Code's interface. It needs
// no package, so that the extension is these files alone.
"use strict";

const { spawn } = require("child_process");
const vscode = require("vscode");

// ---- messages: JSON behind a header with its length ----

class Connection {
  constructor(command, words, onNotification, onEnd) {
    this.waiting = new Map();
    this.number = 0;
    this.bytes = Buffer.alloc(0);
    this.onNotification = onNotification;
    this.process = spawn(command, words, { stdio: ["pipe", "pipe", "pipe"] });
    this.process.on("error", (error) => this.end(onEnd, `${command}: ${error.message}`));
    this.process.on("exit", (status) => this.end(onEnd, `the language server ended with ${status}`));
    this.process.stdin.on("error", () => {});  // the end is told by "exit"
    this.process.stderr.on("data", () => {});
    this.process.stdout.on("data", (bytes) => this.take(bytes));
  }

  end(tell, why) {
    const all = [...this.waiting.values()];
    this.waiting.clear();
    all.forEach(({ reject }) => reject(new Error(why)));
    if (!this.closed) tell(why);
    this.closed = true;
  }

  send(message) {
    if (this.closed) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  }

  notify(method, params = {}) { this.send({ method, params }); }

  request(method, params = {}) {
    if (this.closed) return Promise.reject(new Error("the language server has ended"));
    const id = ++this.number;
    this.send({ id, method, params });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  take(bytes) {
    this.bytes = Buffer.concat([this.bytes, bytes]);
    while (true) {
      const head = this.bytes.indexOf("\r\n\r\n");
      const length = head < 0 ? null : /content-length: *(\d+)/i.exec(this.bytes.toString("latin1", 0, head));
      if (length === null || this.bytes.length < head + 4 + Number(length[1])) return;
      const end = head + 4 + Number(length[1]);
      const message = JSON.parse(this.bytes.toString("utf8", head + 4, end));
      this.bytes = this.bytes.subarray(end);
      this.receive(message);
    }
  }

  receive(message) {
    const asked = this.waiting.get(message.id);
    if (message.method !== undefined) {
      if (message.id !== undefined) this.send({ id: message.id, result: null });
      else this.onNotification(message.method, message.params);
    } else if (asked) {
      this.waiting.delete(message.id);
      if (message.error) asked.reject(new Error(message.error.message));
      else asked.resolve(message.result);
    }
  }
}

// ---- values of the protocol as VS Code's ----

const toPosition = ({ line, character }) => new vscode.Position(line, character);
const toRange = ({ start, end }) => new vscode.Range(toPosition(start), toPosition(end));
const toLocation = ({ uri, range }) => new vscode.Location(vscode.Uri.parse(uri), toRange(range));
const toEdit = ({ range, newText }) => new vscode.TextEdit(toRange(range), newText);
const toCommand = (one) => one && { title: one.title, command: one.command, arguments: one.arguments };
const toText = (content) => new vscode.MarkdownString(typeof content === "string" ? content : content.value);
const list = (value) => (Array.isArray(value) ? value : value ? [value] : []);

function toDiagnostic(one) {
  const made = new vscode.Diagnostic(toRange(one.range), one.message, one.severity - 1);
  made.code = one.code;
  made.source = one.source;
  made.relatedInformation = list(one.relatedInformation).map(({ location, message }) =>
    new vscode.DiagnosticRelatedInformation(toLocation(location), message));
  return made;
}

function toWorkspaceEdit(edit) {
  const made = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes || {})) made.set(vscode.Uri.parse(uri), edits.map(toEdit));
  for (const { textDocument, edits } of list(edit.documentChanges)) {
    made.set(vscode.Uri.parse(textDocument.uri), edits.map(toEdit));
  }
  return made;
}

// Kinds are counted from 1 on in the protocol, from 0 on here.
function toItem(one) {
  const made = new vscode.CompletionItem(one.label, (one.kind || 1) - 1);
  made.detail = one.detail;
  if (one.documentation) made.documentation = toText(one.documentation);
  made.sortText = one.sortText;
  made.filterText = one.filterText;
  const text = one.textEdit ? one.textEdit.newText : one.insertText;
  if (text !== undefined) made.insertText = one.insertTextFormat === 2 ? new vscode.SnippetString(text) : text;
  if (one.textEdit) made.range = toRange(one.textEdit.range);
  return made;
}

function toSymbol(one) {
  const made = new vscode.DocumentSymbol(one.name, one.detail || "", one.kind - 1, toRange(one.range),
    toRange(one.selectionRange));
  made.children = list(one.children).map(toSymbol);
  return made;
}

function toSignatures(help) {
  const made = new vscode.SignatureHelp();
  made.signatures = help.signatures.map((one) => {
    const signature = new vscode.SignatureInformation(one.label, one.documentation && toText(one.documentation));
    signature.parameters = list(one.parameters).map(({ label, documentation }) =>
      new vscode.ParameterInformation(label, documentation && toText(documentation)));
    return signature;
  });
  made.activeSignature = help.activeSignature || 0;
  made.activeParameter = help.activeParameter || 0;
  return made;
}

function toAction(one) {
  const made = new vscode.CodeAction(one.title, one.kind === "quickfix" ? vscode.CodeActionKind.QuickFix
    : vscode.CodeActionKind.SourceFixAll);
  made.edit = one.edit && toWorkspaceEdit(one.edit);
  made.diagnostics = list(one.diagnostics).map(toDiagnostic);
  made.isPreferred = one.isPreferred;
  return made;
}

// ---- the client ----

class Client {
  constructor(command, options) {
    this.options = options;  // initializationOptions
    this.parts = [];         // what is given back at the end
    this.diagnostics = vscode.languages.createDiagnosticCollection("tilevm");
    this.parts.push(this.diagnostics);
    this.connection = new Connection(command, ["lsp"], (method, params) => this.told(method, params),
      (why) => vscode.window.showErrorMessage(`tilevm: ${why}. Is \`tilevm.path\` right?`));
    this.ready = this.start();
    this.ready.catch(() => {});  // it was shown
  }

  told(method, params) {
    if (method !== "textDocument/publishDiagnostics") return;
    this.diagnostics.set(vscode.Uri.parse(params.uri), params.diagnostics.map(toDiagnostic));
  }

  async start() {
    const folders = list(vscode.workspace.workspaceFolders).map(({ uri, name }) => ({ uri: uri.toString(), name }));
    const { capabilities } = await this.connection.request("initialize", {
      processId: process.pid, rootUri: folders.length > 0 ? folders[0].uri : null, workspaceFolders: folders,
      initializationOptions: this.options,
      capabilities: {
        general: { positionEncodings: ["utf-16"] },
        textDocument: { completion: { completionItem: { snippetSupport: true } } },
      },
    });
    this.connection.notify("initialized");
    const isOurs = (document) => document.languageId === "tilevm";
    const open = (document) => isOurs(document) && this.connection.notify("textDocument/didOpen", { textDocument: {
      uri: document.uri.toString(), languageId: "tilevm", version: document.version, text: document.getText() } });
    this.parts.push(
      vscode.workspace.onDidOpenTextDocument(open),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => isOurs(document) &&
        this.connection.notify("textDocument/didChange", {
          textDocument: { uri: document.uri.toString(), version: document.version },
          contentChanges: contentChanges.map(({ range, text }) => ({ range, text })),
        })),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (!isOurs(document)) return;
        this.connection.notify("textDocument/didClose", { textDocument: { uri: document.uri.toString() } });
        this.diagnostics.delete(document.uri);
      }),
    );
    vscode.workspace.textDocuments.forEach(open);
    this.register(capabilities);
  }

  // Asks about a document; `to` makes VS Code's value of an answer that is not null.
  async ask(method, document, params, to) {
    const answer = await this.connection.request(`textDocument/${method}`,
      { textDocument: { uri: document.uri.toString() }, ...params });
    return answer === null || answer === undefined ? undefined : to(answer);
  }

  register(capabilities) {
    const { languages } = vscode;
    const where = { language: "tilevm" };
    const at = (method, to, more = {}) => (document, position) => this.ask(method, document, { position, ...more }, to);
    const whole = (method, to, more = {}) => (document) => this.ask(method, document, more, to);
    const all = (to) => (answer) => list(answer).map(to);
    const known = {
      hover: () => languages.registerHoverProvider(where, { provideHover: at("hover", ({ contents, range }) =>
        new vscode.Hover(list(contents).map(toText), range && toRange(range))) }),
      definition: () => languages.registerDefinitionProvider(where, { provideDefinition: at("definition", all(toLocation)) }),
      references: () => languages.registerReferenceProvider(where, { provideReferences: (document, position, context) =>
        this.ask("references", document, { position, context }, all(toLocation)) }),
      documentHighlight: () => languages.registerDocumentHighlightProvider(where, { provideDocumentHighlights:
        at("documentHighlight", all(({ range, kind }) => new vscode.DocumentHighlight(toRange(range), (kind || 1) - 1))) }),
      documentSymbol: () => languages.registerDocumentSymbolProvider(where, {
        provideDocumentSymbols: whole("documentSymbol", all(toSymbol)) }),
      documentFormatting: () => languages.registerDocumentFormattingEditProvider(where, {
        provideDocumentFormattingEdits: (document, { tabSize, insertSpaces }) =>
          this.ask("formatting", document, { options: { tabSize, insertSpaces } }, all(toEdit)) }),
      rename: () => languages.registerRenameProvider(where, {
        prepareRename: at("prepareRename", (answer) => toRange(answer.range || answer)),
        provideRenameEdits: (document, position, newName) =>
          this.ask("rename", document, { position, newName }, toWorkspaceEdit) }),
      completion: ({ triggerCharacters = [] }) => languages.registerCompletionItemProvider(where, {
        provideCompletionItems: at("completion", (answer) => list(answer.items || answer).map(toItem)) },
        ...triggerCharacters),
      signatureHelp: ({ triggerCharacters = [] }) => languages.registerSignatureHelpProvider(where, {
        provideSignatureHelp: at("signatureHelp", toSignatures) }, ...triggerCharacters),
      codeAction: () => languages.registerCodeActionsProvider(where, { provideCodeActions: (document, range) =>
        this.ask("codeAction", document, { range, context: { diagnostics: [] } }, all(toAction)) }),
      codeLens: () => languages.registerCodeLensProvider(where, { provideCodeLenses: whole("codeLens",
        all(({ range, command }) => new vscode.CodeLens(toRange(range), toCommand(command)))) }),
      inlayHint: () => languages.registerInlayHintsProvider(where, { provideInlayHints: (document, range) =>
        this.ask("inlayHint", document, { range }, all(({ position, label, kind }) =>
          new vscode.InlayHint(toPosition(position), label, kind))) }),
      semanticTokens: ({ legend }) => languages.registerDocumentSemanticTokensProvider(where, {
        provideDocumentSemanticTokens: whole("semanticTokens/full", ({ data }) =>
          new vscode.SemanticTokens(new Uint32Array(data))) },
        new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers)),
    };
    for (const [name, register] of Object.entries(known)) {
      const offered = capabilities[`${name}Provider`];
      if (offered) this.parts.push(register(offered === true ? {} : offered));
    }
  }

  async stop() {
    this.parts.forEach((part) => part.dispose());
    if (this.connection.closed) return;
    await this.connection.request("shutdown").catch(() => {});
    this.connection.notify("exit");
    this.connection.closed = true;
  }
}

module.exports = { Client };
