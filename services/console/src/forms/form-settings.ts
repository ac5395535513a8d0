import { durationMs, type Form, type ProjectConfig } from '@nextvisit/contracts'
import { gateSettingsOf } from '@nextvisit/domain'
import type { Answer } from '../api-routes.ts'

/** Describes the conditions under which the workspace file queues and shows a form. */
export function formSettingsOf(
  form: Form,
  project: Pick<ProjectConfig, 'formCooldown'>,
): Answer<'readForm'>['settings'] {
  const { priority, delay, expiresAfter } = form
  return [
    ...gateSettingsOf(form, project),
    {
      name: 'Shown',
      words: durationMs(delay) > 0 ? `no earlier than ${delay} after the event` : 'from the next visit on',
    },
    { name: 'Expires', words: expiresAfter === undefined ? 'never' : `${expiresAfter} after the event` },
    { name: 'Priority', words: `${priority}; the waiting form with the highest priority is shown first` },
  ]
}
