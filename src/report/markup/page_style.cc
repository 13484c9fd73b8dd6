#include "report/markup/page_style.h"

namespace kw {

// Fragment colours are hues; everything that is tinted derives from --hue.
const std::string_view kPageStyle = R"css(
:root { color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --ink: #1d2126; --quiet: #68707a; --line: #d9dce0;
  --code: #f3f4f5; --link: #2159b8; --good: #1a7f46; --bad: #b8322a; --warn: #8a5a00;
  --warn-back: #fff4d9; --tint: 94%; --tint-depth: 70%; --edge-lightness: 40%; --bar: #8d99a8;
  --keyword: #8b2fa8; --string: #23703c; --comment: #77808a; --number: #a04c00; --define: #1f5fb4; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171a; --card: #1c2024; --ink: #e4e7ea; --quiet: #98a1ab; --line: #343a41;
  --code: #1f2428; --link: #7fb0ff; --good: #57c98a; --bad: #ff8177; --warn: #f0c05a;
  --warn-back: #33290f; --tint: 17%; --tint-depth: 34%; --edge-lightness: 68%; --bar: #66717e;
  --keyword: #d69be8; --string: #8fd3a4; --comment: #8a949e; --number: #eeb07b; --define: #86b7ff;
  } }
.c0 { --hue: 212; } .c1 { --hue: 28; } .c2 { --hue: 150; } .c3 { --hue: 330; }
.c4 { --hue: 265; } .c5 { --hue: 50; } .c6 { --hue: 185; } .c7 { --hue: 5; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 24px 28px 64px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
code, pre, svg text { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono",
  monospace; }
code { font-size: 13px; }
a { color: var(--link); }
h1 { font-size: 28px; line-height: 1.2; margin: 2px 0 8px; overflow-wrap: anywhere; }
h1 small { font-weight: 400; color: var(--quiet); }
h2 { font-size: 20px; margin: 44px 0 8px; padding-bottom: 6px;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 16px; margin: 28px 0 4px; } h4 { font-size: 13px; margin: 10px 0 4px;
  color: var(--quiet); font-weight: 600; }
.brand { color: var(--quiet); font-size: 13px; letter-spacing: .04em; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 18px 0 0; font-size: 14px; }
nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
.verdict { margin: 0 0 16px; font-size: 16px; overflow-wrap: anywhere; }
.caption { color: var(--quiet); font-size: 13.5px; margin: 4px 0 10px; }
.quiet { color: var(--quiet); } .strong { font-weight: 600; }
.badge, .tag { display: inline-block; border-radius: 999px; padding: 1px 9px; font-size: 12.5px;
  border: 1px solid var(--line); white-space: nowrap; }
.badge { font-weight: 600; } .badge.good { color: var(--good); border-color: currentColor; }
.badge.bad { color: var(--bad); border-color: currentColor; }
.tag { color: var(--quiet); font-size: 11.5px; padding: 0 7px; }
.tag.model { color: var(--warn); background: var(--warn-back); border-color: transparent; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(205px, 1fr)); gap: 12px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 16px; }
.card .figure { font-size: 30px; font-weight: 650; line-height: 1.2; letter-spacing: -.01em;
  font-variant-numeric: tabular-nums; }
.card.good .figure { color: var(--good); } .card.modelled .figure { color: var(--warn); }
.card .note { color: var(--quiet); font-size: 12.5px; margin-top: 4px; }
.warning { background: var(--warn-back); color: var(--warn); border-radius: 8px; padding: 8px 14px;
  margin: 12px 0 0; font-size: 14px; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 8px 0 16px; font-size: 13.5px;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--quiet); font-size: 12px;
  white-space: nowrap; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; } td.number, .nowrap { white-space: nowrap; }
td.reason { overflow-wrap: anywhere; }
tr.view td { color: var(--quiet); }
td.bar { width: 11%; min-width: 90px; vertical-align: middle; }
.bars td.bar { width: 52%; } .alarm { color: var(--warn); font-weight: 600; }
.length { display: block; height: 8px; border-radius: 3px; margin: 1px 0; background: var(--bar); }
.length.good { background: var(--good); } .length.bad { background: var(--bad); }
.length[class*=" c"] { background: hsl(var(--hue) 55% 55%); }
.chip { display: inline-block; min-width: 22px; text-align: center; border-radius: 6px;
  padding: 0 6px; font-weight: 650; font-size: 12.5px; text-decoration: none;
  background: hsl(var(--hue) var(--tint-depth) var(--tint));
  color: hsl(var(--hue) 65% var(--edge-lightness)); }
.fragment { border-left: 3px solid hsl(var(--hue) 60% 55%); padding: 1px 0 6px 16px;
  margin: 28px 0; }
.fragment h3 { margin: 4px 0; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 18px; }
@media (max-width: 900px) { .pair { grid-template-columns: minmax(0, 1fr); } }
pre { margin: 0; padding: 10px 12px; background: var(--code); border-radius: 8px; overflow-x: auto;
  font-size: 12.5px; line-height: 1.45; tab-size: 4; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.code .k { color: var(--keyword); } .code .s { color: var(--string); }
.code .c { color: var(--comment); font-style: italic; } .code .n { color: var(--number); }
.code .d, .code .f { color: var(--define); }
details { margin: 6px 0; } summary { cursor: pointer; font-size: 14px; padding: 3px 0; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 18px; margin: 4px 0;
  font-size: 13.5px; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
.graph { overflow: auto; max-height: 88vh; border: 1px solid var(--line); border-radius: 10px;
  background: var(--card); }
.graph svg { display: block; margin: 0 auto; }
svg .box { fill: var(--card); stroke: var(--bar); }
svg .step[class*=" c"] .box { stroke: hsl(var(--hue) 50% 55%); }
svg .view .box { stroke-dasharray: 3 3; stroke: var(--line); fill: none; }
svg .view .name, svg .view .row { fill: var(--quiet); font-weight: 400; }
svg .input .box, svg .output .box { fill: var(--code); }
svg .name { font-size: 12px; font-weight: 600; fill: var(--ink); }
svg .row, svg .corner { font-size: 11px; fill: var(--quiet); }
svg .tab { fill: var(--code); stroke: var(--line); } svg .shape { font-size: 10px;
  fill: var(--ink); }
svg .view .tab { fill: none; } svg .view .shape { fill: var(--quiet); }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .frame { fill: hsl(var(--hue) var(--tint-depth) var(--tint)); stroke: hsl(var(--hue) 50% 60%); }
svg .frame-title { font-size: 12px; font-weight: 650;
  fill: hsl(var(--hue) 65% var(--edge-lightness));
  stroke: hsl(var(--hue) var(--tint-depth) var(--tint)); stroke-width: 4px; paint-order: stroke; }
svg .edge { fill: none; stroke: var(--bar); stroke-width: 1.3; }
svg .edge:hover { stroke: var(--link); stroke-width: 3; }
svg marker path { fill: var(--bar); }
:target { scroll-margin-top: 12px; } svg :target .box { stroke: var(--link); stroke-width: 2.5; }
@media print {
  body { max-width: none; padding: 0; font-size: 11px; } nav { display: none; }
  .graph { max-height: none; overflow: visible; border: none; }
  .graph svg { max-width: 100%; height: auto; max-height: 250mm; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 9px; }
  .pair { display: block; } .scroll { overflow: visible; } table { font-size: 10px; }
  tr, .card, h2, h3 { break-inside: avoid; } h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)css";

}  // namespace kw
