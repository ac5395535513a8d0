import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { MAX_USER_NAME_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import type { UserPath } from '../../../src/users/api.ts'
import { callApi } from '../app/api.ts'
import { ActionDialog } from '../components/action-dialog.tsx'

/** Button for operators that erases the person. The server compares the userName that they type, and logs the request. */
export function EraseUser({ path }: { readonly path: UserPath }) {
  const { organization, project, userId } = path
  const navigate = useNavigate()
  const client = useQueryClient()
  // The dialog empties its fields when it closes.
  const userName = useRef<HTMLInputElement>(null)
  const suppress = useRef<HTMLInputElement>(null)
  const onConfirm = async () => {
    const { erasureId } = await callApi('eraseUser', {
      organization,
      project,
      userId,
      userName: userName.current?.value ?? '',
      suppress: suppress.current?.checked ?? false,
    })
    client.removeQueries({ queryKey: ['listErasures'] })
    void navigate({ to: '/erasures/$organization/$project/$erasureId', params: { organization, project, erasureId } })
  }
  return (
    <div className="reveal">
      <ActionDialog label="Erase" action="Erase this person" isDanger onConfirm={onConfirm}>
        <p>
          The profile, waiting forms and decisions are deleted. Names, traits, device facts and properties in the log
          become unreadable. Nothing brings them back: no replay, no import and no restored backup. Counters and usage
          stay.
        </p>
        <p>The console logs who erased whom, by userId.</p>
        <label className="wide">
          Type the userName to confirm
          <input
            ref={userName}
            type="text"
            required
            maxLength={unitsOf(MAX_USER_NAME_CHARACTERS)}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        <label className="check">
          <input ref={suppress} type="checkbox" />
          Suppress: refuse identifies, events, visits and imports of this person until the suppression is lifted
        </label>
      </ActionDialog>
    </div>
  )
}
