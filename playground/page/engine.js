// The module as a command: words in; status, text and files out. A page's worker and Node run the same.
"use strict";

// What a broken module says: a stack or memory that was not enough, else a fault of ours. Statuses are the command's.
const BROKEN = [
  [/stack|recursion/i, 4, "the program nests more deeply than a browser's stack is large"],
  [/memory|allocat/i, 4, "out of memory: a browser gives the module 512 MiB"],
];

class Engine {
  // `factory` is what emscripten's tilevm.js defines, `module` a WebAssembly.Module.
  constructor(factory, module, files) {
    this.factory = factory;
    this.module = module;
    this.files = files;  // path -> text or bytes, there from the begin
    this.instance = null;
  }

  async start() {
    if (this.instance) return;
    this.streams = { out: [], err: [] };
    const streams = this.streams;
    this.instance = await this.factory({
      instantiateWasm: (imports, receive) => {
        const instance = new WebAssembly.Instance(this.module, imports);
        receive(instance, this.module);
        return instance.exports;
      },
      stdin: () => null,
      stdout: (byte) => { if (byte !== null) streams.out.push(byte & 255); },
      stderr: (byte) => { if (byte !== null) streams.err.push(byte & 255); },
    });
    this.instance.FS.mkdirTree("/files");
    this.instance.FS.chdir("/files");
    for (const [path, data] of Object.entries(this.files)) this.write(path, data);
  }

  write(path, data) {
    const { FS } = this.instance;
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (folder) FS.mkdirTree(folder.startsWith("/") ? folder : "/files/" + folder);
    FS.writeFile(path, data);
  }

  // The bytes of a file; null if there is none.
  read(path) {
    try {
      return this.instance.FS.readFile(path);
    } catch {
      return null;
    }
  }

  remove(path) {
    try {
      this.instance.FS.unlink(path);
    } catch { /* there was none */ }
  }

  // Names and sizes of the files in /files itself.
  list() {
    const { FS } = this.instance;
    return FS.readdir("/files").filter((name) => FS.isFile(FS.stat("/files/" + name).mode))
      .map((name) => ({ name, bytes: FS.stat("/files/" + name).size }));
  }

  text(bytes) {
    return new TextDecoder().decode(Uint8Array.from(bytes));
  }

  // Calls f(pointers) with C strings of `words`, and gives what it gives; what breaks the module is a status.
  async call(words, f) {
    await this.start();
    const { instance, streams } = this;
    Object.assign(streams, { out: [], err: [] });
    const pointers = words.map((word) => {
      const length = instance.lengthBytesUTF8(word) + 1;
      const pointer = instance._malloc(length);
      instance.stringToUTF8(word, pointer, length);
      return pointer;
    });
    const begin = performance.now();
    let status, broken = "";
    try {
      status = f(instance, pointers);
      pointers.forEach((pointer) => instance._free(pointer));
    } catch (error) {
      const text = String(error);
      const known = BROKEN.find(([pattern]) => pattern.test(text));
      status = known ? known[1] : 70;
      broken = `tilevm: error: ${known ? known[2] : `the module stopped: ${text}; please report this`}\n`;
      this.instance = null;
    }
    const err = this.text(streams.err) + broken;
    // What was made when memory was exhausted is not freed (module.cmake).
    if (status === 4 && /memory/.test(err)) {
      this.instance = null;
      await this.start();
    }
    return { status, out: this.text(streams.out), err,
             milliseconds: performance.now() - begin, broken: broken !== "" };
  }

  // `tilevm` with the words of a command line; standard input is empty.
  command(words) {
    return this.call(["tilevm", "--color", "never", ...words], (instance, pointers) => {
      const array = instance._malloc(4 * (pointers.length + 1));
      pointers.forEach((pointer, i) => { instance.HEAP32[array / 4 + i] = pointer; });
      instance.HEAP32[array / 4 + pointers.length] = 0;
      const status = instance._main(pointers.length, array);
      instance._free(array);
      return status;
    });
  }

  // A line for the debugger that `tilevm debug` opened; `stop` says where the run is then, if it moved.
  async debug(line) {
    let stop = null;
    const result = await this.call([line], (instance, [pointer]) => {
      const text = instance.UTF8ToString(instance._tilevm_debug(pointer));
      if (text !== "") stop = JSON.parse(text);
      return 0;
    });
    return { ...result, stop };
  }
}

if (typeof module !== "undefined") module.exports = { Engine };
