import type { RevisionLine } from '../../../src/catalog/api.ts'
import { counted, figure } from '../components/figures.ts'
import { Time } from '../components/time.tsx'

const SIGNS = { '+': 'added', '~': 'changed', '-': 'removed' } as const

/** One record of the catalog. */
export function Revision({ line }: { readonly line: RevisionLine }) {
  const { organization, revision, appliedAt, appliedBy, problem, changes, moreChanges } = line
  return (
    <li className="card revision">
      <h2>
        {organization}, revision {revision ?? '?'} <Outcome line={line} />
      </h2>
      <p className="quiet">
        <Time at={appliedAt} />, by {appliedBy ?? 'an unknown author'}
      </p>
      <p>{summaryOf(line)}</p>
      {problem !== null && <p className="note error">Not understood by this version: {problem}</p>}
      {changes.length > 0 && (
        <ul className="changes">
          {changes.map(({ sign, where, what }, index) => (
            <li key={`${where}/${what}/${index}`}>
              <span className={`pill ${SIGNS[sign]}`}>{SIGNS[sign]}</span>
              <span>
                <b>{where}</b> {what}
              </span>
            </li>
          ))}
        </ul>
      )}
      {moreChanges > 0 && <p className="quiet">and {figure(moreChanges)} more changes</p>}
    </li>
  )
}

function Outcome({ line: { outcome } }: { readonly line: RevisionLine }) {
  if (outcome === 'counts') return null
  return <span className="pill expired">{outcome === 'late' ? 'no effect' : 'not understood'}</span>
}

function summaryOf({ outcome, revision, comparedWith, changes, moreChanges }: RevisionLine): string {
  if (outcome === 'late') return 'Another record of this revision was applied first, so this one changed nothing.'
  if (outcome === 'not-understood') return 'A later version wrote this revision. Its changes are unknown here.'
  if (comparedWith === null) return 'The oldest revision in the log. Its changes are unknown.'
  const count = changes.length + moreChanges
  const changed = counted(count, 'change')
  if (comparedWith === 0) return `The first revision: ${changed}.`
  return comparedWith === (revision ?? 0) - 1 ? `${changed}.` : `${changed} since revision ${comparedWith}.`
}
