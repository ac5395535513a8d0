import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import type { UserPath } from '../../../src/users/api.ts'
import { callApi } from '../app/api.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { UserNameField } from '../components/user-name-field.tsx'
import { searchedName } from './find-user.tsx'

/** Answers in the cache of the page that are about one person. */
const ABOUT_A_PERSON = ['readUser', 'readTimeline', 'readUserForms', 'listUserDeliveries', 'readDelivery'] as const

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
    await navigate({ to: '/erasures/$organization/$project/$erasureId', params: { organization, project, erasureId } })
    // A removed answer that is still on the screen would be loaded again.
    for (const name of ABOUT_A_PERSON) client.removeQueries({ queryKey: [name] })
    client.removeQueries({ queryKey: searchedName(userId) })
  }
  return (
    <div className="reveal">
      <ActionDialog label="Erase" action="Erase this person" isDanger onConfirm={onConfirm}>
        <p>
          The profile, waiting forms and decisions are deleted. Names, traits, device facts and properties in the log
          become unreadable. Nothing brings them back: no replay, no import and no restored backup of rows or keys.
          Counters and usage stay.
        </p>
        <p>The console logs the operator and the userId.</p>
        <UserNameField label="Type the userName to confirm" ref={userName} />
        <label className="check">
          <input ref={suppress} type="checkbox" />
          Suppress: refuse identifies, events, visits and imports of this person until the suppression is lifted
        </label>
      </ActionDialog>
    </div>
  )
}
