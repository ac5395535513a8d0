import { ContentShape, type ContentText, languageFaults } from '@nextvisit/contracts'
import type { Fault } from './explain-issue.ts'
import { items, member, type YamlNode } from './yaml-node.ts'

/**
 * Checks the content of a form as far as its schema does not: a content without members, languages of texts in a content whose members
 * have faults, and a language named `__proto__`, which schemas of maps pass over.
 */
export function checkContent(form: YamlNode): readonly Fault[] {
  const content = member(form, 'content')
  if (content.value === undefined) return checkPresence(form)
  const faults = checkLanguages(content)
  return ContentShape.safeParse(content.value).success
    ? faults.filter(({ path }) => path.at(-1) === '__proto__')
    : faults
}

/** Reports `content:` with nothing below it. Elements with a wrong indentation would end the content of the form. */
function checkPresence({ path, value }: YamlNode): readonly Fault[] {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'content')) return []
  return [{ path: [...path, 'content'], message: 'is empty: indent its elements below it, or remove it' }]
}

function checkLanguages(content: YamlNode): readonly Fault[] {
  const languages = member(content, 'languages').value ?? ['en']
  if (!Array.isArray(languages) || !languages.every((language) => typeof language === 'string')) return []
  const elements = items(content, 'elements')
  const labelled = elements.flatMap((element) => [element, ...items(element, 'options')])
  return [
    member(content, 'title'),
    ...labelled.map((place) => member(place, 'label')),
    member(content, 'thanks'),
  ].flatMap(({ path, value }) => (isTextMap(value) ? languageFaults(languages, value, [...path]) : []))
}

function isTextMap(value: unknown): value is Exclude<ContentText, string> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
