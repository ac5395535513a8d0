import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createOpenApiDocument } from '../openapi/document.ts'
import { html } from './html.ts'
import { PAGE_POLICY, renderPage } from './render-page.ts'
import { renderText } from './render-text.ts'

const document = createOpenApiDocument()
const page = renderPage(document)

describe('the page', () => {
  it('shows every operation, schema and header, each where a link finds it', () => {
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
    for (const { operationId } of operations) expect(page).toContain(`id="${operationId}"`)
    for (const name of Object.keys(document.components.schemas)) expect(page).toContain(`id="schema-${name}"`)
    const anchors = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `#${id}`))
    const links = [...page.matchAll(/href="(#[^"]+)"/g)].map(([, link]) => link)
    expect(links.filter((link) => link && !anchors.has(link))).toEqual([])
  })

  it('loads nothing and runs nothing', () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|src=|url\(|@import|\son\w+=|\sstyle=|https?:/i)
  })

  it('may have its own style only', () => {
    const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(PAGE_POLICY).toContain(`style-src 'sha256-${hash}'`)
    expect(PAGE_POLICY).toContain("default-src 'none'")
  })

  it('names an anchor once', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('markup', () => {
  it('escapes what is inserted, but for markup', () => {
    const inserted = `<b a="1" c='2'>&`
    expect(html`<p>${inserted}${html`<i>${1}</i>`}${[html`<u>x</u>`]}</p>`.markup).toBe(
      '<p>&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;<i>1</i><u>x</u></p>',
    )
  })

  it('keeps backslashes and dollars as they are', () => {
    expect(html`<p>${'$1 \\S $& `'}</p>`.markup).toBe('<p>$1 \\S $&amp; `</p>')
  })

  it('knows paragraphs, lists, code and bold', () => {
    const markup = renderText('**One** `a<b`\n\n- two\n- three')
      .map((block) => block.markup)
      .join('')
    expect(markup).toBe('<p><strong>One</strong> <code>a&lt;b</code></p><ul><li>two</li><li>three</li></ul>')
  })
})
