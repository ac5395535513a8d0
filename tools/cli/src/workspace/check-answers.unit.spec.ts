import { describe, expect, it } from 'vitest'
import { parseWorkspaceFile } from './parse-workspace-file.ts'

const CONTENT = [
  '            content:',
  '              elements:',
  '                - { id: score, type: nps }',
  '                - { id: reason, type: text }',
  '                - { id: plan, type: choice, options: [{ id: monthly, label: Monthly }] }',
  '                - { id: uses, type: choices, options: [{ id: work, label: Work }] }',
  '                - { id: contact, type: consent, label: Contact me }',
  '                - { id: docs, type: link, label: Read, url: https://example.com }',
]

/** Returns a file with the form `nps`, which has content, the form `bare` without, and further lines of the project from line 17 on. */
function projectWith(...lines: readonly string[]): string {
  return [
    'organizations:',
    '  - id: acme',
    '    projects:',
    '      - id: shop',
    '        forms:',
    '          - id: nps',
    ...CONTENT,
    '          - id: bare',
    '          - id: next',
    ...lines.map((line) => `            ${line}`),
  ].join('\n')
}

function faultsOf(text: string): readonly string[] {
  const parsed = parseWorkspaceFile(text, {})
  if (parsed.outcome === 'ok') return []
  return parsed.faults.map(({ line, path, message }) => {
    return `${line} ${path.replace('organizations[0].projects[0].', '')}: ${message}`
  })
}

describe('a condition on an answer in a workspace file', () => {
  it.each([
    '{ answer: { form: nps, element: score }, atMost: 6 }',
    '{ answer: { form: nps, element: score }, in: [0, 1] }',
    '{ answer: { form: nps, element: reason }, exists: true }',
    '{ answer: { form: nps, element: plan }, is: monthly }',
    '{ answer: { form: nps, element: uses }, contains: work }',
    '{ answer: { form: nps, element: contact }, is: true }',
    '{ not: { any: [{ answer: { form: nps, element: score }, exists: true }] } }',
  ])('may be %s', (condition) => {
    expect(faultsOf(projectWith(`audience: ${condition}`))).toEqual([])
  })

  it.each([
    ['{ answer: { form: gone, element: score }, is: 1 }', 'answer.form: there is no form gone in this project'],
    [
      '{ answer: { form: bare, element: score }, is: 1 }',
      'answer.form: form bare has no content, so it takes no answers',
    ],
    ['{ answer: { form: nps, element: gone }, is: 1 }', 'answer.element: there is no element gone in form nps'],
    ['{ answer: { form: nps, element: docs }, exists: true }', 'answer.element: docs is a link, which has no answer'],
    [
      '{ answer: { form: nps, element: reason }, contains: slow }',
      'contains: cannot apply to reason (text): use exists',
    ],
    [
      '{ answer: { form: nps, element: score }, contains: a }',
      'contains: cannot apply to score (nps): use is, isNot, in, notIn, exists, atLeast, atMost, moreThan, lessThan',
    ],
    ['{ answer: { form: nps, element: score }, is: nine }', 'is: must be a number, as the answers to score (nps)'],
    ['{ answer: { form: nps, element: plan }, is: weekly }', 'is: plan has no option weekly'],
    ['{ answer: score, is: 1 }', 'answer: must be a mapping of members'],
  ])('may not be %s', (condition, fault) => {
    expect(faultsOf(projectWith(`audience: ${condition}`))).toEqual([`17 forms[2].audience.${fault}`])
  })

  it('is checked in segments and within trees, too', () => {
    const segments = [
      'segments:',
      '  - id: low',
      '    where:',
      '      all:',
      '        - { answer: { form: nps, element: gone }, is: 1 }',
    ].map((line) => line.padStart(line.length - 4))
    const text = [projectWith(), ...segments.map((line) => `        ${line}`)].join('\n')
    expect(faultsOf(text)).toEqual(['21 segments[0].where.all[0].answer.element: there is no element gone in form nps'])
  })

  it('is not checked against a content with faults of its own', () => {
    const text = projectWith('audience: { answer: { form: nps, element: gone }, is: 1 }').replace(
      'type: nps',
      'type: npss',
    )
    expect(faultsOf(text)).toEqual([
      '9 forms[0].content.elements[0].type: must be one of nps, text, rating, choice, choices, consent, link',
    ])
  })
})

describe('a trigger on answers in a workspace file', () => {
  it.each([
    '{ answered: { form: nps } }',
    '{ answered: { form: nps, where: { answer: score, atMost: 6 } } }',
    '{ answered: { form: nps, where: { any: [{ answer: reason, contains: slow }, { answer: plan, is: monthly }] } } }',
  ])('may be %s', (trigger) => {
    expect(faultsOf(projectWith(`triggers: [${trigger}]`))).toEqual([])
  })

  it.each([
    ['{ answered: { form: gone } }', 'form: there is no form gone in this project'],
    ['{ answered: { form: bare } }', 'form: form bare has no content, so it takes no answers'],
    [
      '{ answered: { form: nps, where: { not: { answer: gone, is: 1 } } } }',
      'where.not.answer: there is no element gone in form nps',
    ],
    [
      '{ answered: { form: nps, where: { answer: score, startsWith: a } } }',
      'where.startsWith: cannot apply to score (nps): use is, isNot, in, notIn, exists, atLeast, atMost, moreThan, lessThan',
    ],
  ])('may not be %s', (trigger, fault) => {
    expect(faultsOf(projectWith(`triggers: [${trigger}]`))).toEqual([`17 forms[2].triggers[0].answered.${fault}`])
  })
})

describe('a frequency until answered in a workspace file', () => {
  it('needs content', () => {
    expect(faultsOf(projectWith('frequency: { until: answered }'))).toEqual([
      '17 forms[2].frequency.until: is only for forms with content: others take no answers',
    ])
    const text = projectWith().replace('- id: nps', '- id: nps\n            frequency: { until: answered }')
    expect(faultsOf(text)).toEqual([])
  })

  it('takes the place of repeat', () => {
    const text = projectWith().replace(
      '- id: nps',
      '- id: nps\n            frequency: { until: answered, repeat: once }',
    )
    expect(faultsOf(text)).toEqual(['7 forms[0].frequency: has repeat and until: remove one of them'])
  })
})
