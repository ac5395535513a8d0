import { type ReactNode, useId, useRef, useState } from 'react'
import { ErrorNote } from './notes.tsx'

export interface ActionDialogProps {
  /** Of the button that opens it. */
  readonly label: string
  /** Of the button that does it; as a question it is the dialog's title. */
  readonly action: string
  readonly isDanger?: boolean
  /** What happens then, and how it can be undone. */
  readonly children: ReactNode
  readonly onConfirm: () => Promise<unknown>
}

/** A button that asks before it does something. The browser keeps the focus in the dialog, and gives it back to the button. */
export function ActionDialog({ label, action, isDanger = false, children, onConfirm }: ActionDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [title, text] = [useId(), useId()]
  const [error, setError] = useState<Error>()
  const [isPending, setPending] = useState(false)
  const close = () => dialog.current?.close()

  async function confirm(): Promise<void> {
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
        onClose={() => setError(undefined)}
      >
        <h2 id={title}>{action}?</h2>
        <div id={text} className="text">
          {children}
        </div>
        {error && <ErrorNote error={error} />}
        <div className="actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button
            type="button"
            className={isDanger ? 'danger' : 'primary'}
            disabled={isPending}
            onClick={() => void confirm()}
          >
            {isPending ? 'Working …' : action}
          </button>
        </div>
      </dialog>
    </>
  )
}
