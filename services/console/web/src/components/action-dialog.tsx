import { type ReactNode, type SyntheticEvent, useId, useRef, useState } from 'react'
import { ErrorNote } from './notes.tsx'

interface ActionDialogProps {
  /** Label of the button that opens the dialog. */
  readonly label: string
  /** Label of the confirming button; as a question, the title of the dialog. */
  readonly action: string
  readonly isDanger?: boolean
  /** Consequences, and how to undo them. The browser checks required fields. */
  readonly children: ReactNode
  readonly onOpen?: () => void
  readonly onConfirm: () => Promise<unknown>
}

/** A button that asks for confirmation. The browser keeps the focus in the dialog, and returns it to the button. */
export function ActionDialog({ label, action, isDanger = false, children, onOpen, onConfirm }: ActionDialogProps) {
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
      <button
        type="button"
        onClick={() => {
          onOpen?.()
          dialog.current?.showModal()
        }}
      >
        {label} …
      </button>
      <dialog
        ref={dialog}
        className="card"
        aria-labelledby={title}
        aria-describedby={text}
        onClose={() => {
          setError(undefined)
          // A ticked box answers this question only.
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
