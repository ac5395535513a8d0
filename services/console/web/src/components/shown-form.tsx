import '@nextvisit/web-form'
import type { FormAnswer, Offer } from '@nextvisit/web-form'
import { useEffect, useEffectEvent, useRef } from 'react'

/** Prefix of the names under which the element keeps offers and answers in the session storage. */
const KEPT = 'nextvisit-form:'

interface ShownFormProps {
  /** Another object replaces the form. */
  readonly offer: Offer
  readonly send: (answer: FormAnswer) => Promise<unknown>
  readonly onFinished?: () => void
}

/** A form as pages of customers show it. Nothing of it is kept when it leaves the screen. */
export function ShownForm({ offer, send, onFinished }: ShownFormProps) {
  const holder = useRef<HTMLDivElement>(null)
  const sending = useEffectEvent(send)
  const finished = useEffectEvent(() => onFinished?.())
  useEffect(() => {
    forgetForms()
    const form = document.createElement('nextvisit-form')
    form.setAttribute('display', 'inline')
    form.send = (answer) => sending(answer)
    form.offer = offer
    form.addEventListener('nextvisit-finished', () => finished())
    holder.current?.append(form)
    return () => {
      form.remove()
      forgetForms()
    }
  }, [offer])
  return <div ref={holder} className="shown-form" />
}

/** Removes answers that the element has kept for a reload, also those of an earlier session. */
function forgetForms(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(KEPT)) sessionStorage.removeItem(name)
}
