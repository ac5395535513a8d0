/** Markup that is safe to put into a page. Only {@link html} makes it. */
export interface Html {
  readonly markup: string
}

type Insert = Html | readonly Html[] | string | number

/** A template of markup: what is inserted is escaped unless it is markup itself. */
export function html(strings: TemplateStringsArray, ...inserts: readonly Insert[]): Html {
  return { markup: String.raw({ raw: strings }, ...inserts.map(markupOf)) }
}

export const nothing: Html = html``

function markupOf(insert: Insert): string {
  if (typeof insert === 'string' || typeof insert === 'number') return escape(String(insert))
  return 'markup' in insert ? insert.markup : insert.map(({ markup }) => markup).join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
