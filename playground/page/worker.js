// The worker of the page: one request at a time, answered by its number.
"use strict";

let engine = null;

const methods = {
  async start({ module, files }) {
    engine = new Engine(TilevmModule, module, files);
    await engine.start();
    return {};
  },
  async command({ words, files, wanted }) {
    await engine.start();
    for (const [path, data] of Object.entries(files || {})) {
      engine.files[path] = data;  // a module that begins again has it, too
      engine.write(path, data);
    }
    for (const path of wanted || []) engine.remove(path);
    const result = await engine.command(words);
    await engine.start();
    result.files = {};
    for (const path of wanted || []) {
      const bytes = engine.read(path);
      if (bytes) result.files[path] = new TextDecoder().decode(bytes);
    }
    result.list = engine.list();
    return result;
  },
  debug({ line }) {
    return engine.debug(line);
  },
  async read({ path }) {
    return { bytes: engine.read(path) };
  },
  async memory() {
    return { bytes: engine.instance.HEAP32.buffer.byteLength };
  },
};

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ id: data.id, result: await methods[data.method](data) });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error && error.stack || error) });
  }
};
