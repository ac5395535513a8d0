import type { z } from 'zod'
import type { Path } from './read-yaml.ts'
import { suggestMember, suggestValue, valueAt } from './suggest-member.ts'

/** A fault at a path of the file; its line is looked up from the path. */
export interface Fault {
  readonly path: Path
  readonly message: string
}

type Issue = z.core.$ZodIssue

const NOT_KNOWN = 'is not a known member'
/** Approximate maximum per file. A suggestion costs more than finding the fault, and few readers need thousands. */
const MAX_SUGGESTIONS = 50

function unknownMember(path: Path, name: string, root: unknown): string {
  const suggestion = suggestMember(path, name, root)
  return suggestion === undefined ? NOT_KNOWN : `${NOT_KNOWN}: ${suggestion}`
}

/**
 * Explains a zod issue to the author of the file: each unknown member separately, unions as the intended branch. The first
 * issues of a file, by `nth`, get suggestions.
 */
export function explainIssue(issue: Issue, root: unknown, nth = 0): readonly Fault[] {
  const path = pathOf(issue)
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key, nthKey) => ({
        path: [...path, key],
        message: nth + nthKey < MAX_SUGGESTIONS ? unknownMember(path, key, root) : NOT_KNOWN,
      }))
    case 'invalid_union': {
      const meant = issue.errors.filter((errors) => isMeant(errors, valueAt(root, path)))
      if (meant.length !== 1) return [{ path, message: withSuggestion(sentence(issue, root), path, root, nth) }]
      return (meant[0] ?? []).flatMap((inner, nthInner) =>
        explainIssue({ ...inner, path: [...path, ...inner.path] }, root, nth + nthInner),
      )
    }
    default:
      return [{ path, message: withSuggestion(sentence(issue, root), path, root, nth) }]
  }
}

/** Adds what the author may have meant by a value of another shape. */
function withSuggestion(message: string, path: Path, root: unknown, nth: number): string {
  const suggestion = path.length === 0 || nth >= MAX_SUGGESTIONS ? undefined : suggestValue(path, root)
  return suggestion === undefined ? message : `${message}: ${suggestion}`
}

/** Returns whether the author meant this branch of a union: its type matches, and no required member is missing. */
function isMeant(issues: readonly Issue[], value: unknown): boolean {
  return issues.every(
    (issue) =>
      issue.code === 'unrecognized_keys' || (issue.path.length > 0 && valueAt(value, pathOf(issue)) !== undefined),
  )
}

function sentence(issue: Issue, root: unknown): string {
  if (issue.path.length === 0 && issue.code === 'invalid_type') return 'the file must begin with organizations:'
  const value = valueAt(root, pathOf(issue))
  if (value === undefined) return 'is missing'
  switch (issue.code) {
    case 'invalid_type':
      // Infinity, or not a number.
      if (issue.expected === 'number' && typeof value === 'number') return 'must be a finite number'
      return issue.expected === 'int' ? 'must be a whole number' : `must be ${NOUNS[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return issue.message.startsWith('Too small') ? `must be ${atLeast(issue)}` : issue.message
    case 'too_big':
      return issue.message.startsWith('Too big') ? `must be ${atMost(issue)}` : issue.message
    default:
      return issue.message
  }
}

const NOUNS: Partial<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  number: 'a number',
  object: 'a mapping of members',
  string: 'a text (quote it if it looks like something else)',
}

function atLeast(issue: z.core.$ZodIssueTooSmall): string {
  if (issue.origin === 'array') return `a list of at least ${issue.minimum}`
  if (issue.origin === 'string') return `at least ${issue.minimum} characters long`
  return issue.inclusive === false ? `more than ${issue.minimum}` : `at least ${issue.minimum}`
}

function atMost(issue: z.core.$ZodIssueTooBig): string {
  if (issue.origin === 'array') return `a list of at most ${issue.maximum}`
  if (issue.origin === 'string') return `at most ${issue.maximum} characters long`
  return issue.inclusive === false ? `less than ${issue.maximum}` : `at most ${issue.maximum}`
}

function pathOf(issue: Issue): Path {
  return issue.path.map((step) => (typeof step === 'number' ? step : String(step)))
}
