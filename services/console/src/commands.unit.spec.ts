import { createLogger } from '@nextvisit/service-kit'
import { expect, it } from 'vitest'
import { createSessions } from './http/sessions.ts'
import { createCommands } from './commands.ts'

const operator = createSessions(() => 0).open('operator', 'Grace')

function givenCommands(cliEntry: string | undefined, operatorUrl: string | undefined) {
  const logger = createLogger('console', 'silent')
  const { routes } = createCommands({
    cliEntry,
    operatorUrl,
    commandEnvironment: {},
    nowMs: () => 0,
    logger,
  })
  return async (name: keyof typeof routes, input: object = {}) => routes[name].handle(input, operator)
}

it.each([
  [undefined, undefined, 'no-cli', false],
  [undefined, 'postgresql://one', 'no-cli', false],
  ['main.ts', undefined, 'no-database', true],
  ['main.ts', 'postgresql://one', null, true],
] as const)(
  'reports what can be started with the CLI at %s and the database at %s',
  async (cli, url, obstacle, canStart) => {
    const call = givenCommands(cli, url)
    const consumers = ['user-projector', 'trait-registry', 'metering', 'form-trigger-evaluator']
    expect(await call('readReplay')).toMatchObject({ answer: { obstacle, services: consumers, run: null } })
    expect(await call('readSimulation')).toMatchObject({ answer: { canStart, run: null } })
  },
)

it('starts nothing without configuration', async () => {
  const call = givenCommands(undefined, undefined)
  const refused = { outcome: 'refused', status: 409, error: 'not-here' }
  expect(await call('startReplay', { service: 'metering', goal: 'compare' })).toMatchObject(refused)
  expect(await call('startSimulation', { workspace: 'organizations: []', days: 1 })).toMatchObject(refused)
  expect(await call('stopReplay')).toMatchObject({ outcome: 'refused', error: 'nothing-runs' })
  expect(await call('stopSimulation')).toMatchObject({ outcome: 'refused', error: 'nothing-runs' })
})
