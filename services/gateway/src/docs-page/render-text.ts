import { type Html, html } from './html.ts'

/** The little Markdown that our descriptions use: paragraphs, lists, `code` and **bold**. */
export function renderText(text: string): readonly Html[] {
  return text.split('\n\n').map(renderBlock)
}

/** The same within a line. */
export function renderInline(text: string): readonly Html[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
    if (part.startsWith('**')) return html`<strong>${part.slice(2, -2)}</strong>`
    return html`${part}`
  })
}

function renderBlock(block: string): Html {
  if (!block.startsWith('- ')) return html`<p>${renderInline(block)}</p>`
  const items = block.slice(2).split('\n- ')
  return html`<ul>${items.map((item) => html`<li>${renderInline(item)}</li>`)}</ul>`
}
