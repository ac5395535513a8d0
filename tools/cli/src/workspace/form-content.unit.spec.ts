import { describe, expect, it } from 'vitest'
import { parseWorkspaceFile } from './parse-workspace-file.ts'

/** Returns a file with a form with this content, whose first line is 8. */
function withContent(...lines: readonly string[]): string {
  return [
    'organizations:',
    '  - id: acme',
    '    projects:',
    '      - id: shop',
    '        forms:',
    '          - id: nps',
    '            content:',
    ...lines.map((line) => `              ${line}`),
  ].join('\n')
}

/** Returns a file with these elements, the first of them in line 9. */
function withElements(...elements: readonly string[]): string {
  return withContent('elements:', ...elements.map((element) => `  - ${element}`))
}

/** Returns faults such as `9 elements[0].label: …`. */
function faultsOf(text: string): readonly string[] {
  const parsed = parseWorkspaceFile(text, {})
  if (parsed.outcome === 'ok') return []
  return parsed.faults.map(({ line, path, message }) => {
    const place = path.replace('organizations[0].projects[0].forms[0].content', '').replace(/^\./, '')
    return `${line} ${place}: ${message}`
  })
}

const SCORE = '{ id: score, type: nps }'
const STARS = '{ id: stars, type: rating, scale: 4 }'
const PLAN = '{ id: plan, type: choice, options: [{ id: monthly, label: Monthly }, { id: yearly, label: Yearly }] }'

describe('the content of a form in a workspace file', () => {
  it('has every type of element, with defaults, in several languages', () => {
    const text = withContent(
      'languages: [en, de]',
      'title: Feedback',
      'elements:',
      '  - { id: score, type: nps, label: { en: How likely?, de: Wie wahrscheinlich? }, required: true }',
      '  - { id: reason, type: text, label: Why?, maxLength: 1000, showIf: { answer: score, atMost: 6 } }',
      '  - { id: stars, type: rating, scale: 5 }',
      '  - { id: plan, type: choice, options: [{ id: monthly, label: { en: Monthly, de: Monatlich } }], other: true }',
      '  - { id: uses, type: choices, atLeast: 1, atMost: 3, options: [{ id: 1-5, label: 1 to 5 }, { id: many, label: Many }], other: true }',
      '  - { id: contact, type: consent, label: You may contact me }',
      '  - { id: docs, type: link, label: Read more, url: https://example.com/docs }',
      'thanks: Thank you.',
    )
    const parsed = parseWorkspaceFile(text, {})
    expect(parsed).toMatchObject({
      outcome: 'ok',
      organizations: [{ projects: [{ forms: [{ id: 'nps' }] }] }],
      contents: [
        {
          organization: 'acme',
          project: 'shop',
          formId: 'nps',
          hash: expect.stringMatching(/^[0-9a-f]{16}$/),
          content: {
            languages: ['en', 'de'],
            elements: [
              { type: 'nps', required: true },
              { type: 'text', required: false, maxLength: 1_000 },
              { type: 'rating', scale: 5 },
              { type: 'choice', other: true },
              { type: 'choices', atLeast: 1, atMost: 3 },
              { type: 'consent' },
              { type: 'link', url: 'https://example.com/docs' },
            ],
          },
        },
      ],
    })
    expect(parsed.outcome === 'ok' && parsed.organizations[0]?.projects[0]?.forms[0]).not.toHaveProperty('content')
  })

  it.each<[string, string, string]>([
    [
      'an unknown type',
      withElements('{ id: a, type: slider }'),
      '9 elements[0].type: must be one of nps, text, rating, ',
    ],
    ['no type', withElements('{ id: a }'), '9 elements[0].type: is missing'],
    [
      'an unknown member',
      withElements('{ id: a, type: nps, lable: A }'),
      '9 elements[0].lable: is not a known member: did you mean label?',
    ],
    [
      'a required link',
      withElements('{ id: a, type: link, label: A, url: https://example.com, required: true }'),
      '9 elements[0].required: is not a known member',
    ],
    ['no elements', withContent('elements: []'), '8 elements: must be a list of at least 1'],
    [
      '51 elements',
      withElements(...Array.from({ length: 51 }, (_, at) => `{ id: e${at}, type: nps }`)),
      '8 elements: must be a list of at most 50',
    ],
    ['an element twice', withElements(SCORE, SCORE), '10 elements[1].id: element score is duplicated'],
    [
      'an option twice',
      withElements('{ id: a, type: choice, options: [{ id: x, label: X }, { id: x, label: Y }] }'),
      '9 elements[0].options[1].id: option x is duplicated',
    ],
    ['an invalid id', withElements('{ id: 1a, type: nps }'), '9 elements[0].id: must be a letter'],
    [
      'a language twice',
      withContent('languages: [de, DE]', 'elements:', `  - ${SCORE}`),
      '8 languages[1]: language DE is duplicated',
    ],
    [
      'an invalid language',
      withContent('languages: [german]', 'elements:', `  - ${SCORE}`),
      '8 languages[0]: must be a language tag',
    ],
    [
      'a missing language',
      withContent('languages: [en, de, fr]', 'elements:', '  - { id: a, type: nps, label: { en: A } }'),
      '10 elements[0].label: lacks the text in de, fr',
    ],
    [
      'a surplus language',
      withContent('elements:', `  - ${SCORE}`, 'thanks: { en: Thanks, de: Danke }'),
      '10 thanks.de: is not in languages (en)',
    ],
    [
      'an empty text',
      withContent('title: ""', 'elements:', `  - ${SCORE}`),
      '8 title: must be 1 to 2000 characters long',
    ],
    [
      'a text of 2,001 characters in a language',
      withElements(`{ id: a, type: nps, label: { en: ${'x'.repeat(2_001)} } }`),
      '9 elements[0].label.en: must be 1 to 2000 characters long',
    ],
    [
      'more choices than options',
      withElements('{ id: a, type: choices, atMost: 3, options: [{ id: x, label: X }], other: true }'),
      '9 elements[0].atMost: must be at most 2',
    ],
    [
      'no choice at all',
      withElements('{ id: a, type: choices, atMost: 0, options: [{ id: x, label: X }] }'),
      '9 elements[0].atMost: must be at least 1',
    ],
    [
      'a minimum above the maximum',
      withElements(
        '{ id: a, type: choices, atLeast: 2, atMost: 1, options: [{ id: x, label: X }, { id: y, label: Y }] }',
      ),
      '9 elements[0].atLeast: must be at most 1, as atMost',
    ],
    [
      'a link without TLS',
      withElements('{ id: a, type: link, label: A, url: "http://example.com" }'),
      '9 elements[0].url: must be a URL that begins with https://',
    ],
    [
      'a script as a link',
      withElements('{ id: a, type: link, label: A, url: "javascript:alert(1)" }'),
      '9 elements[0].url: must be a URL that begins with https://',
    ],
    [
      'a link with a password',
      withElements('{ id: a, type: link, label: A, url: "https://user:pw@example.com" }'),
      '9 elements[0].url: has a user name or password before the host: write https://example.com, not',
    ],
    [
      'a link whose user name looks like a host',
      withElements('{ id: a, type: link, label: A, url: "https://shop.example@evil.example/" }'),
      '9 elements[0].url: has a user name or password before the host',
    ],
    [
      'a link without a host',
      withElements('{ id: a, type: link, label: A, url: "https:///example.com" }'),
      '9 elements[0].url: must be a URL that begins with https:// and a host',
    ],
    ['a scale of 11', withElements('{ id: a, type: rating, scale: 11 }'), '9 elements[0].scale: must be at most 10'],
    [
      'a condition on an unknown element',
      withElements('{ id: a, type: nps, showIf: { all: [{ answer: b, is: 1 }] } }'),
      '9 elements[0].showIf.all[0].answer: there is no element b in this form',
    ],
    [
      'a condition on a link',
      withElements(
        '{ id: a, type: link, label: A, url: "https://example.com" }',
        '{ id: b, type: nps, showIf: { answer: a, exists: true } }',
      ),
      '10 elements[1].showIf.answer: a is a link, which has no answer',
    ],
    [
      'a condition on itself',
      withElements('{ id: a, type: nps, showIf: { not: { answer: a, is: 1 } } }'),
      '9 elements[0].showIf: element a depends on its own answer: a → a',
    ],
    [
      'conditions in a cycle',
      withElements(
        '{ id: a, type: nps, showIf: { answer: b, is: 1 } }',
        '{ id: b, type: nps, showIf: { any: [{ answer: c, is: 1 }] } }',
        '{ id: c, type: nps, showIf: { answer: a, is: 1 } }',
      ),
      '9 elements[0].showIf: element a depends on its own answer: a → b → c → a',
    ],
    [
      'a text operator on a number',
      withElements(SCORE, '{ id: b, type: text, showIf: { answer: score, contains: "9" } }'),
      '10 elements[1].showIf.contains: cannot apply to score (nps): use is, isNot, in, ',
    ],
    [
      'a number operator on a text',
      withElements('{ id: a, type: text }', '{ id: b, type: nps, showIf: { answer: a, atLeast: 9 } }'),
      '10 elements[1].showIf.atLeast: cannot apply to a (text)',
    ],
    [
      'a comparison with a value of another type',
      withElements(SCORE, '{ id: b, type: text, showIf: { answer: score, in: [9, ten] } }'),
      '10 elements[1].showIf.in[1]: must be a number, as the answers to score (nps)',
    ],
    [
      'a comparison with a value off the scale',
      withElements(SCORE, '{ id: b, type: text, showIf: { answer: score, is: 11 } }'),
      '10 elements[1].showIf.is: must be a whole number from 0 to 10, as the answers to score (nps)',
    ],
    [
      'a comparison with a fraction',
      withElements(STARS, '{ id: b, type: text, showIf: { answer: stars, in: [1, 2.5] } }'),
      '10 elements[1].showIf.in[1]: must be a whole number from 1 to 4, as the answers to stars (rating)',
    ],
    [
      'a limit off the scale',
      withElements(STARS, '{ id: b, type: text, showIf: { answer: stars, atMost: 0 } }'),
      '10 elements[1].showIf.atMost: must be a number from 1 to 4, as the answers to stars (rating)',
    ],
    [
      'a comparison with infinity',
      withElements(SCORE, '{ id: b, type: text, showIf: { answer: score, is: .inf } }'),
      '10 elements[1].showIf.is: must be a text, a finite number, true or false',
    ],
    [
      'an unknown option',
      withElements(PLAN, '{ id: b, type: nps, showIf: { answer: plan, in: [weekly, yearly] } }'),
      '10 elements[1].showIf.in[0]: plan has no option weekly',
    ],
    [
      'two operators',
      withElements(SCORE, '{ id: b, type: nps, showIf: { answer: score, is: 1, isNot: 2 } }'),
      '10 elements[1].showIf: needs exactly one of is, isNot',
    ],
    [
      'a trait in a condition',
      withElements(SCORE, '{ id: b, type: nps, showIf: { trait: plan, is: pro } }'),
      '10 elements[1].showIf: must be one of all, any, not, answer',
    ],
    [
      'more than 64 KB',
      withElements(...Array.from({ length: 33 }, (_, at) => `{ id: e${at}, type: nps, label: ${'x'.repeat(2_000)} }`)),
      '7 : has 67',
    ],
    [
      'half an emoji',
      withElements('{ id: a, type: nps, label: "\\uD83D" }'),
      '9 elements[0].label: contains U+0000 or a lone surrogate',
    ],
  ])('is refused with %s, by line and member', (_what, text, fault) => {
    expect(faultsOf(text)).toEqual([expect.stringContaining(fault)])
  })

  it.each<[string, string, readonly string[]]>([
    [
      'a missing language',
      withElements('{ id: a, type: nps, label: { en: A } }', '{ id: b, type: slider }').replace(
        'elements:',
        'languages: [en, de]\n              elements:',
      ),
      ['10 elements[0].label: lacks the text in de', expect.stringMatching(/^11 elements\[1\]\.type: must be one of/)],
    ],
    [
      'a language that its list lacks',
      withElements('{ id: a, type: choice, options: [{ id: x, label: { en: X, de: X } }] }', '{ id: b }'),
      ['9 elements[0].options[0].label.de: is not in languages (en)', '10 elements[1].type: is missing'],
    ],
    [
      'a language without its text',
      withElements('{ id: a, type: nps, label: { en: } }'),
      [
        expect.stringMatching(/^9 elements\[0\]\.label: must be a text of 1 to 2000/),
        '9 elements[0].label: lacks the text in en',
      ],
    ],
    [
      'a language named __proto__',
      withElements('{ id: a, type: nps, label: { en: A, __proto__: B } }'),
      ['9 elements[0].label.__proto__: is not in languages (en)'],
    ],
  ])('is refused with %s, beside other faults', (_what, text, faults) => {
    expect(faultsOf(text)).toEqual(faults)
  })

  it('is not empty', () => {
    expect(faultsOf(withContent())).toEqual(['7 : is empty: indent its elements below it, or remove it'])
  })

  it('is refused at once with very many elements that depend on each other', () => {
    const elements = Array.from(
      { length: 20_000 },
      (_, at) => `{ id: e${at}, type: nps, showIf: { answer: e${at + 1}, is: 1 } }`,
    )
    expect(faultsOf(withElements(...elements))).toEqual(['8 elements: must be a list of at most 50'])
  })

  it('is checked beside other faults of the file', () => {
    const text = `${withElements('{ id: a, type: nps, showIf: { answer: b, is: 1 } }')}\n            colour: red`
    expect(faultsOf(text)).toEqual([
      '9 elements[0].showIf.answer: there is no element b in this form',
      expect.stringMatching(/^10 .*colour: is not a known member/),
    ])
  })

  it('accepts a condition on options, lists, consents and texts', () => {
    const text = withElements(
      PLAN,
      '{ id: uses, type: choices, options: [{ id: x, label: X }] }',
      '{ id: contact, type: consent, label: A }',
      '{ id: mail, type: text, showIf: { all: [{ answer: contact, is: true }, { answer: uses, contains: x }] } }',
      '{ id: more, type: text, showIf: { any: [{ answer: plan, is: yearly }, { answer: mail, startsWith: a }] } }',
      SCORE,
      '{ id: why, type: text, showIf: { any: [{ answer: score, in: [0, 10] }, { answer: score, lessThan: 6.5 }] } }',
    )
    expect(faultsOf(text)).toEqual([])
  })
})
