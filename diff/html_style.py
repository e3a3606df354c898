"""The style of report pages: a wide screen, a phone, paper. No `<` and no `&`, so that it is XML, too."""

CSS = """
:root {
  --ink: #1c2733; --soft: #5b6977; --line: #d5dce3; --paper: #ffffff; --panel: #f5f7f9;
  --good: #1a7f4b; --bad: #c0262d; --warn: #9a5b00; --info: #2459a9; --quiet: #66727f;
  --removed: #fdeaea; --added: #e8f6ee;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e3e9ef; --soft: #9fadba; --line: #38444f; --paper: #14191e; --panel: #1d242b;
    --good: #4cc38a; --bad: #ff7b7f; --warn: #e5a84b; --info: #7fb0f5; --quiet: #a2aeb9;
    --removed: #3c2226; --added: #1b3527;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; color: var(--ink); background: var(--paper);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
main { max-width: 1240px; margin: 0 auto; padding: 20px; }
h1 { font-size: 1.55rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 {
  font-size: 1.15rem; margin: 1.8rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem;
}
h3 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h4 { font-size: .9rem; margin: 1rem 0 .3rem; color: var(--soft); }
p { margin: .35rem 0; overflow-wrap: anywhere; }
a { color: var(--info); }
ul { margin: .3rem 0; padding-left: 1.2rem; }
li { overflow-wrap: anywhere; margin: .15rem 0; }
footer { margin-top: 2rem; color: var(--soft); font-size: .85rem; }
.lead { font-size: 1.05rem; }
.soft { color: var(--soft); }
.mono, code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: .82rem; }
.mono { overflow-wrap: anywhere; }
.tiles {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(118px, 1fr)); gap: 8px; margin: 14px 0;
}
.tile { border: 1px solid var(--line); border-radius: 8px; padding: 8px 10px; background: var(--panel); }
.tile b { display: block; font-size: 1.35rem; line-height: 1.2; }
.tile span { color: var(--soft); font-size: .82rem; }
.tile.bad b { color: var(--bad); } .tile.warn b { color: var(--warn); } .tile.good b { color: var(--good); }
.chip {
  display: inline-block; border: 1px solid currentColor; border-radius: 10px;
  padding: 0 7px; margin: 0 4px 2px 0; font-size: .78rem; line-height: 1.5; white-space: nowrap;
}
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.info { color: var(--info); } .quiet { color: var(--quiet); }
article { border: 1px solid var(--line); border-radius: 8px; padding: 14px; margin: 14px 0; }
.beside {
  display: grid; grid-template-columns: minmax(0, 400px) minmax(0, 1fr); gap: 18px; align-items: start;
}
table { border-collapse: collapse; width: 100%; margin: .4rem 0; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .82rem; }
th, td {
  padding: 4px 8px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere;
}
.whole { white-space: nowrap; }
table.changes { table-layout: fixed; }
table.changes th:nth-child(1) { width: 34%; } table.changes th:nth-child(2) { width: 30%; }
table.changes th:nth-child(3) { width: 15%; }
table.rows { table-layout: fixed; } table.rows th:nth-child(1) { width: 36%; }
del { background: var(--removed); text-decoration: line-through; display: block; }
ins { background: var(--added); text-decoration: none; display: block; }
del::before { content: "- "; } ins::before { content: "+ "; }
details { margin: .4rem 0; } summary { cursor: pointer; color: var(--soft); }
svg.drawing { width: 100%; max-width: 400px; height: auto; display: block; font-family: inherit; }
svg .box { fill: var(--panel); stroke: var(--line); }
svg .edge { fill: none; stroke: var(--soft); stroke-width: 1.2; }
svg text { fill: var(--ink); font-size: 12px; } svg .small { fill: var(--soft); font-size: 10.5px; }
svg .status { font-size: 10.5px; font-weight: 600; text-anchor: end; }
svg .ONLINE { fill: var(--good); } svg .ERROR { fill: var(--bad); } svg .DEGRADED { fill: var(--warn); }
svg .DRAINING { fill: var(--info); } svg .OFFLINE, svg .NO_MONITOR, svg .UNKNOWN { fill: var(--quiet); }
@media screen and (max-width: 760px) {
  main { padding: 12px; } h1 { font-size: 1.25rem; } article { padding: 10px; }
  .beside { grid-template-columns: minmax(0, 1fr); }
  table, tbody, tr, td { display: block; width: 100%; } thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: 5px 0; } td { border: 0; padding: 1px 0; }
  td:has(ul)::before { display: block; }
  td::before { content: attr(data-label) ": "; color: var(--soft); font-size: .8rem; }
  td:empty { display: none; }
}
@media print {
  @page { margin: 14mm 12mm; }
  html { font-size: 11px; } body { font-size: 1rem; } main { max-width: none; padding: 0; }
  article, .tile, tr, li { break-inside: avoid; } article { break-inside: auto; }
  h2, h3, h4 { break-after: avoid; } svg.drawing { max-width: 300px; break-inside: avoid; }
  .beside { display: block; }
  details::details-content { content-visibility: visible; display: block; block-size: auto; }
  summary { list-style: none; } a { color: inherit; text-decoration: none; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""
