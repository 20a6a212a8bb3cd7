// A headless Chromium, driven by its debugging protocol over a pipe.
"use strict";

const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

// The path of a browser; null if none is installed.
function findBrowser() {
  for (const folder of (process.env.PATH || "").split(":")) {
    for (const name of NAMES) {
      const file = path.join(folder, name);
      if (fs.existsSync(file)) return file;
    }
  }
  return null;
}

class Browser {
  constructor(file) {
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), "tilevm-page-"));
    this.process = spawn(file, ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
      "--disable-dev-shm-usage", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
      "--enable-precise-memory-info", `--user-data-dir=${this.profile}`, "about:blank"],
    { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
    this.waiting = new Map();
    this.listeners = [];
    this.number = 0;
    this.said = "";
    this.process.stderr.on("data", (text) => { this.said = (this.said + text).slice(-4000); });
    this.process.on("exit", (status) => {
      for (const { reject } of this.waiting.values()) reject(new Error(`the browser ended with ${status}: ${this.said}`));
      this.waiting.clear();
    });
    let rest = Buffer.alloc(0);
    this.process.stdio[4].on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        this.take(JSON.parse(rest.subarray(0, end).toString()));
        rest = rest.subarray(end + 1);
      }
    });
  }

  take(message) {
    if (message.id === undefined) return this.listeners.forEach((listener) => listener(message));
    const { resolve, reject } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    return message.error ? reject(new Error(message.error.message)) : resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  async open(address, size = { width: 1280, height: 860, mobile: false }) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    await page.send("Page.enable");
    await page.send("Runtime.enable");
    await page.send("Network.enable");
    await page.send("Emulation.setDeviceMetricsOverride", { deviceScaleFactor: 1, ...size });
    const loaded = new Promise((resolve) => {
      this.listeners.push(({ method, sessionId: of }) => of === sessionId && method === "Page.loadEventFired" && resolve());
    });
    await page.send("Page.navigate", { url: address });
    await loaded;
    return page;
  }

  async close() {
    await this.send("Browser.close").catch(() => {});
    await new Promise((resolve) => (this.process.exitCode === null ? this.process.once("exit", resolve) : resolve()));
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target });
    this.errors = [];    // what the page threw or logged as an error
    this.requests = [];  // addresses that were asked for
    browser.listeners.push(({ method, params, sessionId }) => {
      if (sessionId !== session) return;
      if (method === "Runtime.exceptionThrown") {
        this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
      }
      if (method === "Runtime.consoleAPICalled" && params.type === "error") this.errors.push(JSON.stringify(params.args));
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    });
  }

  send(method, params) { return this.browser.send(method, params, this.session); }

  // The value of an expression of the page.
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description || exceptionDetails.text}`);
    return result.value;
  }

  // Waits until an expression holds; the page itself looks, at each of its frames. ctest's limit ends a wait in vain.
  until(expression) {
    return this.value(`new Promise((resolve) => { const look = () => { const found = (${expression});
      if (found) resolve(found); else setTimeout(look, 5); }; look(); })`);
  }

  async key(key, modifiers = 0, text = undefined) {
    const code = { Enter: 13, Tab: 9, Escape: 27, ArrowRight: 39, ArrowLeft: 37, End: 35, Home: 36 }[key];
    const params = { key, modifiers, windowsVirtualKeyCode: code, code: key, ...(text ? { text } : {}) };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...params });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...params, text: undefined });
  }

  async type(text) { await this.send("Input.insertText", { text }); }

  async picture(file, full = false) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: full });
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }

  async close() { await this.browser.send("Target.closeTarget", { targetId: this.target }); }
}

module.exports = { Browser, findBrowser };
