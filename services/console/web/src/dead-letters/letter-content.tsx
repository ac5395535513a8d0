import type { LetterAnswer, LetterPath } from '../../../src/dead-letters/api.ts'
import { NamedRow } from '../parts/named-row.tsx'
import { Reveal } from '../parts/reveal.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { bytesText } from './bytes-text.ts'
import { indentJson } from './indent-json.ts'
import { RecordUser } from './record-user.tsx'

type Content = NonNullable<LetterAnswer['content']>
type Shown = NonNullable<Content['value']>

export interface LetterContentProps {
  readonly path: LetterPath
  readonly letter: LetterAnswer
}

/** What the record holds. A viewer asks for it first. */
export function LetterContent({ path, letter: { content, valueBytes } }: LetterContentProps) {
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
          {bytesText(valueBytes)}
          {content.value && `: ${formText(content.value)}`}
        </p>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- who uses a keyboard must reach its scroll bar */}
        {content.value && content.value.text !== '' && <pre tabIndex={0}>{laidOut(content.value)}</pre>}
        {content.value?.isCut && (
          <p className="quiet hint">
            The whole value:{' '}
            <code>
              nextvisit dead-letters show {path.service}/{path.id} --value
            </code>
          </p>
        )}
      </section>
    </>
  )
}

function laidOut({ form, text }: Shown): string {
  return form === 'json' ? indentJson(text) : text
}

const FORMS: { readonly [Form in Shown['form']]: string } = {
  json: 'JSON',
  text: 'text that is not JSON',
  hex: 'bytes that are no text, in hex',
}

function formText({ form, isCut }: Shown): string {
  if (!isCut) return FORMS[form]
  return form === 'hex' ? `the beginning of ${FORMS.hex}` : 'the beginning of a text'
}

function Hidden({ path, valueBytes }: { readonly path: LetterPath; readonly valueBytes: number | null }) {
  return (
    <section className="card letter-value">
      <h2>Key, headers and value</h2>
      <p className="quiet">{bytesText(valueBytes)}. They may hold personal data, so they are hidden.</p>
      <Reveal name="revealDeadLetter" input={path} label="Show what the record holds" note="" />
    </section>
  )
}
