import {
  AnswerCondition,
  answerFaults,
  type ContentElement,
  ContentShape,
  FormAnswerLeaf,
  keptAnswerFaults,
} from '@nextvisit/contracts'
import { leaves } from './check-segments.ts'
import type { Fault } from './explain-issue.ts'
import { items, member, text, type YamlNode } from './yaml-node.ts'

/**
 * Reports conditions, triggers and frequencies on answers to forms or elements that the project does not have, with operators that
 * cannot apply, or to forms without content, which take no answers (forms.md, Conditions).
 */
export function checkAnswers(project: YamlNode): readonly Fault[] {
  const forms = items(project, 'forms')
  const elements = new Map(forms.map((form) => [text(form, 'id') ?? '', elementsOf(form)]))
  const conditions = [
    ...forms.map((form) => member(form, 'audience')),
    ...items(project, 'segments').map((segment) => member(segment, 'where')),
  ]
  return [
    ...conditions.flatMap((condition) => leaves(condition, 'answer')).flatMap((leaf) => checkLeaf(leaf, elements)),
    ...forms.flatMap((form) => items(form, 'triggers')).flatMap((trigger) => checkTrigger(trigger, elements)),
    ...forms.flatMap((form) => checkFrequency(form, elements)),
  ]
}

/** The elements of a form's content. `none`: it has no content. `invalid`: its content has faults of its own. */
type Elements = readonly ContentElement[] | 'none' | 'invalid'
type ElementsByForm = ReadonlyMap<string, Elements>

function elementsOf(form: YamlNode): Elements {
  const { value } = member(form, 'content')
  if (value === undefined) return 'none'
  return ContentShape.safeParse(value).data?.elements ?? 'invalid'
}

function checkLeaf(leaf: YamlNode, forms: ElementsByForm): readonly Fault[] {
  const named = member(leaf, 'answer')
  const found = findElements(named, forms)
  if ('faults' in found) return found.faults
  const parsed = FormAnswerLeaf.safeParse(leaf.value)
  return parsed.success ? keptAnswerFaults(parsed.data, found.elements, [...leaf.path]) : []
}

function checkTrigger(trigger: YamlNode, forms: ElementsByForm): readonly Fault[] {
  const answered = member(trigger, 'answered')
  const found = findElements(answered, forms)
  if ('faults' in found) return found.faults
  const where = member(answered, 'where')
  const parsed = AnswerCondition.safeParse(where.value)
  if (!parsed.success) return []
  return answerFaults(parsed.data, found.elements, [...where.path], `form ${text(answered, 'form')}`)
}

/** Returns the elements of the form that a place names; otherwise its faults, unless the schema reports them. */
function findElements(
  place: YamlNode,
  forms: ElementsByForm,
): { readonly elements: readonly ContentElement[] } | { readonly faults: readonly Fault[] } {
  const id = text(place, 'form')
  if (id === undefined) return { faults: [] }
  const { path } = member(place, 'form')
  const elements = forms.get(id)
  if (elements === undefined) return { faults: [{ path, message: `there is no form ${id} in this project` }] }
  if (elements === 'none') return { faults: [{ path, message: `form ${id} has no content, so it takes no answers` }] }
  return elements === 'invalid' ? { faults: [] } : { elements }
}

function checkFrequency(form: YamlNode, forms: ElementsByForm): readonly Fault[] {
  const until = member(member(form, 'frequency'), 'until')
  if (until.value === undefined || forms.get(text(form, 'id') ?? '') !== 'none') return []
  return [{ path: until.path, message: 'is only for forms with content: others take no answers' }]
}
