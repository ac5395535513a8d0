/** The page's whole style: readable, in light and in dark, from a phone to a wide screen. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --text: #1d2430; --soft: #5c6675; --line: #dfe3e9; --back: #fff; --panel: #f5f7fa;
  --link: #1c5fc4; --get: #1b7a43; --post: #1c5fc4; --options: #7a5a12; --bad: #b3361e; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ee; --soft: #9aa5b4; --line: #2f3743; --back: #14181e;
  --panel: #1c222a; --link: #7db0ff; --get: #67c98f; --post: #7db0ff; --options: #dcb75a; --bad: #ff8d78; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; color: var(--text); background: var(--back); font: 16px/1.55 system-ui, 'DejaVu Sans', sans-serif;
  display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); }
nav { position: sticky; top: 0; align-self: start; height: 100vh; overflow-y: auto; padding: 1.25rem;
  background: var(--panel); border-right: 1px solid var(--line); font-size: .875rem; }
nav h2 { margin: 1.2rem 0 .3rem; padding: 0; border: 0; font-size: .875rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { margin: .3rem 0; }
nav a { color: inherit; text-decoration: none; }
nav a:hover { text-decoration: underline; }
main { padding: 2rem clamp(1rem, 4vw, 3.5rem) 6rem; max-width: 62rem; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; }
h2 { margin: 3.5rem 0 .5rem; padding-bottom: .35rem; border-bottom: 2px solid var(--line); font-size: 1.5rem; }
h3 { margin: 0 0 .5rem; font-size: 1.1rem; overflow-wrap: anywhere; }
h4 { margin: 1.75rem 0 .5rem; font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); }
a { color: var(--link); }
header p, .means, .headers, figcaption, .type { color: var(--soft); }
article { margin: 1.5rem 0 2.5rem; padding: 1.5rem; border: 1px solid var(--line); border-radius: .6rem; }
.schema { margin: 1.75rem 0; }
.summary { margin: 0 0 1rem; font-size: 1.05rem; font-weight: 600; }
.key { margin-left: .5rem; padding: .1rem .55rem; border: 1px solid var(--line); border-radius: 1rem;
  font-size: .75rem; font-weight: 400; color: var(--soft); white-space: nowrap; }
.method { font: 700 .75em ui-monospace, 'DejaVu Sans Mono', monospace; }
.get { color: var(--get); } .post { color: var(--post); } .options { color: var(--options); }
code, pre { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: .86em; }
pre { margin: .3rem 0 0; padding: .85rem 1rem; overflow-x: auto; background: var(--panel); border-radius: .4rem; }
figure { margin: 1rem 0; }
figcaption { font-size: .85rem; }
table { width: 100%; border-collapse: collapse; font-size: .92rem; }
th, td { padding: .45rem .75rem .45rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
tr:first-child > th, tr:first-child > td { border-top: 0; }
th { width: 14rem; font-weight: 400; overflow-wrap: anywhere; }
th b { display: block; font-size: .72rem; font-weight: 600; color: var(--bad); }
td table { margin: .25rem 0; }
td table th { width: 8rem; }
.messages td:first-child { width: 17rem; }
.messages code { overflow-wrap: anywhere; }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
summary { cursor: pointer; }
.status { display: inline-block; min-width: 2.6rem; font: 700 .9em ui-monospace, 'DejaVu Sans Mono', monospace; }
.s2 { color: var(--get); } .s4, .s5 { color: var(--bad); }
.headers { font-size: .85rem; }
:target { outline: 2px solid var(--link); outline-offset: 4px; border-radius: .3rem; }
@media (max-width: 52rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; }
  article { padding: 1rem; } th { width: 9rem; } }
@media print { nav { display: none; } body { display: block; } article { break-inside: avoid-page; } }
`
