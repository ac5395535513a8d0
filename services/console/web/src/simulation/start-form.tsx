import { useNavigate, useSearch } from '@tanstack/react-router'
import { type RefObject, useState } from 'react'
import { MAX_SIMULATED_DAYS, MAX_WORKSPACE_CHARACTERS } from '../../../src/shared-with-pages.ts'
import { useChange } from '../app/api.ts'
import { ErrorNote } from '../components/notes.tsx'
import { withoutReload } from '../components/without-reload.ts'

const DEFAULT_DAYS = 7

interface StartFormProps {
  readonly editor: RefObject<HTMLTextAreaElement | null>
  readonly workspace: string
  readonly onEdit: (workspace: string) => void
  readonly isRunning: boolean
}

export function StartForm({ editor, workspace, onEdit, isRunning }: StartFormProps) {
  const { days = DEFAULT_DAYS } = useSearch({ from: '/forms/simulation' })
  const navigate = useNavigate()
  const start = useChange('startSimulation', 'readSimulation')
  const [tooLong, setTooLong] = useState<Error>()

  async function read(file: File | undefined): Promise<void> {
    if (!file) return
    const isTooLong = file.size > MAX_WORKSPACE_CHARACTERS
    setTooLong(
      isTooLong ? new Error(`${file.name} is larger than ${MAX_WORKSPACE_CHARACTERS / 1_024} KiB.`) : undefined,
    )
    if (!isTooLong) onEdit(await file.text())
  }

  return (
    <form className="card simulate" onSubmit={withoutReload(() => start.mutate({ workspace, days }))}>
      <label>
        <span>
          Edited workspace file{' '}
          <span className="quiet">(YAML, as for nextvisit apply; keys and signing secrets are not resolved)</span>
        </span>
        <textarea
          ref={editor}
          required
          rows={14}
          wrap="off"
          spellCheck={false}
          autoComplete="off"
          maxLength={MAX_WORKSPACE_CHARACTERS}
          placeholder={'organizations:\n  - id: demo\n    projects:\n      - id: shop\n        forms: …'}
          value={workspace}
          onChange={(event) => onEdit(event.target.value)}
        />
      </label>
      <div className="simulate-row">
        <label>
          Or choose a file
          <input type="file" accept=".yaml,.yml" onChange={(event) => void read(event.target.files?.[0])} />
        </label>
        <label>
          Days
          <input
            type="number"
            required
            min={1}
            max={MAX_SIMULATED_DAYS}
            value={days}
            onChange={(event) =>
              void navigate({
                to: '/forms/simulation',
                replace: true,
                search: { days: event.target.valueAsNumber || undefined },
              })
            }
          />
        </label>
        <button type="submit" className="primary" disabled={isRunning || start.isPending}>
          Simulate
        </button>
      </div>
      {tooLong && <ErrorNote error={tooLong} />}
      {start.error && <ErrorNote error={start.error} />}
    </form>
  )
}
