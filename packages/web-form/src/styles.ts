const CSS = `
:host { display: block; }
:host([hidden]) { display: none; }
:host(:not([display=inline])) {
  position: fixed;
  inset-block-end: 1rem;
  inset-inline-end: 1rem;
  z-index: var(--nextvisit-z-index, 2147483000);
  inline-size: min(var(--nextvisit-width, 24rem), calc(100vw - 2rem));
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
.form {
  position: relative;
  padding: var(--nextvisit-padding, 1.25rem);
  color: var(--nextvisit-text, #1b1d21);
  background: var(--nextvisit-background, #fff);
  font: var(--nextvisit-font, 1rem/1.45 system-ui, sans-serif);
  border-radius: var(--nextvisit-radius, 0.5rem);
  overflow-wrap: break-word;
  text-align: start;
}
.popover {
  max-block-size: calc(100vh - 2rem);
  overflow-y: auto;
  border: 1px solid var(--nextvisit-border, #6b7280);
  box-shadow: var(--nextvisit-shadow, 0 0.5rem 2rem rgb(0 0 0 / 25%));
}
h2 { margin: 0 0 1rem; padding-inline-end: 2rem; font-size: 1.125em; line-height: 1.3; }
.close {
  position: absolute;
  inset-block-start: 0.75rem;
  inset-inline-end: 0.75rem;
  inline-size: 2rem;
  padding: 0;
  color: inherit;
  background: none;
  border-color: transparent;
}
.close + form:not(:has(h2)) { margin-block-start: 1.5rem; }
.element { margin: 0 0 1.25rem; padding: 0; border: 0; min-inline-size: 0; }
legend, .element > label:not(.option) { display: block; margin-block-end: 0.5rem; padding: 0; font-weight: 600; }
.required { font-weight: 400; }
.limit { margin: 0 0 0.25rem; font-size: 0.875em; }
.scale { display: flex; flex-wrap: wrap; gap: 0.1875rem; }
.point { position: relative; flex: 1 0 1.5rem; max-inline-size: 3rem; }
.point input { position: absolute; inset: 0; inline-size: 100%; block-size: 100%; margin: 0; opacity: 0; cursor: pointer; }
.point span {
  display: block;
  padding-block: 0.375rem;
  text-align: center;
  border: 1px solid var(--nextvisit-border, #6b7280);
  border-radius: calc(var(--nextvisit-radius, 0.5rem) / 2);
}
.point :checked + span {
  color: var(--nextvisit-on-accent, #fff);
  background: var(--nextvisit-accent, #1d4ed8);
  border-color: var(--nextvisit-accent, #1d4ed8);
}
.ends { display: flex; justify-content: space-between; gap: 1rem; max-inline-size: 34.875rem; margin: 0.25rem 0 0; font-size: 0.875em; }
.option { display: flex; gap: 0.5rem; align-items: start; padding-block: 0.25rem; cursor: pointer; }
.option input {
  flex: none;
  inline-size: 1.5rem;
  block-size: 1.5rem;
  margin: 0;
  accent-color: var(--nextvisit-accent, #1d4ed8);
}
textarea, .own {
  display: block;
  inline-size: 100%;
  padding: 0.5rem;
  color: inherit;
  background: inherit;
  font: inherit;
  border: 1px solid var(--nextvisit-border, #6b7280);
  border-radius: calc(var(--nextvisit-radius, 0.5rem) / 2);
}
textarea { resize: vertical; }
a { display: inline-block; min-block-size: 1.5rem; color: var(--nextvisit-accent, #1d4ed8); }
.fault { margin: 0.375rem 0 0; color: var(--nextvisit-error, #b91c1c); }
button {
  min-block-size: 2rem;
  padding: 0.5rem 1.25rem;
  color: var(--nextvisit-on-accent, #fff);
  background: var(--nextvisit-accent, #1d4ed8);
  font: inherit;
  border: 1px solid var(--nextvisit-accent, #1d4ed8);
  border-radius: calc(var(--nextvisit-radius, 0.5rem) / 2);
  cursor: pointer;
}
.thanks { margin: 0; padding-inline-end: 2rem; }
.hint { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:focus-visible, .point :focus-visible + span { outline: 2px solid var(--nextvisit-focus, currentColor); outline-offset: 2px; }
[tabindex='-1']:focus { outline: none; }
@media (forced-colors: active) {
  .point :checked + span { color: HighlightText; background: Highlight; forced-color-adjust: none; }
}
@media (prefers-reduced-motion: no-preference) {
  .popover { animation: appear 0.2s ease-out; }
  @keyframes appear { from { transform: translateY(1rem); } }
}
`

let sheet: CSSStyleSheet | undefined

/** Returns the style sheet of all forms. Pages whose policy forbids inline styles allow constructed ones. */
export function styleSheet(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(CSS.replaceAll(/\s+/g, ' '))
  }
  return sheet
}
