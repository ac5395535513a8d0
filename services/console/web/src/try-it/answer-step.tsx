import type { ProjectRef } from '@nextvisit/contracts'
import type { FormAnswer, FormContent, Offer } from '@nextvisit/web-form'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { TryAnswer } from '../../../src/try-it/api.ts'
import { callApi } from '../app/api.ts'
import { ErrorNote } from '../components/notes.tsx'
import { ShownForm } from '../components/shown-form.tsx'
import { Exchange, parsed, StepTitle } from './step.tsx'

/** A form with questions. */
type AnswerableOffer = Offer & {
  readonly revision: number
  readonly language: string
  readonly content: FormContent
}

/** Returns the form that a visit got. undefined: none, or one without questions. */
export function offerOf({ body }: TryAnswer): AnswerableOffer | undefined {
  const { nextFeedback: offer } = (parsed(body) ?? {}) as { readonly nextFeedback?: Offer }
  return offer?.content ? (offer as AnswerableOffer) : undefined
}

interface AnswerStepProps {
  readonly number: number
  readonly userName: string
  /** The form of the last visit. */
  readonly offer: AnswerableOffer | undefined
  readonly project: ProjectRef | undefined
}

/** The form that the visit got, as a page shows it, and the last request with its answers. */
export function AnswerStep({ number, userName, offer, project }: AnswerStepProps) {
  return (
    <li className="card step">
      <StepTitle number={number} title="Answer" />
      <p className="quiet">
        The page shows the form and sends an answer after each question. The element is the package{' '}
        <code>@nextvisit/web-form</code>.
      </p>
      {offer && project ? (
        <AnswerForm key={offer.offerId} userName={userName} offer={offer} project={project} />
      ) : (
        <p className="note">The form appears here as soon as a visit gets one.</p>
      )}
    </li>
  )
}

interface AnswerFormProps {
  readonly userName: string
  readonly offer: AnswerableOffer
  readonly project: ProjectRef
}

function AnswerForm({ userName, offer, project: { organization, project } }: AnswerFormProps) {
  const { formId, offerId, revision, language } = offer
  const [isFinished, setIsFinished] = useState(false)
  const request = useMutation({
    mutationFn: ({ answers, status }: Pick<FormAnswer, 'answers' | 'status'>) =>
      callApi('tryAnswer', { userName, offerId, formId, revision, language, answers, status }),
  })
  // The element shows that a refused answer failed.
  const send = async ({ answers, status }: FormAnswer) => {
    const answer = await request.mutateAsync({ answers, status })
    return { outcome: answer.status < 400 ? 'answered' : 'refused' }
  }
  return (
    <>
      <ShownForm offer={offer} send={send} onFinished={() => setIsFinished(true)} />
      {request.error && <ErrorNote error={request.error} />}
      <div aria-live="polite">{request.data && <Exchange answer={request.data} />}</div>
      {isFinished && (
        <Link
          to="/forms/$organization/$project/$formId"
          params={{ organization, project, formId }}
          search={{ environment: 'T' }}
          className="button primary"
        >
          Results of {formId}
        </Link>
      )}
    </>
  )
}
