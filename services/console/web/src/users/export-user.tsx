import { useState } from 'react'
import type { UserPath } from '../../../src/users/api.ts'
import { download } from '../app/api.ts'
import { ActionDialog } from '../components/action-dialog.tsx'

interface Missing {
  readonly source: string
  readonly reason: string
}

/** Button for operators that downloads everything known about the person. The server logs it. */
export function ExportUser({ path }: { readonly path: UserPath }) {
  const [missing, setMissing] = useState<readonly Missing[]>()
  return (
    <div className="reveal">
      <ActionDialog
        label="Export"
        action="Export all data of this person"
        onConfirm={async () => setMissing(missingIn(await download('exportUser', path, `${path.userId}.ndjson`)))}
      >
        <p>
          The file contains everything known about the person: profile, events, records, forms and decisions, dead
          letters and refusals. Store it like a password, and delete it when it is no longer needed.
        </p>
        <p>The console logs who exported it, and when. A long log takes minutes.</p>
      </ActionDialog>
      <output className="quiet">{missing?.length === 0 && 'The file is complete.'}</output>
      {missing !== undefined && missing.length > 0 && (
        <div className="note" role="alert">
          <p>The file is incomplete. Export again when these can be read:</p>
          <ul>
            {missing.map(({ source, reason }) => (
              <li key={`${source} ${reason}`}>
                <b>{source}</b>: {reason}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  )
}

/** Reads the summary, which is the last line of an export. */
function missingIn(lastBytes: string): readonly Missing[] {
  try {
    const { missing } = JSON.parse(lastBytes.trimEnd().split('\n').at(-1) ?? '') as { missing: readonly Missing[] }
    return missing
  } catch {
    return [{ source: 'summary', reason: 'the last line is missing, so the file is truncated' }]
  }
}
