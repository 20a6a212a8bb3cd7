// WebAssembly modules as bytes: sections, bodies of functions, and where a body names a function. The instructions are
// those of WebAssembly 2.0 and of exceptions as they were first.
"use strict";

const SECTION = { custom: 0, import: 2, function: 3, export: 7, start: 8, element: 9, code: 10 };

// Reads numbers of a module in order.
class Reader {
  constructor(bytes, at = 0, end = bytes.length) {
    Object.assign(this, { bytes, at, end });
  }

  byte() {
    return this.bytes[this.at++];
  }

  // An unsigned number; of a signed one only the length is right.
  number() {
    let value = 0, factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  skip(bytes) {
    this.at += bytes;
  }

  skipNumbers(count) {
    for (let i = 0; i < count; ++i) this.number();
  }

  skipName() {
    this.skip(this.number());
  }
}

function numberBytes(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  bytes.push(value);
  return Buffer.from(bytes);
}

// The sections in order: [{ id, begin, end }].
function sectionsOf(bytes) {
  const sections = [];
  for (let reader = new Reader(bytes, 8); reader.at < bytes.length;) {
    const id = reader.byte(), size = reader.number();
    sections.push({ id, begin: reader.at, end: reader.at + size });
    reader.skip(size);
  }
  return sections;
}

function importedFunctions(reader) {
  let count = 0;
  const skipLimits = () => reader.skipNumbers(reader.byte() & 1 ? 2 : 1);
  for (let left = reader.number(); left > 0; --left) {
    reader.skipName();
    reader.skipName();
    const kind = reader.byte();
    if (kind === 0) ++count;
    if (kind === 1) reader.skip(1);
    if (kind === 1 || kind === 2) skipLimits();
    if (kind === 3) reader.skip(2);
    if (kind === 4) reader.skip(1);
    if (kind === 0 || kind === 4) reader.number();
  }
  return count;
}

// How many numbers follow an instruction of one byte, where it is not 0.
const OPERANDS = new Map([
  [[0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0c, 0x0d, 0x18], 1],  // blocks, exceptions, branches
  [[0x11, 0x13], 2],                                                  // indirect calls
  [[0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26], 1],                    // variables and tables
  [[0x3f, 0x40, 0x41, 0x42, 0xd0], 1],                                // sizes of memory, constants
].flatMap(([codes, count]) => codes.map((code) => [code, count])));
for (let code = 0x28; code <= 0x3e; ++code) OPERANDS.set(code, 2);  // loads and stores
const CALLS = new Set([0x10, 0x12, 0xd2]);

function skipBulkOperands(reader) {
  const code = reader.number();
  if (code > 17) throw new Error(`instruction 0xfc ${code} is not known`);
  if (code >= 8) reader.skipNumbers([2, 1, 2, 1, 2, 1, 2, 1, 1, 1][code - 8]);
}

function skipVectorOperands(reader) {
  const code = reader.number();
  if (code <= 11 || code === 92 || code === 93) reader.skipNumbers(2);
  else if (code === 12 || code === 13) reader.skip(16);
  else if (code >= 21 && code <= 34) reader.skip(1);
  else if (code >= 84 && code <= 91) {
    reader.skipNumbers(2);
    reader.skip(1);
  } else if (code > 255) throw new Error(`vector instruction ${code} is not known`);
}

// Calls f(begin, end, index) for each number of a function in a body.
function forEachCall(body, f) {
  const reader = new Reader(body);
  for (let groups = reader.number(); groups > 0; --groups) {
    reader.number();
    reader.skip(1);
  }
  while (reader.at < body.length) {
    const code = reader.byte();
    if (CALLS.has(code)) {
      const begin = reader.at, index = reader.number();
      f(begin, reader.at, index);
    } else if (code === 0x0e) reader.skipNumbers(reader.number() + 1);
    else if (code === 0x1c) reader.skipNumbers(reader.number());
    else if (code === 0x43) reader.skip(4);
    else if (code === 0x44) reader.skip(8);
    else if (code === 0xfc) skipBulkOperands(reader);
    else if (code === 0xfd) skipVectorOperands(reader);
    else if (code > 0xd2) throw new Error(`instruction ${code} is not known`);
    else reader.skipNumbers(OPERANDS.get(code) || 0);
  }
  if (reader.at !== body.length) throw new Error("a function ends within an instruction");
}

module.exports = { Reader, SECTION, forEachCall, importedFunctions, numberBytes, sectionsOf };
