import { durationMs, type Form, type ProjectConfig } from '@nextvisit/contracts'
import { frequencyInWords } from '@nextvisit/domain'
import type { FormAnswer } from './api.ts'

/** What the workspace file says of when a form is queued and shown, in words. */
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
    { name: 'Priority', words: `${priority}, of the forms that wait the highest is shown first` },
  ]
}
