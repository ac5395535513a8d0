import type { FormContent } from '@nextvisit/web-form'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import type { FormPath } from '../../../src/forms/api.ts'
import { apiQuery } from '../app/api.ts'
import { EmptyNote } from '../components/notes.tsx'
import { ShownForm } from '../components/shown-form.tsx'
import { Switch, type SwitchProps } from '../components/switch.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { LanguageSelect } from './language-select.tsx'

const ROUTE = '/forms/$organization/$project/$formId'

/** From the address; absent: as wide as in a page. */
type Width = 'narrow' | undefined

const WIDTHS: SwitchProps<Width>['options'] = [
  { value: undefined, label: 'Wide' },
  { value: 'narrow', label: 'Narrow' },
]

/** The form as pages show it, in each of its languages. Its answers go nowhere. */
export function Preview({ path }: { readonly path: FormPath }) {
  const { language } = useSearch({ from: ROUTE })
  const query = useQuery({
    ...apiQuery('readFormContent', { ...path, language }),
    placeholderData: keepPreviousData,
  })
  return (
    <WithAnswer query={query} name="the content">
      {({ content }) => (content ? <Shown formId={path.formId} content={content} /> : <NoContent />)}
    </WithAnswer>
  )
}

function NoContent() {
  return (
    <EmptyNote>
      The form has no questions that this version can show: it has no <code>content</code> in the workspace file, and
      the customer draws it.
    </EmptyNote>
  )
}

interface ShownProps {
  readonly formId: string
  readonly content: NonNullable<Answer<'readFormContent'>['content']>
}

function Shown({ formId, content: { revision, languages, language, localized } }: ShownProps) {
  const navigate = useNavigate()
  const { width } = useSearch({ from: ROUTE })
  const offer = useMemo(() => {
    const content = localized as FormContent
    return { offerId: `preview of ${formId} ${revision} ${language}`, formId, revision, language, content }
  }, [formId, revision, language, localized])
  return (
    <>
      <div className="filters results">
        <LanguageSelect languages={languages} chosen={language} />
        <Switch
          label="Width"
          options={WIDTHS}
          chosen={width}
          onChoose={(value) => void navigate({ to: '.', replace: true, search: (now) => ({ ...now, width: value }) })}
        />
        <p className="quiet source">
          The content since revision {revision}, as the element of <code>@nextvisit/web-form</code> shows it. Answers
          are sent nowhere.
        </p>
      </div>
      <section className={`card preview ${width ?? 'wide'}`} aria-label={`Preview of ${formId}`}>
        <ShownForm offer={offer} send={async () => undefined} />
      </section>
    </>
  )
}
