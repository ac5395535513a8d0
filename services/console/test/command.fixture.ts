/** Program for command-job.int.spec.ts that prints lines like the commands of `nextvisit`. */
import { existsSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { variableNames } from './config.ts'

const say = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`)
const hang = (): void => {
  say({ type: 'progress', share: 0, records: 0, perSecond: 0, secondsLeft: null })
  setInterval(() => {}, 60_000)
}
const [, , what = '', ...args] = process.argv

const scenarios = new Map<string, () => unknown>([
  [
    'tell',
    async () => {
      process.stdout.write('This is not a line of JSON.\n')
      say({ type: 'progress', share: 0.5, records: 10, perSecond: 5, secondsLeft: 2 })
      say({ type: 'told', args, environment: variableNames(), input: await text(process.stdin) })
    },
  ],
  [
    'fail',
    () => {
      say({ type: 'error', code: 'REPLAY_RUNS', message: 'Another replay runs.', faults: [] })
      process.exitCode = 1
    },
  ],
  [
    'fail once',
    () => {
      const [file = ''] = args
      if (existsSync(file)) return scenarios.get('tell')?.()
      writeFileSync(file, '')
      return scenarios.get('fail')?.()
    },
  ],
  [
    'break',
    () => {
      process.stderr.write('It broke.\n')
      process.exitCode = 2
    },
  ],
  [
    'chatter',
    () => {
      process.stdout.write('x'.repeat(5 * 2 ** 20))
      setInterval(() => {}, 60_000)
    },
  ],
  ['hang', hang],
  [
    'begin and hang',
    () => {
      say({ type: 'begun' })
      hang()
    },
  ],
  [
    'tell and hang',
    () => {
      say({ type: 'told', args, environment: [], input: '' })
      hang()
    },
  ],
  [
    'refuse',
    () => {
      say({ type: 'error', code: 'REPLAY_OF_OTHER_CODE', message: 'The code has changed.', faults: [] })
      process.exitCode = 1
    },
  ],
  [
    'hang on',
    () => {
      process.on('SIGTERM', () => {})
      hang()
    },
  ],
])
await scenarios.get(what)?.()
