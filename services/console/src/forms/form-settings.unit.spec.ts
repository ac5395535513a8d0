import { Form } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { formSettingsOf } from './form-settings.ts'

const settingsOf = (settings: object, formCooldown = '0s') =>
  formSettingsOf(Form.parse({ id: 'nps', ...settings }), { formCooldown }).map(({ name, words }) => `${name}: ${words}`)

it('the settings of a form describe when a form is queued and shown', () => {
  expect(settingsOf({})).toEqual([
    'Frequency: once per user',
    'Shown: from the next visit on',
    'Expires: never',
    'Priority: 0; the waiting form with the highest priority is shown first',
  ])
  const settings = { sample: 25, frequency: { repeat: { times: 3 } }, delay: '2h', expiresAfter: '30d', priority: 10 }
  expect(settingsOf(settings, '1d')).toEqual([
    'Sample: 25 % of users',
    'Frequency: at most 3 times per user',
    'Cooldown: 1d after any form was shown',
    'Shown: no earlier than 2h after the event',
    'Expires: 30d after the event',
    'Priority: 10; the waiting form with the highest priority is shown first',
  ])
  expect(settingsOf({ cooldown: { ignore: true } }, '1d')).toContain('Cooldown: ignored')
})
