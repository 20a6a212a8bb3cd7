// Puts the functions of a module that resemble each other side by side, so that gzip packs it into a twelfth less room:
// order_functions.js FILE.wasm. What the module does stays.
"use strict";

const fs = require("fs");
const { orderByResemblance } = require("./resemblance.js");
const { Reader, SECTION, forEachCall, importedFunctions, numberBytes, sectionsOf } = require("./wasm.js");

const ONE_BYTE = 128;  // numbers below it take one byte

function bodiesOf(bytes, section) {
  const reader = new Reader(bytes, section.begin);
  return Array.from({ length: reader.number() }, () => {
    const size = reader.number();
    reader.skip(size);
    return bytes.subarray(reader.at - size, reader.at);
  });
}

// Bodies in their new order: those that are called most often have the short numbers.
function chooseOrder(bodies, imported) {
  const calls = new Uint32Array(bodies.length);
  for (const body of bodies) {
    forEachCall(body, (begin, end, index) => { if (index >= imported) ++calls[index - imported]; });
  }
  const byCalls = [...bodies.keys()].sort((a, b) => calls[b] - calls[a] || a - b);
  const short = Math.max(0, ONE_BYTE - imported);
  const others = byCalls.slice(short).sort((a, b) => a - b);
  return [...byCalls.slice(0, short), ...orderByResemblance(others.map((i) => bodies[i])).map((i) => others[i])];
}

function codeSection(bodies, order, renumber) {
  const parts = [numberBytes(bodies.length)];
  for (const old of order) {
    const body = bodies[old], pieces = [];
    let done = 0;
    forEachCall(body, (begin, end, index) => {
      pieces.push(body.subarray(done, begin), numberBytes(renumber(index)));
      done = end;
    });
    const made = Buffer.concat([...pieces, body.subarray(done)]);
    parts.push(numberBytes(made.length), made);
  }
  return Buffer.concat(parts);
}

function functionSection(bytes, section, order) {
  const reader = new Reader(bytes, section.begin);
  const types = Array.from({ length: reader.number() }, () => reader.number());
  return Buffer.concat([types.length, ...order.map((old) => types[old])].map(numberBytes));
}

function exportSection(bytes, section, renumber) {
  const reader = new Reader(bytes, section.begin);
  const count = reader.number(), parts = [numberBytes(count)];
  for (let i = 0; i < count; ++i) {
    const begin = reader.at;
    reader.skipName();
    const kind = reader.byte(), end = reader.at, index = reader.number();
    parts.push(bytes.subarray(begin, end), numberBytes(kind === 0 ? renumber(index) : index));
  }
  return Buffer.concat(parts);
}

// Tables of functions, as linkers write them: at a constant of table 0.
function elementSection(bytes, section, renumber) {
  const reader = new Reader(bytes, section.begin);
  const count = reader.number(), parts = [numberBytes(count)];
  for (let i = 0; i < count; ++i) {
    const begin = reader.at;
    if (reader.number() !== 0 || reader.byte() !== 0x41) throw new Error("a table is not as linkers write it");
    reader.number();
    if (reader.byte() !== 0x0b) throw new Error("a table begins at no constant");
    parts.push(bytes.subarray(begin, reader.at));
    const length = reader.number();
    parts.push(numberBytes(length));
    for (let k = 0; k < length; ++k) parts.push(numberBytes(renumber(reader.number())));
  }
  return Buffer.concat(parts);
}

function orderFunctions(bytes) {
  const sections = sectionsOf(bytes);
  const find = (id) => sections.find((section) => section.id === id);
  const imported = importedFunctions(new Reader(bytes, find(SECTION.import).begin));
  const bodies = bodiesOf(bytes, find(SECTION.code));
  const order = chooseOrder(bodies, imported);
  const numbers = new Uint32Array(imported + bodies.length).map((_, index) => index);
  order.forEach((old, index) => { numbers[imported + old] = imported + index; });
  const renumber = (index) => numbers[index];
  const make = (section) => {
    switch (section.id) {
      case SECTION.function: return functionSection(bytes, section, order);
      case SECTION.export: return exportSection(bytes, section, renumber);
      case SECTION.start: return numberBytes(renumber(new Reader(bytes, section.begin).number()));
      case SECTION.element: return elementSection(bytes, section, renumber);
      case SECTION.code: return codeSection(bodies, order, renumber);
      case SECTION.custom: throw new Error("the module has a section of names or the like, which is not understood");
      default: return bytes.subarray(section.begin, section.end);
    }
  };
  const parts = [bytes.subarray(0, 8)];
  for (const section of sections) {
    const made = make(section);
    parts.push(Buffer.from([section.id]), numberBytes(made.length), made);
  }
  return Buffer.concat(parts);
}

function main([file]) {
  const bytes = fs.readFileSync(file), ordered = orderFunctions(bytes);
  if (!WebAssembly.validate(ordered)) throw new Error("the module is not valid any more");
  fs.writeFileSync(file, ordered);
}

if (require.main === module) main(process.argv.slice(2));
module.exports = { orderFunctions };
