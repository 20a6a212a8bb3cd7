// An order of byte strings in which those that resemble each other are neighbours. gzip finds what a string shares with
// the 32 KB before it, and nothing farther away.
"use strict";

const WINDOW = 32_000;      // bytes that gzip looks back
const LENGTH = 6;           // of the pieces that strings share
const MOST_SHARED = 1_000;  // a piece that more strings have says nothing of any

// The pieces that several strings have: `piecesOf[i]` lists those of string i, `stringsOf[piece]` who has it.
function sharedPieces(strings) {
  const total = strings.reduce((sum, { length }) => sum + Math.max(0, length - LENGTH + 1), 0);
  // Who has a piece is told by its low part, so that sorting groups by pieces.
  const keys = new Float64Array(total);
  let next = 0;
  strings.forEach((string, i) => {
    for (let at = 0; at + LENGTH <= string.length; ++at) {
      let hash = 0x811c9dc5;
      for (let k = 0; k < LENGTH; ++k) hash = Math.imul(hash ^ string[at + k], 0x01000193);
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
      keys[next++] = hash * strings.length + i;
    }
  });
  keys.sort();
  const piecesOf = strings.map(() => []), stringsOf = [];
  for (let begin = 0; begin < total;) {
    const hash = Math.floor(keys[begin] / strings.length), owners = [];
    let at = begin;
    for (; at < total && Math.floor(keys[at] / strings.length) === hash; ++at) {
      if (at === begin || keys[at] !== keys[at - 1]) owners.push(keys[at] - hash * strings.length);
    }
    begin = at;
    if (owners.length < 2 || owners.length > MOST_SHARED) continue;
    for (const owner of owners) piecesOf[owner].push(stringsOf.length);
    stringsOf.push(Uint32Array.from(owners));
  }
  return { piecesOf, stringsOf };
}

// The indices of `strings` in such an order: each next string is the one of which the window holds most. A string's
// share counts for less the longer it is, but not by its length: long ones would come last, when nothing is left that
// resembles them.
function orderByResemblance(strings) {
  const { piecesOf, stringsOf } = sharedPieces(strings);
  const weights = Float64Array.from(strings, ({ length }) => (length + 20) ** -0.7);
  const shared = new Int32Array(strings.length);  // pieces that the window has of each string
  const inWindow = new Int32Array(stringsOf.length);
  const left = Uint32Array.from(strings.keys());
  let leftCount = strings.length, windowBegin = 0, windowBytes = 0;
  const order = [];
  const enter = (string) => {
    for (const piece of piecesOf[string]) {
      if (inWindow[piece]++ === 0) for (const other of stringsOf[piece]) ++shared[other];
    }
    windowBytes += strings[string].length;
  };
  const leave = (string) => {
    for (const piece of piecesOf[string]) {
      if (--inWindow[piece] === 0) for (const other of stringsOf[piece]) --shared[other];
    }
    windowBytes -= strings[string].length;
  };
  while (leftCount > 0) {
    let best = 0;
    for (let i = 1; i < leftCount; ++i) {
      if (shared[left[i]] * weights[left[i]] > shared[left[best]] * weights[left[best]]) best = i;
    }
    const chosen = left[best];
    left.copyWithin(best, best + 1, leftCount--);
    order.push(chosen);
    enter(chosen);
    while (windowBytes > WINDOW && windowBegin + 1 < order.length) leave(order[windowBegin++]);
  }
  return order;
}

module.exports = { orderByResemblance };
