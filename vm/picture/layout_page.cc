#include <fmt/format.h>

#include "vm/picture/canvas.h"
#include "vm/picture/layout_svg.h"

namespace tilevm::vm {

namespace {

// A cell has data-t: its first thread (two cells share threads if and only if it is the same);
// data-h: all its threads; data-l: its local place; data-b: bits of an element, or 0; data-e: the
// element; data-k: the bank; data-o: the offset. Classes: `on` for the same thread or bank, `hit`
// for shared bits.
constexpr const char* html_page = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{0}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: ui-monospace, 'DejaVu Sans Mono', Consolas, monospace; font-size: 14px; margin: 1em;
  background: #fff; color: #1b1b1b; }}
#says {{ min-height: 1.5em; position: sticky; top: 0; background: inherit; padding: .3em 0; }}
#bits td {{ border: 1px solid #3c3c3c; background: #ddd; color: #000; padding: 1px 0; text-align: center;
  font-size: 11px; }}
#bits th {{ font-weight: normal; text-align: right; padding-right: .5em; }}
#bits td.hit, .c.hit rect {{ fill: #ffd400; background: #ffd400; }}
.c {{ cursor: pointer; }}
.c.on rect {{ stroke: #000; stroke-width: 2.6; }}
.c.dim {{ opacity: .45; }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #16181c; color: #f0f0f0; }}
  .c.on rect {{ stroke: #fff; }}
}}
</style>
</head>
<body>
<p id="says">Point at a cell; click to keep it.</p>
{1}
<table id="bits"></table>
<script>
const cells = [...document.querySelectorAll(".c")].filter(c => c.dataset.t || c.dataset.k);
const says = document.getElementById("says"), bits = document.getElementById("bits");
const greeting = says.textContent;
let kept = null;
function range(cell) {{
  const n = +cell.dataset.b, first = cell.dataset.l * n;
  return [first, first + n];
}}
function shares(a, b) {{
  if (a === b) return true;
  if (!+a.dataset.b || !+b.dataset.b || a.dataset.t !== b.dataset.t) return false;
  const [a0, a1] = range(a), [b0, b1] = range(b);
  return a0 < b1 && b0 < a1;
}}
function describe(cell) {{
  const d = cell.dataset;
  if (d.t === undefined)
    return d.e ? `element ${{d.e}} \u2194 offset ${{d.o}} \u2194 bank ${{d.k}}` : `bank ${{d.k}}`;
  let text = `element ${{d.e}} \u2194 thread ${{d.h}} \u2194 local ${{d.l}}`;
  if (+d.b) {{
    const [first, end] = range(cell), r = Math.floor(first / 32), last = Math.floor((end - 1) / 32);
    text += ` \u2194 register ${{r}}${{last > r ? " and " + last : ""}} \u2194 bits ${{first % 32}}..` +
      `${{(end - 1) % 32}}`;
  }}
  return text;
}}
function drawBits(cell) {{
  bits.replaceChildren();
  if (!cell || !+cell.dataset.b) return;
  const mine = cells.filter(c => c.dataset.t === cell.dataset.t);
  for (const n of [...new Set(mine.map(c => c.dataset.b))]) {{
    const stream = mine.filter(c => c.dataset.b === n).sort((a, b) => a.dataset.l - b.dataset.l);
    const end = stream.length * n;
    for (let r = 0; r * 32 < end; ++r) {{
      const row = bits.insertRow(), head = document.createElement("th");
      head.textContent = `thread ${{cell.dataset.h}} register ${{r}} (${{n}} bits an element)`;
      row.append(head);
      for (const c of stream) {{
        const [b0, b1] = range(c), lo = Math.max(b0, r * 32), hi = Math.min(b1, r * 32 + 32);
        if (lo >= hi) continue;
        const td = row.insertCell();
        td.colSpan = hi - lo;
        td.style.minWidth = (hi - lo) * 15 + "px";
        td.textContent = c.dataset.e;
        td.classList.toggle("hit", shares(cell, c));
      }}
    }}
  }}
}}
function mark(cell) {{
  for (const c of cells) {{
    const same = cell && (cell.dataset.t !== undefined ? c.dataset.t === cell.dataset.t
                                                       : c.dataset.k === cell.dataset.k);
    c.classList.toggle("on", !!same);
    c.classList.toggle("dim", !!cell && !same);
    c.classList.toggle("hit", !!cell && shares(cell, c));
  }}
  says.textContent = cell ? describe(cell) : greeting;
  drawBits(cell);
}}
for (const cell of cells) {{
  cell.addEventListener("mouseenter", () => mark(kept || cell));
  cell.addEventListener("mouseleave", () => mark(kept));
  cell.addEventListener("click", () => {{ kept = kept === cell ? null : cell; mark(kept || cell); }});
}}
</script>
</body>
</html>
)";

}  // namespace

std::string draw_html(const LayoutScene& scene) {
  std::string title;
  for (const TypedLayout& one : scene.layouts) title += (title.empty() ? "" : " | ") + one.text;
  return fmt::format(html_page, escape_xml(title), draw_svg(scene));
}

}  // namespace tilevm::vm
