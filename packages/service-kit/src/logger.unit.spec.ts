import { describe, expect, it } from 'vitest'
import { createLogger } from './logger.ts'

/** Written entries, as text and parsed. */
function createSink() {
  const lines: string[] = []
  return {
    write: (line: string) => void lines.push(line),
    text: () => lines.join(''),
    entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}

describe('createLogger', () => {
  it('writes time, service, instance and level', () => {
    const sink = createSink()
    createLogger('metering', 'info', sink).info({ partition: 3, offset: 12n, topic: 'user-events' }, 'caught up')
    expect(sink.entries()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
        service: 'metering',
        instance: expect.stringMatching(/:\d+$/) as string,
        partition: 3,
        offset: '12',
        topic: 'user-events',
        msg: 'caught up',
      },
    ])
  })

  it('writes nothing below its level', () => {
    const sink = createSink()
    createLogger('metering', 'warn', sink).info({}, 'detail')
    expect(sink.text()).toBe('')
  })

  it('drops objects under any name', () => {
    const sink = createSink()
    const record = { userName: 'canary', traits: { email: 'canary' } }
    const logger = createLogger('metering', 'info', sink)
    logger.info({ record, body: [record], requestId: 'r1', text: 'x'.repeat(1_000) }, 'odd')
    expect(sink.text()).not.toContain('canary')
    expect(sink.entries()[0]).toMatchObject({ requestId: 'r1', text: `${'x'.repeat(300)}…` })
  })

  it('writes type, code, message and stack of an error, and none of its other members', () => {
    const sink = createSink()
    const cause = Object.assign(new TypeError('below'), { code: 'E_BELOW', query: 'canary' })
    const err = Object.assign(new Error('above', { cause }), { meta: { values: ['canary'] } })
    createLogger('metering', 'info', sink).error({ err }, 'failed')
    expect(sink.text()).not.toContain('canary')
    expect(sink.entries()[0]).toMatchObject({
      err: {
        type: 'Error',
        message: 'above',
        stack: expect.stringContaining('logger.unit.spec') as string,
        cause: { type: 'TypeError', code: 'E_BELOW', message: 'below' },
      },
    })
  })

  it('does not quote the input of JSON.parse', () => {
    const sink = createSink()
    try {
      JSON.parse('canary')
    } catch (err) {
      createLogger('metering', 'info', sink).error({ err }, 'failed')
    }
    expect(sink.text()).toContain('SyntaxError')
    expect(sink.text()).not.toContain('canary')
  })

  it('filters a bare error in the same way', () => {
    const sink = createSink()
    createLogger('metering', 'info', sink).error(Object.assign(new Error('above'), { detail: 'canary' }))
    expect(sink.text()).toContain('above')
    expect(sink.text()).not.toContain('canary')
  })
})
