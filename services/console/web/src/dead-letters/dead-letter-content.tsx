import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Answer, Input } from '../../../src/api-routes.ts'
import { apiQuery } from '../app/api.ts'
import { bytes } from '../components/figures.ts'
import { Reveal } from '../components/reveal.tsx'
import { NamedRow, TableCard } from '../components/table-card.tsx'
import { indentJson } from './indent-json.ts'
import { userOfRecord } from './user-of-record.ts'

type Content = NonNullable<Answer<'readDeadLetter'>['content']>
type Shown = NonNullable<Content['value']>

/** Content of the record. Viewers must ask for it. */
export function DeadLetterContent({
  path,
  letter: { content, valueBytes, isErased },
}: {
  readonly path: Input<'readDeadLetter'>
  readonly letter: Answer<'readDeadLetter'>
}) {
  if (isErased)
    return (
      <section className="card letter-value">
        <h2>Key, headers and value</h2>
        <p className="quiet">Erased with the user of the record. It is never folded.</p>
      </section>
    )
  if (content === null) return <Hidden path={path} valueBytes={valueBytes} />
  return (
    <>
      <TableCard title="Key and headers">
        <NamedRow name="key" kind="value">
          {content.key === null ? 'none' : <code>{content.key.text}</code>} <RecordUser content={content} />
        </NamedRow>
        {content.headers.map((header) => (
          <NamedRow key={header.name} name={header.name} kind="value">
            <code>{header.value}</code>
          </NamedRow>
        ))}
      </TableCard>
      <section className="card letter-value">
        <h2>Value</h2>
        <p className="quiet">
          {bytes(valueBytes)}
          {content.value && `: ${formText(content.value)}`}
        </p>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must reach the scroll bar */}
        {content.value && content.value.text !== '' && <pre tabIndex={0}>{laidOut(content.value)}</pre>}
        {content.value?.isCut && (
          <p className="quiet hint">
            To see the whole value, run{' '}
            <code>
              nextvisit dead-letters show {path.service}/{path.id} --value
            </code>
          </p>
        )}
      </section>
    </>
  )
}

/** Link to the user of the record, if the record names one. */
function RecordUser({ content }: { readonly content: Content }) {
  const { data } = useQuery(apiQuery('listProjects', {}))
  const user = data && userOfRecord(content, data.projects)
  if (!user) return null
  return (
    <Link to="/users/$organization/$project/$userId" params={user}>
      User in {user.organization}/{user.project}
    </Link>
  )
}

function laidOut({ form, text }: Shown): string {
  return form === 'json' ? indentJson(text) : text
}

const FORMS: { readonly [Form in Shown['form']]: string } = {
  json: 'JSON',
  text: 'text that is not JSON',
  hex: 'binary data, in hex',
}

function formText({ form, isCut }: Shown): string {
  if (!isCut) return FORMS[form]
  return form === 'hex' ? `the beginning of ${FORMS.hex}` : 'the beginning of a text'
}

function Hidden({ path, valueBytes }: { readonly path: Input<'readDeadLetter'>; readonly valueBytes: number | null }) {
  return (
    <section className="card letter-value">
      <h2>Key, headers and value</h2>
      <p className="quiet">{bytes(valueBytes)}. Hidden because they may contain personal data.</p>
      <Reveal name="revealDeadLetter" input={path} label="Show the record" note="" />
    </section>
  )
}
