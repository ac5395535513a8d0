/** A process for run-service.int.spec.ts: two parts, and a fault by scenario. */
import { createLogger } from '../src/logger.ts'
import { runService, type ServicePart } from '../src/run-service.ts'

const scenario = process.argv[2]
const nothing = async () => {}
const fails = () => Promise.reject(new Error(`${scenario}, as it was asked to`))
const hangs = () => new Promise<void>(() => {})
// Nothing listens, so a timer keeps the process alive.
setInterval(() => {}, 60_000)

const misbehaviour: Record<string, Partial<ServicePart>> = {
  'start fails': { start: fails },
  'start hangs': { start: hangs },
  'stop fails': { stop: fails },
  'stop hangs': { stop: hangs },
  'stop hangs long': { stop: hangs },
}
const service = runService({
  logger: createLogger('fixture', 'info'),
  parts: [
    { name: 'first', start: nothing, stop: nothing },
    { name: 'second', start: nothing, stop: nothing, ...misbehaviour[scenario ?? ''] },
  ],
  stopWithinMs: scenario === 'stop hangs' ? 200 : 10_000,
})

setTimeout(() => {
  if (scenario === 'part fails') service.fail(new Error('the consumer crashed'))
  if (scenario === 'exception') throw new TypeError('nobody caught this')
  if (scenario === 'rejection') void fails()
}, 50)
