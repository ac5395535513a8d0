import { type ReactNode, type SyntheticEvent, useId, useRef, useState } from 'react'
import { ErrorNote } from './notes.tsx'

export interface ActionDialogProps {
  /** Of the button that opens it. */
  readonly label: string
  /** Of the button that does it; as a question it is the dialog's title. */
  readonly action: string
  readonly isDanger?: boolean
  /** What happens then, and how it can be undone. The browser asks for a field that is required. */
  readonly children: ReactNode
  readonly onConfirm: () => Promise<unknown>
}

/** A button that asks before it does something. The browser keeps the focus in the dialog, and gives it back to the button. */
export function ActionDialog({ label, action, isDanger = false, children, onConfirm }: ActionDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const [title, text] = [useId(), useId()]
  const [error, setError] = useState<Error>()
  const [isPending, setPending] = useState(false)
  const close = () => dialog.current?.close()

  async function confirm(event: SyntheticEvent): Promise<void> {
    event.preventDefault()
    setPending(true)
    setError(undefined)
    try {
      await onConfirm()
      close()
    } catch (cause) {
      setError(cause as Error)
    } finally {
      setPending(false)
    }
  }

  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {label} …
      </button>
      <dialog
        ref={dialog}
        className="card"
        aria-labelledby={title}
        aria-describedby={text}
        onClose={() => {
          setError(undefined)
          // What was ticked was an answer to this question, not to the next.
          form.current?.reset()
        }}
      >
        <form ref={form} onSubmit={(event) => void confirm(event)}>
          <h2 id={title}>{action}?</h2>
          <div id={text} className="text">
            {children}
          </div>
          {error && <ErrorNote error={error} />}
          <div className="actions">
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button type="submit" className={isDanger ? 'danger' : 'primary'} disabled={isPending}>
              {isPending ? 'Working …' : action}
            </button>
          </div>
        </form>
      </dialog>
    </>
  )
}
