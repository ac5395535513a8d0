import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type DeliveredForm, FormContent, NextFeedback, OrganizationConfig, VisitAnswer } from '@nextvisit/contracts'
import { beforeEach, describe, expect, it } from 'vitest'
import { answer } from '../http/route.ts'
import { createFormDelivery } from './form-delivery.ts'

const OFFER_ID = '0192aa00-0000-5000-8000-000000000001'
const BODY = {
  message: 'ok',
  userId: '9fbb8008-85a3-5cc2-b49f-5bd9e0955222',
  pingAgainIn: 0,
  pingOnNextPageVisit: false,
  onPageDelay: 0,
  nextFeedbackId: 'nps',
} as const
const QUESTION = FormContent.parse({
  languages: ['en', 'de', 'pt-BR'],
  elements: [{ id: 'score', type: 'nps', label: { en: 'How likely?', de: 'Wie wahrscheinlich?', 'pt-BR': 'Quão?' } }],
})

/** A gateway whose workspace has the form `nps` since revision 3, with the contents that it has read. */
let contents: Map<number, FormContent>
let reads: number
let warnings: object[]
let nowMs: number
beforeEach(() => {
  contents = new Map([[3, QUESTION]])
  reads = 0
  warnings = []
  nowMs = 0
})

function projectWith(form: object) {
  const config = OrganizationConfig.parse({
    id: 'acme',
    projects: [{ id: 'shop', forms: [{ id: 'nps', triggers: [{ visit: {} }], ...form }] }],
  })
  const project = staticCatalog([config]).project('acme', 'shop')
  if (!project) throw new Error('the project is missing')
  return project
}
const withContent = (revision = 3) => projectWith({ content: { revision, hash: '0123456789abcdef' } })

function givenDelivery() {
  return createFormDelivery({
    catalog: {
      formContent: (_project, _formId, revision) => {
        reads += 1
        return contents.get(revision)
      },
    },
    logger: { warn: (fields: unknown) => void warnings.push(fields as object) },
    nowMs: () => nowMs,
  })
}

const offered = (languages: string[] = []) => ({ queuedId: OFFER_ID, formId: 'nps', languages })

/** Returns the answer to a visit, as the caller gets it. */
function textFor(delivery: ReturnType<typeof givenDelivery>, form: DeliveredForm, project = withContent()): string {
  return delivery.withForm({ ...answer(200, BODY), form }, project).text ?? ''
}
const feedbackIn = (text: string) => VisitAnswer.parse(JSON.parse(text)).nextFeedback

describe('the language of a delivered form (forms.md, Content)', () => {
  it.each([
    [['de-CH', 'en'], 'de'],
    [['fr', 'PT-br'], 'pt-BR'],
    [['fr'], 'en'],
    [[], 'en'],
  ])('for a user who prefers %j is %s', (preferred, language) => {
    const form = givenDelivery().formOf(withContent(), offered(preferred))
    expect(form).toEqual({ offerId: OFFER_ID, formId: 'nps', revision: 3, language })
  })
})

describe('the answer to a visit', () => {
  it('has the content in this language, in documented members', () => {
    const delivery = givenDelivery()
    const text = textFor(delivery, delivery.formOf(withContent(), offered(['de'])))
    expect(feedbackIn(text)).toEqual({
      offerId: OFFER_ID,
      formId: 'nps',
      revision: 3,
      language: 'de',
      content: { elements: [{ id: 'score', type: 'nps', label: 'Wie wahrscheinlich?', required: false }] },
    })
    expect(JSON.parse(text)).toMatchObject(BODY)
  })

  it('names only the form if it has no content, and does not warn', () => {
    const delivery = givenDelivery()
    const project = projectWith({})
    const text = textFor(delivery, delivery.formOf(project, offered(['de'])), project)
    expect(feedbackIn(text)).toEqual({ offerId: OFFER_ID, formId: 'nps' })
    expect(warnings).toEqual([])
  })

  it('names only the form if this gateway does not know it yet', () => {
    const form = givenDelivery().formOf(withContent(), { ...offered(), formId: 'ces' })
    expect(form).toEqual({ offerId: OFFER_ID, formId: 'ces' })
  })

  it('has the current revision of the form after an edit', () => {
    const delivery = givenDelivery()
    delivery.formOf(withContent(), offered())
    contents.set(4, { ...QUESTION, thanks: 'Thank you.' })
    const text = textFor(delivery, delivery.formOf(withContent(4), offered()))
    expect(feedbackIn(text)).toMatchObject({ revision: 4, content: { thanks: 'Thank you.' } })
  })

  it('has no form if none was offered', () => {
    const none = answer(200, BODY)
    expect(givenDelivery().withForm(none, withContent())).toBe(none)
  })

  it('is the same text for a repeat, on any gateway and after an edit', () => {
    const [first, other] = [givenDelivery(), givenDelivery()]
    const form = first.formOf(withContent(), offered(['de']))
    const text = textFor(first, form)
    contents.set(4, { ...QUESTION, thanks: 'Thank you.' })
    const kept = NextFeedback.omit({ content: true }).parse(JSON.parse(JSON.stringify(form)))
    expect(textFor(other, kept, withContent(4))).toBe(text)
  })

  it('costs no look-up of a content that was delivered in this language before', () => {
    const delivery = givenDelivery()
    const text = textFor(delivery, delivery.formOf(withContent(), offered()))
    const before = reads
    expect(textFor(delivery, delivery.formOf(withContent(), offered()))).toBe(text)
    expect(reads).toBe(before)
  })
})

describe('a content that this gateway does not have', () => {
  it('costs the visit only the content, and one warning a minute', () => {
    contents.clear()
    const delivery = givenDelivery()
    const visits = (count: number) => {
      for (let visit = 0; visit < count; visit += 1) {
        const text = textFor(delivery, delivery.formOf(withContent(), offered()))
        expect(feedbackIn(text)).toEqual({ offerId: OFFER_ID, formId: 'nps' })
      }
    }
    visits(3)
    nowMs = 59_999
    visits(1)
    expect(warnings).toEqual([{ organization: 'acme', project: 'shop', formId: 'nps', revision: 3 }])
    nowMs = 60_000
    visits(1)
    expect(warnings).toHaveLength(2)
  })

  it('is delivered without its reference by a repeat', () => {
    contents.clear()
    const text = textFor(givenDelivery(), { offerId: OFFER_ID, formId: 'nps', revision: 3, language: 'de' })
    expect(feedbackIn(text)).toEqual({ offerId: OFFER_ID, formId: 'nps' })
  })

  it('is delivered as soon as the gateway has it', () => {
    contents.clear()
    const delivery = givenDelivery()
    delivery.formOf(withContent(), offered())
    contents.set(3, QUESTION)
    expect(delivery.formOf(withContent(), offered())).toMatchObject({ revision: 3, language: 'en' })
  })
})
