/** A program for command-job.int.spec.ts that prints lines as the commands of `nextvisit` do. */
import { text } from 'node:stream/consumers'

const say = (line: object): void => console.log(JSON.stringify(line))
const [, , what, ...rest] = process.argv

switch (what) {
  case 'tell':
    console.log('This is no line of JSON.')
    say({ type: 'progress', share: 0.5, records: 10, perSecond: 5, secondsLeft: 2 })
    say({
      type: 'told',
      args: rest,
      environment: Object.keys(process.env).toSorted(),
      input: await text(process.stdin),
    })
    break
  case 'fail':
    say({ type: 'error', code: 'REPLAY_RUNS', message: 'Another replay runs.', faults: [] })
    process.exitCode = 1
    break
  case 'break':
    console.error('It broke.')
    process.exitCode = 2
    break
  case 'chatter':
    process.stdout.write('x'.repeat(5 * 2 ** 20))
    setInterval(() => {}, 60_000)
    break
  case 'hang':
    say({ type: 'progress', share: 0, records: 0, perSecond: 0, secondsLeft: null })
    setInterval(() => {}, 60_000)
    break
  case 'hang on':
    process.on('SIGTERM', () => {})
    say({ type: 'progress', share: 0, records: 0, perSecond: 0, secondsLeft: null })
    setInterval(() => {}, 60_000)
    break
}
