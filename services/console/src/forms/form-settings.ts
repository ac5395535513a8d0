import { durationMs, type Form, type ProjectConfig } from '@nextvisit/contracts'
import { frequencyInWords } from '@nextvisit/domain'
import type { FormAnswer } from './api.ts'

/** Describes the conditions under which the workspace file queues and shows a form. */
export function formSettingsOf(
  { sample, frequency, cooldown, priority, delay, expiresAfter }: Form,
  { formCooldown }: Pick<ProjectConfig, 'formCooldown'>,
): FormAnswer['settings'] {
  return [
    ...(sample < 100 ? [{ name: 'Sample', words: `${sample} % of users` }] : []),
    {
      name: 'Frequency',
      words:
        frequency.repeat === 'always' ? 'whenever a trigger matches' : `${frequencyInWords(frequency.repeat)} per user`,
    },
    ...(durationMs(formCooldown) > 0
      ? [{ name: 'Cooldown', words: cooldown.ignore ? 'ignored' : `${formCooldown} after any form was shown` }]
      : []),
    {
      name: 'Shown',
      words: durationMs(delay) > 0 ? `no earlier than ${delay} after the event` : 'from the next visit on',
    },
    { name: 'Expires', words: expiresAfter === undefined ? 'never' : `${expiresAfter} after the event` },
    { name: 'Priority', words: `${priority}; the waiting form with the highest priority is shown first` },
  ]
}
