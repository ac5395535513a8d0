import { describe, expect, it } from 'vitest'
import { createBegunSignIns } from './begun-sign-in.ts'

const LASTS_MS = 1_000
const begun = { checks: { state: 'a', nonce: 'b', codeVerifier: 'c' }, returnTo: 'https://ops.example.com/live' }

const givenConsole = (secrets: readonly string[], nowMs = () => 0) =>
  createBegunSignIns({ secrets, lastsMs: LASTS_MS, nowMs })

describe('the cookie of a begun sign-in', () => {
  it('is read by every console with the same secret, for its time', () => {
    let nowMs = 0
    const text = givenConsole(['a secret']).write(begun)
    const other = givenConsole(['a secret'], () => nowMs)
    expect(other.read(text)).toEqual(begun)
    nowMs = LASTS_MS
    expect(other.read(text)).toBeUndefined()
  })

  it('is read during a rotation of the secret, at each step', () => {
    const steps = [['old'], ['old', 'new'], ['new', 'old'], ['new']].map((secrets) => givenConsole(secrets))
    for (const [index, step] of steps.slice(1).entries())
      for (const [writer, reader] of [
        [steps[index], step],
        [step, steps[index]],
      ])
        expect(reader?.read(writer?.write(begun))).toEqual(begun)
  })

  it('is read from no one else, and not after a change', () => {
    const { read, write } = givenConsole(['a secret'])
    const text = write(begun)
    const json = text.slice(text.indexOf('.') + 1)
    const forged = [
      givenConsole(['another secret']).write(begun),
      text.replace('/live', '/else'),
      json,
      `.${json}`,
      `${'A'.repeat(43)}.${json}`,
      `${text.slice(0, 42)}.${json}`,
      '',
      undefined,
    ]
    expect(forged.map(read)).toEqual(forged.map(() => undefined))
    expect(read(text)).toEqual(begun)
  })
})
