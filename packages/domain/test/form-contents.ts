import * as fc from 'fast-check'

const LANGUAGES = ['en', 'de', 'fr', 'pt-BR', 'zh-Hant-TW'] as const
const OPTIONS = ['monthly', 'yearly', '1-5']

type Texts = (languages: readonly string[]) => fc.Arbitrary<unknown>

const plain = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
const texts: Texts = (languages) =>
  fc.oneof(plain, fc.record(Object.fromEntries(languages.map((language) => [language, plain]))))

/** Returns elements of a type with these members, some of which may be absent. */
function as(type: string, members: Record<string, fc.Arbitrary<unknown>>, optional: readonly string[]) {
  const required = ['type', ...Object.keys(members).filter((name) => !optional.includes(name))]
  return fc.record({ type: fc.constant(type), ...members }, { requiredKeys: required as ['type'] })
}

/** Returns an element of any type. Its condition, if any, is on the answer to `first`. */
function elementOf(id: string, languages: readonly string[], first: string): fc.Arbitrary<object> {
  const text = texts(languages)
  const leaf = fc.oneof(
    fc.record({ answer: fc.constant(first), exists: fc.boolean() }),
    fc.record({ answer: fc.constant(first), atMost: fc.integer({ min: 0, max: 10 }) }),
  )
  const common = {
    id: fc.constant(id),
    showIf: fc.oneof(
      leaf,
      leaf.map((one) => ({ not: { any: [one] } })),
    ),
  }
  const question = { ...common, label: text, required: fc.boolean() }
  const options = fc
    .subarray(OPTIONS, { minLength: 1 })
    .chain((ids) => fc.tuple(...ids.map((option) => fc.record({ id: fc.constant(option), label: text }))))
  const chosen = { ...question, options, other: fc.boolean() }
  return fc.oneof(
    as('nps', question, ['label', 'required', 'showIf']),
    as('text', { ...question, maxLength: fc.integer({ min: 1, max: 10_000 }) }, ['label', 'required', 'maxLength']),
    as('rating', { ...question, scale: fc.integer({ min: 2, max: 10 }) }, ['scale', 'showIf']),
    as('choice', chosen, ['label', 'other', 'showIf']),
    as('choices', { ...chosen, atLeast: fc.constantFrom(0, 1), atMost: fc.constant(1) }, [
      'atLeast',
      'atMost',
      'showIf',
    ]),
    as('consent', question, ['required', 'showIf']),
    as('link', { ...common, label: text, url: fc.webUrl({ validSchemes: ['https'] }) }, ['showIf']),
  )
}

/** Valid contents of forms, as in a workspace file. */
export const formContents: fc.Arbitrary<object> = fc
  .record({
    languages: fc.subarray([...LANGUAGES], { minLength: 1 }),
    ids: fc.subarray(['reason', 'stars', 'plan', 'uses']),
  })
  .chain(({ languages, ids }) =>
    fc.record(
      {
        languages: fc.constant(languages),
        title: texts(languages),
        elements: fc.tuple(
          fc.constant({ id: 'score', type: 'nps' }),
          ...ids.map((id) => elementOf(id, languages, 'score')),
        ),
        thanks: texts(languages),
      },
      { requiredKeys: ['languages', 'elements'] },
    ),
  )
