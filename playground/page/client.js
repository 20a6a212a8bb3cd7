// The worker as seen from the page: requests by number, and an end by force.
"use strict";

// A WebAssembly.Module of gzip in base64, compiled while it is unpacked.
function compileModule(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "Content-Type": "application/wasm" } }));
}

class Stopped extends Error {}

class Client {
  // `module` is a promise of a WebAssembly.Module: workers start while it is made.
  constructor(source, module, files) {
    this.address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.module = module;
    this.files = { ...files };  // what a new worker's module has from the begin
    this.waiting = new Map();
    this.number = 0;
    this.onbusy = () => {};
    this.begin();
  }

  begin() {
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => {
      const one = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      this.onbusy(this.busy);
      if (one) data.error === undefined ? one.resolve(data.result) : one.reject(new Error(data.error));
    };
    this.worker.onerror = (event) => this.fail(new Error(event.message || "the worker did not start"));
    this.ready = this.module.then((module) => this.ask("start", { module, files: this.files }));
  }

  get busy() { return this.waiting.size > 0; }

  ask(method, data = {}) {
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, ...data });
      this.onbusy(true);
    });
  }

  fail(error) {
    const all = [...this.waiting.values()];
    this.waiting.clear();
    this.onbusy(false);
    all.forEach(({ reject }) => reject(error));
  }

  // Ends whatever runs; a new worker begins with the files that were added.
  stop() {
    this.worker.terminate();
    this.fail(new Stopped("stopped"));
    this.begin();
  }
}
