import { describe, expect, it } from 'vitest'
import { createNextvisit, type NextvisitOptions } from './nextvisit.ts'
import { NextvisitError } from './nextvisit-error.ts'

const ANY = { host: 'http://localhost', key: 'k' }
const failureOf = async (act: () => unknown): Promise<unknown> => {
  try {
    await act()
  } catch (error) {
    return error instanceof NextvisitError ? error : undefined
  }
  return undefined
}

describe('the error for an invalid argument has a code, is not retryable, and names the field', () => {
  it.each([
    [undefined, 'createNextvisit takes an object with key and host, not undefined'],
    [{ ...ANY, key: '' }, 'key must be an admin key, nv_admin_…'],
    [{ ...ANY, key: undefined }, 'key must be an admin key, nv_admin_…'],
    [{ ...ANY, host: 'api.example.com' }, 'before it, such as https://api.example.com'],
    [{ ...ANY, host: 'localhost:8080' }, 'before it, such as https://localhost:8080'],
    [{ ...ANY, host: '' }, 'host must be the gateway’s URL, with http:// or https:// before it'],
    [{ ...ANY, host: undefined }, 'such as https://nextvisit.example.com'],
    [{ ...ANY, host: 'https://' }, 'host must be'],
    [{ ...ANY, deadlineMs: Number.NaN }, 'deadlineMs must be a number from 0 to 2147483647, not NaN'],
    [{ ...ANY, deadlineMs: Infinity }, 'deadlineMs must be'],
    [{ ...ANY, maxBatchDelayMs: '10' }, 'maxBatchDelayMs must be'],
    [{ ...ANY, maxQueued: '10' }, 'maxQueued must be a number, 0 or more'],
    [{ ...ANY, maxQueuedBytes: '64 MB' }, 'maxQueuedBytes must be a number, 0 or more'],
    [{ ...ANY, maxQueuedBytes: Number.NaN }, 'maxQueuedBytes must be a number, 0 or more'],
  ])('createNextvisit(%o)', async (options, message) => {
    const error = await failureOf(() => createNextvisit(options as unknown as NextvisitOptions))
    expect(error).toMatchObject({ code: 'INVALID', retryable: false, items: [] })
    expect(error).toHaveProperty('message', expect.stringContaining(message.replace('’', "'")))
  })

  const { identify, track, users, close } = createNextvisit(ANY)
  const circle: Record<string, unknown> = { userName: 'ada', eventName: 'a' }
  circle['properties'] = { of: circle }
  let deep = {}
  for (let level = 0; level < 50_000; level += 1) deep = { in: deep }
  it.each([
    ['INVALID', () => identify(undefined as never), 'identify takes an object with userName, not undefined'],
    ['INVALID', () => track(null as never), 'track takes an object with userName, not null'],
    ['INVALID', () => track('ada' as never), 'track takes an object with userName, not a string'],
    ['INVALID', () => identify([] as never), 'identify takes an object with userName, not an array'],
    ['INVALID', () => users.get(undefined as never), 'userName must be a text, not undefined'],
    ['INVALID', () => users.get('a\ud800'), 'userName must be well-formed Unicode: it contains a lone surrogate'],
    ['INVALID', () => close(null as never), 'close takes an object with withinMs, not null'],
    [
      'NOT_JSON',
      () => track({ userName: 'ada', eventName: 'a', properties: { items: [{ ok: 1 }, { price: 1n }] } } as never),
      'properties.items[1].price must be JSON, not bigint',
    ],
    [
      'NOT_JSON',
      () => track({ userName: 'ada', eventName: 'a', properties: deep } as never),
      `properties${'.in'.repeat(19)} must have at most 20 levels`,
    ],
    ['NOT_JSON', () => track(circle as never), 'properties.of.properties must not contain itself'],
  ])('%s: %s', async (code, call, message) => {
    expect(await failureOf(call)).toMatchObject({ code, message, retryable: false })
  })

  it.each([-1, Number.NaN, Infinity, 2 ** 31, '10', null])('close({ withinMs: %o })', async (withinMs) => {
    const error = await failureOf(() => close({ withinMs: withinMs as number }))
    const message = `withinMs must be a number from 0 to 2147483647, not ${withinMs}`
    expect(error).toMatchObject({ code: 'INVALID', message, retryable: false })
  })
})
