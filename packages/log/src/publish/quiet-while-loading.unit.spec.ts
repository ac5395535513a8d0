import { expect, it } from 'vitest'
import { quietWhileLoading } from './quiet-while-loading.ts'

it('reports a coordinator that loads its state as information, and any other failure as a warning', () => {
  const entries: string[] = []
  const note = (level: string) => (_: object, message: string) => void entries.push(`${level} ${message}`)
  const { warn } = quietWhileLoading({ info: note('info'), warn: note('warn') })
  warn({ err: Object.assign(new Error('loading'), { type: 'GROUP_LOAD_IN_PROGRESS' }) }, 'first')
  warn({ err: Object.assign(new Error('denied'), { type: 'CLUSTER_AUTHORIZATION_FAILED' }) }, 'second')
  warn({}, 'third')
  expect(entries).toEqual(['info first', 'warn second', 'warn third'])
})
